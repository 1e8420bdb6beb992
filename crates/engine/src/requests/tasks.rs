//! Background tasks: starting, listing, waiting, cancelling, trying again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use carillon_core::id::{RunId, TaskId};
use carillon_core::task::State;
use carillon_core::words::{Project, Task};
use carillon_core::{limits, plain};
use carillon_store::attempts::{self, AttemptRow};
use carillon_store::runs;
use carillon_store::tasks::{self, TaskRow};

use crate::engine::Engine;
use crate::envs;
use crate::error::Error;
use crate::host::Vars;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::callers::Caller;
use crate::rules;
use crate::temps::TempView;

/// A task to start.
#[derive(Clone, Debug, Default)]
pub struct NewTask {
    /// Its id, made by who asks; the same one again makes nothing new.
    pub id: Option<TaskId>,
    /// The agent that hears of its end, by name or id.
    pub owner: Option<String>,
    /// The project by name, id or path; else the owner's, else that of the directory.
    pub project: Option<String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Absolute path of the directory to run in; else the project's root.
    pub cwd: Option<PathBuf>,
    /// The caller's environment; none: the user's own.
    pub env: Option<Vars>,
    /// A name for people; else the command.
    pub title: Option<String>,
    /// Time after which it is ended, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Cap of its log, in bytes.
    pub log_max: Option<u64>,
    /// Whether it gets a terminal.
    pub tty: bool,
    /// Whether it stays out of the ask that its owner serves.
    pub detached: bool,
    /// Who asks for it. An agent's task is its own, and joined to the ask that it serves.
    pub caller: Caller,
}

/// A task with its latest attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// What was asked for.
    pub row: TaskRow,
    /// Where it stands.
    pub attempt: AttemptRow,
    /// The temp directory of its run, once it was measured, and until it goes.
    pub temp: Option<TempView>,
}

impl Engine {
    /// Accepts a task: when this returns it has its durable record.
    pub fn add_task(&self, new: NewTask) -> Result<TaskView, Error> {
        if let Some(known) = new.id.as_ref().map(|id| self.task_by_id(id)).transpose()?.flatten() {
            return Ok(known);
        }
        check_command(&new)?;
        let owner = new.owner.as_deref().map(|key| self.agent(key)).transpose()?.map(|view| view.agent);
        let project = self.project_of(&new, owner.as_ref())?;
        let rules = rules::for_tasks(project.root.as_ref())?;
        let env = new.env.as_ref().map(|vars| carillon_agents::child_env::clean(vars));
        let env_key = env.map(|vars| envs::put(&self.inner.paths.envs, &vars)).transpose().map_err(|e| {
            Error::failed(format!("the environment cannot be kept: {e}"), "check the data directory")
        })?;
        let cwd = new.cwd.clone().unwrap_or_else(|| PathBuf::from(&project.root));
        let cwd = cwd.into_os_string().into_string().map_err(|path| {
            Error::failed(format!("the path {path:?} is not UTF-8"), "rename the directory")
        })?;
        let id = new.id.clone().unwrap_or_else(|| TaskId::from_random(*uuid::Uuid::new_v4().as_bytes()));
        let task = Task {
            id,
            project: project.id,
            owner: owner.map(|agent| agent.id),
            title: title(new.title.clone(), &new.command),
            command: new.command.clone(),
            cwd,
            tty: new.tty,
            detached: new.detached,
            timeout_ms: new.timeout_ms.or(rules.timeout_ms).map(|ms| ms.min(limits::TASK_TIMEOUT_MAX_MS)),
            log_max: new.log_max.unwrap_or(rules.log_max).max(limits::TASK_LOG_MIN_BYTES),
        };
        let row = TaskRow { task, created_ms: now_ms(), env_key, joined_ask: None, seen_attempt: 0 };
        let id = row.task.id.clone();
        let accepted = self.request_blocking(move |inner| inner.accept(row, &new.caller))?;
        // It may have got its slot in the same commit.
        Ok(self.task_by_id(&id)?.unwrap_or(accepted))
    }

    fn project_of(
        &self,
        new: &NewTask,
        owner: Option<&carillon_core::words::Agent>,
    ) -> Result<Project, Error> {
        if let Some(key) = &new.project {
            return self.project(key);
        }
        if let Some(agent) = owner {
            return self.project(agent.project.as_str());
        }
        let cwd = new.cwd.as_ref().ok_or_else(|| {
            Error::invalid("a task needs a project or a directory", "say which project it belongs to")
        })?;
        self.project(&cwd.to_string_lossy()).map_err(|_| {
            let message = format!("{} does not lie in an open project", cwd.display());
            Error::failed(message, "open its repository with `carillon project add`")
        })
    }

    fn task_by_id(&self, id: &TaskId) -> Result<Option<TaskView>, Error> {
        self.read(|db| view_of(db, id))
    }

    /// The task that `key` names: its id or a unique start of it.
    pub fn task(&self, key: &str) -> Result<TaskView, Error> {
        let not_found = || Error::NotFound {
            what: "task",
            name: key.to_owned(),
            hint: "`carillon tasks list` shows them".to_owned(),
        };
        let hex = key.len() >= 4 && key.len() <= 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
        let mut found = if hex { self.read(|db| tasks::by_prefix(db, key))? } else { Vec::new() };
        if found.len() > 1 {
            return Err(Error::Ambiguous { what: "task", name: key.to_owned() });
        }
        let row = found.pop().ok_or_else(not_found)?;
        let view = self.task_by_id(&row.task.id)?.ok_or_else(not_found)?;
        Ok(self.with_live_facts(view))
    }

    /// The tasks of a project, or all; the newest first. With `state`, a word like `running`, only
    /// those in it.
    pub fn tasks(&self, project: Option<&str>, state: Option<&str>) -> Result<Vec<TaskView>, Error> {
        let project = project.map(|key| self.project(key)).transpose()?;
        let views = self.read(|db| {
            let rows = tasks::list(db, project.as_ref().map(|p| &p.id), state, limits::TASKS_LISTED_MAX)?;
            let with_attempt = rows.into_iter().map(|row| {
                let attempt = attempts::latest(db, &row.task.id)?;
                Ok(attempt.map(|attempt| TaskView { row, attempt, temp: None }))
            });
            with_attempt.collect::<Result<Vec<_>, carillon_store::db::SqlError>>()
        })?;
        Ok(views.into_iter().flatten().map(|view| self.with_live_facts(view)).collect())
    }

    /// What is not on the ledger: how long the log is by now, and what the temp directory takes.
    fn with_live_facts(&self, mut view: TaskView) -> TaskView {
        if let (false, Some(run)) = (view.attempt.state.is_terminal(), &view.attempt.run) {
            view.attempt.log_bytes = self.inner.host.log_bytes(run).unwrap_or(view.attempt.log_bytes);
            view.temp = self.temp_of_run(run);
        }
        view
    }

    /// What a run's directory takes is told where it can be: that its row cannot be read is told by what needs it.
    fn temp_of_run(&self, run: &RunId) -> Option<TempView> {
        self.inner.temp_uses.get(run)?;
        let row = self.read(|db| runs::get(db, run)).ok().flatten()?;
        self.inner.temp_uses.view(&row)
    }

    /// Waits up to `wait` for the end of a task. Who waits from within a task lends its slot
    /// meanwhile, so that two tasks cannot block each other for want of one.
    pub async fn wait_task(
        &self,
        key: &str,
        waiter: Option<RunId>,
        wait: Duration,
    ) -> Result<TaskView, Error> {
        let until = tokio::time::Instant::now() + wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
        let key = key.to_owned();
        let id = self.aside(move |engine| engine.task(&key)).await?.row.task.id;
        let mut one = self.inner.newest.watch_one(id.as_str());
        let _lent = waiter.map(|run| Lending::begin(self, run));
        loop {
            let key = id.clone();
            let view = self.aside(move |engine| engine.task(key.as_str())).await?;
            let is_over = view.attempt.state.is_terminal();
            if is_over || tokio::time::timeout_at(until, one.changed()).await.is_err() {
                return Ok(view);
            }
        }
    }

    /// Asks for the end of a task. It is recorded before the supervisor hears of it.
    pub fn cancel_task(&self, key: &str, by: &str, caller: Caller) -> Result<TaskView, Error> {
        let id = self.task(key)?.row.task.id;
        let by = by.to_owned();
        self.request_blocking(move |inner| {
            let Some(attempt) = inner.store.read(|db| attempts::latest(db, &id))? else {
                return Err(Error::failed("the task has no attempt", "`carillon doctor` checks the ledger"));
            };
            let who = inner.who(&caller)?;
            let row = inner.view(&id)?.row;
            if who.agent.as_ref().is_some_and(|agent| agent.project != row.task.project) {
                let message = "this task belongs to another project";
                return Err(Error::refused(message, "an agent acts only in its own project"));
            }
            let by = if who.agent.is_some() { who.name() } else { by };
            // An owner that does not want it any more has seen its end.
            if who.agent.is_some_and(|agent| Some(agent.id) == row.task.owner) {
                inner.store.write(|tx| tasks::set_seen(tx, &row, attempt.number))?;
            }
            inner.cancel_attempt(attempt, &by)?;
            inner.view(&id)
        })
    }

    /// Tries a task that is over again, as a new attempt. One that is not over is answered as it is.
    pub fn retry_task(&self, key: &str, caller: &Caller) -> Result<TaskView, Error> {
        let row = self.task(key)?.row;
        self.may_see(&row.task.project, caller)?;
        let (id, caller) = (row.task.id, caller.clone());
        self.request_blocking(move |inner| {
            let view = inner.view(&id)?;
            if view.attempt.state.is_terminal() {
                let who = inner.who(&caller)?;
                let state = inner.first_state(who.agent.as_ref(), &view.row.task.command)?;
                inner.add_attempt(&view.row, view.attempt.number + 1, state, who.agent.as_ref())?;
                inner.fill_slots(&view.row.task.project);
            }
            inner.view(&id)
        })
    }

    /// Refuses an agent that turns to a task of another project.
    pub async fn may_see_task(&self, key: &str, caller: Caller) -> Result<(), Error> {
        if caller == Caller::default() {
            return Ok(());
        }
        let key = key.to_owned();
        self.aside(move |engine| engine.may_see(&engine.task(&key)?.row.task.project, &caller)).await
    }

    /// The owner of a task, from within a run, has seen its end.
    pub fn note_task_seen(&self, view: &TaskView, caller: Caller) -> Result<(), Error> {
        self.may_see(&view.row.task.project, &caller)?;
        let number = view.attempt.number;
        let unseen = view.row.joined_ask.is_some() && view.row.seen_attempt < number;
        if caller == Caller::default() || !unseen || !view.attempt.state.is_terminal() {
            return Ok(());
        }
        let row = view.row.clone();
        self.request_blocking(move |inner| {
            let who = inner.who(&caller)?;
            if who.agent.is_some_and(|agent| Some(agent.id) == row.task.owner) {
                inner.store.write(|tx| tasks::set_seen(tx, &row, number))?;
                inner.child_changed(row.joined_ask.as_ref(), now_ms())?;
            }
            Ok(())
        })
    }

    /// The latest attempt's run of a task, and its view.
    pub(crate) fn task_with_run_dir(&self, key: &str) -> Result<(TaskView, Option<PathBuf>), Error> {
        let view = self.task(key)?;
        let dir = view.attempt.run.as_ref().map(|run| self.inner.host.run_dir(run));
        Ok((view, dir))
    }
}

/// A slot that is lent for as long as this lives.
pub(crate) struct Lending {
    engine: Engine,
    run: RunId,
}

impl Lending {
    pub(crate) fn begin(engine: &Engine, run: RunId) -> Self {
        engine.tell(&run, true);
        Self { engine: engine.clone(), run }
    }
}

impl Drop for Lending {
    fn drop(&mut self) {
        self.engine.tell(&self.run, false);
    }
}

impl Engine {
    fn tell(&self, run: &RunId, waits: bool) {
        let run = run.clone();
        self.request_unanswered(move |inner| inner.lend(&run, waits));
    }
}

impl MainLoop {
    /// Records a task and its first attempt, and starts it when there is a slot: one commit.
    fn accept(&mut self, mut row: TaskRow, caller: &Caller) -> Result<TaskView, Error> {
        if !self.accepting {
            return Err(Error::ShuttingDown);
        }
        let who = self.who(caller)?;
        let state = self.first_state(who.agent.as_ref(), &row.task.command)?;
        let asker = who.agent.clone();
        if let Some(agent) = who.agent {
            if agent.project != row.task.project {
                let message = format!("agent {:?} may run commands only in its own project", agent.name);
                return Err(Error::refused(message, "run it in the project of the agent"));
            }
            let is_own = row.task.owner.as_ref().is_none_or(|owner| *owner == agent.id);
            row.joined_ask = who.serves.filter(|_| is_own && !row.task.detached);
            row.task.owner.get_or_insert(agent.id);
        }
        let id = row.task.id.clone();
        if let Some(known) = self.store.read(|db| view_of(db, &id))? {
            return Ok(known);
        }
        self.marks.push("task accepted");
        self.store.write(|tx| tasks::insert(tx, &row))?;
        self.add_attempt(&row, 1, state, asker.as_ref())?;
        if let Some(ask) = &row.joined_ask
            && let Some(ask) = self.store.read(|db| carillon_store::asks::get(db, ask))?
        {
            self.store.write(|tx| carillon_store::asks::note(tx, &ask))?;
        }
        self.fill_slots(&row.task.project);
        self.view(&id)
    }

    /// Puts an attempt in line, or lets it wait for the user's word.
    fn add_attempt(
        &mut self,
        row: &TaskRow,
        number: u32,
        state: State,
        asker: Option<&carillon_core::words::Agent>,
    ) -> Result<(), Error> {
        let attempt = AttemptRow { state, ..queued(row, number) };
        let approval = self.approval_for(&attempt, asker);
        self.store.write(|tx| {
            attempts::insert(tx, &attempt)?;
            match &approval {
                Some(approval) => carillon_store::approvals::insert(tx, approval, attempt.project.as_str()),
                None => Ok(()),
            }
        })?;
        if let Some(approval) = &approval {
            self.arm_approval(approval);
        }
        Ok(())
    }

    fn view(&self, id: &TaskId) -> Result<TaskView, Error> {
        self.store.read(|db| view_of(db, id))?.ok_or_else(|| Error::NotFound {
            what: "task",
            name: id.to_string(),
            hint: "`carillon tasks list` shows them".to_owned(),
        })
    }
}

fn view_of(
    db: &carillon_store::db::Db,
    id: &TaskId,
) -> Result<Option<TaskView>, carillon_store::db::SqlError> {
    let Some(row) = tasks::get(db, id)? else { return Ok(None) };
    Ok(attempts::latest(db, id)?.map(|attempt| TaskView { row, attempt, temp: None }))
}

fn queued(row: &TaskRow, number: u32) -> AttemptRow {
    AttemptRow {
        task: row.task.id.clone(),
        number,
        project: row.task.project.clone(),
        state: State::Queued,
        cancel_by: None,
        run: None,
        log_bytes: 0,
        log_truncated: false,
        output_held: false,
        left_over: Vec::new(),
        created_ms: now_ms(),
        started_ms: None,
        ended_ms: None,
    }
}

fn check_command(new: &NewTask) -> Result<(), Error> {
    let bytes: usize = new.command.iter().map(|word| word.len() + 1).sum();
    if new.command.first().is_none_or(String::is_empty) {
        return Err(Error::invalid("there is no command", "write it behind `--`"));
    }
    if bytes > limits::COMMAND_MAX_BYTES {
        let message =
            format!("the command has {bytes} bytes, at most {} are allowed", limits::COMMAND_MAX_BYTES);
        return Err(Error::invalid(message, "put it into a script"));
    }
    if new.command.iter().any(|word| word.contains('\0')) {
        return Err(Error::invalid("the command holds a zero byte", "leave it out"));
    }
    match &new.cwd {
        Some(cwd) if !cwd.is_absolute() => {
            Err(Error::invalid(format!("{} is not an absolute path", cwd.display()), "give the whole path"))
        }
        Some(cwd) if !Path::is_dir(cwd) => {
            Err(Error::failed(format!("{} is not a directory", cwd.display()), "check the path"))
        }
        Some(_) | None => Ok(()),
    }
}

/// What people see: the given title or the command, on one line, without control characters.
fn title(given: Option<String>, command: &[String]) -> String {
    let text = given.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| command.join(" "));
    plain::plain(&text).chars().take(limits::TITLE_MAX_CHARS).collect::<String>().trim().to_owned()
}
