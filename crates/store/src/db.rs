//! Opening the file, and the one connection that writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{Error, Sql};
use crate::migrate;
use crate::stale_log::{self, Log};

/// A connection, as reads and writes hand it out.
pub type Db = Connection;
/// SQLite's own error, which only this crate gives a path to.
pub type SqlError = rusqlite::Error;

/// How long one try waits for another process that holds the file. A write tries again after that,
/// for as long as it takes.
const BUSY_TRY: Duration = Duration::from_secs(5);
/// Pause before the next try.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// How long a clean exit waits for another process that holds the file.
const EXIT_PATIENCE: Duration = Duration::from_millis(250);
/// The log is brought into the file and begun anew when it has grown by so much, in bytes.
const LOG_MAX_BYTES: u64 = 2 * 1024 * 1024;

/// The connection that writes. There is one, on one thread.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// A batch is open: a write is a part of its transaction.
    in_batch: bool,
    /// Something was changed since the transaction began.
    changed: bool,
    /// Which beginning of the log this is; see [`stale_log`].
    epoch: u32,
    /// Size of the log at which it is to be begun anew, in bytes.
    log_due_bytes: u64,
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
    /// Where a log was put that belongs to another time than the file does: a backup was put back
    /// while it lay there. The file holds without it.
    pub log_put_aside: Option<PathBuf>,
}

impl Store {
    /// Opens `path`, making it (0600) when it is absent. A corrupt file is moved aside with its
    /// `-wal` and `-shm` and a new one is made: nothing of the old is thrown away.
    pub fn open(path: &Path, now_ms: i64) -> Result<Opened, Error> {
        let looked = stale_log::look(path, &beside(path, "-wal"));
        let log = looked.map_err(|source| Error::Io {
            path: beside(path, "-wal"),
            operation: "looking at the log",
            source,
        })?;
        let (mut moved_aside, mut log_put_aside) = (None, None);
        match log {
            Log::Sound => {}
            Log::Stale => {
                let aside = put_log_aside(path, now_ms)?;
                tracing::warn!(aside = %aside.display(), "the ledger was put back from a backup; the log of another time is put aside");
                log_put_aside = Some(aside);
            }
            Log::Orphan => moved_aside = Some(move_aside(path, now_ms)?),
        }
        make_private(path)?;
        let store = match Self::open_checked(path, now_ms) {
            Err(error) if is_corrupt(&error) => {
                let aside = move_aside(path, now_ms)?;
                tracing::error!(%error, aside = %aside.display(), "the ledger was corrupt and is moved aside");
                moved_aside = Some(aside);
                make_private(path)?;
                Self::open_checked(path, now_ms)?
            }
            opened => opened?,
        };
        Ok(Opened { store, moved_aside, log_put_aside })
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
                 PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 4194304;",
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
        let epoch = connection
            .pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))
            .map_err(fail("opening"))?
            .cast_unsigned();
        let path = path.to_owned();
        let mut store =
            Self { path, connection, in_batch: false, changed: false, epoch, log_due_bytes: LOG_MAX_BYTES };
        let anew = store.begin_log_anew(stale_log::first_epoch(epoch, now_ms), Duration::ZERO);
        anew.map_err(|source| store.failed("opening", source))?;
        Ok(store)
    }

    /// Opens a batch: until [`Store::commit_batch`], each write is a savepoint in one transaction, so
    /// that many of them cost one sync of the disk. A batch that need not be `durable` survives the
    /// death of the process, but not of the machine.
    pub fn begin_batch(&mut self, durable: bool) -> Result<(), Error> {
        let level = if durable { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
        self.connection.execute_batch(level).map_err(|source| self.failed("writing", source))?;
        self.patiently(|this| this.connection.execute_batch("BEGIN IMMEDIATE"))?;
        self.in_batch = true;
        self.changed = false;
        Ok(())
    }

    /// Commits the batch. When that fails nothing of it stands.
    pub fn commit_batch(&mut self) -> Result<(), Error> {
        self.in_batch = false;
        self.seal().and_then(|()| self.connection.execute_batch("COMMIT")).map_err(|source| {
            // What could not be committed must not stay open under the next batch.
            let _ = self.connection.execute_batch("ROLLBACK");
            self.failed("committing", source)
        })?;
        self.tend_log();
        Ok(())
    }

    /// Runs `work` in one immediate transaction and commits it. While another process holds the
    /// file it waits, with one warning, and begins again: `work` must have no effect outside.
    pub fn write<T>(&mut self, work: impl Fn(&Db) -> Sql<T>) -> Result<T, Error> {
        if self.in_batch {
            return self.write_part(&work).map_err(|source| self.failed("writing", source));
        }
        let value = self.patiently(|this| {
            let before = this.connection.total_changes();
            let tx = this.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&tx)?;
            if tx.total_changes() > before {
                set_epoch(&tx, this.epoch)?;
            }
            tx.commit()?;
            Ok(value)
        })?;
        self.tend_log();
        Ok(value)
    }

    /// Begins a part of the batch that stands or falls as a whole, with all writes until
    /// [`Store::keep_part`] or [`Store::undo_part`]. Parts may lie within each other.
    pub fn begin_part(&mut self) -> Result<(), Error> {
        let begun = self.in_transaction().and_then(|()| self.connection.execute_batch("SAVEPOINT part"));
        begun.map_err(|source| self.failed("writing", source))
    }

    /// Ends the part that was begun last; what it wrote is in the batch.
    pub fn keep_part(&mut self) -> Result<(), Error> {
        let kept = self.in_transaction().and_then(|()| self.connection.execute_batch("RELEASE part"));
        kept.map_err(|source| self.failed("writing", source))
    }

    /// Takes back what was written since the part that was begun last, and ends it.
    pub fn undo_part(&mut self) -> Result<(), Error> {
        let undone = self.in_transaction();
        let undone = undone.and_then(|()| self.connection.execute_batch("ROLLBACK TO part; RELEASE part"));
        undone.map_err(|source| self.failed("writing", source))
    }

    /// Some errors, a full disk for one, make SQLite take back the whole transaction by itself. What was
    /// written after that would stand alone.
    fn in_transaction(&self) -> Sql<()> {
        if self.in_batch && self.connection.is_autocommit() {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT_ROLLBACK);
            let why = "the transaction was taken back after an error".to_owned();
            return Err(rusqlite::Error::SqliteFailure(code, Some(why)));
        }
        Ok(())
    }

    fn write_part<T>(&mut self, work: &impl Fn(&Db) -> Sql<T>) -> Sql<T> {
        self.in_transaction()?;
        let before = self.connection.total_changes();
        let part = self.connection.savepoint()?;
        let value = work(&part)?;
        part.commit()?;
        self.changed |= self.connection.total_changes() > before;
        Ok(value)
    }

    /// Writes the epoch into the transaction, when that has changed anything.
    fn seal(&self) -> Sql<()> {
        if self.changed { set_epoch(&self.connection, self.epoch) } else { Ok(()) }
    }

    /// Begins the log anew when it has grown. What another program holds is tried again later.
    fn tend_log(&mut self) {
        let log_bytes = std::fs::metadata(beside(&self.path, "-wal")).map_or(0, |meta| meta.len());
        if log_bytes < self.log_due_bytes {
            return;
        }
        match self.begin_log_anew(stale_log::next_epoch(self.epoch), Duration::ZERO) {
            Ok(true) => self.log_due_bytes = LOG_MAX_BYTES,
            Ok(false) => self.log_due_bytes = log_bytes + LOG_MAX_BYTES,
            Err(error) => {
                tracing::warn!(%error, "the log of the ledger cannot be brought into it");
                self.log_due_bytes = log_bytes + LOG_MAX_BYTES;
            }
        }
    }

    /// Brings what the log holds into the file and begins it anew under another epoch; false when
    /// somebody kept some of it for longer than `patience`. The last epoch comes first, so that a log
    /// that ends right here is still known for the file's own.
    fn begin_log_anew(&mut self, epoch: u32, patience: Duration) -> Sql<bool> {
        self.connection.busy_timeout(patience)?;
        let anew = set_epoch(&self.connection, self.epoch)
            .and_then(|()| set_epoch(&self.connection, epoch))
            .and_then(|()| {
                self.epoch = epoch;
                let busy = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
                self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy)
            });
        self.connection.busy_timeout(BUSY_TRY)?;
        match anew {
            Ok(busy) => Ok(busy == 0),
            Err(error) if is_busy(&error) => Ok(false),
            Err(error) => Err(error),
        }
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
                    // A refusal that comes at once must not become a loop that burns.
                    std::thread::sleep(BUSY_PAUSE);
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
        let anew = self.begin_log_anew(stale_log::next_epoch(self.epoch), EXIT_PATIENCE);
        anew.map(drop).map_err(|source| self.failed("checkpointing", source))
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

/// A file that SQLite keeps beside the ledger.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Renames the file and its side files together, so that no old log ever meets a new file.
fn move_aside(path: &Path, now_ms: i64) -> Result<PathBuf, Error> {
    let aside = beside(path, &format!(".corrupt-{now_ms}"));
    for suffix in ["-wal", "-shm", ""] {
        rename(&beside(path, suffix), &beside(&aside, suffix))?;
    }
    Ok(aside)
}

/// Renames the log out of the way, and its index with it.
fn put_log_aside(path: &Path, now_ms: i64) -> Result<PathBuf, Error> {
    let aside = beside(path, &format!(".stale-{now_ms}"));
    for suffix in ["-shm", "-wal"] {
        rename(&beside(path, suffix), &beside(&aside, suffix))?;
    }
    Ok(beside(&aside, "-wal"))
}

fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::Io { path: from.to_owned(), operation: "moving aside", source }),
        Ok(()) => Ok(()),
    }
}

/// Writes the epoch to page 1, also when it is the same: so that each commit carries it.
fn set_epoch(connection: &Connection, epoch: u32) -> Sql<()> {
    connection.execute_batch(&format!("PRAGMA user_version = {epoch}"))
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
