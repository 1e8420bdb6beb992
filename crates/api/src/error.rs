//! Errors as a caller sees them.

use carillon_engine::Error;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a caller may branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Nothing has this name or id.
    NotFound,
    /// The request is wrong.
    Invalid,
    /// The request is understood and will not be done.
    Refused,
    /// It was tried and did not work.
    Failed,
    /// No engine answers.
    NoEngine,
}

/// An error: what happened, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What a caller may branch on.
    pub code: Code,
    /// A full sentence.
    pub message: String,
    /// The way out.
    pub hint: Option<String>,
}

impl ApiError {
    /// A request that cannot be read.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: Code::Invalid, message: message.into(), hint: None }
    }

    /// No engine answers.
    pub fn no_engine(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: Code::NoEngine, message: message.into(), hint: Some(hint.into()) }
    }

    /// It was tried and did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { code: Code::Failed, message: message.into(), hint: None }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::NotFound { .. } => Code::NotFound,
            Error::Ambiguous { .. } | Error::Invalid { .. } => Code::Invalid,
            Error::Refused { .. } => Code::Refused,
            Error::Failed { .. } | Error::Store(_) => Code::Failed,
            Error::ShuttingDown => Code::NoEngine,
        };
        Self { code, message: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}
