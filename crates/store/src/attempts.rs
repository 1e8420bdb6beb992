//! The table `attempts`: where each attempt of a task stands.

use carillon_core::id::{AgentId, ProjectId, RunId, TaskId};
use carillon_core::run::LostWhy;
use carillon_core::task::{Failure, State};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRow {
    /// Of which task.
    pub task: TaskId,
    /// The how-manieth, from 1.
    pub number: u32,
    /// Where it belongs.
    pub project: ProjectId,
    /// Where it stands.
    pub state: State,
    /// Who asked for its end.
    pub cancel_by: Option<String>,
    /// Its run, once it has a slot.
    pub run: Option<RunId>,
    /// Bytes of output at its end.
    pub log_bytes: u64,
    /// Whether some of the output is not kept.
    pub log_truncated: bool,
    /// A descendant still held the output when the drain was over.
    pub output_held: bool,
    /// Processes that are still there, in words.
    pub left_over: Vec<String>,
    /// When it was put in line, in Unix milliseconds.
    pub created_ms: i64,
    /// When its command began, in Unix milliseconds.
    pub started_ms: Option<i64>,
    /// When it was over, in Unix milliseconds.
    pub ended_ms: Option<i64>,
}

const COLUMNS: &str = "task, number, project, state, failure, exit_code, signal, detail, lost_why, cancel_by,
    run, log_bytes, log_truncated, created_ms, started_ms, ended_ms, output_held, left_over";

/// The latest attempt of a task.
pub fn latest(db: &Connection, task: &TaskId) -> Sql<Option<AttemptRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM attempts WHERE task = ?1 ORDER BY number DESC LIMIT 1"
    ))?
    .query_row([task.as_str()], read)
    .optional()
}

/// The attempt that a run belongs to.
pub fn of_run(db: &Connection, run: &RunId) -> Sql<Option<AttemptRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM attempts WHERE run = ?1"))?
        .query_row([run.as_str()], read)
        .optional()
}

/// Attempts that have a slot.
pub fn at_work(db: &Connection) -> Sql<Vec<AttemptRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM attempts WHERE state IN ('starting', 'running') ORDER BY created_ms"
    ))?;
    statement.query_map([], read)?.collect()
}

/// Where the commands of tasks that are not over run, or will: a directory for each, of a project or of all.
pub fn open_cwds(db: &Connection, project: Option<&ProjectId>) -> Sql<Vec<String>> {
    let mut statement = db.prepare_cached(
        "SELECT tasks.cwd FROM attempts JOIN tasks ON tasks.id = attempts.task
          WHERE attempts.state IN ('awaiting_approval', 'queued', 'starting', 'running')
            AND (?1 IS NULL OR tasks.project = ?1)",
    )?;
    statement.query_map([project.map(ProjectId::as_str)], |row| row.get(0))?.collect()
}

/// Projects with attempts in line.
pub fn projects_in_line(db: &Connection) -> Sql<Vec<ProjectId>> {
    let mut statement = db.prepare_cached("SELECT DISTINCT project FROM attempts WHERE state = 'queued'")?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    ids.map(|id| ProjectId::parse(&id?).map_err(|e| unreadable("attempts", e))).collect()
}

/// Puts a new attempt in line, or lets it wait for the user's word: `row` tells its state.
pub fn insert(tx: &Connection, row: &AttemptRow) -> Sql<()> {
    tx.prepare_cached(
        "INSERT INTO attempts (task, number, project, state, created_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        row.task.as_str(),
        row.number,
        row.project.as_str(),
        Words::of(&row.state).state,
        row.created_ms,
    ))?;
    note(tx, row)
}

/// `awaiting_approval → queued`; false when it did not wait for that.
pub fn set_approved(tx: &Connection, row: &AttemptRow) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE attempts SET state = 'queued' WHERE task = ?1 AND number = ?2 AND state = 'awaiting_approval'",
        (row.task.as_str(), row.number),
    )?;
    note_if(tx, row, changed)
}

/// How many slots there are for a claim.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// Attempts of the project that may be at work, those that lend their slot not counted.
    pub project: u32,
    /// Attempts of one owner that may be at work.
    pub owner: u32,
}

/// `queued → starting` for the first in line whose project and owner have a slot left; one
/// statement. Attempts whose run is in `lent` (a JSON array of ids) wait for another task and take
/// no slot.
pub fn claim(
    tx: &Connection,
    project: &ProjectId,
    slots: Slots,
    lent: &str,
    run: &RunId,
) -> Sql<Option<AttemptRow>> {
    let claimed = tx
        .prepare_cached(&format!(
            "WITH at_work AS (
               SELECT tasks.owner AS owner FROM attempts JOIN tasks ON tasks.id = attempts.task
                WHERE attempts.project = ?1 AND attempts.state IN ('starting', 'running')
                  AND attempts.run NOT IN (SELECT value FROM json_each(?4))),
             next AS (
               SELECT attempts.task AS task, attempts.number AS number
                 FROM attempts JOIN tasks ON tasks.id = attempts.task
                WHERE attempts.project = ?1 AND attempts.state = 'queued'
                  AND (SELECT count(*) FROM at_work) < ?2
                  AND (tasks.owner IS NULL
                       OR (SELECT count(*) FROM at_work WHERE at_work.owner = tasks.owner) < ?3)
                ORDER BY attempts.created_ms, tasks.rowid LIMIT 1)
             UPDATE attempts SET state = 'starting', run = ?5
              WHERE (task, number) = (SELECT task, number FROM next)
             RETURNING {COLUMNS}"
        ))?
        .query_row((project.as_str(), slots.project, slots.owner, lent, run.as_str()), read)
        .optional()?;
    if let Some(row) = &claimed {
        note(tx, row)?;
    }
    Ok(claimed)
}

/// `starting → running`; false when it was not starting.
pub fn set_running(tx: &Connection, row: &AttemptRow, started_ms: i64) -> Sql<bool> {
    let changed = tx
        .prepare_cached(
            "UPDATE attempts SET state = 'running', started_ms = ?3
              WHERE task = ?1 AND number = ?2 AND state = 'starting'",
        )?
        .execute((row.task.as_str(), row.number, started_ms))?;
    note_if(tx, row, changed)
}

/// `starting → queued`: its run was recorded, but nothing of it was ever started.
pub fn set_queued_again(tx: &Connection, row: &AttemptRow) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE attempts SET state = 'queued', run = NULL WHERE task = ?1 AND number = ?2 AND state = 'starting'",
        (row.task.as_str(), row.number),
    )?;
    note_if(tx, row, changed)
}

/// Records that somebody asked for the end; the first who did stands.
pub fn set_cancel_requested(tx: &Connection, row: &AttemptRow, by: &str) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE attempts SET cancel_by = ?3 WHERE task = ?1 AND number = ?2 AND cancel_by IS NULL
            AND state IN ('awaiting_approval', 'queued', 'starting', 'running')",
        (row.task.as_str(), row.number, by),
    )?;
    note_if(tx, row, changed)
}

/// The end: from any live state into a terminal one; false when it was over already.
pub fn set_over(tx: &Connection, row: &AttemptRow, state: &State, ended_ms: i64) -> Sql<bool> {
    let words = Words::of(state);
    let changed = tx
        .prepare_cached(
            "UPDATE attempts SET state = ?3, failure = ?4, exit_code = ?5, signal = ?6, detail = ?7,
                    lost_why = ?8, ended_ms = ?9, log_bytes = ?10, log_truncated = ?11,
                    started_ms = coalesce(started_ms, ?12), output_held = ?13, left_over = ?14
              WHERE task = ?1 AND number = ?2 AND state IN ('awaiting_approval', 'queued', 'starting', 'running')",
        )?
        .execute((
            row.task.as_str(),
            row.number,
            words.state,
            words.failure,
            words.exit_code,
            words.signal,
            words.detail,
            words.lost_why,
            ended_ms,
            row.log_bytes,
            row.log_truncated,
            row.started_ms,
            row.output_held,
            serde_json::json!(row.left_over).to_string(),
        ))?;
    note_if(tx, row, changed)
}

fn note(tx: &Connection, row: &AttemptRow) -> Sql<()> {
    changes::note(tx, Tag::Task, row.task.as_str(), Some(row.project.as_str()))
}

fn note_if(tx: &Connection, row: &AttemptRow, changed: usize) -> Sql<bool> {
    if changed == 1 {
        note(tx, row)?;
    }
    Ok(changed == 1)
}

/// The owner of a task is told once for each attempt; see [`crate::messages`].
pub fn owner_of(db: &Connection, task: &TaskId) -> Sql<Option<AgentId>> {
    let owner: Option<Option<String>> = db
        .prepare_cached("SELECT owner FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    owner.flatten().map(|id| AgentId::parse(&id).map_err(|e| unreadable("tasks", e))).transpose()
}

/// The columns of a state.
#[derive(Default)]
struct Words<'a> {
    state: &'static str,
    failure: Option<&'static str>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    detail: Option<&'a str>,
    lost_why: Option<&'static str>,
}

impl<'a> Words<'a> {
    fn of(state: &'a State) -> Self {
        let plain = |state| Words { state, ..Words::default() };
        match state {
            State::AwaitingApproval => plain("awaiting_approval"),
            State::Queued => plain("queued"),
            State::Starting => plain("starting"),
            State::Running => plain("running"),
            State::TimedOut => plain("timed_out"),
            State::Succeeded => Words { exit_code: Some(0), ..plain("succeeded") },
            State::Cancelled { by } => Words { detail: Some(by), ..plain("cancelled") },
            State::Lost(LostWhy::Rebooted) => Words { lost_why: Some("rebooted"), ..plain("lost") },
            State::Lost(LostWhy::SupervisorGone) => {
                Words { lost_why: Some("supervisor_gone"), ..plain("lost") }
            }
            State::Failed(Failure::Exit(code)) => {
                Words { failure: Some("exit"), exit_code: Some(*code), ..plain("failed") }
            }
            State::Failed(Failure::Signal(signal)) => {
                Words { failure: Some("signal"), signal: Some(*signal), ..plain("failed") }
            }
            State::Failed(Failure::NotStarted { message }) => {
                Words { failure: Some("not_started"), detail: Some(message), ..plain("failed") }
            }
            State::Failed(Failure::SystemStop) => Words { failure: Some("system_stop"), ..plain("failed") },
        }
    }
}

fn read_state(row: &Row<'_>) -> Sql<State> {
    let text = |index: usize| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
    let bad = |what: String| unreadable("attempts", what);
    Ok(match text(3)?.as_str() {
        "awaiting_approval" => State::AwaitingApproval,
        "queued" => State::Queued,
        "starting" => State::Starting,
        "running" => State::Running,
        "succeeded" => State::Succeeded,
        "timed_out" => State::TimedOut,
        "cancelled" => State::Cancelled { by: text(7)? },
        "lost" => State::Lost(match text(8)?.as_str() {
            "rebooted" => LostWhy::Rebooted,
            "supervisor_gone" => LostWhy::SupervisorGone,
            other => return Err(bad(format!("lost_why {other:?}"))),
        }),
        "failed" => State::Failed(match text(4)?.as_str() {
            "exit" => Failure::Exit(row.get(5)?),
            "signal" => Failure::Signal(row.get(6)?),
            "not_started" => Failure::NotStarted { message: text(7)? },
            "system_stop" => Failure::SystemStop,
            other => return Err(bad(format!("failure {other:?}"))),
        }),
        other => return Err(bad(format!("state {other:?}"))),
    })
}

fn read(row: &Row<'_>) -> Sql<AttemptRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("attempts", e);
    let run: Option<String> = row.get(10)?;
    Ok(AttemptRow {
        task: TaskId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        number: row.get(1)?,
        project: ProjectId::parse(&row.get::<_, String>(2)?).map_err(bad)?,
        state: read_state(row)?,
        cancel_by: row.get(9)?,
        run: run.map(|id| RunId::parse(&id)).transpose().map_err(bad)?,
        log_bytes: row.get(11)?,
        log_truncated: row.get(12)?,
        output_held: row.get(16)?,
        left_over: serde_json::from_str(&row.get::<_, String>(17)?).map_err(|e| unreadable("attempts", e))?,
        created_ms: row.get(13)?,
        started_ms: row.get(14)?,
        ended_ms: row.get(15)?,
    })
}
