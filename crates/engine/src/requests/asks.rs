//! Asks: opening, waiting, showing, cancelling.

use std::time::Duration;

use carillon_core::ask::{self, Event, State};
use carillon_core::id::{AskId, CallId, MessageId, RunId};
use carillon_core::words::Agent;
use carillon_core::{limits, message, turn};
use carillon_store::asks::{self, AskRow};
use carillon_store::messages::{self, Kind as MessageKind, MessageRow};
use carillon_store::turns::{self, Kind};
use carillon_store::{calls, projects, runs};

use crate::asks::{ChildView, children_of};
use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::bounds::bound_texts;
use crate::requests::callers::{Caller, Who};
use crate::requests::find::find;
use crate::requests::tasks::Lending;
use crate::slots::{NONE_LENT, held_back};
use crate::timers::Timer;
use crate::turns::queued;
use crate::world::CallState;

/// A question to open.
#[derive(Clone, Debug)]
pub struct NewAsk {
    /// Its id, made by who asks; the same one again makes nothing new.
    pub id: AskId,
    /// Who asks.
    pub caller: Caller,
    /// The agent that is asked, by name or id.
    pub callee: String,
    /// The project to look for that agent in; else all, or the caller's own.
    pub project: Option<String>,
    /// The question.
    pub prompt: String,
    /// Whether one more turn follows when the final had to wait for children.
    pub follow_up: bool,
    /// The same key of the same caller to the same callee attaches to the ask that is there.
    pub key: Option<String>,
    /// Time after which it ends, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Whether it stays out of the ask that the caller serves.
    pub detached: bool,
    /// The call that waits for it.
    pub call: Option<CallId>,
}

/// What an ask that is not over waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingFor {
    /// The callee does something else first.
    TurnQueue,
    /// The callee's turn.
    Turn,
    /// The work that the callee started.
    Children,
    /// The callee's second turn.
    FollowUp,
    /// The end of a session limit.
    Limit,
    /// The callee sits on a prompt of its own.
    Attention,
    /// Another turn of the callee's profile, which lets no more run at once.
    Slot,
}

/// An ask with its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskView {
    /// The ask.
    pub row: AskRow,
    /// Its children, with the end of what they said.
    pub children: Vec<(ChildView, Option<String>)>,
    /// What it waits for.
    pub waiting_for: Option<WaitingFor>,
}

/// Most asks in one list.
const LIST_MAX: usize = 2_000;

impl Engine {
    /// Opens an ask: when this returns it has its durable record and its place in the callee's line.
    pub fn open_ask(&self, new: NewAsk) -> Result<AskView, Error> {
        check(&new)?;
        let id = self.request_blocking(move |inner| inner.open_ask(new))?;
        self.ask_by_id(&id)
    }

    fn ask_by_id(&self, id: &AskId) -> Result<AskView, Error> {
        let found = self.read(|db| {
            let Some(row) = asks::get(db, id)? else { return Ok(None) };
            let turns = turns::of_ask(db, id)?;
            let kept_waiting = match turns.last().is_some_and(|turn| turn.state == turn::State::Queued) {
                true => kept_waiting(db, &row)?,
                false => None,
            };
            Ok(Some((children_of(db, id)?, turns, kept_waiting, row)))
        })?;
        let (children, turns, kept_waiting, row) = found.ok_or_else(|| not_found(id.as_str()))?;
        let asks = turns.last().is_some_and(|turn| self.callee_asks(turn));
        let waiting_for = match waiting_for(&row, &turns, asks) {
            Some(WaitingFor::TurnQueue) if kept_waiting.is_some() => kept_waiting,
            waiting_for => waiting_for,
        };
        let children = children.into_iter().map(|child| self.with_tail(child)).collect();
        Ok(AskView { row, children, waiting_for })
    }

    /// Whether the callee sits on a question of its own, in the turn or before it.
    fn callee_asks(&self, turn: &turns::TurnRow) -> bool {
        let run = match (&turn.run, turn.state.is_over()) {
            (_, true) => None,
            (Some(run), false) => Some(run.clone()),
            (None, false) => {
                let newest = self.read(|db| runs::newest_of(db, &turn.agent)).ok().flatten();
                newest.filter(|run| !run.state.is_terminal()).map(|run| run.id)
            }
        };
        run.is_some_and(|run| self.inner.world.needs_attention(&run))
    }

    fn with_tail(&self, child: ChildView) -> (ChildView, Option<String>) {
        let tail = match (&child.child.end, &child.run) {
            (None, _) => None,
            (Some(_), Some(run)) => Some(self.inner.world.tail_of(run, limits::CHILD_TAIL_BYTES)),
            (Some(_), None) => child.final_text.clone(),
        };
        (child, tail)
    }

    /// The ask that `key` names: its id or a unique start of it.
    pub fn ask(&self, key: &str) -> Result<AskView, Error> {
        let id = self.ask_id(key)?;
        self.ask_by_id(&id)
    }

    fn ask_id(&self, key: &str) -> Result<AskId, Error> {
        let hex = key.len() >= 4 && key.len() <= 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
        let mut found = if hex { self.read(|db| asks::by_prefix(db, key))? } else { Vec::new() };
        if found.len() > 1 {
            return Err(Error::Ambiguous { what: "ask", name: key.to_owned() });
        }
        found.pop().map(|row| row.id).ok_or_else(|| not_found(key))
    }

    /// The asks of a project, or all; the newest first. With `agent` only those that it asked or was
    /// asked, with `state`, a word like `open`, only those in it.
    pub fn asks(
        &self,
        project: Option<&str>,
        agent: Option<&str>,
        state: Option<&str>,
    ) -> Result<Vec<AskView>, Error> {
        let project = project.map(|key| self.project(key)).transpose()?.map(|project| project.id);
        let agent = agent.map(|key| self.agent(key)).transpose()?.map(|view| view.agent.id);
        let rows = self.read(|db| asks::list(db, project.as_ref(), agent.as_ref(), state, LIST_MAX))?;
        let mut room = limits::ASK_LIST_TEXTS_BYTES;
        rows.into_iter()
            .map(|row| {
                let mut view = self.ask_by_id(&row.id)?;
                bound_texts(&mut view, &mut room);
                Ok(view)
            })
            .collect()
    }

    /// Waits up to `wait` for the end of an ask. Who waits from within a task lends its slot meanwhile: what
    /// the callee starts may need it.
    pub async fn wait_ask(&self, key: &str, waiter: Option<RunId>, wait: Duration) -> Result<AskView, Error> {
        let until = tokio::time::Instant::now() + wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
        let key = key.to_owned();
        let id = self.aside(move |engine| engine.ask_id(&key)).await?;
        let mut one = self.inner.newest.watch_one(id.as_str());
        let _lent = waiter.map(|run| Lending::begin(self, run));
        loop {
            let of = id.clone();
            let row = self.aside(move |engine| engine.read(|db| asks::get(db, &of))).await?;
            let is_over = row.ok_or_else(|| not_found(id.as_str()))?.state.is_terminal();
            if is_over || tokio::time::timeout_at(until, one.changed()).await.is_err() {
                return self.aside(move |engine| engine.ask_by_id(&id)).await;
            }
        }
    }

    /// Refuses an agent that turns to another project.
    pub fn may_see_ask(&self, key: &str, caller: &Caller) -> Result<(), Error> {
        let id = self.ask_id(key)?;
        match self.read(|db| asks::get(db, &id))? {
            Some(row) => self.may_see(&row.project, caller),
            None => Ok(()),
        }
    }

    /// A caller from within a run has looked at an ask of its own.
    pub fn note_ask_seen(&self, key: &str, caller: Caller) -> Result<(), Error> {
        self.may_see_ask(key, &caller)?;
        let id = self.ask_id(key)?;
        let row = self.read(|db| asks::get(db, &id))?;
        if caller == Caller::default()
            || !row.is_some_and(|r| r.joined_ask.is_some() && !r.seen && r.state.is_terminal())
        {
            return Ok(());
        }
        self.request_blocking(move |inner| {
            let who = inner.who(&caller)?;
            let Some(row) = inner.store.read(|db| asks::get(db, &id))? else { return Ok(()) };
            if who.agent.is_some_and(|agent| Some(agent.id) == row.caller) {
                inner.see_ask(&row)
            } else {
                Ok(())
            }
        })
    }

    /// Lets a call wait for an ask that is there.
    pub fn attach_call(&self, key: &str, call: CallId) -> Result<AskView, Error> {
        let id = self.ask_id(key)?;
        let attached = id.clone();
        self.request_blocking(move |inner| {
            inner.store.write(|tx| calls::insert(tx, &call, &attached, now_ms()))?;
            let caller = inner.store.read(|db| asks::get(db, &attached))?.and_then(|row| row.caller);
            inner.slot_lent(caller.as_ref());
            Ok(())
        })?;
        self.ask_by_id(&id)
    }

    /// The client of a call has written the answer out.
    pub fn call_delivered(&self, key: &str, call: CallId) -> Result<AskView, Error> {
        let id = self.ask_id(key)?;
        let delivered = id.clone();
        self.request_blocking(move |inner| inner.call_delivered(&delivered, &call))?;
        self.ask_by_id(&id)
    }

    /// A call waits no more; the work goes on.
    pub fn call_left(&self, call: CallId) -> Result<(), Error> {
        self.request_blocking(move |inner| inner.call_left(&call))
    }

    /// Ends an ask.
    pub fn cancel_ask(&self, key: &str, caller: Caller) -> Result<AskView, Error> {
        let id = self.ask_id(key)?;
        let cancelled = id.clone();
        self.request_blocking(move |inner| {
            let who = inner.who(&caller)?;
            let Some(row) = inner.store.read(|db| asks::get(db, &cancelled))? else { return Ok(()) };
            if who.agent.as_ref().is_some_and(|agent| agent.project != row.project) {
                return Err(Error::refused(
                    "this ask belongs to another project",
                    "ask its user to cancel it",
                ));
            }
            // A child that its own caller does not want any more is no failure of that caller's ask.
            if who.agent.as_ref().is_some_and(|agent| Some(&agent.id) == row.caller.as_ref()) {
                inner.store.write(|tx| asks::set_seen(tx, &row))?;
            }
            inner.step_ask(&cancelled, Event::CancelRequested { by: who.name() })
        })?;
        self.ask_by_id(&id)
    }
}

impl MainLoop {
    fn open_ask(&mut self, new: NewAsk) -> Result<AskId, Error> {
        if !self.accepting {
            return Err(Error::ShuttingDown);
        }
        let who = self.who(&new.caller)?;
        if let Some(known) = self.store.read(|db| asks::get(db, &new.id))? {
            return self.attach(known, new.call);
        }
        let project = match &new.project {
            Some(key) => Some(find(self.store.read(projects::list)?, key)?.id),
            None => None,
        };
        let callee = self.agent_for(&who, project.as_ref(), &new.callee)?;
        if let Some(known) = self.known_ask(&new, &who, &callee)? {
            return self.attach(known, new.call);
        }
        self.check_callee(&new, &who, &callee)?;
        let row = AskRow {
            id: new.id,
            project: callee.project.clone(),
            caller: who.agent.as_ref().map(|agent| agent.id.clone()),
            caller_name: who.agent.as_ref().map(|agent| agent.name.clone()),
            callee: Some(callee.id.clone()),
            callee_name: callee.name.clone(),
            prompt: new.prompt,
            follow_up: new.follow_up,
            key: new.key,
            joined_ask: who.serves.clone().filter(|_| !new.detached),
            detached: new.detached,
            seen: false,
            deadline_ms: new.timeout_ms.map(|ms| now_ms() + ms.min(limits::ASK_TIMEOUT_MAX_MS) as i64),
            state: State::Open,
            delivered: None,
            created_ms: now_ms(),
            ended_ms: None,
        };
        self.accept_ask(&row, &callee, new.call)?;
        Ok(row.id)
    }

    /// Everything of a new ask in one transaction: from here on it cannot be lost.
    fn accept_ask(&mut self, row: &AskRow, callee: &Agent, call: Option<CallId>) -> Result<(), Error> {
        let turn = queued(
            callee.id.clone(),
            callee.project.clone(),
            Some(row.id.clone()),
            Kind::Ask,
            row.prompt.clone(),
        );
        let from = row.caller_name.clone().unwrap_or_else(|| "the user".to_owned());
        let received = MessageRow {
            id: MessageId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            agent: callee.id.clone(),
            project: row.project.to_string(),
            kind: MessageKind::AskReceived,
            state: message::State::Pending,
            about: Some(row.id.to_string()),
            part: 0,
            repeated: false,
            text: format!("Asked by {from}: {}", crate::asks::one_line(&row.prompt)),
            created_ms: row.created_ms,
        };
        self.marks.push("ask accepted");
        self.store.write(|tx| {
            asks::insert(tx, row)?;
            turns::insert_queued(tx, &turn)?;
            messages::insert(tx, &received)?;
            if let Some(call) = &call {
                calls::insert(tx, call, &row.id, row.created_ms)?;
            }
            Ok(())
        })?;
        if let Some(at_ms) = row.deadline_ms {
            self.timers.set(at_ms, Timer::Deadline(row.id.clone()));
        }
        if let Some(parent) = &row.joined_ask
            && let Some(parent) = self.store.read(|db| asks::get(db, parent))?
        {
            self.store.write(|tx| asks::note(tx, &parent))?;
        }
        self.next_turn(&callee.id);
        self.slot_lent(row.caller.as_ref());
        Ok(())
    }

    fn attach(&mut self, known: AskRow, call: Option<CallId>) -> Result<AskId, Error> {
        if let Some(call) = call {
            self.store.write(|tx| calls::insert(tx, &call, &known.id, now_ms()))?;
            self.slot_lent(known.caller.as_ref());
        }
        Ok(known.id)
    }

    /// The ask that this one repeats: by its key, or because a caller that gave up asks the very same
    /// once more.
    fn known_ask(&self, new: &NewAsk, who: &Who, callee: &Agent) -> Result<Option<AskRow>, Error> {
        let caller = who.agent.as_ref().map(|agent| &agent.id);
        if let Some(key) = &new.key {
            return Ok(self.store.read(|db| asks::of_key(db, caller, &callee.id, key))?);
        }
        let Some(caller) = caller else { return Ok(None) };
        let same = self.store.read(|db| asks::same_question(db, caller, &callee.id, &new.prompt))?;
        let Some(same) = same else { return Ok(None) };
        let waiting = self.store.read(|db| calls::of_ask(db, &same.id))?;
        let is_waited_for = waiting.iter().any(|call| self.world().call_state(call) == CallState::Waits);
        Ok(Some(same).filter(|_| !is_waited_for))
    }

    fn check_callee(&self, new: &NewAsk, who: &Who, callee: &Agent) -> Result<(), Error> {
        if callee.stopped_by_user {
            let message = format!("agent {:?} was stopped by the user", callee.name);
            let hint = format!("start it with `carillon agent start {}`", callee.name);
            return Err(Error::refused(message, &hint));
        }
        if let Some(caller) = &who.agent {
            let open = if new.detached && caller.id != callee.id {
                Vec::new()
            } else {
                self.store.read(asks::edges)?
            };
            if let Some(circle) = ask::circle(&caller.id, &callee.id, &open) {
                let names: Vec<String> = std::iter::once(caller.name.clone())
                    .chain(circle.iter().map(|id| self.name_of(id)))
                    .collect();
                let message = format!("this ask would wait for itself: {}", names.join(" → "));
                return Err(Error::refused(message, "answer without asking, or ask another agent"));
            }
        }
        let waiting = self.store.read(|db| asks::count_of_callee(db, &callee.id))?;
        if waiting >= limits::ASKS_PER_CALLEE {
            let message = format!("{waiting} asks wait for agent {:?} already", callee.name);
            return Err(Error::refused(message, "wait until some of them are over"));
        }
        Ok(())
    }
}

fn check(new: &NewAsk) -> Result<(), Error> {
    if new.prompt.trim().is_empty() {
        return Err(Error::invalid("the prompt is empty", "say what you want to know"));
    }
    if new.prompt.len() > limits::PROMPT_MAX_BYTES {
        let (is, most) = (new.prompt.len(), limits::PROMPT_MAX_BYTES);
        let message = format!("the prompt has {is} bytes, at most {most} are allowed");
        return Err(Error::invalid(message, "put it into a file and name that"));
    }
    if new.prompt.contains('\0') {
        return Err(Error::invalid("the prompt holds a zero byte", "leave it out"));
    }
    if new.key.as_ref().is_some_and(|key| key.is_empty() || key.chars().count() > limits::ASK_KEY_MAX_CHARS) {
        let message = format!("a key has 1 to {} characters", limits::ASK_KEY_MAX_CHARS);
        return Err(Error::invalid(message, "choose a shorter one"));
    }
    if new.timeout_ms == Some(0) {
        return Err(Error::invalid("the time-out is 0", "leave it out to wait without an end"));
    }
    Ok(())
}

/// What keeps the callee from beginning any turn.
fn kept_waiting(
    db: &carillon_store::db::Db,
    row: &AskRow,
) -> Result<Option<WaitingFor>, carillon_store::db::SqlError> {
    let Some(callee) = &row.callee else { return Ok(None) };
    let Some(agent) = carillon_store::agents::get(db, callee)? else { return Ok(None) };
    if carillon_store::limits::get(db, &agent.profile)?.is_some() {
        return Ok(Some(WaitingFor::Limit));
    }
    // One that is at a turn has its slot, and does that first.
    let is_free = turns::live_of(db, callee)?.is_none();
    Ok(if is_free { held_back(db, &agent, NONE_LENT)?.map(|_| WaitingFor::Slot) } else { None })
}

fn waiting_for(row: &AskRow, turns: &[turns::TurnRow], callee_asks: bool) -> Option<WaitingFor> {
    let newest = turns.last().map(|turn| &turn.state);
    match (&row.state, newest) {
        (State::Open, _) if callee_asks => Some(WaitingFor::Attention),
        (State::PendingFinal { followed: true, .. }, Some(state)) if callee_asks && !state.is_over() => {
            Some(WaitingFor::Attention)
        }
        (State::PendingFinal { followed: true, .. }, Some(state)) if !state.is_over() => {
            Some(WaitingFor::FollowUp)
        }
        (State::PendingFinal { .. }, _) => Some(WaitingFor::Children),
        (State::Open, Some(turn::State::Queued)) => Some(WaitingFor::TurnQueue),
        (State::Open, _) => Some(WaitingFor::Turn),
        (
            State::Answered { .. } | State::Failed { .. } | State::Cancelled { .. } | State::TimedOut { .. },
            _,
        ) => None,
    }
}

fn not_found(key: &str) -> Error {
    Error::NotFound { what: "ask", name: key.to_owned(), hint: "`carillon asks list` shows them".to_owned() }
}
