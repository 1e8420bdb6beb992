//! The way of an answer: to a call that waits for it, or into the caller's inbox. Never both.

use carillon_core::ask::{self, Route, State};
use carillon_core::id::{AskId, CallId, MessageId};
use carillon_core::message;
use carillon_store::asks::{self, AskRow, Delivered};
use carillon_store::calls;
use carillon_store::messages::{self, Kind, MessageRow};

use crate::asks::{final_of, reason_of};
use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::world::CallState;

impl MainLoop {
    /// Sees that the answer of an ask that is over reaches its caller. Repeating it is harmless.
    pub(crate) fn deliver(&mut self, row: &AskRow) -> Result<(), Error> {
        let waiting = self.store.read(|db| calls::of_ask(db, &row.id))?;
        let found: Vec<CallState> = waiting.iter().map(|call| self.world().call_state(call)).collect();
        if let Some(at) = found.iter().position(|state| *state == CallState::Written) {
            return self.call_delivered(&row.id, &waiting[at]);
        }
        let lives: Vec<bool> = found.iter().map(|state| *state == CallState::Waits).collect();
        match ask::route(row.caller.is_some(), &lives) {
            Route::Call => {
                for (call, _) in waiting.into_iter().zip(lives).filter(|(_, lives)| *lives) {
                    self.act_later(move |world, report| world.watch_call(&call, report.clone()));
                }
                Ok(())
            }
            Route::Inbox => self.deliver_by_inbox(row),
            Route::Keep => Ok(()),
        }
    }

    fn deliver_by_inbox(&mut self, row: &AskRow) -> Result<(), Error> {
        let Some(caller) = row.caller.clone() else { return Ok(()) };
        // What belongs to an ask of the caller's own is told with that ask's answer, and wakes nobody.
        let state = match row.joined_ask {
            Some(_) => message::State::Delivered { turn: None },
            None => message::State::Pending,
        };
        let message = MessageRow {
            id: MessageId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            agent: caller.clone(),
            project: row.project.to_string(),
            kind: Kind::AskAnswered,
            state,
            about: Some(row.id.to_string()),
            part: 0,
            repeated: false,
            text: self.answer_in_words(row)?,
            created_ms: now_ms(),
        };
        self.marks.push("answer delivered");
        self.store.write(|tx| {
            if asks::set_delivered(tx, row, Delivered::Inbox)? {
                messages::insert(tx, &message)?;
            }
            calls::delete_of(tx, &row.id)
        })?;
        self.wake_anew(&caller)
    }

    fn answer_in_words(&self, row: &AskRow) -> Result<String, Error> {
        let (id, callee) = (&row.id, &row.callee_name);
        let head = match (&row.state, reason_of(&row.state)) {
            (State::Answered { .. }, _) => format!("Your ask {id} to {callee} was answered:"),
            (State::Cancelled { .. }, Some(reason)) => {
                format!("Your ask {id} to {callee} was cancelled: {reason}.")
            }
            (State::TimedOut { .. }, Some(reason)) => {
                format!("Your ask {id} to {callee} timed out: {reason}.")
            }
            (_, reason) => {
                format!("Your ask {id} to {callee} failed: {}.", reason.unwrap_or("no reason is known"))
            }
        };
        let said = match (&row.state, final_of(&row.state)) {
            (_, None) => String::new(),
            (State::Answered { .. }, Some(text)) => format!("\n{text}\n"),
            (_, Some(text)) => format!("\nWhat it had said before that:\n{text}\n"),
        };
        let children = self.children_in_words(row)?;
        let children =
            if children.is_empty() { children } else { format!("\nWork that it started:{children}") };
        Ok(format!("{head}{said}{children}").trim_end().to_owned())
    }

    /// The client says that it has written the answer out. Only a call that was waiting may say so.
    pub(crate) fn call_delivered(&mut self, ask: &AskId, call: &CallId) -> Result<(), Error> {
        let Some(row) = self.store.read(|db| asks::get(db, ask))? else { return Ok(()) };
        let waiting = self.store.read(|db| calls::of_ask(db, ask))?;
        if !row.state.is_terminal() {
            return Err(Error::refused("the ask is not over yet", "wait for its end first"));
        }
        let is_waiting = waiting.contains(call);
        self.marks.push("answer delivered");
        self.store.write(|tx| {
            if is_waiting {
                asks::set_delivered(tx, &row, Delivered::Call)?;
                // Whoever else waits sees it as well, and needs no message.
                calls::delete_of(tx, ask)?;
            }
            Ok(())
        })?;
        if row.joined_ask.is_some() && is_waiting {
            self.see_ask(&row)?;
        }
        // A client that says it once more, because an engine died before it answered, is settled as well.
        let others = if is_waiting { waiting } else { Vec::new() };
        self.settle_later(others.into_iter().chain([call.clone()]).collect());
        Ok(())
    }

    /// The caller has seen the end of an ask that belongs to one that it serves.
    pub(crate) fn see_ask(&mut self, row: &AskRow) -> Result<(), Error> {
        if row.state.is_terminal() && self.store.write(|tx| asks::set_seen(tx, row))? {
            self.child_changed(row.joined_ask.as_ref(), now_ms())?;
        }
        Ok(())
    }

    /// A waiting call ends without the answer: the answer takes another way.
    pub(crate) fn call_left(&mut self, call: &CallId) -> Result<(), Error> {
        let waiting = self.store.read(asks_with_calls)?;
        let is_written = self.world().call_state(call) == CallState::Written;
        for (row, calls) in &waiting {
            if is_written && calls.contains(call) {
                return self.call_delivered(&row.id, call);
            }
        }
        self.store.write(|tx| calls::delete(tx, call))?;
        for (row, calls) in waiting {
            if calls.contains(call) && row.delivered.is_none() {
                self.deliver(&row)?;
            }
        }
        self.settle_later(vec![call.clone()]);
        Ok(())
    }

    /// As [`MainLoop::call_left`], told by the lock of its client.
    pub(crate) fn call_gone(&mut self, call: &CallId) -> Result<(), Error> {
        // A client that took its lock again meanwhile goes on waiting.
        if self.world().call_state(call) == CallState::Waits {
            let call = call.clone();
            self.act_later(move |world, report| world.watch_call(&call, report.clone()));
            return Ok(());
        }
        self.call_left(call)
    }

    fn settle_later(&mut self, settled: Vec<CallId>) {
        self.act_later(move |world, _| settled.iter().for_each(|call| world.settle_call(call)));
    }

    /// Removes calls of earlier times whose client is gone; called by a boot.
    pub(crate) fn settle_calls(&mut self) -> Result<(), Error> {
        for call in self.store.read(calls::all)? {
            if self.world().call_state(&call) != CallState::Waits {
                self.call_left(&call)?;
            }
        }
        Ok(())
    }
}

/// The asks that somebody waits for, with the calls.
fn asks_with_calls(
    db: &carillon_store::db::Db,
) -> Result<Vec<(AskRow, Vec<CallId>)>, carillon_store::db::SqlError> {
    let over = asks::to_deliver(db)?;
    over.into_iter()
        .map(|row| Ok((calls::of_ask(db, &row.id)?, row)))
        .map(|r| r.map(|(c, row)| (row, c)))
        .collect()
}
