//! Stopping what git is at for a workdir. A merge can be stopped until its branch moves, a removal until its archive
//! stands: until then nothing of the user's was changed, and from there on it goes on to its end.
//!
//! Nothing of this is on the ledger: with the engine the work itself is gone, and a start goes on with what the ledger
//! says. So whoever asks hears only of work that lives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use carillon_core::id::WorkdirId;
use carillon_tidy::git::stop::Stop;

use crate::engine::Engine;
use crate::error::Error;

/// What git is at, or about to be.
#[derive(Default)]
pub(crate) struct Works(Mutex<Vec<(WorkdirId, Arc<Stop>)>>);

impl Works {
    fn all(&self) -> MutexGuard<'_, Vec<(WorkdirId, Arc<Stop>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One piece of work; it is at its end when this is dropped.
pub(crate) struct Work {
    works: Arc<Works>,
    id: WorkdirId,
    stop: Arc<Stop>,
}

impl Work {
    /// Does a part of it that can be stopped.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.stop.within(work)
    }

    /// An error when it was stopped in time.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.stop.is_asked() {
            return Ok(());
        }
        Err(Error::refused(
            "it was stopped before anything was changed",
            "nothing was changed; try again when you want it",
        ))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.works.all().retain(|(_, stop)| !Arc::ptr_eq(stop, &self.stop));
    }
}

/// What came of a wish to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopView {
    /// It stops, and nothing was changed.
    pub stopped: bool,
    /// Why it does not, as a sentence.
    pub reason: Option<String>,
}

impl Engine {
    /// A piece of work at this workdir begins, or waits for its turn.
    pub(crate) fn begin_work(&self, id: &WorkdirId) -> Result<Work, Error> {
        let stop = Stop::new().map_err(|error| {
            Error::failed(format!("the work cannot be begun: {error}"), "close some programs and try again")
        })?;
        let works = self.inner.works.clone();
        works.all().push((id.clone(), stop.clone()));
        Ok(Work { works, id: id.clone(), stop })
    }

    /// Another part of the work, which can be stopped by itself.
    pub(crate) fn next_part(&self, work: Work) -> Result<Work, Error> {
        self.begin_work(&work.id)
    }

    /// Stops the merge or the removal of a workdir that is under way.
    pub fn stop_workdir(&self, key: &str) -> Result<StopView, Error> {
        let row = self.workdir_row(key)?;
        let stops: Vec<_> = self
            .inner
            .works
            .all()
            .iter()
            .filter(|(id, _)| *id == row.id)
            .map(|(_, stop)| stop.clone())
            .collect();
        let asked: Vec<bool> = stops.iter().map(|stop| stop.ask()).collect();
        let reason = if asked.is_empty() {
            Some("nothing is under way for it".to_owned())
        } else if asked.contains(&false) {
            Some("it is too far on to be stopped, and goes on to its end".to_owned())
        } else {
            None
        };
        Ok(StopView { stopped: reason.is_none(), reason })
    }
}
