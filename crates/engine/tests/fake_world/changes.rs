//! Waiting for changes.

use std::time::Duration;

use carillon_engine::requests::Changes;
use serde_json::json;

use crate::fake::{OnLaunch, PATIENCE};
use crate::stage::Stage;

/// Longer than any test may take: whoever waits so long was not woken.
const LONG: Duration = Duration::from_secs(30);

fn ask(stage: &Stage, after: Option<u64>, wait: Duration) -> Changes {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answer = async { tokio::time::timeout(PATIENCE, stage.engine.changes(after, wait)).await };
    runtime.block_on(answer).expect("it is woken").expect("an answer")
}

fn set_theme(stage: &Stage, theme: &str) {
    let patch = json!({"theme": theme});
    stage.engine.set_settings(patch.as_object().unwrap().clone()).unwrap();
}

#[test]
fn a_waiting_reader_is_woken_by_the_commit() {
    let stage = Stage::new(OnLaunch::Begin);
    let seq = ask(&stage, None, LONG).seq;
    assert_eq!(seq, stage.seq());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let engine = stage.engine.clone();
            runtime.spawn(async move { engine.changes(Some(seq), LONG).await.expect("an answer") })
        })
        .collect();
    set_theme(&stage, "dark");
    runtime.block_on(async {
        for reader in waiting {
            let answer = tokio::time::timeout(PATIENCE, reader).await.expect("it is woken").unwrap();
            let tags: Vec<_> = answer.changes.iter().map(|change| change.tag.as_str()).collect();
            assert_eq!((answer.seq, answer.reset, tags), (seq + 1, false, vec!["settingsChanged"]));
        }
    });
}

#[test]
fn a_reader_that_asks_again_misses_nothing() {
    let stage = Stage::new(OnLaunch::Begin);
    let mut seq = ask(&stage, None, LONG).seq;
    let mut found = Vec::new();
    for name in ["one", "two", "three"] {
        stage.add_agent(name);
        stage.start(name);
    }
    while seq < stage.seq() {
        let answer = ask(&stage, Some(seq), LONG);
        assert!(!answer.reset);
        found.extend(answer.changes.iter().map(|change| change.seq - seq));
        seq = answer.seq;
    }
    assert_eq!(found.len() as u64, stage.seq() - seq + found.len() as u64);
    assert!(found.len() >= 9, "each agent was added, started and began: {found:?}");
}

#[test]
fn nothing_new_is_an_answer_too() {
    let stage = Stage::new(OnLaunch::Begin);
    let seq = stage.seq();
    let answer = ask(&stage, Some(seq), Duration::ZERO);
    assert_eq!(answer, Changes { seq, reset: false, changes: Vec::new() });
}

#[test]
fn a_stale_reader_is_told_to_fetch_all() {
    let stage = Stage::new(OnLaunch::Begin);
    let seq = stage.seq();
    let all_anew = Changes { seq, reset: true, changes: Vec::new() };
    assert_eq!(ask(&stage, None, LONG), all_anew, "who knows nothing");
    assert_eq!(ask(&stage, Some(seq + 7), LONG), all_anew, "who comes from another ledger's future");
    stage.raw().execute("DELETE FROM changes WHERE seq <= 2", []).unwrap();
    assert_eq!(ask(&stage, Some(1), LONG), all_anew, "who is further behind than what is kept");
    assert!(!ask(&stage, Some(2), LONG).reset, "who has just what is kept");
}
