//! Compute, commit, act; and reports that come late, twice or in another order.

use std::sync::Barrier;

use carillon_core::agent::AgentState;
use carillon_core::reconcile::Observed;
use carillon_core::run::{Cause, LostWhy, State};
use carillon_engine::world::What;

use crate::fake::{Asked, OnLaunch, ended, facts};
use crate::stage::Stage;

fn is_launch(asked: &Asked) -> bool {
    matches!(asked, Asked::Launch { .. })
}

#[test]
fn the_row_is_committed_before_the_launch() {
    let stage = Stage::new(OnLaunch::Begin);
    let view = stage.start("treble");
    let run = view.run.expect("a run");
    let launched = Asked::Launch { run: run.id.clone(), seen: Some("starting".to_owned()) };
    assert_eq!(stage.world.asked(), [launched]);
    assert_eq!((view.state, &run.state, run.pid), (AgentState::Idle, &State::Running, facts().pid));

    let orders = stage.world.orders();
    let order = &orders[0];
    let What::Agent(agent) = &order.what else { panic!("an agent was started: {:?}", order.what) };
    assert_eq!((agent.program.as_str(), agent.args.as_slice()), ("/bin/sh", &["-i".to_owned()][..]));
    assert_eq!(order.cwd, stage.repo().canonicalize().unwrap());
    assert_eq!(Some(order.temp.path().to_string_lossy().into_owned()), run.temp_path);
    let ours = |name: &str| order.ours.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
    assert_eq!(ours("CARILLON_RUN"), Some(run.id.as_str()));
    assert_eq!(ours("CARILLON_AGENT"), Some(view.agent.id.as_str()));
    assert_eq!(ours("CARILLON_SOCKET"), stage.home().join("carillon.sock").to_str());
    assert_eq!(order.own_env, [("OWN".to_owned(), "value".to_owned())]);
}

#[test]
fn a_run_that_cannot_be_recorded_is_not_launched() {
    let stage = Stage::new(OnLaunch::Begin);
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON runs BEGIN SELECT raise(ABORT, 'no room'); END";
    stage.raw().execute_batch(refuse).unwrap();
    let error = stage.engine.start_agent("treble", None).unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
    assert_eq!(stage.world.asked(), []);
    stage.raw().execute_batch("DROP TRIGGER refuse").unwrap();
    stage.start("treble");
    assert_eq!(stage.world.asked().len(), 1);
}

#[test]
fn a_launch_that_fails_is_told_with_its_reason() {
    let stage = Stage::new(OnLaunch::Nothing);
    let starting = stage.start_beside("treble");
    let run = stage.world.wait_for_launch(0);
    stage.world.report(&run).launch_failed(&run, "no supervisor can be started".to_owned());
    let view = starting.join().unwrap();
    assert_eq!(view.state, AgentState::Failed);
    let State::Ended(ending) = view.run.unwrap().state else { panic!("it is over") };
    assert_eq!(ending.cause, Cause::SpawnFailed { message: "no supervisor can be started".to_owned() });
    // Its temp directory is on the ledger, so it is cleared up, after the end is committed.
    let cleared = stage.world.wait_for(1, |asked| matches!(asked, Asked::ClearUp { .. }));
    assert!(
        matches!(&cleared[0], Asked::ClearUp { seen, strays: false, .. } if seen.as_deref() == Some("ended"))
    );
}

#[test]
fn a_report_after_the_end_changes_nothing() {
    let stage = Stage::new(OnLaunch::Nothing);
    let starting = stage.start_beside("treble");
    let run = stage.world.wait_for_launch(0);
    let report = stage.world.report(&run);
    report.launch_failed(&run, "first".to_owned());
    starting.join().unwrap();
    stage.world.wait_for(1, |asked| matches!(asked, Asked::ClearUp { .. }));
    stage.settle();
    let (rows, seq, asked) = (stage.rows(), stage.seq(), stage.world.asked());

    report.launch_failed(&run, "second".to_owned());
    report.began(&run, facts());
    stage.world.set_observed(&run, Ok(ended(0)));
    report.over(&run);
    stage.world.set_observed(&run, Ok(Observed::Lost { other_boot: true }));
    report.over(&run);
    stage.settle();
    assert_eq!((stage.rows(), stage.seq(), stage.world.asked()), (rows, seq, asked));
}

#[test]
fn a_launch_does_not_fail_after_the_supervisor_has_answered() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    let (rows, seq) = (stage.rows(), stage.seq());
    let report = stage.world.report(&run);
    report.launch_failed(&run, "late".to_owned());
    report.began(&run, facts());
    stage.settle();
    assert_eq!((stage.rows(), stage.seq()), (rows, seq));
    assert_eq!(stage.run("treble").state, State::Running);
}

#[test]
fn an_end_may_come_before_the_beginning() {
    let stage = Stage::new(OnLaunch::Nothing);
    let starting = stage.start_beside("treble");
    let run = stage.world.wait_for_launch(0);
    stage.world.end(&run, 3);
    let view = starting.join().unwrap();
    let State::Ended(ending) = view.run.unwrap().state else { panic!("it is over") };
    assert_eq!((ending.cause, ending.exit_code), (Cause::Ended, Some(3)));
    stage.world.report(&run).began(&run, facts());
    stage.settle();
    assert!(stage.run("treble").state.is_terminal(), "its beginning comes too late");
    // And the agent can be started again.
    let starting = stage.start_beside("treble");
    let second = stage.world.wait_for_launch(1);
    assert_ne!(second, run);
    stage.world.report(&second).began(&second, facts());
    assert_eq!(starting.join().unwrap().state, AgentState::Idle);
}

#[test]
fn an_end_that_is_told_while_the_lease_is_held_is_none() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    stage.world.report(&run).over(&run);
    stage.world.wait_for(1, |asked| *asked == Asked::Adopt { run: run.clone() });
    assert_eq!(stage.run("treble").state, State::Running, "it is watched anew");
    stage.world.end(&run, 0);
    stage.settle();
    assert!(stage.run("treble").state.is_terminal());
}

#[test]
fn strays_are_ended_only_when_the_supervisor_is_gone() {
    let stage = Stage::new(OnLaunch::Begin);
    let cases = [
        (Observed::Lost { other_boot: false }, LostWhy::SupervisorGone, true),
        (Observed::Lost { other_boot: true }, LostWhy::Rebooted, false),
        (Observed::Gone { process_alive: true }, LostWhy::SupervisorGone, true),
    ];
    for (n, (observed, why, expected)) in cases.into_iter().enumerate() {
        let run = stage.start("treble").run.unwrap();
        stage.world.set_observed(&run.id, Ok(observed));
        stage.world.report(&run.id).over(&run.id);
        let cleared = stage.world.wait_for(n + 1, |asked| matches!(asked, Asked::ClearUp { .. }));
        let temp = run.temp_path.map(Into::into);
        let expected =
            Asked::ClearUp { run: run.id.clone(), temp, strays: expected, seen: Some("lost".to_owned()) };
        assert_eq!(cleared[n], expected);
        assert_eq!(stage.run("treble").state, State::Lost(why));
    }
}

#[test]
fn starting_twice_at_once_launches_once() {
    const CALLERS: usize = 4;
    let stage = Stage::new(OnLaunch::Begin);
    for round in 0..10 {
        let barrier = Barrier::new(CALLERS);
        let runs: Vec<_> = std::thread::scope(|scope| {
            let start = || {
                barrier.wait();
                stage.start("treble").run.expect("a run").id
            };
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(start)).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
        let launches = stage.world.asked().into_iter().filter(is_launch).count();
        assert_eq!(launches, round + 1);
        stage.world.end(&runs[0], 0);
        stage.settle();
    }
}

#[test]
fn a_stop_of_a_supervisor_that_is_not_connected_is_not_lost() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    stage.world.set_connected(false);
    let engine = stage.engine.clone();
    let stopping = std::thread::spawn(move || engine.stop_agent("treble"));
    let asked = stage.world.wait_for(1, |asked| matches!(asked, Asked::Stop { .. }));
    assert_eq!(asked, [Asked::Stop { run: run.clone(), by: "user".to_owned() }]);
    assert!(stage.view("treble").agent.stopped_by_user, "the wish is on the ledger before it is acted on");
    assert_eq!(stage.run("treble").state, State::Running, "a wish is no end");
    stage.world.end(&run, 0);
    let view = stopping.join().unwrap().expect("it ended");
    assert_eq!(view.state, AgentState::Offline);
    // The next start takes the wish back.
    assert!(!stage.start("treble").agent.stopped_by_user);
}

#[test]
fn a_wish_to_stop_outlives_the_engine() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    stage.raw().execute("UPDATE agents SET stopped_by_user = 1", []).unwrap();
    let stage = stage.boot_again();
    let expected = [Asked::Adopt { run: run.clone() }, Asked::Stop { run, by: "user".to_owned() }];
    assert_eq!(stage.world.asked(), expected);
}

#[test]
fn an_agent_is_off_the_ledger_before_its_runs_are_dropped() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    let engine = stage.engine.clone();
    let removing = std::thread::spawn(move || engine.remove_agent("treble"));
    let by = "agent_removed".to_owned();
    stage.world.wait_for(1, |asked| *asked == Asked::Stop { run: run.clone(), by: by.clone() });
    stage.world.end(&run, 0);
    removing.join().unwrap().expect("it is removed");
    stage.world.wait_for(1, |asked| matches!(asked, Asked::DropDir { .. }));
    stage.settle();
    assert!(stage.engine.agent("treble").is_err());
    assert_eq!(stage.rows(), [""; 0], "nothing of it is left, so it is forgotten");
}

#[test]
fn the_directories_of_older_runs_go_when_the_next_one_runs() {
    let stage = Stage::new(OnLaunch::Begin);
    let mut runs = Vec::new();
    for _ in 0..4 {
        let run = stage.start("treble").run.unwrap().id;
        stage.world.end(&run, 0);
        stage.settle();
        runs.push(run);
    }
    let dropped: Vec<_> = stage
        .world
        .asked()
        .into_iter()
        .filter_map(|asked| if let Asked::DropDir { run, .. } = asked { Some(run) } else { None })
        .collect();
    assert_eq!(dropped, runs[..2], "the running one and the one before it are kept");
}
