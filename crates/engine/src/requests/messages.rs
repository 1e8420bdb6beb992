//! Notes to agents, and their inboxes.

use carillon_core::id::{AgentId, MessageId};
use carillon_core::{limits, message};
use carillon_store::messages::{self, Kind, MessageRow};
use carillon_store::projects;

use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::now_ms;
use crate::requests::callers::Caller;
use crate::requests::find::find;

/// A note to send.
#[derive(Clone, Debug)]
pub struct NewNote {
    /// Its id, made by who sends it; the same one again makes nothing new.
    pub id: MessageId,
    /// Who sends it.
    pub caller: Caller,
    /// To which agent, by name or id.
    pub agent: String,
    /// The project to look for that agent in.
    pub project: Option<String>,
    /// What it says.
    pub text: String,
}

impl Engine {
    /// Sends a note: when this returns it is durable, and the agent is woken when it is idle.
    pub fn send_note(&self, new: NewNote) -> Result<MessageRow, Error> {
        if new.text.trim().is_empty() {
            return Err(Error::invalid("the note is empty", "say something"));
        }
        if new.text.len() > limits::NOTE_MAX_BYTES {
            let (is, most) = (new.text.len(), limits::NOTE_MAX_BYTES);
            let message = format!("the note has {is} bytes, at most {most} are allowed");
            return Err(Error::invalid(message, "put it into a file and name that"));
        }
        self.request_blocking(move |inner| {
            if !inner.accepting {
                return Err(Error::ShuttingDown);
            }
            if let Some(known) = inner.store.read(|db| messages::get(db, &new.id))? {
                return Ok(known);
            }
            let who = inner.who(&new.caller)?;
            let project = match &new.project {
                Some(key) => Some(find(inner.store.read(projects::list)?, key)?.id),
                None => None,
            };
            let agent = inner.agent_for(&who, project.as_ref(), &new.agent)?;
            let waiting = inner.store.read(|db| messages::notes_waiting(db, &agent.id))?;
            if waiting >= limits::NOTES_WAITING_MAX {
                let message = format!("{waiting} notes wait for {} already", agent.name);
                return Err(Error::refused(message, "wait until it has read some, or start it"));
            }
            let from = who.agent.as_ref().map_or("the user".to_owned(), |agent| agent.name.clone());
            let row = MessageRow {
                id: new.id,
                agent: agent.id.clone(),
                project: agent.project.to_string(),
                kind: Kind::Note,
                state: message::State::Pending,
                about: None,
                part: 0,
                repeated: false,
                text: format!("{from}: {}", new.text.trim_end()),
                created_ms: now_ms(),
            };
            inner.marks.push("note accepted");
            inner.store.write(|tx| messages::insert(tx, &row).map(drop))?;
            inner.wake_anew(&agent.id)?;
            Ok(inner.store.read(|db| messages::get(db, &row.id))?.unwrap_or(row))
        })
    }

    /// The messages of an agent, the oldest first. An agent that was removed is known by its id.
    pub fn inbox(&self, agent: &str) -> Result<Vec<MessageRow>, Error> {
        let id = match self.agent(agent) {
            Ok(view) => view.agent.id,
            Err(error) => match AgentId::parse(agent) {
                Ok(id) if !self.read(|db| messages::of_agent(db, &id))?.is_empty() => id,
                Ok(_) | Err(_) => return Err(error),
            },
        };
        self.read(|db| messages::of_agent(db, &id))
    }
}
