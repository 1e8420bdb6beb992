//! The tools that ask and answer agents, as a model reads of them.
//!
//! Each description says when to use the tool, what comes back and what happens to the turn: the
//! reader has never seen it before.

use std::sync::Arc;

use carillon_core::limits;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// What a tool does to the world.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// It only looks.
    Looks,
    /// It adds something.
    Adds,
    /// It ends something.
    Ends,
}

/// A tool with its schemas; `output` is none for one that answers with plain text.
pub(super) fn tool(
    name: &'static str,
    title: &'static str,
    effect: Effect,
    description: String,
    input: Value,
    output: Option<Value>,
) -> Tool {
    let notes = ToolAnnotations::with_title(title).open_world(false);
    let notes = match effect {
        Effect::Looks => notes.read_only(true),
        Effect::Adds => notes.read_only(false).destructive(false),
        Effect::Ends => notes.read_only(false).destructive(true).idempotent(true),
    };
    let tool = Tool::new(name, description, object(input)).with_title(title).with_annotations(notes);
    match output {
        Some(output) => tool.with_raw_output_schema(object(output)),
        None => tool,
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

/// A schema of arguments: all of them named, none else taken.
pub(super) fn input(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A schema of an answer: fields may be added later.
pub(super) fn output(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// A field that may be missing.
pub(super) fn maybe(kind: &str, description: &str) -> Value {
    json!({"type": [kind, "null"], "description": description})
}

pub(super) fn wait_s(what_else: &str) -> Value {
    json!({
        "type": "number", "minimum": 0, "maximum": limits::MCP_WAIT_MAX_S,
        "description": format!("Longest that this call waits, in seconds. {what_else}"),
    })
}

/// The tools.
pub(super) fn all() -> Vec<Tool> {
    vec![ask_agent(), get_ask(), cancel_ask(), list_agents(), send_message()]
}

fn ask_agent() -> Tool {
    let description = format!(
        "Ask another agent of this project to do something or to answer a question, and wait for its one final answer. \
         Use it to hand over work or to get another agent's view; list_agents tells who is there. The agent works in its \
         own session and sees only your prompt, so put in everything that it needs. The call stays open until the agent has \
         finished its turn and everything that it started in the background for you has ended; the answer then holds its \
         final text and what became of that work (`children`). An agent that is busy is asked when it is free; one that is \
         not running is started. If the work fails, is cancelled or runs out of time you get an error that names the cause, \
         never an empty success. Several calls may run side by side. When the wait ends first you get status \
         `still_running` with the ask's id: the work goes on, and the answer comes to you later as a message, so you may end \
         your turn; do not ask again. The prompt may have {} bytes.",
        limits::PROMPT_MAX_BYTES
    );
    let input = input(
        json!({
            "agent": {"type": "string", "minLength": 1, "description": "Name or id of the agent, as list_agents shows it."},
            "prompt": {"type": "string", "minLength": 1, "description": "The question or the order, with all that the agent must know."},
            "timeout_s": {"type": "number", "minimum": 0.001,
                "description": "End the ask itself after so many seconds: the agent is interrupted and its background work cancelled. Left out: never."},
            "wait_s": wait_s("The ask goes on after that. Left out: as long as possible."),
            "after_children": {"type": "string", "enum": ["deliver", "follow_up"], "default": "deliver",
                "description": "When the agent has answered while work that it started goes on: `deliver` its answer with the outcome of the work, or let it `follow_up` with one more turn that sees the results and answers instead."},
            "key": {"type": "string", "minLength": 1, "maxLength": limits::ASK_KEY_MAX_CHARS,
                "description": "A word of your own for this ask. The same key again waits for the same ask instead of asking twice; use it when you repeat a call that broke off."},
        }),
        &["agent", "prompt"],
    );
    tool("ask_agent", "Ask an agent", Effect::Adds, description, input, Some(ask_output()))
}

fn get_ask() -> Tool {
    let description = "Show an ask: its state, what it waits for, and its answer when it has one. Use it with the id that \
         ask_agent gave you with `still_running`; with wait_s it waits for the end and hands you the answer. It can be called \
         as often as you like, also for an answer that you have had already. A long final comes in pages: when `truncated` is \
         true, call again with offset = next_offset."
        .to_owned();
    let input = input(
        json!({
            "ask_id": {"type": "string", "minLength": 4, "description": "The id of the ask, or a unique beginning of it."},
            "wait_s": wait_s("Left out: it does not wait."),
            "offset": {"type": "integer", "minimum": 0, "description": "Begin the final so many bytes in."},
        }),
        &["ask_id"],
    );
    tool("get_ask", "Show an ask", Effect::Looks, description, input, Some(ask_output()))
}

fn cancel_ask() -> Tool {
    let description = "End an ask that is not wanted any more: the other agent's turn is interrupted and the background work \
         that belongs to the ask is cancelled. An ask that is over stays as it is. Answers with the ask; the end may take a \
         moment, and wait_s waits for it."
        .to_owned();
    let input = input(
        json!({
            "ask_id": {"type": "string", "minLength": 4, "description": "The id of the ask, or a unique beginning of it."},
            "wait_s": wait_s("Left out: it does not wait."),
        }),
        &["ask_id"],
    );
    tool("cancel_ask", "Cancel an ask", Effect::Ends, description, input, Some(ask_output()))
}

fn ask_output() -> Value {
    let children = json!({
        "kind": {"type": "string", "enum": ["task", "ask"]},
        "id": {"type": "string"},
        "command": {"type": "string"},
        "state": {"type": "string"},
        "exit_code": {"type": ["integer", "null"]},
        "signal": {"type": ["integer", "null"]},
        "duration_ms": {"type": ["integer", "null"]},
        "tail": maybe("string", "The end of its output."),
    });
    output(
        json!({
            "status": {"type": "string", "enum": ["still_running", "answered", "failed", "cancelled", "timed_out"],
                "description": "`still_running` until the ask is over; then how it ended."},
            "id": {"type": "string", "description": "The id of the ask, for get_ask and cancel_ask."},
            "ask_id": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "pending_final", "answered", "failed", "cancelled", "timed_out"]},
            "caller": {"type": ["string", "null"]},
            "caller_name": {"type": ["string", "null"]},
            "callee": {"type": ["string", "null"]},
            "callee_name": {"type": "string"},
            "prompt": {"type": "string", "description": "The beginning of what was asked."},
            "final": maybe("string", "The answer, or the page of it that begins at the offset."),
            "truncated": {"type": "boolean", "description": "The final goes on at next_offset."},
            "next_offset": {"type": ["integer", "null"]},
            "reason": maybe("string", "Why there is no answer."),
            "key": {"type": ["string", "null"]},
            "after_children": {"type": "string"},
            "joined_ask": maybe("string", "The ask that this one belongs to."),
            "children": {"type": "array", "description": "What the agent started for this ask.",
                "items": output(children, &["kind", "id", "state"])},
            "children_left_out": {"type": "integer"},
            "delivered": {"type": ["string", "null"], "enum": ["call", "inbox", null]},
            "waiting_for": {"type": ["string", "null"],
                "enum": ["turn_queue", "turn", "children", "follow_up", "limit", "attention", "slot", null]},
            "waits_for": {"type": "string", "description": "The same in words."},
            "hint": {"type": "string", "description": "What to do next."},
            "created_ms": {"type": "integer"},
            "deadline_ms": {"type": ["integer", "null"]},
            "ended_ms": {"type": ["integer", "null"]},
        }),
        &["status", "id"],
    )
}

fn list_agents() -> Tool {
    let description = "List the agents of this project: who is there to ask, what each is doing (`state`), what it waits for \
         (`waiting_on`: ids of tasks and asks) and how much is queued for it. `is_you` marks yourself. An agent that is \
         `offline` can be asked: it is started."
        .to_owned();
    let agent = json!({
        "id": {"type": "string"},
        "name": {"type": "string", "description": "Use it as `agent` in ask_agent and send_message."},
        "mode": {"type": "string", "enum": ["terminal", "headless"]},
        "state": {"type": "string", "enum": ["offline", "idle", "working", "needs_attention", "limited", "failed"]},
        "waiting_on": {"type": ["array", "null"], "items": {"type": "string"}},
        "queued": {"type": ["integer", "null"], "description": "Turns and messages that wait for it."},
        "turn": maybe("object", "The turn that it is at."),
        "wake": maybe("object", "A wake that did not work yet."),
        "workdir": {"type": ["string", "null"]},
        "limited_until_ms": maybe("integer", "Until when a session limit holds it, as Unix time in milliseconds."),
        "is_you": {"type": "boolean"},
    });
    let output = list_output("agents", output(agent, &["id", "name", "state", "is_you"]));
    tool("list_agents", "List agents", Effect::Looks, description, input(json!({}), &[]), Some(output))
}

/// The schema of a list.
pub(super) fn list_output(name: &str, row: Value) -> Value {
    output(
        json!({
            name: {"type": "array", "items": row},
            "total": {"type": "integer", "description": "How many there are."},
            "truncated": {"type": "boolean", "description": "Not all of them are shown."},
        }),
        &[name, "total", "truncated"],
    )
}

fn send_message() -> Tool {
    let description = format!(
        "Leave another agent of this project a note. It reads it at its next turn, or is woken for it when it is idle; no \
         answer comes back. Use it to tell something; to get an answer, use ask_agent. Answers at once with the id of the \
         message. The text may have {} bytes.",
        limits::NOTE_MAX_BYTES
    );
    let input = input(
        json!({
            "agent": {"type": "string", "minLength": 1, "description": "Name or id of the agent, as list_agents shows it."},
            "text": {"type": "string", "minLength": 1, "description": "What it should know."},
        }),
        &["agent", "text"],
    );
    let output =
        output(json!({"message_id": {"type": "string"}, "state": {"type": "string"}}), &["message_id"]);
    tool("send_message", "Send a message", Effect::Adds, description, input, Some(output))
}
