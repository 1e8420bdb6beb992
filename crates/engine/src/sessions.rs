//! What the log of a headless turn tells where its end does not: its session, and the answer of a turn that nobody saw end.

use carillon_core::run::{self, Cause};
use carillon_core::turn::End;
use carillon_core::words::Agent;
use carillon_store::runs::RunRow;
use carillon_store::turns::TurnRow;
use carillon_store::{agents, profiles};

use crate::error::Error;
use crate::main_loop::MainLoop;

impl MainLoop {
    /// A program tells its session at the beginning of its first turn. When that turn is cut short by a quit, by the
    /// system or by a reboot, the next start can go on with it only if the session is known.
    pub(crate) fn note_session_of_cut_short(
        &mut self,
        turn: &TurnRow,
        row: &RunRow,
        state: &run::State,
        ended_ms: i64,
    ) -> Result<(), Error> {
        let ending = match state {
            run::State::Starting | run::State::Running => return Ok(()),
            run::State::Lost(_) => None,
            run::State::Ended(ending) => {
                let by_quit = matches!(&ending.cause, Cause::Stopped { by } if by == "app_exit");
                if !by_quit && ending.cause != Cause::SystemStop {
                    return Ok(());
                }
                Some(ending)
            }
        };
        let agent = self.store.read(|db| agents::get(db, &turn.agent))?;
        let Some(agent) = agent.filter(|agent| agent.session_id.is_none()) else { return Ok(()) };
        let adapter = self.adapter_of(&agent)?;
        // What cannot be read tells no session.
        let outcome = self.world().turn_outcome(&row.id, &adapter, ending, ended_ms).ok();
        if let Some(session) = outcome.and_then(|outcome| outcome.session) {
            self.store.write(|tx| agents::set_session(tx, &agent, Some(&session)))?;
        }
        Ok(())
    }

    /// The end of a turn that nobody saw, when its program had told it in full before: an answer that is on the disk is
    /// not lost.
    pub(crate) fn said_to_the_end(
        &mut self,
        turn: &mut TurnRow,
        row: &RunRow,
        ended_ms: i64,
        is_headless: bool,
    ) -> Result<Option<End>, Error> {
        let agent = self.store.read(|db| agents::get(db, &turn.agent))?;
        let Some(agent) = agent.filter(|_| is_headless) else { return Ok(None) };
        let adapter = self.adapter_of(&agent)?;
        let Ok(outcome) = self.world().turn_outcome(&row.id, &adapter, None, ended_ms) else {
            return Ok(None);
        };
        if !matches!(outcome.end, End::Final { .. } | End::Limited { .. }) {
            return Ok(None);
        }
        self.count_usage(turn, &agent, &outcome)?;
        if outcome.session.is_some() && outcome.session != agent.session_id {
            self.store.write(|tx| agents::set_session(tx, &agent, outcome.session.as_deref()))?;
        }
        Ok(Some(outcome.end))
    }

    /// The adapter of an agent's profile; of one whose profile is gone the one that expects nothing.
    pub(crate) fn adapter_of(&self, agent: &Agent) -> Result<String, Error> {
        let all = self.store.read(profiles::list)?;
        let profile = all.into_iter().find(|profile| profile.id == agent.profile);
        Ok(profile.map_or_else(|| "plain".to_owned(), |profile| profile.adapter))
    }
}
