//! Running the command of a guard, with all that it starts.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::linux::{Arrived, Signals, adopt_orphans, collect};
use crate::strays::{self, Stray};
use crate::{Error, linux};

/// How long what the command left running gets to end by itself.
const GRACE: Duration = Duration::from_millis(2_000);
/// How often what is left is looked for: each round meets what was started during the one before.
const ROUNDS: usize = 5;

/// Daemons that users share between all their programs. They are left alone; what they use stays.
pub const SHARED_DAEMONS: &[&str] =
    &["gpg-agent", "ssh-agent", "tmux", "adb", "bazel", "gradle", "dbus-daemon", "keyboxd", "scdaemon"];

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// Variables that it gets besides ours.
    pub env: &'a [(OsString, OsString)],
    /// Its standard output goes where its errors go.
    pub output_to_errors: bool,
    /// All that it leaves running is ended.
    pub ends_tree: bool,
}

/// How the command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, or 128 and its signal.
    pub code: i32,
    /// Processes of its tree that are still there: shared daemons, and what could not be ended.
    pub left: Vec<Stray>,
}

/// Runs the command in our own process group and waits until it and all that it started is over. Signals that are
/// sent to us go on to it; those of the terminal have reached it already.
///
/// For a process with one thread, whose children are all the command's: any child that ends is collected.
///
/// # Errors
/// [`Error::Io`] when the command cannot be started.
pub fn run(order: &Order<'_>) -> Result<Ended, Error> {
    let none = OsString::new();
    let (program, args) = order.argv.split_first().unwrap_or((&none, &[]));
    let failed = |error: io::Error| Error::io("start", Path::new(program), error);
    if order.ends_tree {
        adopt_orphans().map_err(failed)?;
    }
    let signals = Signals::open().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(args).envs(order.env.iter().map(|(name, value)| (name, value)));
    if order.output_to_errors {
        let errors = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
        command.stdout(Stdio::from(errors.map_err(|errno| failed(errno.into()))?));
    }
    linux::unblock_signals(&mut command);
    let child = command.spawn().map_err(failed)?;
    let code = wait(child.id(), &signals).map_err(|errno| failed(errno.into()))?;
    let left = if order.ends_tree { end_tree() } else { Vec::new() };
    Ok(Ended { code, left })
}

/// Waits for the command itself.
fn wait(pid: u32, signals: &Signals) -> Result<i32, Errno> {
    let pidfd = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let pidfd: OwnedFd = pidfd_open(pidfd, PidfdFlags::empty())?;
    loop {
        match poll(&mut [PollFd::from_borrowed_fd(signals.fd().as_fd(), PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        while let Some(arrived) = signals.next() {
            match arrived {
                Arrived::ChildEnded | Arrived::FromTerminal => {}
                Arrived::Sent(signal) => {
                    if let Some(signal) = Signal::from_named_raw(signal) {
                        // It may have ended in this moment, which is found below.
                        let _ = pidfd_send_signal(&pidfd, signal);
                    }
                }
            }
        }
        while let Some((ended, code)) = collect() {
            if ended == pid {
                return Ok(code);
            }
        }
    }
}

/// Ends all our descendants but the shared daemons. Returns what is left.
fn end_tree() -> Vec<Stray> {
    for _ in 0..ROUNDS {
        while collect().is_some() {}
        let targets: Vec<Stray> = descendants().into_iter().filter(|stray| !is_shared(stray)).collect();
        if targets.is_empty() {
            break;
        }
        strays::end(&targets, GRACE);
    }
    while collect().is_some() {}
    descendants()
}

fn descendants() -> Vec<Stray> {
    strays::descendants_of(std::process::id())
}

fn is_shared(stray: &Stray) -> bool {
    // Some say in their name what they are just now, like "tmux: server".
    let name = stray.name.split(':').next().unwrap_or_default();
    SHARED_DAEMONS.contains(&name)
}
