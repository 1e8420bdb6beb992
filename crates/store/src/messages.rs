//! The table `messages`: durable notes to agents.

use carillon_core::id::{AgentId, MessageId};
use rusqlite::{Connection, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// One row. All are of the kind `task_ended` and pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Its identity.
    pub id: MessageId,
    /// To whom.
    pub agent: AgentId,
    /// The id of the task that it is about.
    pub about: String,
    /// Which attempt of it.
    pub part: u32,
    /// What it says.
    pub text: String,
    /// When it was written, in Unix milliseconds.
    pub created_ms: i64,
}

/// The messages of an agent, the oldest first.
pub fn of_agent(db: &Connection, agent: &AgentId) -> Sql<Vec<MessageRow>> {
    let mut statement = db.prepare_cached(
        "SELECT id, agent, about, part, text, created_ms FROM messages
          WHERE agent = ?1 ORDER BY created_ms, rowid",
    )?;
    statement.query_map([agent.as_str()], read)?.collect()
}

/// How many messages wait for an agent.
pub fn waiting_for(db: &Connection, agent: &AgentId) -> Sql<u32> {
    db.prepare_cached("SELECT count(*) FROM messages WHERE agent = ?1 AND state = 'pending'")?
        .query_row([agent.as_str()], |row| row.get(0))
}

/// Writes a message; false when this end was told already.
pub fn insert(tx: &Connection, row: &MessageRow, project: &str) -> Sql<bool> {
    let new = tx
        .prepare_cached(
            "INSERT INTO messages (id, agent, kind, state, about, part, text, created_ms)
             VALUES (?1, ?2, 'task_ended', 'pending', ?3, ?4, ?5, ?6) ON CONFLICT (kind, about, part) DO NOTHING",
        )?
        .execute((row.id.as_str(), row.agent.as_str(), &row.about, row.part, &row.text, row.created_ms))?
        == 1;
    if new {
        changes::note(tx, Tag::Inbox, row.agent.as_str(), Some(project))?;
    }
    Ok(new)
}

fn read(row: &Row<'_>) -> Sql<MessageRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("messages", e);
    Ok(MessageRow {
        id: MessageId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        agent: AgentId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        about: row.get(2)?,
        part: row.get(3)?,
        text: row.get(4)?,
        created_ms: row.get(5)?,
    })
}
