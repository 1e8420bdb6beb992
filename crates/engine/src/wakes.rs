//! Waking agents: all that waits goes into one turn; what fails is tried again, later and not for
//! ever.

use carillon_core::id::AgentId;
use carillon_core::limits;
use carillon_core::turn::End;
use carillon_core::wake::{self, Decision, Facts};
use carillon_core::words::Agent;
use carillon_store::agents::{self, Wakes};
use carillon_store::db::Db;
use carillon_store::messages::{self, Kind as MessageKind, MessageRow};
use carillon_store::turns::{Kind, TurnRow};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::timers::Timer;

/// What an agent is told: every message, with its own id and that of its task or ask.
pub(crate) fn prompt_of(messages: &[MessageRow]) -> String {
    let count = messages.len();
    let mut text = match count {
        1 => "You have 1 new message.\n".to_owned(),
        _ => format!("You have {count} new messages.\n"),
    };
    for message in messages {
        let kind = match message.kind {
            MessageKind::TaskEnded => "task ended",
            MessageKind::AskAnswered => "ask answered",
            MessageKind::AskReceived => "ask received",
            MessageKind::Note => "note",
        };
        let repeated = if message.repeated { ", repeated" } else { "" };
        text.push_str(&format!(
            "\n[{kind}, message {}{repeated}]\n{}\n",
            message.id,
            message.text.trim_end()
        ));
    }
    text
}

/// The first messages that one turn can carry. After wakes that failed it carries less: what its program cannot take
/// together may arrive one by one.
fn what_goes_together(mut messages: Vec<MessageRow>, failed: u32) -> Vec<MessageRow> {
    let most = match failed {
        0 => limits::MESSAGE_BYTES_PER_TURN,
        1 | 2 => limits::MESSAGE_BYTES_AFTER_FAILURE,
        _ => 0,
    };
    let mut bytes = 0;
    let fitting = messages.iter().take_while(|message| {
        bytes += message.text.len();
        bytes <= most
    });
    let count = fitting.count().max(1);
    messages.truncate(count);
    messages
}

impl MainLoop {
    /// The messages to wake an agent with now; `None` when it is to be let be.
    pub(crate) fn messages_to_wake_with(
        &mut self,
        agent: &Agent,
        idle: bool,
        typing: bool,
    ) -> Result<Option<Vec<MessageRow>>, Error> {
        let (pending, _) = self.store.read(|db| messages::waiting_for(db, &agent.id))?;
        let wakes = self.store.read(|db| agents::wakes_of(db, &agent.id))?;
        let facts = Facts {
            pending,
            idle,
            stopped: agent.stopped_by_user,
            limited: false,
            typing,
            failed: wakes.failed,
            not_before_ms: wakes.not_before_ms,
            now_ms: now_ms(),
        };
        match wake::decide(facts) {
            Decision::Wake => {
                let first = |db: &Db| messages::first_pending(db, &agent.id, limits::MESSAGES_PER_TURN);
                Ok(Some(what_goes_together(self.store.read(first)?, wakes.failed)))
            }
            Decision::Later { at_ms } => {
                self.timers.set(at_ms, Timer::Wake(agent.id.clone()));
                Ok(None)
            }
            Decision::Nothing | Decision::GivenUp => Ok(None),
        }
    }

    /// Counts the wakes that came to nothing.
    pub(crate) fn note_wake(&mut self, turn: &TurnRow, end: &End) -> Result<(), Error> {
        if turn.kind != Kind::Wake {
            return Ok(());
        }
        let Some(agent) = self.store.read(|db| agents::get(db, &turn.agent))? else { return Ok(()) };
        let before = self.store.read(|db| agents::wakes_of(db, &turn.agent))?;
        let wakes = match end {
            End::Final { .. } => Wakes::default(),
            End::Failed { reason } => {
                let failed = before.failed + 1;
                let not_before_ms = now_ms() + wake::pause_ms(failed);
                Wakes { failed, not_before_ms, reason: Some(reason.clone()) }
            }
            End::Interrupted { .. } | End::Limited { .. } => before.clone(),
        };
        if wakes != before {
            self.store.write(|tx| agents::set_wakes(tx, &agent, &wakes))?;
        }
        Ok(())
    }

    /// Something new has come, or the user wants it: a wake that was given up is tried again.
    pub(crate) fn wake_anew(&mut self, id: &AgentId) -> Result<(), Error> {
        if let Some(agent) = self.store.read(|db| agents::get(db, id))?
            && self.store.read(|db| agents::wakes_of(db, id))?.failed > 0
        {
            self.store.write(|tx| agents::set_wakes(tx, &agent, &Wakes::default()))?;
        }
        self.next_turn(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carillon_core::id::MessageId;
    use carillon_core::message::State;

    fn message(bytes: usize) -> MessageRow {
        MessageRow {
            id: MessageId::from_random([1; 16]),
            agent: AgentId::from_random([2; 16]),
            project: "p".to_owned(),
            kind: MessageKind::Note,
            state: State::Pending,
            about: None,
            part: 0,
            repeated: false,
            text: "x".repeat(bytes),
            created_ms: 0,
        }
    }

    #[test]
    fn what_failed_together_is_tried_in_smaller_parts_and_never_nothing() {
        let count = |sizes: &[usize], failed| {
            what_goes_together(sizes.iter().map(|bytes| message(*bytes)).collect(), failed).len()
        };
        assert_eq!(count(&[900; 6], 0), 6);
        assert_eq!(count(&[900; 6], 1), 3);
        assert_eq!(count(&[900; 6], 3), 1);
        assert_eq!(count(&[900_000, 900_000], 0), 1);
        assert_eq!(count(&[5_000_000, 1], 0), 1, "one that is larger than all goes alone");
    }
}
