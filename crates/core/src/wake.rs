//! When an idle agent is woken: one decision, made whenever one of its facts changes.

use crate::limits::{WAKE_ATTEMPTS, WAKE_PAUSE_MAX_MS, WAKE_PAUSE_MS};

/// Everything that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Messages that wait.
    pub pending: u32,
    /// No turn of the agent runs, and what it needs to run one is there.
    pub idle: bool,
    /// The user wants it to stay down.
    pub stopped: bool,
    /// Its profile has hit a limit.
    pub limited: bool,
    /// The user has typed half a line.
    pub typing: bool,
    /// Wakes in a row that came to nothing.
    pub failed: u32,
    /// Not before this time, in Unix milliseconds.
    pub not_before_ms: i64,
    /// Now, in Unix milliseconds.
    pub now_ms: i64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing waits, or something else has to happen first, which will ask again.
    Nothing,
    /// Start a turn with all that waits.
    Wake,
    /// Ask again at this time, in Unix milliseconds.
    Later {
        /// When.
        at_ms: i64,
    },
    /// It was tried often enough. What waits goes on waiting, visibly.
    GivenUp,
}

/// Decides.
pub fn decide(facts: Facts) -> Decision {
    let blocked = !facts.idle || facts.stopped || facts.limited || facts.typing;
    if facts.pending == 0 || blocked {
        return Decision::Nothing;
    }
    if facts.failed >= WAKE_ATTEMPTS {
        return Decision::GivenUp;
    }
    if facts.now_ms < facts.not_before_ms {
        return Decision::Later { at_ms: facts.not_before_ms };
    }
    Decision::Wake
}

/// The pause after so many wakes in a row that came to nothing, in milliseconds.
pub fn pause_ms(failed: u32) -> i64 {
    let doublings = failed.saturating_sub(1).min(16);
    (WAKE_PAUSE_MS << doublings).min(WAKE_PAUSE_MAX_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            pending: 3,
            idle: true,
            stopped: false,
            limited: false,
            typing: false,
            failed: 0,
            not_before_ms: 0,
            now_ms: 100,
        }
    }

    #[test]
    fn one_fact_is_enough_to_let_an_agent_be() {
        assert_eq!(decide(facts()), Decision::Wake);
        let quiet = [
            Facts { pending: 0, ..facts() },
            Facts { idle: false, ..facts() },
            Facts { stopped: true, ..facts() },
            Facts { limited: true, ..facts() },
            Facts { typing: true, ..facts() },
        ];
        for facts in quiet {
            assert_eq!(decide(facts), Decision::Nothing, "{facts:?}");
        }
    }

    #[test]
    fn failures_are_tried_again_later_and_then_no_more() {
        assert_eq!(decide(Facts { not_before_ms: 101, ..facts() }), Decision::Later { at_ms: 101 });
        assert_eq!(decide(Facts { failed: WAKE_ATTEMPTS - 1, ..facts() }), Decision::Wake);
        assert_eq!(decide(Facts { failed: WAKE_ATTEMPTS, ..facts() }), Decision::GivenUp);
        let pauses: Vec<i64> = (1..=8).map(pause_ms).collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    }
}
