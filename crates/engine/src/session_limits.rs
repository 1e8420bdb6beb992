//! Session limits: all agents of a profile wait together, and go on one after the other.

use carillon_core::id::{AgentId, ProfileId};
use carillon_core::limit::{self, Effect, Event, Limited};
use carillon_core::limits as bounds;
use carillon_core::turn::End;
use carillon_core::words::Agent;
use carillon_store::turns::{self, TurnRow};
use carillon_store::{agents, limits, messages};

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
        let before = self.store.read(|db| limits::get(db, profile))?;
        let wanting = self.wanting(profile)?;
        let spread_ms = i64::from(uuid::Uuid::new_v4().as_bytes()[0]) * bounds::LIMIT_JITTER_MS / 255;
        let (after, effects) = limit::step(before.as_ref(), event, wanting.first(), now_ms(), spread_ms);
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

    /// The agents of a profile with something to do, those that wait longest first.
    fn wanting(&self, profile: &ProfileId) -> Result<Vec<AgentId>, Error> {
        let found = self.store.read(|db| {
            let mut found = Vec::new();
            for agent in agents::list(db)?.into_iter().filter(|a| a.profile == *profile && !a.stopped_by_user)
            {
                let turn = turns::next_of(db, &agent.id)?.map(|turn| turn.created_ms);
                let (_, message) = messages::waiting_for(db, &agent.id)?;
                if let Some(since) = turn.into_iter().chain(message).min() {
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

    /// The time to try has come.
    pub(crate) fn limit_due(&mut self, profile: &ProfileId) {
        self.step_limit_or_log(profile, Event::Due);
    }

    /// The turn that tries goes on for so long that it has passed the limit.
    pub(crate) fn limit_passed(&mut self, profile: &ProfileId) {
        let limited = self.store.read(|db| limits::get(db, profile)).ok().flatten();
        let Some(probe) = limited.and_then(|limited| limited.probe) else { return };
        match self.store.read(|db| turns::live_of(db, &probe)) {
            Ok(Some(_)) => self.step_limit_or_log(profile, Event::Passed),
            Ok(None) => self.retry_probe(profile),
            Err(error) => tracing::error!(%error, "a limit cannot be looked at"),
        }
    }

    /// Who was to try has gone, or was stopped: somebody else does.
    fn retry_probe(&mut self, profile: &ProfileId) {
        let Ok(Some(limited)) = self.store.read(|db| limits::get(db, profile)) else { return };
        let free = Limited { probe: None, ..limited };
        match self.store.write(|tx| limits::set(tx, profile, Some(&free))) {
            Ok(()) => self.step_limit_or_log(profile, Event::Due),
            Err(error) => tracing::error!(%error, "a limit cannot be written"),
        }
    }

    fn step_limit_or_log(&mut self, profile: &ProfileId, event: Event) {
        if let Err(error) = self.step_limit(profile, event) {
            tracing::error!(%error, %profile, "the state of a limit could not be written");
        }
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
