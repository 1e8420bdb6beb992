//! What the tables keep, what they must not keep, and what hangs on what.

use carillon_core::words::{Mode, Policy, Profile};
use carillon_store::{agents, layouts, profiles, projects, settings};

use crate::support::{NOW_MS, Place, agent, fill, profile, project, tenor, treble};

#[test]
fn rows_come_back_as_they_were_written() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let headless = carillon_core::words::Agent { mode: Mode::Headless, ..agent("c2", "bourdon") };
    store.write(|tx| agents::insert(tx, &headless, NOW_MS)).unwrap();
    drop(store);
    let mut store = place.open();
    assert_eq!(store.read(projects::list).unwrap(), [project()]);
    let by_root = |root: &str| store.read(|db| projects::by_root(db, root)).unwrap();
    assert_eq!(by_root("/home/ada/bells"), Some(project()));
    assert_eq!(by_root("/home/ada"), None);
    assert_eq!(store.read(agents::list).unwrap(), [treble(), tenor(), headless]);
    store.write(|tx| agents::set_stopped(tx, &treble(), true)).unwrap();
    let stopped = store.read(agents::list).unwrap().into_iter().map(|agent| agent.stopped_by_user);
    assert_eq!(stopped.collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn the_value_of_a_variable_is_in_no_file() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let read = store.read(profiles::list).unwrap();
    let nameless = Profile { env: vec![("TOKEN".to_owned(), String::new())], ..profile() };
    assert_eq!(read, [nameless], "its name is there, its value is not");
    store.write(|tx| profiles::set_version(tx, &profile().id, Some("1.3"))).unwrap();
    let holds = |needle: &str| {
        let files = place.names();
        assert!(files.iter().any(|name| name.ends_with("-wal")), "the log is looked into: {files:?}");
        let holds = |name: &String| {
            let bytes = std::fs::read(place.dir().join(name)).expect("the file can be read");
            bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
        };
        files.into_iter().filter(holds).collect::<Vec<_>>()
    };
    let secret = &profile().env[0].1;
    assert_eq!(holds(&secret[..8]), [""; 0], "not even its first eight characters");
    assert!(!holds("TOKEN").is_empty(), "the search finds what is there");
}

#[test]
fn every_policy_comes_back() {
    let place = Place::new();
    let mut store = place.open();
    for (start, policy) in [("b1", Policy::Never), ("b2", Policy::Ask), ("b3", Policy::Allow)] {
        let id = carillon_core::id::ProfileId::parse(&crate::support::hex(start)).unwrap();
        let one = Profile { id, name: start.to_owned(), policy, env: Vec::new(), ..profile() };
        store.write(|tx| profiles::insert(tx, &one, NOW_MS)).unwrap();
        assert!(store.read(profiles::list).unwrap().contains(&one));
        assert!(store.write(|tx| profiles::delete(tx, &one.id)).unwrap());
        assert!(!store.write(|tx| profiles::delete(tx, &one.id)).unwrap());
    }
}

#[test]
fn names_are_unique_where_they_name() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let twin = agent("cf", "treble");
    let error = store.write(|tx| agents::insert(tx, &twin, NOW_MS)).unwrap_err().to_string();
    assert!(error.contains("UNIQUE") && error.contains("carillon.db"), "{error}");
    assert!(store.write(|tx| profiles::insert(tx, &profile(), NOW_MS)).is_err());
    assert!(store.write(|tx| projects::insert(tx, &project(), NOW_MS)).is_err());
}

#[test]
fn what_is_in_use_cannot_be_deleted_under_it() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    store.write(|tx| layouts::put(tx, &project().id, "{\"panes\":1}")).unwrap();
    assert!(store.write(|tx| profiles::delete(tx, &profile().id)).is_err(), "agents start by it");
    assert!(store.write(|tx| projects::delete(tx, &project().id)).is_err(), "it has agents");
    for agent in [treble(), tenor()] {
        assert!(store.write(|tx| agents::delete(tx, &agent)).unwrap());
    }
    assert!(store.write(|tx| profiles::delete(tx, &profile().id)).unwrap());
    assert!(store.write(|tx| projects::delete(tx, &project().id)).unwrap());
    let layout = store.read(|db| layouts::get(db, &project().id)).unwrap();
    assert_eq!(layout, None, "a layout goes with its project");
}

#[test]
fn settings_and_layouts_are_replaced_whole_and_are_json() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    for value in ["\"dark\"", "\"light\""] {
        store.write(|tx| settings::put(tx, "theme", value)).unwrap();
        store.write(|tx| layouts::put(tx, &project().id, value)).unwrap();
    }
    let all = store.read(settings::all).unwrap();
    assert_eq!(all, [("theme".to_owned(), "\"light\"".to_owned())]);
    let layout = store.read(|db| layouts::get(db, &project().id)).unwrap();
    assert_eq!(layout.as_deref(), Some("\"light\""));
    assert!(store.write(|tx| settings::put(tx, "theme", "dark")).is_err());
    assert!(store.write(|tx| layouts::put(tx, &project().id, "{")).is_err());
}

/// A row from a hand that knows better is reported by table, not read as something else.
#[test]
fn a_row_that_no_version_writes_is_named() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    place.raw().execute("UPDATE agents SET id = 'x' WHERE name = 'treble'", []).unwrap();
    let error = store.read(agents::list).unwrap_err();
    let text = format!("{error}");
    assert!(text.contains("a row of agents cannot be read"), "{text}");
}
