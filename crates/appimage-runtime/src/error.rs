//! What can go wrong, as sentences for the person who started the AppImage.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong, and on what.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option that begins as ours do and is none.
    #[error("it has no option {0}; --appimage-help lists them")]
    UnknownOption(String),
    /// The file is not whole.
    #[error("this file is damaged: {0}. Was it copied or downloaded to its end?")]
    Damaged(String),
    /// A file could not be used.
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing in the image has that name.
    #[error("nothing inside matches {0}")]
    NoMatch(String),
    /// Nowhere to extract to.
    #[error("{}", no_room(tried))]
    NoRoom {
        /// The directories that were looked at, each with its reason.
        tried: Vec<(PathBuf, String)>,
    },
    /// FUSE is not to be had.
    #[error("it cannot be mounted: {0}")]
    Mount(String),
    /// A process could not be started.
    #[error("the process that looks after the temp directory cannot be started: {0}")]
    Keeper(io::Error),
}

impl Error {
    /// An operation on a file failed.
    pub fn file(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Error::File { operation, path: path.to_owned(), source: source.into() }
    }
}

fn no_room(tried: &[(PathBuf, String)]) -> String {
    let each: Vec<String> = tried.iter().map(|(path, why)| format!("{} {why}", path.display())).collect();
    format!("there is nowhere to extract to: {}. Set TMPDIR to a directory with more room", each.join("; "))
}
