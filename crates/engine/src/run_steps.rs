//! The steps of runs: compute, commit, act. What the state of one means for its task or its agent's turn is told on.

use carillon_core::id::RunId;
use carillon_core::run::{self, Effect, State};
use carillon_store::runs::{self, RunRow};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::world::Facts;

impl MainLoop {
    /// The supervisor has let go: its lease is free, so what it left is final.
    pub(crate) fn run_over(&mut self, run: &RunId) -> Result<(), Error> {
        match self.store.read(|db| runs::get(db, run))? {
            Some(row) => self.reconcile(&row).map(drop),
            None => Ok(()),
        }
    }

    /// Compute, commit, act: one step of one run.
    pub(crate) fn advance(&mut self, run: &RunId, event: run::Event, facts: &Facts) -> Result<(), Error> {
        let Some(row) = self.store.read(|db| runs::get(db, run))? else { return Ok(()) };
        match run::step(&row.state, event) {
            Ok((state, effects)) => {
                let row = with_facts(row, facts);
                if self.commit_state(&row, &state, facts)? {
                    if state == State::Running {
                        self.vain_starts.forget(&row);
                        self.watch_temp(&row);
                    }
                    self.advance_attempt(&row, &state, facts)?;
                    self.advance_turn(&row, &state, facts)?;
                    self.act(&row, &effects)?;
                }
            }
            Err(rejected) => tracing::debug!(%run, ?rejected, "an event came late"),
        }
        Ok(())
    }

    /// Writes the edge; false when another had been first.
    fn commit_state(&mut self, row: &RunRow, state: &State, facts: &Facts) -> Result<bool, Error> {
        let now = now_ms();
        let ended = facts.ended_ms.unwrap_or(now);
        Ok(self.store.write(|tx| match state {
            State::Starting => Ok(false),
            State::Running => runs::set_running(tx, row),
            State::Ended(ending) => runs::set_ended(tx, row, ending, ended),
            State::Lost(why) => runs::set_lost(tx, row, *why, now),
        })?)
    }

    fn act(&mut self, row: &RunRow, effects: &[Effect]) -> Result<(), Error> {
        let strays = effects.contains(&Effect::EndStrays);
        for effect in effects {
            match effect {
                Effect::BuryTemp => self.clear_up(row, strays),
                // Done with the burial, which has to wait for it.
                Effect::EndStrays => {}
                Effect::DropOldRuns => self.drop_old_runs(row)?,
            }
        }
        Ok(())
    }

    /// Has the directory of a run removed; asked for once more while that goes on, it does nothing.
    pub(crate) fn drop_dir(&mut self, run: &RunId) {
        if !self.dropping.insert(run.clone()) {
            return;
        }
        let run = run.clone();
        self.act_later(move |world, report| world.drop_dir(&run, report.clone()));
    }

    /// Keeps the newest directories of an agent: that of the present run and of the one before it.
    fn drop_old_runs(&mut self, row: &RunRow) -> Result<(), Error> {
        let Some(agent) = &row.agent else { return Ok(()) };
        let most = self.runs_kept(agent);
        let beyond = self.store.read(|db| runs::beyond_kept(db, agent, most))?;
        for old in beyond.iter().filter(|run| run.state.is_terminal()) {
            self.drop_dir(&old.id);
        }
        Ok(())
    }
}

/// Lays what the supervisor recorded over what the ledger knew.
fn with_facts(mut row: RunRow, facts: &Facts) -> RunRow {
    row.pid = facts.pid.or(row.pid);
    row.start_time = facts.start_time.or(row.start_time);
    row.boot_id = facts.boot_id.clone().or(row.boot_id);
    row.started_ms = facts.started_ms.or(row.started_ms);
    row.log_bytes = facts.log_bytes.max(row.log_bytes);
    row
}
