//! Ledgers as a killed process leaves them.

use std::path::Path;

use carillon_store::{Store, settings};

use crate::support::Place;

/// Works with a ledger and answers its files as they stand when its process is killed.
pub fn crash(living: &Place, work: impl FnOnce(&mut Store)) -> Place {
    let mut store = living.open();
    work(&mut store);
    let dead = Place::new();
    for name in living.names() {
        std::fs::copy(living.dir().join(&name), dead.dir().join(&name)).expect("a copy");
    }
    assert!(len(&dead.file("-wal")) > 0, "what it wrote last stands in the log");
    dead
}

/// The same with a new ledger.
pub fn crashed(work: impl FnOnce(&mut Store)) -> Place {
    crash(&Place::new(), work)
}

pub fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

pub fn verdict(place: &Place) -> String {
    place.raw().query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a verdict")
}

pub fn set(store: &mut Store, key: &str, value: &str) {
    store.write(|tx| settings::put(tx, key, value)).expect("a write");
}

pub fn values(store: &Store) -> Vec<(String, String)> {
    store.read(settings::all).expect("a read")
}
