//! The one error type of this crate.

use std::path::{Path, PathBuf};

/// Why something could not be made, looked at or cleared away. Each variant names the path.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused an operation on a path.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried, as words that complete "cannot ...".
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A name that was to become one directory entry is not a plain name.
    #[error(
        "{name:?} cannot be the name of a directory: it must be one plain name, not empty and without '/'"
    )]
    BadName {
        /// The name as it was given.
        name: String,
    },
    /// Something with this name is there already. Nothing of it was touched.
    #[error("{} exists already; nothing was changed", path.display())]
    Exists {
        /// The place that is taken.
        path: PathBuf,
    },
    /// A directory that has to be ours is not a directory, is a link, or belongs to another user.
    #[error("{} cannot be used: {why}", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A directory that we had just made was moved away or locked by somebody else before we held its lease.
    #[error("{} was taken away while it was being created; try again with another name", path.display())]
    Replaced {
        /// The directory.
        path: PathBuf,
    },
    /// The tree lies on another file system than the trash, so it cannot be renamed into it.
    #[error(
        "{} is on another file system than {}, so it cannot be renamed into the trash there; nothing was changed",
        path.display(),
        trash.display()
    )]
    OtherFileSystem {
        /// The tree.
        path: PathBuf,
        /// The trash.
        trash: PathBuf,
    },
    /// A project's rules cannot be used.
    #[error("{} cannot be used: {why}", path.display())]
    Rules {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// git could not be started.
    #[error("git could not be started: {source}")]
    NoGit {
        /// The system's answer.
        source: std::io::Error,
    },
    /// git refused. What it was to do was not done.
    #[error("git cannot {operation} in {}: {said}", dir.display())]
    Git {
        /// What was tried, as words that complete "cannot ...".
        operation: &'static str,
        /// Where.
        dir: PathBuf,
        /// The reason in git's own words.
        said: String,
    },
    /// git did not come to an end in its time and was ended.
    #[error("git did not {operation} in {} within {limit_s} s and was ended", dir.display())]
    GitTimeout {
        /// What was tried, as words that complete "did not ...".
        operation: &'static str,
        /// Where.
        dir: PathBuf,
        /// How long it was waited for, in seconds.
        limit_s: u64,
    },
    /// git wrote more than can be taken.
    #[error("git wrote more than {bytes} bytes when it was to {operation} in {}", dir.display())]
    GitOutput {
        /// What was tried.
        operation: &'static str,
        /// Where.
        dir: PathBuf,
        /// The bound.
        bytes: usize,
    },
    /// The user had it stopped, in time.
    #[error("it was stopped before anything was changed")]
    Stopped,
    /// A name cannot be that of a branch or revision.
    #[error("{name:?} cannot be used as the name of a branch or revision: {why}")]
    BadRef {
        /// The name as it was given.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something stays as it is, for a reason of ours.
    #[error("{} stays as it is: {why}", path.display())]
    Refused {
        /// What stays.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Error {
    /// Wraps what the system said about `path`.
    pub(crate) fn io(operation: &'static str, path: &Path, source: impl Into<std::io::Error>) -> Error {
        Error::Io { operation, path: path.to_path_buf(), source: source.into() }
    }

    /// The kind of the system's error, where there is one.
    pub fn kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            Error::Io { source, .. } | Error::NoGit { source } => Some(source.kind()),
            Error::BadName { .. }
            | Error::Exists { .. }
            | Error::NotOurs { .. }
            | Error::Replaced { .. }
            | Error::OtherFileSystem { .. }
            | Error::Rules { .. }
            | Error::Git { .. }
            | Error::GitTimeout { .. }
            | Error::GitOutput { .. }
            | Error::Stopped
            | Error::BadRef { .. }
            | Error::Refused { .. } => None,
        }
    }
}
