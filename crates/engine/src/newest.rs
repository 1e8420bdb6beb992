//! The number of the newest change, for those who wait for the next: on a thread or in a task.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Newest {
    tasks: watch::Sender<u64>,
    threads: (Mutex<u64>, Condvar),
}

impl Newest {
    pub(crate) fn new(seq: u64) -> Self {
        Self { tasks: watch::channel(seq).0, threads: (Mutex::new(seq), Condvar::new()) }
    }

    pub(crate) fn set(&self, seq: u64) {
        let mut known = self.threads.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != seq {
            *known = seq;
            self.threads.1.notify_all();
            self.tasks.send_replace(seq);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        *self.tasks.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.tasks.subscribe()
    }

    /// Waits until the newest is another than `seq`; false when `until` has passed.
    pub(crate) fn wait(&self, seq: u64, until: Instant) -> bool {
        let known = self.threads.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = until.saturating_duration_since(Instant::now());
        let waited = self.threads.1.wait_timeout_while(known, limit, |known| *known == seq);
        let (known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *known != seq
    }
}
