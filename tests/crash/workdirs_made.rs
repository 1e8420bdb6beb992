//! What a workdir is made from: names, bases, and what the project's rules say.

use serde_json::{Value, json};

use crate::support::World;
use crate::workdirs::{branches, commit, named, new, path, world};

#[test]
fn a_project_says_what_is_copied_and_set_up() {
    let world = world();
    let count = world.path("count");
    let setup = format!("echo x >> {}; pwd > made-by-setup", count.display());
    let rules = format!("[workdirs]\ncopy = [\".env\", \"sub/.env\", \"README\"]\nsetup = [{setup:?}]\n");
    std::fs::write(world.repo().join("carillon.toml"), rules).unwrap();
    std::fs::write(world.repo().join(".env"), "A=1\n").unwrap();
    std::fs::create_dir(world.repo().join("sub")).unwrap();
    std::fs::write(world.repo().join("sub/.env"), "B=1\n").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(world.repo().join(".env"), private).unwrap();
    let dir = path(&new(&world, "one"));
    assert_eq!(std::fs::read_to_string(dir.join(".env")).unwrap(), "A=1\n");
    assert_eq!(
        std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(dir.join(".env")).unwrap()) & 0o777,
        0o600
    );
    assert_eq!(std::fs::read_to_string(dir.join("sub/.env")).unwrap(), "B=1\n");
    world.wait_for("the set-up", || dir.join("made-by-setup").is_file().then_some(()));
    let tasks = world.ok(&["tasks", "list"]);
    assert_eq!(tasks[0]["title"], "set up one", "it is a task like any other");
    world.ok(&["tasks", "wait", tasks[0]["id"].as_str().unwrap()]);
    // A copy that is as the original is nothing that would be lost; one that was changed is.
    std::fs::remove_file(dir.join("made-by-setup")).unwrap();
    assert_eq!(named(&world, "one")["verdict"], "safe", "{}", named(&world, "one"));
    std::fs::write(dir.join(".env"), "A=2\n").unwrap();
    assert!(named(&world, "one")["reasons"].to_string().contains(".env"));

    std::fs::write(world.repo().join("carillon.toml"), "[workdirs]\nsetup = [\"exit 3\"]\n").unwrap();
    let failed = new(&world, "two");
    assert_eq!(failed["state"], "active", "it is there, and the task tells what is wrong");
    let task = world.ok(&["tasks", "wait", failed["id"].as_str().unwrap()]);
    assert_eq!((&task["state"], &task["exit_code"]), (&json!("failed"), &json!(3)));

    std::fs::write(world.repo().join("carillon.toml"), "[workdirs]\nsteup = []\n").unwrap();
    let error = world.fails(&["workdirs", "new", "three", "--project", "repo"], 2);
    assert!(error["message"].as_str().unwrap().contains("steup"), "{error}");
    assert_eq!(named(&world, "three"), Value::Null);
}

#[test]
fn a_copy_never_lands_outside() {
    let world = world();
    let outside = world.path("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, world.repo().join("linked")).unwrap();
    world.git(&["add", "linked"]);
    world.git(&["commit", "--quiet", "-m", "Link"]);
    // In the checkout it is a directory by now, in the commit still a link that leads away.
    std::fs::remove_file(world.repo().join("linked")).unwrap();
    std::fs::create_dir(world.repo().join("linked")).unwrap();
    std::fs::write(world.repo().join("linked/.env"), "A=1\n").unwrap();
    std::fs::write(world.repo().join("carillon.toml"), "[workdirs]\ncopy = [\"linked/.env\"]\n").unwrap();
    new(&world, "one");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_bad_name_makes_nothing() {
    let world = world();
    for bad in ["a/b", "..", "a..b", "x.lock", "-x", "a b", "", "deadbeef99", &"x".repeat(70)] {
        let mut command = world.isolated(crate::support::CARILLON);
        let output = command.args(["workdirs", "new", "--project", "repo", "--", bad]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{bad:?}: {output:?}");
    }
    assert_eq!(world.ok(&["workdirs", "list"]), json!([]));
    assert_eq!(branches(&world), "");
    assert_eq!(world.fails(&["workdirs", "new", "--project", "no-such"], 1)["code"], "not_found");
}

#[test]
fn it_begins_from_what_is_named() {
    let world = world();
    let first = world.git(&["rev-list", "--max-parents=0", "HEAD"]).trim().to_owned();
    world.git(&["tag", "v1", &first]);
    world.git(&["branch", "side", &first]);
    let of =
        |base: &str, name: &str| world.ok(&["workdirs", "new", name, "--project", "repo", "--base", base]);
    let bases = |workdir: &Value| {
        (workdir["base_commit"].as_str().unwrap().to_owned(), workdir["base_branch"].clone())
    };
    assert_eq!(bases(&of("v1", "tag")), (first.clone(), json!("main")));
    assert_eq!(bases(&of(&first[..12], "commit")), (first.clone(), json!("main")));
    assert_eq!(bases(&of("side", "branch")), (first, json!("side")));
    for (bad, code) in [("no-such", 1), ("-x", 1), ("a..b", 1)] {
        let base = format!("--base={bad}");
        let error = world.fails(&["workdirs", "new", "bad", "--project", "repo", &base], code);
        assert!(error["message"].is_string(), "{error}");
        assert_eq!(named(&world, "bad")["state"], "tombstoned");
    }
    assert_eq!(world.ok(&["clean", "--kind", "husk"]), json!([]));
    // Work that began from a tag goes to the branch that was checked out.
    commit(&world, &path(&named(&world, "tag")), "own", "x\n");
    assert_eq!(world.ok(&["workdirs", "merge", "tag"])["state"], "tombstoned");
    assert!(world.repo().join("own").is_file());
}

#[test]
fn from_a_directory_below_the_root() {
    let world = World::started();
    let below = world.repo().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    world.ok(&["project", "add", below.to_str().unwrap()]);
    let mut command = world.isolated(crate::support::CARILLON);
    let output = command.args(["--json", "workdirs", "new", "one"]).current_dir(&below).output().unwrap();
    let workdir: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(std::fs::read_to_string(path(&workdir).join("README")).unwrap(), "hello\n");
}
