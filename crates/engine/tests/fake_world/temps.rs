//! Who clears up a temp directory, and when: the tasks that an agent's run has started inherit it.

use carillon_core::id::RunId;
use carillon_core::residue::{Use, Watch};
use carillon_core::run::TEMP_FULL;
use carillon_engine::requests::{Caller, NewTask, TaskView};

use crate::fake::{Asked, OnLaunch};
use crate::stage::Stage;

/// A task that an agent starts from within this run.
fn start_task(stage: &Stage, run: &RunId) -> TaskView {
    let new = NewTask {
        command: vec!["true".to_owned()],
        project: Some("bells".to_owned()),
        owner: Some("treble".to_owned()),
        caller: Caller { agent: None, run: Some(run.to_string()) },
        ..NewTask::default()
    };
    stage.engine.add_task(new).expect("a task")
}

fn run_of(stage: &Stage, task: &TaskView) -> RunId {
    stage.engine.task(task.row.task.id.as_str()).expect("the task").attempt.run.expect("its run")
}

fn clears_temp_of(run: &RunId) -> impl Fn(&Asked) -> bool {
    move |asked| matches!(asked, Asked::ClearUp { run: one, temp: Some(_), .. } if one == run)
}

fn asked_to_clear(stage: &Stage, run: &RunId) -> bool {
    stage.settle();
    stage.world.asked().iter().any(clears_temp_of(run))
}

#[test]
fn the_tasks_of_an_agent_inherit_the_directory_of_the_run_that_started_them() {
    let stage = Stage::new(OnLaunch::Begin);
    let earlier = start_task(&stage, &RunId::from_random([9; 16]));
    let agent = stage.start("treble").run.expect("a run").id;
    let (one, two) = (start_task(&stage, &agent), start_task(&stage, &agent));
    stage.settle();
    let (one, two) = (run_of(&stage, &one), run_of(&stage, &two));
    stage.world.end(&agent, 0);
    assert!(!asked_to_clear(&stage, &agent), "two tasks may still need it");
    stage.world.end(&one, 0);
    stage.world.wait_for(1, clears_temp_of(&one));
    assert!(!asked_to_clear(&stage, &agent), "one task may still need it");

    let stage = stage.boot_again();
    assert!(!asked_to_clear(&stage, &agent), "a boot asks anew");
    stage.world.end(&two, 0);
    stage.world.wait_for(1, clears_temp_of(&agent));
    assert!(!asked_to_clear(&stage, &run_of(&stage, &earlier)), "a task of before has no part in it");
}

#[test]
fn a_cancelled_task_inherits_nothing_any_more() {
    let stage = Stage::new(OnLaunch::Nothing);
    let began = stage.start_beside("treble");
    let agent = stage.world.wait_for_launch(0);
    stage.world.report(&agent).began(&agent, crate::fake::facts());
    began.join().expect("it began");
    let task = start_task(&stage, &agent);
    stage.world.end(&agent, 0);
    assert!(!asked_to_clear(&stage, &agent), "what waits in line will need it, too");
    stage.engine.cancel_task(task.row.task.id.as_str(), "user", Caller::default()).expect("cancelled");
    let run = run_of(&stage, &task);
    stage.world.end(&run, 1);
    stage.world.wait_for(1, clears_temp_of(&agent));
}

#[test]
fn whoever_fills_a_directory_is_asked_to_end() {
    let stage = Stage::new(OnLaunch::Begin);
    let agent = stage.start("treble").run.expect("a run").id;
    let started = start_task(&stage, &agent);
    stage.settle();
    let task = run_of(&stage, &started);
    let asked = |run: &RunId| {
        stage.settle();
        stage.world.asked().contains(&Asked::Stop { run: run.clone(), by: TEMP_FULL.to_owned() })
    };
    let much = Use { bytes: 6 << 30, inodes: 1 };
    stage.world.report(&agent).temp_measured(&agent, much);
    assert!(!asked(&agent));
    let seen = stage.view("treble").temp.expect("it was measured");
    assert!(seen.seen.warning().is_some_and(|warning| warning.contains("6144 MiB")), "{seen:?}");
    assert!(seen.path.is_some());
    stage.world.report(&task).temp_measured(&task, Use { bytes: 7 << 30, inodes: 1 });
    stage.settle();
    let seen =
        stage.engine.task(started.row.task.id.as_str()).expect("the task").temp.expect("it was measured");
    assert_eq!((seen.seen.taken.bytes, seen.seen.level), (7 << 30, Watch::Warn));
    let too_much = Use { bytes: 1, inodes: 6_000_000 };
    stage.world.report(&agent).temp_measured(&agent, too_much);
    assert!(asked(&agent) && !asked(&task), "its run, and no other");
    stage.world.end(&agent, 0);
    stage.world.report(&agent).temp_measured(&agent, too_much);
    assert!(asked(&task), "the task has inherited it");
    let seen = stage.view("treble").temp.expect("its directory is still there");
    assert_eq!(seen.seen.level, Watch::End);
}

#[test]
fn who_was_told_of_a_large_directory_is_told_when_it_is_gone() {
    let stage = Stage::new(OnLaunch::Begin);
    let agent = stage.start("treble").run.expect("a run").id;
    stage.world.report(&agent).temp_measured(&agent, Use { bytes: 6 << 30, inodes: 1 });
    stage.settle();
    let before = stage.seq();
    stage.world.report(&agent).temp_buried(&agent);
    stage.settle();
    assert!(stage.seq() > before && stage.view("treble").temp.is_none());
}
