//! One namespace for temp directories, used by every writer and by the sweep; and what happens to one that is
//! removed, handed over or grows.

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use carillon_tidy::measure::{Measured, measure};
use carillon_tidy::{Error, base, temp, trash};
use common::{mkdir, mode_of, on_disk, write};

/// Every writer's real output lies under the root that the sweep looks at.
#[test]
fn whatever_writes_temp_writes_where_the_sweep_looks() {
    let home = on_disk();
    let candidates = base::candidates(Some(home.path()));
    let root = base::choose(&candidates).expect("a base").path;
    assert!(candidates.iter().any(|candidate| candidate.canonicalize().is_ok_and(|path| path == root)));
    let namespace = temp::namespace(home.path(), Path::new("/a/project"));
    let made = temp::create(&root, &namespace, &temp::random_name()).expect("a directory").path;
    let again = temp::create(&root, &namespace, &temp::random_name()).expect("a directory").path;
    std::fs::remove_dir(&again).expect("ours");
    let recreated = temp::recreate(&again).expect("a directory").path;
    let buried = trash::bury(&root, &trash::name(&namespace), &made).expect("buried");
    for written in [&made, &again, &recreated, &buried] {
        assert!(written.starts_with(&root), "{}", written.display());
        assert_eq!(written.strip_prefix(&root).unwrap().components().count(), 2, "{}", written.display());
    }
}

/// What stands alone unpacks an image before there is anything of ours, and clears up after itself.
const ALONE: &str = "appimage-runtime";

/// Nobody else carries a copy of where temp and trash are.
#[test]
fn nobody_else_knows_the_place_by_heart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = ["crates/tidy/src/base.rs", "crates/tidy/src/trash.rs"].map(|path| root.join(path));
    let tidy_tests = root.join("crates/tidy/src/temp.rs");
    let literals = ["\".trash", ".trash-", "/var/tmp", "join(\"t\")", "carillon/t\""];
    let copies: Vec<String> = sources(&root)
        .into_iter()
        .filter(|path| !own.contains(path) && *path != tidy_tests)
        .flat_map(|path| {
            let text = std::fs::read_to_string(&path).expect("a source");
            let found = text.lines().filter(|line| literals.iter().any(|literal| line.contains(literal)));
            let found: Vec<String> =
                found.map(|line| format!("{}: {}", path.display(), line.trim())).collect();
            found
        })
        .collect();
    assert_eq!(copies, [""; 0]);
    let text = std::fs::read_to_string(&own[1]).expect("a source");
    assert!(text.contains(literals[0]), "the literal is where it was");
}

fn sources(root: &Path) -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root.join("crates")).expect("crates").map(|entry| entry.unwrap().path());
    let crates = crates.filter(|dir| !dir.ends_with(ALONE));
    let mut open: Vec<PathBuf> =
        crates.map(|dir| dir.join("src")).chain([root.join("src-tauri/src")]).collect();
    let mut files = Vec::new();
    while let Some(dir) = open.pop() {
        for path in std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            // What a file says in its own tests is no copy that could be used.
            match path.extension() {
                None if path.is_dir() => open.push(path),
                Some(extension) if extension == "rs" => files.push(path),
                _ => {}
            }
        }
    }
    assert!(files.len() > 100, "the sources were found");
    files
}

#[test]
fn a_directory_that_was_removed_from_outside_is_made_anew_at_its_place() {
    let place = on_disk();
    let base = mkdir(place.path().join("base"));
    let made = temp::create(&base, "abcdef", "12345678").expect("a directory");
    assert!(matches!(temp::recreate(&made.path), Err(Error::Exists { .. })));
    // With everything above it, as a cleaner of the system may do it.
    std::fs::remove_dir_all(&base).expect("ours");
    let again = temp::recreate(&made.path).expect("a directory");
    assert_eq!((&again.path, mode_of(&again.path), mode_of(&base)), (&made.path, 0o700, 0o700));
    assert!(temp::lease_is_held(&again.path).expect("it is there"));
    assert!(temp::recreate(Path::new("x")).is_err());
}

#[test]
fn a_lease_is_handed_over_when_it_is_free_and_not_before() {
    let place = on_disk();
    let made = temp::create(place.path(), "abcdef", "12345678").expect("a directory");
    let path = made.path.clone();
    assert!(temp::take_over(&path).expect("an answer").is_none(), "the run lives");
    drop(made);
    let taken = temp::take_over(&path).expect("an answer").expect("it is free");
    assert!(temp::lease_is_held(&path).expect("it is there"));
    assert!(temp::take_over(&path).expect("an answer").is_none(), "one at a time");
    drop(taken);
    assert!(!temp::lease_is_held(&path).expect("it is there"));
    std::fs::remove_dir(&path).expect("ours");
    assert!(temp::take_over(&path).is_err(), "gone is not free");
}

#[test]
fn the_room_of_a_tree_is_measured_without_following_links() {
    let place = on_disk();
    let outside = mkdir(place.path().join("outside"));
    std::fs::write(outside.join("big"), vec![1; 1 << 20]).expect("a file");
    let top = mkdir(place.path().join("top"));
    std::fs::write(top.join("file"), vec![1; 256 << 10]).expect("a file");
    std::fs::hard_link(top.join("file"), top.join("again")).expect("a link");
    std::os::unix::fs::symlink(&outside, top.join("link")).expect("a link");
    write(mkdir(top.join("a/b")).join(".hidden"), "text");
    let go_on = AtomicBool::new(false);
    let all = measure(&top, 1000, &go_on);
    assert!(all.is_complete && all.entries == 7, "{all:?}");
    assert!((256 << 10..512 << 10).contains(&all.bytes), "{all:?}");
    assert_eq!(measure(&top, 3, &go_on), Measured { is_complete: false, ..measure(&top, 3, &go_on) });
    assert!(!measure(&top, 1000, &AtomicBool::new(true)).is_complete);
    let none = measure(&top.join("none"), 10, &go_on);
    assert_eq!(none, Measured { bytes: 0, entries: 0, is_complete: true });
}
