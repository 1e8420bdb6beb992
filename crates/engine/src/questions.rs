//! Agents that sit on a question of their own while somebody waits for them: shown as what they are,
//! until they go on or somebody types.

use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_store::changes::{self, Tag};
use carillon_store::runs::{self, RunRow};
use carillon_store::{agents, asks, messages, turns};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::timers::Timer;

const AFTER_MS: i64 = limits::ATTENTION_AFTER_MS as i64;

impl MainLoop {
    /// Somebody waits for what the program of a run does: it is looked at once it can have been quiet
    /// for long enough.
    pub(crate) fn look_for_questions_later(&mut self, run: &RunId) {
        self.timers.set_once(now_ms() + AFTER_MS, Timer::Attention(run.clone()));
    }

    /// The time for a look has come. As long as somebody waits, there is always a next one; it comes
    /// when the program, if it says nothing more from now on, has been quiet for long enough.
    pub(crate) fn look_for_questions(&mut self, run: &RunId) -> Result<(), Error> {
        let Some(row) = self.store.read(|db| runs::get(db, run))? else { return Ok(()) };
        if row.state.is_terminal() || !self.is_waited_for(&row)? {
            return Ok(());
        }
        let after = Duration::from_millis(limits::ATTENTION_AFTER_MS);
        let quiet = self.world().quiet(run, after).unwrap_or_default();
        if quiet.asks {
            self.call_for_attention(run, false)?;
        }
        let quiet_ms = i64::try_from(quiet.for_ms).unwrap_or(AFTER_MS);
        let rest_ms = if quiet_ms < AFTER_MS { AFTER_MS - quiet_ms } else { AFTER_MS };
        self.timers.set_once(now_ms() + rest_ms, Timer::Attention(run.clone()));
        Ok(())
    }

    fn is_waited_for(&self, row: &RunRow) -> Result<bool, Error> {
        let Some(agent) = &row.agent else { return Ok(false) };
        Ok(self.store.read(|db| {
            Ok(turns::live_of_run(db, &row.id)?.is_some()
                || turns::queued_of(db, agent)? > 0
                || messages::waiting_for(db, agent)?.0 > 0)
        })?)
    }

    /// The program of a run waits for somebody; `told`: it said so itself.
    pub(crate) fn call_for_attention(&mut self, run: &RunId, told: bool) -> Result<(), Error> {
        if self.world().set_attention(run, told) {
            self.note_attention(run)?;
        }
        Ok(())
    }

    /// The program of a run goes on, or somebody has typed.
    pub(crate) fn attention_changed(&mut self, run: &RunId) -> Result<(), Error> {
        self.note_attention(run)
    }

    /// Whether an agent needs attention is in no row, so only the change is written.
    fn note_attention(&mut self, run: &RunId) -> Result<(), Error> {
        let Some(row) = self.store.read(|db| runs::get(db, run))? else { return Ok(()) };
        let Some(agent) = row.agent else { return Ok(()) };
        let Some(agent) = self.store.read(|db| agents::get(db, &agent))? else { return Ok(()) };
        let waiting = self.store.read(|db| asks::going_on_with(db, &agent.id))?;
        self.store.write(|tx| {
            changes::note(tx, Tag::Agent, agent.id.as_str(), Some(agent.project.as_str()))?;
            let asked = waiting.iter().filter(|ask| ask.callee.as_ref() == Some(&agent.id));
            asked.into_iter().try_for_each(|ask| asks::note(tx, ask))
        })?;
        Ok(())
    }
}
