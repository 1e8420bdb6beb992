//! Every state of a turn against every event, as a table that a reader can check.

use carillon_core::turn::{End, Event, State, step};

use crate::{Row, print};

/// The states, by name; what is over comes last.
fn states() -> Vec<(&'static str, State)> {
    let reason = || "why".to_owned();
    vec![
        ("queued", State::Queued),
        ("starting", State::Starting),
        ("running", State::Running),
        ("final", State::Final { text: "text".into() }),
        ("failed", State::Failed { reason: reason() }),
        ("interrupted", State::Interrupted { reason: reason(), resume: true }),
        ("limited", State::Limited { reason: reason(), until_ms: None }),
    ]
}

fn events() -> Vec<(&'static str, Event)> {
    let reason = || "why".to_owned();
    vec![
        ("claimed", Event::Claimed),
        ("began", Event::Began),
        ("never began", Event::NeverBegan),
        ("over: final", Event::Over(End::Final { text: "text".into() })),
        ("over: no word", Event::Over(End::Final { text: String::new() })),
        ("over: failed", Event::Over(End::Failed { reason: reason() })),
        ("over: interrupted", Event::Over(End::Interrupted { reason: reason(), resume: true })),
        ("over: limited", Event::Over(End::Limited { reason: reason(), until_ms: Some(1) })),
        ("dropped", Event::Dropped { reason: reason() }),
    ]
}

/// The name alone is one of [`states`]; what is added tells more.
fn short(state: &State) -> String {
    match state {
        State::Queued => "queued".into(),
        State::Starting => "starting".into(),
        State::Running => "running".into(),
        State::Final { text } if text.is_empty() => "final (empty)".into(),
        State::Final { .. } => "final".into(),
        State::Failed { .. } => "failed".into(),
        State::Interrupted { resume: true, .. } => "interrupted (to be resumed)".into(),
        State::Interrupted { resume: false, .. } => "interrupted".into(),
        State::Limited { until_ms: Some(ms), .. } => format!("limited (until {ms})"),
        State::Limited { until_ms: None, .. } => "limited".into(),
    }
}

/// The table of what is not over.
pub fn rows() -> Vec<Row> {
    let step = |(from, state): (&'static str, State)| {
        events().into_iter().map(move |(event, what)| {
            let to = step(&state, what).map(|(to, effects)| (short(&to), format!("{effects:?}")));
            Row::new(from, event, to)
        })
    };
    states().into_iter().take(3).flat_map(step).collect()
}

#[test]
fn the_table_of_turns_is_what_the_design_says() {
    assert_eq!(print(&rows()), EXPECTED);
}

#[test]
fn a_turn_that_is_over_stays_as_it_is() {
    for (at, (from, state)) in states().into_iter().enumerate() {
        assert_eq!((state.is_over(), state.is_live()), (at > 2, at == 1 || at == 2), "{from}");
        for (name, event) in events() {
            assert!(!state.is_over() || step(&state, event).is_err(), "{from} + {name}");
        }
    }
}

const EXPECTED: &str = "\
queued + claimed -> starting [HandOver]
queued + began -> refused: NotClaimed
queued + never began -> refused: NotClaimed
queued + over: final -> refused: NotClaimed
queued + over: no word -> refused: NotClaimed
queued + over: failed -> refused: NotClaimed
queued + over: interrupted -> refused: NotClaimed
queued + over: limited -> refused: NotClaimed
queued + dropped -> interrupted []
starting + claimed -> refused: AlreadyClaimed
starting + began -> running []
starting + never began -> queued [NextTurn]
starting + over: final -> final [NextTurn]
starting + over: no word -> final (empty) [NextTurn]
starting + over: failed -> failed [NextTurn]
starting + over: interrupted -> interrupted (to be resumed) [NextTurn]
starting + over: limited -> limited (until 1) [NextTurn]
starting + dropped -> starting [Stop]
running + claimed -> refused: AlreadyClaimed
running + began -> refused: AlreadyRunning
running + never began -> interrupted [NextTurn]
running + over: final -> final [NextTurn]
running + over: no word -> final (empty) [NextTurn]
running + over: failed -> failed [NextTurn]
running + over: interrupted -> interrupted (to be resumed) [NextTurn]
running + over: limited -> limited (until 1) [NextTurn]
running + dropped -> running [Stop]
";
