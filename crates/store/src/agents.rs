//! The table `agents`.

use carillon_core::id::{AgentId, ProfileId, ProjectId};
use carillon_core::words::{Agent, Mode};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

const COLUMNS: &str = "id, name, project, profile, mode, role, workdir, stopped_by_user, session_id";

/// What is known of an agent's wakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// Wakes in a row that came to nothing.
    pub failed: u32,
    /// The next one not before this time, in Unix milliseconds.
    pub not_before_ms: i64,
    /// What went wrong last.
    pub reason: Option<String>,
}

/// The wakes of an agent.
pub fn wakes_of(db: &Connection, id: &AgentId) -> Sql<Wakes> {
    let found = db
        .prepare_cached("SELECT wake_failed, wake_not_before_ms, wake_reason FROM agents WHERE id = ?1")?
        .query_row([id.as_str()], |row| {
            Ok(Wakes { failed: row.get(0)?, not_before_ms: row.get(1)?, reason: row.get(2)? })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Records how an agent's wakes went.
pub fn set_wakes(tx: &Connection, agent: &Agent, wakes: &Wakes) -> Sql<()> {
    tx.execute(
        "UPDATE agents SET wake_failed = ?2, wake_not_before_ms = ?3, wake_reason = ?4 WHERE id = ?1",
        (agent.id.as_str(), wakes.failed, wakes.not_before_ms, &wakes.reason),
    )?;
    changes::note(tx, Tag::Wake, agent.id.as_str(), Some(agent.project.as_str()))?;
    changes::note(tx, Tag::Agent, agent.id.as_str(), Some(agent.project.as_str()))
}

/// Records the session of the agent's own program.
pub fn set_session(tx: &Connection, agent: &Agent, session: Option<&str>) -> Sql<()> {
    tx.execute("UPDATE agents SET session_id = ?2 WHERE id = ?1", (agent.id.as_str(), session))?;
    changes::note(tx, Tag::Agent, agent.id.as_str(), Some(agent.project.as_str()))
}

/// One agent.
pub fn get(db: &Connection, id: &AgentId) -> Sql<Option<Agent>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM agents WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()
}

/// All agents in the order in which they were added.
pub fn list(db: &Connection) -> Sql<Vec<Agent>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM agents ORDER BY created_ms, rowid"))?;
    statement.query_map([], read)?.collect()
}

/// Adds an agent.
pub fn insert(tx: &Connection, agent: &Agent, now_ms: i64) -> Sql<()> {
    tx.execute(
        "INSERT INTO agents (id, name, project, profile, mode, role, workdir, stopped_by_user, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        (
            agent.id.as_str(),
            &agent.name,
            agent.project.as_str(),
            agent.profile.as_str(),
            mode_word(agent.mode),
            &agent.role,
            &agent.workdir,
            agent.stopped_by_user,
            now_ms,
        ),
    )?;
    changes::note(tx, Tag::Agent, agent.id.as_str(), Some(agent.project.as_str()))
}

/// Records whether the user wants the agent to stay down.
pub fn set_stopped(tx: &Connection, agent: &Agent, stopped: bool) -> Sql<()> {
    tx.execute("UPDATE agents SET stopped_by_user = ?2 WHERE id = ?1", (agent.id.as_str(), stopped))?;
    changes::note(tx, Tag::Agent, agent.id.as_str(), Some(agent.project.as_str()))
}

/// Whatever is shown of the agents of a profile is stale.
pub fn note_all_of(tx: &Connection, profile: &ProfileId) -> Sql<()> {
    let mut statement = tx.prepare_cached("SELECT id, project FROM agents WHERE profile = ?1")?;
    let rows = statement.query_map([profile.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for row in rows.collect::<Sql<Vec<(String, String)>>>()? {
        changes::note(tx, Tag::Agent, &row.0, Some(&row.1))?;
    }
    Ok(())
}

/// Removes an agent; false when it was not there. Its runs stay on the ledger.
pub fn delete(tx: &Connection, agent: &Agent) -> Sql<bool> {
    let gone = tx.execute("DELETE FROM agents WHERE id = ?1", [agent.id.as_str()])? == 1;
    if gone {
        changes::note(tx, Tag::Agent, agent.id.as_str(), Some(agent.project.as_str()))?;
    }
    Ok(gone)
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Terminal => "terminal",
        Mode::Headless => "headless",
    }
}

fn read(row: &Row<'_>) -> Sql<Agent> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("agents", e);
    let text = |index: usize| row.get::<_, String>(index);
    let mode = match text(4)?.as_str() {
        "terminal" => Mode::Terminal,
        "headless" => Mode::Headless,
        other => return Err(unreadable("agents", format!("mode {other:?}"))),
    };
    Ok(Agent {
        id: AgentId::parse(&text(0)?).map_err(bad)?,
        name: text(1)?,
        project: ProjectId::parse(&text(2)?).map_err(bad)?,
        profile: ProfileId::parse(&text(3)?).map_err(bad)?,
        mode,
        role: text(5)?,
        workdir: text(6)?,
        stopped_by_user: row.get(7)?,
        session_id: row.get(8)?,
    })
}
