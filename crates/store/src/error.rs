//! What can go wrong with the ledger.

use std::path::PathBuf;

/// An error of the store, naming the file and what was being done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite refused.
    #[error("{operation} in {path}: {source}")]
    Sqlite {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        operation: &'static str,
        /// SQLite's word.
        source: rusqlite::Error,
    },
    /// The file system refused.
    #[error("{operation} {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        operation: &'static str,
        /// The system's word.
        source: std::io::Error,
    },
    /// The file was written by a newer Carillon.
    #[error(
        "{path} was written by a newer Carillon (its schema is {found}, this one knows {known}); start that version, or move the file away"
    )]
    TooNew {
        /// The database file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// A released migration reads differently from what was applied.
    #[error(
        "{path}: migration {version} was applied with another text than this program has; the file belongs to a changed build"
    )]
    Checksum {
        /// The database file.
        path: PathBuf,
        /// Which migration.
        version: i64,
    },
    /// A row holds what no version of this program writes.
    #[error("a row of {table} cannot be read: {what}")]
    Row {
        /// The table.
        table: &'static str,
        /// What is wrong.
        what: String,
    },
}

/// Shorthand inside this crate: SQLite's own result, given a path by the caller.
pub(crate) type Sql<T> = Result<T, rusqlite::Error>;

/// A column whose text no version of this program writes.
pub(crate) fn unreadable(table: &'static str, what: impl std::fmt::Display) -> rusqlite::Error {
    let error = Error::Row { table, what: what.to_string() };
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}
