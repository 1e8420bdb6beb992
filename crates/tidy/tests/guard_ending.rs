//! A guard that ends elsewhere than it began, later, or beside others: what is not proved to be its command's stays.

mod common;
mod repo;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use carillon_tidy::guard::{AtWork, Begun, Ending, Guard, Order, RealHands, Report};
use carillon_tidy::rules::Residue;
use repo::World;

const NOW: i64 = 1_700_000_000_000;

fn world() -> World {
    let world = World::new();
    std::fs::create_dir(world.beside("tmp")).expect("a directory");
    world
}

fn residue() -> Residue {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Residue {
        directories: list(&["test-*"]),
        branches: list(&["kitty/*"]),
        worktree_roots: list(&[".worktrees"]),
        temp: list(&["spec-*"]),
        auto: true,
    }
}

fn begin(world: &World, dir: PathBuf) -> Guard {
    let order = Order { dir, rules: None, temp_dir: world.beside("tmp"), outer: (None, None) };
    match Guard::begin_with(&order, residue()).expect("a guard") {
        Begun::Acts(guard) => *guard,
        Begun::Nested => panic!("there is no other guard"),
    }
}

fn leak(world: &World) {
    world.write("test-1/file", "new");
    world.git(&["branch", "kitty/1"]);
    std::fs::create_dir(world.beside("tmp/spec-1")).expect("a directory");
}

fn names(report: &Report) -> Vec<&str> {
    report.reaped.iter().map(|reaped| reaped.name.as_str()).collect()
}

/// The reasons of all that was kept, which must be all that was made.
fn reasons(report: &Report) -> Vec<&str> {
    assert!(report.reaped.is_empty() && report.kept.len() == report.made.len(), "{report:?}");
    report.kept.iter().map(|kept| kept.reason.as_str()).collect()
}

/// Whether this file system says when something was made. Where it does not, there is less to prove.
fn tells_births(world: &World) -> bool {
    let tells = std::fs::metadata(world.root()).and_then(|meta| meta.created()).is_ok();
    if !tells {
        println!("this file system keeps no times of creation: this part was not run");
    }
    tells
}

/// Waits until what is made now has a later time than what is there: these clocks have steps of some milliseconds.
fn wait_for_another_time(world: &World) {
    let born = || {
        let probe = world.beside("probe");
        std::fs::create_dir(&probe).expect("a directory");
        let born = std::fs::metadata(&probe).and_then(|meta| meta.created()).expect("a time");
        std::fs::remove_dir(&probe).expect("it is empty");
        born
    };
    let (first, until) = (born(), SystemTime::now() + Duration::from_secs(5));
    while born() == first {
        assert!(SystemTime::now() < until, "the clock of the file system stands still");
    }
}

fn guards(world: &World) -> PathBuf {
    world.path(&format!(".git/carillon-guard-{}/guards", rustix::process::geteuid().as_raw()))
}

#[test]
fn a_guard_is_ended_by_who_holds_its_record() {
    let world = world();
    world.write("test-old/file", "old");
    let (record, lease) = begin(&world, world.root()).hand_over();
    leak(&world);
    // Meanwhile it is at work: another guard does not take what its command may have made, and leaves its lease.
    let other = begin(&world, world.root());
    world.git(&["branch", "kitty/2"]);
    let report = other.finish(NOW);
    assert!(reasons(&report)[0].contains("another guard"), "{report:?}");
    assert!(lease.is_some() && guards(&world).exists());
    let guard = Guard::resume(&record).expect("a guard");
    assert_eq!(guard.look(), ["test-1", "kitty/1", "kitty/2", "spec-1"]);
    let report = guard.finish(NOW);
    assert_eq!(names(&report), ["test-1", "kitty/1", "kitty/2", "spec-1"], "{report:?}");
    assert_eq!(report.baseline, 1);
    assert!(world.path("test-old").exists() && !guards(&world).exists());
}

#[test]
fn a_record_outlives_its_lease() {
    let world = world();
    let (record, lease) = begin(&world, world.root()).hand_over();
    leak(&world);
    drop(lease);
    // The next guard clears away what the dead one left beside its lease, and takes nothing of what was there.
    let report = begin(&world, world.root()).finish(NOW);
    assert_eq!(report.made, [""; 0], "{report:?}");
    assert!(!guards(&world).exists());
    let report = Guard::resume(&record).expect("a guard").finish(NOW);
    assert_eq!(report.reaped.len(), 3, "{report:?}");
    assert!(Guard::resume(&record[..record.len() - 1]).is_err(), "a record that was cut is none");
    // One whose command never began is dropped, and leaves no trace.
    let (record, lease) = begin(&world, world.root()).hand_over();
    drop(lease);
    drop(Guard::resume(&record).expect("a guard"));
    assert!(!guards(&world).exists());
}

#[test]
fn without_a_lease_only_what_is_proved_to_be_older_than_the_end_goes() {
    let late = |over| Ending { now_ms: NOW, was_watched: false, over, at_work: Vec::new() };
    let at = |world: &World, over| {
        let (record, _) = begin(world, world.root()).hand_over();
        leak(world);
        Guard::resume(&record).expect("a guard").finish_as(&late(over), &RealHands)
    };
    let report = at(&world(), None);
    assert!(reasons(&report).iter().all(|why| why.contains("nobody knows when")), "{report:?}");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let there = world();
    if tells_births(&there) {
        let report = at(&there, Some(long_ago));
        assert!(reasons(&report).iter().all(|why| why.contains("only after the end")), "{report:?}");
        let world = world();
        let (record, _) = begin(&world, world.root()).hand_over();
        leak(&world);
        // A list of packed branches tells no time.
        world.git(&["branch", "kitty/packed"]);
        world.git(&["pack-refs", "--all"]);
        world.git(&["branch", "kitty/2"]);
        let ending = late(Some(SystemTime::now() + Duration::from_secs(1)));
        let report = Guard::resume(&record).expect("a guard").finish_as(&ending, &RealHands);
        assert_eq!(names(&report), ["test-1", "kitty/2", "spec-1"], "{report:?}");
        assert!(report.kept.iter().all(|kept| kept.reason.contains("nobody can tell")), "{report:?}");
    }
}

#[test]
fn what_was_there_before_under_another_name_stays() {
    let world = world();
    if !tells_births(&world) {
        return;
    }
    world.write("precious/work", "the user's");
    wait_for_another_time(&world);
    let guard = begin(&world, world.root());
    std::fs::rename(world.path("precious"), world.path("test-moved")).expect("renamed");
    world.write("test-new/file", "new");
    let report = guard.finish(NOW);
    assert_eq!(names(&report), ["test-new"], "{report:?}");
    assert!(report.kept[0].reason.contains("there before under another name"), "{report:?}");
    assert_eq!(std::fs::read_to_string(world.path("test-moved/work")).expect("the file"), "the user's");
}

#[test]
fn guards_in_different_checkouts_tell_their_directories_apart() {
    let world = world();
    for name in ["a", "b"] {
        let path = world.beside(name);
        world.git(&["worktree", "add", "--quiet", "--detach", path.to_str().expect("UTF-8")]);
    }
    let (a, b) = (begin(&world, world.beside("a")), begin(&world, world.beside("b")));
    for name in ["a/test-1", "b/test-1"] {
        std::fs::create_dir(world.beside(name)).expect("a directory");
    }
    // Both watch the main checkout and all branches: there nobody can tell.
    world.write("test-main/file", "whose?");
    world.git(&["branch", "kitty/whose"]);
    let report = a.finish(NOW);
    assert_eq!(names(&report), ["test-1"], "{report:?}");
    assert!(!world.beside("a/test-1").exists() && world.beside("b/test-1").exists());
    assert_eq!(report.kept.len(), 2, "{report:?}");
    assert!(report.kept.iter().all(|kept| kept.reason.contains("another guard")), "{report:?}");
    let report = b.finish(NOW);
    assert_eq!(report.reaped.len(), 3, "now it is alone: {report:?}");
}

#[test]
fn what_another_run_may_have_made_stays() {
    let world = world();
    let wt = world.beside("wt");
    world.git(&["worktree", "add", "--quiet", "--detach", wt.to_str().expect("UTF-8")]);
    let at = |dir: PathBuf| {
        let guard = begin(&world, world.root());
        leak(&world);
        let other = AtWork { dir, pid: 4711, name: "agent".to_owned() };
        let report = guard.finish_as(&Ending { at_work: vec![other], ..Ending::watched(NOW) }, &RealHands);
        let left = report.kept.len();
        let clean = begin(&world, world.root());
        // What stayed goes by hand, for the next round.
        let _ = std::fs::remove_dir_all(world.path("test-1"));
        let _ = std::fs::remove_dir(world.beside("tmp/spec-1"));
        let _ = repo::try_git(&world.root(), &["branch", "-D", "kitty/1"]);
        clean.finish(NOW);
        (report, left)
    };
    let (report, left) = at(world.root().join("sub"));
    assert_eq!(left, 3, "{report:?}");
    assert!(report.kept.iter().all(|kept| kept.reason.contains("pid 4711 (agent)")), "{report:?}");
    // In another checkout it makes no directories here, but branches and temp entries are everybody's.
    let (report, left) = at(wt);
    assert_eq!((names(&report), left), (vec!["test-1"], 2), "{report:?}");
    let (report, left) = at(world.beside("elsewhere"));
    assert_eq!(left, 0, "{report:?}");
}

#[test]
fn only_the_directories_that_the_rules_name_are_looked_into() {
    let world = world();
    // Nobody could list it all: a directory that cannot be read is in the way of every search that goes down.
    std::fs::create_dir_all(world.path("deep/test-inside")).expect("a directory");
    common::set_mode(&world.path("deep"), 0o000);
    let guard = begin(&world, world.root());
    common::set_mode(&world.path("deep"), 0o755);
    std::fs::create_dir(world.path("deep/test-new")).expect("a directory");
    std::fs::create_dir_all(world.beside("tmp/other/spec-new")).expect("a directory");
    world.git(&["branch", "deep/kitty/new"]);
    let report = guard.finish(NOW);
    assert_eq!(report, Report::default(), "names alone, and only where they are looked for");
    assert!(world.path("deep/test-new").exists() && world.beside("tmp/other/spec-new").exists());
}
