//! Claude Code. Flags, events and files as measured with 2.1.332.

use std::path::PathBuf;

use carillon_core::limits::{MCP_CALL_MAX_MS, MCP_START_MAX_MS};
use serde_json::{Value, json};

use crate::lines::{both, count, counted, events, text};
use crate::turn::{
    Exit, MCP_NAME, McpEntry, Outcome, Seen, Session, TurnEnd, TurnOrder, TurnPlan, Unsuitable, Usage, var,
};
use crate::{Vars, limit, plain, text as words};

/// How many characters of a tool's arguments, or of a note, are shown.
pub(crate) const DETAIL_CHARS: usize = 400;

/// Retries of a failed request. Its own default of ten makes a wrong key look like two minutes of work.
const RETRIES: &str = "4";

pub(crate) fn plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let mut plan = interface(order)?;
    let more = ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned);
    let at = 1 + order.args.len();
    plan.argv.splice(at..at, more);
    plan.env.push(var("CLAUDE_CODE_MAX_RETRIES", RETRIES));
    plan.stdin = order.prompt.to_owned();
    Ok(plan)
}

/// What a turn and a terminal have in common: session, MCP server and role.
pub(crate) fn interface(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let (flag, id) = match order.session {
        Session::New { id } => ("--session-id", id),
        Session::Resume { id } => ("--resume", id),
    };
    let mut more = vec![flag.to_owned(), id.to_owned()];
    if let Some(mcp) = &order.mcp {
        // The entry stands in a file: an argument would show its variables to everybody on the machine.
        let file = order.file("claude-mcp.json")?;
        files.push((PathBuf::from(&file), json!({ "mcpServers": { MCP_NAME: entry(mcp) } }).to_string()));
        more.extend(["--mcp-config".to_owned(), file]);
        more.extend(["--allowedTools".to_owned(), format!("mcp__{MCP_NAME}")]);
    }
    if let Some(role) = order.role {
        let file = order.file("role.md")?;
        files.push((PathBuf::from(&file), role.to_owned()));
        more.extend(["--append-system-prompt-file".to_owned(), file]);
    }
    Ok(TurnPlan {
        argv: order.argv(more),
        env: environment(),
        stdin: String::new(),
        files,
        session: Some(id.to_owned()),
    })
}

/// A call of a tool may wait for another agent, so nothing may end it early or move it aside.
fn environment() -> Vars {
    vec![
        var("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "0"),
        var("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "0"),
        var("MCP_TIMEOUT", MCP_START_MAX_MS.to_string()),
    ]
}

fn entry(mcp: &McpEntry<'_>) -> Value {
    let env: serde_json::Map<String, Value> =
        mcp.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    // Without `alwaysLoad` the model would have to search for the tools.
    json!({
        "type": "stdio",
        "command": mcp.command,
        "args": mcp.args,
        "env": env,
        "timeout": MCP_CALL_MAX_MS,
        "alwaysLoad": true,
    })
}

/// What is gathered from the events of a turn.
#[derive(Default)]
struct Gathered {
    session: Option<String>,
    /// The last `result`.
    result: Option<Value>,
    /// The last answer that was not empty. A second result follows when work in the background has ended.
    answer: Option<String>,
    /// The word on limits that said `rejected`, as long as no later request was let through.
    rejected: Option<Value>,
    /// The kind of the error of the API that the last request ended in.
    error: String,
    runs_in_background: bool,
    usage: Option<Usage>,
}

pub(crate) fn outcome(exit: Exit, out: &[u8], errors: &[u8], now_ms: i64) -> Outcome {
    let mut all = Gathered::default();
    events(out).for_each(|event| gather(&mut all, event));
    let end = end_of(&all, exit, errors, now_ms);
    // A conversation that does not exist has no id, though the CLI repeats the one that it was asked for.
    let session = all.session.filter(|_| !matches!(end, TurnEnd::UnknownSession { .. }));
    Outcome { end, session, usage: all.usage }
}

fn gather(all: &mut Gathered, event: Value) {
    let id = text(&event, "/session_id");
    if !id.is_empty() {
        all.session = Some(id.to_owned());
    }
    match (text(&event, "/type"), text(&event, "/subtype")) {
        ("system", "background_tasks_changed") => {
            let tasks = event.pointer("/tasks").and_then(Value::as_array);
            all.runs_in_background = tasks.is_some_and(|tasks| !tasks.is_empty());
        }
        ("rate_limit_event", _) => {
            let is_rejected = text(&event, "/rate_limit_info/status") == "rejected";
            all.rejected = event.pointer("/rate_limit_info").filter(|_| is_rejected).cloned();
        }
        ("assistant", _) if !text(&event, "/error").is_empty() => {
            text(&event, "/error").clone_into(&mut all.error)
        }
        // The model answers: what held before holds no more, or the account pays for more.
        ("assistant", _) if text(&event, "/message/model") != "<synthetic>" => {
            all.rejected = None;
            all.error.clear();
        }
        ("result", _) => {
            let answer = words::cleaned(text(&event, "/result").as_bytes());
            if !answer.is_empty() && event.pointer("/is_error") != Some(&Value::Bool(true)) {
                all.answer = Some(answer);
            }
            if ["/usage", "/model_usage_since_last_result"].iter().any(|at| event.pointer(at).is_some()) {
                all.usage = Some(add(all.usage, &event));
            }
            all.result = Some(event);
        }
        _ => {}
    }
}

/// Adds what one result has cost. Its `total_cost_usd` counts the whole conversation, also the turns before this
/// one, so it is not used; `model_usage_since_last_result` counts what is new.
fn add(sum: Option<Usage>, result: &Value) -> Usage {
    let mut usage = sum.unwrap_or_default();
    let mut add = |value: &Value, [input, made, cached, output]: [&str; 4]| {
        let read = [count(value, input), count(value, made), count(value, cached)];
        usage.input_tokens = read.into_iter().fold(usage.input_tokens, u64::saturating_add);
        usage.cached_tokens = both(usage.cached_tokens, counted(value, cached));
        usage.output_tokens = usage.output_tokens.saturating_add(count(value, output));
    };
    match result.pointer("/model_usage_since_last_result").and_then(Value::as_object) {
        Some(models) => {
            for model in models.values() {
                add(
                    model,
                    ["/inputTokens", "/cacheCreationInputTokens", "/cacheReadInputTokens", "/outputTokens"],
                );
            }
            let costs = models.values().filter_map(|model| model.pointer("/costUSD")?.as_f64());
            usage.cost_usd = costs.fold(usage.cost_usd, |sum, cost| Some(sum.unwrap_or(0.0) + cost));
        }
        None => add(
            result,
            [
                "/usage/input_tokens",
                "/usage/cache_creation_input_tokens",
                "/usage/cache_read_input_tokens",
                "/usage/output_tokens",
            ],
        ),
    }
    usage
}

fn end_of(all: &Gathered, exit: Exit, errors: &[u8], now_ms: i64) -> TurnEnd {
    let Some(result) = &all.result else { return without_result(exit, errors) };
    let is_error = result.pointer("/is_error") == Some(&Value::Bool(true));
    if !is_error && all.runs_in_background {
        let reason =
            format!("{}, while something of it still ran in the background", plain::failure(exit, b""));
        return TurnEnd::Failed { reason };
    }
    if !is_error {
        return all.answer.clone().map_or(TurnEnd::NoAnswer, |text| TurnEnd::Final { text });
    }
    let listed = result.pointer("/errors/0").and_then(Value::as_str).unwrap_or_default();
    let said = [text(result, "/result"), listed, text(result, "/subtype")];
    let reason = said.into_iter().map(|said| words::cleaned(said.as_bytes())).find(|said| !said.is_empty());
    let reason = reason.unwrap_or_else(|| plain::failure(exit, errors));
    if reason.contains("No conversation found") {
        return TurnEnd::UnknownSession { reason };
    }
    let status = result.pointer("/api_error_status").and_then(Value::as_u64);
    let is_limit = all.error == "rate_limit"
        || status == Some(429)
        || (all.rejected.is_some() && all.error.is_empty() && status.is_none());
    if !is_limit {
        return TurnEnd::Failed { reason };
    }
    let (windows, resets_at_ms) =
        all.rejected.as_ref().map_or((Vec::new(), None), |info| rejected(info, now_ms));
    let resets_at_ms = resets_at_ms.or_else(|| limit::reset_in(&reason, now_ms));
    TurnEnd::Limited { reason, windows, resets_at_ms }
}

/// The windows that are used up, and when the latest of them opens again. When one does not say so, none is known.
fn rejected(info: &Value, now_ms: i64) -> (Vec<String>, Option<i64>) {
    let reset = |window: &Value| {
        let at = window.pointer("/resetsAt")?;
        limit::epoch_ms(at.as_i64().or_else(|| Some(at.as_f64()? as i64))?, now_ms)
    };
    let all = info.pointer("/unifiedWindows").and_then(Value::as_object);
    let used_up: Vec<(&String, Option<i64>)> = all
        .into_iter()
        .flatten()
        .filter(|(_, window)| text(window, "/status") == "rejected")
        .map(|(name, window)| (name, reset(window)))
        .collect();
    if used_up.is_empty() {
        let name = text(info, "/rateLimitType");
        return (if name.is_empty() { Vec::new() } else { vec![name.to_owned()] }, reset(info));
    }
    let resets: Option<Vec<i64>> = used_up.iter().map(|(_, reset)| *reset).collect();
    let latest = resets.and_then(|resets| resets.into_iter().max());
    (used_up.into_iter().map(|(name, _)| name.clone()).collect(), latest)
}

/// It ended before it had anything to report.
fn without_result(exit: Exit, errors: &[u8]) -> TurnEnd {
    let reason = plain::failure(exit, errors);
    if reason.contains("No conversation found") {
        TurnEnd::UnknownSession { reason }
    } else {
        TurnEnd::Failed { reason }
    }
}

pub(crate) fn seen(event: &Value) -> Vec<Seen> {
    match (text(event, "/type"), text(event, "/subtype")) {
        // What a sub-agent says is not what the agent says.
        ("assistant", _) if !text(event, "/parent_tool_use_id").is_empty() => Vec::new(),
        ("assistant", _) => {
            let blocks = event.pointer("/message/content").and_then(Value::as_array);
            let is_ours = text(event, "/message/model") == "<synthetic>";
            blocks.into_iter().flatten().filter_map(|block| block_seen(block, is_ours)).collect()
        }
        ("system", "api_retry") => {
            let error = event.pointer("/error_status").and_then(Value::as_u64);
            let why =
                error.map_or_else(|| text(event, "/error").to_owned(), |status| format!("status {status}"));
            let (attempt, of) = (count(event, "/attempt"), count(event, "/max_retries"));
            vec![Seen::Note(format!("The request failed ({why}); attempt {attempt} of {of} follows."))]
        }
        ("system", "task_notification") => {
            vec![Seen::Note(words::one_line(text(event, "/summary"), DETAIL_CHARS))]
        }
        ("rate_limit_event", _) => limit_seen(event).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn block_seen(block: &Value, is_synthetic: bool) -> Option<Seen> {
    match text(block, "/type") {
        // The CLI puts its own errors into the agent's mouth.
        "text" if is_synthetic => Some(Seen::Note(text(block, "/text").to_owned())),
        "text" => Some(Seen::Text(text(block, "/text").to_owned())),
        "thinking" => Some(Seen::Thinking(text(block, "/thinking").to_owned())),
        "tool_use" => Some(Seen::Tool {
            name: text(block, "/name").to_owned(),
            detail: words::one_line(
                &block.pointer("/input").map(Value::to_string).unwrap_or_default(),
                DETAIL_CHARS,
            ),
        }),
        _ => None,
    }
}

fn limit_seen(event: &Value) -> Option<Seen> {
    let window = text(event, "/rate_limit_info/rateLimitType").replace('_', " ");
    match text(event, "/rate_limit_info/status") {
        "rejected" => Some(Seen::Note(format!("The limit is reached ({window})."))),
        "allowed_warning" => {
            let used = event.pointer("/rate_limit_info/utilization").and_then(Value::as_f64)?;
            Some(Seen::Note(format!("{:.0} % of the limit are used ({window}).", used * 100.0)))
        }
        _ => None,
    }
}
