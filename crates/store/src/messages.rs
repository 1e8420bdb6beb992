//! The table `messages`: durable notes to agents.

use carillon_core::id::{AgentId, MessageId, TurnId};
use carillon_core::message::State;
use rusqlite::{Connection, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task of the agent is over.
    TaskEnded,
    /// An ask of the agent is over.
    AskAnswered,
    /// The agent is asked. Not a reason to wake it: the ask has a turn of its own.
    AskReceived,
    /// A note of another agent or of the user.
    Note,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Its identity.
    pub id: MessageId,
    /// To whom; the agent may be gone.
    pub agent: AgentId,
    /// The project of that agent.
    pub project: String,
    /// What it is about.
    pub kind: Kind,
    /// Where it stands.
    pub state: State,
    /// The id of the task or ask that it is about; none for a note.
    pub about: Option<String>,
    /// Which attempt of a task; else 0.
    pub part: u32,
    /// Whether an earlier turn may have shown it to the agent.
    pub repeated: bool,
    /// What it says.
    pub text: String,
    /// When it was written, in Unix milliseconds.
    pub created_ms: i64,
}

const COLUMNS: &str = "id, agent, project, kind, state, about, part, turn, why, repeated, text, created_ms";

/// The messages of an agent, the oldest first.
pub fn of_agent(db: &Connection, agent: &AgentId) -> Sql<Vec<MessageRow>> {
    select(db, "WHERE agent = ?1 ORDER BY created_ms, rowid", agent.as_str())
}

/// The message with this id.
pub fn get(db: &Connection, id: &MessageId) -> Sql<Option<MessageRow>> {
    Ok(select(db, "WHERE id = ?1", id.as_str())?.pop())
}

/// The messages that wait for an agent and are a reason to wake it, the oldest first, at most so many.
pub fn first_pending(db: &Connection, agent: &AgentId, most: usize) -> Sql<Vec<MessageRow>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let which = format!(
        "WHERE agent = ?1 AND state = 'pending' AND kind <> 'ask_received' ORDER BY created_ms, rowid LIMIT {most}"
    );
    select(db, &which, agent.as_str())
}

/// The messages that a turn carries.
pub fn claimed_by(db: &Connection, turn: &TurnId) -> Sql<Vec<MessageRow>> {
    select(db, "WHERE turn = ?1 AND state = 'claimed' ORDER BY created_ms, rowid", turn.as_str())
}

/// Ids of the messages that a turn carries or carried.
pub fn of_turn(db: &Connection, turn: &TurnId) -> Sql<Vec<String>> {
    let mut statement =
        db.prepare_cached("SELECT id FROM messages WHERE turn = ?1 ORDER BY created_ms, rowid")?;
    statement.query_map([turn.as_str()], |row| row.get(0))?.collect()
}

/// The message that an agent was asked, by the ask's id.
pub fn received(db: &Connection, ask: &str) -> Sql<Option<MessageRow>> {
    Ok(select(db, "WHERE kind = 'ask_received' AND about = ?1", ask)?.pop())
}

/// How many messages that are a reason to wake it wait for an agent, and since when, in Unix
/// milliseconds.
pub fn waiting_for(db: &Connection, agent: &AgentId) -> Sql<(u32, Option<i64>)> {
    db.prepare_cached(
        "SELECT count(*), min(created_ms) FROM messages
          WHERE agent = ?1 AND state = 'pending' AND kind <> 'ask_received'",
    )?
    .query_row([agent.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// How many notes wait for an agent.
pub fn notes_waiting(db: &Connection, agent: &AgentId) -> Sql<u32> {
    db.prepare_cached(
        "SELECT count(*) FROM messages WHERE agent = ?1 AND state = 'pending' AND kind = 'note'",
    )?
    .query_row([agent.as_str()], |row| row.get(0))
}

/// Agents for which messages wait.
pub fn agents_that_wait(db: &Connection) -> Sql<Vec<AgentId>> {
    let mut statement = db.prepare_cached(
        "SELECT DISTINCT agent FROM messages WHERE state = 'pending' AND kind <> 'ask_received'",
    )?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    ids.map(|id| AgentId::parse(&id?).map_err(|e| unreadable("messages", e))).collect()
}

/// Writes a message; false when this was told already.
pub fn insert(tx: &Connection, row: &MessageRow) -> Sql<bool> {
    let (state, turn, why) = state_words(&row.state);
    let new = tx
        .prepare_cached(
            "INSERT INTO messages (id, agent, project, kind, state, about, part, turn, why, text, created_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING",
        )?
        .execute((
            row.id.as_str(),
            row.agent.as_str(),
            &row.project,
            kind_word(row.kind),
            state,
            &row.about,
            row.part,
            turn,
            why,
            &row.text,
            row.created_ms,
        ))?;
    note_if(tx, row, new)
}

/// From the state of `row` into another one; false when it was not in that state any more.
pub fn set_state(tx: &Connection, row: &MessageRow, state: &State, repeats: bool) -> Sql<bool> {
    let (from, _, _) = state_words(&row.state);
    let (to, turn, why) = state_words(state);
    let changed = tx
        .prepare_cached(
            "UPDATE messages SET state = ?2, turn = ?3, why = ?4, repeated = max(repeated, ?5)
              WHERE id = ?1 AND state = ?6",
        )?
        .execute((row.id.as_str(), to, turn, why, repeats, from))?;
    note_if(tx, row, changed)
}

/// What waits for an agent that is removed will never be delivered.
pub fn withdraw_all_of(tx: &Connection, agent: &AgentId, why: &str) -> Sql<usize> {
    tx.execute(
        "UPDATE messages SET state = 'undeliverable', turn = NULL, why = ?2
          WHERE agent = ?1 AND state IN ('pending', 'claimed')",
        (agent.as_str(), why),
    )
}

/// Removes messages that were written before `before_ms` and of which nothing is expected any more.
pub fn forget(tx: &Connection, before_ms: i64) -> Sql<usize> {
    tx.execute(
        "DELETE FROM messages WHERE created_ms < ?1 AND state IN ('delivered', 'undeliverable')",
        [before_ms],
    )
}

/// A message makes its agent stale as well: how many wait is shown with it.
fn note_if(tx: &Connection, row: &MessageRow, changed: usize) -> Sql<bool> {
    if changed == 1 {
        changes::note(tx, Tag::Inbox, row.agent.as_str(), Some(&row.project))?;
        changes::note(tx, Tag::Agent, row.agent.as_str(), Some(&row.project))?;
    }
    Ok(changed == 1)
}

fn select(db: &Connection, rest: &str, key: &str) -> Sql<Vec<MessageRow>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM messages {rest}"))?;
    statement.query_map([key], read)?.collect()
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::TaskEnded => "task_ended",
        Kind::AskAnswered => "ask_answered",
        Kind::AskReceived => "ask_received",
        Kind::Note => "note",
    }
}

fn state_words(state: &State) -> (&'static str, Option<&str>, Option<&str>) {
    match state {
        State::Pending => ("pending", None, None),
        State::Claimed { turn } => ("claimed", Some(turn.as_str()), None),
        State::Delivered { turn } => ("delivered", turn.as_ref().map(TurnId::as_str), None),
        State::Undeliverable { why } => ("undeliverable", None, Some(why)),
    }
}

fn read(row: &Row<'_>) -> Sql<MessageRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("messages", e);
    let turn: Option<String> = row.get(7)?;
    let turn = turn.map(|id| TurnId::parse(&id)).transpose().map_err(bad)?;
    let state = match (row.get::<_, String>(4)?.as_str(), turn) {
        ("pending", _) => State::Pending,
        ("claimed", Some(turn)) => State::Claimed { turn },
        ("delivered", turn) => State::Delivered { turn },
        ("undeliverable", _) => {
            State::Undeliverable { why: row.get::<_, Option<String>>(8)?.unwrap_or_default() }
        }
        (other, _) => return Err(unreadable("messages", format!("state {other:?}"))),
    };
    Ok(MessageRow {
        id: MessageId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        agent: AgentId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        project: row.get(2)?,
        kind: match row.get::<_, String>(3)?.as_str() {
            "task_ended" => Kind::TaskEnded,
            "ask_answered" => Kind::AskAnswered,
            "ask_received" => Kind::AskReceived,
            "note" => Kind::Note,
            other => return Err(unreadable("messages", format!("kind {other:?}"))),
        },
        state,
        about: row.get(5)?,
        part: row.get(6)?,
        repeated: row.get(9)?,
        text: row.get(10)?,
        created_ms: row.get(11)?,
    })
}
