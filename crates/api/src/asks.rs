//! The commands on asks, turns and messages; part of the list in [`crate::commands`].

use std::time::Duration;

use carillon_core::id::{AskId, CallId, MessageId, NotAnId, RunId};
use carillon_engine::requests::{Caller, NewAsk, NewNote};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::commands::{answer, list, read};
use crate::error::ApiError;
use crate::wire_asks::{AfterChildren, Ask, AskState, Turn, TurnEvents};
use crate::wire_tasks::Message;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskOpen {
    id: String,
    agent: String,
    prompt: String,
    project: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    after_children: AfterChildren,
    key: Option<String>,
    #[serde(default)]
    detach: bool,
    call: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneAsk {
    ask: String,
    by: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskWait {
    ask: String,
    #[serde(default)]
    wait_ms: u64,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskCall {
    ask: String,
    call: String,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AsksList {
    project: Option<String>,
    agent: Option<String>,
    state: Option<AskState>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageSend {
    id: String,
    agent: String,
    text: String,
    project: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inbox {
    agent: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnsList {
    agent: String,
    most: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnEventsRequest {
    turn: String,
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentHook {
    run: String,
    event: String,
    #[serde(default)]
    data: Value,
    /// Made by who tells, once for each thing that happened.
    #[serde(default)]
    id: Option<String>,
}

/// The commands that wait; `None` when `method` is not one of them.
pub(crate) async fn call_waiting(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    match method {
        "ask_wait" => Some(wait(app, params.clone()).await),
        "turn_events" => Some(events(app, params.clone()).await),
        _ => None,
    }
}

/// The others; `None` when `method` is not one of them.
pub(crate) fn call_blocking(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    let engine = app.engine();
    let params = params.clone();
    Some(match method {
        "ask_open" => read(params).and_then(|r| answer(Ask::from(engine.open_ask(new_ask(r)?)?))),
        "ask_attach" => read(params).and_then(|r: AskCall| {
            engine.may_see_ask(&r.ask, &caller(r.from, r.from_run))?;
            answer(Ask::from(engine.attach_call(&r.ask, call(&r.call)?)?))
        }),
        "ask_delivered" => read(params)
            .and_then(|r: AskCall| answer(Ask::from(engine.call_delivered(&r.ask, call(&r.call)?)?))),
        "ask_leave" => read(params).and_then(|r: AskCall| {
            engine.call_left(call(&r.call)?)?;
            answer(json!({}))
        }),
        "ask_show" => read(params).and_then(|r: OneAsk| {
            let _ = r.by;
            engine.note_ask_seen(&r.ask, caller(r.from, r.from_run))?;
            answer(Ask::from(engine.ask(&r.ask)?))
        }),
        "asks_list" => read(params).and_then(|r: AsksList| {
            let state = r.state.map(AskState::word);
            list::<Ask, _>(engine.asks(r.project.as_deref(), r.agent.as_deref(), state)?)
        }),
        "ask_cancel" => read(params)
            .and_then(|r: OneAsk| answer(Ask::from(engine.cancel_ask(&r.ask, caller(r.from, r.from_run))?))),
        "message_send" => read(params).and_then(|r: MessageSend| {
            let note = NewNote {
                id: MessageId::parse(&r.id).map_err(not_an_id)?,
                caller: caller(r.from, r.from_run),
                agent: r.agent,
                project: r.project,
                text: r.text,
            };
            answer(Message::from(engine.send_note(note)?))
        }),
        "inbox" => read(params).and_then(|r: Inbox| list::<Message, _>(engine.inbox(&r.agent)?)),
        "turns_list" => {
            read(params).and_then(|r: TurnsList| list::<Turn, _>(engine.turns(&r.agent, r.most)?))
        }
        "agent_hook" => read(params).and_then(|r: AgentHook| {
            engine.hear_hook(&r.run, &r.event, &r.data, r.id.as_deref())?;
            answer(json!({}))
        }),
        _ => return None,
    })
}

async fn wait(app: &App, params: Value) -> Result<Value, ApiError> {
    let request: AskWait = read(params)?;
    let engine = app.engine();
    let waiter = request.from_run.as_deref().and_then(|run| RunId::parse(run).ok());
    let caller = caller(request.from, request.from_run);
    let view = engine.wait_ask(&request.ask, waiter, Duration::from_millis(request.wait_ms)).await?;
    if view.row.ended_ms.is_some() && caller != Caller::default() {
        let (engine, id) = (engine.clone(), view.row.id.to_string());
        let noted = tokio::task::spawn_blocking(move || engine.note_ask_seen(&id, caller)).await;
        noted.map_err(|e| ApiError::failed(e.to_string()))??;
    }
    answer(Ask::from(view))
}

async fn events(app: &App, params: Value) -> Result<Value, ApiError> {
    let request: TurnEventsRequest = read(params)?;
    let wait = Duration::from_millis(request.wait_ms);
    answer(TurnEvents::from(app.engine().turn_events(&request.turn, request.offset, wait).await?))
}

fn new_ask(request: AskOpen) -> Result<NewAsk, ApiError> {
    Ok(NewAsk {
        id: AskId::parse(&request.id).map_err(not_an_id)?,
        caller: caller(request.from, request.from_run),
        callee: request.agent,
        project: request.project,
        prompt: request.prompt,
        follow_up: request.after_children == AfterChildren::FollowUp,
        key: request.key,
        timeout_ms: request.timeout_ms,
        detached: request.detach,
        call: request.call.as_deref().map(call).transpose()?,
    })
}

/// Who calls, by what it says of itself.
pub(crate) fn caller(agent: Option<String>, run: Option<String>) -> Caller {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    Caller { agent: given(agent), run: given(run) }
}

fn call(id: &str) -> Result<CallId, ApiError> {
    CallId::parse(id).map_err(not_an_id)
}

fn not_an_id(error: NotAnId) -> ApiError {
    ApiError::invalid(error.to_string())
}
