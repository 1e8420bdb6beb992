//! A conversation with one child process: input, output and errors at the same time, with bounds on all.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Answer;
use crate::{linux, strays};

/// Most bytes of errors that are kept; git's reason stands in its first lines.
const ERRORS_MAX: usize = 256 * 1024;
/// How long a child that must end gets to clear up after itself.
const GRACE: Duration = Duration::from_millis(1_000);
/// How often its descendants are looked for while they are being ended.
const ROUNDS: usize = 3;

/// Why there is no answer.
pub(super) enum Failure {
    NotStarted(io::Error),
    Io(io::Error),
    TimeIsUp,
    Stopped,
}

/// What bounds a conversation.
pub(super) struct Bounds<'a> {
    pub(super) limit: Duration,
    /// Most bytes of output.
    pub(super) output_max: usize,
    /// When it can be read, the child is to end.
    pub(super) bell: Option<BorrowedFd<'a>>,
}

/// Starts the command, gives it the input and reads until it has ended. What its descendants still hold open
/// then is not waited for.
pub(super) fn talk(
    mut command: Command,
    input: Option<&[u8]>,
    bounds: &Bounds<'_>,
) -> Result<Answer, Failure> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    linux::unblock_signals(&mut command);
    let mut child = command.spawn().map_err(Failure::NotStarted)?;
    let mut talk = match Talk::with(&mut child, input.unwrap_or_default(), bounds) {
        Ok(talk) => talk,
        Err(error) => {
            end(&mut child);
            return Err(Failure::Io(error));
        }
    };
    match talk.run(Instant::now() + bounds.limit) {
        Ok(Over::Ended) => {}
        Ok(Over::Cut) => end(&mut child),
        Ok(Over::TimeIsUp) => {
            end(&mut child);
            return Err(Failure::TimeIsUp);
        }
        Ok(Over::Stopped) => {
            end(&mut child);
            return Err(Failure::Stopped);
        }
        Err(errno) => {
            end(&mut child);
            return Err(Failure::Io(errno.into()));
        }
    }
    let status = child.wait().map_err(Failure::Io)?;
    Ok(Answer { status, out: talk.out.bytes, err: talk.err.bytes, is_cut: talk.out.is_full })
}

/// Ends a child with all that it started.
fn end(child: &mut Child) {
    for _ in 0..ROUNDS {
        let mut targets = strays::descendants_of(child.id());
        targets.extend(strays::look(child.id()));
        let outcome = strays::end(&targets, GRACE);
        if outcome.ended.is_empty() {
            break;
        }
    }
    // It is ours and has ended or cannot be ended; only in the first case there is something to wait for.
    let _ = child.try_wait();
}

enum Over {
    Ended,
    Cut,
    TimeIsUp,
    Stopped,
}

/// One pipe that is read.
struct Source {
    file: Option<std::fs::File>,
    bytes: Vec<u8>,
    max: usize,
    is_full: bool,
}

impl Source {
    fn new(fd: OwnedFd, max: usize) -> io::Result<Self> {
        unblock(&fd)?;
        Ok(Self { file: Some(fd.into()), bytes: Vec::new(), max, is_full: false })
    }

    /// Reads what is there now.
    fn read(&mut self) {
        let mut buffer = [0; 64 * 1024];
        while let Some(file) = &mut self.file {
            match file.read(&mut buffer) {
                Ok(0) => self.file = None,
                Ok(count) => {
                    let room = self.max.saturating_sub(self.bytes.len());
                    self.is_full |= count > room;
                    self.bytes.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.file = None,
            }
        }
    }
}

struct Talk<'a> {
    pidfd: OwnedFd,
    stdin: Option<std::fs::File>,
    input: &'a [u8],
    bell: Option<BorrowedFd<'a>>,
    out: Source,
    err: Source,
}

impl<'a> Talk<'a> {
    fn with(child: &mut Child, input: &'a [u8], bounds: &Bounds<'a>) -> io::Result<Self> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let stdin = child.stdin.take().map(OwnedFd::from);
        if let Some(stdin) = &stdin {
            unblock(stdin)?;
        }
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let out = Source::new(child.stdout.take().ok_or_else(broken)?.into(), bounds.output_max)?;
        let err = Source::new(child.stderr.take().ok_or_else(broken)?.into(), ERRORS_MAX)?;
        Ok(Self { pidfd, stdin: stdin.map(std::fs::File::from), input, bell: bounds.bell, out, err })
    }

    fn run(&mut self, until: Instant) -> Result<Over, Errno> {
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(Over::TimeIsUp);
            }
            let timeout = Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
            let (has_ended, is_to_stop) = {
                let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
                fds.extend(self.bell.as_ref().map(|bell| PollFd::new(bell, PollFlags::IN)));
                fds.extend(self.stdin.as_ref().map(|stdin| PollFd::new(stdin, PollFlags::OUT)));
                for source in [&self.out, &self.err] {
                    fds.extend(source.file.as_ref().map(|file| PollFd::new(file, PollFlags::IN)));
                }
                match poll(&mut fds, Some(&timeout)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
                let rang = self.bell.is_some() && !fds[1].revents().is_empty();
                (!fds[0].revents().is_empty(), rang)
            };
            self.write();
            // All that the child itself has written is in the pipes when its end is seen.
            self.out.read();
            self.err.read();
            if has_ended {
                return Ok(Over::Ended);
            }
            if is_to_stop {
                return Ok(Over::Stopped);
            }
            if self.out.is_full {
                return Ok(Over::Cut);
            }
        }
    }

    /// Writes what the child takes now; with the last byte its input ends.
    fn write(&mut self) {
        while let Some(stdin) = &mut self.stdin {
            if self.input.is_empty() {
                self.stdin = None;
                return;
            }
            match stdin.write(self.input) {
                Ok(count) => self.input = &self.input[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A child that does not read on says by its exit code what that means.
                Err(_) => self.stdin = None,
            }
        }
    }
}

fn unblock(fd: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    Ok(rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(limit: Duration, output_max: usize) -> Bounds<'static> {
        Bounds { limit, output_max, bell: None }
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn much_input_and_much_output_do_not_wait_for_each_other() {
        let input = vec![b'x'; 4 << 20];
        let Ok(answer) = talk(sh("cat"), Some(&input), &bounds(Duration::from_secs(20), 8 << 20)) else {
            panic!("no answer")
        };
        assert!(answer.status.success() && answer.out == input && !answer.is_cut);
    }

    #[test]
    fn a_child_that_hangs_is_ended_with_what_it_started() {
        let begun = Instant::now();
        let script = "trap '' TERM HUP; sleep 300 & echo $! >&2; wait";
        let failure = talk(sh(script), None, &bounds(Duration::from_millis(300), 1000));
        assert!(matches!(failure, Err(Failure::TimeIsUp)));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_flood_is_cut_at_its_bound() {
        let Ok(answer) = talk(sh("yes"), None, &bounds(Duration::from_secs(20), 100_000)) else {
            panic!("no answer")
        };
        assert!(answer.is_cut && answer.out.len() == 100_000);
    }

    #[test]
    fn what_a_descendant_holds_open_is_not_waited_for() {
        let begun = Instant::now();
        let Ok(answer) = talk(sh("echo a; sleep 3 & exit 7"), None, &bounds(Duration::from_secs(20), 1000))
        else {
            panic!("no answer")
        };
        assert_eq!((answer.status.code(), answer.out.as_slice()), (Some(7), b"a\n".as_slice()));
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}
