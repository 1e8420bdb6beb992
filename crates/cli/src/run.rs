//! `carillon run`: a command in the background, with the caller's environment and directory.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use carillon_api::wire_tasks::{Task, TaskState};
use carillon_api::{ApiError, Code};
use carillon_core::quantity;
use serde_json::{Value, json};

use crate::args::Run;
use crate::caller::Caller;
use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::tasks;

/// What a shell says of a command that was ended by its time-out (timeout(1)).
const TIMED_OUT: u8 = 124;

pub(crate) fn run(args: Run, json: bool) -> Result<ExitCode, ApiError> {
    let wait = args.wait;
    let request = request(args)?;
    let mut engine = Connection::open()?;
    // The id is ours, so a repeat after a lost answer starts nothing twice.
    let task = engine.ask("task_add", request)?;
    if !wait {
        return Ok(print(&task, json, |task| {
            let id: String = text(task, "id").chars().take(8).collect();
            format!("{id} {} {}\n", text(task, "state"), text(task, "title"))
        }));
    }
    let id = text(&task, "id").into_owned();
    if !json {
        tasks::copy_output(&mut engine, &id, Some(0), None, true)?;
    }
    let over = tasks::wait(&mut engine, &id)?;
    if json {
        print(&over, true, |_| String::new());
    }
    passed_on(over)
}

fn request(args: Run) -> Result<Value, ApiError> {
    let wrong = |flag: &str, e: quantity::NotAQuantity| ApiError::invalid(format!("--{flag}: {e}"));
    let timeout_ms = args.timeout.as_deref().map(quantity::duration_ms).transpose();
    let log_max = args.log_max.as_deref().map(quantity::bytes).transpose();
    // Also for another owner: what an agent may run does not depend on whom it names.
    let caller = Caller::from_environment();
    let owner = args.owner.or_else(|| caller.agent.clone());
    let mut env = Vec::new();
    for (name, value) in std::env::vars_os() {
        for part in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
            env.extend_from_slice(part);
        }
    }
    Ok(caller.signed(json!({
        "id": uuid::Uuid::new_v4().simple().to_string(),
        "owner": owner,
        "command": args.command,
        "cwd": absolute_cwd(args.cwd)?,
        "env_data": STANDARD.encode(env),
        "title": args.title,
        "timeout_ms": timeout_ms.map_err(|e| wrong("timeout", e))?,
        "log_max": log_max.map_err(|e| wrong("log-max", e))?,
        "tty": args.tty,
        "detach": args.detach,
    })))
}

fn absolute_cwd(given: Option<PathBuf>) -> Result<String, ApiError> {
    let here = std::env::current_dir()
        .map_err(|e| ApiError::failed(format!("the present directory cannot be read: {e}")))?;
    let cwd = given.map_or(here.clone(), |cwd| here.join(cwd));
    cwd.into_os_string().into_string().map_err(|path| ApiError {
        code: Code::Failed,
        message: format!("the path {path:?} is not UTF-8"),
        hint: Some("rename the directory".to_owned()),
    })
}

/// The exit code that the command itself would have left a shell with.
fn passed_on(task: Value) -> Result<ExitCode, ApiError> {
    let task: Task = serde_json::from_value(task).map_err(|e| ApiError::failed(e.to_string()))?;
    let code = match (task.state, task.exit_code, task.signal) {
        (TaskState::Succeeded, _, _) => 0,
        (_, Some(code), _) => u8::try_from(code).unwrap_or(1),
        (_, None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(1),
        (TaskState::TimedOut, None, None) => TIMED_OUT,
        (_, None, None) => 1,
    };
    if code != 0
        && let Some(reason) = task.reason
    {
        eprintln!("carillon: {}: {reason}", task.title);
    }
    Ok(ExitCode::from(code))
}
