//! A backup that was put back while the log of another time lay beside it. SQLite would lay one over
//! the other; the ledger must be one of the two, whole.

use std::path::PathBuf;

use carillon_store::{Opened, Store};

use crate::crashes::{crash, set, values, verdict};
use crate::support::{NOW_MS, Place, fill};

/// Sets all of some keys to the same value: a ledger in which they differ is a mixture.
fn stamp(store: &mut Store, value: &str) {
    let value = format!("\"{value}\"");
    for n in 0..40 {
        set(store, &format!("key_{n:02}"), &value);
    }
}

/// A row that is longer than a page each, so that pages are taken and given back.
fn grow(store: &mut Store, rows: usize) {
    let long = format!("\"{}\"", "x".repeat(6_000));
    for n in 0..rows {
        set(store, &format!("long_{n:03}"), &long);
    }
}

/// The one value of the stamped keys.
fn stamped(store: &Store) -> String {
    let all = values(store);
    let mut found: Vec<_> = all.iter().filter(|(key, _)| key.starts_with("key_")).map(|(_, v)| v).collect();
    assert_eq!(found.len(), 40);
    found.dedup();
    assert_eq!(found.len(), 1, "old and new rows are mixed: {found:?}");
    found[0].clone()
}

/// Runs one engine's life, to its clean end.
fn live(place: &Place, work: impl FnOnce(&mut Store)) -> Vec<u8> {
    let mut store = place.open();
    work(&mut store);
    store.checkpoint().expect("a checkpoint");
    drop(store);
    std::fs::read(place.path()).expect("a backup")
}

fn begin(place: &Place) -> Vec<u8> {
    live(place, |store| {
        fill(store);
        stamp(store, "first");
    })
}

fn open(place: &Place) -> Opened {
    Store::open(&place.path(), NOW_MS).expect("the ledger opens")
}

/// Opens a restored backup: the backup holds, and the log is kept elsewhere.
fn the_backup_holds(place: &Place, value: &str) {
    let log = std::fs::read(place.file("-wal")).expect("a log");
    let opened = open(place);
    assert_eq!(stamped(&opened.store), format!("\"{value}\""));
    assert_eq!(opened.moved_aside, None, "the file itself is sound");
    let aside = opened.log_put_aside.expect("the user is told");
    let kept = std::fs::read(&aside).expect("nothing is thrown away");
    assert_eq!(kept, log);
    drop(opened.store);
    assert_eq!(verdict(place), "ok");
    // The next crash is as any other.
    let again = crash(place, |store| stamp(store, "later"));
    let opened = open(&again);
    assert_eq!(opened.log_put_aside, None::<PathBuf>);
    assert_eq!(stamped(&opened.store), "\"later\"");
}

#[test]
fn an_older_backup_is_not_mixed_with_the_log_of_a_crash() {
    let place = Place::new();
    let backup = begin(&place);
    live(&place, |store| {
        grow(store, 20);
        stamp(store, "second");
    });
    // Only some of the keys are in the log.
    let dead = crash(&place, |store| {
        set(store, "key_00", "\"third\"");
        set(store, "key_39", "\"third\"");
    });
    std::fs::write(dead.path(), backup).unwrap();
    the_backup_holds(&dead, "first");
}

#[test]
fn the_backup_of_the_last_clean_exit_holds_as_well() {
    let place = Place::new();
    let backup = begin(&place);
    let dead = crash(&place, |store| stamp(store, "second"));
    std::fs::write(dead.path(), backup).unwrap();
    the_backup_holds(&dead, "first");
}

/// The log is begun anew again and again in a long life.
#[test]
fn a_backup_of_the_last_exit_is_not_mixed_with_the_log_of_a_long_life() {
    let place = Place::new();
    let backup = begin(&place);
    let dead = crash(&place, |store| {
        for n in 0..6 {
            grow(store, 100);
            stamp(store, &n.to_string());
        }
        set(store, "key_20", "\"last\"");
    });
    std::fs::write(dead.path(), backup).unwrap();
    the_backup_holds(&dead, "first");
}

/// A copy of the file alone, made while the engine ran, and restored after much more was written.
#[test]
fn a_copy_of_the_running_file_is_not_mixed_with_a_later_log() {
    let place = Place::new();
    begin(&place);
    let copied = crash(&place, |store| {
        stamp(store, "second");
        // Brings the keys into the file.
        store.checkpoint().expect("a checkpoint");
        set(store, "other", "1");
    });
    let copy = std::fs::read(copied.path()).unwrap();
    let dead = crash(&copied, |store| {
        for n in 0..6 {
            grow(store, 100);
            stamp(store, &n.to_string());
        }
        set(store, "key_20", "\"last\"");
    });
    std::fs::write(dead.path(), copy).unwrap();
    the_backup_holds(&dead, "second");
}

/// Every ordinary crash keeps what was committed, wherever in the life of the log it falls.
#[test]
fn the_log_of_an_ordinary_crash_is_never_put_aside() {
    let place = Place::new();
    begin(&place);
    let mut store = place.open();
    let long = format!("\"{}\"", "x".repeat(6_000));
    for n in 0..300u32 {
        set(&mut store, "count", &n.to_string());
        set(&mut store, &format!("long_{:02}", n % 50), &long);
        if n % 7 == 0 {
            let dead = Place::new();
            for name in place.names() {
                std::fs::copy(place.dir().join(&name), dead.dir().join(&name)).unwrap();
            }
            let opened = open(&dead);
            assert_eq!((opened.moved_aside, opened.log_put_aside), (None, None), "after {n}");
            assert!(values(&opened.store).contains(&("count".to_owned(), n.to_string())), "after {n}");
        }
    }
}

/// A reader of another program keeps the log from being begun anew; that is no reason for distrust.
#[test]
fn a_long_reader_delays_the_log_and_nothing_else() {
    let place = Place::new();
    begin(&place);
    let mut store = place.open();
    let reader = place.raw();
    reader.execute_batch("BEGIN; SELECT count(*) FROM settings").unwrap();
    for n in 0..6 {
        grow(&mut store, 100);
        stamp(&mut store, &n.to_string());
    }
    let dead = Place::new();
    for name in place.names() {
        std::fs::copy(place.dir().join(&name), dead.dir().join(&name)).unwrap();
    }
    let opened = open(&dead);
    assert_eq!((opened.moved_aside, opened.log_put_aside), (None, None));
    assert_eq!(stamped(&opened.store), "\"5\"");
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    grow(&mut store, 100);
    grow(&mut store, 100);
    let log = std::fs::metadata(place.file("-wal")).unwrap().len();
    assert!(log < 4 << 20, "once the reader is gone the log is begun anew: {log} bytes");
}
