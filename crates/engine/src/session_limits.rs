//! Session limits: all agents of a profile wait together, and go on one after the other.

use carillon_agents::adapter::Adapter;
use carillon_core::id::{AgentId, ProfileId, RunId};
use carillon_core::limit::{self, Effect, Event, Limited, NoLimit};
use carillon_core::limits as bounds;
use carillon_core::turn::End;
use carillon_core::words::{Agent, Mode};
use carillon_store::agents::{self, Wakes};
use carillon_store::db::{Db, SqlError};
use carillon_store::turns::{self, Kind, TurnRow};
use carillon_store::{limits, messages, profiles, runs};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::timers::Timer;
use crate::turn_ends::CONTINUE;
use crate::turns::queued;

impl MainLoop {
    /// Whether a limit keeps an agent from beginning a turn.
    pub(crate) fn is_limited(&self, agent: &Agent) -> Result<bool, Error> {
        let limited = self.store.read(|db| limits::get(db, &agent.profile))?;
        Ok(!limit::lets_go(limited.as_ref(), &agent.id))
    }

    /// Compute, commit, act: one step of the limit of a profile.
    pub(crate) fn step_limit(&mut self, profile: &ProfileId, event: Event) -> Result<(), Error> {
        let wanting = self.wanting(profile)?;
        self.step_limit_for(profile, event, &wanting)
    }

    /// As [`MainLoop::step_limit`], with the agents that may try, in their order.
    fn step_limit_for(
        &mut self,
        profile: &ProfileId,
        event: Event,
        wanting: &[AgentId],
    ) -> Result<(), Error> {
        let before = self.store.read(|db| limits::get(db, profile))?;
        let spread_ms = i64::from(uuid::Uuid::new_v4().as_bytes()[0]) * bounds::LIMIT_JITTER_MS / 255;
        // Who tried has only just begun.
        let first_place = usize::from(event == Event::Passed);
        if event == Event::ResumeAsked && wanting.is_empty() {
            self.is_not_left_to_its_program(profile, before.as_ref())?;
        }
        let step = limit::step(before.as_ref(), event, wanting.first(), now_ms(), spread_ms);
        let (after, effects) = step.map_err(|NoLimit| self.no_limit(profile))?;
        if after != before {
            self.store.write(|tx| limits::set(tx, profile, after.as_ref()))?;
        }
        for effect in effects {
            match (effect, &after) {
                (Effect::Arm, Some(limited)) => {
                    self.timers.set(limited.resume_ms, Timer::Limit(profile.clone()));
                }
                (Effect::Probe, Some(Limited { probe: Some(agent), .. })) => {
                    self.timers.set(now_ms() + bounds::LIMIT_LOOK_MS, Timer::LimitPassed(profile.clone()));
                    self.next_turn(&agent.clone());
                }
                (Effect::ResumeAll, _) => {
                    for (place, agent) in wanting.iter().enumerate() {
                        self.rest_until(agent, now_ms() + limit::place_ms(first_place + place))?;
                    }
                }
                (Effect::Arm | Effect::Probe, _) => {}
            }
        }
        Ok(())
    }

    fn no_limit(&self, id: &ProfileId) -> Error {
        let all = self.store.read(profiles::list).unwrap_or_default();
        let name = all.into_iter().find(|profile| profile.id == *id).map(|profile| profile.name);
        let message = format!("no session limit holds for profile {:?}", name.unwrap_or_default());
        Error::refused(message, "`carillon limits list` shows those that hold")
    }

    /// The agents of a profile with something to do that could begin now, those that wait longest first.
    pub(crate) fn wanting(&self, profile: &ProfileId) -> Result<Vec<AgentId>, Error> {
        let found = self.store.read(|db| {
            let mut found = Vec::new();
            for agent in agents::list(db)?.into_iter().filter(|a| a.profile == *profile && !a.stopped_by_user)
            {
                if let Some(since) = wants_since(db, &agent)? {
                    found.push((since, agent.id));
                }
            }
            Ok(found)
        });
        let mut found = found?;
        found.sort_by_key(|(since, _)| *since);
        Ok(found.into_iter().map(|(_, agent)| agent).collect())
    }

    /// Nobody but a program that waits for the end by itself could try: it cannot be told that the end has come, and
    /// it goes on without us. The limit holds until then, as the user is told.
    fn is_not_left_to_its_program(&self, id: &ProfileId, limited: Option<&Limited>) -> Result<(), Error> {
        let Some(Limited { probe: None, .. }) = limited else { return Ok(()) };
        let profile = self.store.read(profiles::list)?.into_iter().find(|profile| profile.id == *id);
        let Some(profile) = profile.filter(|profile| profile.adapter == Adapter::Opencode.name()) else {
            return Ok(());
        };
        for agent in self.store.read(agents::list)?.into_iter().filter(|agent| agent.profile == *id) {
            let run = self.store.read(|db| runs::newest_of(db, &agent.id))?;
            let run = run.filter(|run| agent.mode == Mode::Terminal && !run.state.is_terminal());
            if run.is_some_and(|run| self.world().terminal_facts(&run.id).at_turn) {
                let (agent, name) = (agent.name, profile.name);
                let message =
                    format!("the program of agent {agent:?} waits for the end by itself and goes on then");
                let hint = format!(
                    "`carillon limits clear {name}` when there is no limit any more; type in its pane to hurry it"
                );
                return Err(Error::refused(message, &hint));
            }
        }
        Ok(())
    }

    /// An agent goes on in its place of the line, also when the engine goes away before.
    fn rest_until(&mut self, id: &AgentId, at_ms: i64) -> Result<(), Error> {
        self.resting.insert(id.clone(), at_ms);
        self.timers.set(at_ms, Timer::Wake(id.clone()));
        let Some(agent) = self.store.read(|db| agents::get(db, id))? else { return Ok(()) };
        let wakes = self.store.read(|db| agents::wakes_of(db, id))?;
        let wakes = Wakes { not_before_ms: wakes.not_before_ms.max(at_ms), ..wakes };
        Ok(self.store.write(|tx| agents::set_wakes(tx, &agent, &wakes))?)
    }

    /// Whether an agent waits for its place in the line after a limit.
    pub(crate) fn rests(&mut self, agent: &AgentId) -> bool {
        match self.resting.get(agent) {
            Some(at_ms) if *at_ms > now_ms() => true,
            Some(_) => {
                self.resting.remove(agent);
                false
            }
            None => false,
        }
    }

    /// What the end of a turn tells about the limit of its agent's profile.
    pub(crate) fn note_limit(&mut self, turn: &TurnRow, end: &End) -> Result<(), Error> {
        let Some(agent) = self.store.read(|db| agents::get(db, &turn.agent))? else { return Ok(()) };
        match end {
            End::Limited { reason, until_ms } => {
                let event = Event::Rejected { reason: reason.clone(), until_ms: *until_ms };
                self.step_limit(&agent.profile, event)
            }
            End::Final { .. } | End::Failed { .. } => {
                let limited = self.store.read(|db| limits::get(db, &agent.profile))?;
                match limited {
                    Some(Limited { probe: Some(probe), .. }) if probe == agent.id => {
                        let is_answer = matches!(end, End::Final { .. }) || self.has_answered(turn)?;
                        let event = if is_answer { Event::Passed } else { Event::Unanswered };
                        self.step_limit(&agent.profile, event)
                    }
                    Some(_) | None => Ok(()),
                }
            }
            End::Interrupted { .. } => Ok(()),
        }
    }

    /// Whether the agent has said or done something in a turn. What it wrote tells, or what it has started.
    pub(crate) fn has_answered(&self, turn: &TurnRow) -> Result<bool, Error> {
        if self.store.read(|db| turns::has_started_work(db, turn))? {
            return Ok(true);
        }
        let agent = self.store.read(|db| agents::get(db, &turn.agent))?;
        match (agent, &turn.run) {
            (Some(agent), Some(run)) if agent.mode == Mode::Headless => {
                Ok(self.world().has_answered(run, &self.adapter_of(&agent)?))
            }
            (Some(_) | None, _) => Ok(false),
        }
    }

    /// Nothing is wrong with the question: it stands in line again, for when the limit is over. An agent that was at work
    /// on it goes on where it was, so that nothing is done twice.
    pub(crate) fn wait_for_limit(&mut self, turn: &TurnRow) -> Result<(), Error> {
        let session = self.store.read(|db| agents::get(db, &turn.agent))?.and_then(|agent| agent.session_id);
        let prompt = match session.is_some() && self.has_answered(turn)? {
            true => CONTINUE.to_owned(),
            false => turn.prompt.clone(),
        };
        let (agent, project) = (turn.agent.clone(), turn.project.clone());
        let again = queued(agent, project, turn.ask.clone(), Kind::Resume, prompt);
        Ok(self.store.write(|tx| turns::insert_queued(tx, &again))?)
    }

    /// What the program of a run has told, or the limit that its user's own turn has met there: the others of its
    /// profile wait.
    pub(crate) fn note_limit_of_run(
        &mut self,
        run: &RunId,
        reason: String,
        until_ms: Option<i64>,
    ) -> Result<(), Error> {
        let row = self.store.read(|db| runs::get(db, run))?;
        let Some(agent) = row.and_then(|row| row.agent) else { return Ok(()) };
        let Some(agent) = self.store.read(|db| agents::get(db, &agent))? else { return Ok(()) };
        self.step_limit(&agent.profile, Event::Rejected { reason, until_ms })
    }

    /// The time to try has come.
    pub(crate) fn limit_due(&mut self, profile: &ProfileId) -> Result<(), Error> {
        match self.store.read(|db| limits::get(db, profile))? {
            Some(_) => self.step_limit(profile, Event::Due),
            None => Ok(()),
        }
    }

    /// Looks whether the model answers the turn that tries. That it goes on tells nothing: some programs try again for
    /// minutes by themselves.
    pub(crate) fn limit_passed(&mut self, profile: &ProfileId) -> Result<(), Error> {
        let Some(limited) = self.store.read(|db| limits::get(db, profile))? else { return Ok(()) };
        let Some(probe) = limited.probe.clone() else { return Ok(()) };
        if let Some(turn) = self.store.read(|db| turns::live_of(db, &probe))? {
            if self.has_answered(&turn)? || self.is_at_work_in_terminal(&turn)? {
                return self.step_limit(profile, Event::Passed);
            }
            let next_ms = now_ms() + bounds::LIMIT_LOOK_MS;
            self.timers.set_once(next_ms, Timer::LimitPassed(profile.clone()));
            return Ok(());
        }
        // Who was to try has gone, was stopped, or sits on something of its own: somebody else does.
        let free = Limited { probe: None, ..limited };
        self.store.write(|tx| limits::set(tx, profile, Some(&free)))?;
        let mut wanting = self.wanting(profile)?;
        wanting.sort_by_key(|agent| *agent == probe);
        self.step_limit_for(profile, Event::Due, &wanting)
    }

    /// In a terminal nobody sees the first words of an answer. A turn there that has met no limit for longer than any
    /// program tries again by itself is being answered.
    fn is_at_work_in_terminal(&self, turn: &TurnRow) -> Result<bool, Error> {
        let agent = self.store.read(|db| agents::get(db, &turn.agent))?;
        let in_terminal = agent.is_some_and(|agent| agent.mode == Mode::Terminal);
        let began = turn.started_ms.filter(|_| in_terminal);
        Ok(began.is_some_and(|began| began + bounds::LIMIT_PROBE_MS <= now_ms()))
    }

    /// Arms all limits anew, and the line after one. Who tried when the engine went away may still be at it.
    pub(crate) fn recover_limits(&mut self) -> Result<(), Error> {
        for agent in self.store.read(agents::list)? {
            let wakes = self.store.read(|db| agents::wakes_of(db, &agent.id))?;
            if wakes.failed == 0 && wakes.not_before_ms > now_ms() {
                self.resting.insert(agent.id.clone(), wakes.not_before_ms);
                self.timers.set(wakes.not_before_ms, Timer::Wake(agent.id));
            }
        }
        for (profile, limited) in self.store.read(limits::list)? {
            match limited.probe {
                Some(_) => self.timers.set(now_ms(), Timer::LimitPassed(profile)),
                None => self.timers.set(limited.resume_ms, Timer::Limit(profile)),
            }
        }
        Ok(())
    }
}

/// Since when something waits that an agent could begin with at this moment, in Unix milliseconds.
fn wants_since(db: &Db, agent: &Agent) -> Result<Option<i64>, SqlError> {
    let turn = turns::next_of(db, &agent.id)?.map(|turn| turn.created_ms);
    let (_, message) = messages::waiting_for(db, &agent.id)?;
    // A message alone starts no terminal, and no wake that was given up.
    let wakes = message.is_some()
        && agents::wakes_of(db, &agent.id)?.failed < bounds::WAKE_ATTEMPTS
        && match agent.mode {
            Mode::Headless => true,
            Mode::Terminal => runs::newest_of(db, &agent.id)?.is_some_and(|run| !run.state.is_terminal()),
        };
    Ok(turn.into_iter().chain(message.filter(|_| wakes)).min())
}
