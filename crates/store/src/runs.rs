//! The table `runs`.

use carillon_core::id::{AgentId, ProjectId, RunId, TaskId};
use carillon_core::run::{Cause, Ending, LostWhy, State};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Its identity.
    pub id: RunId,
    /// Where it belongs.
    pub project: ProjectId,
    /// Whose terminal it is; none when that agent was removed.
    pub agent: Option<AgentId>,
    /// Of which task it is an attempt.
    pub task: Option<TaskId>,
    /// Where it stands.
    pub state: State,
    /// The leader's process id, once known.
    pub pid: Option<u32>,
    /// The leader's start time in clock ticks since the boot.
    pub start_time: Option<u64>,
    /// The boot under which it began.
    pub boot_id: Option<String>,
    /// Its temp directory.
    pub temp_path: Option<String>,
    /// Whether that directory may still be there.
    pub temp_held: bool,
    /// Whether its run directory is kept.
    pub dir_kept: bool,
    /// Bytes of output at its end.
    pub log_bytes: u64,
    /// When it was recorded, in Unix milliseconds.
    pub created_ms: i64,
    /// When its program began, in Unix milliseconds.
    pub started_ms: Option<i64>,
    /// When it ended or was found lost, in Unix milliseconds.
    pub ended_ms: Option<i64>,
}

const COLUMNS: &str =
    "id, project, agent, state, cause, detail, exit_code, signal, lost_why, pid, start_time,
    boot_id, temp_path, temp_state, dir_state, log_bytes, created_ms, started_ms, ended_ms, task";

/// One run.
pub fn get(db: &Connection, id: &RunId) -> Sql<Option<RunRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()
}

/// The runs that are not over.
pub fn live(db: &Connection) -> Sql<Vec<RunRow>> {
    select(db, "WHERE state IN ('starting', 'running') ORDER BY created_ms")
}

/// All runs, the newest first.
pub fn all(db: &Connection) -> Sql<Vec<RunRow>> {
    select(db, "ORDER BY created_ms DESC, rowid DESC")
}

/// Ended runs whose temp directory has not been seen to go.
pub fn holding_temp(db: &Connection) -> Sql<Vec<RunRow>> {
    select(db, "WHERE temp_state = 'held' AND state IN ('ended', 'lost') ORDER BY created_ms")
}

/// All runs whose directory is kept, the newest first.
pub fn with_dir(db: &Connection) -> Sql<Vec<RunRow>> {
    select(db, "WHERE dir_state = 'kept' ORDER BY created_ms DESC, rowid DESC")
}

/// Those right beyond the newest `kept` runs of an agent whose directory is kept, the newest first. A few are enough:
/// one more comes with each run.
pub fn beyond_kept(db: &Connection, agent: &AgentId, kept: usize) -> Sql<Vec<RunRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM runs WHERE agent = ?1 AND dir_state = 'kept'
          ORDER BY created_ms DESC, rowid DESC LIMIT 8 OFFSET ?2"
    ))?;
    statement.query_map((agent.as_str(), kept as i64), read)?.collect()
}

/// The newest run of an agent.
pub fn newest_of(db: &Connection, agent: &AgentId) -> Sql<Option<RunRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM runs WHERE agent = ?1 ORDER BY created_ms DESC, rowid DESC LIMIT 1"
    ))?
    .query_row([agent.as_str()], read)
    .optional()
}

/// Records a run that is about to start.
pub fn insert_starting(tx: &Connection, row: &RunRow) -> Sql<()> {
    tx.execute(
        "INSERT INTO runs (id, project, agent, state, temp_path, temp_state, dir_state, created_ms, task)
         VALUES (?1, ?2, ?3, 'starting', ?4, ?5, 'kept', ?6, ?7)",
        (
            row.id.as_str(),
            row.project.as_str(),
            row.agent.as_ref().map(AgentId::as_str),
            &row.temp_path,
            if row.temp_path.is_some() { "held" } else { "none" },
            row.created_ms,
            row.task.as_ref().map(TaskId::as_str),
        ),
    )?;
    note(tx, row)
}

/// `starting → running`; false when it was not starting.
pub fn set_running(tx: &Connection, row: &RunRow) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE runs SET state = 'running', pid = ?2, start_time = ?3, boot_id = ?4, started_ms = ?5
          WHERE id = ?1 AND state = 'starting'",
        (row.id.as_str(), row.pid, row.start_time, &row.boot_id, row.started_ms),
    )?;
    note_if(tx, row, changed)
}

/// `starting | running → ended`; false when it was over already.
pub fn set_ended(tx: &Connection, row: &RunRow, ending: &Ending, ended_ms: i64) -> Sql<bool> {
    let (cause, detail) = cause_words(&ending.cause);
    let changed = tx.execute(
        "UPDATE runs SET state = 'ended', cause = ?2, detail = ?3, exit_code = ?4, signal = ?5, ended_ms = ?6,
                log_bytes = ?7, started_ms = coalesce(started_ms, ?8)
          WHERE id = ?1 AND state IN ('starting', 'running')",
        (
            row.id.as_str(),
            cause,
            detail,
            ending.exit_code,
            ending.signal.filter(|_| ending.exit_code.is_none()),
            ended_ms,
            row.log_bytes,
            row.started_ms,
        ),
    )?;
    note_if(tx, row, changed)
}

/// `starting | running → lost`; false when it was over already.
pub fn set_lost(tx: &Connection, row: &RunRow, why: LostWhy, now_ms: i64) -> Sql<bool> {
    let word = match why {
        LostWhy::Rebooted => "rebooted",
        LostWhy::SupervisorGone => "supervisor_gone",
    };
    let changed = tx.execute(
        "UPDATE runs SET state = 'lost', lost_why = ?2, ended_ms = ?3, log_bytes = ?4
          WHERE id = ?1 AND state IN ('starting', 'running')",
        (row.id.as_str(), word, now_ms, row.log_bytes),
    )?;
    note_if(tx, row, changed)
}

/// The temp directory is in the trash, or was never there.
pub fn set_temp_buried(tx: &Connection, id: &RunId) -> Sql<()> {
    tx.execute("UPDATE runs SET temp_state = 'buried' WHERE id = ?1 AND temp_state = 'held'", [id.as_str()])?;
    Ok(())
}

/// The run directory is gone.
pub fn set_dir_dropped(tx: &Connection, id: &RunId) -> Sql<()> {
    tx.execute("UPDATE runs SET dir_state = 'dropped' WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

/// Forgets the runs of which nothing is left on the disk and nobody asks: over, without temp and
/// directory, and without an agent or not the newest of it.
pub fn forget_spent(tx: &Connection) -> Sql<usize> {
    tx.execute(
        "DELETE FROM runs WHERE state IN ('ended', 'lost') AND temp_state <> 'held' AND dir_state = 'dropped'
            AND (agent IS NULL OR EXISTS (SELECT 1 FROM runs AS newer
                   WHERE newer.agent = runs.agent AND newer.created_ms > runs.created_ms))",
        [],
    )
}

fn select(db: &Connection, rest: &str) -> Sql<Vec<RunRow>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM runs {rest}"))?;
    statement.query_map([], read)?.collect()
}

/// A run's change makes its agent stale as well: the agent's state is read from it.
fn note(tx: &Connection, row: &RunRow) -> Sql<()> {
    let project = Some(row.project.as_str());
    changes::note(tx, Tag::Run, row.id.as_str(), project)?;
    match &row.agent {
        Some(agent) => changes::note(tx, Tag::Agent, agent.as_str(), project),
        None => Ok(()),
    }
}

fn note_if(tx: &Connection, row: &RunRow, changed: usize) -> Sql<bool> {
    if changed == 1 {
        note(tx, row)?;
    }
    Ok(changed == 1)
}

fn cause_words(cause: &Cause) -> (&'static str, Option<&str>) {
    match cause {
        Cause::Ended => ("ended", None),
        Cause::TimedOut => ("timed_out", None),
        Cause::Stopped { by } => ("stopped", Some(by)),
        Cause::SystemStop => ("system_stop", None),
        Cause::OutputTooLarge => ("output_too_large", None),
        Cause::NeverBegan => ("never_began", None),
        Cause::SpawnFailed { message } => ("spawn_failed", Some(message)),
    }
}

fn read_state(row: &Row<'_>) -> Sql<State> {
    let state: String = row.get(3)?;
    let bad = |what: String| unreadable("runs", what);
    match state.as_str() {
        "starting" => Ok(State::Starting),
        "running" => Ok(State::Running),
        "lost" => match row.get::<_, String>(8)?.as_str() {
            "rebooted" => Ok(State::Lost(LostWhy::Rebooted)),
            "supervisor_gone" => Ok(State::Lost(LostWhy::SupervisorGone)),
            other => Err(bad(format!("lost_why {other:?}"))),
        },
        "ended" => {
            let detail: Option<String> = row.get(5)?;
            let cause = match row.get::<_, String>(4)?.as_str() {
                "ended" => Cause::Ended,
                "timed_out" => Cause::TimedOut,
                "stopped" => Cause::Stopped { by: detail.unwrap_or_default() },
                "system_stop" => Cause::SystemStop,
                "output_too_large" => Cause::OutputTooLarge,
                "never_began" => Cause::NeverBegan,
                "spawn_failed" => Cause::SpawnFailed { message: detail.unwrap_or_default() },
                other => return Err(bad(format!("cause {other:?}"))),
            };
            Ok(State::Ended(Ending { cause, exit_code: row.get(6)?, signal: row.get(7)? }))
        }
        other => Err(bad(format!("state {other:?}"))),
    }
}

fn read(row: &Row<'_>) -> Sql<RunRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("runs", e);
    let agent: Option<String> = row.get(2)?;
    let task: Option<String> = row.get(19)?;
    Ok(RunRow {
        id: RunId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        project: ProjectId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        agent: agent.map(|id| AgentId::parse(&id)).transpose().map_err(bad)?,
        task: task.map(|id| TaskId::parse(&id)).transpose().map_err(bad)?,
        state: read_state(row)?,
        pid: row.get(9)?,
        start_time: row.get(10)?,
        boot_id: row.get(11)?,
        temp_path: row.get(12)?,
        temp_held: row.get::<_, String>(13)? == "held",
        dir_kept: row.get::<_, String>(14)? == "kept",
        log_bytes: row.get(15)?,
        created_ms: row.get(16)?,
        started_ms: row.get(17)?,
        ended_ms: row.get(18)?,
    })
}
