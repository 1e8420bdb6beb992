//! What the tools answer: bounded, and free of anything that a terminal or a reader could stumble
//! over.

use carillon_api::ApiError;
use carillon_api::wire_asks::Ask;
use carillon_api::wire_tasks::{Task, TaskOutput};
use carillon_core::limits;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use crate::ask_words;
use crate::clean::{clean, head, tail};

/// A small result: as structured content and the same as text.
pub(super) fn result(value: Value) -> CallToolResult {
    CallToolResult::structured(value)
}

/// The same for something that went wrong.
pub(super) fn failure(value: Value) -> CallToolResult {
    CallToolResult::structured_error(value)
}

/// What went wrong, in words that a model can act on.
pub(super) fn error(error: &ApiError) -> CallToolResult {
    let message = clean(&error.message);
    let text = match &error.hint {
        Some(hint) => format!("{message}\n{}", clean(hint)),
        None => message.into_owned(),
    };
    let text = head(&text, limits::MCP_FIELD_MAX_BYTES).to_owned();
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// An ask, with the page of its final that begins at `offset`.
pub(super) fn ask(ask: &Ask, offset: usize) -> Value {
    let state = json!(ask.state);
    let over = ask_words::is_over(ask);
    let whole = ask.final_text.as_deref().map(clean);
    let (page, next_offset) = match &whole {
        Some(text) => {
            let rest = &text[text.ceil_char_boundary(offset.min(text.len()))..];
            let page = head(rest, limits::MCP_TEXT_MAX_BYTES);
            (Some(page), (page.len() < rest.len()).then(|| text.len() - rest.len() + page.len()))
        }
        None => (None, None),
    };
    let left_out = ask.children.len().saturating_sub(limits::MCP_ROWS_MAX);
    json!({
        "status": if over { state.clone() } else { json!("still_running") },
        "id": ask.id,
        "state": state,
        "caller": ask.caller,
        "caller_name": ask.caller_name.as_deref().map(clean),
        "callee": ask.callee,
        "callee_name": clean(&ask.callee_name),
        "prompt": field(&ask.prompt),
        "final": page,
        "truncated": next_offset.is_some(),
        "next_offset": next_offset,
        "reason": ask.reason.as_deref().map(field),
        "key": ask.key.as_deref().map(clean),
        "after_children": ask.after_children,
        "joined_ask": ask.joined_ask,
        "children": children(ask),
        "children_left_out": left_out,
        "delivered": ask.delivered,
        "waiting_for": ask.waiting_for,
        "created_ms": ask.created_ms,
        "deadline_ms": ask.deadline_ms,
        "ended_ms": ask.ended_ms,
    })
}

/// The children, with the ends of their output within one bound together.
fn children(ask: &Ask) -> Vec<Value> {
    let shown = ask.children.len().min(limits::MCP_ROWS_MAX);
    let share = limits::MCP_TEXT_MAX_BYTES / shown.max(1);
    ask.children
        .iter()
        .take(shown)
        .map(|child| {
            json!({
                "kind": child.kind,
                "id": child.id,
                "command": cut(&child.command, LIST_FIELD_MAX_BYTES),
                "state": child.state,
                "exit_code": child.exit_code,
                "signal": child.signal,
                "duration_ms": child.duration_ms,
                "tail": child.tail.as_deref().map(|text| tail(&clean(tail(text, share * LOOKED_AT)), share).to_owned()),
            })
        })
        .collect()
}

/// An ask that goes on after the wait for it has ended.
pub(super) fn ask_goes_on(ask: &Ask, hint: &str) -> Value {
    json!({
        "status": "still_running",
        "id": ask.id,
        "ask_id": ask.id,
        "state": ask.state,
        "waiting_for": ask.waiting_for,
        "waits_for": ask_words::waiting(ask),
        "hint": hint,
    })
}

/// A task.
pub(super) fn task(task: &Task) -> Value {
    with_status(bounded(json!(task), limits::MCP_FIELD_MAX_BYTES), task)
}

/// A task that goes on after the wait for it has ended.
pub(super) fn task_goes_on(task: &Task) -> Value {
    let mut value = self::task(task);
    value["task_id"] = json!(task.id);
    value["hint"] = json!(if task.joined_ask.is_some() {
        "the task goes on; its end does not come as a message, because it belongs to the ask that you are answering, which \
         stays open until then. To see how it ends before you answer, call wait_for_task with this id again."
    } else {
        "the task goes on; when it ends you get a message. To wait longer, call wait_for_task with this id again."
    });
    value
}

fn with_status(mut value: Value, task: &Task) -> Value {
    let over = task.ended_ms.is_some();
    value["status"] = if over { json!(task.state) } else { json!("still_running") };
    value
}

/// A small thing as the engine tells it.
pub(super) fn thing(value: Value) -> Value {
    bounded(value, limits::MCP_FIELD_MAX_BYTES)
}

/// Rows under a name, as many as there is room for.
pub(super) fn rows(name: &str, all: Vec<Value>) -> Value {
    let total = all.len();
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for row in all.into_iter().take(limits::MCP_ROWS_MAX) {
        let row = bounded(row, LIST_FIELD_MAX_BYTES);
        bytes += row.to_string().len();
        if bytes > limits::MCP_TEXT_MAX_BYTES {
            break;
        }
        rows.push(row);
    }
    let mut value = Map::new();
    value.insert("truncated".to_owned(), json!(rows.len() < total));
    value.insert("total".to_owned(), json!(total));
    value.insert(name.to_owned(), Value::Array(rows));
    Value::Object(value)
}

/// A page of output: text alone, with a line on where it stands.
pub(super) fn page(page: &TaskOutput) -> CallToolResult {
    let note = format!(
        "[offset {}, next_offset {}, total {}, truncated {}, over {}]",
        page.offset, page.next_offset, page.total, page.truncated, page.over
    );
    let text = clean(&page.text);
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(ContentBlock::text(text));
    }
    content.push(ContentBlock::text(note));
    CallToolResult::success(content)
}

/// Longest text of a field in a list, in bytes.
const LIST_FIELD_MAX_BYTES: usize = 300;
/// Only so many times what is shown of a long text is looked at; the rest of it may be control
/// sequences.
const LOOKED_AT: usize = 4;
/// Most words of a command, or ids, in one field.
const WORDS_MAX: usize = 64;

/// The value with all texts clean and short, and without endless lists.
fn bounded(value: Value, max_bytes: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text, max_bytes)),
        Value::Array(items) => {
            items.into_iter().take(WORDS_MAX).map(|item| bounded(item, max_bytes)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, bounded(value, max_bytes)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

fn field(text: &str) -> String {
    cut(text, limits::MCP_FIELD_MAX_BYTES)
}

fn cut(text: &str, max_bytes: usize) -> String {
    let text = clean(head(text, max_bytes * LOOKED_AT));
    if text.len() <= max_bytes { text.into_owned() } else { format!("{}…", head(&text, max_bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask_words::tests::ask as an_ask;

    #[test]
    fn a_long_final_comes_in_pages_that_join() {
        let text = "ä".repeat(limits::MCP_TEXT_MAX_BYTES) + "end";
        let over = an_ask(json!({"state": "answered", "final": text, "ended_ms": 2}));
        let (mut offset, mut joined, mut pages) = (0, String::new(), 0);
        loop {
            let page = ask(&over, offset);
            joined.push_str(page["final"].as_str().expect("a page"));
            pages += 1;
            match page["next_offset"].as_u64() {
                Some(next) => offset = usize::try_from(next).expect("an offset"),
                None => break,
            }
        }
        assert_eq!((joined == text, pages), (true, 3));
        assert_eq!(ask(&over, usize::MAX)["final"], "", "past the end there is nothing");
    }

    #[test]
    fn whatever_an_ask_holds_its_answer_stays_small_and_clean() {
        let long = "x\u{1b}[31m\u{202e}".repeat(20_000);
        let child = json!({"kind": "task", "id": "1".repeat(32), "command": long, "state": "failed", "exit_code": 1,
            "signal": null, "duration_ms": 5, "tail": long});
        let children = vec![child; 1_000];
        let over = an_ask(
            json!({"state": "failed", "final": long, "prompt": long, "reason": long, "children": children}),
        );
        let text = ask(&over, 0).to_string();
        assert!(text.len() < 4 * limits::MCP_TEXT_MAX_BYTES, "{}", text.len());
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && !text.contains("\\u001b"), "clean");
        assert_eq!(ask(&over, 0)["children_left_out"], 900);
    }

    #[test]
    fn a_list_says_what_it_leaves_out() {
        let rows = rows("tasks", vec![json!({"title": "y".repeat(10_000)}); 1_000]);
        assert_eq!(rows["truncated"], true);
        assert_eq!(rows["total"], 1_000);
        assert!(rows.to_string().len() < 2 * limits::MCP_TEXT_MAX_BYTES);
        assert_eq!(self::rows("tasks", Vec::new()), json!({"tasks": [], "total": 0, "truncated": false}));
    }
}
