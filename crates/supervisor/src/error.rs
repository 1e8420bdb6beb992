//! Everything that can go wrong on the engine's side of the run protocol.

use std::io;
use std::path::{Path, PathBuf};

/// An operation of the run protocol that failed, with what it was about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory of a run could not be used.
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb ("open", "lock", ...).
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of a run is there but does not hold what it should.
    #[error("{} cannot be understood: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The run cannot be started as it was described.
    #[error("the run cannot be started: {why}")]
    Spec {
        /// What is wrong with the description.
        why: String,
    },
    /// The supervisor's program could not be executed.
    #[error("cannot start the supervisor {}: {source}", binary.display())]
    Launch {
        /// The program.
        binary: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The supervisor could not be waited for.
    #[error("cannot wait for the supervisor with pid {pid}: {source}")]
    Reap {
        /// The supervisor's process id.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody holds the run's lease, so there is nobody to talk to.
    #[error("no supervisor is alive for {}", run_dir.display())]
    NotAlive {
        /// The run's directory.
        run_dir: PathBuf,
    },
    /// The lease is held, but the supervisor did not answer in time.
    #[error("the supervisor of {} did not answer within {waited_ms} ms", run_dir.display())]
    NoAnswer {
        /// The run's directory.
        run_dir: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The supervisor speaks another version of the control protocol.
    #[error("the supervisor of {} speaks control protocol {theirs}, this program speaks {ours}", run_dir.display())]
    Version {
        /// The run's directory.
        run_dir: PathBuf,
        /// The supervisor's version.
        theirs: u32,
        /// This program's version.
        ours: u32,
    },
    /// The connection to the supervisor failed; usually it has ended.
    #[error("cannot {operation} the supervisor of {}: {source}", run_dir.display())]
    Connection {
        /// What was tried.
        operation: &'static str,
        /// The run's directory.
        run_dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One input with an id was longer than can be accepted as a whole.
    #[error("an input of {bytes} bytes is longer than the limit of {limit} bytes")]
    InputTooLong {
        /// The input's length in bytes.
        bytes: usize,
        /// The longest input in bytes.
        limit: usize,
    },
}

impl Error {
    /// Wraps a system error on a file.
    pub(crate) fn file(
        operation: &'static str,
        path: impl AsRef<Path>,
        source: impl Into<io::Error>,
    ) -> Error {
        Error::File { operation, path: path.as_ref().to_owned(), source: source.into() }
    }
}
