//! What headless turns have said, read from their runs' directories on the threads that watch them: the loop, which
//! decides what it means, must not wait for a disk while everything waits for the loop.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use carillon_agents::Adapter;
use carillon_agents::reader::Reader;
use carillon_agents::turn::Seen;
use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_supervisor::{Cause, Io, LogReader, Observed, Read, RunSpec};

use crate::host::Host;
use crate::host::turns::read_from;

/// So much of an output is read at a time.
const PAGE_BYTES: usize = 64 * 1024;

/// What a turn wrote to standard output and to standard error.
pub(crate) struct Said {
    pub(crate) out: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// What was read and not taken yet. What finds no room here is read when it is needed.
#[derive(Default)]
pub(crate) struct Outcomes(Mutex<HashMap<RunId, Said>>);

impl Outcomes {
    fn ready(&self) -> MutexGuard<'_, HashMap<RunId, Said>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self, run: &RunId) -> Option<Said> {
        self.ready().remove(run)
    }

    pub(crate) fn forget(&self, run: &RunId) {
        self.ready().remove(run);
    }
}

impl Host {
    /// Reads what a turn has said, when the run was one and its program ended by itself. Called when it is over and
    /// before that is told.
    pub(crate) fn read_ahead(&self, run: &RunId) {
        let dir = self.run_dir(run);
        let ended = match carillon_supervisor::observe(&dir) {
            Ok(Observed::Ended(record)) => record.cause == Cause::Ended && !record.log_truncated,
            Ok(_) | Err(_) => false,
        };
        if !ended || !is_turn(&dir) || self.outcomes.ready().len() >= limits::OUTCOMES_READY_MAX {
            return;
        }
        if let Ok(said) = read(&dir) {
            self.outcomes.ready().insert(run.clone(), said);
        }
    }
}

impl Host {
    /// Whether there is anything of the agent's own in what a turn has written so far. It is read up to the first of it.
    pub(crate) fn shows_an_answer(&self, run: &RunId, adapter: &str) -> bool {
        let Ok(adapter) = adapter.parse::<Adapter>() else { return false };
        let Ok(mut log) = LogReader::open(&self.run_dir(run)) else { return false };
        let mut reader = Reader::new(adapter);
        let (mut offset, mut page) = (0, vec![0; PAGE_BYTES]);
        loop {
            match log.read_at(offset, &mut page) {
                Ok(Read::Bytes(count)) => {
                    offset += count as u64;
                    if reader.feed(page.get(..count).unwrap_or_default()).iter().any(is_of_the_agent) {
                        return true;
                    }
                }
                Ok(Read::Gap { to, .. }) => offset = to,
                Ok(Read::End) | Err(_) => return false,
            }
        }
    }
}

fn is_of_the_agent(seen: &Seen) -> bool {
    match seen {
        Seen::Text(text) | Seen::Thinking(text) => !text.trim().is_empty(),
        Seen::Tool { .. } => true,
        Seen::Note(_) => false,
    }
}

fn is_turn(dir: &Path) -> bool {
    let spec = std::fs::read(dir.join("spec.json")).ok();
    let spec = spec.and_then(|bytes| serde_json::from_slice::<RunSpec>(&bytes).ok());
    spec.is_some_and(|spec| matches!(spec.io, Io::Turn))
}

/// All that a turn has said.
pub(crate) fn read(dir: &Path) -> Result<Said, carillon_supervisor::Error> {
    let out = read_from(&mut LogReader::open(dir)?, 0)?;
    let errors = read_from(&mut LogReader::open_errors(dir)?, 0)?;
    Ok(Said { out, errors })
}
