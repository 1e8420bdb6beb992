//! What is left behind: each kind is reported with its verdict, exactly what may go goes, and nothing else does.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{CARILLON, World, alive, wait};
use crate::untouched;
use crate::workdirs::{aged, commit, git_in, named, new, path, shell_in, world};

/// An id that nothing has.
const NOBODY: &str = "00000000000000000000000000000bad";

pub fn report(world: &World, kind: &str) -> Vec<Value> {
    world.ok(&["clean", "--kind", kind]).as_array().unwrap().clone()
}

pub fn at<'a>(items: &'a [Value], path: &Path) -> &'a Value {
    let path = path.to_str().unwrap();
    items.iter().find(|item| item["path"] == path).unwrap_or(&Value::Null)
}

fn judged<'a>(item: &'a Value, word: &str) -> (&'a str, bool) {
    (item["verdict"].as_str().unwrap_or("missing"), item["reasons"].to_string().contains(word))
}

/// Where temp directories of the project are made.
pub fn namespace(world: &World) -> PathBuf {
    let root = world.repo().canonicalize().unwrap();
    world.home().join("t").join(carillon_tidy::temp::namespace(&world.home(), &root))
}

pub fn trash(world: &World) -> PathBuf {
    let namespace = carillon_tidy::temp::namespace(&world.home(), Path::new(""));
    world.home().join("t").join(carillon_tidy::trash::name(&namespace))
}

pub fn make_dir(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("file"), vec![7; 10_000]).unwrap();
}

/// Runs a task to its end; answers it.
fn task(world: &World, script: &str) -> Value {
    let cwd = world.repo();
    let task = world.ok(&["run", "--cwd", cwd.to_str().unwrap(), "--", "sh", "-c", script]);
    world.ok(&["tasks", "wait", task["id"].as_str().unwrap()])
}

pub fn ledger(world: &World, sql: &str) {
    let db = rusqlite::Connection::open(world.home().join("carillon.db")).unwrap();
    db.busy_timeout(Duration::from_secs(10)).unwrap();
    db.execute_batch(sql).unwrap();
}

fn run_of(world: &World, task: &Value) -> String {
    let db = rusqlite::Connection::open(world.home().join("carillon.db")).unwrap();
    let id = task["id"].as_str().unwrap();
    db.query_row("SELECT run FROM attempts WHERE task = ?1", [id], |row| row.get(0)).unwrap()
}

/// A process with the marker of a run of this engine.
pub fn stray(world: &World, run: &str, program: &Path) -> Child {
    let mut command = Command::new(program);
    command.arg("1000").env_clear().env("CARILLON_RUN", run);
    command.env("CARILLON_SOCKET", world.home().join("carillon.sock"));
    command.stdout(Stdio::null()).spawn().unwrap()
}

pub fn sleep() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|dir| dir.join("sleep")).find(|sleep| sleep.is_file()).unwrap()
}

pub fn applied(world: &World, args: &[&str]) -> Vec<Value> {
    world.ok(&[&["clean", "--apply"], args].concat()).as_array().unwrap().clone()
}

#[test]
fn temp_directories() {
    let mut world = world();
    world.end(libc::SIGTERM);
    let mut serve = world.isolated(CARILLON);
    // What is still in use when its run ends is this test's to clear up.
    serve.arg("serve").env("CARILLON_BURIAL_PATIENCE_MS", "0");
    world.start_command(serve);
    let before = untouched::all(&world, &[]);
    world.add_agent("one", "echo up; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let [own] = &world.temp_entries()[..] else { panic!("one temp directory") };
    assert_eq!(judged(at(&report(&world, "temp"), own), "is alive").0, "blocked", "its run lives");
    make_dir(&own.join("sub"));
    let mut user = shell_in(own);
    world.write("one", "end\r");
    world.wait_until_over("one");
    let used = format!("in use by pid {} (sleep)", user.id());
    world.wait_for("the user to be seen", || judged(at(&report(&world, "temp"), own), &used).1.then_some(()));
    assert_eq!(judged(at(&report(&world, "temp"), own), &used), ("blocked", true));

    let unknown = namespace(&world).join("unknown1");
    make_dir(&unknown);
    let used_unknown = namespace(&world).join("unknown2");
    make_dir(&used_unknown);
    let mut other = shell_in(&used_unknown);
    let foreign = world.home().join("t").join("not-ours");
    make_dir(&foreign);
    let victim = world.path("victim");
    make_dir(&victim);
    std::os::unix::fs::symlink(&victim, namespace(&world).join("link")).unwrap();
    let items = report(&world, "temp");
    assert_eq!(judged(at(&items, &unknown), "not on the ledger"), ("needs_consent", true));
    assert_eq!(judged(at(&items, &used_unknown), "in use by pid"), ("blocked", true));
    assert_eq!(judged(at(&items, &namespace(&world).join("link")), "not on the ledger").0, "needs_consent");
    assert_eq!(at(&items, &foreign), &Value::Null, "it is in no namespace");
    assert!(at(&items, &unknown)["bytes"].as_u64().unwrap() >= 10_000, "{items:?}");

    let kept = applied(&world, &["--kind", "temp"]);
    assert!(kept.iter().all(|item| item["removed"] == false && item["refused"].is_string()), "{kept:?}");
    user.kill().unwrap();
    user.wait().unwrap();
    assert_eq!(judged(at(&report(&world, "temp"), own), "its run is over"), ("safe", true));
    let done = applied(&world, &["--kind", "temp"]);
    assert_eq!((&at(&done, own)["removed"], own.exists(), unknown.exists()), (&json!(true), false, true));
    assert!(at(&done, own)["freed_bytes"].as_u64().unwrap() >= 10_000, "what came free was measured");

    // Consent goes by the id of just this one.
    let items = report(&world, "temp");
    let id = |path: &Path| at(&items, path)["id"].as_str().unwrap().to_owned();
    let link = namespace(&world).join("link");
    let consent = [&id(&unknown)[..12], &id(&used_unknown), &id(&link)];
    let args = ["--consent", consent[0], "--consent", consent[1], "--consent", consent[2]];
    let done = applied(&world, &args);
    assert_eq!((&at(&done, &unknown)["removed"], unknown.exists()), (&json!(true), false));
    assert_eq!(
        (&at(&done, &link)["removed"], std::fs::symlink_metadata(&link).is_ok()),
        (&json!(true), false)
    );
    assert!(
        at(&done, &used_unknown)["refused"].as_str().unwrap().contains("in use by pid"),
        "consent is not enough"
    );
    assert!(
        used_unknown.join("file").is_file()
            && foreign.join("file").is_file()
            && victim.join("file").is_file()
    );
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(untouched::all(&world, &[]), before);
}

#[test]
fn directories_of_runs_and_their_logs() {
    let world = world();
    world.add_agent("one", "echo up");
    world.run(&["agent", "start", "one"]);
    world.wait_until_over("one");
    let runs = world.home().join("runs");
    let unknown = runs.join(NOBODY);
    make_dir(&unknown);
    let leased = runs.join("00000000000000000000000000001bad");
    make_dir(&leased);
    let lease = std::fs::File::open(&leased).unwrap();
    rustix::fs::flock(&lease, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let items = report(&world, "run");
    assert_eq!(items.len(), 2, "{items:?}");
    assert_eq!(judged(at(&items, &unknown), "not on the ledger"), ("needs_consent", true));
    assert_eq!(judged(at(&items, &leased), "holds its lease"), ("blocked", true));

    let (new_task, old_task) = (task(&world, "echo new"), task(&world, "echo old"));
    let log = |task: &Value| runs.join(run_of(&world, task));
    let old = run_of(&world, &old_task);
    ledger(
        &world,
        &format!("UPDATE runs SET ended_ms = 5, started_ms = 1, created_ms = 1 WHERE id = '{old}'"),
    );
    let logs = report(&world, "log");
    let shown = logs.iter().find(|item| !item["owner"].is_null()).unwrap();
    let of_newest = judged(shown, "among the newest of its agent");
    assert_eq!(of_newest, ("blocked", true), "the screen of an agent is its own");
    assert_eq!(judged(at(&logs, &log(&new_task)), "can still be fetched back"), ("needs_consent", true));
    assert_eq!(judged(at(&logs, &log(&old_task)), "is over"), ("safe", true));
    let (kept, gone) = (log(&new_task), log(&old_task));
    let done = applied(&world, &[]);
    assert_eq!(
        (at(&done, &gone)["removed"].as_bool(), gone.exists(), kept.exists()),
        (Some(true), false, true)
    );
    assert!(unknown.join("file").is_file() && leased.join("file").is_file());
    let output = world.run(&["tasks", "output", new_task["id"].as_str().unwrap()]);
    assert_eq!(output.stdout, b"new\n");
    let consent = at(&report(&world, "run"), &unknown)["id"].as_str().unwrap().to_owned();
    applied(&world, &["--consent", &consent]);
    assert!(!unknown.exists() && leased.exists());
    assert_eq!(
        world.ok(&["tasks", "show", old_task["id"].as_str().unwrap()])["state"],
        "succeeded",
        "its record stays"
    );
}

/// Checks the branch of a workdir out in a worktree of the user's, so that git does not let it go with the
/// workdir.
pub fn branch_elsewhere(world: &World, name: &str) -> PathBuf {
    git_in(world, &path(&named(world, name)), &["checkout", "--quiet", "--detach"]);
    let side = world.path(&format!("side-{name}"));
    world.git(&["worktree", "add", "--quiet", side.to_str().unwrap(), &format!("carillon/{name}")]);
    side
}

#[test]
fn worktrees_branches_and_archives() {
    let world = world();
    let before = untouched::all(&world, &[]);
    let (clean, dirty, kept) =
        (path(&aged(&world, "clean")), path(&new(&world, "dirty")), path(&new(&world, "kept")));
    std::fs::write(dirty.join("open"), vec![1; 5_000]).unwrap();
    // The user works on two of the branches in worktrees of his own.
    let sides = ["clean", "dirty"].map(|name| branch_elsewhere(&world, name));
    world.ok(&["workdirs", "remove", "kept", "--keep"]);
    world.add_agent("first", "true");
    world.ok(&["agent", "add", "ada", "--project", "repo", "--profile", "first-profile", "--workdir", "new"]);
    let of_agent = path(&named(&world, "ada"));
    let items = report(&world, "worktree");
    assert_eq!(judged(at(&items, &clean), "no commit was made in it"), ("safe", true));
    assert_eq!(judged(at(&items, &dirty), "1 file that git does not know"), ("needs_consent", true));
    assert_eq!(judged(at(&items, &kept), "you said that it stays"), ("needs_consent", true));
    assert_eq!(judged(at(&items, &of_agent), "agent ada works in it"), ("blocked", true));
    assert!(at(&items, &dirty)["bytes"].as_u64().unwrap() >= 5_000);

    let dirty_id = at(&items, &dirty)["id"].as_str().unwrap().to_owned();
    let agents_id = at(&items, &of_agent)["id"].as_str().unwrap().to_owned();
    let done = applied(&world, &["--consent", &dirty_id, "--consent", &agents_id]);
    let removed: Vec<&str> =
        done.iter().filter(|item| item["removed"] == true).filter_map(|item| item["name"].as_str()).collect();
    assert_eq!(removed, ["dirty", "clean"], "{done:?}");
    assert!(kept.is_dir() && of_agent.is_dir() && !clean.exists() && !dirty.exists());
    assert_eq!(untouched::all(&world, &[]), before);

    // What it takes to bring them back is residue as well, with its time.
    let archives = report(&world, "archive");
    assert_eq!(archives.len(), 2, "{archives:?}");
    assert!(
        archives
            .iter()
            .all(|item| judged(item, "can still be fetched back for 71") == ("needs_consent", true)),
        "{archives:?}"
    );
    let id = named(&world, "dirty")["id"].as_str().unwrap().to_owned();
    let old = |reference: &str| {
        let mut git = world.isolated("git");
        git.arg("-C").arg(world.repo()).args(["commit-tree", "HEAD^{tree}", "-m", "old"]);
        let output = git.env("GIT_COMMITTER_DATE", "1000000000 +0000").output().unwrap();
        world.git(&["update-ref", reference, String::from_utf8(output.stdout).unwrap().trim()]);
    };
    old(&format!("refs/carillon/archive/{id}"));
    old(&format!("refs/carillon/archive/{NOBODY}"));
    let archives = report(&world, "archive");
    let by = |end: &str| archives.iter().find(|item| item["path"].as_str().unwrap().ends_with(end)).unwrap();
    assert_eq!(judged(by(&id), "time for which it is kept is over"), ("safe", true));
    assert_eq!(
        judged(by(NOBODY), "not on the ledger"),
        ("needs_consent", true),
        "it may be of another data directory"
    );
    assert!(applied(&world, &["--kind", "archive"]).iter().any(|item| item["removed"] == true));
    let left = world.git(&["for-each-ref", "--format=%(refname)", "refs/carillon"]);
    assert!(!left.contains(&id) && left.contains(NOBODY), "{left}");
    assert_eq!(
        named(&world, "dirty")["archive_ref"],
        Value::Null,
        "the tombstone promises nothing that is gone"
    );

    // Branches that outlived their workdirs. Others of such names are the user's.
    world.git(&["branch", "carillon/mine", "main"]);
    commit(&world, &sides[1], "unique", "x\n");
    let branches = report(&world, "branch");
    assert_eq!(branches.len(), 2, "{branches:?}");
    assert!(
        branches.iter().all(|item| judged(item, "it is checked out in") == ("blocked", true)),
        "{branches:?}"
    );
    for side in &sides {
        git_in(&world, side, &["checkout", "--quiet", "--detach", "main"]);
    }
    let branches = report(&world, "branch");
    let of = |name: &str| at(&branches, Path::new(name));
    assert_eq!(judged(of("carillon/clean"), "are on other branches"), ("safe", true), "{branches:?}");
    assert_eq!(of("carillon/dirty")["reasons"], json!(["1 commit on no other branch"]));
    applied(&world, &[]);
    let list = world.git(&["branch", "--list", "carillon/*", "--format=%(refname:short)"]);
    let expected = ["carillon/ada", "carillon/dirty", "carillon/kept", "carillon/mine"];
    assert_eq!(list.lines().collect::<Vec<_>>(), expected);
    world.git(&["branch", "carillon/clean", "main"]);
    assert_eq!(report(&world, "branch").len(), 1, "made anew, it is the user's");
    let consent = report(&world, "branch")[0]["id"].as_str().unwrap().to_owned();
    let tip = world.git(&["rev-parse", "carillon/dirty"]);
    applied(&world, &["--kind", "branch", "--consent", &consent]);
    let kept_at =
        world.git(&["for-each-ref", "--format=%(objectname)", &format!("refs/carillon/archive/{id}*")]);
    assert!(kept_at.contains(tip.trim()), "its commits are kept");
    git_in(&world, &world.repo(), &["fsck", "--full", "--strict"]);
}

#[test]
fn a_workdir_that_the_ledger_lost_is_not_taken_for_nobodys() {
    let world = world();
    let dir = path(&new(&world, "lost"));
    commit(&world, &dir, "own", "x\n");
    ledger(&world, "DELETE FROM workdirs");
    let items = report(&world, "worktree");
    let item = at(&items, &dir);
    assert_eq!(judged(item, "not on the ledger"), ("needs_consent", true));
    assert!(item["reasons"].to_string().contains("1 commit on no other branch"), "{item}");
    let mut shell = shell_in(&dir);
    let items = report(&world, "worktree");
    assert_eq!(judged(at(&items, &dir), &format!("in use by pid {}", shell.id())), ("blocked", true));
    let id = item["id"].as_str().unwrap();
    assert_eq!(at(&applied(&world, &["--consent", id]), &dir)["removed"], false);
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert_eq!(at(&applied(&world, &[]), &dir)["removed"], false);
    assert_eq!(at(&applied(&world, &["--consent", id]), &dir)["removed"], true);
    assert!(!dir.exists());
    world.ok(&["workdirs", "restore", "lost"]);
    assert_eq!(std::fs::read_to_string(dir.join("own")).unwrap(), "x\n");
}

/// Writes an entry of the journal of creations, as an engine that died leaves it.
pub fn husk(world: &World, id: &str, identity_of: &Path) -> PathBuf {
    let place = world.home().join("workdirs/aaaaaa");
    std::fs::create_dir_all(&place).unwrap();
    let place = place.canonicalize().unwrap();
    let dir = place.join(format!("husk-{}", &id[28..]));
    std::fs::create_dir_all(dir.join("empty")).unwrap();
    let meta =
        std::fs::metadata(if identity_of.as_os_str().is_empty() { &dir } else { identity_of }).unwrap();
    let entry = json!({
        "repository": world.repo().canonicalize().unwrap(), "path": dir, "stage": place.join(".carillon-x"),
        "branch": null, "base_commit": world.git(&["rev-parse", "HEAD"]).trim(), "parent_is_ours": false,
        "identity": [meta.dev(), meta.ino()],
    });
    let journal = world.home().join("workdirs/.journal");
    std::fs::create_dir_all(&journal).unwrap();
    std::fs::write(journal.join(format!("{id}.json")), entry.to_string()).unwrap();
    dir
}

#[test]
fn what_creations_left_that_were_cut_short() {
    let world = world();
    let id = |n: u8| format!("{n:032x}");
    let empty = husk(&world, &id(1), Path::new(""));
    let full = husk(&world, &id(2), Path::new(""));
    make_dir(&full.join("sub"));
    let other = husk(&world, &id(3), &world.repo());
    let looks_alike = other.with_file_name("husk-user");
    std::fs::create_dir_all(looks_alike.join("empty")).unwrap();
    let items = report(&world, "husk");
    assert_eq!(judged(at(&items, &empty), "it is empty"), ("safe", true), "{items:?}");
    assert_eq!(judged(at(&items, &full), "there are files in it"), ("needs_consent", true));
    assert_eq!(judged(at(&items, &other), "did not make it"), ("blocked", true));
    assert_eq!(items.len(), 3);
    let consent = at(&items, &full)["id"].as_str().unwrap().to_owned();
    applied(&world, &[]);
    assert!(!empty.exists() && full.join("sub/file").is_file() && other.is_dir() && looks_alike.is_dir());
    let done = applied(&world, &["--consent", &consent]);
    assert!(at(&done, &full)["freed_bytes"].as_u64().unwrap() >= 10_000);
    assert!(!full.exists() && other.is_dir() && looks_alike.is_dir());
}

#[test]
fn processes_of_runs_that_are_over() {
    let world = world();
    let over = run_of(&world, &task(&world, "true"));
    let tmux = world.path("tmux");
    std::fs::copy(sleep(), &tmux).unwrap();
    let mut safe = stray(&world, &over, &sleep());
    let mut unknown = stray(&world, NOBODY, &sleep());
    let mut shared = stray(&world, &over, &tmux);
    let mut foreign = Command::new(sleep()).arg("1000").env("CARILLON_RUN", NOBODY).spawn().unwrap();
    world.wait_for("the programs to be in place", || {
        let items = report(&world, "process");
        (items.len() == 3 && items.iter().any(|item| item["name"].as_str().unwrap().starts_with("tmux")))
            .then_some(())
    });
    let items = report(&world, "process");
    let of = |child: &Child| at(&items, Path::new(&format!("/proc/{}", child.id()))).clone();
    assert_eq!(judged(&of(&safe), "its run is over"), ("safe", true), "{items:?}");
    assert_eq!(judged(&of(&unknown), "not on the ledger"), ("needs_consent", true));
    assert_eq!(judged(&of(&shared), "shared by all your programs"), ("blocked", true));
    assert_eq!(of(&foreign), Value::Null, "it may be of another data directory");
    let doctor = world.run(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("disk: data directory: ") && said.contains("temp base: "), "{said}");
    assert!(
        said.contains(&format!("sleep ({})", safe.id())) && said.contains("clean --kind process"),
        "{said}"
    );
    let done = applied(&world, &["--consent", of(&shared)["id"].as_str().unwrap()]);
    assert_eq!(done.iter().filter(|item| item["removed"] == true).count(), 1, "{done:?}");
    assert!(!wait(&mut safe).success(), "a signal ended it");
    assert!([&unknown, &shared, &foreign].iter().all(|child| alive(child.id())));
    applied(&world, &["--consent", of(&unknown)["id"].as_str().unwrap()]);
    assert!(!wait(&mut unknown).success());
    for child in [&mut shared, &mut foreign] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn the_trash_goes_but_for_repositories() {
    let world = world();
    make_dir(&trash(&world).join("one"));
    let repository = trash(&world).join("two/cloned");
    std::fs::create_dir_all(&repository).unwrap();
    git_in(&world, &repository, &["init", "--quiet"]);
    let items = report(&world, "trash");
    assert_eq!(judged(at(&items, &trash(&world)), "in the trash"), ("safe", true));
    let done = applied(&world, &[]);
    let item = at(&done, &trash(&world));
    assert_eq!(item["removed"], false);
    assert!(item["refused"].as_str().unwrap().contains("cloned"), "{item}");
    assert!(repository.join(".git").is_dir() && !trash(&world).join("one").exists());
    std::fs::remove_dir_all(&repository).unwrap();
    assert_eq!(at(&applied(&world, &[]), &trash(&world))["removed"], true);
    assert!(!trash(&world).exists());
    assert_eq!(report(&world, "trash"), Vec::<Value>::new());
}
