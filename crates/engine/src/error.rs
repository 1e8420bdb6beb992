//! What a request can be answered with when it is not done.

use std::path::PathBuf;

/// A request that was not done. Its text is a full sentence; `hint` tells the way out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing has this name or id.
    #[error("there is no {what} {name:?}")]
    NotFound {
        /// `project`, `profile`, `agent` or `run`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// The way out.
        hint: String,
    },
    /// Several things could be meant.
    #[error("{name:?} could be more than one {what}")]
    Ambiguous {
        /// `project`, `profile`, `agent` or `run`.
        what: &'static str,
        /// What was asked for.
        name: String,
    },
    /// The request itself is wrong.
    #[error("{message}")]
    Invalid {
        /// What is wrong.
        message: String,
        /// The way out.
        hint: Option<String>,
    },
    /// The request is understood and will not be done.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// The way out.
        hint: Option<String>,
    },
    /// It was tried and did not work.
    #[error("{message}")]
    Failed {
        /// What happened.
        message: String,
        /// The way out.
        hint: Option<String>,
    },
    /// The engine is on its way out.
    #[error("Carillon is shutting down")]
    ShuttingDown,
    /// The ledger failed.
    #[error(transparent)]
    Store(#[from] carillon_store::Error),
}

impl Error {
    /// The way out, where there is one to name.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NotFound { hint, .. } => Some(hint),
            Self::Ambiguous { .. } => Some("use its full id"),
            Self::Invalid { hint, .. } | Self::Refused { hint, .. } | Self::Failed { hint, .. } => {
                hint.as_deref()
            }
            Self::ShuttingDown => Some("start Carillon again"),
            Self::Store(_) => Some("`carillon doctor` checks the data directory"),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>, hint: &str) -> Self {
        Self::Invalid { message: message.into(), hint: Some(hint.to_owned()) }
    }

    pub(crate) fn refused(message: impl Into<String>, hint: &str) -> Self {
        Self::Refused { message: message.into(), hint: Some(hint.to_owned()) }
    }

    pub(crate) fn failed(message: impl Into<String>, hint: &str) -> Self {
        Self::Failed { message: message.into(), hint: Some(hint.to_owned()) }
    }
}

/// Why an engine could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another engine holds the data directory.
    #[error("Carillon is running already (process {}), with the data directory {}", .pid.map_or("unknown".to_owned(), |pid| pid.to_string()), .home.display())]
    AlreadyRunning {
        /// Its process, when the lock file tells.
        pid: Option<u32>,
        /// The data directory.
        home: PathBuf,
    },
    /// The data directory cannot be used.
    #[error("the data directory {} cannot be used: {why}", .home.display())]
    Home {
        /// The data directory.
        home: PathBuf,
        /// Why, with the way out.
        why: String,
    },
    /// The ledger cannot be opened.
    #[error("the ledger cannot be opened: {0}")]
    Store(#[from] carillon_store::Error),
    /// The API's socket cannot be opened.
    #[error("the socket {} cannot be opened: {why}", .path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl OpenError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            Self::AlreadyRunning { .. } => {
                "use the running one, or set CARILLON_HOME to a directory of its own".to_owned()
            }
            Self::Home { home, .. } => format!(
                "make {} writable for you, or set CARILLON_HOME to a directory that is",
                home.display()
            ),
            Self::Store(_) => {
                "move the file away to begin with an empty ledger; nothing in your repositories depends on it"
                    .to_owned()
            }
            Self::Socket { .. } => "set CARILLON_HOME to another directory".to_owned(),
        }
    }
}
