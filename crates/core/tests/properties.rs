//! Random sequences of events keep the promises of the run machine.

use carillon_core::reconcile::{Observed, Plan, plan};
use carillon_core::run::{Cause, Effect, Ending, Event, LostWhy, State, in_words, step};
use proptest::prelude::*;

fn ending() -> impl Strategy<Value = Ending> {
    let cause = prop_oneof![
        Just(Cause::Ended),
        Just(Cause::TimedOut),
        Just(Cause::SystemStop),
        Just(Cause::OutputTooLarge),
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

mod tasks {
    use carillon_core::run;
    use carillon_core::task::{Effect, Event, State, in_words, step};
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = Event> {
        let over = prop_oneof![
            super::ending().prop_map(run::State::Ended),
            Just(run::State::Lost(run::LostWhy::SupervisorGone)),
            Just(run::State::Running),
        ];
        prop_oneof![
            Just(Event::Approved),
            Just(Event::Claimed),
            Just(Event::Began),
            Just(Event::CancelRequested { by: "user".into() }),
            over.prop_map(Event::RunOver),
        ]
    }

    proptest! {
        /// One task with its attempts, as the engine drives them: a retry makes a new attempt only when
        /// the one before is over.
        #[test]
        fn one_live_attempt_one_end_each_one_message_each(
            waits in any::<bool>(),
            events in prop::collection::vec(prop_oneof![event().prop_map(Some), Just(None)], 0..60),
        ) {
            let mut attempts = vec![if waits { State::AwaitingApproval } else { State::Queued }];
            let mut messages = 0;
            for event in events {
                let before = attempts.clone();
                let latest = attempts.last_mut().expect("there is always one");
                match event {
                    None if latest.is_terminal() => attempts.push(State::Queued),
                    None => {}
                    Some(event) => {
                        if let Ok((next, effects)) = step(latest, event) {
                            messages += effects.iter().filter(|e| **e == Effect::TellOwner).count();
                            let frees = latest.holds_slot() && !next.holds_slot();
                            let joins = *latest == State::AwaitingApproval && next == State::Queued;
                            prop_assert_eq!(frees || joins, effects.contains(&Effect::FillSlots));
                            *latest = next;
                        }
                    }
                }
                for (old, new) in before.iter().zip(&attempts) {
                    prop_assert!(!old.is_terminal() || old == new, "{:?} became {:?}", old, new);
                }
                prop_assert!(attempts.iter().filter(|a| !a.is_terminal()).count() <= 1);
            }
            let over = attempts.iter().filter(|a| a.is_terminal()).count();
            prop_assert_eq!(messages, over);
            prop_assert!(attempts.iter().all(|a| in_words(a).is_some() == a.is_terminal()));
        }
    }
}
