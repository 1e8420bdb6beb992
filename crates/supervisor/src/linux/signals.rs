//! Signals as events: blocked for good and read from a descriptor, so that no handler ever runs.
//!
//! Blocking, and not ignoring, is also what keeps children clean: an ignored signal would stay
//! ignored through exec, a blocked one is unblocked by [`reset_for_child`].

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The highest signal number of Linux.
const LAST: libc::c_int = 64;

/// Size of the kernel's own set of signals: one bit for each.
const KERNEL_SET_BYTES: usize = 8;

/// Signals that mean a fault in this very process; blocking them would hide it.
const FAULTS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

/// The signals that a supervisor hears.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    /// A child changed its state.
    pub(crate) child: bool,
    /// We are asked to end.
    pub(crate) terminate: bool,
}

/// The descriptor from which signals are read.
pub(crate) struct Signals(OwnedFd);

impl Signals {
    /// Blocks every signal but the faults, gives all of them their default action, and hears CHLD
    /// and TERM. HUP, INT and the rest stay pending for ever, which is how they are ignored.
    pub(crate) fn take_over() -> io::Result<Signals> {
        reset_dispositions();
        let mut blocked = empty_set();
        let mut heard = empty_set();
        // SAFETY: the sets are initialised and live on this stack; the calls only write to them.
        let fd = unsafe {
            libc::sigfillset(&raw mut blocked);
            for fault in FAULTS {
                libc::sigdelset(&raw mut blocked, fault);
            }
            libc::sigaddset(&raw mut heard, libc::SIGCHLD);
            libc::sigaddset(&raw mut heard, libc::SIGTERM);
            if libc::sigprocmask(libc::SIG_SETMASK, &raw const blocked, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, &raw const heard, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Signals(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Takes all signals that have arrived.
    pub(crate) fn take(&self) -> Heard {
        let mut heard = Heard::default();
        loop {
            let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            let size = size_of::<libc::signalfd_siginfo>();
            // SAFETY: the buffer has the size that is given.
            let n = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
            if usize::try_from(n) != Ok(size) {
                return heard;
            }
            // SAFETY: the kernel has just filled the whole structure.
            match unsafe { info.assume_init() }.ssi_signo.cast_signed() {
                libc::SIGCHLD => heard.child = true,
                libc::SIGTERM => heard.terminate = true,
                _ => {}
            }
        }
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

/// Gives a child between fork and exec what a program expects: no signal blocked, none ignored.
pub(crate) fn reset_for_child() -> io::Result<()> {
    reset_dispositions();
    let none = empty_set();
    // SAFETY: the set is initialised and lives through the call.
    match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Default actions for all signals but the faults, whose handlers exec resets anyway and which the
/// Rust runtime uses to report a stack overflow.
///
/// The C library keeps two signals to itself: its `signal` refuses them, and its `posix_spawn` leaves
/// them ignored in the child. Hence the bare system call.
fn reset_dispositions() {
    // An action of zeros is the default one, with no flags; it is larger than the kernel's structure
    // on any machine.
    let default = [0u64; 8];
    for signal in (1..=LAST).filter(|s| !FAULTS.contains(s)) {
        // SAFETY: the kernel only reads the action. KILL and STOP answer an error, which is right.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                KERNEL_SET_BYTES,
            )
        };
    }
}

/// A set with no signal in it.
pub(crate) fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call initialises the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// A set with every signal in it.
pub(crate) fn full_set() -> libc::sigset_t {
    let mut set = empty_set();
    // SAFETY: the set is initialised.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}
