//! Looking at real processes from a test.

use std::fs;
use std::path::Path;

/// The pids of all living processes that have `CARILLON_RUN=<run>` in their environment.
pub fn with_marker(run: &str) -> Vec<u32> {
    let marker = format!("CARILLON_RUN={run}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|v| v == marker.as_bytes())
        })
        .collect()
}

/// Kills every process that carries the marker, without asking. For the end of a test only.
pub fn kill_marked(run: &str) {
    for pid in with_marker(run) {
        signal(pid, rustix::process::Signal::KILL);
    }
}

/// Sends a signal to one process; that it is gone already is no error.
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed())
        && pid.as_raw_nonzero().get() > 1
    {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// The short name of a process; None when it is gone.
pub fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// A field of `/proc/<pid>/status` or a like file, in the file's own words.
pub fn field(file: impl AsRef<Path>, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    Some(line.trim_start_matches(':').trim().to_owned())
}

/// A field of a memory file such as `/proc/<pid>/smaps_rollup`, in KiB.
pub fn kib(file: impl AsRef<Path>, name: &str) -> Option<u64> {
    field(file, name)?.split(' ').next()?.parse().ok()
}

/// How many descriptors this process has open.
pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, |dir| dir.count())
}

/// How many threads this process has.
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, |dir| dir.count())
}

/// How many pseudo-terminals the machine has.
pub fn terminals() -> usize {
    fs::read_dir("/dev/pts").map_or(0, |dir| dir.count())
}
