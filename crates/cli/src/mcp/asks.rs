//! The tools that ask and answer agents.

use carillon_api::wire_asks::{Ask, AskState};
use carillon_api::{ApiError, Code};
use carillon_core::limits;
use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::answers;
use super::arguments::{self, AskAgent, CancelAsk, GetAsk, Nothing, SendMessage};
use super::context::Context;
use super::deliveries::Delivery;
use super::waits::{Ended, Look, Wait};
use crate::ask_words;
use crate::call_file::{CallFile, new_id};

type Arguments = Option<JsonObject>;
type Request = RequestContext<RoleServer>;

const GOES_ON: &str = "the agent goes on; its answer comes to you as a message. To wait longer, call get_ask with this ask_id and wait_s.";
/// Work that belongs to the ask which the caller serves wakes nobody: its outcome goes into that ask's answer.
const JOINED: &str = "the agent goes on; its answer does not come as a message, because it belongs to the ask that you are answering, which stays open until then. To see it before you answer, call get_ask with this ask_id and wait_s.";
const NO_ENGINE: &str = "Carillon is not running at the moment. The ask is kept; to have its answer, call get_ask with this ask_id when it is back.";

/// Asks an agent and waits for its answer.
pub(super) async fn ask_agent(
    cx: &Context,
    arguments: Arguments,
    request: &Request,
) -> Result<CallToolResult, ApiError> {
    let args: AskAgent = arguments::read(arguments)?;
    let wait = Wait::begin(request, &cx.gone, cx.wait(args.wait_s));
    let mut params = open_params(cx, args)?;
    // The directory of the calls is the engine's: it is there as soon as an engine was.
    cx.engine.reach().await?;
    let call = CallFile::create(cx.engine.socket())?;
    params["call"] = json!(call.id());
    let opened = cx.engine.ask("ask_open", cx.caller.signed(params)).await;
    wait_by_call(cx, opened, call, &wait, request).await
}

fn open_params(cx: &Context, args: AskAgent) -> Result<Value, ApiError> {
    if args.prompt.trim().is_empty() {
        return Err(ApiError::invalid("the prompt is empty"));
    }
    if args.prompt.len() > limits::PROMPT_MAX_BYTES {
        return Err(ApiError {
            code: Code::Invalid,
            message: format!(
                "the prompt is {} bytes long and may have {}",
                args.prompt.len(),
                limits::PROMPT_MAX_BYTES
            ),
            hint: Some("put it into a file and name the file in the prompt".to_owned()),
        });
    }
    let after_children = args.after_children.unwrap_or_else(|| "deliver".to_owned());
    if !["deliver", "follow_up"].contains(&after_children.as_str()) {
        return Err(ApiError::invalid("after_children is `deliver` or `follow_up`"));
    }
    Ok(json!({
        "id": new_id(),
        "agent": args.agent,
        "prompt": args.prompt,
        "project": cx.project_of_user()?,
        "timeout_ms": arguments::milliseconds("timeout_s", args.timeout_s)?,
        "after_children": after_children,
        "key": args.key,
    }))
}

/// Waits for an ask by a call that the engine was just told of. The answer is the call's to deliver.
async fn wait_by_call(
    cx: &Context,
    registered: Result<Value, ApiError>,
    call: CallFile,
    wait: &Wait<'_>,
    request: &Request,
) -> Result<CallToolResult, ApiError> {
    let first: Ask = match registered.and_then(read) {
        Ok(ask) => ask,
        Err(error) => {
            // An engine that went away may have heard of the call: then it settles the file.
            if error.code != Code::NoEngine {
                call.discard();
            }
            return Err(error);
        }
    };
    let id = first.id.clone();
    match until_over(cx, first, wait).await {
        Ok(Ended::Over(ask)) => {
            cx.deliveries.add(request.id.clone(), Delivery { ask: id, call });
            Ok(over(&ask, 0))
        }
        Ok(Ended::TimeUp(ask)) => {
            cx.deliveries.left(id, call);
            Ok(answers::result(answers::ask_goes_on(&ask, how_it_goes_on(&ask))))
        }
        Ok(Ended::Left) => {
            cx.deliveries.left(id.clone(), call);
            // The client has cancelled or gone; nobody reads this but a log.
            Ok(answers::result(json!({"status": "still_running", "id": id, "ask_id": id, "hint": GOES_ON})))
        }
        Err(error) => {
            cx.deliveries.left(id.clone(), call);
            if error.code != Code::NoEngine {
                return Err(error);
            }
            Ok(answers::result(json!({"status": "still_running", "id": id, "ask_id": id, "hint": NO_ENGINE})))
        }
    }
}

/// Waits without taking the answer away from anybody.
async fn until_over(cx: &Context, first: Ask, wait: &Wait<'_>) -> Result<Ended<Ask>, ApiError> {
    let id = first.id.clone();
    wait.over(look(first), |wait_ms| {
        let params = cx.caller.signed(json!({"ask": id, "wait_ms": wait_ms}));
        async move { cx.engine.ask("ask_wait", params).await.and_then(read).map(look) }
    })
    .await
}

fn look(ask: Ask) -> Look<Ask> {
    Look { is_over: ask_words::is_over(&ask), waits_for: ask_words::waiting(&ask), seen: ask }
}

/// An ask that did not end in an answer is an error of the tool: nobody takes it for a success.
fn over(ask: &Ask, offset: usize) -> CallToolResult {
    let value = answers::ask(ask, offset);
    if ask.state == AskState::Answered { answers::result(value) } else { answers::failure(value) }
}

fn read(value: Value) -> Result<Ask, ApiError> {
    serde_json::from_value(value)
        .map_err(|e| ApiError::failed(format!("the engine's answer cannot be read: {e}")))
}

/// Shows an ask; with a wait, waits for it. The caller's own is then delivered by this call.
pub(super) async fn get_ask(
    cx: &Context,
    arguments: Arguments,
    request: &Request,
) -> Result<CallToolResult, ApiError> {
    let args: GetAsk = arguments::read(arguments)?;
    let wait =
        Wait::begin(request, &cx.gone, args.wait_s.map_or_else(Default::default, |s| cx.wait(Some(s))));
    let shown = cx.engine.ask("ask_show", cx.caller.signed(json!({"ask": args.ask_id}))).await?;
    let ask = read(shown)?;
    if ask_words::is_over(&ask) || args.wait_s.is_none() {
        return Ok(answers::result(answers::ask(&ask, args.offset.unwrap_or(0))));
    }
    if cx.caller.owns(&ask) {
        let call = CallFile::create(cx.engine.socket())?;
        let params = cx.caller.signed(json!({"ask": ask.id, "call": call.id()}));
        let attached = cx.engine.ask("ask_attach", params).await;
        return wait_by_call(cx, attached, call, &wait, request).await;
    }
    watch(cx, ask, &wait).await
}

/// Ends an ask; with a wait, until it has ended.
pub(super) async fn cancel_ask(
    cx: &Context,
    arguments: Arguments,
    request: &Request,
) -> Result<CallToolResult, ApiError> {
    let args: CancelAsk = arguments::read(arguments)?;
    let wait =
        Wait::begin(request, &cx.gone, args.wait_s.map_or_else(Default::default, |s| cx.wait(Some(s))));
    let params = cx.caller.signed(json!({"ask": args.ask_id}));
    let ask = read(cx.engine.ask("ask_cancel", params).await?)?;
    watch(cx, ask, &wait).await
}

fn how_it_goes_on(ask: &Ask) -> &'static str {
    if ask.joined_ask.is_some() { JOINED } else { GOES_ON }
}

async fn watch(cx: &Context, ask: Ask, wait: &Wait<'_>) -> Result<CallToolResult, ApiError> {
    match until_over(cx, ask, wait).await? {
        Ended::Over(ask) => Ok(answers::result(answers::ask(&ask, 0))),
        Ended::TimeUp(ask) => Ok(answers::result(answers::ask_goes_on(&ask, how_it_goes_on(&ask)))),
        Ended::Left => Err(ApiError::failed("the call was cancelled")),
    }
}

/// The agents of the project.
pub(super) async fn list_agents(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let Nothing {} = arguments::read(arguments)?;
    let project = cx.project().await?;
    let me = cx.me().await?.map(|me| me.id.clone());
    let agents = cx.engine.ask("agents_list", json!({"project": project})).await?;
    let Value::Array(agents) = agents else {
        return Err(ApiError::failed("the engine's answer is no list of agents"));
    };
    let rows = agents.into_iter().map(|mut agent| {
        let is_me = me.is_some() && agent.get("id").and_then(Value::as_str) == me.as_deref();
        let mut row = serde_json::Map::new();
        for name in [
            "id",
            "name",
            "mode",
            "state",
            "waiting_on",
            "queued",
            "turn",
            "wake",
            "workdir",
            "limited_until_ms",
        ] {
            row.insert(name.to_owned(), agent.get_mut(name).map(Value::take).unwrap_or_default());
        }
        row.insert("is_you".to_owned(), json!(is_me));
        Value::Object(row)
    });
    Ok(answers::result(answers::rows("agents", rows.collect())))
}

/// Sends an agent a note.
pub(super) async fn send_message(cx: &Context, arguments: Arguments) -> Result<CallToolResult, ApiError> {
    let args: SendMessage = arguments::read(arguments)?;
    if args.text.len() > limits::NOTE_MAX_BYTES {
        return Err(ApiError::invalid(format!(
            "the text is {} bytes long and may have {}: put it into a file and name the file",
            args.text.len(),
            limits::NOTE_MAX_BYTES
        )));
    }
    let params =
        json!({"id": new_id(), "agent": args.agent, "text": args.text, "project": cx.project_of_user()?});
    let message = cx.engine.ask("message_send", cx.caller.signed(params)).await?;
    Ok(answers::result(json!({
        "message_id": message.get("id").cloned().unwrap_or_default(),
        "state": message.get("state").cloned().unwrap_or_default(),
    })))
}
