//! A run's directory, its lease, and what can be told from both.

use crate::error::Error;
use crate::files::{self, Durable};
use crate::linux::process;
use crate::spec::{ExitRecord, Started};
use rustix::fs::{FlockOperation, Mode};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A new run directory with its lease. As long as this value (or a supervisor that inherited the
/// lease) lives, [`observe`] answers [`Observed::Alive`].
#[derive(Debug)]
pub struct LeasedRun {
    /// The run's directory.
    pub path: PathBuf,
    pub(crate) dir: OwnedFd,
}

/// Makes `<runs_root>/<run>` (mode 0700) and takes its lease.
///
/// # Errors
/// [`Error::File`] when the directory exists already or cannot be made, [`Error::Spec`] when `run` is
/// not an id.
pub fn create(runs_root: &Path, run: &str) -> Result<LeasedRun, Error> {
    if !is_run_id(run) {
        let why = format!("{run:?} is not a run id (32 lower-case hex digits)");
        return Err(Error::Spec { why });
    }
    let path = runs_root.join(run);
    rustix::fs::mkdir(&path, Mode::RWXU).map_err(|e| Error::file("create", &path, e))?;
    let dir = files::open_dir(&path)?;
    rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive)
        .map_err(|e| Error::file("lock", &path, e))?;
    Ok(LeasedRun { path, dir })
}

/// Whether this is the id of a run: 32 lower-case hex digits.
pub(crate) fn is_run_id(run: &str) -> bool {
    run.len() == 32 && run.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

impl LeasedRun {
    /// Writes what a turn reads from its standard input, durably and readable by nobody else. To be
    /// called before [`launch`](crate::launch()) for a spec with [`Io::Turn`](crate::Io::Turn). It is a
    /// file, so nobody ever waits for a program that reads it slowly or not at all.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written.
    pub fn write_prompt(&self, prompt: &[u8]) -> Result<(), Error> {
        files::write_bytes(self.dir.as_fd(), files::PROMPT, prompt, Durable::ContentAndName)
            .map_err(|e| Error::file("write", self.path.join(files::PROMPT), e))
    }
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// Nobody is alive and the program was never executed: it may be started again.
    NeverBegan,
    /// Somebody holds the lease: the supervisor, or who is about to start it.
    Alive {
        /// What was started, once the supervisor has recorded it.
        started: Option<Started>,
    },
    /// The run is over and this is how it ended.
    Ended(ExitRecord),
    /// The supervisor died without a record. Its descendants may live on.
    Lost(Started),
    /// The directory is not there, so nothing can be said.
    Gone,
}

/// Says what became of a run, by its lease and never by age or a bare pid. Keeps no lease.
///
/// # Errors
/// [`Error::File`] when the directory cannot be read, when a record cannot be reached. One that is damaged
/// is no error: then its end is not known.
pub fn observe(run_dir: &Path) -> Result<Observed, Error> {
    let dir = match files::open_dir(run_dir) {
        Ok(dir) => dir,
        Err(Error::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Observed::Gone);
        }
        Err(e) => return Err(e),
    };
    let dir = dir.as_fd();
    // The order matters: the record is written before the lease is let go, so it is complete if the
    // lease was free *before* it was looked for.
    if lease_is_held(dir, run_dir)? {
        let started = readable(files::read_json(dir, run_dir, files::STARTED))?.flatten();
        return Ok(Observed::Alive { started });
    }
    let record = readable(files::read_json(dir, run_dir, files::EXIT))?;
    if let Some(Some(record)) = record {
        return Ok(Observed::Ended(record));
    }
    match readable(files::read_json(dir, run_dir, files::STARTED))? {
        Some(Some(started)) => Ok(Observed::Lost(started)),
        Some(None) if record.is_some() => Ok(Observed::NeverBegan),
        // A record is there that nobody can read: it began, and its end is not known.
        Some(None) | None => Ok(Observed::Lost(unreadable(run_dir))),
    }
}

/// Waits until the lease is free, at most `patience`; says whether it is. For the moment between the
/// end of a supervisor's connection and the end of its process, which are one event for the kernel
/// and two for whoever looks from outside.
pub fn wait_until_free(run_dir: &Path, patience: Duration) -> bool {
    let Ok(dir) = files::open_dir(run_dir) else { return true };
    let until = Instant::now() + patience;
    let mut pause = Duration::from_micros(50);
    while let Ok(true) = lease_is_held(dir.as_fd(), run_dir) {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    true
}

/// Tells a record that is damaged (`None`) from one that cannot be reached (an error).
fn readable<T>(read: Result<Option<T>, Error>) -> Result<Option<Option<T>>, Error> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(Error::Content { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// What is known of a run whose records are damaged: that it belongs to this boot cannot be ruled
/// out, so its marker is looked for.
fn unreadable(run_dir: &Path) -> Started {
    Started {
        run: run_dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        pid: None,
        start_time: None,
        boot_id: boot_id(),
        supervisor_pid: 0,
        supervisor_start_time: 0,
        started_ms: 0,
        cgroup: None,
    }
}

/// Whether anybody holds the lease of the directory behind this fresh descriptor.
///
/// A shared lock is tried, so that two observers never take each other for a holder, and it is given
/// back explicitly, so that a child that another thread is just forking cannot prolong it.
pub(crate) fn lease_is_held(dir: BorrowedFd<'_>, path: &Path) -> Result<bool, Error> {
    loop {
        match rustix::fs::flock(dir, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                rustix::fs::flock(dir, FlockOperation::Unlock).map_err(|e| Error::file("unlock", path, e))?;
                return Ok(false);
            }
            Err(Errno::WOULDBLOCK) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(e) => return Err(Error::file("lock", path, e)),
        }
    }
}

/// The id of this boot of the machine. The environment variable `CARILLON_BOOT_ID` overrides it, so
/// that a test can play a reboot. Empty when the system does not say.
pub fn boot_id() -> String {
    if let Some(id) = std::env::var_os("CARILLON_BOOT_ID") {
        return id.to_string_lossy().into_owned();
    }
    process::boot_id()
}

/// Whether the process `pid` of now is the one that had this start time (clock ticks since boot) in
/// that boot. A zombie is not: it will never do anything again.
pub fn is_same_process(pid: u32, start_time: u64, boot_id: &str) -> bool {
    !boot_id.is_empty()
        && boot_id == self::boot_id()
        && process::read(pid).is_some_and(|p| p.start_time == start_time && !p.is_dead())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Cause;

    const RUN: &str = "0123456789abcdef0123456789abcdef";

    fn started() -> Started {
        Started {
            run: RUN.into(),
            pid: Some(1),
            start_time: Some(2),
            boot_id: "b".into(),
            supervisor_pid: 3,
            supervisor_start_time: 4,
            started_ms: 5,
            cgroup: None,
        }
    }

    fn record() -> ExitRecord {
        ExitRecord {
            run: RUN.into(),
            cause: Cause::Ended,
            exit_code: Some(0),
            signal: None,
            started_ms: 0,
            ended_ms: 0,
            duration_ms: 0,
            log_bytes: 0,
            log_truncated: false,
            output_held: false,
            errors_bytes: 0,
            errors_truncated: false,
            ended: vec![],
            left: vec![],
        }
    }

    /// The rule of the lease as a table: (lease held, started.json, exit.json) to what is observed.
    #[test]
    fn the_lease_rule_as_a_table() {
        for held in [true, false] {
            for with_started in [true, false] {
                for with_exit in [true, false] {
                    let temp = tempfile::tempdir().expect("temp");
                    let run = create(temp.path(), RUN).expect("create");
                    let path = run.path.clone();
                    if with_started {
                        files::write_json(
                            run.dir.as_fd(),
                            files::STARTED,
                            &started(),
                            Durable::ContentAndName,
                        )
                        .expect("started");
                    }
                    if with_exit {
                        files::write_json(run.dir.as_fd(), files::EXIT, &record(), Durable::ContentAndName)
                            .expect("exit");
                    }
                    let lease = held.then_some(run);
                    let expected = match (held, with_started, with_exit) {
                        (true, s, _) => Observed::Alive { started: s.then(started) },
                        (false, _, true) => Observed::Ended(record()),
                        (false, true, false) => Observed::Lost(started()),
                        (false, false, false) => Observed::NeverBegan,
                    };
                    // Twice, because observing must not leave a lease behind.
                    assert_eq!(observe(&path).expect("observe"), expected);
                    assert_eq!(observe(&path).expect("observe"), expected);
                    drop(lease);
                }
            }
        }
    }

    #[test]
    fn a_missing_directory_is_gone_and_an_existing_one_is_not_taken_over() {
        let temp = tempfile::tempdir().expect("temp");
        let absent = observe(&temp.path().join(RUN)).expect("observe");
        assert_eq!(absent, Observed::Gone);
        let first = create(temp.path(), RUN).expect("create");
        assert!(matches!(
            create(temp.path(), RUN),
            Err(Error::File { operation: "create", path, .. }) if path == first.path
        ));
    }

    #[test]
    fn a_run_id_cannot_leave_the_root() {
        let temp = tempfile::tempdir().expect("temp");
        for bad in ["", "..", "../x", "0123456789ABCDEF0123456789ABCDEF", "a/b"] {
            assert!(matches!(create(temp.path(), bad), Err(Error::Spec { .. })));
        }
    }

    #[test]
    fn a_process_is_known_by_pid_start_time_and_boot_together() {
        let me = std::process::id();
        let start = process::read(me).expect("own stat").start_time;
        assert!(is_same_process(me, start, &boot_id()));
        assert!(!is_same_process(me, start + 1, &boot_id()));
        assert!(!is_same_process(me, start, "another boot"));
        assert!(!is_same_process(me, start, ""));
    }
}
