//! Opening the file, and the one connection that writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{Error, Sql};
use crate::migrate;

/// A connection, as reads and writes hand it out.
pub type Db = Connection;
/// SQLite's own error, which only this crate gives a path to.
pub type SqlError = rusqlite::Error;

/// How long one try waits for another process that holds the file. A write tries again after that,
/// for as long as it takes.
const BUSY_TRY: Duration = Duration::from_secs(5);

/// The connection that writes. There is one, on one thread.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// A batch is open: a write is a part of its transaction.
    in_batch: bool,
}

/// A connection that only reads. In WAL mode it sees the last commit and never waits for a writer.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
}

/// What opening found.
#[derive(Debug)]
pub struct Opened {
    /// The writer.
    pub store: Store,
    /// Where a file that could not be read was moved, whole.
    pub moved_aside: Option<PathBuf>,
}

impl Store {
    /// Opens `path`, making it (0600) when it is absent. A corrupt file is moved aside with its
    /// `-wal` and `-shm` and a new one is made: nothing of the old is thrown away.
    pub fn open(path: &Path, now_ms: i64) -> Result<Opened, Error> {
        make_private(path)?;
        match Self::open_checked(path, now_ms) {
            Ok(store) => Ok(Opened { store, moved_aside: None }),
            Err(error) if is_corrupt(&error) => {
                let aside = move_aside(path, now_ms)?;
                tracing::error!(%error, aside = %aside.display(), "the ledger was corrupt and is moved aside");
                make_private(path)?;
                let store = Self::open_checked(path, now_ms)?;
                Ok(Opened { store, moved_aside: Some(aside) })
            }
            Err(error) => Err(error),
        }
    }

    fn open_checked(path: &Path, now_ms: i64) -> Result<Self, Error> {
        let fail = |operation| move |source| Error::Sqlite { path: path.to_owned(), operation, source };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail("opening"))?;
        connection.busy_timeout(BUSY_TRY).map_err(fail("opening"))?;
        // FULL: a commit that was acknowledged is on the disk, also after a power cut.
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
                 PRAGMA wal_autocheckpoint = 500; PRAGMA journal_size_limit = 4194304;",
            )
            .map_err(fail("opening"))?;
        let verdict: String =
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(fail("checking"))?;
        if verdict != "ok" {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            let source = rusqlite::Error::SqliteFailure(code, Some(verdict));
            return Err(fail("checking")(source));
        }
        migrate::migrate(&mut connection, path, now_ms)?;
        Ok(Self { path: path.to_owned(), connection, in_batch: false })
    }

    /// Opens a batch: until [`Store::commit_batch`], each write is a savepoint in one transaction, so
    /// that many of them cost one sync of the disk. A batch that need not be `durable` survives the
    /// death of the process, but not of the machine.
    pub fn begin_batch(&mut self, durable: bool) -> Result<(), Error> {
        let level = if durable { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
        self.connection.execute_batch(level).map_err(|source| self.failed("writing", source))?;
        self.patiently(|this| this.connection.execute_batch("BEGIN IMMEDIATE"))?;
        self.in_batch = true;
        Ok(())
    }

    /// Commits the batch. When that fails nothing of it stands.
    pub fn commit_batch(&mut self) -> Result<(), Error> {
        self.in_batch = false;
        self.connection.execute_batch("COMMIT").map_err(|source| {
            // What could not be committed must not stay open under the next batch.
            let _ = self.connection.execute_batch("ROLLBACK");
            self.failed("committing", source)
        })
    }

    /// Runs `work` in one immediate transaction and commits it. While another process holds the
    /// file it waits, with one warning, and begins again: `work` must have no effect outside.
    pub fn write<T>(&mut self, work: impl Fn(&Db) -> Sql<T>) -> Result<T, Error> {
        if self.in_batch {
            return self.write_part(&work).map_err(|source| self.failed("writing", source));
        }
        self.patiently(|this| {
            let tx = this.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&tx)?;
            tx.commit()?;
            Ok(value)
        })
    }

    fn write_part<T>(&mut self, work: &impl Fn(&Db) -> Sql<T>) -> Sql<T> {
        let part = self.connection.savepoint()?;
        let value = work(&part)?;
        part.commit()?;
        Ok(value)
    }

    /// Tries until nobody else holds the file, with one warning.
    fn patiently<T>(&mut self, work: impl Fn(&mut Self) -> Sql<T>) -> Result<T, Error> {
        let mut warned = false;
        loop {
            match work(self) {
                Err(source) if is_busy(&source) => {
                    if !warned {
                        tracing::warn!(path = %self.path.display(), "another process holds the ledger; waiting for it");
                        warned = true;
                    }
                }
                Err(source) => return Err(self.failed("writing", source)),
                Ok(value) => {
                    if warned {
                        tracing::info!("the ledger is free again");
                    }
                    return Ok(value);
                }
            }
        }
    }

    fn failed(&self, operation: &'static str, source: rusqlite::Error) -> Error {
        Error::Sqlite { path: self.path.clone(), operation, source }
    }

    /// Reads with the writer's own connection.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> Sql<T>) -> Result<T, Error> {
        work(&self.connection).map_err(|source| Error::Sqlite {
            path: self.path.clone(),
            operation: "reading",
            source,
        })
    }

    /// Another connection to the same file, for reading only.
    pub fn reader(&self) -> Result<Reader, Error> {
        let fail = |source| Error::Sqlite { path: self.path.clone(), operation: "opening", source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(fail)?;
        connection.busy_timeout(BUSY_TRY).map_err(fail)?;
        Ok(Reader { path: self.path.clone(), connection })
    }

    /// Moves what the write-ahead log holds into the file. Part of a clean exit.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|source| Error::Sqlite { path: self.path.clone(), operation: "checkpointing", source })
    }
}

impl Reader {
    /// Reads; no transaction is held afterwards.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> Sql<T>) -> Result<T, Error> {
        work(&self.connection).map_err(|source| Error::Sqlite {
            path: self.path.clone(),
            operation: "reading",
            source,
        })
    }
}

/// SQLite makes its side files with the mode of the main file, so that one is made first.
fn make_private(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    made.map(drop).map_err(|source| Error::Io { path: path.to_owned(), operation: "opening", source })
}

/// Renames the file and its side files together, so that no old log ever meets a new file.
fn move_aside(path: &Path, now_ms: i64) -> Result<PathBuf, Error> {
    let name = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let aside = name(&format!(".corrupt-{now_ms}"));
    for suffix in ["-wal", "-shm", ""] {
        let from = name(suffix);
        let to = PathBuf::from(format!("{}{suffix}", aside.display()));
        match std::fs::rename(&from, &to) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { path: from, operation: "moving aside", source }),
        }
    }
    Ok(aside)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

fn is_corrupt(error: &Error) -> bool {
    let Error::Sqlite { source, .. } = error else { return false };
    matches!(
        source.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
    )
}
