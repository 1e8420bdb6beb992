//! Signals that are read from a descriptor, with who sent them, and being the one to whom orphans come.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// The signals that a guard hands on to its command.
const HANDED_ON: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// The code of a signal that the kernel sent, as for a key of the terminal (sigaction(2)).
const FROM_KERNEL: i32 = 0x80;

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrived {
    /// A child ended.
    ChildEnded,
    /// Somebody sent this one to us.
    Sent(i32),
    /// The terminal sent it to the whole group, so the command has it already.
    FromTerminal,
}

/// Signals of this process, read one by one. They stay blocked when this value is gone, so that what follows is
/// not cut short.
pub(super) struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals for this thread, which must be the only one, and opens the descriptor.
    pub(super) fn open() -> io::Result<Signals> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` fills the set before it is used, and all pointers live for their calls.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in HANDED_ON.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let code = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
            if code != 0 {
                return Err(io::Error::from_raw_os_error(code));
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Signals(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal; none when none is waiting.
    pub(super) fn next(&self) -> Option<Arrived> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has room for `size` bytes, and any bytes are a valid value of this plain structure.
        let (count, info) = unsafe {
            let count = libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size);
            (count, info.assume_init())
        };
        if usize::try_from(count) != Ok(size) {
            return None;
        }
        Some(match (info.ssi_signo.cast_signed(), info.ssi_code) {
            (libc::SIGCHLD, _) => Arrived::ChildEnded,
            (_, FROM_KERNEL) => Arrived::FromTerminal,
            (signal, _) => Arrived::Sent(signal),
        })
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

/// From now on every orphan among our descendants becomes our child (prctl(2)).
pub(super) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call takes numbers alone.
    let code = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Collects one child that has ended: its pid, and its exit code as a shell gives it. None when there is none.
pub(super) fn collect() -> Option<(u32, i32)> {
    let mut status = 0;
    // SAFETY: the pointer lives for the call.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let code =
        if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
    Some((pid, code))
}
