//! Every state of an ask against every event and every way its children can stand, as a table that a
//! reader can check.

use carillon_core::ask::{Ask, Child, ChildEnd, ChildId, Effect, Event, State, TurnEnd, due, step};
use carillon_core::id::TaskId;

use crate::{Row, print};

/// A state by its name, whether a follow-up turn is wanted, and whether a turn is under way.
struct From {
    name: &'static str,
    state: State,
    follow_up: bool,
    has_turn: bool,
}

/// What goes on. Of an open ask it does not matter whether a follow-up turn is wanted.
fn going_on() -> Vec<From> {
    let pending = |followed| State::PendingFinal { text: "first".into(), followed };
    let from = |name, state, follow_up, has_turn| From { name, state, follow_up, has_turn };
    vec![
        from("open", State::Open, true, true),
        from("pending", pending(false), false, false),
        from("pending, to be followed", pending(false), true, false),
        from("follow-up turn", pending(true), true, true),
        from("second final waits", pending(true), true, false),
    ]
}

fn over() -> Vec<(&'static str, State)> {
    let (reason, text) = (|| "why".to_owned(), || Some("text".to_owned()));
    vec![
        ("answered", State::Answered { text: "text".into() }),
        ("failed", State::Failed { reason: reason(), text: text() }),
        ("cancelled", State::Cancelled { reason: reason(), text: None }),
        ("timed out", State::TimedOut { reason: reason(), text: None }),
    ]
}

fn child(end: Option<ChildEnd>, excused: bool) -> Child {
    Child { id: ChildId::Task(TaskId::from_random([1; 16])), end, excused, words: "its words".into() }
}

/// The ways in which children can stand.
fn families() -> Vec<(&'static str, Vec<Child>)> {
    let one = |end| vec![child(Some(end), false)];
    vec![
        ("no child", vec![]),
        ("goes on", vec![child(None, false)]),
        ("goes on, excused", vec![child(None, true)]),
        ("well", one(ChildEnd::Succeeded)),
        ("failed", one(ChildEnd::Failed)),
        ("cancelled", one(ChildEnd::Cancelled)),
        ("timed out", one(ChildEnd::TimedOut)),
        ("lost", one(ChildEnd::Lost)),
        ("failed, excused", vec![child(Some(ChildEnd::Failed), true)]),
        ("one goes on, one failed", vec![child(None, false), child(Some(ChildEnd::Failed), false)]),
        ("one goes on, one well", vec![child(Some(ChildEnd::Succeeded), false), child(None, false)]),
    ]
}

/// Events that are judged by the children, and then the others.
fn judged() -> Vec<(&'static str, Event)> {
    let text = "second".to_owned();
    vec![("final", Event::TurnOver(TurnEnd::Final(text))), ("children changed", Event::ChildrenChanged)]
}

fn others() -> Vec<(&'static str, Event)> {
    vec![
        ("no answer", Event::TurnOver(TurnEnd::NoAnswer)),
        ("turn failed", Event::TurnOver(TurnEnd::Failed { reason: "it died".into() })),
        ("cancelled by user", Event::CancelRequested { by: "user".into() }),
        ("cancelled by B", Event::CancelRequested { by: "B".into() }),
        ("deadline passed", Event::DeadlinePassed),
        ("agent removed", Event::AgentRemoved { who: "B".into() }),
    ]
}

fn ask(state: &State, follow_up: bool, has_turn: bool, children: &[Child]) -> Ask {
    Ask { state: state.clone(), follow_up, has_turn, children: children.to_vec(), delivered: false }
}

/// The name of where a step leads, and what it says.
fn short(from: &From, event: &Event, to: &State, effects: &[Effect]) -> String {
    let said = |reason: &str, text: &Option<String>| match text {
        None => format!("({reason})"),
        Some(text) => format!("({reason}; {text})"),
    };
    match to {
        State::Open => "open".into(),
        State::PendingFinal { followed: false, text } if from.follow_up => {
            format!("pending, to be followed ({text})")
        }
        State::PendingFinal { followed: false, text } => format!("pending ({text})"),
        State::PendingFinal { text, .. } if effects.contains(&Effect::ReserveFollowUp) => {
            format!("follow-up turn ({text})")
        }
        State::PendingFinal { text, .. } if from.has_turn && *event == Event::ChildrenChanged => {
            format!("follow-up turn ({text})")
        }
        State::PendingFinal { text, .. } => format!("second final waits ({text})"),
        State::Answered { text } => format!("answered ({text})"),
        State::Failed { reason, text } => format!("failed {}", said(reason, text)),
        State::Cancelled { reason, text } => format!("cancelled {}", said(reason, text)),
        State::TimedOut { reason, text } => format!("timed out {}", said(reason, text)),
    }
}

/// The table of what is not over. An event that is not judged is shown with a child that goes on.
pub fn rows() -> Vec<Row> {
    going_on().into_iter().flat_map(|from| rows_of(&from)).collect()
}

/// The table with both ways out of an open ask, for the diagram.
pub fn rows_to_draw() -> Vec<Row> {
    let open = From { name: "open", state: State::Open, follow_up: false, has_turn: true };
    rows_of(&open).into_iter().chain(rows()).collect()
}

fn rows_of(from: &From) -> Vec<Row> {
    let goes_on = || vec![("", vec![child(None, false)])];
    let judged = judged().into_iter().map(|event| (event, families()));
    let others = others().into_iter().map(|event| (event, goes_on()));
    let mut rows = Vec::new();
    for ((name, event), families) in judged.chain(others) {
        for (family, children) in families {
            let ask = ask(&from.state, from.follow_up, from.has_turn, &children);
            let to = step(&ask, event.clone())
                .map(|(to, effects)| (short(from, &event, &to, &effects), format!("{effects:?}")));
            rows.push(Row::new(from.name, name, to).when(family));
        }
    }
    rows
}

#[test]
fn the_table_of_asks_is_what_the_design_says() {
    assert_eq!(print(&rows()), EXPECTED);
}

#[test]
fn an_open_ask_takes_its_steps_whether_a_follow_up_is_wanted_or_not() {
    for (name, event) in judged().into_iter().chain(others()) {
        for (family, children) in families() {
            let steps =
                [true, false].map(|wanted| step(&ask(&State::Open, wanted, true, &children), event.clone()));
            assert_eq!(steps[0], steps[1], "{name}, {family}");
        }
    }
}

#[test]
fn a_turn_that_is_over_is_not_ended_whenever_its_row_was_written() {
    let waiting = State::PendingFinal { text: "first".into(), followed: true };
    for state in [State::Open, waiting] {
        for end in [TurnEnd::Final("second".into()), TurnEnd::NoAnswer] {
            for (family, children) in families() {
                let steps = [true, false].map(|has_turn| {
                    step(&ask(&state, true, has_turn, &children), Event::TurnOver(end.clone()))
                });
                assert_eq!(steps[0], steps[1], "{state:?}, {family}");
            }
        }
    }
}

#[test]
fn an_ask_that_is_over_stays_as_it_is() {
    assert!(going_on().iter().all(|from| !from.state.is_terminal()));
    for (from, state) in over() {
        assert!(state.is_terminal(), "{from}");
        for (name, event) in judged().into_iter().chain(others()) {
            for (family, children) in families() {
                let ask = ask(&state, true, true, &children);
                assert!(step(&ask, event.clone()).is_err(), "{from} + {name}, {family}");
            }
        }
    }
}

#[test]
fn what_is_owed_is_told_by_the_state_alone() {
    for (from, state) in over() {
        for has_turn in [true, false] {
            for goes_on in [true, false] {
                for delivered in [false, true] {
                    let end = (!goes_on).then_some(ChildEnd::Cancelled);
                    let owed = due(&Ask { delivered, ..ask(&state, true, has_turn, &[child(end, false)]) });
                    let mut expected = Vec::new();
                    expected.extend(has_turn.then_some(Effect::EndTurn));
                    expected.extend(goes_on.then_some(Effect::CancelChildren));
                    expected.extend((!delivered).then_some(Effect::Deliver));
                    assert_eq!(owed, expected, "{from}");
                }
            }
        }
    }
    for from in going_on() {
        assert_eq!(due(&ask(&from.state, from.follow_up, from.has_turn, &[child(None, false)])), []);
    }
}

const EXPECTED: &str = "\
open + final | no child -> answered (second) [Deliver]
open + final | goes on -> pending, to be followed (second) []
open + final | goes on, excused -> pending, to be followed (second) []
open + final | well -> answered (second) [Deliver]
open + final | failed -> failed (its words; second) [Deliver]
open + final | cancelled -> cancelled (its words; second) [Deliver]
open + final | timed out -> timed out (its words; second) [Deliver]
open + final | lost -> failed (its words; second) [Deliver]
open + final | failed, excused -> answered (second) [Deliver]
open + final | one goes on, one failed -> failed (its words; second) [CancelChildren, Deliver]
open + final | one goes on, one well -> pending, to be followed (second) []
open + children changed | no child -> open []
open + children changed | goes on -> open []
open + children changed | goes on, excused -> open []
open + children changed | well -> open []
open + children changed | failed -> open []
open + children changed | cancelled -> open []
open + children changed | timed out -> open []
open + children changed | lost -> open []
open + children changed | failed, excused -> open []
open + children changed | one goes on, one failed -> open []
open + children changed | one goes on, one well -> open []
open + no answer -> failed (the agent ended its turn without an answer) [CancelChildren, Deliver]
open + turn failed -> failed (it died) [CancelChildren, Deliver]
open + cancelled by user -> cancelled (cancelled by you) [EndTurn, CancelChildren, Deliver]
open + cancelled by B -> cancelled (cancelled by B) [EndTurn, CancelChildren, Deliver]
open + deadline passed -> timed out (its time was up) [EndTurn, CancelChildren, Deliver]
open + agent removed -> failed (B was removed) [EndTurn, CancelChildren, Deliver]
pending + final | no child -> refused: NoTurn
pending + final | goes on -> refused: NoTurn
pending + final | goes on, excused -> refused: NoTurn
pending + final | well -> refused: NoTurn
pending + final | failed -> refused: NoTurn
pending + final | cancelled -> refused: NoTurn
pending + final | timed out -> refused: NoTurn
pending + final | lost -> refused: NoTurn
pending + final | failed, excused -> refused: NoTurn
pending + final | one goes on, one failed -> refused: NoTurn
pending + final | one goes on, one well -> refused: NoTurn
pending + children changed | no child -> answered (first) [Deliver]
pending + children changed | goes on -> pending (first) []
pending + children changed | goes on, excused -> pending (first) []
pending + children changed | well -> answered (first) [Deliver]
pending + children changed | failed -> failed (its words; first) [Deliver]
pending + children changed | cancelled -> cancelled (its words; first) [Deliver]
pending + children changed | timed out -> timed out (its words; first) [Deliver]
pending + children changed | lost -> failed (its words; first) [Deliver]
pending + children changed | failed, excused -> answered (first) [Deliver]
pending + children changed | one goes on, one failed -> failed (its words; first) [CancelChildren, Deliver]
pending + children changed | one goes on, one well -> pending (first) []
pending + no answer -> refused: NoTurn
pending + turn failed -> refused: NoTurn
pending + cancelled by user -> cancelled (cancelled by you; first) [CancelChildren, Deliver]
pending + cancelled by B -> cancelled (cancelled by B; first) [CancelChildren, Deliver]
pending + deadline passed -> timed out (its time was up; first) [CancelChildren, Deliver]
pending + agent removed -> failed (B was removed; first) [CancelChildren, Deliver]
pending, to be followed + final | no child -> refused: NoTurn
pending, to be followed + final | goes on -> refused: NoTurn
pending, to be followed + final | goes on, excused -> refused: NoTurn
pending, to be followed + final | well -> refused: NoTurn
pending, to be followed + final | failed -> refused: NoTurn
pending, to be followed + final | cancelled -> refused: NoTurn
pending, to be followed + final | timed out -> refused: NoTurn
pending, to be followed + final | lost -> refused: NoTurn
pending, to be followed + final | failed, excused -> refused: NoTurn
pending, to be followed + final | one goes on, one failed -> refused: NoTurn
pending, to be followed + final | one goes on, one well -> refused: NoTurn
pending, to be followed + children changed | no child -> follow-up turn (first) [ReserveFollowUp]
pending, to be followed + children changed | goes on -> pending, to be followed (first) []
pending, to be followed + children changed | goes on, excused -> pending, to be followed (first) []
pending, to be followed + children changed | well -> follow-up turn (first) [ReserveFollowUp]
pending, to be followed + children changed | failed -> failed (its words; first) [Deliver]
pending, to be followed + children changed | cancelled -> cancelled (its words; first) [Deliver]
pending, to be followed + children changed | timed out -> timed out (its words; first) [Deliver]
pending, to be followed + children changed | lost -> failed (its words; first) [Deliver]
pending, to be followed + children changed | failed, excused -> follow-up turn (first) [ReserveFollowUp]
pending, to be followed + children changed | one goes on, one failed -> failed (its words; first) [CancelChildren, Deliver]
pending, to be followed + children changed | one goes on, one well -> pending, to be followed (first) []
pending, to be followed + no answer -> refused: NoTurn
pending, to be followed + turn failed -> refused: NoTurn
pending, to be followed + cancelled by user -> cancelled (cancelled by you; first) [CancelChildren, Deliver]
pending, to be followed + cancelled by B -> cancelled (cancelled by B; first) [CancelChildren, Deliver]
pending, to be followed + deadline passed -> timed out (its time was up; first) [CancelChildren, Deliver]
pending, to be followed + agent removed -> failed (B was removed; first) [CancelChildren, Deliver]
follow-up turn + final | no child -> answered (second) [Deliver]
follow-up turn + final | goes on -> second final waits (second) []
follow-up turn + final | goes on, excused -> second final waits (second) []
follow-up turn + final | well -> answered (second) [Deliver]
follow-up turn + final | failed -> failed (its words; second) [Deliver]
follow-up turn + final | cancelled -> cancelled (its words; second) [Deliver]
follow-up turn + final | timed out -> timed out (its words; second) [Deliver]
follow-up turn + final | lost -> failed (its words; second) [Deliver]
follow-up turn + final | failed, excused -> answered (second) [Deliver]
follow-up turn + final | one goes on, one failed -> failed (its words; second) [CancelChildren, Deliver]
follow-up turn + final | one goes on, one well -> second final waits (second) []
follow-up turn + children changed | no child -> follow-up turn (first) []
follow-up turn + children changed | goes on -> follow-up turn (first) []
follow-up turn + children changed | goes on, excused -> follow-up turn (first) []
follow-up turn + children changed | well -> follow-up turn (first) []
follow-up turn + children changed | failed -> follow-up turn (first) []
follow-up turn + children changed | cancelled -> follow-up turn (first) []
follow-up turn + children changed | timed out -> follow-up turn (first) []
follow-up turn + children changed | lost -> follow-up turn (first) []
follow-up turn + children changed | failed, excused -> follow-up turn (first) []
follow-up turn + children changed | one goes on, one failed -> follow-up turn (first) []
follow-up turn + children changed | one goes on, one well -> follow-up turn (first) []
follow-up turn + no answer -> failed (the agent ended its turn without an answer; first) [CancelChildren, Deliver]
follow-up turn + turn failed -> failed (it died; first) [CancelChildren, Deliver]
follow-up turn + cancelled by user -> cancelled (cancelled by you; first) [EndTurn, CancelChildren, Deliver]
follow-up turn + cancelled by B -> cancelled (cancelled by B; first) [EndTurn, CancelChildren, Deliver]
follow-up turn + deadline passed -> timed out (its time was up; first) [EndTurn, CancelChildren, Deliver]
follow-up turn + agent removed -> failed (B was removed; first) [EndTurn, CancelChildren, Deliver]
second final waits + final | no child -> answered (second) [Deliver]
second final waits + final | goes on -> second final waits (second) []
second final waits + final | goes on, excused -> second final waits (second) []
second final waits + final | well -> answered (second) [Deliver]
second final waits + final | failed -> failed (its words; second) [Deliver]
second final waits + final | cancelled -> cancelled (its words; second) [Deliver]
second final waits + final | timed out -> timed out (its words; second) [Deliver]
second final waits + final | lost -> failed (its words; second) [Deliver]
second final waits + final | failed, excused -> answered (second) [Deliver]
second final waits + final | one goes on, one failed -> failed (its words; second) [CancelChildren, Deliver]
second final waits + final | one goes on, one well -> second final waits (second) []
second final waits + children changed | no child -> answered (first) [Deliver]
second final waits + children changed | goes on -> second final waits (first) []
second final waits + children changed | goes on, excused -> second final waits (first) []
second final waits + children changed | well -> answered (first) [Deliver]
second final waits + children changed | failed -> failed (its words; first) [Deliver]
second final waits + children changed | cancelled -> cancelled (its words; first) [Deliver]
second final waits + children changed | timed out -> timed out (its words; first) [Deliver]
second final waits + children changed | lost -> failed (its words; first) [Deliver]
second final waits + children changed | failed, excused -> answered (first) [Deliver]
second final waits + children changed | one goes on, one failed -> failed (its words; first) [CancelChildren, Deliver]
second final waits + children changed | one goes on, one well -> second final waits (first) []
second final waits + no answer -> failed (the agent ended its turn without an answer; first) [CancelChildren, Deliver]
second final waits + turn failed -> failed (it died; first) [CancelChildren, Deliver]
second final waits + cancelled by user -> cancelled (cancelled by you; first) [CancelChildren, Deliver]
second final waits + cancelled by B -> cancelled (cancelled by B; first) [CancelChildren, Deliver]
second final waits + deadline passed -> timed out (its time was up; first) [CancelChildren, Deliver]
second final waits + agent removed -> failed (B was removed; first) [CancelChildren, Deliver]
";
