//! The change log: what went stale, by tag and id, in the order of the commits.

use rusqlite::Connection;

use crate::error::Sql;

/// What kind of row changed. The words are the ones that the window subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A project.
    Project,
    /// A profile.
    Profile,
    /// An agent.
    Agent,
    /// A run.
    Run,
    /// A setting.
    Settings,
    /// The layout of a project.
    Layout,
    /// A background task.
    Task,
    /// A message in an agent's inbox.
    Inbox,
    /// The waking of an agent.
    Wake,
    /// An ask.
    Ask,
    /// A turn; the row is its agent's.
    Turn,
    /// A command that waits for the user's word.
    Approval,
    /// The session limit of a profile; the row is the profile's.
    Limit,
    /// A workdir.
    Workdir,
    /// What is left behind; there is no row of it.
    Residue,
}

impl Tag {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "projectChanged",
            Self::Profile => "profileChanged",
            Self::Agent => "agentChanged",
            Self::Run => "runChanged",
            Self::Settings => "settingsChanged",
            Self::Layout => "layoutChanged",
            Self::Task => "backgroundTaskChanged",
            Self::Inbox => "agentInboxChanged",
            Self::Wake => "agentWakeChanged",
            Self::Ask => "askChanged",
            Self::Turn => "turnChanged",
            Self::Approval => "approvalChanged",
            Self::Limit => "limitChanged",
            Self::Workdir => "workdirChanged",
            Self::Residue => "residueChanged",
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its place in the order; grows by at least one with each.
    pub seq: u64,
    /// The word of its [`Tag`].
    pub tag: String,
    /// The id of the row.
    pub row: String,
    /// The project that the row belongs to, if any.
    pub project: Option<String>,
}

/// Notes a change; part of the transaction that makes it.
pub fn note(tx: &Connection, tag: Tag, row: &str, project: Option<&str>) -> Sql<()> {
    tx.prepare_cached("INSERT INTO changes (tag, row, project) VALUES (?1, ?2, ?3)")?.execute((
        tag.as_str(),
        row,
        project,
    ))?;
    Ok(())
}

/// The sequence number of the newest change, 0 when there was none.
pub fn newest(tx: &Connection) -> Sql<u64> {
    tx.prepare_cached("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)")?
        .query_row([], |row| row.get(0))
}

/// Up to `most` changes after `seq`; `None` when some of them are no longer kept, or when `seq` is
/// from another file's future.
pub fn after(tx: &Connection, seq: u64, most: usize) -> Sql<Option<Vec<Change>>> {
    let newest = newest(tx)?;
    if seq > newest {
        return Ok(None);
    }
    let mut statement =
        tx.prepare_cached("SELECT seq, tag, row, project FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let rows = statement.query_map((seq, most as i64), |row| {
        Ok(Change { seq: row.get(0)?, tag: row.get(1)?, row: row.get(2)?, project: row.get(3)? })
    })?;
    let changes = rows.collect::<Sql<Vec<_>>>()?;
    let complete = match changes.first() {
        Some(first) => first.seq == seq + 1,
        None => seq == newest,
    };
    Ok(complete.then_some(changes))
}

/// Drops all but the newest `kept` changes.
pub fn trim(tx: &Connection, kept: u64) -> Sql<usize> {
    let newest = newest(tx)?;
    tx.execute("DELETE FROM changes WHERE seq <= ?1", [newest.saturating_sub(kept)])
}
