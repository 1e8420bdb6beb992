//! What turns have used: counted once, kept when the turns and their agents are gone. And what hooks have told.

use carillon_core::id::TurnId;
use carillon_core::limits::HOOKS_REMEMBERED;
use carillon_core::run::LostWhy;
use carillon_core::turn::State;
use carillon_core::usage::{SessionCount, Usage, UsageSum};
use carillon_core::words::Agent;
use carillon_store::turns::{self, Closing, Kind, TurnRow};
use carillon_store::{Store, agents, hooks, runs, usage};

use crate::support::{NOW_MS, Place, begin, fill, hex, project, run, run_id, tenor, treble};

fn turn(start: &str, agent: &Agent) -> TurnRow {
    TurnRow {
        id: TurnId::parse(&hex(start)).expect("an id"),
        agent: agent.id.clone(),
        project: project().id,
        ask: None,
        kind: Kind::Wake,
        state: State::Queued,
        prompt: "ring".to_owned(),
        run: Some(run_id("d1")),
        usage: Usage::default(),
        closing: Closing::default(),
        created_ms: NOW_MS,
        started_ms: None,
        ended_ms: None,
    }
}

fn tokens(input: u64, output: u64) -> Usage {
    Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
}

fn end(store: &mut Store, row: &TurnRow) -> bool {
    let over = State::Final { text: "done".to_owned() };
    store.write(|tx| turns::set_over(tx, row, &over, NOW_MS + 1)).unwrap()
}

fn sum_of(store: &Store, agent: &Agent) -> Option<UsageSum> {
    store.read(|db| usage::of_agent(db, &agent.id)).unwrap()
}

#[test]
fn the_end_of_a_turn_is_counted_once_and_outlives_turns_and_agents() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    assert_eq!(sum_of(&store, &treble()), None, "nobody told anything");
    let priced = Usage { cost_micro_usd: Some(1_600), cached_tokens: Some(5), ..tokens(200, 40) };
    let first = TurnRow { usage: priced, ..turn("e1", &treble()) };
    let silent = turn("e2", &treble());
    let second = TurnRow { usage: tokens(10, 2), ..turn("e3", &treble()) };
    let other = TurnRow { usage: tokens(1, 1), ..turn("e4", &tenor()) };
    for row in [&first, &silent, &second, &other] {
        store.write(|tx| turns::insert_queued(tx, row)).unwrap();
        assert!(end(&mut store, row));
        assert!(!end(&mut store, row), "it is over once");
    }
    let kept = store.read(|db| turns::get(db, &first.id)).unwrap().expect("the turn");
    assert_eq!(kept.usage, priced);
    let expected = UsageSum {
        turns: 2,
        priced_turns: 1,
        usage: Usage { input_tokens: Some(210), output_tokens: Some(42), ..priced },
    };
    assert_eq!(sum_of(&store, &treble()), Some(expected));
    store.write(|tx| turns::forget(tx, NOW_MS + 9)).unwrap();
    assert_eq!(store.read(|db| turns::of_agent(db, &treble().id, 9)).unwrap(), []);
    drop(store);
    let mut store = place.open();
    assert_eq!(sum_of(&store, &treble()), Some(expected), "also when its turns are forgotten");
    store.write(|tx| agents::delete(tx, &treble())).unwrap();
    let all = store.read(usage::of_projects).unwrap();
    let of_project = all.get(&project().id).expect("the project's");
    assert_eq!((of_project.turns, of_project.usage.input_tokens), (3, Some(211)), "{all:?}");
}

#[test]
fn how_far_a_conversation_is_counted_is_committed_with_the_turn() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let counted =
        |store: &Store, session: &str| store.read(|db| usage::counted(db, &treble().id, session)).unwrap();
    assert_eq!(counted(&store, "s1"), Usage::default());
    let count = SessionCount { session: "s1".to_owned(), usage: tokens(400, 80) };
    let closing = Closing { session_count: Some(count), hook: None };
    let row = TurnRow { usage: tokens(400, 80), closing, ..turn("e1", &treble()) };
    store.write(|tx| turns::insert_queued(tx, &row)).unwrap();
    assert!(end(&mut store, &row));
    assert_eq!((counted(&store, "s1"), counted(&store, "s2")), (tokens(400, 80), Usage::default()));
    let late = SessionCount { session: "s1".to_owned(), usage: tokens(999, 99) };
    let again = TurnRow { closing: Closing { session_count: Some(late), hook: None }, ..row };
    assert!(!end(&mut store, &again));
    assert_eq!(counted(&store, "s1"), tokens(400, 80), "a turn that was over moves nothing");
}

#[test]
fn what_a_hook_has_told_is_known_until_its_run_is_over() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    begin(&mut store, &run("d1"));
    begin(&mut store, &runs::RunRow { agent: Some(tenor().id), ..run("d2") });
    let heard =
        |store: &Store, run: &str, id: &str| store.read(|db| hooks::is_heard(db, &run_id(run), id)).unwrap();
    let row = TurnRow {
        closing: Closing { session_count: None, hook: Some("h1".to_owned()) },
        ..turn("e1", &treble())
    };
    store.write(|tx| turns::insert_queued(tx, &row)).unwrap();
    store.write(|tx| turns::claim(tx, &row, &run_id("d1"))).unwrap();
    assert!(!heard(&store, "d1", "h1"));
    assert!(end(&mut store, &row));
    assert!(heard(&store, "d1", "h1") && !heard(&store, "d2", "h1"), "with the end of the turn");
    for n in 0..HOOKS_REMEMBERED {
        store.write(|tx| hooks::set_heard(tx, &run_id("d1"), &format!("n{n}"))).unwrap();
    }
    assert!(!heard(&store, "d1", "h1") && heard(&store, "d1", "n0"), "the newest are kept");
    let live = store.read(|db| runs::get(db, &run_id("d1"))).unwrap().expect("the run");
    store.write(|tx| runs::set_lost(tx, &live, LostWhy::SupervisorGone, NOW_MS)).unwrap();
    store.write(|tx| hooks::set_heard(tx, &run_id("d2"), "h2")).unwrap();
    assert!(!heard(&store, "d1", "n0") && heard(&store, "d2", "h2"));
}
