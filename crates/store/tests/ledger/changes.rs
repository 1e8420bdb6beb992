//! The change log: in the transaction of what it tells, complete, or openly incomplete.

use carillon_core::run::LostWhy;
use carillon_store::changes::{self, Change, Tag};
use carillon_store::{Store, agents, projects, runs, settings};

use crate::support::{NOW_MS, Place, begin, fill, hex, project, run, treble};

fn after(store: &Store, seq: u64, most: usize) -> Option<Vec<Change>> {
    store.read(|db| changes::after(db, seq, most)).expect("a read")
}

fn newest(store: &Store) -> u64 {
    store.read(changes::newest).expect("a read")
}

fn note_many(store: &mut Store, count: u64) {
    store
        .write(|tx| (0..count).try_for_each(|n| changes::note(tx, Tag::Settings, &n.to_string(), None)))
        .expect("changes");
}

#[test]
fn each_row_tells_its_tag_its_id_and_its_project() {
    let place = Place::new();
    let mut store = place.open();
    assert_eq!(newest(&store), 0);
    fill(&mut store);
    begin(&mut store, &run("d0"));
    store.write(|tx| settings::put(tx, "theme", "\"dark\"")).unwrap();
    let here = Some(project().id.to_string());
    let expected = [
        ("projectChanged", hex("a0"), here.clone()),
        ("profileChanged", hex("b0"), None),
        ("agentChanged", hex("c0"), here.clone()),
        ("agentChanged", hex("c1"), here.clone()),
        ("runChanged", hex("d0"), here.clone()),
        ("agentChanged", hex("c0"), here),
        ("settingsChanged", "theme".to_owned(), None),
    ];
    let found = after(&store, 0, 100).unwrap();
    let expected: Vec<Change> = (1..)
        .zip(expected)
        .map(|(seq, (tag, row, project))| Change { seq, tag: tag.to_owned(), row, project })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_transaction_that_fails_leaves_neither_row_nor_change() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let seq = newest(&store);
    let failed = store.write(|tx| {
        agents::set_stopped(tx, &treble(), true)?;
        runs::insert_starting(tx, &run("d0"))?;
        // A second live run of the same agent is refused, and everything with it.
        runs::insert_starting(tx, &run("d1"))
    });
    assert!(failed.is_err());
    assert_eq!(newest(&store), seq);
    assert_eq!(after(&store, seq, 100), Some(Vec::new()));
    assert!(store.read(runs::live).unwrap().is_empty());
    assert!(!store.read(agents::list).unwrap().iter().any(|agent| agent.stopped_by_user));
    // The number that was given back is used by the next change: there is no gap to trip over.
    store.write(|tx| agents::set_stopped(tx, &treble(), true)).unwrap();
    let next = after(&store, seq, 100).expect("complete");
    assert_eq!(next.iter().map(|change| change.seq).collect::<Vec<_>>(), [seq + 1]);
}

#[test]
fn a_write_that_changes_nothing_tells_nothing() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    begin(&mut store, &run("d0"));
    store.write(|tx| runs::set_lost(tx, &run("d0"), LostWhy::Rebooted, NOW_MS)).unwrap();
    let seq = newest(&store);
    store.write(|tx| runs::set_lost(tx, &run("d0"), LostWhy::Rebooted, NOW_MS)).unwrap();
    store.write(|tx| agents::delete(tx, &crate::support::agent("cf", "nobody"))).unwrap();
    let nowhere = carillon_core::id::ProjectId::parse(&hex("ff")).unwrap();
    store.write(|tx| projects::delete(tx, &nowhere)).unwrap();
    assert_eq!(newest(&store), seq);
}

#[test]
fn a_reader_behind_fetches_in_batches() {
    let place = Place::new();
    let mut store = place.open();
    note_many(&mut store, 25);
    let (mut seq, mut batches) = (0, Vec::new());
    while let Some(last) = after(&store, seq, 10).expect("complete").last() {
        batches.push(last.seq - seq);
        seq = last.seq;
    }
    assert_eq!((seq, batches), (25, vec![10, 10, 5]));
}

#[test]
fn a_reader_too_far_behind_or_of_another_file_is_told_so() {
    let place = Place::new();
    let mut store = place.open();
    note_many(&mut store, 30);
    assert_eq!(after(&store, 31, 10), None, "from another file's future");
    assert_eq!(after(&store, 30, 10), Some(Vec::new()));
    assert_eq!(store.write(|tx| changes::trim(tx, 10)).unwrap(), 20);
    assert_eq!(newest(&store), 30, "trimming renumbers nothing");
    assert_eq!(after(&store, 19, 10), None, "change 20 is gone");
    assert_eq!(after(&store, 20, 10).map(|found| found.len()), Some(10));
    assert_eq!(store.write(|tx| changes::trim(tx, 10)).unwrap(), 0);
    // Also when nothing is kept, nothing begins anew.
    store.write(|tx| changes::trim(tx, 0)).unwrap();
    assert_eq!((newest(&store), after(&store, 30, 10)), (30, Some(Vec::new())));
    assert_eq!(after(&store, 29, 10), None);
    drop(store);
    let mut store = place.open();
    note_many(&mut store, 1);
    assert_eq!(newest(&store), 31, "also over a restart");
}
