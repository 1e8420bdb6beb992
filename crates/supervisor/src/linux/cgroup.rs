//! A cgroup for each run, where the system lets us make one below our own (cgroup v2, cgroups(7)).
//!
//! No limit is set and no controller is enabled: it is a list of the run's processes that no process
//! can leave by clearing its environment, by a PID namespace or by outliving everybody it descends
//! from. A program is *cloned* into it. Moving a process makes the kernel wait for a grace period,
//! which costs more than all the rest of a start.

use crate::rundir::is_run_id;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where version 2 is mounted, alone or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// What statfs(2) says of such a mount (linux/magic.h).
const CGROUP2_SUPER_MAGIC: u64 = 0x6367_7270;

/// The flag of clone3(2) for a child that begins in a cgroup (linux/sched.h), since Linux 5.7.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// How deep a program may nest cgroups of its own before we lose sight of them.
const DEPTH_MAX: usize = 16;

/// How often it is tried to empty a cgroup whose members keep starting others, or to make one that somebody
/// takes away.
const ROUNDS: usize = 8;

/// What the name of every run's cgroup begins with.
const PREFIX: &str = "carillon-";

/// The name of a run's cgroup.
pub(crate) fn name(run: &str) -> String {
    format!("{PREFIX}{run}")
}

/// The path of the cgroup that this run may have, below our own; it is not made yet. None where the
/// system does not let us have one.
pub(crate) fn place(run: &str) -> Option<PathBuf> {
    Some(delegated()?.join(name(run)))
}

/// Our own cgroup, if we may make others below it.
fn delegated() -> Option<PathBuf> {
    let is_v2 = |mount: &&str| {
        rustix::fs::statfs(*mount).is_ok_and(|found| u64::try_from(found.f_type) == Ok(CGROUP2_SUPER_MAGIC))
    };
    let mount = MOUNTS.iter().find(|mount| is_v2(mount))?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = Path::new(mount).join(own);
    let may = |path: &Path, access| rustix::fs::access(path, access).is_ok();
    // Cloning needs the right to write there, too: it is what the old and the new place have in common.
    let is_delegated =
        may(&own, Access::WRITE_OK | Access::EXEC_OK) && may(&own.join("cgroup.procs"), Access::WRITE_OK);
    is_delegated.then_some(own)
}

/// Removes the cgroups of runs below our own that have no member: those of supervisors which were killed,
/// and whose records are gone as well. One that is just being started in makes its own again.
pub(crate) fn sweep() {
    let Some(own) = delegated() else { return };
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if run.is_some_and(is_run_id) {
            // One with members refuses.
            let _ = rustix::fs::rmdir(entry.path());
        }
    }
}

/// The cgroup of one run; dissolved when it is dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    dir: OwnedFd,
}

/// Why a program does not run in the cgroup.
#[derive(Debug)]
pub(crate) enum NotSpawned {
    /// The system refused to clone into it; the program was not tried.
    Refused,
    /// The program could not be executed, as it could not elsewhere.
    Failed(io::Error),
}

impl Cgroup {
    /// Makes it.
    pub(crate) fn create(path: &Path) -> io::Result<Cgroup> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut tries = 1..ROUNDS;
        loop {
            rustix::fs::mkdir(path, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH)?;
            match rustix::fs::open(path, flags, Mode::empty()) {
                Ok(dir) => return Ok(Cgroup { path: path.to_owned(), dir }),
                // Swept away in between.
                Err(Errno::NOENT) if tries.next().is_some() => {}
                Err(e) => {
                    dissolve(path);
                    return Err(e.into());
                }
            }
        }
    }

    /// The same once more if somebody has removed it; None if it is still there.
    pub(crate) fn made_again(self) -> Option<Cgroup> {
        let path = self.path.clone();
        let is_gone = !exists(&path);
        // First, because that removes what has this name.
        drop(self);
        if is_gone { Cgroup::create(&path).ok() } else { None }
    }

    /// Starts a program in it and returns its pid, as [`Command::spawn`] does elsewhere. Only for a
    /// process with one thread.
    pub(crate) fn spawn(&self, command: &mut Command) -> Result<u32, NotSpawned> {
        let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (told, tell) = pipe.map_err(|e| NotSpawned::Failed(e.into()))?;
        let Some(pid) = self.fork().map_err(|_| NotSpawned::Refused)? else {
            drop(told);
            // It returns only when it failed.
            let error = command.exec().raw_os_error().unwrap_or(libc::EINVAL);
            let _ = fs::File::from(tell).write_all(&error.to_ne_bytes());
            // SAFETY: ends this process at once; nothing of the parent's is flushed or run a second time.
            unsafe { libc::_exit(127) }
        };
        drop(tell);
        // Either the exec closes the other end, or the reason comes.
        let mut error = [0; 4];
        match fs::File::from(told).read_exact(&mut error) {
            Err(_) => Ok(pid),
            Ok(()) => {
                let child = rustix::process::Pid::from_raw(pid.cast_signed());
                let _ = rustix::process::waitpid(child, rustix::process::WaitOptions::empty());
                Err(NotSpawned::Failed(io::Error::from_raw_os_error(i32::from_ne_bytes(error))))
            }
        }
    }

    /// Forks; the child, which gets None, begins in the cgroup.
    fn fork(&self) -> io::Result<Option<u32>> {
        /// The second version of `struct clone_args` (clone3(2)).
        #[repr(C)]
        #[derive(Default)]
        struct Args {
            flags: u64,
            pidfd: u64,
            child_tid: u64,
            parent_tid: u64,
            exit_signal: u64,
            stack: u64,
            stack_size: u64,
            tls: u64,
            set_tid: u64,
            set_tid_size: u64,
            cgroup: u64,
        }
        let args = Args {
            flags: CLONE_INTO_CGROUP,
            exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
            cgroup: u64::from(self.dir.as_raw_fd().cast_unsigned()),
            ..Args::default()
        };
        // SAFETY: the kernel reads the structure, whose size is given. Without shared memory and with no
        // stack of its own the child goes on as after fork(2); this process has one thread, so no lock is
        // held by another that the child does not have.
        let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<Args>()) };
        match u32::try_from(pid) {
            Ok(0) => Ok(None),
            Ok(pid) => Ok(Some(pid)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Kills all members at once, so that none of them can start another first. A kernel before 5.14
    /// does not know that and does nothing.
    pub(crate) fn kill(&self) {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(self.dir.as_fd(), "cgroup.kill", flags, Mode::empty()) {
            let _ = rustix::io::write(file, b"1");
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        dissolve(&self.path);
    }
}

/// The pids of all members, those of nested cgroups too. Empty when there is no such cgroup.
pub(crate) fn members(path: &Path) -> Vec<u32> {
    tree(path).iter().flat_map(|dir| procs(dir)).collect()
}

/// Removes the cgroup. Members, which only those can be that are to live on, go back to the one above.
/// What refuses is left to be: it goes with the machine's next start at the latest.
pub(crate) fn dissolve(path: &Path) {
    let Some(above) = path.parent().map(|above| above.join("cgroup.procs")) else { return };
    for _ in 0..ROUNDS {
        let mut is_gone = true;
        for dir in tree(path).iter().rev() {
            is_gone = match rustix::fs::rmdir(dir) {
                Ok(()) | Err(Errno::NOENT) => true,
                Err(_) => {
                    for pid in procs(dir) {
                        let _ = fs::write(&above, pid.to_string());
                    }
                    matches!(rustix::fs::rmdir(dir), Ok(()) | Err(Errno::NOENT))
                }
            };
        }
        if is_gone {
            return;
        }
    }
}

/// The cgroup and all nested ones, each after the one above it.
fn tree(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    let mut level = vec![path.to_owned()];
    for _ in 0..DEPTH_MAX {
        let children = |dir: &PathBuf| {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            dirs.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        level = level.iter().flat_map(children).collect();
        if level.is_empty() {
            break;
        }
        found.extend_from_slice(&level);
    }
    found
}

fn procs(dir: &Path) -> Vec<u32> {
    let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    // A process that this PID namespace does not see is listed as 0.
    text.lines().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid > 1).collect()
}

/// Whether there is such a cgroup.
pub(crate) fn exists(path: &Path) -> bool {
    rustix::fs::statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}
