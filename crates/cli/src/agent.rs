//! `carillon agent`.

use std::path::Path;
use std::process::ExitCode;

use carillon_api::ApiError;
use carillon_core::plain::plain;
use serde_json::{Value, json};

use crate::args::{Agent, Mode};
use crate::connect::{Connection, project_key};
use crate::outcome::{print, text};
use crate::table;
use crate::usage_words::used;

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
        Agent::Show { name } => {
            let agent = shown(&mut Connection::open()?, &name)?;
            Ok(print(&agent, json, whole))
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

/// How many turns are shown.
const TURNS: usize = 5;
/// Most pages of one turn that are looked through for notes.
const PAGES: usize = 200;

/// An agent with its last turns, each with what was noted of it.
fn shown(engine: &mut Connection, key: &str) -> Result<Value, ApiError> {
    // It also says when there is no such agent, or more than one.
    let mut turns = engine.ask("turns_list", json!({"agent": key, "most": TURNS}))?;
    for turn in turns.as_array_mut().into_iter().flatten() {
        turn["notes"] = notes_of(engine, &text(turn, "id"))?.into();
    }
    let agents = engine.ask("agents_list", json!({"project": null}))?;
    let is_meant =
        |agent: &&Value| agent["name"] == key || agent["id"].as_str().is_some_and(|id| id.starts_with(key));
    let found = agents.as_array().and_then(|agents| agents.iter().find(is_meant));
    let mut agent = found.cloned().ok_or_else(|| ApiError::failed(format!("agent {key:?} is gone")))?;
    agent["turns"] = turns;
    Ok(agent)
}

/// What was noted of a turn, beside what the agent said itself.
fn notes_of(engine: &mut Connection, turn: &str) -> Result<Vec<Value>, ApiError> {
    let (mut notes, mut offset) = (Vec::new(), json!(0));
    for _ in 0..PAGES {
        let page = engine.ask("turn_events", json!({"turn": turn, "offset": offset, "wait_ms": 0}))?;
        let events = page["events"].as_array().into_iter().flatten();
        notes.extend(events.filter(|event| event["kind"] == "note").map(|event| event["text"].clone()));
        if page["over"] == true || page["next_offset"] == offset {
            break;
        }
        offset = page["next_offset"].clone();
    }
    Ok(notes)
}

fn whole(agent: &Value) -> String {
    let mut out = format!("{}  {}\n", text(agent, "name"), doing(agent));
    for (name, field) in [("id", "id"), ("mode", "mode"), ("workdir", "workdir")] {
        out.push_str(&format!("{name:8}{}\n", text(agent, field)));
    }
    if let Some(used) = used(&agent["usage"]) {
        out.push_str(&format!("used    {used}\n"));
    }
    for turn in agent["turns"].as_array().into_iter().flatten() {
        let prompt = table::shortened(text(turn, "prompt").lines().next().unwrap_or_default());
        out.push_str(&format!("turn    {:12}{prompt}\n", text(turn, "state").replace('_', " ")));
        for note in turn["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            out.push_str(&format!("        {}\n", plain(note)));
        }
    }
    out
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
            agent["used"] = used(&agent["usage"]).map_or(Value::Null, Value::String);
            agent
        })
        .collect();
    let columns = [
        ("ID", "id"),
        ("NAME", "name"),
        ("MODE", "mode"),
        ("STATE", "doing"),
        ("USED", "used"),
        ("WORKDIR", "workdir"),
    ];
    table::rows(&Value::Array(with_words), &columns, "there is no agent; `carillon agent add` adds one")
}

/// The state, with what keeps it from its next turn, or the end of the last run in words.
fn doing(agent: &Value) -> String {
    let state = text(agent, "state").replace('_', " ");
    if agent.get("held_back").is_some_and(Value::is_string) {
        return format!("{state}, in line: {}", text(agent, "held_back"));
    }
    // Each turn of a headless agent is a process of its own: that one has ended well says nothing of the agent.
    let is_headless = agent.get("mode").is_some_and(|mode| mode == "headless");
    if is_headless && agent.pointer("/run/exit_code").is_some_and(|code| *code == 0) {
        return state;
    }
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
