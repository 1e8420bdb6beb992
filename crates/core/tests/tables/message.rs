//! Every state of a message against every event, as a table that a reader can check.

use carillon_core::id::TurnId;
use carillon_core::message::{Event, State, step};

use crate::{Row, print};

fn turn() -> TurnId {
    TurnId::from_random([1; 16])
}

/// The states, by name; what is over comes last.
fn states() -> Vec<(&'static str, State)> {
    vec![
        ("pending", State::Pending),
        ("claimed", State::Claimed { turn: turn() }),
        ("delivered", State::Delivered { turn: None }),
        ("undeliverable", State::Undeliverable { why: "why".into() }),
    ]
}

fn events() -> Vec<(&'static str, Event)> {
    vec![
        ("claimed", Event::Claimed { turn: turn() }),
        ("turn over", Event::TurnOver),
        ("turn failed, not handed over", Event::TurnFailed { handed_over: false }),
        ("turn failed, handed over", Event::TurnFailed { handed_over: true }),
        ("carried", Event::Carried),
        ("withdrawn", Event::Withdrawn { why: "why".into() }),
    ]
}

/// The name alone is one of [`states`]; what is added tells more.
fn short(state: &State) -> String {
    match state {
        State::Pending => "pending".into(),
        State::Claimed { turn: by } => if *by == turn() { "claimed" } else { "claimed by another" }.into(),
        State::Delivered { turn: None } => "delivered (with something else)".into(),
        State::Delivered { turn: Some(by) } => {
            if *by == turn() { "delivered" } else { "delivered (by another)" }.into()
        }
        State::Undeliverable { .. } => "undeliverable".into(),
    }
}

/// The table of what is not over.
pub fn rows() -> Vec<Row> {
    let step = |(from, state): (&'static str, State)| {
        events().into_iter().map(move |(event, what)| {
            let to = step(&state, what).map(|(to, repeats)| {
                (short(&to), if repeats { "[Repeats]".to_owned() } else { "[]".to_owned() })
            });
            Row::new(from, event, to)
        })
    };
    states().into_iter().take(2).flat_map(step).collect()
}

#[test]
fn the_table_of_messages_is_what_the_design_says() {
    assert_eq!(print(&rows()), EXPECTED);
}

#[test]
fn a_message_that_is_over_stays_as_it_is() {
    for (at, (from, state)) in states().into_iter().enumerate() {
        assert_eq!(state.is_terminal(), at > 1, "{from}");
        for (name, event) in events() {
            assert!(!state.is_terminal() || step(&state, event).is_err(), "{from} + {name}");
        }
    }
}

const EXPECTED: &str = "\
pending + claimed -> claimed []
pending + turn over -> refused: NotClaimed
pending + turn failed, not handed over -> refused: NotClaimed
pending + turn failed, handed over -> refused: NotClaimed
pending + carried -> delivered (with something else) []
pending + withdrawn -> undeliverable []
claimed + claimed -> refused: AlreadyClaimed
claimed + turn over -> delivered []
claimed + turn failed, not handed over -> pending []
claimed + turn failed, handed over -> pending [Repeats]
claimed + carried -> refused: AlreadyClaimed
claimed + withdrawn -> undeliverable []
";
