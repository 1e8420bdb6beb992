//! The commands on background tasks; part of the list in [`crate::commands`].

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use carillon_core::id::{RunId, TaskId};
use carillon_engine::requests::{Caller, NewTask, OutputPage, OutputQuery, OutputWait, TaskView};
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::asks::caller;
use crate::commands::{answer, list, read};
use crate::error::ApiError;
use crate::wire_tasks::{Task, TaskOutput, TaskState};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskAdd {
    id: Option<String>,
    owner: Option<String>,
    project: Option<String>,
    command: Vec<String>,
    cwd: Option<String>,
    /// The caller's environment in base64: `NAME=VALUE` entries, each closed by a zero byte. It may
    /// hold any bytes.
    env_data: Option<String>,
    title: Option<String>,
    timeout_ms: Option<u64>,
    log_max: Option<u64>,
    #[serde(default)]
    tty: bool,
    #[serde(default)]
    detach: bool,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TasksList {
    project: Option<String>,
    state: Option<TaskState>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneTask {
    task: String,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskCancel {
    task: String,
    by: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskWait {
    task: String,
    #[serde(default)]
    wait_ms: u64,
    waiter: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Text,
    Base64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskOutputRequest {
    task: String,
    #[serde(default)]
    offset: u64,
    tail: Option<u64>,
    limit: Option<usize>,
    #[serde(default)]
    wait_ms: u64,
    #[serde(default)]
    encoding: Encoding,
    waiter: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

/// The commands that wait; `None` when `method` is not one of them.
pub(crate) async fn call_waiting(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    match method {
        "task_wait" => Some(wait(app, params.clone()).await),
        "task_output" => Some(output(app, params.clone()).await),
        _ => None,
    }
}

/// The others; `None` when `method` is not one of them.
pub(crate) fn call_blocking(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    let engine = app.engine();
    let params = params.clone();
    Some(match method {
        "task_add" => read(params).and_then(|r| answer(Task::from(engine.add_task(new_task(r)?)?))),
        "tasks_list" => read(params).and_then(|r: TasksList| {
            let state = r.state.map(TaskState::word);
            list::<Task, _>(engine.tasks(r.project.as_deref(), state)?)
        }),
        "task_show" => read(params).and_then(|r: OneTask| {
            let view = engine.task(&r.task)?;
            engine.note_task_seen(&view, caller(r.from, r.from_run))?;
            answer(Task::from(view))
        }),
        "task_cancel" => read(params).and_then(|r: TaskCancel| {
            answer(Task::from(engine.cancel_task(
                &r.task,
                r.by.as_deref().unwrap_or("user"),
                caller(r.from, r.from_run),
            )?))
        }),
        "task_retry" => read(params).and_then(|r: OneTask| {
            answer(Task::from(engine.retry_task(&r.task, &caller(r.from, r.from_run))?))
        }),
        _ => return None,
    })
}

async fn wait(app: &App, params: Value) -> Result<Value, ApiError> {
    let request: TaskWait = read(params)?;
    let wait = Duration::from_millis(request.wait_ms);
    let view = app.engine().wait_task(&request.task, waiter(request.waiter)?, wait).await?;
    note_seen(app, &view, caller(request.from, request.from_run)).await?;
    answer(Task::from(view))
}

/// An owner that has seen the bad end of a joined task is not surprised by it.
async fn note_seen(app: &App, view: &TaskView, caller: Caller) -> Result<(), ApiError> {
    if caller == Caller::default() {
        return Ok(());
    }
    let (engine, view) = (app.engine().clone(), view.clone());
    let noted = tokio::task::spawn_blocking(move || engine.note_task_seen(&view, caller)).await;
    Ok(noted.map_err(|e| ApiError::failed(e.to_string()))??)
}

/// The run that waits from within.
fn waiter(run: Option<String>) -> Result<Option<RunId>, ApiError> {
    run.map(|run| RunId::parse(&run)).transpose().map_err(|e| ApiError::invalid(e.to_string()))
}

async fn output(app: &App, params: Value) -> Result<Value, ApiError> {
    let request: TaskOutputRequest = read(params)?;
    let query = OutputQuery {
        offset: request.offset,
        tail: request.tail,
        limit: request.limit,
        whole_characters: request.encoding == Encoding::Text,
    };
    let wait = Duration::from_millis(request.wait_ms);
    let wait = OutputWait { wait, waiter: waiter(request.waiter)? };
    let page = app.engine().task_output(&request.task, query, wait).await?;
    let caller = caller(request.from, request.from_run);
    if page.over {
        note_seen(app, &app.engine().task(&request.task)?, caller).await?;
    } else {
        app.engine().may_see_task(&request.task, caller).await?;
    }
    answer(pack(page, request.encoding))
}

fn pack(page: OutputPage, encoding: Encoding) -> TaskOutput {
    let (text, data) = match encoding {
        Encoding::Text => (String::from_utf8_lossy(&page.bytes).into_owned(), None),
        Encoding::Base64 => (String::new(), Some(STANDARD.encode(&page.bytes))),
    };
    TaskOutput {
        offset: page.offset,
        next_offset: page.next_offset,
        total: page.total,
        truncated: page.truncated,
        over: page.over,
        text,
        data,
    }
}

fn parse_env(data: &str) -> Result<Vec<(OsString, OsString)>, ApiError> {
    let bytes =
        STANDARD.decode(data).map_err(|e| ApiError::invalid(format!("env_data is no base64: {e}")))?;
    let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let os = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((os(&entry[..at]), os(&entry[at + 1..])))
    });
    Ok(entries.collect())
}

fn new_task(request: TaskAdd) -> Result<NewTask, ApiError> {
    let id = request.id.map(|id| TaskId::parse(&id)).transpose();
    Ok(NewTask {
        id: id.map_err(|e| ApiError::invalid(e.to_string()))?,
        owner: request.owner,
        project: request.project,
        command: request.command,
        cwd: request.cwd.map(Into::into),
        env: request.env_data.map(|data| parse_env(&data)).transpose()?,
        title: request.title,
        timeout_ms: request.timeout_ms,
        log_max: request.log_max,
        tty: request.tty,
        detached: request.detach,
        caller: caller(request.from, request.from_run),
    })
}
