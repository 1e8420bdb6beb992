//! The user's word to stop a piece of work of git's.
//!
//! It holds for every call of git that a thread makes within [`Stop::within`]: one that runs is ended with all that it
//! started, one that would come next is not begun. Right before the first step that cannot be taken back the work
//! calls [`pass`]. The word and that step exclude each other: whichever comes first, the other one is told so, and
//! from there on the work goes on to its end.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::Error;

const RUNNING: u8 = 0;
const STOPPED: u8 = 1;
const PASSED: u8 = 2;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Stop>>> = const { RefCell::new(None) };
}

/// Whether one piece of work is to stop.
#[derive(Debug)]
pub struct Stop {
    state: AtomicU8,
    /// Can be read once the word was given, so that a call that runs hears of it.
    bell: OwnedFd,
}

impl Stop {
    /// For one piece of work.
    ///
    /// # Errors
    /// The system gives no more descriptors.
    pub fn new() -> io::Result<Arc<Self>> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self { state: AtomicU8::new(RUNNING), bell }))
    }

    /// Has the work stop. False when it is past the point up to which it can.
    pub fn ask(&self) -> bool {
        let (order, other) = (Ordering::SeqCst, Ordering::SeqCst);
        let was = self.state.compare_exchange(RUNNING, STOPPED, order, other).unwrap_or_else(|was| was);
        if was == RUNNING {
            // Only a counter at its end would refuse, and then the bell has rung.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
        was != PASSED
    }

    /// Whether it was asked for in time.
    pub fn is_asked(&self) -> bool {
        self.state.load(Ordering::SeqCst) == STOPPED
    }

    /// Does work that this stops.
    pub fn within<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        /// Puts back what held before, also when the work panics.
        struct Back(Option<Arc<Stop>>);
        impl Drop for Back {
            fn drop(&mut self) {
                CURRENT.with_borrow_mut(|current| *current = self.0.take());
            }
        }
        let _back = Back(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// Rings when it is asked for.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// What may stop the call that comes next; none for work that nobody stops, or that is past its point.
pub(super) fn current() -> Result<Option<Arc<Stop>>, Error> {
    let Some(stop) = CURRENT.with_borrow(Clone::clone) else { return Ok(None) };
    match stop.state.load(Ordering::SeqCst) {
        STOPPED => Err(Error::Stopped),
        RUNNING => Ok(Some(stop)),
        _ => Ok(None),
    }
}

/// From here on the work cannot be stopped.
///
/// # Errors
/// [`Error::Stopped`] when it was to stop before: then this step must not be taken.
pub(super) fn pass() -> Result<(), Error> {
    let Some(stop) = CURRENT.with_borrow(Clone::clone) else { return Ok(()) };
    match stop.state.compare_exchange(RUNNING, PASSED, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) | Err(PASSED) => Ok(()),
        Err(_) => Err(Error::Stopped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_and_the_step_exclude_each_other() {
        let stop = Stop::new().expect("a stop");
        assert!(stop.ask() && stop.ask() && stop.is_asked(), "twice is once");
        assert!(matches!(stop.within(pass), Err(Error::Stopped)));
        assert!(matches!(stop.within(current), Err(Error::Stopped)));
        let passed = Stop::new().expect("a stop");
        passed.within(|| {
            assert!(current().is_ok_and(|current| current.is_some()));
            assert!(pass().is_ok() && pass().is_ok());
        });
        assert!(!passed.ask() && !passed.is_asked());
        assert!(passed.within(current).is_ok_and(|current| current.is_none()));
        assert!(pass().is_ok() && current().is_ok_and(|current| current.is_none()), "nothing holds outside");
    }
}
