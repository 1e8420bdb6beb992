//! The table `approvals`: commands of agents that wait for the user's word, or did.

use carillon_core::id::{AgentId, ApprovalId, TaskId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The user has not said anything yet.
    Pending,
    /// The command may run.
    Approved,
    /// It may not.
    Denied,
    /// Nobody said anything in time, or the task was cancelled before.
    Expired,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRow {
    /// Its identity.
    pub id: ApprovalId,
    /// The task that waits.
    pub task: TaskId,
    /// Which attempt of it.
    pub attempt: u32,
    /// The agent that wants it.
    pub agent: Option<AgentId>,
    /// Where it stands.
    pub state: State,
    /// When it was asked for, in Unix milliseconds.
    pub created_ms: i64,
    /// When it expires, in Unix milliseconds.
    pub until_ms: i64,
}

const COLUMNS: &str = "id, task, attempt, agent, state, created_ms, until_ms";

/// All approvals, those that wait first, then the newest.
pub fn list(db: &Connection, most: usize) -> Sql<Vec<ApprovalRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM approvals ORDER BY state <> 'pending', created_ms DESC LIMIT ?1"
    ))?;
    statement.query_map([most as i64], read)?.collect()
}

/// The approvals that wait.
pub fn pending(db: &Connection) -> Sql<Vec<ApprovalRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM approvals WHERE state = 'pending' ORDER BY created_ms"
    ))?;
    statement.query_map([], read)?.collect()
}

/// One approval.
pub fn get(db: &Connection, id: &ApprovalId) -> Sql<Option<ApprovalRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()
}

/// The approval that an attempt waits for.
pub fn of_attempt(db: &Connection, task: &TaskId, attempt: u32) -> Sql<Option<ApprovalRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE task = ?1 AND attempt = ?2"))?
        .query_row((task.as_str(), attempt), read)
        .optional()
}

/// The approvals whose id begins like this; two are enough to know that it is not unique.
pub fn by_prefix(db: &Connection, prefix: &str) -> Sql<Vec<ApprovalRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM approvals WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2"
    ))?;
    statement.query_map([prefix], read)?.collect()
}

/// Asks for the user's word.
pub fn insert(tx: &Connection, row: &ApprovalRow, project: &str) -> Sql<()> {
    tx.execute(
        "INSERT INTO approvals (id, task, attempt, agent, state, created_ms, until_ms)
         VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6)",
        (
            row.id.as_str(),
            row.task.as_str(),
            row.attempt,
            row.agent.as_ref().map(AgentId::as_str),
            row.created_ms,
            row.until_ms,
        ),
    )?;
    changes::note(tx, Tag::Approval, row.id.as_str(), Some(project))
}

/// The word of the user, or of the clock; false when it was given before.
pub fn decide(tx: &Connection, row: &ApprovalRow, state: State, now_ms: i64, project: &str) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE approvals SET state = ?2, decided_ms = ?3 WHERE id = ?1 AND state = 'pending' AND ?2 <> 'pending'",
        (row.id.as_str(), word(state), now_ms),
    )?;
    if changed == 1 {
        changes::note(tx, Tag::Approval, row.id.as_str(), Some(project))?;
    }
    Ok(changed == 1)
}

fn word(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Approved => "approved",
        State::Denied => "denied",
        State::Expired => "expired",
    }
}

fn read(row: &Row<'_>) -> Sql<ApprovalRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("approvals", e);
    let agent: Option<String> = row.get(3)?;
    Ok(ApprovalRow {
        id: ApprovalId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        task: TaskId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        attempt: row.get(2)?,
        agent: agent.map(|id| AgentId::parse(&id)).transpose().map_err(bad)?,
        state: match row.get::<_, String>(4)?.as_str() {
            "pending" => State::Pending,
            "approved" => State::Approved,
            "denied" => State::Denied,
            "expired" => State::Expired,
            other => return Err(unreadable("approvals", format!("state {other:?}"))),
        },
        created_ms: row.get(5)?,
        until_ms: row.get(6)?,
    })
}
