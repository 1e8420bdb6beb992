//! What the loop has to do at a stated time. Nothing here is kept: a boot arms all timers anew from
//! the ledger.

use std::collections::BTreeSet;
use std::time::Duration;

use carillon_core::id::{AgentId, ApprovalId, AskId, ProfileId, ProjectId, RunId};

/// What a time is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The time of an ask is up.
    Deadline(AskId),
    /// An agent may be woken again.
    Wake(AgentId),
    /// The tasks of a project may go on.
    Slots(ProjectId),
    /// A program may have been quiet for long enough to be asking something.
    Attention(RunId),
    /// The limit of a profile may be over.
    Limit(ProfileId),
    /// The turn that tries whether a limit is over has gone on for long enough.
    LimitPassed(ProfileId),
    /// Nobody has given his word in time.
    Approval(ApprovalId),
}

/// Longest sleep: the wall clock may be set, and the machine may have slept.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// The times that are to come.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(i64, Timer)>,
}

impl Timers {
    /// At this time, in Unix milliseconds.
    pub(crate) fn set(&mut self, at_ms: i64, timer: Timer) {
        self.due.insert((at_ms, timer));
    }

    /// At this time, unless it is to come anyway.
    pub(crate) fn set_once(&mut self, at_ms: i64, timer: Timer) {
        if !self.due.iter().any(|(_, known)| *known == timer) {
            self.set(at_ms, timer);
        }
    }

    /// How long the loop may sleep; `None` when nothing is to come.
    pub(crate) fn rest(&self, now_ms: i64) -> Option<Duration> {
        let (at_ms, _) = self.due.first()?;
        let rest = Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap_or(0));
        Some(rest.min(SLEEP_MAX))
    }

    /// Takes out what is due.
    pub(crate) fn take(&mut self, now_ms: i64) -> Vec<Timer> {
        let mut taken = Vec::new();
        while let Some((at_ms, _)) = self.due.first()
            && *at_ms <= now_ms
        {
            taken.extend(self.due.pop_first().map(|(_, timer)| timer));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_its_order_and_once() {
        let wake = |n: u8| Timer::Wake(AgentId::from_random([n; 16]));
        let mut timers = Timers::default();
        assert_eq!(timers.rest(0), None);
        for (at, n) in [(300, 3), (100, 1), (200, 2), (100, 1)] {
            timers.set(at, wake(n));
        }
        assert_eq!(timers.rest(40), Some(Duration::from_millis(60)));
        assert_eq!(timers.rest(500), Some(Duration::ZERO));
        assert_eq!(timers.take(200), [wake(1), wake(2)]);
        assert_eq!(timers.take(200), []);
        timers.take(300);
        timers.set_once(400, wake(5));
        timers.set_once(350, wake(5));
        assert_eq!((timers.take(399), timers.take(400)), (vec![], vec![wake(5)]));
        timers.set(10_000_000, wake(4));
        assert_eq!(timers.rest(0), Some(SLEEP_MAX));
    }
}
