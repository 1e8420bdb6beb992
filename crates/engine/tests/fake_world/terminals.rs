//! When a turn is begun in a terminal, and what becomes of one that was on its way.

use carillon_core::id::{MessageId, RunId, TurnId};
use carillon_core::message::State;
use carillon_core::turn::State as TurnState;
use carillon_engine::requests::{Caller, MessageRow, NewNote};
use carillon_engine::world::TerminalFacts;

use crate::fake::{Asked, OnHandOver, OnLaunch};
use crate::stage::Stage;

fn send(stage: &Stage, text: &str) -> MessageId {
    let id = MessageId::from_random(*uuid::Uuid::new_v4().as_bytes());
    let note = NewNote {
        id: id.clone(),
        caller: Caller::default(),
        agent: "treble".to_owned(),
        project: None,
        text: text.to_owned(),
    };
    stage.engine.send_note(note).expect("a note");
    id
}

/// What a hand-over reports is taken one turn of the loop later.
fn settle(stage: &Stage) {
    stage.settle();
    stage.settle();
}

fn message(stage: &Stage, id: &MessageId) -> MessageRow {
    settle(stage);
    let inbox = stage.engine.inbox("treble").expect("an inbox");
    inbox.into_iter().find(|message| message.id == *id).expect("the note")
}

fn hand_overs(stage: &Stage) -> Vec<(TurnId, String)> {
    settle(stage);
    let of = |asked: Asked| match asked {
        Asked::HandOver { turn, prompt, .. } => Some((turn, prompt)),
        _ => None,
    };
    stage.world.asked().into_iter().filter_map(of).collect()
}

fn run(stage: &Stage) -> RunId {
    stage.run("treble").id
}

#[test]
fn nothing_is_typed_into_a_terminal_that_is_taken() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    let taken = [
        TerminalFacts { typing: true, ..TerminalFacts::default() },
        TerminalFacts { busy: true, ..TerminalFacts::default() },
    ];
    for facts in taken {
        stage.world.set_terminal(&run(&stage), facts);
        let id = send(&stage, "hello");
        assert_eq!((hand_overs(&stage), message(&stage, &id).state), (vec![], State::Pending), "{facts:?}");
    }
    stage.world.set_terminal(&run(&stage), TerminalFacts::default());
    stage.world.report(&run(&stage)).terminal_changed(&run(&stage));
    let all = hand_overs(&stage);
    assert!(all.len() == 1 && all[0].1.matches("hello").count() == 2, "both in one turn: {all:?}");
}

#[test]
fn a_prompt_that_found_its_terminal_taken_waits_and_is_no_repeat() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    stage.world.set_hand_over(OnHandOver::Postponed);
    // Else the loop would try again at once, as the terminal looks free.
    let id = send(&stage, "hello");
    stage.world.set_terminal(&run(&stage), TerminalFacts { typing: true, ..TerminalFacts::default() });
    let waiting = message(&stage, &id);
    assert_eq!((waiting.state, waiting.repeated), (State::Pending, false));
    stage.world.set_hand_over(OnHandOver::Done);
    stage.world.set_terminal(&run(&stage), TerminalFacts::default());
    stage.world.report(&run(&stage)).terminal_changed(&run(&stage));
    let delivered = message(&stage, &id);
    assert!(matches!(delivered.state, State::Delivered { .. }) && !delivered.repeated, "{delivered:?}");
}

#[test]
fn a_boot_repeats_the_hand_over_that_was_on_its_way() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    stage.world.set_hand_over(OnHandOver::Silent);
    let id = send(&stage, "hello");
    let before = hand_overs(&stage);
    let stage = stage.boot_again();
    assert_eq!(hand_overs(&stage), before, "the same turn with the same words");
    assert_eq!(before.len(), 1);
    assert!(matches!(message(&stage, &id).state, State::Claimed { .. }));
    stage.world.report(&run(&stage)).handed_over(&before[0].0, Ok(()));
    assert!(matches!(message(&stage, &id).state, State::Delivered { .. }));
}

#[test]
fn what_a_program_may_have_read_before_it_died_is_told_again_as_a_repeat() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    stage.world.set_hand_over(OnHandOver::Silent);
    let id = send(&stage, "hello");
    assert_eq!(hand_overs(&stage).len(), 1);
    stage.world.end(&run(&stage), 1);
    stage.world.wait_for(1, |asked| matches!(asked, Asked::ClearUp { .. }));
    let back = message(&stage, &id);
    assert_eq!((back.state, back.repeated), (State::Pending, true));
}

/// The directory of the run, where a program's word is kept.
fn make_run_dir(stage: &Stage) -> std::path::PathBuf {
    let dir = stage.home().join("runs").join(run(stage).as_str());
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

fn hear(stage: &Stage, event: &str) {
    tell(stage, event, "done", None);
}

fn tell(stage: &Stage, event: &str, text: &str, id: Option<&str>) {
    let data = serde_json::json!({ "text": text });
    stage.engine.hear_hook(run(stage).as_str(), event, &data, id).expect("heard");
}

/// A hook whose answer was lost tells the same once more, and an engine that comes up may find it left as well.
#[test]
fn an_end_that_is_told_twice_ends_one_turn() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    make_run_dir(&stage);
    stage.world.set_terminal(&run(&stage), TerminalFacts { tells_ends: true, ..TerminalFacts::default() });
    let first = send(&stage, "hello");
    assert_eq!(hand_overs(&stage).len(), 1);
    tell(&stage, "turn_ended", "one", Some("e1"));
    assert!(matches!(message(&stage, &first).state, State::Delivered { .. }));
    let second = send(&stage, "again");
    assert_eq!(hand_overs(&stage).len(), 2);
    tell(&stage, "turn_ended", "one", Some("e1"));
    assert!(matches!(message(&stage, &second).state, State::Claimed { .. }), "it goes on");
    let stage = stage.boot_again();
    tell(&stage, "turn_ended", "one", Some("e1"));
    assert!(matches!(message(&stage, &second).state, State::Claimed { .. }), "also for the next engine");
    tell(&stage, "turn_ended", "two", Some("e2"));
    assert!(matches!(message(&stage, &second).state, State::Delivered { .. }));
    let finals: Vec<TurnState> =
        stage.engine.turns("treble", None).expect("turns").into_iter().map(|turn| turn.row.state).collect();
    assert!(
        matches!(finals.as_slice(), [TurnState::Final { text: b }, TurnState::Final { text: a }] if a == "one" && b == "two"),
        "{finals:?}"
    );
}

#[test]
fn a_program_may_end_its_turn_before_the_report_of_the_hand_over_comes() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    make_run_dir(&stage);
    stage.world.set_hand_over(OnHandOver::Silent);
    let id = send(&stage, "hello");
    let turn = hand_overs(&stage).remove(0).0;
    hear(&stage, "turn_ended");
    assert!(matches!(message(&stage, &id).state, State::Delivered { .. }));
    stage.world.report(&run(&stage)).handed_over(&turn, Ok(()));
    settle(&stage);
    let turns = stage.engine.turns("treble", None).expect("turns");
    assert_eq!(turns.len(), 1);
    assert!(matches!(&turns[0].row.state, TurnState::Final { text } if text == "done"), "{turns:?}");
}

#[test]
fn the_end_of_a_turn_that_was_broken_off_is_that_of_no_other() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.start("treble");
    let dir = make_run_dir(&stage);
    stage.world.set_terminal(&run(&stage), TerminalFacts { tells_ends: true, ..TerminalFacts::default() });
    std::fs::write(dir.join("broken-off"), "").expect("a mark");
    let id = send(&stage, "hello");
    assert_eq!(hand_overs(&stage).len(), 1);
    hear(&stage, "turn_ended");
    assert!(matches!(message(&stage, &id).state, State::Claimed { .. }), "it goes on");
    hear(&stage, "turn_ended");
    assert!(matches!(message(&stage, &id).state, State::Delivered { .. }));
}
