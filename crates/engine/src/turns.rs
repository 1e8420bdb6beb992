//! The turns of agents: who is next, how it is handed over, and what its end means.

use std::path::Path;

use carillon_core::id::{AgentId, AskId, ProjectId, RunId, TurnId};
use carillon_core::run::{self};
use carillon_core::turn::{self, Event, State};
use carillon_core::usage::Usage;
use carillon_core::words::{Agent, Mode};
use carillon_core::{limits, message};
use carillon_store::messages::{self, MessageRow};
use carillon_store::runs::{self, RunRow};
use carillon_store::turns::{self, Closing, Kind, TurnRow};
use carillon_store::{agents, asks, profiles, projects};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::queue::new_run;
use crate::secrets;
use crate::wanted::Want;
use crate::world::{AgentOrder, BaseEnv, Facts, LaunchOrder, OrderIo, What};

/// A turn that stands in line.
pub(crate) fn queued(
    agent: AgentId,
    project: ProjectId,
    ask: Option<AskId>,
    kind: Kind,
    prompt: String,
) -> TurnRow {
    TurnRow {
        id: TurnId::from_random(*uuid::Uuid::new_v4().as_bytes()),
        agent,
        project,
        ask,
        kind,
        state: State::Queued,
        prompt,
        run: None,
        usage: Usage::default(),
        closing: Closing::default(),
        created_ms: now_ms(),
        started_ms: None,
        ended_ms: None,
    }
}

/// A turn that was chosen, with the messages that it takes along.
pub(crate) struct Chosen {
    pub(crate) turn: TurnRow,
    /// The turn is made now; else it stands in line.
    is_new: bool,
    messages: Vec<MessageRow>,
}

impl MainLoop {
    /// Sees to it that a free agent gets what waits for it, before the next commit. Asked whenever one of
    /// the facts changes.
    pub(crate) fn next_turn(&mut self, agent: &AgentId) {
        self.wanted.add(Want::Turn(agent.clone()));
    }

    /// Gives a free agent what waits for it.
    pub(crate) fn look_after(&mut self, agent: &AgentId) -> Result<(), Error> {
        // Where a profile bounds the turns at once, whoever waits longest is next.
        match self.line_of(agent)? {
            Some(profile) => self.fill_line(&profile),
            None => self.try_next_turn(agent),
        }
    }

    pub(crate) fn try_next_turn(&mut self, id: &AgentId) -> Result<(), Error> {
        if !self.accepting || !self.turns_may_begin {
            return Ok(());
        }
        self.drop_needless_turns(id)?;
        let Some(agent) = self.store.read(|db| agents::get(db, id))? else { return Ok(()) };
        if agent.stopped_by_user || self.is_limited(&agent)? || self.rests(id) {
            return Ok(());
        }
        if self.store.read(|db| turns::live_of(db, id))?.is_some() {
            return Ok(());
        }
        let live = self.store.read(|db| runs::newest_of(db, id))?.filter(|run| !run.state.is_terminal());
        match (agent.mode, live) {
            // Its last process is on its way out.
            (Mode::Headless, Some(_)) => Ok(()),
            (Mode::Headless, None) if !self.has_slot(&agent)? => Ok(()),
            (Mode::Headless, None) => match self.choose(&agent, true, false)? {
                Some(chosen) => self.begin_headless(&agent, chosen),
                None => Ok(()),
            },
            (Mode::Terminal, Some(run)) => self.next_turn_in_terminal(&agent, &run),
            // An ask starts it; a message waits until somebody does.
            (Mode::Terminal, None) => match self.store.read(|db| turns::next_of(db, id))? {
                Some(_) => self.start_terminal(&agent),
                None => Ok(()),
            },
        }
    }

    /// A turn that stands in line for an ask which is over is not begun.
    fn drop_needless_turns(&mut self, agent: &AgentId) -> Result<(), Error> {
        while let Some(turn) = self.store.read(|db| turns::next_of(db, agent))? {
            let ask = match &turn.ask {
                Some(ask) => self.store.read(|db| asks::get(db, ask))?,
                None => None,
            };
            if ask.is_none_or(|ask| !ask.state.is_terminal()) {
                return Ok(());
            }
            let reason = "its ask is over".to_owned();
            self.finish(&turn, State::Interrupted { reason, resume: false }, now_ms(), false)?;
        }
        Ok(())
    }

    /// What comes next, the oldest first: a turn in line, or all messages together.
    pub(crate) fn choose(
        &mut self,
        agent: &Agent,
        idle: bool,
        typing: bool,
    ) -> Result<Option<Chosen>, Error> {
        let first = self.store.read(|db| turns::next_of(db, &agent.id))?;
        let (_, since) = self.store.read(|db| messages::waiting_for(db, &agent.id))?;
        let older = match (&first, since) {
            (Some(turn), Some(since)) => turn.created_ms <= since,
            (turn, _) => turn.is_some(),
        };
        if !older && let Some(messages) = self.messages_to_wake_with(agent, idle, typing)? {
            let prompt = crate::wakes::prompt_of(&messages);
            let turn = queued(agent.id.clone(), agent.project.clone(), None, Kind::Wake, prompt);
            return Ok(Some(Chosen { turn, is_new: true, messages }));
        }
        Ok(first.map(|turn| Chosen { turn, is_new: false, messages: Vec::new() }))
    }

    fn begin_headless(&mut self, agent: &Agent, chosen: Chosen) -> Result<(), Error> {
        let (run, order) = self.order_of(agent, &chosen.turn.prompt, OrderIo::Turn);
        self.commit_claim(&chosen, &run.id, Some(&run))?;
        match order {
            Ok(order) => self.act_later(move |world, report| world.launch(order, report.clone())),
            Err(message) => {
                self.advance(&run.id, run::Event::LaunchFailed { message }, &Facts::default())?;
            }
        }
        Ok(())
    }

    /// The claim, the run and the messages that go along: one transaction.
    pub(crate) fn commit_claim(
        &mut self,
        chosen: &Chosen,
        run: &RunId,
        new_run: Option<&RunRow>,
    ) -> Result<(), Error> {
        let turn = &chosen.turn;
        turn::step(&turn.state, Event::Claimed)
            .map_err(|e| Error::failed(format!("the turn cannot begin: {e:?}"), "try again"))?;
        self.marks.push("turn claimed");
        self.store.write(|tx| {
            if let Some(run) = new_run {
                runs::insert_starting(tx, run)?;
            }
            if chosen.is_new {
                turns::insert_queued(tx, turn)?;
            }
            turns::claim(tx, turn, run)?;
            let received = match (&turn.ask, turn.kind) {
                (Some(ask), Kind::Ask | Kind::Resume) => messages::received(tx, ask.as_str())?,
                (Some(_) | None, Kind::Ask | Kind::FollowUp | Kind::Wake | Kind::Resume) => None,
            };
            for row in chosen.messages.iter().chain(&received) {
                let event = message::Event::Claimed { turn: turn.id.clone() };
                if let Ok((state, repeats)) = message::step(&row.state, event) {
                    messages::set_state(tx, row, &state, repeats)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Everything for the start of an agent's program. A failure still has a run, which tells it.
    pub(crate) fn order_of(
        &self,
        agent: &Agent,
        prompt: &str,
        io: OrderIo,
    ) -> (RunRow, Result<LaunchOrder, String>) {
        let mut run = new_run(RunId::from_random(*uuid::Uuid::new_v4().as_bytes()), &agent.project);
        run.agent = Some(agent.id.clone());
        let order = self.find_for_order(agent, prompt, io, &mut run);
        (run, order)
    }

    fn find_for_order(
        &self,
        agent: &Agent,
        prompt: &str,
        io: OrderIo,
        run: &mut RunRow,
    ) -> Result<LaunchOrder, String> {
        let profile = self.store.read(profiles::list).map_err(|e| e.to_string())?;
        let profile = profile.into_iter().find(|profile| profile.id == agent.profile);
        let profile = profile.ok_or_else(|| format!("the profile of agent {:?} is gone", agent.name))?;
        let project = self.store.read(projects::list).map_err(|e| e.to_string())?;
        let project = project.into_iter().find(|project| project.id == agent.project);
        let project = project.ok_or_else(|| format!("the project of agent {:?} is gone", agent.name))?;
        if !Path::new(&agent.workdir).is_dir() {
            return Err(format!("the directory of agent {:?} is gone: {}", agent.name, agent.workdir));
        }
        let own_env = secrets::get(&self.paths.secrets, &profile.id)
            .map_err(|e| format!("the variables of profile {:?} cannot be read: {e}", profile.name))?;
        let temp = self.temp_place(Path::new(&project.root))?;
        run.temp_path = Some(temp.path().to_string_lossy().into_owned());
        run.temp_held = true;
        Ok(LaunchOrder {
            what: What::Agent(AgentOrder::of(agent, &profile, prompt.to_owned())),
            cwd: agent.workdir.clone().into(),
            base_env: BaseEnv::User,
            ours: vec![
                ("CARILLON_AGENT", agent.id.to_string()),
                ("CARILLON_RUN", run.id.to_string()),
                ("CARILLON_SOCKET", self.paths.socket.to_string_lossy().into_owned()),
            ],
            own_env,
            timeout_ms: None,
            log_max: match io {
                OrderIo::Turn => limits::TURN_OUTPUT_MAX_BYTES,
                OrderIo::Terminal { .. } | OrderIo::Pipes => limits::TERMINAL_LOG_MAX_BYTES,
            },
            guarded: matches!(io, OrderIo::Turn).then(|| project.root.clone().into()),
            io,
            temp,
            run: run.id.clone(),
        })
    }
}
