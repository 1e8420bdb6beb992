//! The table `agents`.

use carillon_core::id::{AgentId, ProfileId, ProjectId};
use carillon_core::words::{Agent, Mode};
use rusqlite::{Connection, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// All agents in the order in which they were added.
pub fn list(db: &Connection) -> Sql<Vec<Agent>> {
    let mut statement = db.prepare_cached(
        "SELECT id, name, project, profile, mode, role, workdir, stopped_by_user
           FROM agents ORDER BY created_ms, rowid",
    )?;
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
    })
}
