//! The way out: once, each run asked once, nothing after it.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use carillon_core::run::State;
use carillon_engine::{AtExit, Error};

use crate::fake::{Asked, OnLaunch, PATIENCE};
use crate::stage::Stage;

fn is_stop(asked: &Asked) -> bool {
    matches!(asked, Asked::Stop { .. })
}

fn count(stage: &Stage, fits: impl Fn(&Asked) -> bool) -> usize {
    stage.world.asked().into_iter().filter(|asked| fits(asked)).count()
}

/// Three running agents, and one that is not.
fn running() -> (Stage, Vec<carillon_core::id::RunId>) {
    let stage = Stage::new(OnLaunch::Begin);
    let names = ["one", "two", "three"];
    let start = |name| {
        stage.add_agent(name);
        stage.start(name).run.expect("a run").id
    };
    let runs = names.map(start).to_vec();
    (stage, runs)
}

#[test]
fn each_live_run_is_asked_once_and_every_caller_waits() {
    let (stage, runs) = running();
    let shut_down = |entered: mpsc::Sender<()>| {
        let (engine, world) = (stage.engine.clone(), stage.world.clone());
        std::thread::spawn(move || {
            let _ = entered.send(());
            engine.shutdown(AtExit::Stop, PATIENCE);
            // Letting go is the last that is asked of the world.
            world.asked().contains(&Asked::LetGo)
        })
    };
    let (entered, callers) = mpsc::channel();
    let first = shut_down(entered.clone());
    let asked = stage.world.wait_for(3, is_stop);
    let mut expected: Vec<_> =
        runs.iter().map(|run| Asked::Stop { run: run.clone(), by: "app_exit".to_owned() }).collect();
    expected.sort_by_key(|asked| format!("{asked:?}"));
    let mut sorted = asked.clone();
    sorted.sort_by_key(|asked| format!("{asked:?}"));
    assert_eq!(sorted, expected);

    let second = shut_down(entered);
    for _ in 0..2 {
        callers.recv_timeout(PATIENCE).expect("both callers are there");
    }
    assert!(matches!(stage.engine.start_agent("treble", None), Err(Error::ShuttingDown)));
    for run in &runs {
        assert!(!first.is_finished(), "it waits for the runs");
        stage.world.end(run, 0);
    }
    assert!(first.join().unwrap() && second.join().unwrap(), "no caller returns before it is done");
    assert_eq!((count(&stage, is_stop), count(&stage, |asked| *asked == Asked::LetGo)), (3, 1));
    let log = std::fs::metadata(stage.home().join("carillon.db-wal")).map_or(0, |meta| meta.len());
    assert_eq!(log, 0, "the ledger is whole in its one file");
    let stage = stage.boot_again();
    assert_eq!(stage.world.asked(), [], "the next start has nothing to do");
}

#[test]
fn keeping_asks_nobody_and_the_next_engine_takes_over() {
    let (stage, runs) = running();
    stage.world.forget();
    stage.engine.shutdown(AtExit::Keep, PATIENCE);
    assert_eq!(stage.world.asked(), [Asked::LetGo]);
    let stage = stage.boot_again();
    let adopted = stage.world.wait_for(3, |asked| matches!(asked, Asked::Adopt { .. }));
    assert!(runs.iter().all(|run| adopted.contains(&Asked::Adopt { run: run.clone() })));
    assert_eq!(stage.run("two").state, State::Running);
}

#[test]
fn nothing_is_accepted_afterwards() {
    let (stage, runs) = running();
    let report = stage.world.report(&runs[0]);
    stage.engine.shutdown(AtExit::Keep, PATIENCE);
    let rows = stage.rows();
    stage.world.forget();
    let refused = [
        stage.engine.start_agent("treble", None).map(drop),
        stage.engine.stop_agent("one").map(drop),
        stage.engine.remove_agent("treble"),
        stage.engine.add_project(&stage.repo().to_string_lossy()).map(drop),
        stage.engine.set_settings(serde_json::Map::new()).map(drop),
        stage.engine.set_layout("bells", &serde_json::json!({})),
    ];
    for (n, answer) in refused.into_iter().enumerate() {
        assert!(matches!(answer, Err(Error::ShuttingDown)), "request {n}: {answer:?}");
    }
    report.over(&runs[0]);
    assert_eq!(stage.engine.agents(None).expect("reading still works").len(), 4);
    stage.engine.shutdown(AtExit::Stop, Duration::ZERO);
    assert_eq!(stage.world.asked(), [], "a second shutdown does nothing");
    assert_eq!(stage.rows(), rows);
}

#[test]
fn a_run_that_does_not_end_costs_the_deadline_and_no_more() {
    let (stage, runs) = running();
    stage.world.end(&runs[0], 0);
    let began = Instant::now();
    stage.engine.shutdown(AtExit::Stop, Duration::from_millis(300));
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(3), "{took:?}");
    assert_eq!((count(&stage, is_stop), count(&stage, |asked| *asked == Asked::LetGo)), (2, 1));
    // What did not end in time is the next start's.
    let stage = stage.boot_again();
    assert_eq!(stage.world.wait_for(2, |asked| matches!(asked, Asked::Adopt { .. })).len(), 2);
}
