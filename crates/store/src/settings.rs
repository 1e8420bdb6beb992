//! The table `settings`: one JSON value by key.

use rusqlite::Connection;

use crate::changes::{self, Tag};
use crate::error::Sql;

/// All settings that were ever set.
pub fn all(db: &Connection) -> Sql<Vec<(String, String)>> {
    let mut statement = db.prepare_cached("SELECT key, value FROM settings ORDER BY key")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Sets one.
pub fn put(tx: &Connection, key: &str, value: &str) -> Sql<()> {
    tx.execute(
        "INSERT INTO settings (key, value) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )?;
    changes::note(tx, Tag::Settings, key, None)
}
