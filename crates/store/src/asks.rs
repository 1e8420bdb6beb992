//! The table `asks`: questions, where they stand, and whether their answer has arrived.

use carillon_core::ask::{Edge, State};
use carillon_core::id::{AgentId, AskId, ProjectId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// How an answer reached its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The waiting call wrote it out.
    Call,
    /// The caller's inbox has it.
    Inbox,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskRow {
    /// Its identity; made by who asks, so that a repeated request makes nothing new.
    pub id: AskId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The agent that asks; none: the user, or an agent that was removed.
    pub caller: Option<AgentId>,
    /// The name of that agent; none: the user.
    pub caller_name: Option<String>,
    /// The agent that is asked; none when it was removed.
    pub callee: Option<AgentId>,
    /// The name of that agent.
    pub callee_name: String,
    /// The question.
    pub prompt: String,
    /// Whether one more turn follows when the final had to wait for children.
    pub follow_up: bool,
    /// The caller's key.
    pub key: Option<String>,
    /// The ask that its caller served when it asked.
    pub joined_ask: Option<AskId>,
    /// Whether it stays out of that.
    pub detached: bool,
    /// As a child: its caller has seen its end, or wanted it.
    pub seen: bool,
    /// When its time is up, in Unix milliseconds.
    pub deadline_ms: Option<i64>,
    /// Where it stands.
    pub state: State,
    /// How its answer reached the caller.
    pub delivered: Option<Delivered>,
    /// When it was accepted, in Unix milliseconds.
    pub created_ms: i64,
    /// When it was over, in Unix milliseconds.
    pub ended_ms: Option<i64>,
}

const COLUMNS: &str =
    "id, project, caller, caller_name, callee, callee_name, prompt, follow_up, key, joined_ask,
    detached, seen, deadline_ms, state, final, followed, reason, delivered, created_ms, ended_ms";

/// One ask.
pub fn get(db: &Connection, id: &AskId) -> Sql<Option<AskRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM asks WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()
}

/// The asks whose id begins like this; two are enough to know that it is not unique.
pub fn by_prefix(db: &Connection, prefix: &str) -> Sql<Vec<AskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2"
    ))?;
    statement.query_map([prefix], read)?.collect()
}

/// The asks of a project, or all, the newest first; with `state` (the word of the column) only those
/// in it, with `agent` only those that it asked or was asked.
pub fn list(
    db: &Connection,
    project: Option<&ProjectId>,
    agent: Option<&AgentId>,
    state: Option<&str>,
    most: usize,
) -> Sql<Vec<AskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR ?2 IN (caller, callee))
            AND (?3 IS NULL OR state = ?3) ORDER BY created_ms DESC, rowid DESC LIMIT ?4"
    ))?;
    let (project, agent) = (project.map(ProjectId::as_str), agent.map(AgentId::as_str));
    statement.query_map((project, agent, state, most as i64), read)?.collect()
}

/// The asks that are not over, the oldest first.
pub fn going_on(db: &Connection) -> Sql<Vec<AskRow>> {
    select(db, "WHERE ended_ms IS NULL ORDER BY created_ms, rowid")
}

/// The asks that are over and whose answer has not arrived, the oldest first.
pub fn to_deliver(db: &Connection) -> Sql<Vec<AskRow>> {
    select(db, "WHERE ended_ms IS NOT NULL AND delivered IS NULL ORDER BY ended_ms, rowid")
}

/// The asks that are over and to which something still belongs that goes on: a turn or a child.
pub fn not_cleared_up(db: &Connection) -> Sql<Vec<AskRow>> {
    select(
        db,
        "WHERE ended_ms IS NOT NULL AND (
            EXISTS (SELECT 1 FROM turns WHERE turns.ask = asks.id
                     AND (turns.state IN ('queued', 'starting', 'running') OR turns.resume = 1))
            OR EXISTS (SELECT 1 FROM asks AS child WHERE child.joined_ask = asks.id AND child.ended_ms IS NULL)
            OR EXISTS (SELECT 1 FROM tasks JOIN attempts ON attempts.task = tasks.id
                        WHERE tasks.joined_ask = asks.id AND attempts.ended_ms IS NULL))
          ORDER BY ended_ms, rowid",
    )
}

/// The asks that an agent's callees owe it, or that it owes, and that are not over.
pub fn going_on_with(db: &Connection, agent: &AgentId) -> Sql<Vec<AskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE ended_ms IS NULL AND ?1 IN (caller, callee) ORDER BY created_ms, rowid"
    ))?;
    statement.query_map([agent.as_str()], read)?.collect()
}

/// The children of an ask that are asks, in the order of their beginning.
pub fn joined_to(db: &Connection, ask: &AskId) -> Sql<Vec<AskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE joined_ask = ?1 ORDER BY created_ms, rowid"
    ))?;
    statement.query_map([ask.as_str()], read)?.collect()
}

/// The ask that this caller made with this key.
pub fn of_key(db: &Connection, caller: Option<&AgentId>, callee: &AgentId, key: &str) -> Sql<Option<AskRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE coalesce(caller, '') = ?1 AND callee = ?2 AND key = ?3"
    ))?
    .query_row((caller.map_or("", AgentId::as_str), callee.as_str(), key), read)
    .optional()
}

/// The newest ask of this caller with this very prompt whose answer has not arrived.
pub fn same_question(
    db: &Connection,
    caller: &AgentId,
    callee: &AgentId,
    prompt: &str,
) -> Sql<Option<AskRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE caller = ?1 AND callee = ?2 AND prompt = ?3 AND delivered IS NULL
          ORDER BY created_ms DESC, rowid DESC LIMIT 1"
    ))?
    .query_row((caller.as_str(), callee.as_str(), prompt), read)
    .optional()
}

/// Who waits on whom, by the asks that are not over and not detached.
pub fn edges(db: &Connection) -> Sql<Vec<Edge>> {
    let mut statement = db.prepare_cached(
        "SELECT caller, callee FROM asks WHERE ended_ms IS NULL AND detached = 0
            AND caller IS NOT NULL AND callee IS NOT NULL",
    )?;
    let id = |text: String| AgentId::parse(&text).map_err(|e| unreadable("asks", e));
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    rows.map(|row| row.and_then(|(caller, callee)| Ok(Edge { caller: id(caller)?, callee: id(callee)? })))
        .collect()
}

/// How many asks of a callee are not over.
pub fn count_of_callee(db: &Connection, callee: &AgentId) -> Sql<u32> {
    db.prepare_cached("SELECT count(*) FROM asks WHERE callee = ?1 AND ended_ms IS NULL")?
        .query_row([callee.as_str()], |row| row.get(0))
}

/// Adds an ask. Its turn is put in line in the same transaction.
pub fn insert(tx: &Connection, row: &AskRow) -> Sql<()> {
    tx.prepare_cached(
        "INSERT INTO asks (id, project, caller, caller_name, callee, callee_name, prompt, follow_up, key, joined_ask,
           detached, deadline_ms, state, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'open', ?13)",
    )?
    .execute((
        row.id.as_str(),
        row.project.as_str(),
        row.caller.as_ref().map(AgentId::as_str),
        &row.caller_name,
        row.callee.as_ref().map(AgentId::as_str),
        &row.callee_name,
        &row.prompt,
        row.follow_up,
        &row.key,
        row.joined_ask.as_ref().map(AskId::as_str),
        row.detached,
        row.deadline_ms,
        row.created_ms,
    ))?;
    note(tx, row)
}

/// From the state of `row` into another one; false when it was not in that state any more.
pub fn set_state(tx: &Connection, row: &AskRow, state: &State, now_ms: i64) -> Sql<bool> {
    let (from, to) = (Words::of(&row.state), Words::of(state));
    let ended_ms = state.is_terminal().then_some(now_ms);
    let changed = tx
        .prepare_cached(
            "UPDATE asks SET state = ?2, final = ?3, followed = max(followed, ?4), reason = ?5, ended_ms = ?6
              WHERE id = ?1 AND state = ?7 AND followed = ?8",
        )?
        .execute((
            row.id.as_str(),
            to.state,
            to.text,
            to.followed,
            to.reason,
            ended_ms,
            from.state,
            from.followed,
        ))?;
    note_if(tx, row, changed)
}

/// Records that the answer has arrived, and how; false when it had before, or is not there yet.
pub fn set_delivered(tx: &Connection, row: &AskRow, by: Delivered) -> Sql<bool> {
    let word = match by {
        Delivered::Call => "call",
        Delivered::Inbox => "inbox",
    };
    let changed = tx.execute(
        "UPDATE asks SET delivered = ?2 WHERE id = ?1 AND delivered IS NULL AND ended_ms IS NOT NULL",
        (row.id.as_str(), word),
    )?;
    note_if(tx, row, changed)
}

/// Records that its caller has seen the end of a child, or wanted it.
pub fn set_seen(tx: &Connection, row: &AskRow) -> Sql<bool> {
    let changed = tx.execute("UPDATE asks SET seen = 1 WHERE id = ?1 AND seen = 0", [row.id.as_str()])?;
    note_if(tx, row, changed)
}

/// Removes asks that were over before `before_ms` and whose answer has arrived, or whose caller is the user; their
/// turns go with them. One stays while a turn or a child of its own goes on, while the ask that it belongs to goes
/// on or has not told its answer, and while a message about it waits.
pub fn forget(tx: &Connection, before_ms: i64) -> Sql<usize> {
    tx.execute(
        "DELETE FROM asks WHERE ended_ms < ?1 AND (delivered IS NOT NULL OR caller IS NULL)
            AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.ask = asks.id
                             AND (turns.state IN ('queued', 'starting', 'running') OR turns.resume = 1))
            AND NOT EXISTS (SELECT 1 FROM asks AS child WHERE child.joined_ask = asks.id AND child.ended_ms IS NULL)
            AND NOT EXISTS (SELECT 1 FROM tasks JOIN attempts ON attempts.task = tasks.id
                             WHERE tasks.joined_ask = asks.id AND attempts.ended_ms IS NULL)
            AND NOT EXISTS (SELECT 1 FROM asks AS parent WHERE parent.id = asks.joined_ask
                             AND (parent.ended_ms IS NULL OR parent.delivered IS NULL AND parent.caller IS NOT NULL))
            AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.about = asks.id
                             AND messages.state IN ('pending', 'claimed'))",
        [before_ms],
    )
}

/// Removes the asks of a project.
pub fn delete_of_project(tx: &Connection, project: &ProjectId) -> Sql<()> {
    tx.execute("DELETE FROM asks WHERE project = ?1", [project.as_str()])?;
    Ok(())
}

/// What an ask waits for changed, though its state did not.
pub fn note(tx: &Connection, row: &AskRow) -> Sql<()> {
    changes::note(tx, Tag::Ask, row.id.as_str(), Some(row.project.as_str()))
}

fn note_if(tx: &Connection, row: &AskRow, changed: usize) -> Sql<bool> {
    if changed == 1 {
        note(tx, row)?;
    }
    Ok(changed == 1)
}

fn select(db: &Connection, rest: &str) -> Sql<Vec<AskRow>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM asks {rest}"))?;
    statement.query_map([], read)?.collect()
}

/// The columns of a state.
struct Words<'a> {
    state: &'static str,
    text: Option<&'a str>,
    followed: bool,
    reason: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn of(state: &'a State) -> Self {
        let over = |state, text: &'a Option<String>, reason: &'a String| Words {
            state,
            text: text.as_deref(),
            followed: false,
            reason: Some(reason),
        };
        match state {
            State::Open => Words { state: "open", text: None, followed: false, reason: None },
            State::PendingFinal { text, followed } => {
                Words { state: "pending_final", text: Some(text), followed: *followed, reason: None }
            }
            State::Answered { text } => {
                Words { state: "answered", text: Some(text), followed: false, reason: None }
            }
            State::Failed { reason, text } => over("failed", text, reason),
            State::Cancelled { reason, text } => over("cancelled", text, reason),
            State::TimedOut { reason, text } => over("timed_out", text, reason),
        }
    }
}

fn read_state(row: &Row<'_>) -> Sql<State> {
    let text: Option<String> = row.get(14)?;
    let reason = || row.get::<_, Option<String>>(16).map(Option::unwrap_or_default);
    Ok(match row.get::<_, String>(13)?.as_str() {
        "open" => State::Open,
        "pending_final" => State::PendingFinal { text: text.unwrap_or_default(), followed: row.get(15)? },
        "answered" => State::Answered { text: text.unwrap_or_default() },
        "failed" => State::Failed { reason: reason()?, text },
        "cancelled" => State::Cancelled { reason: reason()?, text },
        "timed_out" => State::TimedOut { reason: reason()?, text },
        other => return Err(unreadable("asks", format!("state {other:?}"))),
    })
}

fn read(row: &Row<'_>) -> Sql<AskRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("asks", e);
    let agent = |index: usize| -> Sql<Option<AgentId>> {
        let id: Option<String> = row.get(index)?;
        id.map(|id| AgentId::parse(&id)).transpose().map_err(bad)
    };
    let joined: Option<String> = row.get(9)?;
    Ok(AskRow {
        id: AskId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        project: ProjectId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        caller: agent(2)?,
        caller_name: row.get(3)?,
        callee: agent(4)?,
        callee_name: row.get(5)?,
        prompt: row.get(6)?,
        follow_up: row.get(7)?,
        key: row.get(8)?,
        joined_ask: joined.map(|id| AskId::parse(&id)).transpose().map_err(bad)?,
        detached: row.get(10)?,
        seen: row.get(11)?,
        deadline_ms: row.get(12)?,
        state: read_state(row)?,
        delivered: match row.get::<_, Option<String>>(17)?.as_deref() {
            None => None,
            Some("call") => Some(Delivered::Call),
            Some("inbox") => Some(Delivered::Inbox),
            Some(other) => return Err(unreadable("asks", format!("delivered {other:?}"))),
        },
        created_ms: row.get(18)?,
        ended_ms: row.get(19)?,
    })
}
