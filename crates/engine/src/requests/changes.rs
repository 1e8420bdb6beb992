//! Waiting for changes.

use std::time::Duration;

use carillon_core::limits;
use carillon_store::changes::{self, Change};

use crate::engine::Engine;
use crate::error::Error;

/// The answer to a reader of the change log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Pass it as `after` the next time.
    pub seq: u64,
    /// The reader is too far behind, or from another file: fetch all anew.
    pub reset: bool,
    /// What changed, oldest first.
    pub changes: Vec<Change>,
}

impl Engine {
    /// The changes after `after`; waits up to `wait` for the first. Without `after` it answers at
    /// once with the present place.
    pub async fn changes(&self, after: Option<u64>, wait: Duration) -> Result<Changes, Error> {
        let mut newest = self.inner.newest.watch();
        let Some(after) = after else {
            let seq = *newest.borrow();
            return Ok(Changes { seq, reset: true, changes: Vec::new() });
        };
        let wait = wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
        // The time running out is an answer as well: nothing is new.
        let _ = tokio::time::timeout(wait, newest.wait_for(|seq| *seq != after)).await;
        match self.read(|db| changes::after(db, after, limits::CHANGES_BATCH))? {
            Some(changes) => {
                let seq = changes.last().map_or(after, |change| change.seq);
                Ok(Changes { seq, reset: false, changes })
            }
            None => {
                let seq = self.read(changes::newest)?;
                Ok(Changes { seq, reset: true, changes: Vec::new() })
            }
        }
    }
}
