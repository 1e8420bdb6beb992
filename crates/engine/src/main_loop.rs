//! The loop: takes an event, lets `core` decide, commits, acts.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::Paths;
use crate::error::Error;
use crate::event::Event;
use crate::newest::Newest;
use crate::world::{Facts, Report, World};
use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_core::run::{self, Effect, State};
use carillon_store::runs::RunRow;
use carillon_store::{Store, changes, runs};

/// What the loop's thread owns.
pub struct MainLoop {
    pub(crate) store: Store,
    pub(crate) world: Arc<dyn World>,
    pub(crate) paths: Paths,
    pub(crate) report: Report,
    /// False once the shutdown has begun: nothing new starts.
    pub(crate) accepting: bool,
    /// The newest change, for everybody who waits for one.
    newest: Arc<Newest>,
    since_trim: u64,
}

impl MainLoop {
    pub(crate) fn new(
        store: Store,
        world: Arc<dyn World>,
        paths: Paths,
        events: Sender<Event>,
    ) -> Result<(Self, Arc<Newest>), Error> {
        let since_trim = store.read(changes::newest)?;
        let newest = Arc::new(Newest::new(since_trim));
        let report = Report(events);
        let this = Self { store, world, paths, report, accepting: true, newest: newest.clone(), since_trim };
        Ok((this, newest))
    }

    /// Runs until it is told to close.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        while let Ok(event) = events.recv() {
            match event {
                Event::Requested(work) => work(&mut self),
                Event::RunBegan { run, facts } => self.run_began(&run, facts),
                Event::LaunchFailed { run, message } => {
                    self.advance(&run, run::Event::LaunchFailed { message }, &Facts::default());
                }
                Event::RunOver { run } => self.run_over(&run),
                Event::TempBuried { run } => {
                    self.commit("noting a buried temp directory", |tx| runs::set_temp_buried(tx, &run));
                    self.forget_spent();
                }
                Event::DirDropped { run } => {
                    self.commit("noting a dropped run directory", |tx| runs::set_dir_dropped(tx, &run));
                    self.forget_spent();
                }
                Event::Closed { done } => {
                    if let Err(error) = self.store.checkpoint() {
                        tracing::warn!(%error, "the ledger could not be checkpointed; the next start does it");
                    }
                    drop(self);
                    let _ = done.send(());
                    return;
                }
            }
            self.announce();
        }
    }

    /// Tells everybody who waits that there is something new.
    pub(crate) fn announce(&mut self) {
        let Ok(newest) = self.store.read(changes::newest) else { return };
        self.newest.set(newest);
        if newest - self.since_trim >= limits::CHANGES_KEPT / 10 {
            self.since_trim = newest;
            self.commit("trimming the change log", |tx| changes::trim(tx, limits::CHANGES_KEPT).map(drop));
        }
    }

    fn run_began(&mut self, run: &RunId, facts: Facts) {
        self.advance(run, run::Event::Began, &facts);
    }

    /// The supervisor has let go: its lease is free, so what it left is final.
    fn run_over(&mut self, run: &RunId) {
        let Ok(Some(row)) = self.store.read(|db| runs::get(db, run)) else { return };
        if let Err(message) = self.reconcile(&row) {
            tracing::error!(%run, message, "the end of a run could not be read; the next start tries again");
        }
    }

    /// Compute, commit, act: one step of one run.
    pub(crate) fn advance(&mut self, run: &RunId, event: run::Event, facts: &Facts) {
        let row = match self.store.read(|db| runs::get(db, run)) {
            Ok(Some(row)) => row,
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%error, %run, "a run cannot be read");
                return;
            }
        };
        match run::step(&row.state, event) {
            Ok((state, effects)) => {
                let row = with_facts(row, facts);
                if self.commit_state(&row, &state, facts) {
                    self.act(&row, &effects);
                }
            }
            Err(rejected) => tracing::debug!(%run, ?rejected, "an event came late"),
        }
    }

    /// Writes the edge; false when another had been first, or when the ledger refused.
    fn commit_state(&mut self, row: &RunRow, state: &State, facts: &Facts) -> bool {
        let now = now_ms();
        let ended = facts.ended_ms.unwrap_or(now);
        let done = self.store.write(|tx| match state {
            State::Starting => Ok(false),
            State::Running => runs::set_running(tx, row),
            State::Ended(ending) => runs::set_ended(tx, row, ending, ended),
            State::Lost(why) => runs::set_lost(tx, row, *why, now),
        });
        match done {
            Ok(done) => done,
            Err(error) => {
                tracing::error!(%error, run = %row.id, "the state of a run could not be written; the next start repeats it");
                false
            }
        }
    }

    fn act(&mut self, row: &RunRow, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::BuryTemp => self.bury_temp(row),
                Effect::EndStrays => self.world.end_strays(&row.id),
                Effect::DropOldRuns => self.drop_old_runs(row),
            }
        }
    }

    pub(crate) fn bury_temp(&self, row: &RunRow) {
        if let (true, Some(path)) = (row.temp_held, &row.temp_path) {
            self.world.bury_temp(&row.id, path.into(), self.report.clone());
        }
    }

    /// Keeps the newest directories of an agent: the running one and the one before it.
    fn drop_old_runs(&self, row: &RunRow) {
        let Ok(kept) = self.store.read(runs::with_dir) else { return };
        let older = kept.iter().filter(|r| r.agent == row.agent && r.state.is_terminal());
        for old in older.skip(limits::RUNS_KEPT_PER_AGENT - 1) {
            self.world.drop_dir(&old.id, self.report.clone());
        }
    }

    fn forget_spent(&mut self) {
        self.commit("forgetting spent runs", |tx| runs::forget_spent(tx).map(drop));
    }

    /// A write whose failure costs nothing but a repeat at the next boot.
    fn commit(
        &mut self,
        what: &str,
        work: impl Fn(&carillon_store::db::Tx<'_>) -> Result<(), carillon_store::db::SqlError>,
    ) {
        if let Err(error) = self.store.write(work) {
            tracing::warn!(%error, "{what} failed");
        }
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

/// Now, in Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
