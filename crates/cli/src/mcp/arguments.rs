//! The arguments of the tools, as a client gives them.

use std::time::Duration;

use carillon_api::{ApiError, Code};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the arguments of a call. What does not fit is named, so that a model can mend it.
pub(super) fn read<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, ApiError> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default())).map_err(|error| ApiError {
        code: Code::Invalid,
        message: format!("the arguments do not fit: {error}"),
        hint: Some("look at the input schema of the tool".to_owned()),
    })
}

/// A number of seconds in milliseconds. One that is no time is named.
pub(super) fn milliseconds(name: &str, seconds: Option<f64>) -> Result<Option<u64>, ApiError> {
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    let time = time.ok_or_else(|| ApiError::invalid(format!("{name} must be more than 0 seconds")))?;
    Ok(Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)))
}

/// No arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskAgent {
    pub(super) agent: String,
    pub(super) prompt: String,
    pub(super) timeout_s: Option<f64>,
    pub(super) wait_s: Option<f64>,
    pub(super) after_children: Option<String>,
    pub(super) key: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetAsk {
    pub(super) ask_id: String,
    pub(super) wait_s: Option<f64>,
    pub(super) offset: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelAsk {
    pub(super) ask_id: String,
    pub(super) wait_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendMessage {
    pub(super) agent: String,
    pub(super) text: String,
}

/// A command, for the shell or word by word.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Command {
    Shell(String),
    Words(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunInBackground {
    pub(super) command: Command,
    pub(super) cwd: Option<String>,
    pub(super) title: Option<String>,
    pub(super) timeout_s: Option<f64>,
    #[serde(default)]
    pub(super) detach: bool,
    #[serde(default)]
    pub(super) tty: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateWorkdir {
    pub(super) name: Option<String>,
    pub(super) base: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListResidue {
    pub(super) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTasks {
    pub(super) state: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneTask {
    pub(super) task_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadTaskOutput {
    pub(super) task_id: String,
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<usize>,
    pub(super) tail: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitForTask {
    pub(super) task_id: String,
    pub(super) wait_s: Option<f64>,
}
