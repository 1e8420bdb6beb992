//! The table `calls`: who waits for the answer of an ask.

use carillon_core::id::{AskId, CallId};
use rusqlite::Connection;

use crate::error::{Sql, unreadable};

/// The calls that wait for an ask, the oldest first.
pub fn of_ask(db: &Connection, ask: &AskId) -> Sql<Vec<CallId>> {
    let mut statement =
        db.prepare_cached("SELECT id FROM calls WHERE ask = ?1 ORDER BY created_ms, rowid")?;
    let ids = statement.query_map([ask.as_str()], |row| row.get::<_, String>(0))?;
    ids.map(|id| CallId::parse(&id?).map_err(|e| unreadable("calls", e))).collect()
}

/// All calls.
pub fn all(db: &Connection) -> Sql<Vec<CallId>> {
    let mut statement = db.prepare_cached("SELECT id FROM calls")?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    ids.map(|id| CallId::parse(&id?).map_err(|e| unreadable("calls", e))).collect()
}

/// Records that a call waits. One that is known waits already.
pub fn insert(tx: &Connection, id: &CallId, ask: &AskId, now_ms: i64) -> Sql<()> {
    tx.execute(
        "INSERT INTO calls (id, ask, created_ms) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
        (id.as_str(), ask.as_str(), now_ms),
    )?;
    Ok(())
}

/// The call waits no more.
pub fn delete(tx: &Connection, id: &CallId) -> Sql<()> {
    tx.execute("DELETE FROM calls WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

/// Nobody waits for the ask any more.
pub fn delete_of(tx: &Connection, ask: &AskId) -> Sql<()> {
    tx.execute("DELETE FROM calls WHERE ask = ?1", [ask.as_str()])?;
    Ok(())
}
