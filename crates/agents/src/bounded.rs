//! Running a program with a bound: in a session of its own, with standard input at its end and no terminal, for
//! a limited time and with limited output. Nothing of its session outlives the bound.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::linux;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// How long we wait for a program to vanish after KILL.
const REAP_PATIENCE: Duration = Duration::from_secs(1);

/// A program that is running.
pub(crate) struct Running {
    /// The program, until it was reaped.
    child: Option<Child>,
    pid: Pid,
    pidfd: OwnedFd,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    /// What it has printed so far, at most the bound and one chunk.
    pub(crate) output: Vec<u8>,
    /// What it has printed on standard error so far, likewise.
    pub(crate) errors: Vec<u8>,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The program has ended, and all that it had printed until then was read.
    Ended,
    /// The time is up.
    TimeUp,
    /// It printed more than it may.
    TooMuch,
}

/// Starts the program. Its output is read; its standard error too when `with_errors` is set, else thrown away.
pub(crate) fn start(command: &mut Command, with_errors: bool) -> io::Result<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(if with_errors { Stdio::piped() } else { Stdio::null() });
    // SAFETY: between fork and exec only one system call is made, which touches no memory of ours.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(OwnedFd::from);
    let stderr = child.stderr.take().map(OwnedFd::from);
    let pid = Pid::from_child(&child);
    let prepared = rustix::process::pidfd_open(pid, PidfdFlags::empty()).and_then(|pidfd| {
        for fd in stdout.iter().chain(&stderr) {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(pidfd)
    });
    match prepared {
        Ok(pidfd) => Ok(Running {
            child: Some(child),
            pid,
            pidfd,
            stdout,
            stderr,
            output: Vec::new(),
            errors: Vec::new(),
        }),
        Err(errno) => {
            // A program that we cannot watch must not run on. It is our own child and was not reaped.
            let _ = child.kill();
            let _ = child.wait();
            Err(errno.into())
        }
    }
}

impl Running {
    /// Reads what the program prints until it has ended, until `until`, or until it has printed more than
    /// `bytes_max`. A descendant that holds the output open after the program has ended is not waited for.
    pub(crate) fn read(&mut self, until: Instant, bytes_max: usize) -> io::Result<Pause> {
        loop {
            // Whether it has ended is asked before its output is read, so that its last words are not missed.
            let (ready, has_ended) = self.wait_for_news(until)?;
            let printed = self.take_output(bytes_max)?;
            if self.output.len() > bytes_max || self.errors.len() > bytes_max {
                return Ok(Pause::TooMuch);
            }
            if has_ended && !printed {
                return Ok(Pause::Ended);
            }
            if !ready || Instant::now() >= until {
                return Ok(if has_ended { Pause::Ended } else { Pause::TimeUp });
            }
        }
    }

    /// The session that the program leads, and its process group: both have its own number.
    pub(crate) fn session(&self) -> Pid {
        self.pid
    }

    /// Kills all that is left of its session, and reaps it.
    pub(crate) fn kill(mut self) {
        self.kill_all();
        self.reap();
    }

    /// Kills all that is left of its session once the program itself has ended. Returns how that ended.
    pub(crate) fn end(mut self) -> Option<ExitStatus> {
        self.kill_all();
        self.reap()
    }

    /// Lets it go as a terminal that is closed would: what is left of its process group gets HUP, and what has
    /// made itself independent of it goes on. When it has not ended by itself it is killed. Returns how it ended.
    pub(crate) fn hang_up(mut self) -> Option<ExitStatus> {
        if self.has_ended(Instant::now()) {
            // The number of the group is ours until the leader is reaped.
            let _ = rustix::process::kill_process_group(self.pid, Signal::HUP);
        } else {
            self.kill_all();
        }
        self.reap()
    }

    /// Reaps it. One that hangs in the kernel even after KILL is left to a thread, so that nobody waits for it.
    fn reap(&mut self) -> Option<ExitStatus> {
        let has_ended = self.has_ended(Instant::now() + REAP_PATIENCE);
        let mut child = self.child.take()?;
        if has_ended {
            return child.wait().ok();
        }
        std::thread::spawn(move || child.wait());
        None
    }

    fn kill_all(&mut self) {
        if self.child.is_some() {
            // First the group at once, so that nothing of it can go on forking; then whoever has left the group.
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
            linux::kill_session(self.pid);
        }
    }

    fn has_ended(&self, until: Instant) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll_until(&mut fds, until).is_ok_and(|count| count > 0)
    }

    /// Waits for output or for the end. Returns whether there was any news, and whether the program has ended.
    fn wait_for_news(&self, until: Instant) -> io::Result<(bool, bool)> {
        let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        fds.extend(self.stdout.iter().chain(&self.stderr).map(|fd| PollFd::new(fd, PollFlags::IN)));
        let ready = poll_until(&mut fds, until)? > 0;
        let has_ended = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        Ok((ready, has_ended))
    }

    /// Reads what is there without waiting. Returns whether there was anything.
    fn take_output(&mut self, bytes_max: usize) -> io::Result<bool> {
        let out = take(&mut self.stdout, &mut self.output, bytes_max)?;
        let errors = take(&mut self.stderr, &mut self.errors, bytes_max)?;
        Ok(out || errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_all();
        self.reap();
    }
}

fn take(pipe: &mut Option<OwnedFd>, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<bool> {
    let mut chunk = [0; CHUNK];
    let mut any = false;
    while let Some(fd) = pipe.as_ref().filter(|_| into.len() <= bytes_max) {
        match rustix::io::read(fd.as_fd(), &mut chunk) {
            Ok(0) => *pipe = None,
            Ok(count) => {
                into.extend_from_slice(chunk.get(..count).unwrap_or_default());
                any = true;
            }
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(any)
}

/// How many of the descriptors have something to say, at the latest at `until`.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], until: Instant) -> io::Result<usize> {
    loop {
        let rest: Duration = until.saturating_duration_since(Instant::now());
        let timeout =
            Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 });
        match poll(fds, Some(&timeout)) {
            Ok(count) => return Ok(count),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
