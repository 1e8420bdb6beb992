//! Starting the program of a run, in a terminal or on pipes.
//!
//! portable-pty opens the terminal but does not start the program: its child closes every descriptor
//! above 2 before the exec, among them the one over which the standard library reports a failed exec,
//! so a missing interpreter would look like a program that aborted.

use crate::files;
use crate::find;
use crate::linux::cgroup::{Cgroup, NotSpawned};
use crate::linux::{self, signals};
use crate::spec::{Io, RunSpec};
use portable_pty::{PtySize, native_pty_system};
use rustix::fs::OFlags;
use rustix::pipe::PipeFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The size of a terminal for which none was given.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Somebody who removes empty cgroups may meet the run's before its first member is in it. It is made
/// again, at most so often.
const CGROUP_TRIES: usize = 5;

/// A program that was started.
pub(super) struct Child {
    pub(super) pid: u32,
    /// Where its output comes from, non-blocking: the master of its terminal, or a pipe.
    pub(super) output: OwnedFd,
    /// Where its errors come from, non-blocking, if they are kept apart.
    pub(super) errors: Option<OwnedFd>,
    /// Our own hold on the program's side of its terminal. While the program lives it keeps the
    /// terminal from looking closed in a moment in which nobody else has it open.
    pub(super) terminal: Option<OwnedFd>,
    /// Where it and all its descendants are; None where the system has no such place for it.
    pub(super) cgroup: Option<Cgroup>,
}

/// Starts the program of the run in `dir`, in `cgroup` if the system allows it. The error is a sentence
/// for the user.
pub(super) fn start(spec: &RunSpec, dir: BorrowedFd<'_>, cgroup: Option<Cgroup>) -> Result<Child, String> {
    let (program, args) = spec.argv.split_first().ok_or("there is no program to run")?;
    let path = std::env::var_os("PATH");
    let file = find::resolve(program, &spec.cwd, path.as_deref())?;
    let mut command = Command::new(&file);
    command.arg0(program).args(args).current_dir(&spec.cwd);
    let broken = |e: io::Error| format!("cannot open a terminal or pipe for {program}: {e}");
    let (output, errors, terminal) = match spec.io {
        Io::Pty { cols, rows } => {
            let (master, slave) = open_terminal(cols, rows).map_err(broken)?;
            for set in [Command::stdin, Command::stdout, Command::stderr] {
                set(&mut command, share(slave.as_fd()).map_err(broken)?);
            }
            (master, None, Some(slave))
        }
        Io::Pipes => {
            let (read, write) = open_pipe().map_err(broken)?;
            command.stdin(Stdio::null());
            command.stdout(share(write.as_fd()).map_err(broken)?);
            command.stderr(write);
            (read, None, None)
        }
        Io::Turn => {
            let prompt = files::open_file(dir, files::PROMPT);
            command.stdin(prompt.map_err(|e| format!("cannot read the prompt for {program}: {e}"))?);
            let (output, write) = open_pipe().map_err(broken)?;
            command.stdout(write);
            let (errors, write) = open_pipe().map_err(broken)?;
            command.stderr(write);
            (output, Some(errors), None)
        }
    };
    let has_terminal = terminal.is_some();
    // SAFETY: what runs between fork and exec makes system calls only and allocates nothing.
    unsafe { command.pre_exec(move || prepare(has_terminal)) };
    // Non-blocking on our end only; it is another open file than the program's.
    for ours in std::iter::once(&output).chain(&errors) {
        set_nonblocking(ours.as_fd()).map_err(broken)?;
    }
    let (pid, cgroup) =
        spawn(&mut command, cgroup).map_err(|e| find::explain(program, &file, &spec.cwd, &e))?;
    Ok(Child { pid, output, errors, terminal, cgroup })
}

/// Starts the program in the cgroup, or without one where that is refused.
fn spawn(command: &mut Command, mut cgroup: Option<Cgroup>) -> io::Result<(u32, Option<Cgroup>)> {
    for _ in 0..CGROUP_TRIES {
        let Some(place) = cgroup else { break };
        match place.spawn(command) {
            Ok(pid) => return Ok((pid, Some(place))),
            Err(NotSpawned::Failed(e)) => return Err(e),
            Err(NotSpawned::Refused) => cgroup = place.made_again(),
        }
    }
    Ok((command.spawn()?.id(), None))
}

/// Runs in the child: its own session, its terminal, clean signals, no descriptor of ours.
fn prepare(has_terminal: bool) -> io::Result<()> {
    rustix::process::setsid()?;
    if has_terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    linux::close_all_on_exec();
    signals::reset_for_child()
}

fn open_terminal(cols: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let (cols, rows) = match (cols, rows) {
        (0, _) | (_, 0) => DEFAULT_SIZE,
        given => given,
    };
    let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).map_err(io::Error::other)?;
    let master = pair.master.as_raw_fd().ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: the descriptor is open as long as the pair lives, which is to the end of this function.
    let master = unsafe { BorrowedFd::borrow_raw(master) };
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    // By the master and not by its name under /dev, which may be another file system's.
    let slave = rustix::pty::ioctl_tiocgptpeer(master, flags)?;
    // So that erasing a character in a line erases all of its bytes.
    let mut modes = rustix::termios::tcgetattr(&slave)?;
    modes.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
    Ok((rustix::io::fcntl_dupfd_cloexec(master, 3)?, slave))
}

/// A reading and a writing end that no program inherits by accident.
fn open_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

fn share(fd: BorrowedFd<'_>) -> io::Result<Stdio> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?.into())
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}
