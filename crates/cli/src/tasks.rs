//! `carillon tasks`.

use std::io::Write;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use carillon_api::wire_tasks::TaskOutput;
use carillon_api::{ApiError, Code};
use carillon_core::limits;
use serde_json::{Value, json};

use crate::args::Tasks;
use crate::caller::Caller;
use crate::connect::{Connection, project_key};
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(command: Tasks, json: bool) -> Result<ExitCode, ApiError> {
    match command {
        Tasks::List { project, state } => {
            let project = project.map(|key| project_key(Some(key))).transpose()?;
            let tasks = Connection::open()?.ask("tasks_list", json!({"project": project, "state": state}))?;
            let columns = [
                ("ID", "id"),
                ("STATE", "state"),
                ("ATTEMPT", "attempt"),
                ("REASON", "reason"),
                ("TITLE", "title"),
            ];
            Ok(print(&tasks, json, |list| {
                table::rows(list, &columns, "there is no task; `carillon run -- CMD` starts one")
            }))
        }
        Tasks::Show { id } => one(&mut Connection::open()?, "task_show", &id, json),
        Tasks::Cancel { id } => {
            let caller = Caller::from_environment();
            let request = caller.signed(json!({"task": id, "by": caller.agent}));
            let task = Connection::open()?.ask("task_cancel", request)?;
            Ok(print(&task, json, |task| {
                let asked = task.get("ended_ms").is_some_and(Value::is_null);
                let words = in_words(task);
                if asked { format!("asked to end: {words}") } else { words }
            }))
        }
        Tasks::Retry { id } => {
            let request = Caller::from_environment().signed(json!({"task": id}));
            let task = Connection::open()?.call("task_retry", request)?;
            Ok(print(&task, json, in_words))
        }
        Tasks::Wait { id } => {
            let task = wait(&mut Connection::open()?, &id)?;
            Ok(print(&task, json, in_words))
        }
        Tasks::Output { id, offset, tail, follow } => {
            let mut engine = Connection::open()?;
            if json {
                let request = json!({"task": id, "offset": offset.unwrap_or(0), "tail": tail,
                    "limit": limits::OUTPUT_PAGE_BYTES});
                let page = engine.ask("task_output", Caller::from_environment().signed(request))?;
                return Ok(print(&page, true, |_| String::new()));
            }
            copy_output(&mut engine, &id, offset, tail, follow)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn one(engine: &mut Connection, method: &str, id: &str, json: bool) -> Result<ExitCode, ApiError> {
    let task = engine.ask(method, Caller::from_environment().signed(json!({"task": id})))?;
    Ok(print(&task, json, in_words))
}

fn in_words(task: &Value) -> String {
    let state = text(task, "state").replace('_', " ");
    let end = match task.get("reason") {
        Some(Value::String(reason)) if *reason != state => format!(" ({})", text(task, "reason")),
        _ => String::new(),
    };
    let held = task.get("output_held") == Some(&Value::Bool(true));
    let held = if held { ", a descendant still holds output" } else { "" };
    let attempt = task.get("attempt").and_then(Value::as_u64).unwrap_or(1);
    format!(
        "{} {}{end}{held}, attempt {attempt}: {}\n",
        text(task, "id").chars().take(8).collect::<String>(),
        state,
        text(task, "title"),
    )
}

/// Waits until a task is over, across restarts of the engine.
pub(crate) fn wait(engine: &mut Connection, id: &str) -> Result<Value, ApiError> {
    let caller = Caller::from_environment();
    loop {
        // The engine is told which run waits, so that its task lends its slot.
        let request = json!({"task": id, "wait_ms": limits::WAIT_MAX_MS, "waiter": caller.run});
        let request = caller.signed(request);
        let task = engine.ask("task_wait", request)?;
        if task.get("ended_ms").is_some_and(|ended| !ended.is_null()) {
            return Ok(task);
        }
    }
}

/// Copies output to standard output, page by page and byte for byte; with `follow` until the task is
/// over. A reader that has gone ends it.
pub(crate) fn copy_output(
    engine: &mut Connection,
    id: &str,
    offset: Option<u64>,
    tail: Option<u64>,
    follow: bool,
) -> Result<(), ApiError> {
    let caller = Caller::from_environment();
    let mut out = std::io::stdout().lock();
    let mut next = json!({"offset": offset.unwrap_or(0), "tail": tail});
    // Who does not follow gets what was there when he asked, however fast more is written.
    let mut end = None;
    loop {
        next["task"] = json!(id);
        next["encoding"] = json!("base64");
        next["limit"] = json!(limits::OUTPUT_PAGE_MAX_BYTES);
        next["waiter"] = json!(caller.run);
        next["wait_ms"] = json!(if follow { limits::WAIT_MAX_MS } else { 0 });
        let page = engine.ask("task_output", caller.signed(next))?;
        let page: TaskOutput = serde_json::from_value(page).map_err(|e| ApiError::failed(e.to_string()))?;
        if page.truncated {
            eprintln!("carillon: output before byte {} is not kept", page.offset);
        }
        let bytes =
            STANDARD.decode(page.data.unwrap_or_default()).map_err(|e| ApiError::failed(e.to_string()))?;
        match out.write_all(&bytes).and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => {
                let message = format!("the output cannot be written: {error}");
                return Err(ApiError { code: Code::Failed, message, hint: None });
            }
        }
        let end = *end.get_or_insert(page.total);
        if page.over || (!follow && (bytes.is_empty() || page.next_offset >= end)) {
            return Ok(());
        }
        next = json!({"offset": page.next_offset});
    }
}
