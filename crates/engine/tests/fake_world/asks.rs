//! Asks with a fake world: what is committed before what, and which way an answer takes.

use carillon_core::ask::State;
use carillon_core::id::CallId;
use carillon_core::turn::End;
use carillon_engine::requests::{AskView, Caller, Delivered, NewAsk, Workdir};

use crate::fake::{Asked, OnLaunch};
use crate::stage::{Stage, new_ask};

fn stage() -> Stage {
    let stage = Stage::new(OnLaunch::Begin);
    for name in ["tenor", "bass"] {
        stage.add_headless(name, Workdir::Root);
    }
    stage
}

fn ask(stage: &Stage, from: Option<&str>, call: Option<CallId>) -> AskView {
    let caller = Caller { agent: from.map(str::to_owned), run: None };
    let new = NewAsk { call, ..new_ask(caller, "tenor") };
    stage.engine.open_ask(new).expect("it is taken")
}

fn answer(stage: &Stage, launch: usize, text: &str) {
    let run = stage.world.wait_for_launch(launch);
    stage.world.set_outcome(&run, End::Final { text: text.to_owned() });
    stage.world.end(&run, 0);
    stage.settle();
}

#[test]
fn an_ask_and_its_turn_are_committed_before_anything_is_started() {
    let stage = stage();
    let asked = ask(&stage, None, None);
    let launched = stage.world.wait_for(1, |asked| matches!(asked, Asked::Launch { .. }));
    let Asked::Launch { seen, .. } = &launched[0] else { unreachable!("only launches were taken") };
    assert_eq!(seen.as_deref(), Some("starting"), "the run is on the ledger first");
    answer(&stage, 0, "the great one");
    let done = stage.engine.ask(asked.row.id.as_str()).expect("the ask");
    assert_eq!(done.row.state, State::Answered { text: "the great one".to_owned() });
    assert_eq!(done.row.delivered, None, "the user looks when he likes");
}

#[test]
fn an_answer_waits_for_a_call_whose_client_lives_and_else_goes_to_the_inbox() {
    let stage = stage();
    let call = CallId::from_random([7; 16]);
    stage.world.hold(&call, true);
    let asked = ask(&stage, Some("bass"), Some(call.clone()));
    answer(&stage, 0, "the great one");
    stage.world.wait_for(1, |asked| matches!(asked, Asked::WatchCall { call: watched } if *watched == call));
    let id = asked.row.id.as_str();
    assert_eq!(stage.engine.ask(id).expect("the ask").row.delivered, None, "the client has it in hand");
    stage.world.hold(&call, false);
    stage.engine.call_left(call).expect("it is gone");
    assert_eq!(stage.engine.ask(id).expect("the ask").row.delivered, Some(Delivered::Inbox));
    let inbox = stage.engine.inbox("bass").expect("an inbox");
    assert_eq!(inbox.len(), 1, "told once: {inbox:?}");
}

#[test]
fn an_answer_that_a_call_has_is_in_no_inbox() {
    let stage = stage();
    let call = CallId::from_random([8; 16]);
    stage.world.hold(&call, true);
    let asked = ask(&stage, Some("bass"), Some(call.clone()));
    answer(&stage, 0, "the great one");
    let id = asked.row.id.as_str();
    stage.engine.call_delivered(id, call.clone()).expect("it is noted");
    stage.world.hold(&call, false);
    stage.engine.call_left(call).expect("late, and harmless");
    assert_eq!(stage.engine.ask(id).expect("the ask").row.delivered, Some(Delivered::Call));
    assert_eq!(stage.engine.inbox("bass").expect("an inbox"), []);
}

#[test]
fn a_second_ask_waits_for_the_first_turn() {
    let stage = stage();
    let (first, second) = (ask(&stage, None, None), ask(&stage, None, None));
    stage.settle();
    assert_eq!(stage.world.orders().len(), 1, "one turn at a time");
    answer(&stage, 0, "one");
    answer(&stage, 1, "two");
    for (view, text) in [(first, "one"), (second, "two")] {
        let done = stage.engine.ask(view.row.id.as_str()).expect("the ask");
        assert_eq!(done.row.state, State::Answered { text: text.to_owned() });
    }
}

#[test]
fn nothing_begins_twice_over_two_boots() {
    let stage = stage();
    ask(&stage, None, None);
    stage.world.wait_for_launch(0);
    let stage = stage.boot_again();
    assert!(
        stage.world.asked().iter().any(|asked| matches!(asked, Asked::Adopt { .. })),
        "it is gone on with"
    );
    assert!(!stage.world.asked().iter().any(|asked| matches!(asked, Asked::Launch { .. })));
    let seq = stage.seq();
    let stage = stage.boot_again();
    assert_eq!(stage.seq(), seq, "the second boot changes nothing");
}

#[test]
fn a_call_that_is_repeated_by_a_client_that_gave_up_finds_its_ask() {
    let stage = stage();
    let (first, second, third) =
        (CallId::from_random([1; 16]), CallId::from_random([2; 16]), CallId::from_random([3; 16]));
    stage.world.hold(&first, true);
    let asked = ask(&stage, Some("bass"), Some(first.clone()));
    let other = ask(&stage, Some("bass"), Some(second.clone()));
    assert_ne!(asked.row.id, other.row.id, "somebody waits for the first one");
    // The client of the second call is gone, and asks once more.
    stage.world.hold(&third, true);
    let again = ask(&stage, Some("bass"), Some(third.clone()));
    assert_eq!(again.row.id, other.row.id, "its own ask, which nobody waits for any more");
    answer(&stage, 0, "one");
    answer(&stage, 1, "two");
    stage.world.wait_for(1, |asked| matches!(asked, Asked::WatchCall { call } if *call == third));
    assert_eq!(stage.world.orders().len(), 2, "nothing was asked a third time");
}
