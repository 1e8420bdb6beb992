//! The tools for background commands, as a model reads of them.

use carillon_api::wire_tasks::TaskState;
use carillon_core::limits;
use rmcp::model::Tool;
use serde_json::{Value, json};

use super::tools::{Effect, input, list_output, maybe, output, tool, wait_s};

/// The tools.
pub(super) fn all() -> Vec<Tool> {
    vec![
        run_in_background(),
        list_tasks(),
        get_task(),
        read_task_output(),
        wait_for_task(),
        cancel_task(),
        retry_task(),
    ]
}

fn states() -> Vec<&'static str> {
    use TaskState::*;
    [AwaitingApproval, Queued, Starting, Running, Succeeded, Failed, TimedOut, Cancelled, Lost]
        .map(TaskState::word)
        .to_vec()
}

fn run_in_background() -> Tool {
    let description = format!(
        "Start a shell command in the background: tests, builds, servers, anything that takes longer than a moment. It is \
         recorded before this answers, outlives your turn and even a restart of the app, and its output and exit status are \
         kept. Answers at once with the task's id. When the command ends you get a message, which wakes you if you are idle: \
         so go on with something else or end your turn, and do not poll. While you answer an ask, the task belongs to that \
         ask: your answer is handed over when the task has ended well, together with its outcome; if it fails, the ask \
         fails, unless you have looked at the failure, cancelled it or tried again with success before you answer. Where \
         the user wants to be asked first, the task is `awaiting_approval` until then; do not try another way. A command gets \
         no input and, unless tty is set, no terminal. It may have {} bytes.",
        limits::COMMAND_MAX_BYTES
    );
    let input = input(
        json!({
            "command": {
                // Not every client's model service knows `oneOf`.
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                ],
                "description": "A line for `sh -c`, or a program and its arguments word by word.",
            },
            "cwd": {"type": "string", "description": "Where it runs; a relative path begins at your working directory, which is also the default."},
            "title": {"type": "string", "maxLength": limits::TITLE_MAX_CHARS, "description": "A short name for people."},
            "timeout_s": {"type": "number", "minimum": 0.001, "description": "End it after so many seconds. Left out: the project's rule, or never."},
            "detach": {"type": "boolean", "default": false,
                "description": "Keep it out of the ask that you are answering, like a server that is to stay: your answer does not wait for it."},
            "tty": {"type": "boolean", "default": false, "description": "Give it a terminal, for programs that insist on one."},
        }),
        &["command"],
    );
    tool("run_in_background", "Run in the background", Effect::Adds, description, input, Some(task_output()))
}

fn list_tasks() -> Tool {
    let description = "List the background tasks of this project, the newest first, with their states. Use it to find an id \
         or to see what still runs."
        .to_owned();
    let input = input(
        json!({"state": {"type": "string", "enum": states(), "description": "Only those in this state."}}),
        &[],
    );
    let output = list_output("tasks", task_row());
    tool("list_tasks", "List tasks", Effect::Looks, description, input, Some(output))
}

fn get_task() -> Tool {
    let description =
        "Show one background task: its state, exit code and how much it has written. Looking at a task that \
         has failed counts as having seen the failure."
            .to_owned();
    tool("get_task", "Show a task", Effect::Looks, description, one_task(), Some(task_output()))
}

fn read_task_output() -> Tool {
    let description = format!(
        "Read what a background task has written, as text without colours and control sequences: a page of at most {} bytes, \
         while it runs as well as after its end. The last line of the answer says where the page stands: to read on, call \
         again with offset = next_offset; `over` means that nothing follows. Errors usually stand at the end: use tail.",
        limits::MCP_TEXT_MAX_BYTES
    );
    let input = input(
        json!({
            "task_id": task_id(),
            "offset": {"type": "integer", "minimum": 0, "description": "Begin so many bytes into the output. Left out: at its beginning."},
            "limit": {"type": "integer", "minimum": 1, "maximum": limits::MCP_TEXT_MAX_BYTES, "description": "Longest page, in bytes."},
            "tail": {"type": "integer", "minimum": 1, "description": "Begin so many bytes before the end instead."},
        }),
        &["task_id"],
    );
    tool("read_task_output", "Read a task's output", Effect::Looks, description, input, None)
}

fn wait_for_task() -> Tool {
    let description = "Wait until a background task has ended, and get how. Use it only when you cannot go on without the \
         result: you are told of the end in any case. When the wait ends first you get status `still_running`: the task goes \
         on."
        .to_owned();
    let input = input(
        json!({"task_id": task_id(), "wait_s": wait_s("The task goes on after that. Left out: as long as possible.")}),
        &["task_id"],
    );
    tool("wait_for_task", "Wait for a task", Effect::Looks, description, input, Some(task_output()))
}

fn cancel_task() -> Tool {
    let description =
        "End a background task with everything that it started. One that is over stays as it is. Answers at \
         once; the end may take a few seconds."
            .to_owned();
    tool("cancel_task", "Cancel a task", Effect::Ends, description, one_task(), Some(task_output()))
}

fn retry_task() -> Tool {
    let description = "Run the command of a task that is over once more, as a new attempt of the same task. Answers at once; \
         you are told when it ends."
        .to_owned();
    tool("retry_task", "Retry a task", Effect::Adds, description, one_task(), Some(task_output()))
}

fn task_id() -> Value {
    json!({"type": "string", "minLength": 4, "description": "The id of the task, or a unique beginning of it."})
}

fn one_task() -> Value {
    input(json!({"task_id": task_id()}), &["task_id"])
}

fn task_fields() -> Value {
    json!({
        "id": {"type": "string"},
        "project": {"type": "string"},
        "owner": maybe("string", "The agent that hears of its end."),
        "title": {"type": "string"},
        "command": {"type": "array", "items": {"type": "string"}},
        "cwd": {"type": "string"},
        "state": {"type": "string", "enum": states()},
        "exit_code": {"type": ["integer", "null"]},
        "signal": maybe("integer", "The number of the signal that ended it."),
        "reason": maybe("string", "Its end in words."),
        "attempt": {"type": "integer"},
        "joined_ask": maybe("string", "The ask that it belongs to."),
        "log_bytes": {"type": "integer", "description": "How much it has written."},
        "log_truncated": {"type": "boolean"},
        "created_ms": {"type": "integer"},
        "started_ms": {"type": ["integer", "null"]},
        "ended_ms": {"type": ["integer", "null"]},
    })
}

fn task_row() -> Value {
    output(task_fields(), &["id", "state"])
}

fn task_output() -> Value {
    let mut fields = task_fields();
    fields["status"] = json!({"type": "string", "enum": ["still_running", "succeeded", "failed", "timed_out", "cancelled", "lost"],
        "description": "`still_running` until it is over; then how it ended."});
    fields["task_id"] = json!({"type": "string"});
    fields["hint"] = json!({"type": "string", "description": "What to do next."});
    output(fields, &["id", "state", "status"])
}
