//! Starts that fail: one by one, a thousand at once, again and again. Each ends in one clear word, and nothing
//! is tried without an end.

use carillon_core::ask::State as AskState;
use carillon_core::limits;
use carillon_core::task::{Failure, State as TaskState};
use carillon_engine::requests::{Caller, Workdir, reason_of};
use carillon_engine::world::TerminalFacts;

use crate::fake::{Asked, OnLaunch, ended};
use crate::stage::Stage;

/// The first one is at work, all others wait.
const IN_LINE: usize = limits::ASKS_PER_CALLEE as usize - 1;

fn launches(stage: &Stage) -> usize {
    stage.world.asked().iter().filter(|asked| matches!(asked, Asked::Launch { .. })).count()
}

fn failed_asks(stage: &Stage) -> usize {
    let count =
        "SELECT count(*) FROM asks WHERE state = 'failed' AND reason LIKE '%directory of agent%gone%'";
    stage.raw().query_row(count, [], |row| row.get(0)).expect("a count")
}

/// Puts many more of what stands in line last behind it.
fn multiply(stage: &Stage, times: usize, table: &str, columns: &str, values: &str, rest: &str) {
    let copy = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times})
         INSERT INTO {table} ({columns}) SELECT {values} FROM {table}, n WHERE {rest}"
    );
    stage.raw().execute(&copy, []).expect("copies");
}

/// A busy agent with all the asks in line that there may be, and its directory is gone.
fn agent_without_its_directory() -> Stage {
    let stage = Stage::new(OnLaunch::Begin);
    let dir = stage.repo().join("tower");
    std::fs::create_dir(&dir).expect("a directory");
    stage.add_headless("tenor", Workdir::Path(dir.clone()));
    stage.ask("tenor");
    let last = stage.ask("tenor").row.id;
    let (columns, rest) = (
        "project, callee, callee_name, prompt, follow_up, detached, state, created_ms",
        format!("id = '{last}'"),
    );
    let values = format!("printf('%032x', i), {columns}");
    multiply(&stage, IN_LINE - 1, "asks", &format!("id, {columns}"), &values, &rest);
    let (columns, rest) = ("agent, project, kind, state, prompt, created_ms", format!("ask = '{last}'"));
    let values = format!("printf('%032x', i), printf('%032x', i), {columns}");
    multiply(&stage, IN_LINE - 1, "turns", &format!("id, ask, {columns}"), &values, &rest);
    assert_eq!(launches(&stage), 1);
    std::fs::remove_dir(&dir).expect("it goes");
    stage
}

#[test]
fn a_thousand_asks_whose_turns_cannot_begin_fail_one_after_the_other() {
    let stage = agent_without_its_directory();
    let run = stage.world.wait_for_launch(0);
    stage.world.end(&run, 0);
    stage.wait_until("all have failed", |stage| failed_asks(stage) == IN_LINE);
    // What follows from the last one still looks at the ledger.
    stage.settle();
    assert_eq!(launches(&stage), 1);
}

#[test]
fn a_boot_gets_past_a_thousand_asks_whose_turns_cannot_begin() {
    let stage = agent_without_its_directory();
    let run = stage.world.wait_for_launch(0);
    stage.world.set_observed(&run, Ok(ended(0)));
    let stage = stage.boot_again();
    assert_eq!(failed_asks(&stage), IN_LINE, "the boot did it before anything else");
}

fn failed_tasks(stage: &Stage) -> usize {
    let count = "SELECT count(*) FROM attempts WHERE state = 'failed' AND detail = 'there is no place'";
    stage.raw().query_row(count, [], |row| row.get(0)).expect("a count")
}

/// A project with all slots taken and many tasks in line, none of which can be started.
fn tasks_without_a_place() -> Stage {
    let stage = Stage::new(OnLaunch::Begin);
    for _ in 0..limits::TASKS_PER_PROJECT {
        stage.add_task(Caller::default());
    }
    stage.wait_until("the slots are taken", |stage| launches(stage) == limits::TASKS_PER_PROJECT as usize);
    let last = stage.add_task(Caller::default()).row.task.id;
    let (columns, rest) =
        ("project, title, command, cwd, tty, detached, log_max, created_ms", format!("id = '{last}'"));
    let values = format!("printf('%032x', i), {columns}");
    multiply(&stage, IN_LINE - 1, "tasks", &format!("id, {columns}"), &values, &rest);
    let (columns, rest) = ("number, project, state, created_ms", format!("task = '{last}'"));
    let values = format!("printf('%032x', i), {columns}");
    multiply(&stage, IN_LINE - 1, "attempts", &format!("task, {columns}"), &values, &rest);
    stage.world.take_all_places();
    stage
}

#[test]
fn a_thousand_tasks_that_cannot_be_started_fail_one_after_the_other() {
    let stage = tasks_without_a_place();
    let run = stage.world.wait_for_launch(0);
    stage.world.end(&run, 0);
    stage.wait_until("all have failed", |stage| failed_tasks(stage) == IN_LINE);
    // What follows from the last one still looks at the ledger.
    stage.settle();
}

#[test]
fn a_boot_gets_past_a_thousand_tasks_that_cannot_be_started() {
    let stage = tasks_without_a_place();
    let run = stage.world.wait_for_launch(0);
    stage.world.set_observed(&run, Ok(ended(0)));
    let stage = stage.boot_again();
    assert_eq!(failed_tasks(&stage), IN_LINE);
}

#[test]
fn an_agent_in_a_terminal_whose_program_ends_at_its_start_fails_its_asks_and_is_not_started_again() {
    let stage = Stage::new(OnLaunch::End(3));
    let asks = [stage.ask("treble"), stage.ask("treble")];
    for asked in asks {
        let id = asked.row.id.as_str();
        stage
            .wait_until("it is over", |stage| stage.engine.ask(id).expect("the ask").row.state.is_terminal());
        let done = stage.engine.ask(id).expect("the ask").row;
        assert_eq!(reason_of(&done.state), Some("its program exited 3 before it could be asked"));
    }
    stage.settle();
    // The second ask may have come before the first start, or after its end.
    assert!(launches(&stage) <= 2, "{:?}", stage.world.asked());
}

#[test]
fn an_ask_that_came_while_a_program_was_busy_gets_one_start_of_its_own() {
    let stage = Stage::new(OnLaunch::Begin);
    let first = stage.start("treble").run.expect("a run").id;
    stage.world.set_terminal(&first, TerminalFacts { busy: true, ..TerminalFacts::default() });
    let asked = stage.ask("treble");
    let id = asked.row.id.as_str();
    stage.settle();
    stage.world.set_on_launch(OnLaunch::Nothing);
    stage.world.end(&first, 0);
    let second = stage.world.wait_for_launch(1);
    assert_eq!(stage.engine.ask(id).expect("the ask").row.state, AskState::Open);
    stage.world.end(&second, 0);
    stage.wait_until("it is over", |stage| stage.engine.ask(id).expect("the ask").row.state.is_terminal());
    let done = stage.engine.ask(id).expect("the ask").row;
    assert_eq!(reason_of(&done.state), Some("its program exited 0 before it could be asked"));
    stage.settle();
    assert_eq!(launches(&stage), 2);
}

const NO_SUPERVISOR: &str = "the supervisor does not start";

#[test]
fn a_task_whose_supervisor_never_begins_is_tried_a_few_times() {
    let stage = Stage::new(OnLaunch::NeverBegin);
    let id = stage.add_task(Caller::default()).row.task.id;
    let state = |stage: &Stage| stage.engine.task(id.as_str()).expect("the task").attempt.state;
    stage.wait_until("it is over", |stage| state(stage).is_terminal());
    let TaskState::Failed(Failure::NotStarted { message }) = state(&stage) else {
        panic!("{:?}", state(&stage))
    };
    assert!(message.contains(NO_SUPERVISOR), "{message}");
    assert_eq!(launches(&stage), limits::NEVER_BEGAN_TRIES as usize);
}

#[test]
fn a_turn_whose_supervisor_never_begins_is_tried_a_few_times() {
    for name in ["tenor", "treble"] {
        let stage = Stage::new(OnLaunch::NeverBegin);
        stage.add_headless("tenor", Workdir::Root);
        let id = stage.ask(name).row.id;
        let state = |stage: &Stage| stage.engine.ask(id.as_str()).expect("the ask").row.state;
        stage.wait_until("it is over", |stage| state(stage).is_terminal());
        let found = state(&stage);
        assert!(reason_of(&found).is_some_and(|why| why.contains(NO_SUPERVISOR)), "{name}: {found:?}");
        assert_eq!(launches(&stage), limits::NEVER_BEGAN_TRIES as usize, "{name}");
    }
}
