//! The engine dies at each place between a commit and what git does. Whatever the place: what a workdir held is
//! there or comes back byte for byte, nothing half-made is left, and everything of the user's is as it was.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{CARILLON, World};
use crate::untouched;
use crate::workdirs::{commit, content, fill, git_in, named, new, path, world};

/// Runs a command line against an engine that dies at `seam`, and starts another engine.
fn dies_at(world: &mut World, seam: &str, args: &[&str]) {
    world.end(libc::SIGTERM);
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_DIE_AT", seam);
    world.start_command(serve);
    let mut command = world.isolated(CARILLON);
    let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
    assert!(!crate::support::wait(&mut child).success(), "{seam}: nobody was told of success");
    world.start(&[]);
}

/// Waits until the workdir is in one of these states, and on its way to nothing.
fn settled(world: &World, name: &str, seam: &str) -> Value {
    world.wait_for(&format!("{name} to be settled ({seam})"), || {
        let workdir = named(world, name);
        matches!(workdir["state"].as_str(), Some("active" | "tombstoned") | None).then_some(workdir)
    })
}

fn no_husks(world: &World, seam: &str) {
    world.wait_for(&format!("no husks ({seam})"), || {
        (world.ok(&["clean", "--kind", "husk"]) == json!([])).then_some(())
    });
    let journal = world.home().join("workdirs/.journal");
    let left: Vec<_> =
        std::fs::read_dir(journal).into_iter().flatten().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{seam}: {left:?}");
}

#[test]
fn while_one_is_made() {
    let seams = [
        "before the commit: workdir recorded",
        "after the commit: workdir recorded",
        "worktree made",
        "before the commit: workdir made",
        "after the commit: workdir made",
        "set-up started",
    ];
    for seam in seams {
        let mut world = world();
        let count = world.path("count");
        let rules = format!(
            "[workdirs]\ncopy = [\".env\", \"my.conf\"]\nsetup = [\"echo x >> {}\"]\n",
            count.display()
        );
        std::fs::write(world.repo().join("carillon.toml"), rules).unwrap();
        std::fs::write(world.repo().join(".env"), "A=1\n").unwrap();
        std::fs::write(world.repo().join("my.conf"), "B=1\n").unwrap();
        let before = untouched::all(&world, &[]);
        dies_at(&mut world, seam, &["workdirs", "new", "one", "--project", "repo"]);
        let workdir = settled(&world, "one", seam);
        assert_eq!(untouched::all(&world, &[]), before, "{seam}");
        if workdir["state"] != "active" {
            no_husks(&world, seam);
            assert_eq!(world.git(&["branch", "--list", "carillon/*"]), "", "{seam}");
            new(&world, "one");
        }
        let dir = path(&named(&world, "one"));
        assert_eq!(std::fs::read_to_string(dir.join(".env")).unwrap(), "A=1\n", "{seam}");
        world.wait_for(&format!("the set-up ({seam})"), || count.exists().then_some(()));
        let setup = |world: &World| world.ok(&["tasks", "list"]).as_array().unwrap().len();
        let task = named(&world, "one")["id"].clone();
        world.ok(&["tasks", "wait", task.as_str().unwrap()]);
        no_husks(&world, seam);
        world.end(libc::SIGTERM);
        world.start(&[]);
        assert_eq!(setup(&world), 1, "{seam}");
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\n", "{seam}: the set-up ran once");
        // The copy is on the ledger: changed, it is something that would be lost.
        std::fs::write(dir.join("my.conf"), "B=2\n").unwrap();
        assert!(named(&world, "one")["reasons"].to_string().contains("my.conf"), "{seam}");
    }
}

/// An agent and the workdir that is made for it are both there afterwards, or neither is.
#[test]
fn while_one_is_made_for_a_new_agent() {
    let seams = [
        "before the commit: workdir recorded",
        "after the commit: workdir recorded",
        "worktree made",
        "before the commit: workdir made",
        "after the commit: workdir made",
        "set-up started",
    ];
    for seam in seams {
        let mut world = world();
        std::fs::write(world.repo().join("carillon.toml"), "[workdirs]\nsetup = [\"true\"]\n").unwrap();
        world.ok(&["profile", "add", "p", "--adapter", "plain", "--program", "/bin/cat"]);
        let add = ["agent", "add", "ada", "--project", "repo", "--profile", "p", "--mode", "headless"];
        let add = [&add[..], &["--workdir", "new"]].concat();
        dies_at(&mut world, seam, &add);
        let workdir = settled(&world, "ada", seam);
        let agents = world.ok(&["agent", "list"]);
        let is_there = agents.as_array().unwrap().iter().any(|agent| agent["name"] == "ada");
        assert_eq!(is_there, workdir["state"] == "active", "{seam}: {agents} {workdir}");
        if is_there {
            world.fails(&add, 4);
        } else {
            no_husks(&world, seam);
            world.ok(&add);
        }
        let (agent, workdir) = (world.agent("ada"), named(&world, "ada"));
        assert_eq!((&agent["workdir"], &agent["mode"]), (&workdir["path"], &json!("headless")), "{seam}");
        assert_eq!(workdir["owner"], agent["id"], "{seam}");
        // Its set-up is the user's: its end is no message to the agent.
        world.ok(&["tasks", "wait", workdir["id"].as_str().unwrap()]);
        assert_eq!(world.ok(&["inbox", "ada"]), json!([]), "{seam}");
        no_husks(&world, seam);
    }
}

#[test]
fn while_one_that_holds_everything_is_removed() {
    let seams = [
        "before the commit: workdir given up",
        "after the commit: workdir given up",
        "before the commit: workdir going",
        "after the commit: workdir going",
        "worktree removed",
        "before the commit: workdir gone",
        "after the commit: workdir gone",
    ];
    for seam in seams {
        let mut world = world();
        let dir = path(&new(&world, "one"));
        fill(&world, &dir);
        let (before, theirs) = (content(&world, &dir), untouched::all(&world, &[]));
        dies_at(&mut world, seam, &["workdirs", "remove", "one"]);
        let workdir = settled(&world, "one", seam);
        assert_eq!(untouched::all(&world, &[]), theirs, "{seam}");
        if workdir["state"] == "tombstoned" {
            assert!(!dir.exists(), "{seam}");
            assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1, "{seam}");
            world.wait_for(&format!("the context file to go ({seam})"), || {
                let left = std::fs::read_dir(world.home().join("workdirs")).unwrap().flatten();
                left.into_iter()
                    .all(|entry| !entry.file_name().to_string_lossy().ends_with(".json"))
                    .then_some(())
            });
            world.ok(&["workdirs", "restore", "one"]);
        } else {
            assert_eq!(seam, "before the commit: workdir given up");
        }
        assert_eq!(content(&world, &dir), before, "{seam}");
        assert_eq!(untouched::all(&world, &[]), theirs, "{seam}");
    }
}

#[test]
fn while_one_is_merged() {
    let seams = [
        "worktree merged",
        "before the commit: workdir merged",
        "after the commit: workdir merged",
        "before the commit: workdir going",
        "after the commit: workdir going",
        "worktree removed",
        "before the commit: workdir gone",
        "after the commit: workdir gone",
    ];
    for seam in seams {
        let mut world = world();
        let dir = path(&new(&world, "one"));
        commit(&world, &dir, "own", "x\n");
        commit(&world, &world.repo(), "meanwhile", "y\n");
        dies_at(&mut world, seam, &["workdirs", "merge", "one"]);
        let workdir = settled(&world, "one", seam);
        if workdir["state"] == "active" {
            world.ok(&["workdirs", "merge", "one"]);
        }
        assert_eq!(named(&world, "one")["why"], "merged", "{seam}");
        assert!(!dir.exists(), "{seam}");
        assert_eq!(std::fs::read_to_string(world.repo().join("own")).unwrap(), "x\n", "{seam}");
        assert_eq!(
            world.git(&["rev-list", "--merges", "--count", "main"]).trim(),
            "1",
            "{seam}: merged once"
        );
        assert_eq!(world.git(&["status", "--porcelain"]), "", "{seam}");
        assert_eq!(world.git(&["branch", "--list", "carillon/*"]), "", "{seam}");
    }
}

#[test]
fn while_one_is_brought_back() {
    for seam in ["worktree brought back", "before the commit: workdir back", "after the commit: workdir back"]
    {
        let mut world = world();
        let dir = path(&new(&world, "one"));
        fill(&world, &dir);
        let (before, theirs) = (content(&world, &dir), untouched::all(&world, &[]));
        world.ok(&["workdirs", "remove", "one"]);
        dies_at(&mut world, seam, &["workdirs", "restore", "one"]);
        if named(&world, "one")["state"] == "tombstoned" {
            // It is shown meanwhile, and nothing takes it for something to throw away.
            let found = world.ok(&["clean", "--kind", "worktree"]);
            assert_eq!(
                (&found[0]["path"], &found[0]["verdict"]),
                (&json!(dir), &json!("needs_consent")),
                "{seam}: {found}"
            );
            world.ok(&["clean", "--apply"]);
            world.ok(&["workdirs", "restore", "one"]);
        }
        assert_eq!(named(&world, "one")["state"], "active", "{seam}");
        assert_eq!(content(&world, &dir), before, "{seam}");
        assert_eq!(untouched::all(&world, &[]), theirs, "{seam}");
    }
}

/// A git that takes away a part of a worktree and dies with its engine, as at a power cut.
fn git_that_dies(world: &World, at: &str) -> std::path::PathBuf {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file());
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\ncase \"$*\" in *'{at}'*) rm -f \"$last/README\"; kill -KILL $PPID; exit 1;; esac\nexec {} \"$@\"\n",
        real.unwrap().display()
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bin
}

#[test]
fn while_git_itself_takes_the_files_away() {
    for (how, is_merge) in [("merge", true), ("remove", false)] {
        let mut world = world();
        let dir = path(&new(&world, "one"));
        commit(&world, &dir, "own", "x\n");
        world.end(libc::SIGTERM);
        let bin = git_that_dies(&world, "worktree remove");
        let mut serve = world.isolated(CARILLON);
        let path_variable = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        serve.arg("serve").env("PATH", path_variable);
        world.start_command(serve);
        let mut command = world.isolated(CARILLON);
        command.args(["workdirs", how, "one"]).stderr(Stdio::null()).status().unwrap();
        assert!(world.engine_dies_of(libc::SIGKILL), "{how}");
        assert!(!dir.join("README").exists() && dir.join("own").exists(), "half of it is gone");
        world.start(&[]);
        let workdir = settled(&world, "one", how);
        assert_eq!(workdir["state"], "tombstoned", "{how}: {workdir}");
        assert!(!dir.exists());
        if is_merge {
            assert!(world.repo().join("own").is_file());
        } else {
            world.ok(&["workdirs", "restore", "one"]);
            assert_eq!(git_in(&world, &dir, &["log", "--format=%s", "-1"]), "Add own\n");
            assert!(Path::new(&dir.join("README")).is_file(), "as it was before git began");
        }
    }
}

#[test]
fn a_git_that_outlives_its_engine_is_waited_for() {
    let mut world = world();
    let hook = world.repo().join(".git/hooks/post-checkout");
    let gate = world.path("gate");
    let script = format!("#!/bin/sh\nwhile ! [ -e {} ]; do sleep 0.05; done\n", gate.display());
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.isolated(CARILLON);
    command.args(["workdirs", "new", "one", "--project", "repo"]).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    world.wait_for("git to be in its hook", || {
        let place = world.home().join("workdirs");
        let namespaces = std::fs::read_dir(place).into_iter().flatten().flatten();
        namespaces.into_iter().any(|namespace| namespace.path().join("one/README").is_file()).then_some(())
    });
    world.crash();
    assert!(!crate::support::wait(&mut child).success());
    let log = world.path("log");
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_LOG", "info").stderr(std::fs::File::create(&log).unwrap());
    world.start_command(serve);
    world.wait_for("the engine to see it", || {
        std::fs::read_to_string(&log).unwrap().contains("its end is waited for").then_some(())
    });
    assert_eq!(named(&world, "one")["state"], "creating");
    std::fs::write(&gate, "").unwrap();
    let workdir = settled(&world, "one", "a slow hook");
    assert_eq!(workdir["state"], "active", "{workdir}");
    assert_eq!(git_in(&world, &path(&workdir), &["status", "--porcelain"]), "");
    no_husks(&world, "a slow hook");
}
