//! OpenCode. Flags, events and messages as measured with 1.18.33.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::PathBuf;

use carillon_core::limits::MCP_CALL_MAX_MS;
use serde_json::{Map, Value, json};

use crate::codex::detail;
use crate::inner::without_comments;
use crate::lines::{both, count, counted, events, text};
use crate::ordered::Ordered;
use crate::turn::{
    Exit, MCP_NAME, McpEntry, Outcome, Seen, Session, TurnEnd, TurnOrder, TurnPlan, Unsuitable, Usage, var,
};
use crate::{limit, plain, text as words};

/// Its own retries are silent and without end, so a plug-in of the run tells of them. See `opencode_turn.mjs`.
const PLUGIN: &str = include_str!("opencode_turn.mjs");

/// Settings for one run, which go on top of the user's.
pub(crate) const SETTINGS: &str = "OPENCODE_CONFIG_CONTENT";

/// The type of the events that come from our plug-in.
const OURS: &str = "carillon";

pub(crate) fn plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let mut plan = interface(order, "opencode-turn.mjs", PLUGIN, Map::new())?;
    let mut more = vec!["run".to_owned(), "--format".to_owned(), "json".to_owned()];
    if let Session::Resume { id } = order.session {
        more.extend(["-s".to_owned(), id.to_owned()]);
        plan.session = Some(id.to_owned());
    }
    // The profile's arguments are those of `run`, so they stand after it.
    plan.argv =
        std::iter::once(order.program.to_owned()).chain(more).chain(order.args.iter().cloned()).collect();
    plan.stdin = order.prompt.to_owned();
    Ok(plan)
}

/// What a turn and a terminal have in common: settings of the run, which go on top of the user's, with a plug-in of
/// the run. `more` are further settings.
pub(crate) fn interface(
    order: &TurnOrder<'_>,
    plugin_name: &str,
    plugin: &str,
    more: Map<String, Value>,
) -> Result<TurnPlan, Unsuitable> {
    let mut files = Vec::new();
    let mut settings = more;
    let plugin_file = order.file(plugin_name)?;
    settings.insert("plugin".to_owned(), json!([file_url(&plugin_file)]));
    files.push((PathBuf::from(plugin_file), plugin.to_owned()));
    if let Some(mcp) = &order.mcp {
        settings.insert("mcp".to_owned(), json!({ MCP_NAME: entry(mcp) }));
        settings.insert("permission".to_owned(), json!({ format!("{MCP_NAME}_*"): "allow" }));
    }
    if let Some(role) = order.role {
        let file = order.file("role.md")?;
        settings.insert("instructions".to_owned(), json!([file]));
        files.push((PathBuf::from(file), role.to_owned()));
    }
    Ok(TurnPlan {
        argv: order.argv([""; 0]),
        env: vec![var(SETTINGS, Value::Object(settings).to_string())],
        stdin: String::new(),
        files,
        session: None,
    })
}

/// The profile's own settings with ours. Of its permissions the last one that fits counts, so their order stays, and ours
/// is the last.
pub(crate) fn joined(theirs: &OsStr, ours: &OsStr) -> Result<OsString, Unsuitable> {
    let unreadable = |problem: String| Unsuitable::Variable { name: SETTINGS.to_owned(), problem };
    let text = theirs.to_str().ok_or_else(|| unreadable("it is not UTF-8".to_owned()))?;
    if text.trim().is_empty() {
        return Ok(ours.to_owned());
    }
    let mut all: Ordered =
        serde_json::from_str(&without_comments(text)).map_err(|error| unreadable(error.to_string()))?;
    if !matches!(all, Ordered::Object(_)) {
        return Err(unreadable("it is no JSON object".to_owned()));
    }
    // `"permission": "ask"` is short for a rule about everything.
    if let Some(rules @ Ordered::Leaf(Value::String(_))) = all.get_mut("permission") {
        *rules = Ordered::Object(vec![("*".to_owned(), rules.clone())]);
    }
    all.join(serde_json::from_str(&ours.to_string_lossy()).map_err(|error| unreadable(error.to_string()))?);
    serde_json::to_string(&all).map(OsString::from).map_err(|error| unreadable(error.to_string()))
}

fn entry(mcp: &McpEntry<'_>) -> Value {
    let env: Map<String, Value> =
        mcp.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let command: Vec<&str> =
        std::iter::once(mcp.command).chain(mcp.args.iter().map(String::as_str)).collect();
    json!({ "type": "local", "command": command, "environment": env, "timeout": MCP_CALL_MAX_MS, "enabled": true })
}

/// The path as a URL: all but letters, digits and a few marks stands as `%` and two hex digits.
fn file_url(path: &str) -> String {
    let mut url = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// What is gathered from the events of a turn.
#[derive(Default)]
struct Gathered {
    session: Option<String>,
    /// What it said in the step that is open, or was the last one.
    said: Vec<String>,
    /// Why the last step ended.
    reason: Option<String>,
    error: Option<Value>,
    gave_up: Option<Value>,
    usage: Option<Usage>,
}

pub(crate) fn outcome(exit: Exit, out: &[u8], errors: &[u8], now_ms: i64) -> Outcome {
    let mut all = Gathered::default();
    events(out).for_each(|event| gather(&mut all, event));
    Outcome { end: end_of(&all, exit, errors, now_ms), session: all.session, usage: all.usage }
}

fn gather(all: &mut Gathered, event: Value) {
    let id = text(&event, "/sessionID");
    if !id.is_empty() && all.session.is_none() {
        all.session = Some(id.to_owned());
    }
    match text(&event, "/type") {
        "step_start" => {
            all.said.clear();
            all.reason = None;
        }
        "text" => all.said.push(text(&event, "/part/text").to_owned()),
        "step_finish" => {
            all.reason = Some(text(&event, "/part/reason").to_owned());
            if event.pointer("/part/tokens").is_some() {
                all.usage = Some(add(all.usage, &event));
            }
        }
        "error" => all.error = Some(event),
        OURS if text(&event, "/event") == "gave_up" => all.gave_up = Some(event),
        _ => {}
    }
}

fn add(sum: Option<Usage>, event: &Value) -> Usage {
    let sum = sum.unwrap_or_default();
    let tokens = |name: &str| count(event, &format!("/part/tokens/{name}"));
    let cost = event.pointer("/part/cost").and_then(Value::as_f64);
    Usage {
        input_tokens: [tokens("input"), tokens("cache/read"), tokens("cache/write")]
            .into_iter()
            .fold(sum.input_tokens, u64::saturating_add),
        cached_tokens: both(sum.cached_tokens, counted(event, "/part/tokens/cache/read")),
        output_tokens: sum.output_tokens.saturating_add(tokens("output")).saturating_add(tokens("reasoning")),
        reasoning_tokens: both(sum.reasoning_tokens, counted(event, "/part/tokens/reasoning")),
        cost_usd: cost.map(|cost| cost + sum.cost_usd.unwrap_or(0.0)).or(sum.cost_usd),
        of_session: false,
    }
}

fn end_of(all: &Gathered, exit: Exit, errors: &[u8], now_ms: i64) -> TurnEnd {
    if let Some(gave_up) = &all.gave_up {
        return given_up(gave_up, now_ms);
    }
    if let Some(error) = &all.error {
        return failed(error, now_ms);
    }
    match all.reason.as_deref() {
        // A step that ends in calls of tools is followed by another one.
        Some("tool-calls") | None => without_end(exit, errors),
        Some(_) => {
            let text = words::cleaned(all.said.join("\n").as_bytes());
            if text.is_empty() { TurnEnd::NoAnswer } else { TurnEnd::Final { text } }
        }
    }
}

/// Our plug-in has ended the turn: the provider asked for a longer wait than the CLI's own, or tries were used up.
fn given_up(event: &Value, now_ms: i64) -> TurnEnd {
    let reason = words::cleaned(text(event, "/message").as_bytes());
    let named = event.pointer("/named") == Some(&Value::Bool(true));
    if !named && text(event, "/action").is_empty() && !is_limit(&reason) {
        return TurnEnd::Failed { reason };
    }
    let next = event.pointer("/next").and_then(Value::as_i64).filter(|_| named);
    let resets_at_ms =
        next.and_then(|next| limit::epoch_ms(next, now_ms)).or_else(|| limit::reset_in(&reason, now_ms));
    TurnEnd::Limited { reason, windows: Vec::new(), resets_at_ms }
}

fn failed(event: &Value, now_ms: i64) -> TurnEnd {
    let said =
        [text(event, "/error/data/message"), text(event, "/error/name"), text(event, "/error/message")];
    let reason = said.into_iter().map(|said| words::cleaned(said.as_bytes())).find(|said| !said.is_empty());
    let reason = reason.unwrap_or_else(|| "it failed without a reason".to_owned());
    if count(event, "/error/data/statusCode") == 429 {
        let resets_at_ms = limit::reset_in(&reason, now_ms);
        return TurnEnd::Limited { reason, windows: Vec::new(), resets_at_ms };
    }
    TurnEnd::Failed { reason }
}

/// Words of providers, which the CLI repeats as its own reason for a retry.
fn is_limit(reason: &str) -> bool {
    let lower = reason.to_lowercase();
    ["rate limit", "rate_limit", "too many requests", "quota", "usage limit"]
        .iter()
        .any(|words| lower.contains(words))
}

fn without_end(exit: Exit, errors: &[u8]) -> TurnEnd {
    let reason = plain::failure(exit, errors);
    if reason.contains("Session not found") {
        return TurnEnd::UnknownSession { reason };
    }
    TurnEnd::Failed { reason }
}

pub(crate) fn seen(event: &Value) -> Vec<Seen> {
    let one = match text(event, "/type") {
        "text" => Seen::Text(text(event, "/part/text").to_owned()),
        "reasoning" => Seen::Thinking(text(event, "/part/text").to_owned()),
        "tool_use" => Seen::Tool {
            name: text(event, "/part/tool").to_owned(),
            detail: detail(event, "/part/state/input"),
        },
        "error" => Seen::Note(text(event, "/error/data/message").to_owned()),
        OURS => Seen::Note(format!("The request failed: {}", text(event, "/message"))),
        _ => return Vec::new(),
    };
    vec![one]
}
