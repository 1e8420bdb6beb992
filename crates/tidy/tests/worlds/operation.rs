//! One operation of ours in a process of its own, which may be killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::merge::{self, How};
use carillon_tidy::git::{create, remove, restore};
use carillon_tidy::guard::{self, Begun, Guard};
use carillon_tidy::{strays, trash};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::repo::{World, git, isolate, put};

/// The variable by which an operation is told to the process that does it.
const OPERATION: &str = "CARILLON_TEST_OPERATION";
/// The test that does it.
const TEST: &str = "operation::the_process_of_one_operation";
const PATIENCE: Duration = Duration::from_secs(30);
/// The name of the trash of our temp.
const TRASH: &str = ".trash-abcdef";

pub fn to_json(recorded: &Recorded) -> Value {
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

/// The removal of a workdir of ours, whatever is in it.
pub fn removal<'a>(id: &'a str, recorded: &'a Recorded, data_dir: &'a Path) -> remove::Order<'a> {
    remove::Order {
        id,
        recorded,
        data_dir,
        is_ours: true,
        open_work: 0,
        consent: true,
        with_branch: true,
        now_s: 1_700_000_000,
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
            println!("{:?}", remove::remove(&removal(id, &recorded, &data)));
        }
        "restore" => {
            let reference = value["reference"].as_str().expect("a reference");
            println!("{:?}", restore::restore(&recorded, reference, &data));
        }
        "merge" => println!("{:?}", bring(&recorded, value["how"].as_u64().unwrap_or_default())),
        "sweep" => sweep(&data),
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

/// Brings the work of a workdir to the branch that is there for it.
pub fn bring(recorded: &Recorded, how: u64) -> Result<merge::Outcome, carillon_tidy::Error> {
    let how = [How::Merge, How::Squash, How::Rebase][usize::try_from(how % 3).expect("small")];
    merge::merge(recorded, "integration", how, "Bring the work\n")
}

/// Puts the temp directories of runs that are over into the trash, and empties it.
pub fn sweep(data: &Path) {
    for entry in std::fs::read_dir(data.join("t/runs")).into_iter().flatten().flatten() {
        trash::bury(&data.join("t"), TRASH, &entry.path()).expect("buried");
    }
    let emptied = trash::empty(&data.join("t").join(TRASH), None, &AtomicBool::new(false));
    assert!(emptied.refused.is_empty(), "{emptied:?}");
}

/// Runs an operation, and sometimes lets it die. Returns when nothing of it runs any more.
pub fn operate(dice: &mut Dice, world: &World, operation: &Value) -> bool {
    let marker = format!("world-{}-{}", std::process::id(), dice.below(u64::MAX));
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", TEST, "--nocapture"])
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
