//! Strays: processes that carry the marker of a run, and how they are ended.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::in_use::RUN_MARKER;
use crate::linux;

/// How many processes are ended together. Each needs a descriptor, of which there may be only 1024.
const BATCH: usize = 256;

/// How long we wait for a process to vanish after KILL. Only one that hangs in the kernel needs longer.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// A process that carries the marker of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot: the proof that the pid still means this process.
    pub start_time: u64,
    /// The short name of its program.
    pub name: String,
    /// The run that it was started in.
    pub run: String,
}

/// What became of the strays that were to be ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Those that got a signal and are gone.
    pub ended: Vec<Stray>,
    /// Those that were gone before: no process has this pid and this start time. Nothing was signalled.
    pub gone: Vec<Stray>,
    /// Those that are still there, with the reason.
    pub left: Vec<(Stray, String)>,
}

/// All processes with a `CARILLON_RUN` in the environment that they were started with, in the order of their
/// pids. Not among them are ourselves and our ancestors (we may be running inside a run of another Carillon).
///
/// Which of them are strays is for the caller to judge: a supervisor carries the marker of its own run as well,
/// and a run may belong to another data directory.
pub fn strays() -> Vec<Stray> {
    let spared = linux::ourselves_and_ancestors();
    let mut found: Vec<Stray> =
        linux::pids().into_iter().filter(|pid| !spared.contains(pid)).filter_map(stray).collect();
    found.sort_by_key(|stray| stray.pid);
    found
}

fn stray(pid: u32) -> Option<Stray> {
    let before = linux::stat(pid)?;
    let environment = linux::environment(pid);
    let run = linux::variable(&environment, RUN_MARKER)?.to_str()?.to_owned();
    // The environment belongs to this process only if the pid meant the same one before and after.
    let after = linux::stat(pid)?;
    let proved = before.start_time == after.start_time && !run.is_empty();
    proved.then_some(Stray { pid, start_time: after.start_time, name: after.name, run })
}

/// One process as it is now, with an empty `run`; none when there is none with this pid.
pub fn look(pid: u32) -> Option<Stray> {
    linux::stat(pid).map(|stat| Stray {
        pid,
        start_time: stat.start_time,
        name: stat.name,
        run: String::new(),
    })
}

/// All processes that descend from this one now, in the order of their pids, without itself. Their `run` is empty.
///
/// A process whose parent has ended descends from whoever took it over, so this is complete only for a process
/// that is a child subreaper, and for the moment of the look.
pub fn descendants_of(ancestor: u32) -> Vec<Stray> {
    let all: Vec<(u32, linux::Stat)> =
        linux::pids().into_iter().filter_map(|pid| Some((pid, linux::stat(pid)?))).collect();
    let mut known = HashSet::from([ancestor]);
    // Children may have lower pids than their parents, so it is looked again until nothing new is found.
    loop {
        let before = known.len();
        known.extend(
            all.iter()
                .filter(|(_, stat)| known.contains(&stat.parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if known.len() == before {
            break;
        }
    }
    let mut found: Vec<Stray> = all
        .into_iter()
        .filter(|(pid, _)| *pid != ancestor && known.contains(pid))
        .map(|(pid, stat)| Stray { pid, start_time: stat.start_time, name: stat.name, run: String::new() })
        .collect();
    found.sort_by_key(|stray| stray.pid);
    found
}

/// Ends these processes: HUP, after a quarter of `grace` TERM, at its end KILL. Stopped ones are continued, so
/// that they can end by themselves. What they start meanwhile is not among them: list the strays again and
/// repeat until there are none.
///
/// Each signal goes through a pidfd that is opened before the start time is compared. A pid that was given to
/// another process since is therefore never signalled, and neither is pid 0, pid 1, ourselves or an ancestor.
pub fn end(strays: &[Stray], grace: Duration) -> Outcome {
    let mut outcome = Outcome::default();
    let spared = linux::ourselves_and_ancestors();
    for batch in strays.chunks(BATCH) {
        let targets = select(batch, &spared, &mut outcome);
        end_batch(targets, grace, &mut outcome);
    }
    outcome
}

/// Opens a descriptor of each process that may be signalled, and accounts for all others.
fn select(strays: &[Stray], spared: &HashSet<u32>, outcome: &mut Outcome) -> Vec<(Stray, OwnedFd)> {
    let mut targets = Vec::new();
    for stray in strays {
        if stray.pid <= 1 {
            outcome.left.push((stray.clone(), format!("pid {} is never signalled", stray.pid)));
        } else if spared.contains(&stray.pid) {
            let why = "it is this program itself or one that started it".to_owned();
            outcome.left.push((stray.clone(), why));
        } else {
            match prove(stray) {
                Ok(Some(pidfd)) => targets.push((stray.clone(), pidfd)),
                Ok(None) => outcome.gone.push(stray.clone()),
                Err(errno) => outcome.left.push((stray.clone(), format!("it cannot be reached: {errno}"))),
            }
        }
    }
    targets
}

fn end_batch(mut targets: Vec<(Stray, OwnedFd)>, grace: Duration, outcome: &mut Outcome) {
    let started = Instant::now();
    let steps = [
        (&[Signal::HUP, Signal::CONT][..], started + grace / 4),
        (&[Signal::TERM, Signal::CONT], started + grace),
        (&[Signal::KILL], started + grace + KILL_WAIT),
    ];
    for (signals, until) in steps {
        signal_all(&mut targets, signals, outcome);
        wait_for_all(&mut targets, until, outcome);
    }
    let stuck = |(stray, _)| (stray, "it is still there after KILL".to_owned());
    outcome.left.extend(targets.into_iter().map(stuck));
}

/// A descriptor of exactly this process, or nothing when it is gone. The order matters: the process that has
/// the start time now has had the pid ever since, so the descriptor opened just before means it, too.
fn prove(stray: &Stray) -> Result<Option<OwnedFd>, Errno> {
    let Some(pid) = i32::try_from(stray.pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let same = linux::stat(stray.pid).is_some_and(|stat| stat.start_time == stray.start_time);
    Ok(same.then_some(pidfd))
}

fn signal_all(targets: &mut Vec<(Stray, OwnedFd)>, signals: &[Signal], outcome: &mut Outcome) {
    targets.retain(|(stray, pidfd)| {
        for signal in signals {
            match pidfd_send_signal(pidfd, *signal) {
                Ok(()) => {}
                Err(Errno::SRCH) => {
                    outcome.ended.push(stray.clone());
                    return false;
                }
                Err(errno) => {
                    outcome.left.push((stray.clone(), format!("it cannot be signalled: {errno}")));
                    return false;
                }
            }
        }
        true
    });
}

/// Waits until all of them have ended, at most until the given moment, and takes those that have out.
fn wait_for_all(targets: &mut Vec<(Stray, OwnedFd)>, until: Instant, outcome: &mut Outcome) {
    while !targets.is_empty() {
        let rest = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        let mut fds: Vec<PollFd<'_>> =
            targets.iter().map(|(_, pidfd)| PollFd::new(pidfd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            // Without a way to wait, the next step must still come.
            Err(_) => return,
        }
        let ended: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ended = ended.into_iter();
        targets.retain(|(stray, _)| {
            let has_ended = ended.next().unwrap_or(false);
            if has_ended {
                outcome.ended.push(stray.clone());
            }
            !has_ended
        });
    }
}
