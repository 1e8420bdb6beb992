//! `carillon agent`.

use std::path::Path;
use std::process::ExitCode;

use carillon_api::ApiError;
use serde_json::{Value, json};

use crate::args::{Agent, Mode};
use crate::connect::{Connection, project_key};
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(command: Agent, json: bool) -> Result<ExitCode, ApiError> {
    match command {
        Agent::Add { name, project, profile, mode, role_file, workdir } => {
            let request = json!({
                "name": name,
                "project": project_key(project)?,
                "profile": profile,
                "mode": match mode { Mode::Headless => "headless", Mode::Terminal => "terminal" },
                "role": role_file.as_deref().map(read_role).transpose()?,
                "workdir": absolute_workdir(workdir)?,
            });
            let agent = Connection::open()?.call("agent_add", request)?;
            Ok(print(&agent, json, |a| format!("added agent {}\n", text(a, "name"))))
        }
        Agent::List { project } => {
            let project = project.map(|key| project_key(Some(key))).transpose()?;
            let agents = Connection::open()?.ask("agents_list", json!({"project": project}))?;
            Ok(print(&agents, json, in_words))
        }
        Agent::Start { name } => {
            let agent = Connection::open()?.ask("agent_start", json!({"agent": name}))?;
            let failed = agent.get("state").is_some_and(|state| state == "failed");
            let code = print(&agent, json, |a| format!("{} is {}\n", text(a, "name"), doing(a)));
            Ok(if failed { ExitCode::FAILURE } else { code })
        }
        Agent::Stop { name } => {
            let agent = Connection::open()?.ask("agent_stop", json!({"agent": name}))?;
            Ok(print(&agent, json, |a| format!("{} is {}\n", text(a, "name"), doing(a))))
        }
        Agent::Remove { name } => {
            let done = Connection::open()?.call("agent_remove", json!({"agent": name}))?;
            Ok(print(&done, json, |_| format!("removed agent {name}; its directory is as it was\n")))
        }
    }
}

fn in_words(list: &Value) -> String {
    let with_words: Vec<Value> = list
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(|agent| {
            let mut agent = agent.clone();
            agent["doing"] = Value::String(doing(&agent));
            agent
        })
        .collect();
    let columns =
        [("ID", "id"), ("NAME", "name"), ("MODE", "mode"), ("STATE", "doing"), ("WORKDIR", "workdir")];
    table::rows(&Value::Array(with_words), &columns, "there is no agent; `carillon agent add` adds one")
}

/// The state, with the end of the last run in words.
fn doing(agent: &Value) -> String {
    let state = text(agent, "state").replace('_', " ");
    match agent.get("run").filter(|run| run.get("reason").is_some_and(Value::is_string)) {
        Some(run) => format!("{state} ({})", text(run, "reason")),
        None => state,
    }
}

fn read_role(path: &Path) -> Result<String, ApiError> {
    std::fs::read_to_string(path)
        .map_err(|e| ApiError::failed(format!("the role file {} cannot be read: {e}", path.display())))
}

fn absolute_workdir(workdir: String) -> Result<String, ApiError> {
    if workdir == "root" || workdir == "new" {
        return Ok(workdir);
    }
    let absolute = std::path::absolute(&workdir)
        .map_err(|e| ApiError::failed(format!("{workdir:?} cannot be resolved: {e}")))?;
    Ok(absolute.to_string_lossy().into_owned())
}
