//! Every legal edge of a run, and the refusal of every other.

use carillon_core::run::{Cause, Ending, LostWhy, State};
use carillon_store::runs::RunRow;
use carillon_store::{Store, agents, runs};
use rusqlite::ErrorCode;

use crate::support::{NOW_MS, Place, begin, fill, find, run, tenor, treble};

fn started(row: RunRow) -> RunRow {
    RunRow {
        pid: Some(4242),
        start_time: Some(987_654_321),
        boot_id: Some("boot".to_owned()),
        started_ms: Some(NOW_MS + 10),
        ..row
    }
}

fn ending(cause: Cause, exit_code: Option<i32>, signal: Option<i32>) -> Ending {
    Ending { cause, exit_code, signal }
}

fn filled(place: &Place) -> Store {
    let mut store = place.open();
    fill(&mut store);
    store
}

/// How often each word stands in the change log after `seq`.
fn changes_after(store: &Store, seq: u64) -> Vec<String> {
    let found = store.read(|db| carillon_store::changes::after(db, seq, 100)).expect("a read");
    found.expect("nothing is missing").into_iter().map(|change| change.tag).collect()
}

fn newest(store: &Store) -> u64 {
    store.read(carillon_store::changes::newest).expect("a read")
}

#[test]
fn a_run_goes_from_starting_over_running_to_its_end() {
    let place = Place::new();
    let mut store = filled(&place);
    let seq = newest(&store);
    begin(&mut store, &run("d0"));
    assert_eq!(find(&store, "d0"), run("d0"));
    assert_eq!(changes_after(&store, seq), ["runChanged", "agentChanged"]);

    let row = started(run("d0"));
    let seq = newest(&store);
    assert!(store.write(|tx| runs::set_running(tx, &row)).unwrap());
    assert_eq!(find(&store, "d0"), RunRow { state: State::Running, ..row.clone() });
    assert_eq!(changes_after(&store, seq), ["runChanged", "agentChanged"]);

    let end = ending(Cause::Ended, Some(3), None);
    let seq = newest(&store);
    let row = RunRow { log_bytes: 77, ..row };
    assert!(store.write(|tx| runs::set_ended(tx, &row, &end, NOW_MS + 20)).unwrap());
    let expected = RunRow { state: State::Ended(end), ended_ms: Some(NOW_MS + 20), ..row };
    assert_eq!(find(&store, "d0"), expected);
    assert_eq!(changes_after(&store, seq), ["runChanged", "agentChanged"]);
}

#[test]
fn every_cause_comes_back_as_it_was_written() {
    let causes = [
        ending(Cause::Ended, Some(0), None),
        ending(Cause::Ended, None, Some(9)),
        ending(Cause::TimedOut, None, Some(15)),
        ending(Cause::Stopped { by: "user".to_owned() }, Some(130), None),
        ending(Cause::SystemStop, None, None),
        ending(Cause::SpawnFailed { message: "no program \"x\"".to_owned() }, None, None),
    ];
    let place = Place::new();
    let mut store = filled(&place);
    for (n, end) in causes.into_iter().enumerate() {
        let name = format!("d{n}");
        begin(&mut store, &run(&name));
        // Half of them end before their supervisor was heard.
        if n % 2 == 0 {
            assert!(store.write(|tx| runs::set_running(tx, &started(run(&name)))).unwrap());
        }
        assert!(store.write(|tx| runs::set_ended(tx, &run(&name), &end, NOW_MS)).unwrap());
        assert_eq!(find(&store, &name).state, State::Ended(end));
    }
}

#[test]
fn a_code_and_a_signal_together_are_kept_as_the_code() {
    let place = Place::new();
    let mut store = filled(&place);
    begin(&mut store, &run("d0"));
    let both = ending(Cause::Ended, Some(1), Some(9));
    assert!(store.write(|tx| runs::set_ended(tx, &run("d0"), &both, NOW_MS)).unwrap());
    assert_eq!(find(&store, "d0").state, State::Ended(ending(Cause::Ended, Some(1), None)));
}

#[test]
fn a_run_may_be_lost_from_either_live_state() {
    let place = Place::new();
    let mut store = filled(&place);
    for (n, why) in [LostWhy::Rebooted, LostWhy::SupervisorGone].into_iter().enumerate() {
        let name = format!("d{n}");
        begin(&mut store, &run(&name));
        if n == 1 {
            assert!(store.write(|tx| runs::set_running(tx, &started(run(&name)))).unwrap());
        }
        assert!(store.write(|tx| runs::set_lost(tx, &run(&name), why, NOW_MS + 5)).unwrap());
        let row = find(&store, &name);
        assert_eq!((row.state, row.ended_ms), (State::Lost(why), Some(NOW_MS + 5)));
    }
}

#[test]
fn the_first_terminal_state_stands() {
    let place = Place::new();
    let mut store = filled(&place);
    let first = ending(Cause::Ended, Some(0), None);
    begin(&mut store, &run("d0"));
    store.write(|tx| runs::set_ended(tx, &run("d0"), &first, NOW_MS)).unwrap();
    begin(&mut store, &run("d1"));
    store.write(|tx| runs::set_lost(tx, &run("d1"), LostWhy::Rebooted, NOW_MS)).unwrap();
    for name in ["d0", "d1"] {
        let (before, seq) = (find(&store, name), newest(&store));
        let late = RunRow { log_bytes: 9, ..started(run(name)) };
        let other = ending(Cause::TimedOut, None, Some(9));
        assert!(!store.write(|tx| runs::set_running(tx, &late)).unwrap());
        assert!(!store.write(|tx| runs::set_ended(tx, &late, &other, NOW_MS + 1)).unwrap());
        assert!(!store.write(|tx| runs::set_lost(tx, &late, LostWhy::SupervisorGone, NOW_MS + 1)).unwrap());
        assert_eq!(find(&store, name), before);
        assert_eq!(newest(&store), seq, "what changes nothing is no change");
    }
}

#[test]
fn a_running_run_does_not_begin_again() {
    let place = Place::new();
    let mut store = filled(&place);
    begin(&mut store, &run("d0"));
    assert!(store.write(|tx| runs::set_running(tx, &started(run("d0")))).unwrap());
    let other = RunRow { pid: Some(1), ..started(run("d0")) };
    assert!(!store.write(|tx| runs::set_running(tx, &other)).unwrap());
    assert_eq!(find(&store, "d0").pid, Some(4242));
    assert!(!store.write(|tx| runs::set_running(tx, &run("d9"))).unwrap(), "an unknown run has no edge");
}

#[test]
fn an_agent_has_one_live_run() {
    let place = Place::new();
    let mut store = filled(&place);
    begin(&mut store, &run("d0"));
    let error = store.write(|tx| runs::insert_starting(tx, &run("d1"))).unwrap_err();
    assert!(error.to_string().contains("UNIQUE"), "{error}");
    store.write(|tx| runs::set_running(tx, &started(run("d0")))).unwrap();
    assert!(store.write(|tx| runs::insert_starting(tx, &run("d1"))).is_err(), "also while it runs");
    // Another agent's is another matter, and so is the next one of the same agent.
    begin(&mut store, &RunRow { agent: Some(tenor().id), ..run("d2") });
    store.write(|tx| runs::set_lost(tx, &run("d0"), LostWhy::SupervisorGone, NOW_MS)).unwrap();
    begin(&mut store, &run("d1"));
    let live = store.read(runs::live).unwrap();
    assert_eq!(live.len(), 2);
    let newest = store.read(|db| runs::newest_of(db, &treble().id)).unwrap();
    assert_eq!(newest.map(|row| row.id), Some(run("d1").id));
}

#[test]
fn a_run_survives_its_agent() {
    let place = Place::new();
    let mut store = filled(&place);
    begin(&mut store, &run("d0"));
    store.write(|tx| runs::set_running(tx, &started(run("d0")))).unwrap();
    assert!(store.write(|tx| agents::delete(tx, &treble())).unwrap());
    let row = find(&store, "d0");
    assert_eq!(row, RunRow { agent: None, state: State::Running, ..started(run("d0")) });
    assert!(row.temp_held, "its temp directory is still on the ledger");
    let end = ending(Cause::Ended, Some(0), None);
    assert!(store.write(|tx| runs::set_ended(tx, &row, &end, NOW_MS)).unwrap());
    assert_eq!(store.read(runs::holding_temp).unwrap().len(), 1);
}

#[test]
fn a_run_is_forgotten_only_when_nothing_of_it_is_left() {
    let place = Place::new();
    let mut store = filled(&place);
    let end = ending(Cause::Ended, Some(0), None);
    for (n, name) in (0i64..).zip(["d0", "d1"]) {
        begin(&mut store, &RunRow { created_ms: NOW_MS + n, ..run(name) });
        store.write(|tx| runs::set_ended(tx, &run(name), &end, NOW_MS + n)).unwrap();
    }
    let forget = |store: &mut Store| store.write(runs::forget_spent).unwrap();
    assert_eq!(forget(&mut store), 0);
    for name in ["d0", "d1"] {
        store.write(|tx| runs::set_dir_dropped(tx, &run(name).id)).unwrap();
    }
    assert_eq!(forget(&mut store), 0, "their temp directories may be there");
    store.write(|tx| runs::set_temp_buried(tx, &run("d0").id)).unwrap();
    store.write(|tx| runs::set_temp_buried(tx, &run("d1").id)).unwrap();
    assert!(store.read(runs::holding_temp).unwrap().is_empty());
    assert_eq!(forget(&mut store), 1, "the newest of an agent stays: its state is read from it");
    assert_eq!(find(&store, "d1").state, State::Ended(end));
    store.write(|tx| agents::delete(tx, &treble())).unwrap();
    assert_eq!(forget(&mut store), 1);
}

/// A row that no method writes is refused also when somebody writes it by hand.
#[test]
fn impossible_rows_are_refused_by_the_table() {
    let place = Place::new();
    let mut store = filled(&place);
    begin(&mut store, &run("d0"));
    let raw = place.raw();
    let impossible = [
        "state = 'paused'",
        "state = NULL",
        "state = 'ended'",
        "state = 'ended', cause = 'ended'",
        "state = 'ended', ended_ms = 1",
        "state = 'ended', cause = 'tired', ended_ms = 1",
        "state = 'lost'",
        "state = 'lost', ended_ms = 1",
        "state = 'lost', lost_why = 'rebooted'",
        "state = 'lost', lost_why = 'bored', ended_ms = 1",
        "state = 'lost', lost_why = 'rebooted', cause = 'ended', ended_ms = 1",
        "state = 'lost', lost_why = 'rebooted', exit_code = 1, ended_ms = 1",
        "state = 'ended', cause = 'ended', lost_why = 'rebooted', ended_ms = 1",
        "state = 'ended', cause = 'ended', exit_code = 1, signal = 9, ended_ms = 1",
        "cause = 'ended'",
        "lost_why = 'rebooted'",
        "exit_code = 0",
        "signal = 9",
        "ended_ms = 1",
        "state = 'running', ended_ms = 1",
        "temp_path = NULL",
        "temp_state = 'none'",
        "temp_state = 'lost'",
        "dir_state = 'moved'",
        "log_bytes = 'many'",
        "created_ms = NULL",
    ];
    for change in impossible {
        let error = raw.execute(&format!("UPDATE runs SET {change}"), []).expect_err(change);
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::ConstraintViolation), "{change}: {error}");
    }
    // The same hand can write what is possible, so it is the row that was refused.
    let possible = "UPDATE runs SET state = 'ended', cause = 'ended', exit_code = 1, ended_ms = 1";
    assert_eq!(raw.execute(possible, []).unwrap(), 1);
    drop(raw);
    assert!(find(&store, "d0").state.is_terminal());
}
