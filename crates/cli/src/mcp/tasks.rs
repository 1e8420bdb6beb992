//! The tools for background commands.

use std::path::PathBuf;

use carillon_api::wire_tasks::{Task, TaskOutput};
use carillon_api::{ApiError, Code};
use carillon_core::limits;
use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::answers;
use super::arguments::{self, Command, ListTasks, OneTask, ReadTaskOutput, RunInBackground, WaitForTask};
use super::context::Context;
use super::waits::{Ended, Look, Wait};
use crate::call_file::new_id;

type Arguments = Option<JsonObject>;

/// Starts a command; it is durable when this answers.
pub(super) async fn run_in_background(
    cx: &Context,
    arguments: Arguments,
) -> Result<CallToolResult, ApiError> {
    let args: RunInBackground = arguments::read(arguments)?;
    let is_line = matches!(args.command, Command::Shell(_));
    let command = match args.command {
        Command::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line],
        Command::Words(words) => words,
    };
    let bytes: usize = command.iter().map(String::len).sum();
    if bytes > limits::COMMAND_MAX_BYTES {
        return Err(ApiError {
            code: Code::Invalid,
            message: format!("the command is {bytes} bytes long and may have {}", limits::COMMAND_MAX_BYTES),
            hint: Some("put it into a script and run that".to_owned()),
        });
    }
    let runs_something = command.first().zip(command.last());
    if runs_something
        .is_none_or(|(first, last)| first.trim().is_empty() || (is_line && last.trim().is_empty()))
    {
        return Err(ApiError::invalid("the command is empty"));
    }
    let workdir = cx.workdir().await?;
    let cwd = args.cwd.map_or(workdir.clone(), |cwd| workdir.join(PathBuf::from(cwd)));
    let mut params = json!({
        "id": new_id(),
        "owner": cx.caller.agent,
        "command": command,
        "cwd": cwd,
        "title": args.title,
        "timeout_ms": arguments::milliseconds("timeout_s", args.timeout_s)?,
        "tty": args.tty,
        "detach": args.detach,
    });
    if cx.caller.is_user() {
        params["project"] = cx.project().await?;
    }
    one(cx, "task_add", params).await
}

/// The tasks of the project, the newest first.
pub(super) async fn list_tasks(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let args: ListTasks = arguments::read(arguments)?;
    let params = json!({"project": cx.project().await?, "state": args.state});
    let Value::Array(tasks) = cx.engine.ask("tasks_list", params).await? else {
        return Err(ApiError::failed("the engine's answer is no list of tasks"));
    };
    Ok(answers::result(answers::rows("tasks", tasks)))
}

/// Shows one task.
pub(super) async fn get_task(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let OneTask { task_id } = arguments::read(arguments)?;
    one(cx, "task_show", json!({"task": task_id})).await
}

/// Ends a task.
pub(super) async fn cancel_task(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let OneTask { task_id } = arguments::read(arguments)?;
    one(cx, "task_cancel", json!({"task": task_id, "by": cx.caller.agent})).await
}

/// Tries a task that is over again.
pub(super) async fn retry_task(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let OneTask { task_id } = arguments::read(arguments)?;
    // A repeat after a lost answer would be one more attempt.
    let params = cx.caller.signed(json!({"task": task_id}));
    let task = read(cx.engine.ask_once("task_retry", params).await?)?;
    Ok(answers::result(answers::task(&task)))
}

async fn one(cx: &Context, method: &str, params: Value) -> Result<CallToolResult, ApiError> {
    let task = read(cx.engine.ask(method, cx.caller.signed(params)).await?)?;
    Ok(answers::result(answers::task(&task)))
}

/// A page of what a task has written.
pub(super) async fn read_task_output(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let args: ReadTaskOutput = arguments::read(arguments)?;
    let limit = args.limit.unwrap_or(limits::MCP_TEXT_MAX_BYTES).clamp(1, limits::MCP_TEXT_MAX_BYTES);
    let mut params = json!({"task": args.task_id, "offset": args.offset.unwrap_or(0), "limit": limit});
    if let Some(tail) = args.tail.filter(|_| args.offset.is_none()) {
        params["tail"] = json!(tail);
    }
    let page = cx.engine.ask("task_output", cx.caller.signed(params)).await?;
    let page: TaskOutput = serde_json::from_value(page).map_err(|e| ApiError::failed(e.to_string()))?;
    Ok(answers::page(&page))
}

/// Waits until a task is over.
pub(super) async fn wait_for_task(
    cx: &Context,
    arguments: Arguments,
    request: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ApiError> {
    let args: WaitForTask = arguments::read(arguments)?;
    let wait = Wait::begin(request, &cx.gone, cx.wait(args.wait_s));
    let first = cx.engine.ask("task_wait", wait_params(cx, &args.task_id, 0)).await.and_then(read)?;
    let id = first.id.clone();
    let ended = wait
        .over(look(first), |wait_ms| {
            let params = wait_params(cx, &id, wait_ms);
            async move { cx.engine.ask("task_wait", params).await.and_then(read).map(look) }
        })
        .await?;
    match ended {
        Ended::Over(task) => Ok(answers::result(answers::task(&task))),
        Ended::TimeUp(task) => Ok(answers::result(answers::task_goes_on(&task))),
        Ended::Left => Err(ApiError::failed("the call was cancelled")),
    }
}

/// The engine is told which run waits, so that a task of its own lends its slot meanwhile.
fn wait_params(cx: &Context, task: &str, wait_ms: u64) -> Value {
    cx.caller.signed(json!({"task": task, "wait_ms": wait_ms, "waiter": cx.caller.run}))
}

fn look(task: Task) -> Look<Task> {
    let is_over = task.ended_ms.is_some();
    Look { is_over, waits_for: format!("the task is {}", task.state.word()), seen: task }
}

fn read(value: Value) -> Result<Task, ApiError> {
    serde_json::from_value(value)
        .map_err(|e| ApiError::failed(format!("the engine's answer cannot be read: {e}")))
}
