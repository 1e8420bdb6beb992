//! The table `hooks_heard`: the newest things that hooks of live runs have told, to know a repeat.

use carillon_core::id::RunId;
use carillon_core::limits::HOOKS_REMEMBERED;
use rusqlite::Connection;

use crate::error::Sql;

/// Whether this was heard already.
pub fn is_heard(db: &Connection, run: &RunId, id: &str) -> Sql<bool> {
    db.prepare_cached("SELECT EXISTS (SELECT 1 FROM hooks_heard WHERE run = ?1 AND id = ?2)")?
        .query_row((run.as_str(), id), |row| row.get(0))
}

/// Remembers that this was heard. Of each run the newest are kept, of one that is over none: nothing is heard
/// of it any more.
pub fn set_heard(tx: &Connection, run: &RunId, id: &str) -> Sql<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO hooks_heard (run, id) VALUES (?1, ?2)")?
        .execute((run.as_str(), id))?;
    tx.prepare_cached(
        "DELETE FROM hooks_heard WHERE run = ?1 AND rowid NOT IN
           (SELECT rowid FROM hooks_heard WHERE run = ?1 ORDER BY rowid DESC LIMIT ?2)",
    )?
    .execute((run.as_str(), HOOKS_REMEMBERED as i64))?;
    tx.prepare_cached(
        "DELETE FROM hooks_heard WHERE run IN
           (SELECT r.id FROM hooks_heard AS h JOIN runs AS r ON r.id = h.run WHERE r.state IN ('ended', 'lost'))",
    )?
    .execute([])?;
    Ok(())
}
