//! What a run leaves in its cgroup when its supervisor dies without a record.
//!
//! A living supervisor looks after its run's cgroup by itself. Where the system gives us none, all of
//! this finds nothing.

use crate::files;
use crate::linux::{cgroup, process};
use crate::rundir::boot_id;
use crate::spec::Started;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A process in the cgroup of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its process id.
    pub pid: u32,
    /// Its start time in clock ticks since boot: the proof that the pid still means this process.
    pub start_time: u64,
    /// Its short name, as `ps` shows it.
    pub name: String,
}

/// All living processes in the cgroup of the run in `run_dir`, whatever they did to their environment
/// or ancestry.
pub fn members(run_dir: &Path) -> Vec<Member> {
    let Some(path) = recorded(run_dir) else { return Vec::new() };
    let member = |pid| {
        let before = process::read(pid).filter(|p| !p.is_dead())?;
        // The pid may have been given to another process since it was listed. The name is taken before
        // the second look, so what is in the list now is what was read.
        let (name, start_time) = (process::name(pid), before.start_time);
        Some(Member { pid, start_time, name })
    };
    let read: Vec<Member> = cgroup::members(&path).into_iter().filter_map(member).collect();
    let still = cgroup::members(&path);
    read.into_iter().filter(|member| still.contains(&member.pid)).collect()
}

/// Removes the cgroup of the run in `run_dir`. Its supervisor must be gone, and what is to be ended has
/// been ended: members that live on are put into the cgroup above.
pub fn dissolve(run_dir: &Path) {
    if let Some(path) = recorded(run_dir) {
        cgroup::dissolve(&path);
    }
}

/// Removes what is left of runs that nobody remembers: cgroups of runs beside those of ours that have no
/// member.
pub fn sweep() {
    cgroup::sweep();
}

/// The cgroup that the supervisor recorded, if it is of this boot and still there. Its name must be the
/// run's, so that a record which somebody else wrote can never point to other processes.
fn recorded(run_dir: &Path) -> Option<PathBuf> {
    let dir = files::open_dir(run_dir).ok()?;
    let started: Started = files::read_json(dir.as_fd(), run_dir, files::STARTED).ok()??;
    let path = started.cgroup?;
    let run = run_dir.file_name()?.to_str()?;
    let is_ours = started.boot_id == boot_id() && path.file_name()?.to_str()? == cgroup::name(run);
    (is_ours && cgroup::exists(&path)).then_some(path)
}
