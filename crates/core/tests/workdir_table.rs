//! Every state of a workdir against every event, as a table that a reader can check, and random sequences.

use carillon_core::workdir::{Effect, Event, State, Why, resume, step};
use proptest::prelude::*;

fn states() -> Vec<(&'static str, State)> {
    let by = || "user".to_owned();
    vec![
        ("creating", State::Creating),
        ("active", State::Active { refused: None }),
        ("merged", State::Merged { keep: false }),
        ("merged, kept", State::Merged { keep: true }),
        ("abandoned", State::Abandoned { by: by(), keep: false }),
        ("abandoned, kept", State::Abandoned { by: by(), keep: true }),
        ("removing", State::Removing { why: Why::Merged }),
        ("tombstoned", State::Tombstoned { why: Why::Merged, archive_ref: Some("a".to_owned()) }),
        ("tombstoned, no archive", State::Tombstoned { why: Why::Vanished, archive_ref: None }),
    ]
}

fn events() -> Vec<(&'static str, Event)> {
    let by = || "user".to_owned();
    vec![
        ("made", Event::Made),
        ("not made", Event::NotMade { message: "no".to_owned() }),
        ("merge completed", Event::MergeCompleted { keep: false }),
        ("merge completed, keep", Event::MergeCompleted { keep: true }),
        ("cancel", Event::CancelRequested { by: by(), keep: false, open_work: 0 }),
        ("cancel, open work", Event::CancelRequested { by: by(), keep: false, open_work: 2 }),
        ("cancel, keep", Event::CancelRequested { by: by(), keep: true, open_work: 0 }),
        ("work ended", Event::WorkEnded),
        ("removal began", Event::RemovalBegan { open_work: 0 }),
        ("removal began, open work", Event::RemovalBegan { open_work: 1 }),
        ("removal refused", Event::RemovalRefused { reason: "in use".to_owned() }),
        ("removed", Event::Removed { archive_ref: Some("b".to_owned()) }),
        ("vanished", Event::Vanished),
        ("restore requested", Event::RestoreRequested),
        ("restored", Event::Restored),
        ("archive forgotten", Event::ArchiveForgotten),
    ]
}

fn short(state: &State) -> String {
    let why = |why: &Why| match why {
        Why::Merged => "merged".to_owned(),
        Why::Abandoned { by } => format!("abandoned by {by}"),
        Why::NeverMade { message } => format!("never made: {message}"),
        Why::Vanished => "vanished".to_owned(),
    };
    match state {
        State::Creating => "creating".to_owned(),
        State::Active { refused: None } => "active".to_owned(),
        State::Active { refused: Some(reason) } => format!("active ({reason})"),
        State::Merged { keep } => format!("merged{}", if *keep { ", kept" } else { "" }),
        State::Abandoned { by, keep } => format!("abandoned by {by}{}", if *keep { ", kept" } else { "" }),
        State::Removing { why: w } => format!("removing ({})", why(w)),
        State::Tombstoned { why: w, archive_ref } => {
            format!("tombstoned ({}, {})", why(w), archive_ref.as_deref().unwrap_or("-"))
        }
    }
}

fn table() -> String {
    let mut table = String::new();
    for (from, state) in states() {
        for (name, event) in events() {
            let line = match step(&state, event) {
                Ok((to, effects)) => format!("{from} + {name} -> {} {effects:?}\n", short(&to)),
                Err(why) => format!("{from} + {name} -> refused: {why:?}\n"),
            };
            table.push_str(&line);
        }
    }
    table
}

#[test]
fn the_table_is_what_the_design_says() {
    assert_eq!(table(), include_str!("workdir_table.txt"));
}

#[test]
fn a_start_goes_on_with_what_is_left() {
    let plans: Vec<String> = states()
        .iter()
        .flat_map(|(name, state)| {
            [0, 2].map(|open| format!("{name}, {open} open: {:?}", resume(state, open)))
        })
        .collect();
    assert_eq!(
        plans,
        [
            "creating, 0 open: [SettleCreation]",
            "creating, 2 open: [SettleCreation]",
            "active, 0 open: []",
            "active, 2 open: []",
            "merged, 0 open: [BeginRemoval]",
            "merged, 2 open: []",
            "merged, kept, 0 open: []",
            "merged, kept, 2 open: []",
            "abandoned, 0 open: [BeginRemoval]",
            "abandoned, 2 open: [CancelWork]",
            "abandoned, kept, 0 open: []",
            "abandoned, kept, 2 open: [CancelWork]",
            "removing, 0 open: [Remove]",
            "removing, 2 open: [Remove]",
            "tombstoned, 0 open: [DeleteContext]",
            "tombstoned, 2 open: [DeleteContext]",
            "tombstoned, no archive, 0 open: [DeleteContext]",
            "tombstoned, no archive, 2 open: [DeleteContext]",
        ]
    );
}

fn any_event() -> impl Strategy<Value = Event> {
    let count = events().len();
    (0..count, any::<bool>(), 0..3u32).prop_map(|(place, keep, open)| match events()[place].1.clone() {
        Event::MergeCompleted { .. } => Event::MergeCompleted { keep },
        Event::CancelRequested { by, .. } => Event::CancelRequested { by, keep, open_work: open },
        Event::RemovalBegan { .. } => Event::RemovalBegan { open_work: open },
        other => other,
    })
}

/// Whether the worktree is there, as an engine that obeys the effects and tells the truth would have it.
fn is_there(state: &State) -> bool {
    !matches!(state, State::Creating | State::Tombstoned { .. })
}

proptest! {
    #[test]
    fn nothing_is_removed_before_somebody_said_so_and_the_work_is_over(events in prop::collection::vec(any_event(), 0..40)) {
        let mut state = State::Creating;
        for event in events {
            let said = format!("{state:?} + {event:?}");
            let Ok((next, effects)) = step(&state, event.clone()) else { continue };
            if effects.contains(&Effect::Remove) && !matches!(state, State::Removing { .. }) {
                let is_wanted = matches!(state, State::Creating | State::Active { .. } | State::Tombstoned { .. });
                prop_assert!(!is_wanted, "{said}");
                prop_assert_eq!(&event, &Event::RemovalBegan { open_work: 0 }, "{}", said);
            }
            // The context goes exactly with the workdir: not earlier, and on every path.
            let buries = matches!(next, State::Tombstoned { .. }) && is_there(&state);
            if buries || matches!((&state, &next), (State::Creating, State::Tombstoned { .. })) {
                prop_assert!(effects.contains(&Effect::DeleteContext), "{said}");
            }
            if effects.contains(&Effect::DeleteContext) {
                let is_gone = matches!(next, State::Tombstoned { .. });
                prop_assert!(is_gone, "{said}");
            }
            // A keep is never overruled by the end of work or by a start.
            if matches!(state, State::Merged { keep: true } | State::Abandoned { keep: true, .. }) {
                prop_assert!(!resume(&state, 0).contains(&Effect::BeginRemoval), "{said}");
                let goes = event == Event::WorkEnded && effects.contains(&Effect::BeginRemoval);
                prop_assert!(!goes, "{said}");
            }
            // Only what was archived comes back.
            if matches!((&state, &next), (State::Tombstoned { .. }, State::Active { .. })) {
                let kept = matches!(state, State::Tombstoned { archive_ref: Some(_), .. });
                prop_assert!(kept, "{said}");
            }
            state = next;
        }
    }
}
