//! The table `tasks`: what was asked for. Where it stands is in `attempts`.

use carillon_core::id::{AgentId, AskId, ProjectId, TaskId};
use carillon_core::words::Task;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::{Sql, unreadable};
use crate::runs::RunRow;

const COLUMNS: &str =
    "id, project, owner, title, command, cwd, tty, detached, timeout_ms, log_max, created_ms, env_key,
    joined_ask, seen_attempt";

/// A task and when it was asked for, in Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The task.
    pub task: Task,
    /// When it was accepted, in Unix milliseconds.
    pub created_ms: i64,
    /// Names the file with its environment; none: the user's own.
    pub env_key: Option<String>,
    /// The ask whose turn started it; none: it stands alone.
    pub joined_ask: Option<AskId>,
    /// The newest attempt whose end its owner has seen, or wanted; 0: none.
    pub seen_attempt: u32,
}

/// One task.
pub fn get(db: &Connection, id: &TaskId) -> Sql<Option<TaskRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()
}

/// The tasks of a project, or all, the newest first; with `state` only those whose latest attempt has
/// it (the word of the column).
pub fn list(
    db: &Connection,
    project: Option<&ProjectId>,
    state: Option<&str>,
    most: usize,
) -> Sql<Vec<TaskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM tasks WHERE (?1 IS NULL OR project = ?1)
            AND (?2 IS NULL OR ?2 = (SELECT state FROM attempts WHERE task = tasks.id ORDER BY number DESC LIMIT 1))
          ORDER BY created_ms DESC, rowid DESC LIMIT ?3"
    ))?;
    statement.query_map((project.map(ProjectId::as_str), state, most as i64), read)?.collect()
}

/// The tasks whose id begins like this; two are enough to know that it is not unique.
pub fn by_prefix(db: &Connection, prefix: &str) -> Sql<Vec<TaskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM tasks WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2"
    ))?;
    statement.query_map([prefix], read)?.collect()
}

/// Adds a task. Its first attempt is added in the same transaction.
pub fn insert(tx: &Connection, row: &TaskRow) -> Sql<()> {
    let task = &row.task;
    tx.prepare_cached(
        "INSERT INTO tasks (id, project, owner, title, command, cwd, tty, detached, timeout_ms, log_max, created_ms,
           env_key, joined_ask)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute((
        task.id.as_str(),
        task.project.as_str(),
        task.owner.as_ref().map(AgentId::as_str),
        &task.title,
        serde_json::json!(task.command).to_string(),
        &task.cwd,
        task.tty,
        task.detached,
        task.timeout_ms,
        task.log_max,
        row.created_ms,
        &row.env_key,
        row.joined_ask.as_ref().map(AskId::as_str),
    ))?;
    Ok(())
}

/// The children of an ask that are tasks, in the order of their beginning.
pub fn joined_to(db: &Connection, ask: &AskId) -> Sql<Vec<TaskRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM tasks WHERE joined_ask = ?1 ORDER BY created_ms, rowid"
    ))?;
    statement.query_map([ask.as_str()], read)?.collect()
}

/// The tasks that an agent asked for during this run of its and that are not over; none for the run of a task. Of an
/// agent that was removed neither the run nor the task tells it any more: then tasks of nobody in these times count.
pub fn heirs_of(db: &Connection, run: &RunRow) -> Sql<Vec<TaskId>> {
    if run.task.is_some() {
        return Ok(Vec::new());
    }
    let mut statement = db.prepare_cached(
        "SELECT t.id FROM tasks AS t WHERE t.project = ?1 AND t.owner IS ?2 AND t.created_ms >= ?3
            AND (?4 IS NULL OR t.created_ms <= ?4)
            AND EXISTS (SELECT 1 FROM attempts WHERE task = t.id
                  AND state IN ('awaiting_approval', 'queued', 'starting', 'running'))",
    )?;
    let agent = run.agent.as_ref().map(AgentId::as_str);
    let ids = statement.query_map((run.project.as_str(), agent, run.created_ms, run.ended_ms), |row| {
        row.get::<_, String>(0)
    })?;
    ids.map(|id| TaskId::parse(&id?).map_err(|e| unreadable("tasks", e))).collect()
}

/// Records that the owner has seen the end of an attempt, or wanted it.
pub fn set_seen(tx: &Connection, row: &TaskRow, attempt: u32) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE tasks SET seen_attempt = ?2 WHERE id = ?1 AND seen_attempt < ?2",
        (row.task.id.as_str(), attempt),
    )?;
    Ok(changed == 1)
}

/// Ids of tasks that were over before `before_ms` and of which no run directory is kept.
pub fn forgotten(db: &Connection, before_ms: i64) -> Sql<Vec<TaskId>> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM tasks AS t WHERE created_ms < ?1
            AND NOT EXISTS (SELECT 1 FROM attempts WHERE task = t.id AND coalesce(ended_ms, ?1) >= ?1)
            AND NOT EXISTS (SELECT 1 FROM runs WHERE task = t.id AND (dir_state = 'kept' OR temp_state = 'held'))",
    )?;
    let ids = statement.query_map([before_ms], |row| row.get::<_, String>(0))?;
    ids.map(|id| TaskId::parse(&id?).map_err(|e| unreadable("tasks", e))).collect()
}

/// Names of the environment files that tasks still need.
pub fn env_keys(db: &Connection) -> Sql<Vec<String>> {
    let mut statement = db.prepare_cached("SELECT DISTINCT env_key FROM tasks WHERE env_key IS NOT NULL")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Removes a task with its attempts.
pub fn delete(tx: &Connection, id: &TaskId) -> Sql<()> {
    tx.execute("DELETE FROM tasks WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Sql<TaskRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("tasks", e);
    let owner: Option<String> = row.get(2)?;
    let command: String = row.get(4)?;
    Ok(TaskRow {
        task: Task {
            id: TaskId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
            project: ProjectId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
            owner: owner.map(|id| AgentId::parse(&id)).transpose().map_err(bad)?,
            title: row.get(3)?,
            command: serde_json::from_str(&command).map_err(|e| unreadable("tasks", e))?,
            cwd: row.get(5)?,
            tty: row.get(6)?,
            detached: row.get(7)?,
            timeout_ms: row.get(8)?,
            log_max: row.get(9)?,
        },
        created_ms: row.get(10)?,
        env_key: row.get(11)?,
        joined_ask: row.get::<_, Option<String>>(12)?.map(|id| AskId::parse(&id)).transpose().map_err(bad)?,
        seen_attempt: row.get(13)?,
    })
}
