//! The tables `usage_sums` and `session_counts`: what turns have used together, and how far conversations are
//! counted.

use std::collections::HashMap;

use carillon_core::id::{AgentId, ProjectId};
use carillon_core::usage::{SessionCount, Usage, UsageSum};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// The columns of a usage, in the order in which they are read and written here and in `turns`.
pub(crate) const COLUMNS: &str =
    "input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd";

/// What the turns of an agent have used; `None` when none of them told.
pub fn of_agent(db: &Connection, agent: &AgentId) -> Sql<Option<UsageSum>> {
    let all = of(db, "WHERE agent = ?1", agent.as_str())?;
    // An agent stays in its project, so there is one row at most.
    Ok(all.into_iter().reduce(UsageSum::plus))
}

/// What the turns in each project have used, those of removed agents too.
pub fn of_projects(db: &Connection) -> Sql<HashMap<ProjectId, UsageSum>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS}, turns, priced_turns, project FROM usage_sums"))?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(7)?, sum(row)?)))?;
    let mut found: HashMap<ProjectId, UsageSum> = HashMap::new();
    for row in rows {
        let (project, one) = row?;
        let project = ProjectId::parse(&project).map_err(|e| unreadable("usage_sums", e))?;
        let all = found.entry(project).or_default();
        *all = all.plus(one);
    }
    Ok(found)
}

/// How far a conversation of an agent is counted.
pub fn counted(db: &Connection, agent: &AgentId, session: &str) -> Sql<Usage> {
    let found = db
        .prepare_cached(&format!("SELECT {COLUMNS} FROM session_counts WHERE agent = ?1 AND session = ?2"))?
        .query_row((agent.as_str(), session), |row| read(row, 0))
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Adds what a turn used to the sums. To be called in the transaction of its end, and only once.
pub(crate) fn add(tx: &Connection, project: &ProjectId, agent: &AgentId, usage: Usage) -> Sql<()> {
    let Some(one) = UsageSum::of_turn(usage) else { return Ok(()) };
    let known = of(tx, "WHERE agent = ?1", agent.as_str())?.into_iter().reduce(UsageSum::plus);
    let all = known.map_or(one, |known| known.plus(one));
    let Usage { input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd } = all.usage;
    tx.prepare_cached(&format!(
        "INSERT OR REPLACE INTO usage_sums (project, agent, turns, priced_turns, {COLUMNS})
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    ))?
    .execute((
        project.as_str(),
        agent.as_str(),
        all.turns,
        all.priced_turns,
        input_tokens,
        cached_tokens,
        output_tokens,
        reasoning_tokens,
        cost_micro_usd,
    ))?;
    changes::note(tx, Tag::Project, project.as_str(), Some(project.as_str()))
}

/// Records how far a conversation of an agent is counted now.
pub(crate) fn set_counted(tx: &Connection, agent: &AgentId, count: &SessionCount) -> Sql<()> {
    let Usage { input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd } = count.usage;
    tx.prepare_cached(&format!(
        "INSERT OR REPLACE INTO session_counts (agent, session, {COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    ))?
    .execute((
        agent.as_str(),
        &count.session,
        input_tokens,
        cached_tokens,
        output_tokens,
        reasoning_tokens,
        cost_micro_usd,
    ))?;
    Ok(())
}

/// A usage whose columns begin at `from`.
pub(crate) fn read(row: &Row<'_>, from: usize) -> Sql<Usage> {
    Ok(Usage {
        input_tokens: row.get(from)?,
        cached_tokens: row.get(from + 1)?,
        output_tokens: row.get(from + 2)?,
        reasoning_tokens: row.get(from + 3)?,
        cost_micro_usd: row.get(from + 4)?,
    })
}

fn of(db: &Connection, rest: &str, key: &str) -> Sql<Vec<UsageSum>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS}, turns, priced_turns FROM usage_sums {rest}"))?;
    statement.query_map([key], sum)?.collect()
}

fn sum(row: &Row<'_>) -> Sql<UsageSum> {
    Ok(UsageSum { usage: read(row, 0)?, turns: row.get(5)?, priced_turns: row.get(6)? })
}
