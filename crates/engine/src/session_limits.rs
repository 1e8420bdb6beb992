//! Session limits: all agents of a profile wait together, and go on one after the other.

use carillon_core::id::{AgentId, ProfileId, RunId};
use carillon_core::limit::{self, Effect, Event, Limited, NoLimit};
use carillon_core::limits as bounds;
use carillon_core::turn::End;
use carillon_core::words::{Agent, Mode};
use carillon_store::db::{Db, SqlError};
use carillon_store::turns::{self, TurnRow};
use carillon_store::{agents, limits, messages, profiles, runs};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::timers::Timer;

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
                    self.timers.set(now_ms() + bounds::LIMIT_PASSED_MS, Timer::LimitPassed(profile.clone()));
                    self.next_turn(&agent.clone());
                }
                (Effect::ResumeAll, _) => {
                    for (place, agent) in wanting.iter().enumerate() {
                        let at_ms = now_ms() + limit::place_ms(place);
                        self.resting.insert(agent.clone(), at_ms);
                        self.timers.set(at_ms, Timer::Wake(agent.clone()));
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
                        self.step_limit(&agent.profile, Event::Passed)
                    }
                    Some(_) | None => Ok(()),
                }
            }
            End::Interrupted { .. } => Ok(()),
        }
    }

    /// The program of a run waits for the end of a limit by itself: its turn goes on, and the others of its profile wait.
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

    /// The turn that tries goes on for so long that it has passed the limit.
    pub(crate) fn limit_passed(&mut self, profile: &ProfileId) -> Result<(), Error> {
        let Some(limited) = self.store.read(|db| limits::get(db, profile))? else { return Ok(()) };
        let Some(probe) = limited.probe.clone() else { return Ok(()) };
        if self.store.read(|db| turns::live_of(db, &probe))?.is_some() {
            return self.step_limit(profile, Event::Passed);
        }
        // Who was to try has gone, was stopped, or sits on something of its own: somebody else does.
        let free = Limited { probe: None, ..limited };
        self.store.write(|tx| limits::set(tx, profile, Some(&free)))?;
        let mut wanting = self.wanting(profile)?;
        wanting.sort_by_key(|agent| *agent == probe);
        self.step_limit_for(profile, Event::Due, &wanting)
    }

    /// Arms all limits anew. Who tried when the engine went away may still be at it.
    pub(crate) fn recover_limits(&mut self) -> Result<(), Error> {
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
