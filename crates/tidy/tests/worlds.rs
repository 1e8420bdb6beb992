//! Random worlds: worktrees, branches, files and links of the user's beside ours. After any operations of ours, with
//! crashes at any moment, everything of the user's is bit for bit as it was, and everything of ours is on the ledger
//! or gone.
//!
//! An operation runs in a process of its own, which is this test program again, and a crash is a KILL: of that process
//! alone, or of its git as well. `CARILLON_WORLDS` says how many worlds are tried, `CARILLON_WORLD` which one.

mod common;
mod repo;

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use carillon_tidy::git::create::{self, Settled};
use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::{remove, restore};
use carillon_tidy::guard::{Begun, Guard};
use carillon_tidy::{guard, strays};
use common::picture;
use repo::{World, commit, git, isolate, put};
use serde_json::{Value, json};

const WORLDS: u64 = 4;
const OPERATIONS: usize = 9;
/// The variable by which an operation is told to the process that does it.
const OPERATION: &str = "CARILLON_TEST_OPERATION";
const PATIENCE: Duration = Duration::from_secs(30);

/// Random numbers that a seed repeats (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn often(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the ledger would have: by id, what is recorded, and the archive of what is gone.
struct Ledger {
    active: BTreeMap<String, Recorded>,
    gone: BTreeMap<String, (Recorded, String)>,
    made: usize,
}

fn to_json(recorded: &Recorded) -> Value {
    json!({
        "repository": recorded.repository, "path": recorded.path, "identity": recorded.identity,
        "branch": recorded.branch, "base_commit": recorded.base_commit, "parent": recorded.parent_is_ours,
    })
}

fn from_json(value: &Value) -> Recorded {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let number = |place: usize| value["identity"][place].as_u64();
    Recorded {
        repository: text("repository").unwrap_or_default().into(),
        path: text("path").unwrap_or_default().into(),
        identity: number(0).zip(number(1)),
        branch: text("branch"),
        base_commit: text("base_commit").unwrap_or_default(),
        base_branch: Some("main".to_owned()),
        copied: Vec::new(),
        parent_is_ours: value["parent"].as_bool().unwrap_or_default(),
    }
}

/// Does the operation that the environment names. Without one there is nothing to do.
#[test]
fn the_process_of_one_operation() {
    let Ok(text) = std::env::var(OPERATION) else { return };
    isolate();
    let value: Value = serde_json::from_str(&text).expect("an operation");
    let path = |name: &str| PathBuf::from(value[name].as_str().expect("a path"));
    let id = value["id"].as_str().unwrap_or_default();
    let data = path("data");
    let recorded = from_json(&value["recorded"]);
    // What fails because of a crash before is found out by the checks; here it is only said.
    match value["what"].as_str().expect("a word") {
        "create" => {
            let order = create::Order {
                id: id.to_owned(),
                repository: path("root"),
                path: path("path"),
                branch: Some(format!("carillon/{id}")),
                base: "main".to_owned(),
            };
            println!("{:?}", create::create(&order, &data.join("journal")));
        }
        "remove" => {
            let order = remove::Order {
                id,
                recorded: &recorded,
                data_dir: &data,
                is_ours: true,
                open_work: 0,
                consent: true,
                with_branch: true,
                now_s: 1_700_000_000,
            };
            println!("{:?}", remove::remove(&order));
        }
        "restore" => {
            let reference = value["reference"].as_str().expect("a reference");
            println!("{:?}", restore::restore(&recorded, reference, &data));
        }
        "guard" => {
            let temp_dir = path("temp");
            let order = guard::Order {
                dir: path("root"),
                rules: None,
                temp_dir: temp_dir.clone(),
                outer: (None, None),
            };
            let Ok(Begun::Acts(guard)) = Guard::begin(&order) else { panic!("a guard") };
            for name in ["test-feature-leak", ".worktrees/leak"] {
                put(&path("root"), &format!("{name}/file"), "leak");
            }
            git(&path("root"), &["branch", "kitty/test-leak"]);
            put(&temp_dir, "spec-kitty-leak", "leak");
            println!("{:?}", guard.finish(1_700_000_000_000));
        }
        other => panic!("{other}"),
    }
}

/// Runs an operation, and sometimes lets it die. Returns when nothing of it runs any more.
fn operate(dice: &mut Dice, world: &World, operation: &Value) -> bool {
    let marker = format!("world-{}-{}", std::process::id(), dice.below(u64::MAX));
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "the_process_of_one_operation", "--nocapture"])
        .env(OPERATION, operation.to_string())
        .env("CARILLON_RUN", &marker)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program");
    let crashes = dice.often(60);
    if crashes {
        let until = Instant::now() + Duration::from_micros(dice.below(160_000));
        while Instant::now() < until && child.try_wait().expect("ours").is_none() {
            std::thread::sleep(Duration::from_micros(500));
        }
        if dice.often(50) {
            kill_all(&child);
        }
        let _ = child.kill();
    }
    child.wait().expect("ours");
    wait_for_git(&marker, operation);
    clear_locks(&world.path(".git"));
    crashes
}

/// Waits until a git that outlived its caller is through.
fn wait_for_git(marker: &str, operation: &Value) {
    let until = Instant::now() + PATIENCE;
    while strays::strays().iter().any(|stray| stray.run == marker) {
        assert!(Instant::now() < until, "something of {operation} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Does what git tells its user to do after it was killed: takes away the locks that it left. Nothing of ours does
/// that, since nobody can prove that a lock is not that of a git of the user's.
fn clear_locks(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clear_locks(&path);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            std::fs::remove_file(path).expect("a lock that nobody holds");
        }
    }
}

/// The whole tree at once, as a machine that loses its power.
fn kill_all(child: &Child) {
    let mut pids: Vec<u32> = strays::descendants_of(child.id()).iter().map(|stray| stray.pid).collect();
    pids.insert(0, child.id());
    for pid in pids {
        if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Everything that the user has, in the repository and beside it.
fn build(dice: &mut Dice, world: &World) {
    world.write(
        "carillon.toml",
        "[residue]\ndirectories = [\"test-feature-*\"]\nbranches = [\"kitty/test-*\"]\nworktree_roots = \
         [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\n",
    );
    world.write(".gitignore", ".env\ncache/\n");
    commit(&world.root(), "Rules");
    std::fs::create_dir(world.beside("tmp")).expect("a directory");
    for number in 0..1 + dice.below(3) {
        let at = [world.path(&format!(".worktrees/u{number}")), world.beside(&format!("user{number}"))];
        let path = &at[usize::try_from(dice.below(2)).expect("small")];
        world.git(&[
            "worktree",
            "add",
            "--quiet",
            "-b",
            &format!("user/{number}"),
            path.to_str().expect("UTF-8"),
        ]);
        if dice.often(50) {
            put(path, "work", "committed");
            commit(path, "The user's work");
        }
        put(path, "not-committed", "precious");
        put(path, ".env", "SECRET=1");
        symlink(world.beside("wt"), path.join("link-to-ours")).expect("a link");
        if dice.often(30) {
            world.git(&["worktree", "lock", path.to_str().expect("UTF-8")]);
        }
    }
    world.commit_on("kitty/test-users", "a branch that a rule names");
    world.commit_on("carillon-users", "nearly ours by its name");
    for name in
        ["test-feature-users/file", ".worktrees/husk-of-the-user/file", "untracked", "cache/built", ".env"]
    {
        world.write(name, "the user's");
    }
    put(&world.beside("tmp"), "spec-kitty-users/file", "the user's");
    std::fs::create_dir_all(world.beside("wt/a-directory-of-the-user")).expect("a directory");
    symlink(world.root(), world.beside("wt/a-link-of-the-user")).expect("a link");
    world.git(&["tag", "v1"]);
    world.write("README", "staged");
    world.git(&["add", "README"]);
    world.write("README", "and changed");
}

/// All of the user's at this moment: files with their modes and bytes, references, and what git keeps of his worktrees.
fn users(world: &World) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let is_ours = |path: &Path| {
        let text = path.to_string_lossy();
        let below = text.strip_prefix(&*world.beside("").to_string_lossy()).unwrap_or_default().to_owned();
        let ours = [
            "data",
            "wt/w",
            "repo/test-feature-leak",
            "repo/.worktrees/leak",
            "tmp/spec-kitty-leak",
            "tmp/.trash-",
        ];
        // Of .git only what is listed below.
        ours.iter().any(|ours| below.starts_with(ours))
            || below == "repo/.git"
            || below.starts_with("repo/.git/")
            || below.starts_with("wt/.carillon-")
    };
    for (path, content) in picture(&world.beside("")) {
        if !is_ours(&path) {
            found.insert(path.display().to_string(), content);
        }
    }
    for name in ["HEAD", "index", "config", "info/exclude"] {
        let bytes = std::fs::read(world.path(".git").join(name)).unwrap_or_default();
        found.insert(format!(".git/{name}"), format!("{bytes:?}"));
    }
    for entry in std::fs::read_dir(world.path(".git/worktrees")).expect("the user's worktrees").flatten() {
        // git names these after the directory, with another letter for a dot at the beginning.
        if !entry.file_name().to_string_lossy().starts_with(['w', '-']) {
            found.extend(
                picture(&entry.path()).into_iter().map(|(path, text)| (path.display().to_string(), text)),
            );
        }
    }
    let refs = world.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let is_ours = |line: &&str| {
        ["refs/heads/carillon/", "refs/carillon/", "refs/heads/kitty/test-leak"]
            .iter()
            .any(|ours| line.starts_with(ours))
    };
    found.insert(
        "references".to_owned(),
        refs.lines().filter(|line| !is_ours(line)).collect::<Vec<_>>().join("\n"),
    );
    found
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
    let (what, id) = match (dice.below(10), active, gone) {
        (0..3, _, _) | (_, None, None) => {
            ledger.made += 1;
            ("create", format!("w{}", ledger.made))
        }
        (3..7, Some(id), _) => ("remove", id),
        (7..9, _, Some(id)) => ("restore", id),
        (_, _, _) => ("guard", String::new()),
    };
    let mut operation = json!({
        "what": what, "id": id, "data": data, "root": world.root(), "path": world.beside("wt").join(&id),
        "temp": world.beside("tmp"),
    });
    if what == "remove" {
        let recorded = &ledger.active[&id];
        work(dice, &recorded.path);
        operation["recorded"] = to_json(recorded);
    }
    if let Some((recorded, reference)) = ledger.gone.get(&id).filter(|_| what == "restore") {
        operation["recorded"] = to_json(recorded);
        operation["reference"] = json!(reference);
    }
    let crashed = operate(dice, world, &operation);
    settle(world, ledger, &id, what);
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

/// What a start does: it looks, and goes on.
fn settle(world: &World, ledger: &mut Ledger, id: &str, what: &str) {
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
        let order = remove::Order {
            id,
            recorded: &recorded,
            data_dir: &data,
            is_ours: true,
            open_work: 0,
            consent: true,
            with_branch: true,
            now_s: 1_700_000_000,
        };
        match remove::remove(&order) {
            Ok(remove::Outcome::Removed { archive: Some(archive), .. }) => {
                ledger.active.remove(id);
                ledger.gone.insert(id.to_owned(), (recorded, archive.reference));
            }
            other => panic!("{id}: {other:?}"),
        }
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
    let first = u64::from(std::process::id());
    for seed in first..first + number("CARILLON_WORLDS").unwrap_or(WORLDS) {
        println!("world {seed} begins");
        try_world(seed);
    }
}
