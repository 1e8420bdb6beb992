//! Codex. Flags, events and messages as measured with 0.171.0.

use carillon_core::limits::{MCP_CALL_MAX_MS, MCP_START_MAX_MS, ROLE_ARGUMENT_MAX_BYTES};
use serde_json::Value;

use crate::claude::DETAIL_CHARS;
use crate::lines::{count, counted, events, text};
use crate::turn::{
    Exit, MCP_NAME, McpEntry, Outcome, Seen, Session, TurnEnd, TurnOrder, TurnPlan, Unsuitable, Usage, var,
};
use crate::{Adapter, Vars, limit, plain, text as words};

pub(crate) fn plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let mut more = vec!["exec".to_owned(), "--json".to_owned(), "--skip-git-repo-check".to_owned()];
    more.extend(settings(order));
    let session = resumed(order)?;
    if let Some(id) = &session {
        more.extend(["resume".to_owned(), id.clone()]);
    }
    more.push("-".to_owned());
    let has_role_argument = order.role.is_some_and(|role| role.len() <= ROLE_ARGUMENT_MAX_BYTES);
    let stdin = if has_role_argument { order.prompt.to_owned() } else { order.prompt_with_role() };
    Ok(TurnPlan { argv: order.argv(more), env: environment(order), stdin, files: Vec::new(), session })
}

/// The conversation to go on with. Anything but a UUID would be taken for a name, and a name that nobody knows begins
/// a new conversation without a word.
pub(crate) fn resumed(order: &TurnOrder<'_>) -> Result<Option<String>, Unsuitable> {
    let Session::Resume { id } = order.session else { return Ok(None) };
    let is_uuid = id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !is_uuid {
        return Err(Unsuitable::SessionId { adapter: Adapter::Codex, id: id.to_owned() });
    }
    Ok(Some(id.to_owned()))
}

/// The MCP server and the role, as settings of this run alone.
pub(crate) fn settings(order: &TurnOrder<'_>) -> Vec<String> {
    let mut more = Vec::new();
    if let Some(mcp) = &order.mcp {
        more.extend(["-c".to_owned(), format!("mcp_servers.{MCP_NAME}={}", entry(mcp))]);
    }
    if let Some(role) = order.role.filter(|role| role.len() <= ROLE_ARGUMENT_MAX_BYTES) {
        more.extend(["-c".to_owned(), format!("developer_instructions={}", quoted(role))]);
    }
    more
}

/// The server's variables come by its environment: it is told only their names in an argument that everybody sees.
pub(crate) fn environment(order: &TurnOrder<'_>) -> Vars {
    let of_mcp = order.mcp.iter().flat_map(|mcp| mcp.env);
    of_mcp.map(|(name, value)| var(name, value)).collect()
}

fn entry(mcp: &McpEntry<'_>) -> String {
    let list = |texts: &mut dyn Iterator<Item = &String>| {
        let quoted: Vec<String> = texts.map(|text| quoted(text)).collect();
        format!("[{}]", quoted.join(","))
    };
    let args = list(&mut mcp.args.iter());
    let names = list(&mut mcp.env.iter().map(|(name, _)| name));
    // Unless they are approved beforehand, the tools of a server are refused in a turn that nobody watches.
    format!(
        "{{command={},args={args},env_vars={names},enabled=true,startup_timeout_sec={},tool_timeout_sec={},\
         default_tools_approval_mode=\"approve\"}}",
        quoted(mcp.command),
        MCP_START_MAX_MS / 1_000,
        MCP_CALL_MAX_MS / 1_000,
    )
}

/// A text as TOML writes it. Its escapes are those of JSON, but for DEL, which may not stand there as it is.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

pub(crate) fn outcome(exit: Exit, out: &[u8], errors: &[u8], now_ms: i64) -> Outcome {
    let (mut session, mut usage, mut answer, mut end) = (None, None, None, None);
    let mut last_error = String::new();
    for event in events(out) {
        match text(&event, "/type") {
            "thread.started" => {
                session = Some(text(&event, "/thread_id").to_owned()).filter(|id| !id.is_empty())
            }
            "item.completed" if text(&event, "/item/type") == "agent_message" => {
                let said = words::cleaned(text(&event, "/item/text").as_bytes());
                answer = Some(said).filter(|said| !said.is_empty()).or(answer);
            }
            "turn.completed" => {
                usage = event.pointer("/usage/input_tokens").map(|_| of_thread(&event)).or(usage);
                let text = answer.take();
                end = Some(text.map_or(TurnEnd::NoAnswer, |text| TurnEnd::Final { text }));
            }
            // What it said before is not the final: the turn went wrong after it.
            "turn.failed" => end = Some(failed(text(&event, "/error/message"), now_ms)),
            "error" => text(&event, "/message").clone_into(&mut last_error),
            _ => {}
        }
    }
    let end = end.unwrap_or_else(|| without_end(exit, &last_error, errors, now_ms));
    Outcome { end, session, usage }
}

fn of_thread(event: &Value) -> Usage {
    Usage {
        input_tokens: count(event, "/usage/input_tokens"),
        cached_tokens: counted(event, "/usage/cached_input_tokens"),
        output_tokens: count(event, "/usage/output_tokens"),
        reasoning_tokens: counted(event, "/usage/reasoning_output_tokens"),
        cost_usd: None,
        of_session: true,
    }
}

fn failed(message: &str, now_ms: i64) -> TurnEnd {
    let reason = words::cleaned(message.as_bytes());
    if is_limit(&reason) {
        let resets_at_ms = limit::reset_in(&reason, now_ms);
        return TurnEnd::Limited { reason, windows: Vec::new(), resets_at_ms };
    }
    let reason = if reason.is_empty() { "the turn failed without a reason".to_owned() } else { reason };
    TurnEnd::Failed { reason }
}

/// Codex has no other sign of a limit in its events than the words of its own error.
fn is_limit(message: &str) -> bool {
    let lower = message.to_lowercase().replace('\u{2019}', "'");
    ["hit your usage limit", "usage limit has been reached", "429 too many requests", "quota exceeded"]
        .iter()
        .any(|words| lower.contains(words))
}

fn without_end(exit: Exit, last_error: &str, errors: &[u8], now_ms: i64) -> TurnEnd {
    let reason = plain::failure(exit, errors);
    if ["no rollout found", "thread not found", "session not found"]
        .iter()
        .any(|words| reason.contains(words))
    {
        return TurnEnd::UnknownSession { reason };
    }
    if last_error.is_empty() { TurnEnd::Failed { reason } } else { failed(last_error, now_ms) }
}

pub(crate) fn seen(event: &Value) -> Vec<Seen> {
    let item = |pointer: &str| text(event, pointer).to_owned();
    let one = match (text(event, "/type"), text(event, "/item/type")) {
        ("item.completed", "agent_message") => Seen::Text(item("/item/text")),
        ("item.completed", "reasoning") => Seen::Thinking(item("/item/text")),
        ("item.completed", "error") => Seen::Note(item("/item/message")),
        ("item.started", "mcp_tool_call") => Seen::Tool {
            name: format!("{}.{}", text(event, "/item/server"), text(event, "/item/tool")),
            detail: detail(event, "/item/arguments"),
        },
        ("item.started", "command_execution") => Seen::Tool {
            name: "shell".to_owned(),
            detail: words::one_line(text(event, "/item/command"), DETAIL_CHARS),
        },
        ("item.completed", "file_change") => {
            Seen::Tool { name: "file change".to_owned(), detail: detail(event, "/item/changes") }
        }
        ("item.started", "web_search") => Seen::Tool {
            name: "web search".to_owned(),
            detail: words::one_line(text(event, "/item/query"), DETAIL_CHARS),
        },
        ("error", _) => Seen::Note(item("/message")),
        _ => return Vec::new(),
    };
    vec![one]
}

/// A value of a tool's, in one line.
pub(crate) fn detail(event: &Value, pointer: &str) -> String {
    words::one_line(&event.pointer(pointer).map(Value::to_string).unwrap_or_default(), DETAIL_CHARS)
}
