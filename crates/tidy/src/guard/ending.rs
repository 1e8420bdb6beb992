//! What is known of the end of what was guarded, beside the names.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::{linux, strays};

/// How what was guarded came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Now, in Unix milliseconds.
    pub now_ms: i64,
    /// Whether the lease was held from the beginning until now, so that all that is new came in that time. Else only
    /// what is proved to have been made before `over` goes.
    pub was_watched: bool,
    /// When the command and its tree were over; none when nobody knows.
    pub over: Option<SystemTime>,
    /// Processes of other runs that are alive, and may have made what is new where they work.
    pub at_work: Vec<AtWork>,
}

/// A process of another run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// Where it works.
    pub dir: PathBuf,
    /// Its process id.
    pub pid: u32,
    /// The short name of its program.
    pub name: String,
}

impl Ending {
    /// The end of a command that somebody waited for.
    pub fn watched(now_ms: i64) -> Ending {
        Ending { now_ms, was_watched: true, over: None, at_work: Vec::new() }
    }
}

impl AtWork {
    /// The processes of all runs but this one. Reads all of `/proc`.
    pub fn beside(run: &str) -> Vec<AtWork> {
        let others = strays::strays().into_iter().filter(|process| process.run != run);
        others
            .filter_map(|process| {
                let dir = linux::working_directory(process.pid)?;
                Some(AtWork { dir, pid: process.pid, name: process.name })
            })
            .collect()
    }
}
