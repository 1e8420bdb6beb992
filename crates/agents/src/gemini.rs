//! Gemini CLI. Flags, events and messages as measured with 0.61.0.
//!
//! It takes an MCP server from settings files alone, and reads those of its system only when root owns them. So a
//! run gets a home of its own for the CLI, in which only the settings differ from the user's: see `inner::gemini`.

use std::path::PathBuf;

use carillon_core::limits::MCP_CALL_MAX_MS;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::codex::detail;
use crate::lines::{count, counted, events, text};
use crate::turn::{
    Exit, MCP_NAME, McpEntry, Outcome, Seen, Session, TurnEnd, TurnOrder, TurnPlan, Unsuitable, Usage, var,
};
use crate::{inner, limit, plain, text as words};

/// Exit code of a turn that the API refused with status 429: the status, cut to a byte.
const TOO_MANY_REQUESTS: i32 = 429 & 0xff;

/// What it says when it stops by itself in the middle of an answer: once it believes to be in a loop, or has taken as
/// many steps as the settings allow.
const BREAKS: [&str; 2] = ["Loop detected", "session turns"];

/// What stands before the error of a request on standard error, with all that the CLI knows of it.
const API_ERROR: &str = "Error when talking to Gemini API";

pub(crate) fn plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let mut plan = interface(order, Value::Object(Map::new()))?;
    plan.argv.extend(["-o", "stream-json"].map(str::to_owned));
    plan.stdin = order.prompt.to_owned();
    Ok(plan)
}

/// What a turn and a terminal have in common. `more` are further settings of this run.
pub(crate) fn interface(order: &TurnOrder<'_>, more: Value) -> Result<TurnPlan, Unsuitable> {
    let (flag, id) = match order.session {
        Session::New { id } => ("--session-id", id),
        Session::Resume { id } => ("--resume", id),
    };
    let mut additions = more;
    if let (Some(mcp), Some(settings)) = (&order.mcp, additions.as_object_mut()) {
        settings.insert("mcpServers".to_owned(), json!({ MCP_NAME: entry(mcp) }));
    }
    let home = order.file("gemini-home")?;
    let file = order.file("gemini-additions.json")?;
    let additions = json!({ "settings": additions, "role": order.role });
    let mut argv = inner::argv(order.carillon, "gemini", [home, file.clone(), "--".to_owned()]);
    argv.extend(order.argv(["--skip-trust".to_owned(), flag.to_owned(), id.to_owned()]));
    Ok(TurnPlan {
        argv,
        // Otherwise it starts itself once more, and a signal reaches only the first of the two.
        env: vec![var("GEMINI_CLI_NO_RELAUNCH", "true")],
        stdin: String::new(),
        files: vec![(PathBuf::from(file), additions.to_string())],
        session: Some(id.to_owned()),
    })
}

fn entry(mcp: &McpEntry<'_>) -> Value {
    let env: Map<String, Value> =
        mcp.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    json!({ "command": mcp.command, "args": mcp.args, "env": env, "timeout": MCP_CALL_MAX_MS, "trust": true })
}

/// What is gathered from the events of a turn.
#[derive(Default)]
struct Gathered {
    session: Option<String>,
    /// It has said or done something.
    has_begun: bool,
    /// What it said since it last used a tool.
    said: String,
    /// What it had said when it last used a tool.
    said_before: String,
    last_error: String,
    /// It broke off what it was saying, and calls that a success.
    broke_off: bool,
    result: Option<Value>,
}

pub(crate) fn outcome(exit: Exit, out: &[u8], errors: &[u8], now_ms: i64) -> Outcome {
    let mut all = Gathered::default();
    events(out).for_each(|event| gather(&mut all, event));
    let told = all.result.as_ref().filter(|result| result.pointer("/stats/input_tokens").is_some());
    let usage = told.map(|result| Usage {
        input_tokens: count(result, "/stats/input_tokens"),
        cached_tokens: counted(result, "/stats/cached"),
        output_tokens: count(result, "/stats/output_tokens"),
        ..Usage::default()
    });
    let end = end_of(&all, exit, errors, now_ms);
    // It keeps no conversation in which nobody has answered, and cannot go on with it.
    let is_kept = all.has_begun || matches!(end, TurnEnd::NoAnswer);
    Outcome { end, session: all.session.filter(|_| is_kept), usage }
}

fn gather(all: &mut Gathered, event: Value) {
    match text(&event, "/type") {
        "init" => all.session = Some(text(&event, "/session_id").to_owned()).filter(|id| !id.is_empty()),
        "message" if text(&event, "/role") == "assistant" => {
            all.has_begun = true;
            all.broke_off = false;
            all.said.push_str(text(&event, "/content"));
        }
        "tool_use" => {
            all.has_begun = true;
            if !all.said.trim().is_empty() {
                all.said_before = std::mem::take(&mut all.said);
            }
        }
        "error" => {
            let message = text(&event, "/message");
            all.broke_off = BREAKS.iter().any(|words| message.contains(words));
            message.clone_into(&mut all.last_error);
        }
        "result" => all.result = Some(event),
        _ => {}
    }
}

fn end_of(all: &Gathered, exit: Exit, errors: &[u8], now_ms: i64) -> TurnEnd {
    let Some(result) = &all.result else { return without_result(exit, errors) };
    if all.broke_off {
        return TurnEnd::Failed { reason: words::cleaned(all.last_error.as_bytes()) };
    }
    if text(result, "/status") == "success" {
        let last = [&all.said, &all.said_before].map(|said| words::cleaned(said.as_bytes()));
        let answer = last.into_iter().find(|said| !said.is_empty());
        return answer.map_or(TurnEnd::NoAnswer, |text| TurnEnd::Final { text });
    }
    let said = [text(result, "/error/message"), &all.last_error].map(|said| words::cleaned(said.as_bytes()));
    let reason = said.into_iter().find(|said| !said.is_empty()).unwrap_or_else(|| failure(exit, errors));
    let dump = String::from_utf8_lossy(errors);
    let dump = dump.rfind(API_ERROR).and_then(|at| dump.get(at..)).unwrap_or_default();
    let is_limit = exit.code == Some(TOO_MANY_REQUESTS)
        || dump.lines().next().is_some_and(|line| line.contains("QuotaError"));
    if !is_limit {
        return TurnEnd::Failed { reason };
    }
    let ended_ms = text(result, "/timestamp").parse::<Timestamp>().map_or(now_ms, Timestamp::as_millisecond);
    let announced =
        field(dump, "retryDelayMs").and_then(|wait| limit::after_ms(wait.parse().ok()?, ended_ms));
    let resets_at_ms = announced.or_else(|| limit::reset_in(&reason, ended_ms));
    TurnEnd::Limited { reason, windows: Vec::new(), resets_at_ms }
}

/// The value of a field in an object as Node prints it: one field on a line, indented by two spaces.
fn field<'a>(dump: &'a str, name: &str) -> Option<&'a str> {
    let value =
        dump.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(name)?.strip_prefix(": "))?;
    Some(value.trim_end_matches(','))
}

fn without_result(exit: Exit, errors: &[u8]) -> TurnEnd {
    let reason = failure(exit, errors);
    let is_unknown = ["Invalid session identifier", "No previous sessions found", "Error resuming session"];
    if is_unknown.iter().any(|words| reason.contains(words)) {
        return TurnEnd::UnknownSession { reason };
    }
    TurnEnd::Failed { reason }
}

/// Its errors without what is no news: places in its own code, and what it says at each start.
fn failure(exit: Exit, errors: &[u8]) -> String {
    const CHATTER: [&str; 6] = [
        "    at ",
        "Warning: True color",
        "Ripgrep is not",
        "[STARTUP]",
        "MCP issues detected",
        "YOLO mode is",
    ];
    let all = String::from_utf8_lossy(errors);
    let telling: Vec<&str> =
        all.lines().filter(|line| !CHATTER.iter().any(|chatter| line.starts_with(chatter))).collect();
    plain::failure(exit, telling.join("\n").as_bytes())
}

pub(crate) fn seen(event: &Value) -> Vec<Seen> {
    let one = match text(event, "/type") {
        "message" if text(event, "/role") == "assistant" => Seen::Text(text(event, "/content").to_owned()),
        "tool_use" => {
            Seen::Tool { name: text(event, "/tool_name").to_owned(), detail: detail(event, "/parameters") }
        }
        "error" => Seen::Note(text(event, "/message").to_owned()),
        "result" if text(event, "/status") == "error" => match text(event, "/error/message") {
            "" => return Vec::new(),
            message => Seen::Note(message.to_owned()),
        },
        _ => return Vec::new(),
    };
    vec![one]
}
