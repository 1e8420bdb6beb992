//! `carillon inbox`.

use std::process::ExitCode;

use carillon_api::ApiError;
use serde_json::json;

use crate::connect::Connection;
use crate::outcome::print;
use crate::table;

pub(crate) fn run(agent: &str, json: bool) -> Result<ExitCode, ApiError> {
    let messages = Connection::open()?.ask("inbox", json!({"agent": agent}))?;
    let columns = [("ID", "id"), ("KIND", "kind"), ("STATE", "state"), ("TEXT", "text")];
    Ok(print(&messages, json, |list| table::rows(list, &columns, "the inbox is empty")))
}
