//! The schema, as an ordered list of migrations that are all-or-nothing and never edited after a
//! release: each is kept with the checksum of its text.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// The migrations by version, from 1. To change the schema, add one; never edit one.
pub const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_base.sql"),
    include_str!("../migrations/0002_tasks.sql"),
    include_str!("../migrations/0003_asks_and_workdirs.sql"),
    include_str!("../migrations/0004_usage_and_slots.sql"),
];

/// Brings the file to the newest schema.
pub fn migrate(connection: &mut Connection, path: &Path, now_ms: i64) -> Result<(), Error> {
    let sqlite = |source| Error::Sqlite { path: path.to_owned(), operation: "migrating the schema", source };
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS migrations (
               version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT",
        )
        .map_err(sqlite)?;
    let found: i64 = connection
        .query_row("SELECT coalesce(max(version), 0) FROM migrations", [], |row| row.get(0))
        .map_err(sqlite)?;
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(Error::TooNew { path: path.to_owned(), found, known });
    }
    for (version, text) in (1i64..).zip(MIGRATIONS) {
        let sum = checksum(text);
        let applied: Option<String> = connection
            .query_row("SELECT checksum FROM migrations WHERE version = ?1", [version], |row| row.get(0))
            .optional()
            .map_err(sqlite)?;
        match applied {
            Some(applied) if applied == sum => continue,
            Some(_) => return Err(Error::Checksum { path: path.to_owned(), version }),
            None => {}
        }
        let mut apply = || {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute_batch(text)?;
            tx.execute("INSERT INTO migrations VALUES (?1, ?2, ?3)", (version, &sum, now_ms))?;
            tx.commit()
        };
        apply().map_err(sqlite)?;
    }
    Ok(())
}

/// SHA-256 of a migration's text, as hex.
pub fn checksum(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}
