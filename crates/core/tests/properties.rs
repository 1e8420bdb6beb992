//! Random sequences of events keep the promises of the run machine.

use carillon_core::reconcile::{Observed, Plan, plan};
use carillon_core::run::{Cause, Effect, Ending, Event, LostWhy, State, in_words, step};
use proptest::prelude::*;

fn ending() -> impl Strategy<Value = Ending> {
    let cause = prop_oneof![
        Just(Cause::Ended),
        Just(Cause::TimedOut),
        Just(Cause::SystemStop),
        Just(Cause::Stopped { by: "user".into() }),
    ];
    (cause, prop::option::of(0..256i32), prop::option::of(1..32i32))
        .prop_map(|(cause, exit_code, signal)| Ending { cause, exit_code, signal })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Began),
        ending().prop_map(Event::RecordFound),
        Just(Event::LaunchFailed { message: "no".into() }),
        Just(Event::NeverBegan),
        Just(Event::Vanished(LostWhy::Rebooted)),
        Just(Event::Vanished(LostWhy::SupervisorGone)),
    ]
}

fn observed() -> impl Strategy<Value = Observed> {
    prop_oneof![
        Just(Observed::Alive),
        ending().prop_map(Observed::Ended),
        any::<bool>().prop_map(|other_boot| Observed::Lost { other_boot }),
        Just(Observed::NeverBegan),
        any::<bool>().prop_map(|process_alive| Observed::Gone { process_alive }),
    ]
}

proptest! {
    #[test]
    fn the_first_terminal_state_stands_and_buries_temp_once(events in prop::collection::vec(event(), 0..20)) {
        let mut state = State::Starting;
        let mut burials = 0;
        for event in events {
            let before = state.clone();
            match step(&state, event) {
                Ok((next, effects)) => {
                    prop_assert!(!before.is_terminal(), "{before:?} changed to {next:?}");
                    burials += effects.iter().filter(|e| **e == Effect::BuryTemp).count();
                    state = next;
                }
                Err(_) => prop_assert_eq!(&before, &state),
            }
        }
        prop_assert_eq!(burials, usize::from(state.is_terminal()));
        prop_assert_eq!(in_words(&state).is_some(), state.is_terminal());
    }

    #[test]
    fn a_plan_ends_or_adopts_and_a_second_boot_changes_nothing(seen in observed(), began in any::<bool>()) {
        let state = if began { State::Running } else { State::Starting };
        match plan(&state, seen.clone()) {
            Plan::Adopt => prop_assert_eq!(seen, Observed::Alive),
            Plan::Nothing => prop_assert!(false, "a live run needs a plan"),
            Plan::Finalise(event) => {
                let (next, _) = step(&state, event).expect("a plan is always legal");
                prop_assert!(next.is_terminal());
                prop_assert_eq!(plan(&next, seen), Plan::Nothing);
            }
        }
    }
}
