//! The sessions of agents' own programs, where the end of a turn does not tell them.

use carillon_core::run::{self, Cause};
use carillon_core::words::Agent;
use carillon_store::runs::RunRow;
use carillon_store::turns::TurnRow;
use carillon_store::{agents, profiles};

use crate::error::Error;
use crate::main_loop::MainLoop;

impl MainLoop {
    /// A program tells its session at the beginning of its first turn. When that turn is cut short by a quit or by the
    /// system, the next start can go on with it only if the session is known.
    pub(crate) fn note_session_of_cut_short(
        &mut self,
        turn: &TurnRow,
        row: &RunRow,
        state: &run::State,
        ended_ms: i64,
    ) -> Result<(), Error> {
        let run::State::Ended(ending) = state else { return Ok(()) };
        let by_quit = matches!(&ending.cause, Cause::Stopped { by } if by == "app_exit");
        if !by_quit && ending.cause != Cause::SystemStop {
            return Ok(());
        }
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

    /// The adapter of an agent's profile; of one whose profile is gone the one that expects nothing.
    pub(crate) fn adapter_of(&self, agent: &Agent) -> Result<String, Error> {
        let all = self.store.read(profiles::list)?;
        let profile = all.into_iter().find(|profile| profile.id == agent.profile);
        Ok(profile.map_or_else(|| "plain".to_owned(), |profile| profile.adapter))
    }
}
