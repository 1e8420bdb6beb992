//! Waiting for children: the program itself and every orphan that comes back to us.

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus};
use std::time::Instant;

/// Collects dead children and remembers how the program ended.
#[derive(Debug)]
pub(super) struct Reaper {
    leader: u32,
    end: Option<LeaderEnd>,
}

/// How and when the program ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaderEnd {
    pub(super) status: WaitStatus,
    /// By the monotonic clock.
    pub(super) at: Instant,
    /// By the wall clock, in Unix milliseconds.
    pub(super) at_ms: i64,
}

impl Reaper {
    pub(super) fn new(leader: u32) -> Reaper {
        Reaper { leader, end: None }
    }

    pub(super) fn leader(&self) -> u32 {
        self.leader
    }

    /// How the program ended; None while it lives.
    pub(super) fn end(&self) -> Option<LeaderEnd> {
        self.end
    }

    /// Collects every dead child. True when no child is left, which proves that no descendant is:
    /// an orphan of any depth would be our child.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    // Only the first: a later orphan may have been given the same number.
                    let is_leader = pid.as_raw_nonzero().get().cast_unsigned() == self.leader;
                    if is_leader && self.end.is_none() {
                        self.end = Some(LeaderEnd { status, at: Instant::now(), at_ms: super::unix_ms() });
                    }
                }
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }
}
