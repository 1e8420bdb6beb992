//! The supervisor process: `carillon supervise <run dir> --lease-fds N[,M]...`.
//!
//! One thread, one poll loop. It is started by [`launch`](crate::launch::launch) and by nobody else:
//! it needs the lease as an inherited descriptor. Reading order: this file (set-up and record), `run`
//! (the loop), `ending` (how a tree is ended), `child`, `stream`, `server`, `input`, `resize`.

mod child;
mod ending;
mod input;
mod keep;
mod reaper;
mod resize;
mod run;
mod server;
mod stream;

use crate::files::{self, Durable, Reserved};
use crate::linux::cgroup::{self, Cgroup};
use crate::linux::signals::Signals;
use crate::linux::{self, process};
use crate::log::LogWriter;
use crate::rundir;
use crate::spec::{Cause, ExitRecord, Io, RunSpec, Started};
use rustix::fs::{AtFlags, FlockOperation};
use rustix::io::FdFlags;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Space that is taken on the disk beforehand for the exit record, in bytes: more than its lists can
/// fill.
const RECORD_RESERVE: u64 = 64 << 10;

/// How often and how patiently the exit record is tried on a disk that refuses it.
const RECORD_TRIES: u32 = 50;
const RECORD_PAUSE: Duration = Duration::from_millis(100);

/// Supervises one run until it is over. `args` is what follows the word `supervise`.
///
/// Must be called first thing in `main`, while the process has one thread. Returns the exit code: 0
/// when the exit record was written, 1 when it could not be, 2 when the call itself was wrong.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    match begin(args) {
        Ok(begun) => {
            let code = begun.finish();
            // The leases end with the process and not a moment earlier, so that whoever finds one
            // free finds nothing of this run alive. Hence the descriptors are not dropped.
            std::mem::forget(begun);
            code
        }
        Err(why) => {
            eprintln!("carillon supervise: {why}");
            2
        }
    }
}

/// A supervisor that holds its lease and can write its record.
struct Begun {
    dir: OwnedFd,
    /// The lease on the temp directory and the like; kept open until the process ends.
    _leases: Vec<OwnedFd>,
    run_dir: PathBuf,
    signals: Signals,
    record: Reserved,
}

/// What keeps what the program writes.
struct Logs {
    output: LogWriter,
    /// Only where errors are kept apart from output.
    errors: Option<LogWriter>,
}

impl Logs {
    fn create(dir: BorrowedFd<'_>, spec: &RunSpec) -> io::Result<Logs> {
        Ok(match spec.io {
            Io::Pty { .. } | Io::Pipes => {
                Logs { output: LogWriter::create(dir, spec.log_max)?, errors: None }
            }
            Io::Turn => Logs {
                output: LogWriter::create_whole(dir, spec.log_max)?,
                errors: Some(LogWriter::create_errors(dir)?),
            },
        })
    }

    /// Gives space back to the disk.
    fn drop_tails(&mut self) {
        self.output.drop_tail();
        self.errors.iter_mut().for_each(LogWriter::drop_tail);
    }

    /// Says in the record what was written and whether all of it is kept.
    fn tell(&self, record: &mut ExitRecord) {
        record.log_bytes = self.output.stream_end();
        record.log_truncated = self.output.is_truncated();
        if let Some(errors) = &self.errors {
            record.errors_bytes = errors.stream_end();
            record.errors_truncated = errors.is_truncated();
        }
    }
}

fn begin(args: impl Iterator<Item = OsString>) -> Result<Begun, String> {
    let (run_dir, lease_fds) = parse(args)?;
    let mut leases = take_over(&lease_fds)?;
    let dir = leases.remove(0);
    linux::close_all_except(&lease_fds).map_err(|e| format!("cannot close descriptors: {e}"))?;
    let own_session = rustix::process::setsid().is_ok()
        || rustix::process::getsid(None).ok() == Some(rustix::process::getpid());
    if !own_session {
        return Err("it cannot have a session of its own; start it through the app".to_owned());
    }
    let signals = Signals::take_over().map_err(|e| format!("cannot take over signals: {e}"))?;
    rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive)
        .map_err(|e| format!("the lease of {} is not ours: {e}", run_dir.display()))?;
    for used in [files::STARTED, files::EXIT] {
        if files::exists(dir.as_fd(), used) {
            return Err(format!("{} was used before", run_dir.display()));
        }
    }
    let record = Reserved::take(dir.as_fd(), files::EXIT, RECORD_RESERVE)
        .map_err(|e| format!("cannot write in {}: {e}", run_dir.display()))?;
    Ok(Begun { dir, _leases: leases, run_dir, signals, record })
}

fn parse(mut args: impl Iterator<Item = OsString>) -> Result<(PathBuf, Vec<RawFd>), String> {
    let usage = || "usage: supervise RUN_DIR --lease-fds N[,N]...".to_owned();
    let run_dir = PathBuf::from(args.next().ok_or_else(usage)?);
    let named = args.next().is_some_and(|a| a == "--lease-fds");
    let fds = args.next().filter(|_| named).ok_or_else(usage)?;
    let fds: Vec<RawFd> = fds
        .to_str()
        .ok_or_else(usage)?
        .split(',')
        .map(|n| n.parse().ok().filter(|n| *n > 2).ok_or_else(usage))
        .collect::<Result<_, _>>()?;
    if args.next().is_some() {
        return Err(usage());
    }
    Ok((run_dir, fds))
}

/// Makes the inherited descriptors our own and keeps them from every child.
fn take_over(fds: &[RawFd]) -> Result<Vec<OwnedFd>, String> {
    let mut owned: Vec<OwnedFd> = Vec::new();
    for fd in fds {
        let is_twice = owned.iter().any(|o| o.as_raw_fd() == *fd);
        // SAFETY: only borrowed to ask whether it is open; a closed one answers an error.
        let open = rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(*fd) }).is_ok();
        if is_twice || !open {
            return Err(format!("descriptor {fd} was not handed over"));
        }
        // SAFETY: it is open, not owned by anything in this process, and taken once.
        let fd = unsafe { OwnedFd::from_raw_fd(*fd) };
        rustix::io::fcntl_setfd(&fd, FdFlags::CLOEXEC)
            .map_err(|e| format!("cannot keep descriptor {}: {e}", fd.as_raw_fd()))?;
        owned.push(fd);
    }
    Ok(owned)
}

impl Begun {
    /// From here on every way ends in a record.
    fn finish(&self) -> i32 {
        let started_ms = unix_ms();
        let (record, logs) = match self.supervise(started_ms) {
            Ok((record, logs)) => (record, Some(logs)),
            Err(message) => (self.failed(message, started_ms), None),
        };
        let written = self.write(record, logs);
        // Nobody can be connected any more; a socket without a listener would only be residue.
        let _ = rustix::fs::unlinkat(&self.dir, files::SOCKET, AtFlags::empty());
        i32::from(!written)
    }

    fn supervise(&self, started_ms: i64) -> Result<(ExitRecord, Logs), String> {
        let dir = self.dir.as_fd();
        let spec: RunSpec = files::read_json(dir, &self.run_dir, files::SPEC)
            .map_err(|e| e.to_string())?
            .ok_or("there is no spec.json")?;
        linux::become_subreaper().map_err(|e| format!("cannot adopt orphans: {e}"))?;
        rustix::process::chdir("/").map_err(|e| format!("cannot leave the directory: {e}"))?;
        let logs = Logs::create(dir, &spec).map_err(|e| format!("cannot create the log: {e}"))?;
        let server = server::Server::bind(dir).map_err(|e| format!("cannot create the socket: {e}"))?;
        let mut started = self.started(&spec, started_ms);
        let record_start = |started: &Started, durable| {
            files::write_json(dir, files::STARTED, started, durable)
                .map_err(|e| format!("cannot record the start: {e}"))
        };
        record_start(&started, Durable::ContentAndName)?;
        // Recorded before it is made, so that it can never be there without anybody knowing of it.
        let cgroup = started.cgroup.as_deref().and_then(|path| Cgroup::create(path).ok());
        let child = child::start(&spec, dir, cgroup)?;
        if child.cgroup.is_none() {
            started.cgroup = None;
        }
        started.pid = Some(child.pid);
        started.start_time = process::read(child.pid).map(|p| p.start_time);
        let run = run::Run::new(&spec, started_ms, dir, &self.signals, server, logs, child);
        // The program runs already; a disk that is full by now must not cost it its supervisor.
        // Nor is it worth a sync: pid and start time mean nothing after a crash of the machine.
        let _ = record_start(&started, Durable::No);
        linux::forget_code_of_the_start();
        Ok(run.supervise())
    }

    fn started(&self, spec: &RunSpec, started_ms: i64) -> Started {
        let own_pid = std::process::id();
        Started {
            run: spec.run.clone(),
            pid: None,
            start_time: None,
            boot_id: rundir::boot_id(),
            supervisor_pid: own_pid,
            supervisor_start_time: process::read(own_pid).map_or(0, |p| p.start_time),
            started_ms,
            cgroup: cgroup::place(&spec.run).filter(|path| path.to_str().is_some()),
        }
    }

    /// The record of a program that was never executed.
    fn failed(&self, message: String, started_ms: i64) -> ExitRecord {
        let run = self.run_dir.file_name().unwrap_or_default();
        ExitRecord {
            run: run.to_string_lossy().into_owned(),
            cause: Cause::SpawnFailed { message },
            exit_code: None,
            signal: None,
            started_ms,
            ended_ms: unix_ms(),
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

    /// The truth about the end is worth more than the tail of the log: if the disk refuses the
    /// record in spite of the space that was reserved, the tail goes.
    fn write(&self, mut record: ExitRecord, mut logs: Option<Logs>) -> bool {
        for _ in 0..RECORD_TRIES {
            if let Some(logs) = &logs {
                logs.tell(&mut record);
            }
            match self.record.commit(self.dir.as_fd(), &record) {
                Ok(()) => return true,
                Err(e) => eprintln!("carillon supervise: cannot write the record: {e}"),
            }
            logs.iter_mut().for_each(Logs::drop_tails);
            std::thread::sleep(RECORD_PAUSE);
        }
        false
    }
}

/// Wall-clock time in Unix milliseconds; only ever recorded, never compared.
fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}
