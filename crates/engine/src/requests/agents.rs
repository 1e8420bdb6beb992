//! Agents: adding, starting, stopping, removing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use carillon_core::agent::{AgentState, state_of};
use carillon_core::ask::ChildId;
use carillon_core::id::{AgentId, RunId};
use carillon_core::limit::Limited;
use carillon_core::run::{Cause, State};
use carillon_core::usage::UsageSum;
use carillon_core::words::{Agent, Mode, Project};
use carillon_core::{limits, name};
use carillon_store::agents::{self, Wakes};
use carillon_store::runs::{self, RunRow};
use carillon_store::turns::{self, TurnRow};
use carillon_store::{asks, limits as session_limits, messages, usage};

use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::find::find;
use crate::requests::profiles::resolve;
use crate::requests::workdirs::NewWorkdir;
use crate::secrets;
use crate::slots::{NONE_LENT, held_back};
use crate::temps::TempView;
use crate::world::{AgentOrder, BaseEnv, LaunchOrder, OrderIo, What};

/// An agent to add.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// Its name, unique within the project.
    pub name: String,
    /// The project, by name, id or path.
    pub project: String,
    /// The profile, by name or id.
    pub profile: String,
    /// What the user looks at.
    pub mode: Mode,
    /// What it is told to be.
    pub role: String,
    /// Where it works.
    pub workdir: Workdir,
}

/// Where an agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workdir {
    /// In the project's root.
    Root,
    /// In this directory.
    Path(PathBuf),
    /// In a workdir of its own, which is made for it.
    New,
}

/// An agent with what it is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentView {
    /// The agent.
    pub agent: Agent,
    /// What it is doing.
    pub state: AgentState,
    /// Its newest run.
    pub run: Option<RunRow>,
    /// What it does and what waits for it.
    pub work: Work,
    /// Until when a session limit of its profile holds, where that is known.
    pub limited_until_ms: Option<i64>,
    /// The temp directory of its newest run, once it was measured, and until it goes.
    pub temp: Option<TempView>,
}

/// What an agent does and what waits for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// The turn that it is at.
    pub turn: Option<TurnRow>,
    /// Turns and messages that wait for it.
    pub queued: u32,
    /// Ids of the tasks and asks that it waits for.
    pub waiting_on: Vec<String>,
    /// How its wakes went.
    pub wakes: Wakes,
    /// The session limit that holds for it.
    pub limited: Option<Limited>,
    /// Why what stands in line for it does not begin, in words.
    pub held_back: Option<String>,
    /// What its turns have used.
    pub usage: Option<UsageSum>,
}

impl Work {
    fn of(db: &carillon_store::db::Db, agent: &Agent) -> Result<Self, carillon_store::db::SqlError> {
        let mut waiting_on = Vec::new();
        for row in asks::going_on_with(db, &agent.id)? {
            if row.caller.as_ref() == Some(&agent.id) && row.joined_ask.is_none() {
                waiting_on.push(row.id.to_string());
            }
            if row.callee.as_ref() == Some(&agent.id) {
                let children = crate::asks::children_of(db, &row.id)?;
                let open = children.iter().filter(|view| view.child.end.is_none());
                waiting_on.extend(open.map(|view| match &view.id {
                    ChildId::Task(id) => id.to_string(),
                    ChildId::Ask(id) => id.to_string(),
                }));
            }
        }
        let (pending, _) = messages::waiting_for(db, &agent.id)?;
        let turn = turns::live_of(db, &agent.id)?;
        let queued = turns::queued_of(db, &agent.id)? + pending;
        let limited = session_limits::get(db, &agent.profile)?;
        Ok(Self {
            waiting_on,
            wakes: agents::wakes_of(db, &agent.id)?,
            held_back: match turn.is_none() && queued > 0 && !agent.stopped_by_user && limited.is_none() {
                true => held_back(db, agent, NONE_LENT)?,
                false => None,
            },
            turn,
            queued,
            limited,
            usage: usage::of_agent(db, &agent.id)?,
        })
    }
}

/// A terminal that nobody has looked at yet, in columns and rows.
const SIZE_UNSEEN: (u16, u16) = (80, 24);

impl Engine {
    /// The agents of a project, or all.
    pub fn agents(&self, project: Option<&str>) -> Result<Vec<AgentView>, Error> {
        let project = project.map(|key| self.project(key)).transpose()?;
        let views = self.read(|db| {
            let agents = agents::list(db)?;
            let here = |agent: &Agent| project.as_ref().is_none_or(|p| p.id == agent.project);
            agents
                .into_iter()
                .filter(here)
                .map(|agent| Ok((runs::newest_of(db, &agent.id)?, Work::of(db, &agent)?, agent)))
                .collect::<Result<Vec<_>, _>>()
        })?;
        Ok(views.into_iter().map(|(run, work, agent)| self.view(agent, run, work)).collect())
    }

    /// One agent, by name or id.
    pub fn agent(&self, key: &str) -> Result<AgentView, Error> {
        let agent = find(self.read(agents::list)?, key)?;
        let (run, work) = self.read(|db| Ok((runs::newest_of(db, &agent.id)?, Work::of(db, &agent)?)))?;
        Ok(self.view(agent, run, work))
    }

    fn view(&self, agent: Agent, run: Option<RunRow>, work: Work) -> AgentView {
        let run = run.map(|row| self.with_live_size(row));
        let ran_ms = run.as_ref().and_then(|r| u64::try_from(r.ended_ms? - r.started_ms?).ok());
        let run_state = run.as_ref().map(|r| &r.state);
        let live = run.as_ref().filter(|run| !run.state.is_terminal());
        let is_busy = || live.is_some_and(|run| self.inner.world.terminal_facts(&run.id).at_turn);
        let asks = live.is_some_and(|run| self.inner.world.needs_attention(&run.id));
        let state = match (agent.mode, state_of(run_state, ran_ms)) {
            _ if asks => AgentState::NeedsAttention,
            _ if work.turn.is_some() => AgentState::Working,
            _ if work.limited.is_some() && !agent.stopped_by_user => AgentState::Limited,
            (Mode::Terminal, AgentState::Idle) if is_busy() => AgentState::Working,
            (Mode::Terminal, state) => state,
            (Mode::Headless, _) if agent.stopped_by_user => AgentState::Offline,
            (Mode::Headless, AgentState::Failed) if could_not_start(run_state) => AgentState::Failed,
            (Mode::Headless, _) => AgentState::Idle,
        };
        let limited_until_ms = work.limited.as_ref().and_then(|limited| limited.until_ms);
        let temp = run.as_ref().and_then(|run| self.inner.temp_uses.view(run));
        AgentView { agent, state, run, work, limited_until_ms, temp }
    }

    /// Adds an agent. Nothing is started.
    pub fn add_agent(&self, new: NewAgent) -> Result<AgentView, Error> {
        name::check(&new.name).map_err(|e| Error::invalid(e.to_string(), "choose another name"))?;
        if new.role.len() > limits::ROLE_MAX_BYTES {
            return Err(Error::invalid("the role text is too long", "at most 256 KiB"));
        }
        let project = self.project(&new.project)?;
        let profile = self.profile(&new.profile)?;
        let workdir = match &new.workdir {
            Workdir::Root => PathBuf::from(&project.root),
            Workdir::Path(path) => existing_dir(path)?,
            // Its place is known once it is recorded.
            Workdir::New => PathBuf::new(),
        };
        let workdir = workdir.into_os_string().into_string().map_err(|path| {
            Error::failed(format!("the path {path:?} is not UTF-8"), "rename the directory")
        })?;
        let agent = Agent {
            id: AgentId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            name: new.name,
            project: project.id.clone(),
            profile: profile.id,
            mode: new.mode,
            role: new.role,
            workdir,
            stopped_by_user: false,
            session_id: None,
        };
        if new.workdir == Workdir::New {
            return self.add_with_workdir(&project, agent);
        }
        let added = self.request_blocking(move |inner| {
            inner.insert_agent(&agent)?;
            Ok(agent)
        })?;
        Ok(self.view(added, None, Work::default()))
    }

    /// Both are there afterwards, or neither; but when the agent cannot be added in the end, its workdir is told of.
    fn add_with_workdir(&self, project: &Project, agent: Agent) -> Result<AgentView, Error> {
        self.check_free_name(project, &agent.name)?;
        let (id, name) = (agent.id.clone(), agent.name.clone());
        let order = NewWorkdir {
            project: Some(project.id.to_string()),
            name: Some(name.clone()),
            agent: Some(agent),
            ..NewWorkdir::default()
        };
        let made = self.new_workdir(order)?;
        self.agent(id.as_str()).map_err(|_| {
            let why = made.notes.last().cloned().unwrap_or_default();
            Error::refused(
                format!("workdir {name:?} is made, but {why}"),
                "remove it, or add the agent to it",
            )
        })
    }

    /// Before a workdir is made for an agent that cannot be added.
    fn check_free_name(&self, project: &Project, name: &str) -> Result<(), Error> {
        let taken = |agent: &Agent| agent.project == project.id && agent.name == name;
        if self.read(agents::list)?.iter().any(taken) {
            let message = format!("project {:?} has an agent {name:?} already", project.name);
            return Err(Error::refused(message, "choose another name"));
        }
        Ok(())
    }

    /// Starts an agent's program on a terminal. One that runs already is left as it is. In any case a wake that was
    /// given up is tried again.
    pub fn start_agent(&self, key: &str, size: Option<(u16, u16)>) -> Result<AgentView, Error> {
        let view = self.agent(key)?;
        if view.agent.mode == Mode::Headless {
            return self.let_work(view.agent);
        }
        if view.run.as_ref().is_some_and(|run| !run.state.is_terminal()) {
            let id = view.agent.id.clone();
            self.request_blocking(move |inner| inner.wake_anew(&id))?;
            return self.agent(view.agent.id.as_str());
        }
        let order = self.prepare(&view.agent, size.unwrap_or(SIZE_UNSEEN))?;
        let run = order.run.clone();
        let agent = view.agent;
        let id = agent.id.clone();
        let started = self.request_blocking(move |inner| inner.begin(&agent, order))?;
        // Another start was first: its run is the one to wait for.
        let run = started.unwrap_or(run);
        let patience = Duration::from_millis(limits::SUPERVISOR_PATIENCE_MS);
        self.wait_while(&run, patience, |state| *state == State::Starting)?;
        self.agent(id.as_str())
    }

    /// A headless agent has nothing to start: from now on it does what waits for it.
    fn let_work(&self, agent: Agent) -> Result<AgentView, Error> {
        let id = agent.id.clone();
        self.request_blocking(move |inner| {
            inner.store.write(|tx| agents::set_stopped(tx, &agent, false))?;
            inner.wake_anew(&agent.id)
        })?;
        self.agent(id.as_str())
    }

    /// Everything that can be found wrong before anything is recorded.
    fn prepare(&self, agent: &Agent, size: (u16, u16)) -> Result<LaunchOrder, Error> {
        let profile = self.profile(agent.profile.as_str())?;
        let project = self.project(agent.project.as_str())?;
        let cwd = existing_workdir(agent)?;
        let vars = self.inner.host.user_env();
        // A program that is not there is told before anything is recorded.
        resolve(&profile.program, &vars, &cwd)?;
        let run = RunId::from_random(*uuid::Uuid::new_v4().as_bytes());
        let temp = self.inner.host.choose_temp(Path::new(&project.root))?;
        let own = secrets::get(&self.inner.paths.secrets, &profile.id).map_err(|e| {
            let message = format!("the variables of profile {:?} cannot be read: {e}", profile.name);
            Error::failed(message, "add the profile again")
        })?;
        let socket = self.inner.paths.socket.to_string_lossy().into_owned();
        let ours = vec![
            ("CARILLON_AGENT", agent.id.to_string()),
            ("CARILLON_RUN", run.to_string()),
            ("CARILLON_SOCKET", socket),
        ];
        let (cols, rows) = size;
        Ok(LaunchOrder {
            what: What::Agent(AgentOrder::of(agent, &profile, String::new())),
            cwd,
            base_env: BaseEnv::User,
            ours,
            own_env: own,
            io: OrderIo::Terminal { cols, rows },
            timeout_ms: None,
            log_max: limits::TERMINAL_LOG_MAX_BYTES,
            temp,
            guarded: None,
            run,
        })
    }

    /// Stops an agent and waits until it is gone. It stays down until the user starts it.
    pub fn stop_agent(&self, key: &str) -> Result<AgentView, Error> {
        let view = self.agent(key)?;
        self.stop_and_wait(&view, "user")?;
        self.agent(view.agent.id.as_str())
    }

    /// Stops an agent and takes it off the list. Its directory and its commits are not touched.
    pub fn remove_agent(&self, key: &str) -> Result<(), Error> {
        let view = self.agent(key)?;
        self.stop_and_wait(&view, "agent_removed")?;
        self.request_blocking(move |inner| {
            if inner
                .store
                .read(|db| runs::newest_of(db, &view.agent.id))?
                .is_some_and(|r| !r.state.is_terminal())
            {
                return Err(Error::refused("the agent was started meanwhile", "stop it first"));
            }
            inner.end_asks_of(&view.agent)?;
            inner.store.write(|tx| agents::delete(tx, &view.agent))?;
            inner.drop_spent_dirs()
        })
    }

    fn stop_and_wait(&self, view: &AgentView, by: &'static str) -> Result<(), Error> {
        let agent = view.agent.clone();
        let stopping = self.request_blocking(move |inner| {
            inner.store.write(|tx| agents::set_stopped(tx, &agent, true))?;
            inner.drop_turns_of(&agent, by)?;
            let Some(run) = inner.store.read(|db| runs::newest_of(db, &agent.id))? else { return Ok(None) };
            if run.state.is_terminal() {
                return Ok(None);
            }
            let id = run.id.clone();
            inner.act_later(move |world, _| {
                world.stop(&id, by);
            });
            Ok(Some(run.id))
        })?;
        let Some(run) = stopping else { return Ok(()) };
        let patience = Duration::from_millis(limits::SHUTDOWN_MS + limits::SUPERVISOR_PATIENCE_MS);
        self.wait_while(&run, patience, |state| !state.is_terminal())?;
        if self.read(|db| runs::get(db, &run))?.is_some_and(|row| !row.state.is_terminal()) {
            let message = format!("agent {:?} does not end", view.agent.name);
            return Err(Error::failed(message, "`carillon doctor` shows its processes"));
        }
        Ok(())
    }

    /// Waits until the run's state is another, or the patience is at its end.
    fn wait_while(
        &self,
        run: &RunId,
        patience: Duration,
        still: impl Fn(&State) -> bool,
    ) -> Result<(), Error> {
        let until = Instant::now() + patience;
        loop {
            let seen = self.inner.newest.get();
            let row = self.read(|db| runs::get(db, run))?;
            if !row.is_some_and(|row| still(&row.state)) || !self.inner.newest.wait(seen, until) {
                return Ok(());
            }
        }
    }
}

impl MainLoop {
    /// Commits a run, then launches it. Answers the live run instead when there is one.
    fn begin(&mut self, agent: &Agent, order: LaunchOrder) -> Result<Option<RunId>, Error> {
        if !self.accepting {
            return Err(Error::ShuttingDown);
        }
        if let Some(row) = self.store.read(|db| runs::newest_of(db, &agent.id))?
            && !row.state.is_terminal()
        {
            self.wake_anew(&agent.id)?;
            return Ok(Some(row.id));
        }
        let row = RunRow {
            id: order.run.clone(),
            project: agent.project.clone(),
            agent: Some(agent.id.clone()),
            task: None,
            state: State::Starting,
            pid: None,
            start_time: None,
            boot_id: None,
            temp_path: Some(order.temp.path().to_string_lossy().into_owned()),
            temp_held: true,
            dir_kept: true,
            log_bytes: 0,
            created_ms: now_ms(),
            started_ms: None,
            ended_ms: None,
        };
        self.store.write(|tx| {
            runs::insert_starting(tx, &row)?;
            agents::set_stopped(tx, agent, false)
        })?;
        self.wake_anew(&agent.id)?;
        self.act_later(move |world, report| world.launch(order, report.clone()));
        Ok(None)
    }
}

/// A turn that fails is nothing that stays with a headless agent; a program that is not there is.
fn could_not_start(run: Option<&State>) -> bool {
    match run {
        Some(State::Ended(ending)) => matches!(ending.cause, Cause::SpawnFailed { .. }),
        Some(State::Starting | State::Running | State::Lost(_)) | None => false,
    }
}

/// The directory of an agent. It is never replaced by another: work must not land elsewhere.
fn existing_workdir(agent: &Agent) -> Result<PathBuf, Error> {
    let path = PathBuf::from(&agent.workdir);
    if path.is_dir() {
        return Ok(path);
    }
    let message = format!("the directory of agent {:?} is gone: {}", agent.name, agent.workdir);
    Err(Error::failed(message, "bring the directory back, or remove the agent and add it again"))
}

fn existing_dir(path: &Path) -> Result<PathBuf, Error> {
    let resolved = std::fs::canonicalize(path)
        .map_err(|e| Error::failed(format!("{} cannot be opened: {e}", path.display()), "check the path"))?;
    if !resolved.is_dir() {
        let message = format!("{} is not a directory", path.display());
        return Err(Error::failed(message, "give a directory"));
    }
    Ok(resolved)
}
