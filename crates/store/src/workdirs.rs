//! The table `workdirs`: worktrees that Carillon made, and the tombstones of those that are gone.

use carillon_core::id::{AgentId, ProjectId, WorkdirId};
use carillon_core::workdir::{State, Why};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkdirRow {
    /// Its identity.
    pub id: WorkdirId,
    /// Where it belongs.
    pub project: ProjectId,
    /// Its name, unique among those of the project that are there.
    pub name: String,
    /// The main checkout of its repository.
    pub repository: String,
    /// Its own path.
    pub path: String,
    /// The branch that was made with it.
    pub branch: Option<String>,
    /// The branch that its work goes to.
    pub base_branch: Option<String>,
    /// The commit that it began from; known once git has made it.
    pub base_commit: Option<String>,
    /// Device and inode of its directory.
    pub identity: Option<(u64, u64)>,
    /// Ignored files that it got a copy of.
    pub copied: Vec<String>,
    /// The directory above it was made with it.
    pub parent_is_ours: bool,
    /// The agent that works in it.
    pub owner: Option<AgentId>,
    /// Where it stands.
    pub state: State,
    /// What its archive could not keep, in words.
    pub not_kept: Vec<String>,
    /// It is gone, and git did not let its branch go.
    pub branch_stays: bool,
    /// When it was accepted, in Unix milliseconds.
    pub created_ms: i64,
    /// When it was gone, in Unix milliseconds.
    pub ended_ms: Option<i64>,
}

const COLUMNS: &str =
    "id, project, name, repository, path, branch, base_branch, base_commit, device, inode, copied,
    parent_is_ours, owner, state, refused, keep, why, detail, archive_ref, not_kept, created_ms, ended_ms, branch_stays";

/// One workdir.
pub fn get(db: &Connection, id: &WorkdirId) -> Sql<Option<WorkdirRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM workdirs WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()
}

/// The workdirs of a project, or all; those that are there first, then the newest.
pub fn list(db: &Connection, project: Option<&ProjectId>) -> Sql<Vec<WorkdirRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM workdirs WHERE (?1 IS NULL OR project = ?1)
          ORDER BY state = 'tombstoned', created_ms DESC, rowid DESC"
    ))?;
    statement.query_map([project.map(ProjectId::as_str)], read)?.collect()
}

/// Workdirs that are on their way to something: being made, or going.
pub fn on_their_way(db: &Connection) -> Sql<Vec<WorkdirRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM workdirs WHERE state IN ('creating', 'merged', 'abandoned', 'removing')"
    ))?;
    statement.query_map([], read)?.collect()
}

/// Records a workdir that is about to be made.
pub fn insert(tx: &Connection, row: &WorkdirRow) -> Sql<()> {
    tx.execute(
        "INSERT INTO workdirs (id, project, name, repository, path, branch, base_branch, owner, state, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'creating', ?9)",
        (
            row.id.as_str(),
            row.project.as_str(),
            &row.name,
            &row.repository,
            &row.path,
            &row.branch,
            &row.base_branch,
            row.owner.as_ref().map(AgentId::as_str),
            row.created_ms,
        ),
    )?;
    note(tx, row)
}

/// Records what git has made, or brought back.
pub fn set_made(tx: &Connection, row: &WorkdirRow) -> Sql<()> {
    tx.execute(
        "UPDATE workdirs SET path = ?2, branch = ?3, base_branch = ?4, base_commit = ?5, device = ?6, inode = ?7,
                copied = ?8, parent_is_ours = ?9, branch_stays = ?10 WHERE id = ?1",
        (
            row.id.as_str(),
            &row.path,
            &row.branch,
            &row.base_branch,
            &row.base_commit,
            row.identity.map(|(device, _)| device.cast_signed()),
            row.identity.map(|(_, inode)| inode.cast_signed()),
            serde_json::json!(row.copied).to_string(),
            row.parent_is_ours,
            row.branch_stays,
        ),
    )?;
    note(tx, row)
}

/// The branch of one that is gone is gone, too.
pub fn set_branch_gone(tx: &Connection, row: &WorkdirRow) -> Sql<()> {
    tx.execute("UPDATE workdirs SET branch_stays = 0 WHERE id = ?1", [row.id.as_str()])?;
    note(tx, row)
}

/// Records who works in it.
pub fn set_owner(tx: &Connection, row: &WorkdirRow, owner: Option<&AgentId>) -> Sql<()> {
    tx.execute(
        "UPDATE workdirs SET owner = ?2 WHERE id = ?1",
        (row.id.as_str(), owner.map(AgentId::as_str)),
    )?;
    note(tx, row)
}

/// From the state of `row` into another one; false when it was not in that state any more.
pub fn set_state(tx: &Connection, row: &WorkdirRow, state: &State, now_ms: i64) -> Sql<bool> {
    let words = Words::of(state);
    let ended_ms = matches!(state, State::Tombstoned { .. }).then_some(now_ms);
    let changed = tx.execute(
        "UPDATE workdirs SET state = ?2, refused = ?3, keep = ?4, why = ?5, detail = ?6, archive_ref = ?7,
                ended_ms = ?8, not_kept = ?9 WHERE id = ?1 AND state = ?10",
        (
            row.id.as_str(),
            state.word(),
            words.refused,
            words.keep,
            words.why,
            words.detail,
            words.archive_ref,
            ended_ms,
            serde_json::json!(row.not_kept).to_string(),
            row.state.word(),
        ),
    )?;
    if changed == 1 {
        note(tx, row)?;
    }
    Ok(changed == 1)
}

/// Removes the tombstones of a project.
pub fn delete_of_project(tx: &Connection, project: &ProjectId) -> Sql<()> {
    tx.execute("DELETE FROM workdirs WHERE project = ?1 AND state = 'tombstoned'", [project.as_str()])?;
    Ok(())
}

fn note(tx: &Connection, row: &WorkdirRow) -> Sql<()> {
    changes::note(tx, Tag::Workdir, row.id.as_str(), Some(row.project.as_str()))
}

/// The columns of a state.
#[derive(Default)]
struct Words<'a> {
    refused: Option<&'a str>,
    keep: bool,
    why: Option<&'static str>,
    detail: Option<&'a str>,
    archive_ref: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn of(state: &'a State) -> Self {
        let because = |why: &'a Why| match why {
            Why::Merged => (Some("merged"), None),
            Why::Abandoned { by } => (Some("abandoned"), Some(by.as_str())),
            Why::NeverMade { message } => (Some("never_made"), Some(message.as_str())),
            Why::Vanished => (Some("vanished"), None),
        };
        match state {
            State::Creating => Words::default(),
            State::Active { refused } => Words { refused: refused.as_deref(), ..Words::default() },
            State::Merged { keep } => Words { keep: *keep, ..Words::default() },
            State::Abandoned { by, keep } => Words { detail: Some(by), keep: *keep, ..Words::default() },
            State::Removing { why } => {
                let (why, detail) = because(why);
                Words { why, detail, ..Words::default() }
            }
            State::Tombstoned { why, archive_ref } => {
                let (why, detail) = because(why);
                Words { why, detail, archive_ref: archive_ref.as_deref(), ..Words::default() }
            }
        }
    }
}

fn read_state(row: &Row<'_>) -> Sql<State> {
    let detail = || row.get::<_, Option<String>>(17).map(Option::unwrap_or_default);
    let why = || -> Sql<Why> {
        Ok(match row.get::<_, String>(16)?.as_str() {
            "merged" => Why::Merged,
            "abandoned" => Why::Abandoned { by: detail()? },
            "never_made" => Why::NeverMade { message: detail()? },
            "vanished" => Why::Vanished,
            other => return Err(unreadable("workdirs", format!("why {other:?}"))),
        })
    };
    Ok(match row.get::<_, String>(13)?.as_str() {
        "creating" => State::Creating,
        "active" => State::Active { refused: row.get(14)? },
        "merged" => State::Merged { keep: row.get(15)? },
        "abandoned" => State::Abandoned { by: detail()?, keep: row.get(15)? },
        "removing" => State::Removing { why: why()? },
        "tombstoned" => State::Tombstoned { why: why()?, archive_ref: row.get(18)? },
        other => return Err(unreadable("workdirs", format!("state {other:?}"))),
    })
}

fn read(row: &Row<'_>) -> Sql<WorkdirRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("workdirs", e);
    let list = |index: usize| -> Sql<Vec<String>> {
        serde_json::from_str(&row.get::<_, String>(index)?).map_err(|e| unreadable("workdirs", e))
    };
    let owner: Option<String> = row.get(12)?;
    let identity = row.get::<_, Option<i64>>(8)?.zip(row.get::<_, Option<i64>>(9)?);
    Ok(WorkdirRow {
        id: WorkdirId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        project: ProjectId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        name: row.get(2)?,
        repository: row.get(3)?,
        path: row.get(4)?,
        branch: row.get(5)?,
        base_branch: row.get(6)?,
        base_commit: row.get(7)?,
        identity: identity.map(|(device, inode)| (device.cast_unsigned(), inode.cast_unsigned())),
        copied: list(10)?,
        parent_is_ours: row.get(11)?,
        owner: owner.map(|id| AgentId::parse(&id)).transpose().map_err(bad)?,
        state: read_state(row)?,
        not_kept: list(19)?,
        created_ms: row.get(20)?,
        ended_ms: row.get(21)?,
        branch_stays: row.get(22)?,
    })
}
