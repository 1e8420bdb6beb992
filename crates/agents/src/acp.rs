//! Any agent that speaks the Agent Client Protocol, version 1. A small process of ours speaks it for one turn and
//! writes what comes back as events, one JSON object on a line: see `inner::acp`.
//!
//! The protocol marks no final: what the agent says after its last use of a tool is taken for it. Nor has it a sign
//! for limits or their resets, so both are taken from the words of the agent's own error.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::claude::DETAIL_CHARS;
use crate::lines::{count, counted, events, text};
use crate::turn::{Exit, MCP_NAME, Outcome, Seen, Session, TurnEnd, TurnOrder, TurnPlan, Unsuitable, Usage};
use crate::{inner, limit, plain, text as words};

pub(crate) fn plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let file = order.file("acp-turn.json")?;
    let mcp = order.mcp.as_ref().map(|mcp| {
        let env: Vec<Value> =
            mcp.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({ "name": MCP_NAME, "command": mcp.command, "args": mcp.args, "env": env })
    });
    let resume = match order.session {
        Session::New { .. } => None,
        Session::Resume { id } => Some(id.to_owned()),
    };
    let turn = json!({
        "program": order.program,
        "args": order.args,
        "resume": resume,
        "mcp_servers": mcp.into_iter().collect::<Vec<_>>(),
    });
    Ok(TurnPlan {
        argv: inner::argv(order.carillon, "acp", [file.clone()]),
        env: Vec::new(),
        stdin: order.prompt_with_role(),
        files: vec![(PathBuf::from(file), turn.to_string())],
        session: resume,
    })
}

/// What is gathered from the events of a turn.
#[derive(Default)]
struct Gathered {
    session: Option<String>,
    /// What it said since it last used a tool.
    said: String,
    /// What it had said when it last used a tool.
    said_before: String,
    /// The message that the last piece belonged to, where the agent gives its messages ids.
    message: String,
    end: Option<Value>,
    error: Option<Value>,
}

pub(crate) fn outcome(exit: Exit, out: &[u8], errors: &[u8], now_ms: i64) -> Outcome {
    let mut all = Gathered::default();
    events(out).for_each(|event| gather(&mut all, event));
    let usage = all.end.as_ref().and_then(usage);
    Outcome { end: end_of(&all, exit, errors, now_ms), session: all.session, usage }
}

fn gather(all: &mut Gathered, event: Value) {
    match text(&event, "/type") {
        "session" => all.session = Some(text(&event, "/id").to_owned()).filter(|id| !id.is_empty()),
        "update" => match text(&event, "/update/sessionUpdate") {
            "agent_message_chunk" => {
                let message = text(&event, "/update/messageId");
                if message != all.message && !all.said.is_empty() {
                    all.said.push_str("\n\n");
                }
                message.clone_into(&mut all.message);
                all.said.push_str(text(&event, "/update/content/text"));
            }
            "tool_call" | "tool_call_update" if !all.said.trim().is_empty() => {
                all.said_before = std::mem::take(&mut all.said);
            }
            _ => {}
        },
        "end" => all.end = Some(event),
        "error" => all.error = Some(event),
        _ => {}
    }
}

/// Agents give the counts in different places, or nowhere.
fn usage(end: &Value) -> Option<Usage> {
    let places = [
        ("/result/usage", "inputTokens", "outputTokens"),
        ("/result/_meta/quota/token_count", "input_tokens", "output_tokens"),
    ];
    let (place, input, output) = places.into_iter().find(|(place, ..)| end.pointer(place).is_some())?;
    let tokens = |name: &str| count(end, &format!("{place}/{name}"));
    // By the protocol's own counts, what came from a cache and what it thought with stand apart.
    let told = |name: &str| counted(end, &format!("{place}/{name}"));
    let (cached, thought) = (told("cachedReadTokens"), told("thoughtTokens"));
    let read = [cached.unwrap_or(0), tokens("cachedWriteTokens")];
    Some(Usage {
        input_tokens: read.into_iter().fold(tokens(input), u64::saturating_add),
        cached_tokens: cached,
        output_tokens: tokens(output).saturating_add(thought.unwrap_or(0)),
        reasoning_tokens: thought,
        ..Usage::default()
    })
}

fn end_of(all: &Gathered, exit: Exit, errors: &[u8], now_ms: i64) -> TurnEnd {
    if let Some(error) = &all.error {
        return failed(error, now_ms);
    }
    let Some(end) = &all.end else { return TurnEnd::Failed { reason: plain::failure(exit, errors) } };
    match text(end, "/result/stopReason") {
        "cancelled" => return TurnEnd::Failed { reason: "the turn was cancelled".to_owned() },
        "refusal" => return TurnEnd::Failed { reason: "the agent refused to go on".to_owned() },
        _ => {}
    }
    let last = [&all.said, &all.said_before].map(|said| words::cleaned(said.as_bytes()));
    last.into_iter().find(|said| !said.is_empty()).map_or(TurnEnd::NoAnswer, |text| TurnEnd::Final { text })
}

fn failed(event: &Value, now_ms: i64) -> TurnEnd {
    let details = [text(event, "/data/details"), text(event, "/data/message"), text(event, "/data")];
    let details = details.into_iter().find(|details| !details.is_empty()).unwrap_or_default();
    let message = text(event, "/message");
    let reason = if details.is_empty() || message.contains(details) {
        message.to_owned()
    } else {
        format!("{message}: {details}")
    };
    let reason = words::cleaned(reason.as_bytes());
    let during = text(event, "/during");
    // Not to be logged in is no reason to forget the conversation.
    let needs_login = event.pointer("/code").and_then(Value::as_i64) == Some(-32_000);
    if matches!(during, "session/load" | "session/resume") && !needs_login {
        return TurnEnd::UnknownSession { reason };
    }
    if is_limit(event, &reason) {
        let resets_at_ms = limit::reset_in(&reason, now_ms);
        return TurnEnd::Limited { reason, windows: Vec::new(), resets_at_ms };
    }
    TurnEnd::Failed { reason: if during.is_empty() { reason } else { format!("{during}: {reason}") } }
}

fn is_limit(event: &Value, reason: &str) -> bool {
    let kind =
        [text(event, "/data/codexErrorInfo"), text(event, "/data/errorKind"), text(event, "/data/error")];
    let lower = reason.to_lowercase().replace('\u{2019}', "'");
    event.pointer("/code").and_then(Value::as_i64) == Some(429)
        || kind
            .iter()
            .any(|kind| matches!(*kind, "usageLimitExceeded" | "usage_limit_exceeded" | "rate_limit"))
        || ["hit your usage limit", "hit your session limit", "-hour limit", "rate limit", "quota", "(429)"]
            .iter()
            .any(|words| lower.contains(words))
}

pub(crate) fn seen(event: &Value) -> Vec<Seen> {
    let said = || text(event, "/update/content/text").to_owned();
    let one = match (text(event, "/type"), text(event, "/update/sessionUpdate")) {
        ("update", "agent_message_chunk") => Seen::Text(said()),
        ("update", "agent_thought_chunk") => Seen::Thinking(said()),
        ("update", "tool_call") => Seen::Tool {
            name: words::one_line(text(event, "/update/title"), DETAIL_CHARS),
            detail: crate::codex::detail(event, "/update/rawInput"),
        },
        ("permission", _) if event.pointer("/allowed") == Some(&Value::Bool(false)) => {
            Seen::Note(format!("Refused, since nobody is here to allow it: {}", text(event, "/title")))
        }
        ("error", _) => Seen::Note(text(event, "/message").to_owned()),
        _ => return Vec::new(),
    };
    vec![one]
}
