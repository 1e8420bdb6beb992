//! All of an event, or nothing of it: what could not be written is done again, and what an earlier engine had
//! left half done is mended by the next boot.

use carillon_core::ask::State as AskState;
use carillon_core::task::State as TaskState;
use carillon_engine::requests::{Caller, NewTask, Workdir};

use crate::fake::{Asked, OnLaunch, ended};
use crate::stage::Stage;

fn task_state(stage: &Stage, id: &str) -> TaskState {
    stage.engine.task(id).expect("the task").attempt.state
}

#[test]
fn the_end_of_a_task_that_could_not_be_written_is_written_later() {
    let stage = Stage::new(OnLaunch::Begin);
    let task = stage.add_task(Caller::default());
    let (id, run) = (task.row.task.id, stage.world.wait_for_launch(0));
    stage.wait_until("it runs", |stage| task_state(stage, id.as_str()) == TaskState::Running);
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON attempts BEGIN SELECT raise(ABORT, 'no room'); END";
    stage.raw().execute_batch(refuse).expect("a trigger");
    stage.world.end(&run, 0);
    stage.settle();
    let seen = || stage.raw().query_row("SELECT state FROM runs", [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(seen(), "running", "nothing of it stands without the rest");
    assert!(!stage.world.asked().iter().any(|asked| matches!(asked, Asked::ClearUp { .. })));
    stage.raw().execute_batch("DROP TRIGGER refuse").expect("no trigger");
    stage.wait_until("it is done again", |stage| task_state(stage, id.as_str()) == TaskState::Succeeded);
    assert_eq!(seen(), "ended");
}

#[test]
fn what_a_turn_has_said_is_read_again_when_it_could_not_be_read_at_once() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.add_headless("tenor", Workdir::Root);
    let asked = stage.ask("tenor").row.id;
    let run = stage.world.wait_for_launch(0);
    let text = "the great one".to_owned();
    stage.world.set_outcome(&run, carillon_core::turn::End::Final { text: text.clone() });
    stage.world.fail_to_read(2);
    stage.world.end(&run, 0);
    let state = |stage: &Stage| stage.engine.ask(asked.as_str()).expect("the ask").row.state;
    stage.wait_until("it is over", |stage| state(stage).is_terminal());
    assert_eq!(state(&stage), AskState::Answered { text });
}

#[test]
fn a_task_that_was_cancelled_before_its_supervisor_began_does_not_run_after_the_next_start() {
    let stage = Stage::new(OnLaunch::Nothing);
    let id = stage.add_task(Caller::default()).row.task.id;
    let run = stage.world.wait_for_launch(0);
    stage.engine.cancel_task(id.as_str(), "user", Caller::default()).expect("it is asked for");
    stage.world.set_observed(&run, Ok(carillon_core::reconcile::Observed::NeverBegan));
    let stage = stage.boot_again();
    assert_eq!(task_state(&stage, id.as_str()), TaskState::Cancelled { by: "user".to_owned() });
    assert!(!stage.world.asked().iter().any(|asked| matches!(asked, Asked::Launch { .. })));
}

/// As if all that is on the ledger were of long ago.
fn grow_old(stage: &Stage) {
    let old = "UPDATE asks SET created_ms = 1, ended_ms = CASE WHEN ended_ms IS NOT NULL THEN 2 END;
               UPDATE turns SET created_ms = 1, ended_ms = CASE WHEN ended_ms IS NOT NULL THEN 2 END;
               UPDATE messages SET created_ms = 1";
    stage.raw().execute_batch(old).expect("it is old");
}

#[test]
fn what_was_over_long_ago_is_forgotten_and_nothing_that_is_live_or_not_delivered() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.add_headless("tenor", Workdir::Root);
    let of_user = stage.ask("tenor").row.id;
    let of_agent = stage.ask_from("treble", "tenor").row.id;
    let open = stage.ask("tenor").row.id;
    for n in 0..2 {
        let run = stage.world.wait_for_launch(n);
        stage.world.end(&run, 0);
        stage.settle();
    }
    grow_old(&stage);
    let count = |stage: &Stage, what: &str| -> u32 {
        stage.raw().query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0)).expect("a count")
    };
    assert_eq!((count(&stage, "asks"), count(&stage, "turns")), (3, 3));
    let stage = stage.boot_again();
    assert!(stage.engine.ask(of_user.as_str()).is_err());
    assert!(stage.engine.ask(open.as_str()).is_ok_and(|view| !view.row.state.is_terminal()));
    assert!(stage.engine.ask(of_agent.as_str()).is_ok(), "its answer waits in an inbox");
    assert_eq!(stage.engine.inbox("treble").expect("an inbox").len(), 1);
    assert_eq!(count(&stage, "turns"), 2);
    stage.raw().execute("UPDATE messages SET state = 'delivered' WHERE state = 'pending'", []).expect("read");
    let stage = stage.boot_again();
    assert!(stage.engine.ask(of_agent.as_str()).is_err());
    assert_eq!((count(&stage, "asks"), count(&stage, "turns")), (1, 1));
    assert_eq!(stage.engine.inbox("treble").expect("an inbox"), []);
}

#[test]
fn a_task_that_could_not_be_put_in_line_is_not_there_and_may_be_sent_again() {
    let stage = Stage::new(OnLaunch::Begin);
    let new = || NewTask {
        id: Some(carillon_core::id::TaskId::from_random([9; 16])),
        project: Some("bells".to_owned()),
        command: vec!["/bin/true".to_owned()],
        ..NewTask::default()
    };
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON attempts BEGIN SELECT raise(ABORT, 'no room'); END";
    stage.raw().execute_batch(refuse).expect("a trigger");
    let error = stage.engine.add_task(new()).expect_err("it cannot be written");
    assert!(error.to_string().contains("no room"), "{error}");
    stage.raw().execute_batch("DROP TRIGGER refuse").expect("no trigger");
    let task = stage.engine.add_task(new()).expect("the same once more");
    assert_eq!(task.attempt.number, 1);
}

#[test]
fn a_boot_ends_an_attempt_whose_run_is_over() {
    let stage = Stage::new(OnLaunch::Begin);
    let ids = [stage.add_task(Caller::default()).row.task.id, stage.add_task(Caller::default()).row.task.id];
    for id in &ids {
        stage.wait_until("it runs", |stage| task_state(stage, id.as_str()) == TaskState::Running);
    }
    let over =
        "UPDATE runs SET state = 'ended', cause = 'ended', exit_code = 0, ended_ms = 7 WHERE task = ?1";
    stage.raw().execute(over, [ids[0].as_str()]).expect("an end");
    stage.raw().execute("DELETE FROM runs WHERE task = ?1", [ids[1].as_str()]).expect("it is gone");
    let stage = stage.boot_again();
    assert_eq!(task_state(&stage, ids[0].as_str()), TaskState::Succeeded);
    assert!(matches!(task_state(&stage, ids[1].as_str()), TaskState::Lost(_)));
}

#[test]
fn what_a_child_did_after_the_deadline_comes_too_late_also_when_no_engine_was_there() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.add_headless("tenor", Workdir::Root);
    let asked = stage.ask("tenor");
    let turn = stage.world.wait_for_launch(0);
    stage.add_task(Caller { agent: None, run: Some(turn.to_string()) });
    let child = stage.world.wait_for_launch(1);
    let text = "the great one".to_owned();
    stage.world.set_outcome(&turn, carillon_core::turn::End::Final { text });
    stage.world.end(&turn, 0);
    stage.settle();
    let state = |stage: &Stage| stage.engine.ask(asked.row.id.as_str()).expect("the ask").row.state;
    assert!(matches!(state(&stage), AskState::PendingFinal { .. }), "{:?}", state(&stage));
    stage.raw().execute("UPDATE asks SET deadline_ms = 1", []).expect("a deadline");
    stage.world.set_observed(&child, Ok(ended(0)));
    let stage = stage.boot_again();
    assert!(matches!(state(&stage), AskState::TimedOut { .. }), "{:?}", state(&stage));
}

fn dropped(stage: &Stage) -> Vec<Asked> {
    stage.world.asked().into_iter().filter(|asked| matches!(asked, Asked::DropDir { .. })).collect()
}

#[test]
fn the_removal_of_an_agent_leaves_the_output_of_tasks_alone() {
    let stage = Stage::new(OnLaunch::Begin);
    let other = stage.repo().with_file_name("organ");
    let init = std::process::Command::new("git").args(["init", "--quiet"]).arg(&other).status().expect("git");
    assert!(init.success());
    stage.engine.add_project(&other.to_string_lossy()).expect("a project");
    let new = NewTask {
        project: Some("organ".to_owned()),
        command: vec!["/bin/true".to_owned()],
        ..NewTask::default()
    };
    stage.engine.add_task(new).expect("a task");
    let run = stage.world.wait_for_launch(0);
    stage.world.end(&run, 0);
    stage.settle();
    stage.engine.remove_agent("treble").expect("it goes");
    stage.settle();
    assert_eq!(dropped(&stage), []);
}

#[test]
fn a_boot_keeps_as_many_directories_of_turns_as_there_may_be() {
    let stage = Stage::new(OnLaunch::Begin);
    stage.add_headless("tenor", Workdir::Root);
    for n in 0..5 {
        stage.ask("tenor");
        let run = stage.world.wait_for_launch(n);
        stage.world.end(&run, 0);
        stage.settle();
    }
    assert_eq!(dropped(&stage), []);
    let stage = stage.boot_again();
    stage.settle();
    assert_eq!(dropped(&stage), []);
}
