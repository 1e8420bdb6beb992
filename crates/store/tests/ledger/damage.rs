//! Files that a crash, a bad disk or a restored backup leaves. Nothing of them is thrown away, and
//! nothing is read as what it is not.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use carillon_store::{Opened, Store, agents, projects};

use crate::crashes::{crashed, len, verdict};
use crate::support::{NOW_MS, Place, fill, project};

fn open(place: &Place) -> Opened {
    Store::open(&place.path(), NOW_MS).expect("the ledger opens")
}

/// Opens a damaged file: it must be moved aside as it was, and a new one must work.
fn is_moved_aside(place: &Place) {
    let read = |suffix: &str| std::fs::read(place.file(suffix)).ok();
    let before = ["", "-wal"].map(|suffix| (suffix, read(suffix)));
    let opened = open(place);
    let aside = opened.moved_aside.expect("the user is told where the old file is");
    for (suffix, bytes) in before {
        let moved = PathBuf::from(format!("{}{suffix}", aside.display()));
        assert_eq!(std::fs::read(&moved).ok(), bytes, "{} is whole", moved.display());
    }
    let mut store = opened.store;
    assert!(store.read(projects::list).expect("a read").is_empty(), "the new ledger is empty");
    fill(&mut store);
    drop(store);
    assert_eq!(open(place).moved_aside, None, "the second start finds nothing wrong");
    assert_eq!(verdict(place), "ok");
}

#[test]
fn what_was_committed_before_a_crash_is_there() {
    let place = crashed(fill);
    let store = place.open();
    assert_eq!(store.read(projects::list).unwrap(), [project()]);
    assert_eq!(store.read(agents::list).unwrap().len(), 2);
    drop(store);
    assert_eq!(verdict(&place), "ok");
}

#[test]
fn a_log_that_was_torn_loses_only_what_was_not_committed() {
    let place = crashed(|store| {
        fill(store);
        crate::crashes::set(store, "torn", "1");
    });
    let log = std::fs::File::options().write(true).open(place.file("-wal")).unwrap();
    log.set_len(len(&place.file("-wal")) - 100).unwrap();
    let store = place.open();
    assert_eq!(store.read(projects::list).unwrap(), [project()]);
    assert_eq!(crate::crashes::values(&store), []);
}

#[test]
fn a_file_that_is_no_database_is_moved_aside() {
    let place = Place::new();
    fill(&mut place.open());
    let mut bytes = std::fs::read(place.path()).unwrap();
    bytes[..16].copy_from_slice(b"garbage garbage ");
    std::fs::write(place.path(), &bytes).unwrap();
    is_moved_aside(&place);
}

#[test]
fn a_file_of_noise_is_moved_aside() {
    let place = Place::new();
    let noise: Vec<u8> = (0u32..20_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(place.path(), noise).unwrap();
    is_moved_aside(&place);
}

#[test]
fn a_truncated_file_is_moved_aside() {
    let place = Place::new();
    fill(&mut place.open());
    let file = std::fs::File::options().write(true).open(place.path()).unwrap();
    file.set_len(len(&place.path()) / 2).unwrap();
    is_moved_aside(&place);
}

#[test]
fn a_file_with_a_broken_page_is_moved_aside() {
    let place = Place::new();
    fill(&mut place.open());
    let mut bytes = std::fs::read(place.path()).unwrap();
    // The page of the first table after the schema's.
    bytes[4096..8192].fill(0xff);
    std::fs::write(place.path(), bytes).unwrap();
    is_moved_aside(&place);
}

/// The log may hold all that there was: it must not go with the empty file beside it.
#[test]
fn an_emptied_file_is_moved_aside_with_its_log() {
    let place = crashed(fill);
    std::fs::File::create(place.path()).unwrap();
    is_moved_aside(&place);
}

#[test]
fn a_log_without_its_file_is_moved_aside() {
    let place = crashed(fill);
    std::fs::remove_file(place.path()).unwrap();
    let log = std::fs::read(place.file("-wal")).unwrap();
    let aside = open(&place).moved_aside.expect("the user is told");
    assert_eq!(std::fs::read(format!("{}-wal", aside.display())).unwrap(), log);
}

#[test]
fn every_file_is_for_the_user_alone() {
    // SAFETY: umask(2) changes only the mode of files that are made from now on.
    unsafe { libc::umask(0) };
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let _reader = store.reader().unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(place.file(suffix)).expect(suffix).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "carillon.db{suffix}");
    }
}

#[test]
fn a_place_that_cannot_be_used_is_named() {
    let place = Place::new();
    std::fs::create_dir(place.path()).unwrap();
    let error = Store::open(&place.path(), NOW_MS).unwrap_err().to_string();
    assert!(error.contains("carillon.db") && error.contains("directory"), "{error}");
    let error = Store::open(&place.dir().join("no/such/ledger"), NOW_MS).unwrap_err().to_string();
    assert!(error.contains("no/such/ledger"), "{error}");
}

/// Page 1 as it stands last in the log: (its place in the file, its bytes).
fn newest_first_page(log: &std::path::Path) -> (u64, Vec<u8>) {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let bytes = std::fs::read(log).expect("the log");
    let page = usize::try_from(u32::from_be_bytes(bytes[8..12].try_into().unwrap())).unwrap();
    let frames = (HEADER..bytes.len()).step_by(FRAME_HEADER + page);
    let mut starts = frames.filter(|at| bytes[*at..*at + 4] == 1u32.to_be_bytes());
    let at = starts.next_back().expect("page 1 is in each commit") + FRAME_HEADER;
    (at as u64, bytes[at..at + page].to_vec())
}

/// A disk that answers with rubbish for a while: that is told at once, and not waited for as for somebody
/// who holds the file.
#[test]
fn a_batch_that_cannot_be_begun_is_told_and_leaves_nothing_open() {
    use std::os::unix::fs::FileExt;
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    // A change of somebody else's makes the store read the page again.
    let other = rusqlite::Connection::open(place.path()).expect("the file opens");
    other.execute_batch("CREATE TABLE others (a)").expect("a change");
    let (at, page) = newest_first_page(&place.file("-wal"));
    let log = std::fs::File::options().write(true).open(place.file("-wal")).expect("the log");
    log.write_all_at(&[0; 100], at).expect("damage");
    let error = store.begin_batch(true).expect_err("nothing can be begun");
    assert!(error.to_string().contains("not a database"), "{error}");
    log.write_all_at(&page, at).expect("repair");
    // SQLite keeps what it has read until somebody else changes something.
    other.execute_batch("INSERT INTO others VALUES (1)").expect("a change");
    store.begin_batch(true).expect("now it can");
    crate::crashes::set(&mut store, "after", "1");
    store.commit_batch().expect("and be committed");
    drop((store, other));
    let store = place.open();
    assert_eq!(crate::crashes::values(&store).len(), 1);
    assert_eq!(store.read(projects::list).unwrap(), [project()]);
}
