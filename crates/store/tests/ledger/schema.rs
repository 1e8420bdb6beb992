//! The schema: what is released stays as it is, and every released file can be opened.

use std::path::{Path, PathBuf};

use carillon_core::limits::USAGE_OF_TURN_MAX;
use carillon_core::run::{Cause, Ending, State};
use carillon_core::usage::{Usage, UsageSum};
use carillon_core::words::Profile;
use carillon_core::{task, turn};
use carillon_store::migrate::{MIGRATIONS, checksum};
use carillon_store::{
    Error, Store, agents, approvals, asks, attempts, changes, hooks, layouts, limits, messages, profiles,
    projects, runs, settings, tasks, turns, usage, workdirs,
};
use rusqlite::Connection;

use crate::support::{NOW_MS, Place, begin, fill, profile, project, run, run_id, tenor, treble};

/// The checksums of the migrations by version. One is added with each migration and never changed: a
/// file that was written by the older text would be refused. A file of each is kept in `golden`.
const FROZEN: &[&str] = &[
    "a39324ad4c3d6b23da21e5b2c1ff104a1875b6b9c588e0260f815275c57a1dbc",
    "d0bd77b677f040ce36339010b80a2088634efff70945b88d2807cff2600930bb",
    "0b325c76d72c109f8a017d61d33b012b1a4338f2d8bc4a26013ac6d57039b5af",
    "12884aa829ffef0be2972ada45eab413d7b4e8031c59d117e198751292653cd9",
];

/// Set to `write` after a migration was added to `FROZEN`: then the snapshot of the schema and the
/// golden files that are missing are written, and are to be committed with it.
const WRITE: &str = "CARILLON_SNAPSHOT";

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn writing() -> bool {
    std::env::var_os(WRITE).is_some_and(|value| value == "write")
}

/// A file of an earlier schema, made of the frozen migrations alone.
fn of_version(path: &Path, version: usize) -> Connection {
    grown(path, version, |_, _| {})
}

/// As `of_version`, with the rows of each schema as that one wrote them: the later ones have moved them since.
fn filled(path: &Path, version: usize) -> Connection {
    grown(path, version, |db, number| {
        let name =
            if number == 1 { "golden/rows.sql".to_owned() } else { format!("golden/rows_v{number}.sql") };
        let rows = std::fs::read_to_string(here(&name)).expect("the rows");
        db.execute_batch(&rows).expect("the rows fit the schema");
    })
}

fn grown(path: &Path, version: usize, fill: impl Fn(&Connection, usize)) -> Connection {
    let db = Connection::open(path).expect("the file opens");
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON").unwrap();
    db.execute_batch("CREATE TABLE migrations (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT").unwrap();
    for (number, text) in (1..=version).zip(MIGRATIONS) {
        db.execute_batch(text).expect("the migration applies");
        db.execute("INSERT INTO migrations VALUES (?1, ?2, ?3)", (number, checksum(text), NOW_MS)).unwrap();
        fill(&db, number);
    }
    db
}

#[test]
fn migrations_are_frozen() {
    for (version, (text, frozen)) in (1..).zip(MIGRATIONS.iter().zip(FROZEN)) {
        assert_eq!(checksum(text), *frozen, "migration {version} was edited; add a new one instead");
    }
    // The newest may still be in the making.
    let unfrozen: Vec<String> = MIGRATIONS.iter().skip(FROZEN.len()).map(|text| checksum(text)).collect();
    assert!(unfrozen.len() <= 1, "freeze the older of {unfrozen:?}");
}

#[test]
fn the_frozen_schema_is_the_one_that_was_reviewed() {
    let place = Place::new();
    let db = of_version(&place.path(), FROZEN.len());
    let found = schema_of(&db);
    let path = here("schema.sql");
    if writing() {
        std::fs::write(&path, &found).expect("the snapshot can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, known, "run again with {WRITE}=write when the change is meant");
}

fn schema_of(db: &Connection) -> String {
    let all = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name <> 'migrations'
        ORDER BY name";
    let mut statement = db.prepare(all).unwrap();
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    texts.map(|text| text.unwrap() + ";\n\n").collect()
}

/// A file that was brought up step by step is the same as one that is made now.
#[test]
fn an_old_file_gets_the_schema_of_a_new_one() {
    let fresh = Place::new();
    drop(fresh.open());
    for version in 1..=MIGRATIONS.len() {
        let old = Place::new();
        drop(of_version(&old.path(), version));
        drop(old.open());
        let (found, expected) = (schema_of(&old.raw()), schema_of(&fresh.raw()));
        for (found, expected) in found.split(";\n\n").zip(expected.split(";\n\n")) {
            assert_eq!(found, expected, "from version {version}");
        }
        assert_eq!(found.len(), expected.len(), "from version {version}");
    }
}

#[test]
fn every_table_is_strict() {
    let place = Place::new();
    drop(place.open());
    let raw = place.raw();
    let mut statement = raw
        .prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
        .unwrap();
    let tables: Vec<(String, bool)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .filter(|(name, _): &(String, bool)| !name.starts_with("sqlite_"))
        .collect();
    assert!(tables.len() >= 7, "{tables:?}");
    assert!(tables.iter().all(|(_, strict)| *strict), "{tables:?}");
}

#[test]
fn opening_again_applies_nothing_again() {
    let place = Place::new();
    drop(place.open());
    let applied = || -> Vec<(i64, i64)> {
        let raw = place.raw();
        let mut statement =
            raw.prepare("SELECT version, applied_ms FROM migrations ORDER BY version").unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let first = applied();
    assert_eq!(first.len(), MIGRATIONS.len());
    drop(Store::open(&place.path(), NOW_MS + 1).unwrap());
    assert_eq!(applied(), first);
}

#[test]
fn a_file_of_a_newer_version_is_refused_by_name_and_left_alone() {
    let place = Place::new();
    drop(place.open());
    let newer = MIGRATIONS.len() + 1;
    place.raw().execute("INSERT INTO migrations VALUES (?1, 'later', 0)", [newer]).unwrap();
    let error = Store::open(&place.path(), NOW_MS).unwrap_err();
    assert!(matches!(error, Error::TooNew { found, .. } if found == newer as i64), "{error}");
    let text = error.to_string();
    assert!(text.contains(&place.path().display().to_string()) && text.contains("newer"), "{text}");
    assert!(!place.names().iter().any(|name| name.contains("corrupt")), "it is not damaged");
}

#[test]
fn a_changed_checksum_is_refused_and_the_file_left_alone() {
    let place = Place::new();
    drop(place.open());
    place.raw().execute("UPDATE migrations SET checksum = 'other' WHERE version = 1", []).unwrap();
    let error = Store::open(&place.path(), NOW_MS).unwrap_err();
    assert!(matches!(error, Error::Checksum { version: 1, .. }), "{error}");
    assert!(error.to_string().contains("carillon.db"), "{error}");
    assert!(!place.names().iter().any(|name| name.contains("corrupt")));
}

/// A migration that breaks off half-way leaves the version before it.
#[test]
fn a_migration_is_all_or_nothing() {
    let place = Place::new();
    // The table is in the way of the last statement of the first migration.
    place.raw().execute_batch("CREATE TABLE changes (x)").unwrap();
    let error = Store::open(&place.path(), NOW_MS).unwrap_err();
    assert!(error.to_string().contains("migrating the schema"), "{error}");
    let tables: i64 = place
        .raw()
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('projects', 'runs')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(tables, 0);
    place.raw().execute_batch("DROP TABLE changes").unwrap();
    fill(&mut place.open());
}

/// A file that each frozen schema wrote, kept for ever: whatever comes later must read it.
#[test]
fn every_golden_file_opens() {
    for version in 1..=FROZEN.len() {
        let file = here("golden").join(format!("v{version}.db"));
        if writing() && !file.exists() {
            write_golden(&file, version);
        }
        let place = Place::new();
        std::fs::copy(&file, place.path())
            .unwrap_or_else(|e| panic!("{}: {e}; run again with {WRITE}=write", file.display()));
        let mut store = place.open();
        check_golden(&store, version);
        // It can be written as well, and is now of the newest schema.
        begin(&mut store, &runs::RunRow { agent: Some(tenor().id), ..run("d2") });
    }
}

fn write_golden(file: &Path, version: usize) {
    let place = Place::new();
    drop(filled(&place.path(), version));
    std::fs::copy(place.path(), file).expect("the golden file can be written");
}

fn check_golden(store: &Store, version: usize) {
    assert_eq!(store.read(projects::list).unwrap(), [project()], "v{version}");
    let nameless = Profile {
        env: vec![("TOKEN".to_owned(), String::new())],
        concurrency: (version >= 4).then_some(3),
        ..profile()
    };
    assert_eq!(store.read(profiles::list).unwrap(), [nameless], "v{version}");
    assert_eq!(store.read(agents::list).unwrap(), [treble(), tenor()], "v{version}");
    let end = Ending { cause: Cause::Stopped { by: "user".to_owned() }, exit_code: None, signal: Some(15) };
    let ended = store.read(|db| runs::get(db, &run_id("d0"))).unwrap().expect("a run");
    assert_eq!((ended.state, ended.ended_ms), (State::Ended(end), Some(NOW_MS + 5)), "v{version}");
    let live = store.read(runs::live).unwrap();
    assert_eq!(live, [run("d1")], "v{version}");
    let theme = store.read(settings::all).unwrap();
    assert_eq!(theme, [("theme".to_owned(), "\"dark\"".to_owned())], "v{version}");
    let layout = store.read(|db| layouts::get(db, &project().id)).unwrap();
    assert_eq!(layout.as_deref(), Some("{\"panes\":[1]}"), "v{version}");
    assert_eq!(store.read(changes::newest).unwrap(), 41, "v{version}: the numbering goes on");
    if version >= 2 {
        check_golden_tasks(store);
    }
    if version >= 3 {
        check_golden_asks(store);
    }
    if version >= 4 {
        let counted = store.read(|db| usage::counted(db, &tenor().id, "ab12")).unwrap();
        assert_eq!((counted.input_tokens, counted.output_tokens), (Some(200), Some(40)));
        assert!(store.read(|db| hooks::is_heard(db, &run_id("d1"), "h1")).unwrap());
    }
}

/// An ask with its turns, which were counted already, and what hangs on a profile, a task and a project.
fn check_golden_asks(store: &Store) {
    let found = store.read(|db| turns::of_agent(db, &tenor().id, 9)).unwrap();
    let [queued, wake, ask] = found.as_slice() else { panic!("three turns, not {found:?}") };
    assert_eq!(queued.state, turn::State::Queued);
    let used = Usage {
        input_tokens: Some(200),
        output_tokens: Some(40),
        cost_micro_usd: Some(1_600),
        ..Usage::default()
    };
    assert_eq!((ask.usage, &ask.state), (used, &turn::State::Final { text: "It is.".to_owned() }));
    assert_eq!(wake.usage.input_tokens, Some(USAGE_OF_TURN_MAX), "cut to what can be summed");
    let row = store.read(|db| asks::get(db, ask.ask.as_ref().expect("its ask"))).unwrap().expect("an ask");
    assert_eq!((row.key.as_deref(), row.delivered), (Some("k1"), Some(asks::Delivered::Call)));
    let sum = store.read(|db| usage::of_agent(db, &tenor().id)).unwrap().expect("a sum");
    let all = Usage {
        input_tokens: Some(USAGE_OF_TURN_MAX + 200),
        output_tokens: Some(42),
        cost_micro_usd: Some(1_600),
        ..Usage::default()
    };
    assert_eq!(sum, UsageSum { turns: 2, priced_turns: 1, usage: all });
    let limited = store.read(|db| limits::get(db, &profile().id)).unwrap().expect("a limit");
    assert_eq!(limited.until_ms, Some(NOW_MS + 100_000));
    assert_eq!(store.read(|db| approvals::list(db, 9)).unwrap().len(), 1);
    let workdirs = store.read(|db| workdirs::list(db, Some(&project().id))).unwrap();
    assert_eq!(workdirs.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["peal"]);
}

/// Turns of Codex were counted by their whole conversation until the fourth schema: what stood there is taken
/// for unknown, and that of others is kept.
#[test]
fn what_was_counted_by_the_conversation_is_not_taken_for_that_of_a_turn() {
    let place = Place::new();
    let db = filled(&place.path(), 3);
    db.execute_batch("UPDATE profiles SET adapter = 'codex'").unwrap();
    drop(db);
    let store = place.open();
    assert_eq!(store.read(|db| usage::of_agent(db, &tenor().id)).unwrap(), None);
    let found = store.read(|db| turns::of_agent(db, &tenor().id, 9)).unwrap();
    assert!(found.len() == 3 && found.iter().all(|turn| !turn.usage.is_known()), "{found:?}");
}

/// A task that had ended, and its owner's message, which nobody had read by then.
fn check_golden_tasks(store: &Store) {
    let rows = store.read(|db| tasks::list(db, Some(&project().id), None, 9)).unwrap();
    let [row] = rows.as_slice() else { panic!("one task, not {rows:?}") };
    assert_eq!((row.task.title.as_str(), &row.joined_ask, row.seen_attempt), ("ring", &None, 0));
    let attempt = store.read(|db| attempts::latest(db, &row.task.id)).unwrap().expect("an attempt");
    assert_eq!(attempt.state, task::State::Failed(task::Failure::Exit(3)));
    let waiting = store.read(|db| messages::first_pending(db, &treble().id, 10)).unwrap();
    let [message] = waiting.as_slice() else { panic!("one message, not {waiting:?}") };
    assert_eq!(message.kind, messages::Kind::TaskEnded);
    assert_eq!(message.about.as_deref(), Some(row.task.id.as_str()));
    assert_eq!((message.project.as_str(), message.part), (project().id.as_str(), 1));
}
