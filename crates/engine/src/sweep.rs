//! The sweep: what goes without anybody asking, at the start and hourly, beside everything else.
//!
//! The policy stands in [`carillon_core::residue::goes_by_itself`]: only what is safe and what the ledger proves to
//! be ours, and never a worktree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carillon_core::limits;
use carillon_core::residue::{Kind, goes_by_itself};
use carillon_core::run::{LostWhy, State};
use carillon_core::workdir::State as WorkdirState;
use carillon_store::runs;

use crate::engine::Engine;
use crate::error::Error;
use crate::host::linux;
use crate::host::residue::{Taken, Wanted};
use crate::main_loop::MainLoop;
use crate::requests::Progress;

/// The removal that is at work, and the sweep's rest.
#[derive(Debug, Default)]
pub(crate) struct Clearing {
    /// Held while things are taken away: one after the other.
    alone: Mutex<()>,
    progress: Mutex<Progress>,
    /// What is taken away because somebody asked is to be broken off.
    cancelled: AtomicBool,
    /// The engine is on its way out.
    stopping: Mutex<bool>,
    /// The same, for what looks often.
    is_stopping: AtomicBool,
    woken: Condvar,
    /// Threads that hold the engine just now.
    busy: Mutex<usize>,
    idle: Condvar,
}

/// Somebody holds the engine, and with it the data directory.
pub(crate) struct Busy<'a>(&'a Clearing);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.idle.notify_all();
    }
}

impl Clearing {
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_alone(&self) -> Option<MutexGuard<'_, ()>> {
        match self.alone.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }

    fn progress_mut(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn progress(&self) -> Progress {
        *self.progress_mut()
    }

    /// A removal begins; answers by what it is broken off.
    pub(crate) fn begin(&self, total: u64) -> &AtomicBool {
        self.cancelled.store(self.is_stopping(), Ordering::Relaxed);
        *self.progress_mut() = Progress { running: true, total, ..Progress::default() };
        &self.cancelled
    }

    pub(crate) fn count(&self, taken: &Taken) {
        let mut progress = self.progress_mut();
        progress.done += 1;
        if let Ok(freed) = taken {
            progress.removed += 1;
            progress.freed_bytes += freed;
        }
    }

    pub(crate) fn end(&self) {
        let mut progress = self.progress_mut();
        progress.running = false;
        progress.cancelled = self.cancelled.load(Ordering::Relaxed);
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The engine is on its way out: nothing more is taken away.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.cancel();
        *self.stopping.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.woken.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Said by a thread of the background before it takes hold of the engine; what it gets is dropped after that.
    /// None when the engine is on its way out.
    pub(crate) fn begin_work(&self) -> Option<Busy<'_>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_stopping() {
            return None;
        }
        *busy += 1;
        Some(Busy(self))
    }

    /// Waits until no thread of the background holds the engine, at most until then.
    pub(crate) fn wait_until_idle(&self, until: Instant) {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = until.saturating_duration_since(Instant::now());
        let _ = self.idle.wait_timeout_while(busy, rest, |busy| *busy > 0);
    }

    /// Rests until the next sweep; false when there is to be none.
    fn rest(&self, pause: Duration) -> bool {
        let stopping = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        let rested = self.woken.wait_timeout_while(stopping, pause, |stopping| !*stopping);
        let (stopping, _) = rested.unwrap_or_else(PoisonError::into_inner);
        !*stopping
    }
}

/// The pause between two sweeps. A debug build takes another one from its environment, for tests.
fn pause() -> Duration {
    let told = std::env::var("CARILLON_SWEEP_EVERY_MS").ok().filter(|_| cfg!(debug_assertions));
    Duration::from_millis(told.and_then(|ms| ms.parse().ok()).unwrap_or(limits::SWEEP_EVERY_MS))
}

impl Engine {
    /// Sweeps now and each hour, until the engine ends.
    pub(crate) fn sweep_in_background(&self) {
        let (weak, clearing) = (Arc::downgrade(&self.inner), self.inner.residue.clone());
        let work = move || {
            linux::stand_back();
            let mut is_first = true;
            while let Some(busy) = clearing.begin_work() {
                let Some(inner) = weak.upgrade() else { return };
                let engine = Self { inner };
                if let Err(error) = engine.sweep(is_first) {
                    tracing::warn!(%error, "a sweep was not finished; the next one goes on");
                }
                drop(engine);
                drop(busy);
                is_first = false;
                if !clearing.rest(pause()) {
                    return;
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("sweep".to_owned()).spawn(work) {
            tracing::warn!(%error, "no thread for the sweep; the next start does it");
        }
    }

    /// One sweep. The boot itself has just looked after the runs, so the first one need not.
    fn sweep(&self, is_first: bool) -> Result<(), Error> {
        let clearing = &self.inner.residue;
        // Somebody is at it just now, and takes away more than this would.
        let Some(_alone) = clearing.try_alone() else { return Ok(()) };
        let host = &self.inner.host;
        host.empty_trash(None);
        if !is_first {
            self.request_blocking(MainLoop::sweep_runs)?;
            let creating = self.workdirs_on_their_way().into_iter();
            self.settle_workdirs(creating.filter(|row| row.state == WorkdirState::Creating).collect());
        }
        if clearing.is_stopping() {
            return Ok(());
        }
        let kinds = vec![Kind::Process, Kind::Run, Kind::Husk, Kind::Branch, Kind::Archive];
        let (items, listing, known) = self.report(&Wanted { kinds, ..Wanted::default() })?;
        let goes = |(place, item): (usize, &crate::requests::ResidueItem)| {
            goes_by_itself(item.kind, item.is_proved, &item.verdict).then_some((place, false))
        };
        let chosen: Vec<(usize, bool)> = items.iter().enumerate().filter_map(goes).collect();
        if !chosen.is_empty() {
            let cancel = clearing.begin(chosen.len() as u64);
            let came = self.take_all(&items, &chosen, cancel);
            clearing.end();
            for (place, taken) in came {
                let item = &items[place];
                match taken {
                    Ok(freed) => tracing::info!(kind = item.kind.word(), path = item.path, freed, "swept"),
                    Err(why) => tracing::warn!(kind = item.kind.word(), path = item.path, why, "not swept"),
                }
            }
            self.tell_residue_changed();
        }
        for (workdir, reference) in listing.archives_gone(&known) {
            tracing::info!(%workdir, reference, "an archive is not there any more");
            self.forget_archive(&reference)?;
        }
        if !clearing.is_stopping() {
            host.purge_guards(&known.projects, known.now_ms);
        }
        Ok(())
    }
}

impl MainLoop {
    /// What runs that are over have left, and may be let go of now: users of their temp directories have ended,
    /// logs have become old.
    fn sweep_runs(&mut self) -> Result<(), Error> {
        for row in self.store.read(runs::holding_temp)? {
            self.clear_up(&row, row.state == State::Lost(LostWhy::SupervisorGone));
        }
        // What could not be removed an hour ago is tried again.
        self.dropping.clear();
        self.drop_spent_dirs()?;
        self.retire_tasks()
    }
}
