//! Random worlds: worktrees, branches, files and links of the user's beside ours. After any operations of ours, with
//! crashes at any moment, everything of the user's is bit for bit as it was, and everything of ours is on the ledger
//! or gone.
//!
//! An operation runs in a process of its own, which is this test program again, and a crash is a KILL: of that process
//! alone, or of its git as well. `CARILLON_WORLDS` says how many worlds are tried, `CARILLON_SEED` from which one on,
//! and `CARILLON_WORLD` is one alone.

#[path = "../common/mod.rs"]
mod common;
mod dice;
mod operation;
#[path = "../repo/mod.rs"]
mod repo;
mod user;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use carillon_tidy::git::create::{self, Settled};
use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::merge::Outcome;
use carillon_tidy::git::{remove, restore};
use dice::Dice;
use operation::{bring, operate, removal, sweep, to_json};
use repo::{World, commit, put};
use serde_json::json;
use user::{build, users};

const WORLDS: u64 = 4;
const OPERATIONS: usize = 10;
/// The first world of `npm test`.
const SEED: u64 = 0x5eed;

/// What the ledger would have: by id, what is recorded, and the archive of what is gone.
struct Ledger {
    active: BTreeMap<String, Recorded>,
    gone: BTreeMap<String, (Recorded, String)>,
    made: usize,
}

/// One random operation of ours. What it did is told by looking, as after a crash.
fn one(dice: &mut Dice, world: &World, ledger: &mut Ledger) -> String {
    let data = world.data();
    let pick = |dice: &mut Dice, ids: Vec<String>| -> Option<String> {
        let count = ids.len() as u64;
        (count > 0).then(|| ids[usize::try_from(dice.below(count)).expect("small")].clone())
    };
    let active = pick(dice, ledger.active.keys().cloned().collect());
    let gone = pick(dice, ledger.gone.keys().cloned().collect());
    let (what, id) = match (dice.below(13), active, gone) {
        (0..3, _, _) | (_, None, None) => {
            ledger.made += 1;
            ("create", format!("w{}", ledger.made))
        }
        (3..6, Some(id), _) => ("remove", id),
        (6..8, _, Some(id)) => ("restore", id),
        (8..10, Some(id), _) => ("merge", id),
        (10, _, _) => ("sweep", String::new()),
        (_, _, _) => ("guard", String::new()),
    };
    let mut operation = json!({
        "what": what, "id": id, "data": data, "root": world.root(), "path": world.beside("wt").join(&id),
        "temp": world.beside("tmp"),
    });
    if what == "remove" || what == "merge" {
        let recorded = &ledger.active[&id];
        work(dice, &recorded.path);
        if what == "merge" {
            put(&recorded.path, &format!("of-{id}"), &dice.below(u64::MAX).to_string());
            commit(&recorded.path, "All of it");
        }
        operation["recorded"] = to_json(recorded);
        operation["how"] = json!(dice.below(3));
    }
    if what == "sweep" {
        make_temp(dice, world);
    }
    if let Some((recorded, reference)) = ledger.gone.get(&id).filter(|_| what == "restore") {
        operation["recorded"] = to_json(recorded);
        operation["reference"] = json!(reference);
    }
    let crashed = operate(dice, world, &operation);
    settle(world, ledger, &id, what, operation["how"].as_u64().unwrap_or_default());
    format!("{what} {id}{}", if crashed { " (crashed)" } else { "" })
}

/// Something that an agent might leave in its workdir.
fn work(dice: &mut Dice, dir: &Path) {
    if dice.often(50) {
        put(dir, "work", &dice.below(1000).to_string());
        commit(dir, "Work");
    }
    if dice.often(50) {
        put(dir, "new file", &dice.below(1000).to_string());
        put(dir, ".env", &dice.below(1000).to_string());
    }
    if dice.often(30) {
        let _ = symlink("/", dir.join("link-out"));
    }
}

/// The temp directory of a run that is over, with all that makes deleting hard: links to what is the user's, and
/// directories that nobody may write to.
fn make_temp(dice: &mut Dice, world: &World) {
    let dir = world.data().join(format!("t/runs/{}", dice.below(u64::MAX)));
    for number in 0..dice.below(40) {
        put(&dir, &format!("d{}/f{number}", number % 5), "temp");
    }
    std::fs::create_dir_all(dir.join("locked/inner")).expect("a directory");
    for (number, target) in [world.root(), world.beside("wt"), world.path(".git")].into_iter().enumerate() {
        symlink(target, dir.join(format!("locked/link{number}"))).expect("a link");
    }
    let mode = std::fs::Permissions::from_mode(0o500);
    std::fs::set_permissions(dir.join("locked"), mode).expect("a mode");
}

/// What a start does: it looks, and goes on.
fn settle(world: &World, ledger: &mut Ledger, id: &str, what: &str, how: u64) {
    let (data, journal) = (world.data(), world.data().join("journal"));
    for id in create::unfinished(&journal) {
        match create::settle(&journal, &id).expect("settled") {
            Settled::Complete(recorded) => {
                create::close(&journal, &id).expect("closed");
                ledger.active.insert(id, recorded);
            }
            Settled::Nothing => {}
            other => panic!("{id}: {other:?}"),
        }
    }
    if what == "remove" {
        // The row says that it is being removed, so the start removes it.
        let recorded = ledger.active[id].clone();
        match remove::remove(&removal(id, &recorded, &data)) {
            Ok(remove::Outcome::Removed { archive: Some(archive), .. }) => {
                ledger.active.remove(id);
                ledger.gone.insert(id.to_owned(), (recorded, archive.reference));
            }
            other => panic!("{id}: {other:?}"),
        }
    }
    if what == "merge" {
        // Done by then, or wholly undone: a second time comes to an end in any case.
        match bring(&ledger.active[id], how).expect("an outcome") {
            Outcome::Done { .. } | Outcome::NothingToDo | Outcome::Conflicts(_) => {}
        }
    }
    if what == "sweep" {
        sweep(&data);
    }
    if let Some((recorded, reference)) = ledger.gone.get(id).filter(|_| what == "restore").cloned() {
        restore::clear_unfinished(&recorded, &reference).expect("cleared");
        let back = restore::restore(&recorded, &reference, &data).expect("restored");
        ledger.gone.remove(id);
        ledger.active.insert(id.to_owned(), back.recorded);
    }
}

/// Everything of ours is on the ledger, and everything on the ledger is there.
fn check_ours(world: &World, ledger: &Ledger) {
    let names = |dir: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut expected: Vec<String> = ledger.active.keys().cloned().collect();
    expected.extend(["a-directory-of-the-user", "a-link-of-the-user"].map(str::to_owned));
    expected.sort();
    assert_eq!(names(&world.beside("wt")), expected, "workdirs");
    let branches: Vec<String> = world.refs("refs/heads/carillon/");
    for branch in &branches {
        let id = branch.trim_start_matches("refs/heads/carillon/");
        assert!(ledger.active.contains_key(id), "{branch} is nobody's");
    }
    let registered = world.git(&["worktree", "list", "--porcelain"]);
    let ours = registered.lines().filter(|line| line.contains("/wt/")).count();
    assert_eq!(ours, ledger.active.len(), "{registered}");
    assert_eq!(names(&world.data().join("journal")), [""; 0]);
    for left in ["t/runs", "t/.trash-abcdef"] {
        assert_eq!(names(&world.data().join(left)), [""; 0], "{left}");
    }
    // What was merged is never lost again.
    world.git(&["merge-base", "--is-ancestor", "main", "integration"]);
    for left in names(&world.data().join("archives")) {
        assert!(left.ends_with(".tar"), "{left} was left");
    }
    for (recorded, reference) in ledger.gone.values() {
        assert!(!recorded.path.exists() && world.git(&["cat-file", "-t", reference]) == "commit");
    }
    assert!(world.git(&["fsck", "--full", "--no-dangling"]).is_empty());
}

fn try_world(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let world = World::new();
    build(&mut dice, &world);
    let before = users(&world);
    let mut ledger = Ledger { active: BTreeMap::new(), gone: BTreeMap::new(), made: 0 };
    let mut history = Vec::new();
    for _ in 0..OPERATIONS {
        history.push(one(&mut dice, &world, &mut ledger));
        let after = users(&world);
        let differs: Vec<&String> =
            before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key)).collect();
        assert!(differs.is_empty(), "world {seed}: {differs:?} after {history:?}");
        check_ours(&world, &ledger);
    }
    println!("world {seed}: {history:?}");
}

#[test]
fn worlds_at_random_keep_all_that_is_the_users() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("CARILLON_WORLD") {
        return try_world(seed);
    }
    let first = number("CARILLON_SEED").unwrap_or(SEED);
    for seed in first..first + number("CARILLON_WORLDS").unwrap_or(WORLDS) {
        println!("world {seed} begins");
        try_world(seed);
    }
}
