//! How many headless turns of a profile run at once, and whose turns do not count.

use carillon_core::id::{AskId, CallId, RunId};
use carillon_core::turn::End;
use carillon_engine::requests::{Caller, NewAsk, ProfileChange, WaitingFor, Workdir};

use crate::fake::{Asked, OnLaunch};
use crate::stage::{Stage, new_ask};

/// Three headless agents on a profile that lets this many turns run at once.
fn stage(turns: u32) -> Stage {
    let stage = Stage::new(OnLaunch::Begin);
    for name in ["tenor", "bass", "alto"] {
        stage.add_headless(name, Workdir::Root);
    }
    bound(&stage, turns);
    stage
}

fn bound(stage: &Stage, turns: u32) {
    let change = ProfileChange { concurrency: Some(turns), ..ProfileChange::default() };
    stage.engine.change_profile("script", change).expect("it is taken");
    stage.settle();
}

/// Asks from within a run.
fn ask(stage: &Stage, from: &RunId, callee: &str, detached: bool, call: Option<CallId>) -> AskId {
    let caller = Caller { agent: None, run: Some(from.to_string()) };
    let new = NewAsk { detached, call, ..new_ask(caller, callee) };
    let id = stage.engine.open_ask(new).expect("it is taken").row.id;
    stage.settle();
    id
}

fn launches(stage: &Stage) -> usize {
    stage.settle();
    stage.world.asked().iter().filter(|asked| matches!(asked, Asked::Launch { .. })).count()
}

fn end(stage: &Stage, launch: usize) {
    let run = stage.world.wait_for_launch(launch);
    stage.world.set_outcome(&run, End::Final { text: "this one".to_owned() });
    stage.world.end(&run, 0);
    stage.settle();
}

#[test]
fn a_turn_that_has_no_slot_waits_and_says_why() {
    let stage = stage(1);
    stage.ask("tenor");
    let waiting = stage.ask("bass");
    assert_eq!(launches(&stage), 1);
    assert_eq!(waiting.waiting_for, Some(WaitingFor::Slot));
    let why = stage.view("bass").work.held_back.expect("a reason");
    assert!(why.contains("\"script\" lets only 1 turn"), "{why}");
    assert_eq!(stage.view("tenor").work.held_back, None);
    let behind = stage.ask("tenor");
    assert_eq!(behind.waiting_for, Some(WaitingFor::TurnQueue), "it has its slot, and does that first");
    // A terminal takes no slot, and needs none.
    stage.start("treble");
    assert_eq!(launches(&stage), 2);
    end(&stage, 0);
    assert_eq!(launches(&stage), 3);
    assert_eq!(stage.view("bass").work.held_back, None, "it has waited longer than tenor's second turn");
    bound(&stage, 0);
    assert_eq!(launches(&stage), 4, "nothing bounds them any more");
}

#[test]
fn who_asks_lends_its_slot_and_who_goes_on_alone_does_not() {
    let stage = stage(1);
    stage.ask("tenor");
    let tenor = stage.world.wait_for_launch(0);
    ask(&stage, &tenor, "bass", true, None);
    assert_eq!(launches(&stage), 1, "nobody waits for that answer");
    let call = CallId::from_random([7; 16]);
    stage.world.hold(&call, true);
    ask(&stage, &tenor, "alto", true, Some(call));
    assert_eq!(launches(&stage), 2, "now it does, and whoever waits longest is next");
    let bass = stage.world.wait_for_launch(1);
    assert_eq!(stage.view("bass").run.expect("a run").id, bass);
    ask(&stage, &bass, "alto", false, None);
    assert_eq!(launches(&stage), 3, "an ask of this turn that is under way is enough");
    end(&stage, 2);
    assert_eq!(
        stage.view("alto").work.queued,
        1,
        "tenor has its answer and goes on: bass waits a little longer"
    );
    end(&stage, 0);
    assert_eq!(launches(&stage), 4, "and then the question of bass is next");
}

/// The task may be somebody else's, and itself wait for an agent that has no slot.
#[test]
fn who_waits_for_a_task_lends_its_slot_for_as_long() {
    let stage = stage(1);
    stage.ask("tenor");
    let tenor = stage.world.wait_for_launch(0);
    let task = stage.add_task(Caller::default()).row.task.id;
    let its_run = stage.world.wait_for_launch(1);
    stage.ask("bass");
    assert_eq!(launches(&stage), 2);
    let engine = stage.engine.clone();
    let waiting = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime
            .block_on(engine.wait_task(task.as_str(), Some(tenor), crate::fake::PATIENCE))
            .expect("its end")
    });
    stage.world.wait_for_launch(2);
    assert_eq!(stage.view("bass").work.queued, 0);
    stage.world.end(&its_run, 0);
    assert!(waiting.join().expect("it waits").attempt.state.is_terminal());
    stage.ask("alto");
    end(&stage, 2);
    assert_eq!(launches(&stage), 3, "tenor goes on, and counts again");
}

#[test]
fn a_start_keeps_to_the_bound() {
    let stage = stage(2);
    for name in ["tenor", "bass", "alto"] {
        stage.ask(name);
    }
    assert_eq!(launches(&stage), 2);
    let stage = stage.boot_again();
    assert_eq!(launches(&stage), 0, "the two go on, and count");
    assert!(stage.view("alto").work.held_back.is_some());
    stage.world.end(&stage.run("tenor").id, 0);
    stage.settle();
    assert_eq!(launches(&stage), 1);
}
