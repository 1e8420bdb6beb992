//! What an agent is doing, as far as its newest run tells.

use crate::limits::FAILED_START_MS;
use crate::run::{Cause, State};

/// The state of an agent, as the window and the command line show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// No process of it runs.
    Offline,
    /// It waits for somebody to say something.
    Idle,
    /// It is in a turn, or on its way up.
    Working,
    /// It sits on a prompt of its own.
    NeedsAttention,
    /// Its profile has hit a limit.
    Limited,
    /// It could not be started, or died with an error right away.
    Failed,
}

/// Tells the state from the newest run and how long that ran, in milliseconds.
pub fn state_of(run: Option<&State>, ran_ms: Option<u64>) -> AgentState {
    match run {
        None => AgentState::Offline,
        Some(State::Starting) => AgentState::Working,
        Some(State::Running) => AgentState::Idle,
        Some(State::Lost(_)) => AgentState::Offline,
        Some(State::Ended(ending)) => match &ending.cause {
            Cause::SpawnFailed { .. } => AgentState::Failed,
            Cause::Ended => {
                let clean = ending.exit_code == Some(0);
                let at_once = ran_ms.is_some_and(|ms| ms < FAILED_START_MS);
                if !clean && at_once { AgentState::Failed } else { AgentState::Offline }
            }
            Cause::TimedOut
            | Cause::Stopped { .. }
            | Cause::SystemStop
            | Cause::OutputTooLarge
            | Cause::NeverBegan => AgentState::Offline,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Ending;

    fn ended(cause: Cause, exit_code: Option<i32>) -> State {
        State::Ended(Ending { cause, exit_code, signal: None })
    }

    #[test]
    fn a_program_that_dies_at_once_has_failed() {
        let state = |s: &State, ms| state_of(Some(s), Some(ms));
        assert_eq!(state(&ended(Cause::Ended, Some(1)), 20), AgentState::Failed);
        assert_eq!(state(&ended(Cause::Ended, Some(1)), 60_000), AgentState::Offline);
        assert_eq!(state(&ended(Cause::Ended, Some(0)), 20), AgentState::Offline);
        let failed = ended(Cause::SpawnFailed { message: "no such program".into() }, None);
        assert_eq!(state(&failed, 0), AgentState::Failed);
        assert_eq!(state_of(None, None), AgentState::Offline);
        assert_eq!(state_of(Some(&State::Running), None), AgentState::Idle);
    }
}
