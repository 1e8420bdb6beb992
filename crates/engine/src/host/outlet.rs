//! What every run has, with a terminal or without: the way to its supervisor, and how far its log is.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use carillon_core::id::RunId;
use carillon_supervisor::{Control, Sender};
use tokio::sync::watch;

use crate::host::pulse::Pulse;

/// A run's connection and the end of its log.
pub struct Outlet {
    pub(crate) run: RunId,
    pub(crate) dir: PathBuf,
    /// End of the log in bytes, and whether nothing follows.
    end: watch::Sender<(u64, bool)>,
    sender: Mutex<Option<Sender>>,
    /// What it has said last.
    pub(crate) pulse: Pulse,
}

impl Outlet {
    /// Of a supervisor that answers.
    pub(crate) fn live(run: &RunId, dir: &Path, control: &Control) -> Self {
        let sender = Mutex::new(Some(control.sender()));
        let end = watch::channel((0, false)).0;
        Self { run: run.clone(), dir: dir.to_owned(), end, sender, pulse: Pulse::new() }
    }

    /// Of a run that is over.
    pub(crate) fn over(run: &RunId, dir: &Path, end: u64) -> Self {
        let end = watch::channel((end, true)).0;
        let sender = Mutex::new(None);
        Self { run: run.clone(), dir: dir.to_owned(), end, sender, pulse: Pulse::new() }
    }

    /// Of a run whose supervisor a test plays.
    #[cfg(test)]
    pub(crate) fn unconnected(run: &RunId, dir: &Path) -> Self {
        let end = watch::channel((0, false)).0;
        let sender = Mutex::new(None);
        Self { run: run.clone(), dir: dir.to_owned(), end, sender, pulse: Pulse::new() }
    }

    /// End of the log in bytes, and whether nothing follows.
    pub(crate) fn end(&self) -> (u64, bool) {
        *self.end.borrow()
    }

    /// Hears of each new end.
    pub(crate) fn subscribe(&self) -> watch::Receiver<(u64, bool)> {
        self.end.subscribe()
    }

    pub(crate) fn sender(&self) -> Option<Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.end().1 && self.sender().is_some()
    }

    /// There is output up to here, which is not new.
    pub(crate) fn begin_at(&self, end: u64) {
        self.pulse.begin_at(end);
        self.publish(end);
    }

    /// Tells who looks that there is more.
    pub(crate) fn publish(&self, end: u64) {
        self.pulse.spoke(end);
        self.end.send_if_modified(|known| {
            let more = end > known.0;
            known.0 = known.0.max(end);
            more
        });
    }

    /// Tells who looks that this is all.
    pub(crate) fn finish(&self, end: u64) {
        self.let_go();
        self.pulse.finish();
        self.end.send_modify(|known| *known = (end, true));
    }

    /// Lets go of the supervisor without a word to it.
    pub(crate) fn let_go(&self) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            sender.detach();
        }
    }

    /// Asks the supervisor to end the run; false when it is not connected.
    pub(crate) fn stop(&self, by: &str) -> bool {
        self.sender().is_some_and(|sender| sender.stop(by).is_ok())
    }
}
