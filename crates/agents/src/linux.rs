//! What only Linux can tell: which processes belong to a session, and what environment they were started with.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::Vars;

/// How often the table of processes is read again while a session is killed.
const ROUNDS_MAX: usize = 50;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stat {
    state: u8,
    session: i32,
    start_time: u64,
}

/// Kills every process of a session of ours that is still there, by descriptors: each one is opened before it is
/// checked that it belongs to the session, so a pid that was given away meanwhile is never hit.
///
/// The session's leader must not have been reaped yet; until then nobody else can get its number.
pub(crate) fn kill_session(session: Pid) {
    let session = session.as_raw_nonzero().get();
    for _ in 0..ROUNDS_MAX {
        let mut alive = false;
        for pid in pids() {
            if pid <= 1 || !stat(pid).is_some_and(|found| found.is_alive_in(session)) {
                continue;
            }
            let Some(Ok(pidfd)) = Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
                continue;
            };
            if stat(pid).is_some_and(|found| found.is_alive_in(session)) {
                // One that ended in between is what we want as well.
                let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                alive = true;
            }
        }
        if !alive {
            return;
        }
    }
}

/// The environment of the youngest process of this session besides its leader: what the leader had exported
/// when it started that process. Nothing when there is no such process.
pub(crate) fn youngest_environment(session: Pid) -> Option<Vars> {
    let session = session.as_raw_nonzero().get();
    let (_, pid) = pids()
        .into_iter()
        .filter_map(|pid| Some((stat(pid)?, pid)))
        .filter(|(found, pid)| found.is_alive_in(session) && *pid != session)
        .map(|(found, pid)| (found.start_time, pid))
        .max()?;
    let bytes = read_at_once(&format!("/proc/{pid}/environ")).ok().filter(|bytes| !bytes.is_empty())?;
    Some(parse_environment(&bytes))
}

/// Reads a file in one call with room for all of it. The environment of a process that becomes another program
/// between two calls would end where the first one did.
fn read_at_once(path: &str) -> io::Result<Vec<u8>> {
    let mut room = 64 * 1024;
    loop {
        let mut bytes = vec![0; room];
        let length = fs::File::open(path)?.read(&mut bytes)?;
        if length < room {
            bytes.truncate(length);
            return Ok(bytes);
        }
        room *= 2;
    }
}

/// The files that a process has open.
pub(crate) fn open_files(pid: u32) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).collect()
}

/// Splits `NAME=value` entries that end with a zero byte. What has no `=` is left out.
pub(crate) fn parse_environment(bytes: &[u8]) -> Vars {
    let entry = |entry: &[u8]| {
        let equals = entry.iter().position(|byte| *byte == b'=')?;
        let text = |part: Option<&[u8]>| Some(OsString::from_vec(part?.to_vec()));
        Some((text(entry.get(..equals))?, text(entry.get(equals + 1..))?))
    };
    bytes.split(|byte| *byte == 0).filter_map(entry).collect()
}

impl Stat {
    /// A process that has ended and was not reaped yet still stands in the table.
    fn is_alive_in(&self, session: i32) -> bool {
        self.session == session && !matches!(self.state, b'Z' | b'X')
    }
}

fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The program's name may hold any byte, so the fields begin after the last `)`.
fn stat(pid: i32) -> Option<Stat> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let close = bytes.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> =
        std::str::from_utf8(bytes.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        session: fields.get(3)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}
