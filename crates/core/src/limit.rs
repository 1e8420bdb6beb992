//! Session limits of a profile: all its agents wait together, and one of them tries first.
//!
//! `Clear | Limited`. A limit is no failure: no attempt is used up, nothing is discarded.

use crate::id::AgentId;
use crate::limits::{LIMIT_LOOK_MS, LIMIT_PROBE_MS, LIMIT_SPREAD_MS};

/// A limit that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// What the agent's program said.
    pub reason: String,
    /// The end that was told, in Unix milliseconds; none: unknown.
    pub until_ms: Option<i64>,
    /// When an agent tries next, in Unix milliseconds.
    pub resume_ms: i64,
    /// The agent that tries; the others wait for what it finds.
    pub probe: Option<AgentId>,
    /// The user wants all to wait until he says otherwise.
    pub held: bool,
    /// Since when it holds, in Unix milliseconds.
    pub since_ms: i64,
}

/// What happened to the limit of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A turn was rejected for it. Of several ends the latest counts.
    Rejected {
        /// What the program said.
        reason: String,
        /// The end that was told, in Unix milliseconds.
        until_ms: Option<i64>,
    },
    /// The time to try has come.
    Due,
    /// The user wants it tried now.
    ResumeAsked,
    /// The user wants all to wait.
    HoldAsked,
    /// The model answered the turn that tried.
    Passed,
    /// The turn that tried has ended without a word of the model, and not for the limit: nobody knows more than before.
    Unanswered,
    /// The user says that there is none.
    Cleared,
}

/// What to do after the new state is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask again at `resume_ms`.
    Arm,
    /// Let one agent try.
    Probe,
    /// Let all go on, one after the other.
    ResumeAll,
}

/// What the user wants of a limit when none holds: there is nothing to try, to hold or to clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLimit;

/// A limit, where one holds, and what to do.
pub type Step = (Option<Limited>, Vec<Effect>);

/// Takes one step. `wanting`: an agent with something to do, which may try. `spread_ms`: a small random
/// time, so that many do not knock at the same moment.
///
/// # Errors
/// When the user wants something of a limit that does not hold.
pub fn step(
    state: Option<&Limited>,
    event: Event,
    wanting: Option<&AgentId>,
    now_ms: i64,
    spread_ms: i64,
) -> Result<Step, NoLimit> {
    Ok(match (state, event) {
        (before, Event::Rejected { reason, until_ms }) => {
            // An end that has passed tells nothing, and neither does one that nobody told.
            let told = until_ms.filter(|until| *until > now_ms);
            // It may have passed while the turn was on its way out. Whoever tried, and is told so once more, is not believed.
            let tried = before.is_some_and(|limited| limited.probe.is_some());
            let is_just_over = until_ms.is_some() && told.is_none() && !tried;
            let known = before.and_then(|limited| limited.until_ms).filter(|until| *until > now_ms);
            let until_ms = told.max(known);
            let resume_ms = match until_ms {
                Some(until) => until + spread_ms,
                None if is_just_over => now_ms + LIMIT_SPREAD_MS + spread_ms,
                None => now_ms + LIMIT_PROBE_MS + spread_ms,
            };
            let held = before.is_some_and(|limited| limited.held);
            let since_ms = before.map_or(now_ms, |limited| limited.since_ms);
            (Some(Limited { reason, until_ms, resume_ms, probe: None, held, since_ms }), vec![Effect::Arm])
        }
        // A timer, or a turn that began before the limit was over.
        (None, Event::Due | Event::Passed | Event::Unanswered) => (None, vec![]),
        (None, Event::ResumeAsked | Event::HoldAsked | Event::Cleared) => return Err(NoLimit),
        (Some(limited), Event::HoldAsked) => {
            (Some(Limited { held: true, probe: None, ..limited.clone() }), vec![])
        }
        (Some(limited), Event::Due) => match (limited.held, &limited.probe, limited.resume_ms > now_ms) {
            (true, _, _) | (_, Some(_), _) => (Some(limited.clone()), vec![]),
            (false, None, true) => (Some(limited.clone()), vec![Effect::Arm]),
            (false, None, false) => begin(limited, wanting),
        },
        (Some(limited), Event::ResumeAsked) => match &limited.probe {
            // It is being tried already.
            Some(_) => (Some(limited.clone()), vec![]),
            None => begin(&Limited { held: false, ..limited.clone() }, wanting),
        },
        (Some(limited), Event::Unanswered) => {
            let resume_ms = match (limited.resume_ms > now_ms, limited.until_ms) {
                // It was tried before its time.
                (true, _) => limited.resume_ms,
                (false, Some(_)) => now_ms + LIMIT_LOOK_MS + spread_ms,
                (false, None) => now_ms + LIMIT_PROBE_MS + spread_ms,
            };
            (Some(Limited { probe: None, resume_ms, ..limited.clone() }), vec![Effect::Arm])
        }
        (Some(_), Event::Passed | Event::Cleared) => (None, vec![Effect::ResumeAll]),
    })
}

/// One tries. When nobody has anything to do, the limit is simply over.
fn begin(limited: &Limited, wanting: Option<&AgentId>) -> (Option<Limited>, Vec<Effect>) {
    match wanting {
        Some(agent) => (Some(Limited { probe: Some(agent.clone()), ..limited.clone() }), vec![Effect::Probe]),
        None => (None, vec![Effect::ResumeAll]),
    }
}

/// Whether an agent may begin a turn.
pub fn lets_go(state: Option<&Limited>, agent: &AgentId) -> bool {
    state.is_none_or(|limited| limited.probe.as_ref() == Some(agent))
}

/// When the agent at this place in the line goes on after a limit, in milliseconds from now.
pub fn place_ms(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX).saturating_mul(LIMIT_SPREAD_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: u8) -> AgentId {
        AgentId::from_random([n; 16])
    }

    fn step(
        state: Option<&Limited>,
        event: Event,
        wanting: Option<&AgentId>,
        now_ms: i64,
        spread_ms: i64,
    ) -> Step {
        super::step(state, event, wanting, now_ms, spread_ms).expect("a limit holds, or begins")
    }

    fn rejected(until_ms: Option<i64>) -> Event {
        Event::Rejected { reason: "5-hour limit".to_owned(), until_ms }
    }

    #[test]
    fn the_latest_end_counts_and_an_unknown_one_is_not_made_up() {
        let (first, effects) = step(None, rejected(Some(5_000)), None, 1_000, 7);
        let first = first.expect("limited");
        assert_eq!((first.until_ms, first.resume_ms, effects), (Some(5_000), 5_007, vec![Effect::Arm]));
        let (both, _) = step(Some(&first), rejected(Some(3_000)), None, 1_100, 7);
        assert_eq!(both.expect("limited").until_ms, Some(5_000));
        let (unknown, _) = step(None, rejected(None), None, 1_000, 0);
        let unknown = unknown.expect("limited");
        assert_eq!((unknown.until_ms, unknown.resume_ms), (None, 1_000 + LIMIT_PROBE_MS));
    }

    #[test]
    fn an_end_that_has_just_passed_is_tried_soon_and_believed_once() {
        let past = step(None, rejected(Some(900)), None, 1_000, 7).0.expect("limited");
        assert_eq!((past.until_ms, past.resume_ms), (None, 1_000 + LIMIT_SPREAD_MS + 7));
        let both = step(Some(&past), rejected(Some(900)), None, 1_100, 0).0.expect("limited");
        assert_eq!(both.resume_ms, 1_100 + LIMIT_SPREAD_MS, "two turns that ended together");
        let tries = step(Some(&past), Event::Due, Some(&agent(1)), 3_000, 0).0.expect("still limited");
        let again = step(Some(&tries), rejected(Some(900)), None, 3_100, 0).0.expect("limited");
        assert_eq!((again.until_ms, again.resume_ms), (None, 3_100 + LIMIT_PROBE_MS));
    }

    #[test]
    fn one_tries_and_the_others_wait_for_what_it_finds() {
        let (limited, _) = step(None, rejected(Some(5_000)), None, 1_000, 0);
        let limited = limited.expect("limited");
        let early = step(Some(&limited), Event::Due, Some(&agent(1)), 4_000, 0);
        assert_eq!(early, (Some(limited.clone()), vec![Effect::Arm]));
        let (tries, effects) = step(Some(&limited), Event::Due, Some(&agent(1)), 5_000, 0);
        assert_eq!(effects, [Effect::Probe]);
        let tries = tries.expect("still limited");
        assert!(lets_go(Some(&tries), &agent(1)) && !lets_go(Some(&tries), &agent(2)));
        assert!(!lets_go(Some(&limited), &agent(1)) && lets_go(None, &agent(2)));
        // Asked twice, it is tried once.
        assert_eq!(step(Some(&tries), Event::ResumeAsked, Some(&agent(2)), 5_001, 0).1, []);
        let again = step(Some(&tries), rejected(Some(9_000)), None, 5_100, 0).0.expect("limited");
        assert_eq!((again.probe, again.resume_ms, again.since_ms), (None, 9_000, 1_000));
        assert_eq!(step(Some(&tries), Event::Passed, None, 5_100, 0), (None, vec![Effect::ResumeAll]));
        assert_eq!(step(Some(&limited), Event::Due, None, 5_000, 0), (None, vec![Effect::ResumeAll]));
    }

    #[test]
    fn a_try_without_an_answer_tells_nothing_of_the_limit() {
        let limited = step(None, rejected(Some(50_000)), None, 1_000, 0).0.expect("limited");
        let early = step(Some(&limited), Event::ResumeAsked, Some(&agent(1)), 2_000, 0).0.expect("limited");
        let (after, effects) = step(Some(&early), Event::Unanswered, None, 3_000, 5);
        assert_eq!((after, effects), (Some(limited.clone()), vec![Effect::Arm]), "its own end counts");
        let tries = step(Some(&limited), Event::Due, Some(&agent(1)), 50_000, 0).0.expect("limited");
        let late = step(Some(&tries), Event::Unanswered, None, 51_000, 5).0.expect("limited");
        assert_eq!((late.probe, late.resume_ms), (None, 51_000 + LIMIT_LOOK_MS + 5));
        let unknown = step(None, rejected(None), None, 1_000, 0).0.expect("limited");
        let at = unknown.resume_ms;
        let tries = step(Some(&unknown), Event::Due, Some(&agent(1)), at, 0).0.expect("limited");
        let late = step(Some(&tries), Event::Unanswered, None, at + 9, 0).0.expect("limited");
        assert_eq!(late.resume_ms, at + 9 + LIMIT_PROBE_MS);
    }

    #[test]
    fn held_waits_for_the_user_alone() {
        let (limited, _) = step(None, rejected(Some(5_000)), None, 1_000, 0);
        let held = step(limited.as_ref(), Event::HoldAsked, None, 2_000, 0).0.expect("limited");
        assert_eq!(step(Some(&held), Event::Due, Some(&agent(1)), 9_000, 0).1, []);
        let resumed = step(Some(&held), Event::ResumeAsked, Some(&agent(1)), 9_000, 0);
        assert_eq!(resumed.1, [Effect::Probe]);
        assert!(!resumed.0.expect("limited").held);
        assert_eq!(step(Some(&held), Event::Cleared, None, 9_000, 0), (None, vec![Effect::ResumeAll]));
    }

    #[test]
    fn nothing_can_be_wanted_of_a_limit_that_does_not_hold() {
        for event in [Event::ResumeAsked, Event::HoldAsked, Event::Cleared] {
            assert_eq!(super::step(None, event, Some(&agent(1)), 1_000, 0), Err(NoLimit));
        }
        for event in [Event::Due, Event::Passed, Event::Unanswered] {
            assert_eq!(super::step(None, event, Some(&agent(1)), 1_000, 0), Ok((None, vec![])));
        }
    }
}
