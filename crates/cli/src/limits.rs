//! `carillon limits` and `carillon approvals`.

use std::process::ExitCode;

use carillon_api::ApiError;
use serde_json::{Value, json};

use crate::args::{Approvals, Limits};
use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(command: Limits, json: bool) -> Result<ExitCode, ApiError> {
    let (method, profile, done) = match command {
        Limits::List => {
            let limits = Connection::open()?.ask("limits_list", json!({}))?;
            let columns = [("PROFILE", "profile_name"), ("UNTIL", "until_ms"), ("SAID", "reason")];
            return Ok(print(&limits, json, |list| table::rows(list, &columns, "no session limit holds")));
        }
        Limits::Clear { profile } => ("limit_clear", profile, "cleared the limit of"),
        Limits::Resume { profile } => ("limit_resume", profile, "resuming the agents of"),
        Limits::Hold { profile } => ("limit_hold", profile, "holding the agents of"),
    };
    let limit = Connection::open()?.call(method, json!({"profile": profile}))?;
    Ok(print(&limit, json, |_| format!("{done} {profile}\n")))
}

pub(crate) fn approvals(command: Approvals, json: bool) -> Result<ExitCode, ApiError> {
    let (id, approve) = match command {
        Approvals::List => {
            let approvals = Connection::open()?.ask("approvals_list", json!({}))?;
            let columns = [
                ("ID", "id"),
                ("STATE", "state"),
                ("AGENT", "agent_name"),
                ("DIRECTORY", "cwd"),
                ("COMMAND", "shown"),
            ];
            return Ok(print(&approvals, json, |list| {
                table::rows(list, &columns, "no command waits for your word")
            }));
        }
        Approvals::Approve { id } => (id, true),
        Approvals::Deny { id } => (id, false),
    };
    let approval: Value =
        Connection::open()?.call("approval_decide", json!({"approval": id, "approve": approve}))?;
    Ok(print(&approval, json, |approval| {
        format!("{} {}\n", text(approval, "state"), text(approval, "shown"))
    }))
}
