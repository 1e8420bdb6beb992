//! The table `limits`: session limits that hold, by profile.

use carillon_core::id::{AgentId, ProfileId};
use carillon_core::limit::Limited;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

const COLUMNS: &str = "profile, reason, until_ms, resume_ms, probe, held, since_ms";

/// The limit of a profile.
pub fn get(db: &Connection, profile: &ProfileId) -> Sql<Option<Limited>> {
    let found = db
        .prepare_cached(&format!("SELECT {COLUMNS} FROM limits WHERE profile = ?1"))?
        .query_row([profile.as_str()], read)
        .optional()?;
    Ok(found.map(|(_, limited)| limited))
}

/// All limits that hold.
pub fn list(db: &Connection) -> Sql<Vec<(ProfileId, Limited)>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM limits ORDER BY since_ms"))?;
    statement.query_map([], read)?.collect()
}

/// Writes the limit of a profile, or that there is none.
pub fn set(tx: &Connection, profile: &ProfileId, limited: Option<&Limited>) -> Sql<()> {
    match limited {
        None => tx.execute("DELETE FROM limits WHERE profile = ?1", [profile.as_str()])?,
        Some(limited) => tx.execute(
            "INSERT OR REPLACE INTO limits (profile, reason, until_ms, resume_ms, probe, held, since_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                profile.as_str(),
                &limited.reason,
                limited.until_ms,
                limited.resume_ms,
                limited.probe.as_ref().map(AgentId::as_str),
                limited.held,
                limited.since_ms,
            ),
        )?,
    };
    changes::note(tx, Tag::Limit, profile.as_str(), None)?;
    changes::note(tx, Tag::Profile, profile.as_str(), None)?;
    let mut statement = tx.prepare_cached("SELECT id, project FROM agents WHERE profile = ?1")?;
    let agents = statement
        .query_map([profile.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
        .collect::<Sql<Vec<_>>>()?;
    agents.iter().try_for_each(|(agent, project)| changes::note(tx, Tag::Agent, agent, Some(project)))
}

fn read(row: &Row<'_>) -> Sql<(ProfileId, Limited)> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("limits", e);
    let probe: Option<String> = row.get(4)?;
    let limited = Limited {
        reason: row.get(1)?,
        until_ms: row.get(2)?,
        resume_ms: row.get(3)?,
        probe: probe.map(|id| AgentId::parse(&id)).transpose().map_err(bad)?,
        held: row.get(5)?,
        since_ms: row.get(6)?,
    };
    Ok((ProfileId::parse(&row.get::<_, String>(0)?).map_err(bad)?, limited))
}
