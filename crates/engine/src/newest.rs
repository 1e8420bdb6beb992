//! The number of the newest change, for those who wait for the next: on a thread or in a task. Who waits for the end
//! of one thing hears of the changes of that alone: each look at the ledger takes the reader from all others.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Newest {
    tasks: watch::Sender<u64>,
    threads: (Mutex<u64>, Condvar),
    /// Who waits for one thing, by its id.
    ones: Mutex<HashMap<String, watch::Sender<()>>>,
}

/// Hears of the changes of one thing, for as long as it lives.
pub(crate) struct One<'a> {
    newest: &'a Newest,
    id: String,
    heard: watch::Receiver<()>,
}

impl One<'_> {
    /// Returns after the next change. One that came since this was made, or since the last call, counts.
    pub(crate) async fn changed(&mut self) {
        // The sender goes after the last receiver.
        let _ = self.heard.changed().await;
    }
}

impl Drop for One<'_> {
    fn drop(&mut self) {
        let mut ones = self.newest.ones();
        if ones.get(&self.id).is_some_and(|sender| sender.receiver_count() <= 1) {
            ones.remove(&self.id);
        }
    }
}

impl Newest {
    pub(crate) fn new(seq: u64) -> Self {
        Self {
            tasks: watch::channel(seq).0,
            threads: (Mutex::new(seq), Condvar::new()),
            ones: Mutex::default(),
        }
    }

    fn ones(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        self.ones.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of the changes of one thing from now on.
    pub(crate) fn watch_one(&self, id: &str) -> One<'_> {
        let mut ones = self.ones();
        let heard = ones.entry(id.to_owned()).or_insert_with(|| watch::channel(()).0).subscribe();
        One { newest: self, id: id.to_owned(), heard }
    }

    /// Whether anybody waits for one thing.
    pub(crate) fn has_ones(&self) -> bool {
        let mut ones = self.ones();
        // Two that went at the same moment may each have left it to the other.
        ones.retain(|_, one| one.receiver_count() > 0);
        !ones.is_empty()
    }

    /// These have changed.
    pub(crate) fn tell<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        let ones = self.ones();
        ids.filter_map(|id| ones.get(id)).for_each(|one| one.send_replace(()));
    }

    /// Anything may have changed.
    pub(crate) fn tell_all(&self) {
        self.ones().values().for_each(|one| one.send_replace(()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn who_waits_for_one_thing_is_woken_by_its_changes_alone() {
        let newest = Newest::new(0);
        let mut one = newest.watch_one("one");
        let other = newest.watch_one("other");
        let mut is_woken = || {
            let mut context = Context::from_waker(Waker::noop());
            pin!(one.changed()).as_mut().poll(&mut context) == Poll::Ready(())
        };
        newest.tell(["other", "third"].into_iter());
        newest.set(1);
        assert!(!is_woken(), "nothing of its own has changed");
        newest.tell(["one", "other"].into_iter());
        assert!(is_woken() && !is_woken());
        newest.tell_all();
        assert!(is_woken());
        drop((one, other));
        assert!(!newest.has_ones());
    }
}
