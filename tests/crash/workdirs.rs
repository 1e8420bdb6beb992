//! Workdirs: made, worked in, merged, removed and brought back, on real git.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{World, wait};
use crate::untouched;

pub fn world() -> World {
    let world = World::started();
    // Our own git children get no identity from the environment.
    world.git(&["config", "user.name", "Test"]);
    world.git(&["config", "user.email", "test@localhost"]);
    std::fs::write(world.repo().join(".gitignore"), ".env\n*.conf\nmade/\n").unwrap();
    world.git(&["add", ".gitignore"]);
    world.git(&["commit", "--quiet", "-m", "Ignore"]);
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    world
}

pub fn new(world: &World, name: &str) -> Value {
    world.ok(&["workdirs", "new", name, "--project", "repo"])
}

pub fn path(workdir: &Value) -> PathBuf {
    PathBuf::from(workdir["path"].as_str().unwrap())
}

/// As [`new`], and so old that nobody is about to begin in it.
pub fn aged(world: &World, name: &str) -> Value {
    let workdir = new(world, name);
    let id = workdir["id"].as_str().unwrap();
    crate::clean::ledger(world, &format!("UPDATE workdirs SET created_ms = 1 WHERE id = '{id}'"));
    let git = std::fs::File::open(path(&workdir).join(".git")).unwrap();
    git.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    workdir
}

pub fn named(world: &World, name: &str) -> Value {
    let all = world.ok(&["workdirs", "list"]);
    all.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap_or(&Value::Null).clone()
}

pub fn git_in(world: &World, dir: &Path, args: &[&str]) -> String {
    let output = world.isolated("git").arg("-C").arg(dir).args(args).output().expect("git");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("git prints UTF-8")
}

pub fn commit(world: &World, dir: &Path, file: &str, content: &str) {
    std::fs::write(dir.join(file), content).unwrap();
    git_in(world, dir, &["add", file]);
    git_in(world, dir, &["commit", "--quiet", "-m", &format!("Add {file}")]);
}

/// Makes a workdir hold one of everything: a commit, a staged and an unstaged change, a file of its own, a
/// deleted one, a link, a program, and an ignored file that cannot be made again.
pub fn fill(world: &World, dir: &Path) {
    commit(world, dir, "own", "committed\n");
    std::fs::write(dir.join("own"), "staged\n").unwrap();
    git_in(world, dir, &["add", "own"]);
    std::fs::write(dir.join("own"), "not staged\n").unwrap();
    std::fs::write(dir.join("new"), b"\x00\xff\r\nbytes").unwrap();
    std::fs::remove_file(dir.join("README")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("link")).unwrap();
    std::fs::write(dir.join("run.sh"), "#!/bin/sh\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.join("run.sh"), executable).unwrap();
    std::fs::write(dir.join(".env"), "SECRET=1\n").unwrap();
}

/// What a workdir holds, apart from inodes, which are new when it is brought back.
pub fn content(world: &World, dir: &Path) -> String {
    let status = git_in(world, dir, &["status", "--porcelain=v2", "--branch", "--ignored"]);
    let index = git_in(world, dir, &["ls-files", "--stage"]);
    let files = untouched::tree(dir, &|path| path.ends_with(".git"));
    let without_inode = |line: &str| {
        let mut words: Vec<&str> = line.splitn(4, ' ').collect();
        words.remove(2);
        words.join(" ")
    };
    let files: Vec<String> =
        files.lines().map(without_inode).filter(|l| !l.starts_with(&format!("{} ", dir.display()))).collect();
    format!("{status}{index}{}", files.join("\n"))
}

pub fn branches(world: &World) -> String {
    world.git(&["for-each-ref", "--format=%(refname)", "refs/heads/carillon"])
}

/// A process with its working directory there, as a user's shell would have.
pub fn shell_in(dir: &Path) -> Child {
    Command::new("sleep").arg("1000").current_dir(dir).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn from_the_first_commit_to_the_tombstone() {
    let world = world();
    let before = untouched::all(&world, &[]);
    let workdir = new(&world, "one");
    assert_eq!((&workdir["state"], &workdir["branch"]), (&json!("active"), &json!("carillon/one")));
    assert_eq!(
        (&workdir["base_branch"], &workdir["dirty"], &workdir["ahead"]),
        (&json!("main"), &json!(false), &json!(0))
    );
    let dir = path(&workdir);
    let context = world.home().join("workdirs").join(format!("{}.json", workdir["id"].as_str().unwrap()));
    assert!(context.is_file());
    assert_eq!(untouched::all(&world, &[]), before, "the user's own checkout is as it was");

    commit(&world, &dir, "own", "one\ntwo\n");
    let diff = world.ok(&["workdirs", "diff", "one"]);
    assert_eq!(diff["files"], json!([{"path": "own", "added": 2, "deleted": 0}]));
    assert_eq!(
        (&named(&world, "one")["ahead"], &named(&world, "one")["verdict"]),
        (&json!(1), &json!("needs_consent"))
    );

    let merged = world.ok(&["workdirs", "merge", "one"]);
    assert_eq!((&merged["state"], &merged["why"]), (&json!("tombstoned"), &json!("merged")), "{merged}");
    assert_eq!(std::fs::read_to_string(world.repo().join("own")).unwrap(), "one\ntwo\n");
    assert!(!dir.exists() && !context.exists() && branches(&world).is_empty());
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.fails(&["workdirs", "merge", "one"], 4)["code"], "refused");
    assert_eq!(new(&world, "one")["state"], "active", "the name is free again");
}

#[test]
fn what_was_removed_comes_back_byte_for_byte() {
    let world = world();
    let workdir = new(&world, "one");
    let dir = path(&workdir);
    fill(&world, &dir);
    let (before, theirs) = (content(&world, &dir), untouched::all(&world, &[]));
    let removed = world.ok(&["workdirs", "remove", "one"]);
    assert_eq!((&removed["state"], &removed["why"]), (&json!("tombstoned"), &json!("removed by you")));
    assert!(removed["archive_ref"].is_string() && !dir.exists() && branches(&world).is_empty());
    let tar = world.home().join("archives").join(format!("{}.tar", workdir["id"].as_str().unwrap()));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&tar).unwrap());
    assert_eq!(mode & 0o777, 0o600, "what must not get into git is only ours to read");
    let back = world.ok(&["workdirs", "restore", "one"]);
    assert_eq!(back["state"], "active", "{back}");
    assert_eq!(content(&world, &dir), before);
    assert_eq!(untouched::all(&world, &[]), theirs);
    assert_eq!(world.fails(&["workdirs", "restore", "one"], 4)["code"], "refused");
}

#[test]
fn commits_on_no_branch_come_back_as_well() {
    let world = world();
    let dir = path(&new(&world, "one"));
    git_in(&world, &dir, &["checkout", "--quiet", "--detach"]);
    commit(&world, &dir, "own", "x\n");
    let head = git_in(&world, &dir, &["rev-parse", "HEAD"]);
    let reasons = named(&world, "one")["reasons"].to_string();
    assert!(reasons.contains("on no branch at all"), "{reasons}");
    world.ok(&["workdirs", "remove", "one"]);
    world.git(&["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);
    world.ok(&["workdirs", "restore", "one"]);
    assert_eq!(git_in(&world, &dir, &["rev-parse", "HEAD"]), head);
    assert_eq!(git_in(&world, &dir, &["branch", "--show-current"]), "", "it was on no branch");
}

#[test]
fn what_is_in_the_way_of_a_removal_is_named_and_nothing_goes() {
    let world = world();
    let refused = |name: &str, word: &str| {
        let dir = path(&named(&world, name));
        let before = untouched::tree(&dir, &|_| false);
        let error = world.fails(&["workdirs", "remove", name], 4);
        assert!(error["message"].as_str().unwrap().contains(word), "{name}: {error}");
        assert_eq!(untouched::tree(&dir, &|_| false), before, "{name}");
        assert_eq!(named(&world, name)["state"], "active", "{name}");
    };
    // A process of the user's.
    let mut shell = shell_in(&path(&new(&world, "used")));
    refused("used", &format!("in use by pid {}", shell.id()));
    shell.kill().unwrap();
    shell.wait().unwrap();
    // Somebody locked it.
    let locked = path(&new(&world, "locked"));
    world.git(&["worktree", "lock", "--reason", "mine", locked.to_str().unwrap()]);
    refused("locked", "it is locked: mine");
    // git is in the middle of something.
    let merging = path(&new(&world, "merging"));
    commit(&world, &merging, "README", "theirs\n");
    git_in(&world, &merging, &["branch", "theirs"]);
    git_in(&world, &merging, &["reset", "--quiet", "--hard", "HEAD~1"]);
    commit(&world, &merging, "README", "ours\n");
    world.isolated("git").arg("-C").arg(&merging).args(["merge", "--quiet", "theirs"]).output().unwrap();
    refused("merging", "git is in the middle of a merge");
    // A repository with work of its own in it.
    let outer = path(&new(&world, "outer"));
    let inner = outer.join("made");
    std::fs::create_dir(&inner).unwrap();
    git_in(&world, &inner, &["init", "--quiet"]);
    commit(&world, &inner, "unique", "x\n");
    refused("outer", "has work that is nowhere else");
    // A task and an agent of ours.
    let busy = path(&new(&world, "busy"));
    let task = world.ok(&["run", "--cwd", busy.to_str().unwrap(), "--", "sleep", "1000"]);
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", task["id"].as_str().unwrap()])["state"] == "running").then_some(())
    });
    refused("busy", "are not over");
    world.ok(&["tasks", "cancel", task["id"].as_str().unwrap()]);
    world.ok(&["tasks", "wait", task["id"].as_str().unwrap()]);
    world.ok(&["workdirs", "remove", "busy"]);
}

#[test]
fn an_agent_works_in_its_own_one() {
    let world = world();
    world.add_agent("first", "true");
    let sh = "echo \"I am in $PWD\"; read -r line; exit 0";
    world.ok(&[
        "profile",
        "add",
        "sh",
        "--adapter",
        "plain",
        "--program",
        "/bin/sh",
        "--arg",
        "-c",
        "--arg",
        sh,
    ]);
    let agent =
        world.ok(&["agent", "add", "ada", "--project", "repo", "--profile", "sh", "--workdir", "new"]);
    let workdir = named(&world, "ada");
    assert_eq!((&workdir["path"], &workdir["owner"]), (&agent["workdir"], &agent["id"]));
    world.ok(&["agent", "start", "ada"]);
    world.wait_for_text("ada", "I am in");
    assert!(world.fails(&["workdirs", "remove", "ada"], 4)["message"].as_str().unwrap().contains("not over"));
    // Its work can be merged; the worktree waits until the agent is at its end.
    commit(&world, &path(&workdir), "own", "x\n");
    let merged = world.ok(&["workdirs", "merge", "ada"]);
    assert_eq!(merged["state"], "merged", "{merged}");
    assert!(merged["notes"].to_string().contains("it goes when"), "{merged}");
    assert!(path(&workdir).is_dir() && world.repo().join("own").is_file());
    world.write("ada", "end\r");
    world.wait_until_over("ada");
    world.wait_for("the worktree to go", || (named(&world, "ada")["state"] == "tombstoned").then_some(()));
    assert!(!path(&workdir).exists());
    // It never starts anywhere else.
    let error = world.fails(&["agent", "start", "ada"], 1);
    assert!(error["message"].as_str().unwrap().contains("is gone"), "{error}");
}

#[test]
fn conflicts_are_named_and_nothing_is_half_done() {
    let world = world();
    let dir = path(&new(&world, "one"));
    commit(&world, &dir, "README", "theirs\n");
    commit(&world, &world.repo(), "README", "ours\n");
    let (before, inside) = (untouched::all(&world, &[]), untouched::tree(&dir, &|_| false));
    for how in [
        &["workdirs", "merge", "one"][..],
        &["workdirs", "merge", "one", "--squash"],
        &["workdirs", "merge", "one", "--rebase"],
    ] {
        let error = world.fails(how, 4);
        assert!(error["message"].as_str().unwrap().contains("README"), "{error}");
        assert_eq!(untouched::all(&world, &[]), before);
        assert_eq!(untouched::tree(&dir, &|_| false), inside);
        assert_eq!(named(&world, "one")["state"], "active");
    }
    std::fs::write(dir.join("README"), "open\n").unwrap();
    let error = world.fails(&["workdirs", "merge", "one"], 4);
    assert!(error["message"].as_str().unwrap().contains("not committed"), "{error}");
    assert_eq!(world.fails(&["workdirs", "merge", "one", "--into", "no-such"], 4)["code"], "refused");
    assert_eq!(world.fails(&["workdirs", "merge", "one", "--into", "carillon/one"], 2)["code"], "invalid");
}

#[test]
fn squash_and_rebase_leave_one_line_of_commits_and_go() {
    let world = world();
    for (name, how) in [("squashed", "--squash"), ("rebased", "--rebase")] {
        let dir = path(&new(&world, name));
        commit(&world, &dir, &format!("{name}-1"), "x\n");
        commit(&world, &dir, &format!("{name}-2"), "y\n");
        commit(&world, &world.repo(), &format!("{name}-meanwhile"), "z\n");
        let before: usize = world.git(&["rev-list", "--count", "main"]).trim().parse().unwrap();
        let merged = world.ok(&["workdirs", "merge", name, how]);
        assert_eq!(merged["state"], "tombstoned", "{merged}");
        let after: usize = world.git(&["rev-list", "--count", "main"]).trim().parse().unwrap();
        assert_eq!(after - before, if how == "--squash" { 1 } else { 2 });
        assert!(world.repo().join(format!("{name}-2")).is_file());
    }
    assert_eq!(world.git(&["rev-list", "--merges", "--count", "main"]).trim(), "0");
    assert_eq!(branches(&world), "");
}

#[test]
fn what_is_kept_stays_until_it_is_removed() {
    let world = world();
    let dir = path(&new(&world, "one"));
    commit(&world, &dir, "own", "x\n");
    assert_eq!(world.ok(&["workdirs", "merge", "one", "--keep"])["state"], "merged");
    assert!(dir.is_dir() && branches(&world).contains("carillon/one"));
    commit(&world, &dir, "more", "y\n");
    assert_eq!(world.ok(&["workdirs", "merge", "one", "--keep"])["state"], "merged");
    assert!(world.repo().join("more").is_file());
    assert_eq!(world.ok(&["workdirs", "remove", "one"])["why"], "merged");
    let other = path(&new(&world, "two"));
    assert_eq!(world.ok(&["workdirs", "remove", "two", "--keep"])["state"], "abandoned");
    assert!(other.is_dir());
    assert_eq!(world.ok(&["workdirs", "remove", "two"])["state"], "tombstoned");
    assert!(!other.exists() && branches(&world).is_empty());
}

#[test]
fn of_many_that_want_the_same_name_one_gets_it() {
    let world = world();
    let start = |name: &str| {
        let mut command = world.isolated(crate::support::CARILLON);
        command.args(["--json", "workdirs", "new", name, "--project", "repo"]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut same: Vec<Child> = (0..4).map(|_| start("same")).collect();
    let mut others: Vec<Child> = (0..4).map(|n| start(&format!("other-{n}"))).collect();
    let codes: Vec<Option<i32>> = same.iter_mut().map(|child| wait(child).code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 4))), "{codes:?}");
    assert!(others.iter_mut().all(|child| wait(child).success()));
    let all = world.ok(&["workdirs", "list"]);
    assert_eq!(all.as_array().unwrap().iter().filter(|one| one["state"] == "active").count(), 5, "{all}");
    // A merge and a removal of the same one at a time: one of them does it, and the other says so.
    commit(&world, &path(&named(&world, "same")), "own", "x\n");
    let act = |word: &str| {
        let mut command = world.isolated(crate::support::CARILLON);
        command.args(["--json", "workdirs", word, "same"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut both = [act("merge"), act("remove")];
    let codes = both.each_mut().map(|child| wait(child).code());
    assert!(codes.contains(&Some(0)) && codes.iter().all(|code| matches!(code, Some(0 | 4))), "{codes:?}");
    assert_eq!(named(&world, "same")["state"], "tombstoned");
    world.git(&["fsck", "--full", "--strict"]);
}

#[test]
fn one_that_was_swapped_or_taken_away_is_not_taken_for_another() {
    let world = world();
    let (ours, theirs) = (path(&new(&world, "ours")), world.path("theirs"));
    world.git(&["worktree", "add", "--quiet", "-b", "theirs", theirs.to_str().unwrap()]);
    std::fs::write(theirs.join("work"), "x").unwrap();
    let before = untouched::all(&world, &[&theirs]);
    std::fs::rename(&ours, world.path("aside")).unwrap();
    std::os::unix::fs::symlink(&theirs, &ours).unwrap();
    let error = world.fails(&["workdirs", "remove", "ours"], 4);
    assert!(error["message"].as_str().unwrap().contains("a link is in its place"), "{error}");
    std::fs::remove_file(&ours).unwrap();
    std::fs::create_dir(&ours).unwrap();
    std::fs::write(ours.join("mine"), "x").unwrap();
    assert_eq!(world.fails(&["workdirs", "remove", "ours"], 4)["code"], "refused");
    assert!(ours.join("mine").is_file());
    std::fs::remove_dir_all(&ours).unwrap();
    let gone = world.ok(&["workdirs", "remove", "ours"]);
    assert_eq!(gone["state"], "tombstoned", "{gone}");
    assert_eq!(untouched::all(&world, &[&theirs]), before);
    let registered = world.git(&["worktree", "list"]);
    assert!(registered.contains("theirs") && !registered.contains("/ours"), "{registered}");
}

#[test]
fn a_project_with_workdirs_stays_on_the_list() {
    let world = world();
    let dir = path(&new(&world, "one"));
    std::fs::write(dir.join("open"), "x").unwrap();
    let mut client = carillon_api::Client::connect(&world.home().join("carillon.sock")).unwrap();
    let message = client.call("project_remove", json!({"project": "repo"})).unwrap_err().message;
    assert!(message.contains("one"), "{message}");
    assert!(dir.join("open").is_file());
    world.ok(&["workdirs", "remove", "one"]);
    world.call("project_remove", json!({"project": "repo"}));
    assert_eq!(world.ok(&["workdirs", "list"]), json!([]));
    // Opened again, what was archived is still there to be seen.
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    let archives = world.ok(&["clean", "--kind", "archive"]);
    assert_eq!(
        (&archives[0]["kind"], &archives[0]["verdict"]),
        (&json!("archive"), &json!("needs_consent")),
        "{archives}"
    );
}

#[test]
fn variables_of_git_in_our_own_environment_mean_nothing() {
    let mut world = world();
    let dir = path(&new(&world, "one"));
    std::fs::write(dir.join("open"), "x").unwrap();
    world.end(libc::SIGTERM);
    let mut serve = world.isolated(crate::support::CARILLON);
    let git = world.repo().join(".git");
    serve
        .arg("serve")
        .env("GIT_DIR", &git)
        .env("GIT_WORK_TREE", world.repo())
        .env("GIT_INDEX_FILE", git.join("index"));
    world.start_command(serve);
    assert_eq!(named(&world, "one")["dirty"], true);
    let kept = world.ok(&["clean", "--apply"]);
    assert!(dir.join("open").is_file(), "{kept}");
}
