//! What an ask says to people: its answer, and what it waits for.

use std::fmt::Write as _;

use carillon_api::wire_asks::{Ask, AskChild, AskState, ChildKind, WaitingFor};

use crate::clean::clean;

/// Whether nothing can change any more.
pub(crate) fn is_over(ask: &Ask) -> bool {
    match ask.state {
        AskState::Open | AskState::PendingFinal => false,
        AskState::Answered | AskState::Failed | AskState::Cancelled | AskState::TimedOut => true,
    }
}

/// The state as people read it.
pub(crate) fn state(ask: &Ask) -> &'static str {
    match ask.state {
        AskState::Open => "open",
        AskState::PendingFinal => "waits for what was started meanwhile",
        AskState::Answered => "answered",
        AskState::Failed => "failed",
        AskState::Cancelled => "cancelled",
        AskState::TimedOut => "timed out",
    }
}

/// What an ask that is not over waits for.
pub(crate) fn waiting(ask: &Ask) -> String {
    let name = clean(&ask.callee_name);
    match ask.waiting_for {
        Some(WaitingFor::TurnQueue) => format!("waiting for {name} to finish something else"),
        Some(WaitingFor::Turn) => format!("{name} is at it"),
        Some(WaitingFor::Children) => format!("waiting for {}", open_children(ask)),
        Some(WaitingFor::FollowUp) => format!("{name} looks at the results"),
        Some(WaitingFor::Limit) => format!("{name} waits for the end of a session limit"),
        Some(WaitingFor::Slot) => format!("{name} waits until its profile lets one more turn run"),
        Some(WaitingFor::Attention) => {
            format!("{name} needs attention: it sits on a prompt of its own, in its terminal")
        }
        None if is_over(ask) => state(ask).to_owned(),
        None => format!("waiting for {name}"),
    }
}

fn open_children(ask: &Ask) -> String {
    let open: Vec<&AskChild> = ask.children.iter().filter(|child| child.duration_ms.is_none()).collect();
    let tasks = open.iter().filter(|child| child.kind == ChildKind::Task).count();
    let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let what = match (tasks, open.len() - tasks) {
        (tasks, 0) => counted(tasks, "task"),
        (0, asks) => counted(asks, "ask"),
        (tasks, asks) => format!("{} and {}", counted(tasks, "task"), counted(asks, "ask")),
    };
    let named: Vec<String> = open
        .iter()
        .take(NAMED_MAX)
        .map(|child| {
            let command: String = clean(&child.command).chars().take(NAME_MAX_CHARS).collect();
            format!("{} ({})", command.replace('\n', " "), child.id.get(..8).unwrap_or(&child.id))
        })
        .collect();
    if named.is_empty() { what } else { format!("{what}: {}", named.join(", ")) }
}

/// Children that are named; the others are counted.
const NAMED_MAX: usize = 5;
/// Longest part of a command that stands for it, in characters.
const NAME_MAX_CHARS: usize = 60;

/// The answer, with what became of the work that was started meanwhile.
pub(crate) fn answer(ask: &Ask) -> String {
    let mut text = clean(ask.final_text.as_deref().unwrap_or_default()).trim_end().to_owned();
    text.push('\n');
    for child in &ask.children {
        let _ = write!(text, "\n{}\n", child_line(child));
        for line in clean(child.tail.as_deref().unwrap_or_default()).trim_end().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn child_line(child: &AskChild) -> String {
    let kind = match child.kind {
        ChildKind::Task => "task",
        ChildKind::Ask => "ask",
    };
    let mut line = format!(
        "{kind} {} `{}`: {}",
        child.id.get(..8).unwrap_or(&child.id),
        clean(&child.command),
        clean(&child.state).replace('_', " ")
    );
    if let Some(code) = child.exit_code {
        let _ = write!(line, ", exit {code}");
    }
    if let Some(signal) = child.signal {
        let _ = write!(line, ", signal {signal}");
    }
    if let Some(ms) = child.duration_ms {
        let _ = write!(line, ", {}.{} s", ms / 1000, ms % 1000 / 100);
    }
    line
}

/// Why there is no answer, as a sentence for the standard error.
pub(crate) fn failure(ask: &Ask) -> String {
    let name = clean(&ask.callee_name);
    match ask.reason.as_deref() {
        Some(reason) => format!("the ask to {name} {}: {}", ended(ask), clean(reason)),
        None => format!("the ask to {name} {}", ended(ask)),
    }
}

fn ended(ask: &Ask) -> &'static str {
    match ask.state {
        AskState::Cancelled => "was cancelled",
        AskState::TimedOut => "timed out",
        AskState::Open | AskState::PendingFinal | AskState::Answered | AskState::Failed => "failed",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// An ask with these fields changed.
    pub(crate) fn ask(changes: serde_json::Value) -> Ask {
        let mut ask = json!({"id": "a".repeat(32), "project": "p".repeat(32), "caller": null, "caller_name": null,
            "callee": "c".repeat(32), "callee_name": "tenor", "prompt": "?", "state": "open", "final": null,
            "reason": null, "key": null, "after_children": "deliver", "joined_ask": null, "children": [],
            "delivered": null, "waiting_for": "turn", "created_ms": 1, "deadline_ms": null, "ended_ms": null});
        let fields = ask.as_object_mut().expect("an object");
        fields.extend(changes.as_object().expect("an object").clone());
        serde_json::from_value(ask).expect("an ask")
    }

    fn child(kind: &str, id: &str, state: &str, duration_ms: Option<u32>) -> serde_json::Value {
        json!({"kind": kind, "id": id.repeat(32), "command": "sleep 5; echo R", "state": state, "exit_code": duration_ms.map(|_| 0),
            "signal": null, "duration_ms": duration_ms, "tail": duration_ms.map(|_| "R\u{1b}[0m\n")})
    }

    #[test]
    fn what_it_waits_for_is_said_with_names() {
        assert_eq!(waiting(&ask(json!({}))), "tenor is at it");
        let children = [child("task", "1", "running", None), child("task", "2", "succeeded", Some(10))];
        let waits = ask(json!({"waiting_for": "children", "state": "pending_final", "children": children}));
        assert_eq!(waiting(&waits), "waiting for 1 task: sleep 5; echo R (11111111)");
        let both = [child("task", "1", "running", None), child("ask", "2", "open", None)];
        let waits = ask(json!({"waiting_for": "children", "children": both}));
        assert!(waiting(&waits).starts_with("waiting for 1 task and 1 ask: "), "{}", waiting(&waits));
        assert!(waiting(&ask(json!({"waiting_for": "attention"}))).contains("needs attention"));
    }

    #[test]
    fn an_answer_names_what_was_started() {
        let over = ask(
            json!({"state": "answered", "final": "started", "children": [child("task", "1", "succeeded", Some(5012))]}),
        );
        assert_eq!(
            answer(&over),
            "started\n\ntask 11111111 `sleep 5; echo R`: succeeded, exit 0, 5.0 s\n  R\n"
        );
        let failed = ask(json!({"state": "timed_out", "reason": "task 1 timed out"}));
        assert_eq!(failure(&failed), "the ask to tenor timed out: task 1 timed out");
    }
}
