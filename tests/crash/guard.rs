//! The guard around headless turns: what a turn leaves behind goes and is told, also when the engine dies between
//! the beginning and the end of it. What is not the turn's stays.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{CARILLON, World, wait};

const RULES: &str = "[residue]\ndirectories = [\"test-feature-*\"]\nbranches = [\"kitty/test-*\"]\n\
                     worktree_roots = [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\nauto = true\n";

/// What the turn leaves behind: one thing of each kind, some ticks before it ends of the clock by which births are told.
/// What is made in the last one proves nothing.
const LEAK: &str =
    "mkdir test-feature-1 .worktrees/husk ../tmp/spec-kitty-1; git branch kitty/test-1; sleep 0.1";
const LEAKED: [&str; 4] = ["test-feature-1", ".worktrees/husk", "kitty/test-1", "spec-kitty-1"];

/// A world whose project wants its turns guarded, with things of the user's that its rules name.
fn world() -> World {
    let world = World::new();
    std::fs::write(world.repo().join("carillon.toml"), RULES).expect("a file");
    for dir in ["repo/test-feature-old", "repo/.worktrees/old", "tmp/spec-kitty-old"] {
        std::fs::create_dir_all(world.path(dir)).expect("a directory");
    }
    world.git(&["branch", "kitty/test-old"]);
    world
}

fn serve(world: &mut World, die_at: Option<&str>) {
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("TMPDIR", world.path("tmp"));
    if let Some(seam) = die_at {
        serve.env("CARILLON_DIE_AT", seam);
    }
    world.start_command(serve);
}

fn add_agent(world: &World, script: &str) {
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let plain = ["--adapter", "plain", "--program", "/bin/sh", "--arg", "-c", "--arg", script];
    world.ok(&[&["profile", "add", "p"], &plain[..]].concat());
    world.ok(&["agent", "add", "bob", "--project", "repo", "--profile", "p", "--mode", "headless"]);
}

/// An ask that waits for its engine, as all do inside a run.
fn ask(world: &World) -> Child {
    let mut ask = world.isolated(CARILLON);
    ask.args(["ask", "bob", "do it", "--timeout", "60s"]).current_dir(world.repo());
    ask.env_remove("CARILLON_HOME").env("CARILLON_SOCKET", world.home().join("./carillon.sock"));
    ask.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("carillon ask")
}

/// What was noted of the last turn, once the guard has told it.
fn notes(world: &World, when: &str) -> String {
    world.wait_for(&format!("the notes of the turn ({when})"), || {
        let agent = world.ok(&["agent", "show", "bob"]);
        let notes = agent["turns"][0]["notes"].as_array().expect("notes").clone();
        let lines: Vec<&str> = notes.iter().filter_map(Value::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    })
}

fn check_gone(world: &World, when: &str) {
    for gone in ["repo/test-feature-1", "repo/.worktrees/husk", "tmp/spec-kitty-1"] {
        assert!(!world.path(gone).exists(), "{when}: {gone} is still there");
    }
    for stays in ["repo/test-feature-old", "repo/.worktrees/old", "tmp/spec-kitty-old"] {
        assert!(world.path(stays).exists(), "{when}: {stays} is gone");
    }
    let branches = world.git(&["branch", "--list", "kitty/*", "--format=%(refname:short)"]);
    assert_eq!(branches.trim(), "kitty/test-old", "{when}");
}

fn check_no_trace(world: &World, when: &str) {
    let guards = || std::fs::read_dir(world.repo().join(".git")).expect("a directory").flatten();
    let leases = || guards().map(|entry| entry.path().join("guards")).find(|path| path.exists());
    assert_eq!(leases(), None, "{when}: the lease of a guard is left");
}

#[test]
fn a_turn_that_leaves_something_is_cleared_up_after_and_told() {
    let mut world = world();
    serve(&mut world, None);
    add_agent(&world, &format!("cat > /dev/null; {LEAK}; echo done"));
    assert!(wait(&mut ask(&world)).success());
    // The turn is over only when its guard is: nothing has to be waited for.
    check_gone(&world, "at the end of the turn");
    let told = notes(&world, "the end");
    for name in LEAKED {
        assert!(told.contains("reaped the ") && told.contains(name), "{name}: {told}");
    }
    assert!(!told.contains("-old"), "{told}");
    check_no_trace(&world, "at the end");
    // The same in the conversation: the last word of the turn.
    let turn = world.ok(&["agent", "show", "bob"])["turns"][0]["id"].clone();
    let page = world.call("turn_events", json!({"turn": turn, "offset": 0, "wait_ms": 0}));
    assert_eq!(page["events"].as_array().expect("events").last().expect("one")["kind"], "note", "{page}");
    let words = world.run(&["agent", "show", "bob"]);
    assert!(String::from_utf8_lossy(&words.stdout).contains("reaped the branch kitty/test-1"), "{words:?}");
}

#[test]
fn a_turn_of_a_project_that_does_not_want_it_is_let_be() {
    let mut world = world();
    std::fs::write(world.repo().join("carillon.toml"), RULES.replace("auto = true", "auto = false")).unwrap();
    serve(&mut world, None);
    add_agent(&world, &format!("cat > /dev/null; {LEAK}; env > seen; echo done"));
    assert!(wait(&mut ask(&world)).success());
    assert!(world.repo().join("test-feature-1").exists() && world.path("tmp/spec-kitty-1").exists());
    assert!(!std::fs::read_to_string(world.repo().join("seen")).unwrap().contains("CARILLON_GUARD"));
    assert_eq!(world.ok(&["agent", "show", "bob"])["turns"][0]["notes"], json!([]));
}

#[test]
fn rules_that_mean_nothing_cost_no_answer() {
    let mut world = world();
    serve(&mut world, None);
    add_agent(&world, &format!("cat > /dev/null; {LEAK}; echo done"));
    std::fs::write(world.repo().join("carillon.toml"), "[residue]\nbranches = [\"*\"]\nauto = true\n")
        .unwrap();
    assert!(wait(&mut ask(&world)).success());
    let told = notes(&world, "bad rules");
    assert!(told.contains("not watched") && told.contains("carillon.toml"), "{told}");
    assert!(world.repo().join("test-feature-1").exists());
}

#[test]
fn a_guard_inside_of_a_turn_leaves_it_to_the_one_around() {
    let mut world = world();
    serve(&mut world, None);
    let inner = format!("{CARILLON} guard --json -- mkdir test-feature-1 > inner.json");
    add_agent(&world, &format!("cat > /dev/null; {inner}; test -d test-feature-1 && echo done"));
    assert!(wait(&mut ask(&world)).success());
    let inner: Value =
        serde_json::from_slice(&std::fs::read(world.repo().join("inner.json")).unwrap()).unwrap();
    assert_eq!((&inner["acts"], &inner["made"]), (&json!(false), &json!([])));
    assert!(notes(&world, "nested").contains("test-feature-1"));
    assert!(!world.repo().join("test-feature-1").exists());
}

/// The engine dies at each seam from the beginning of the guard to its end. The turn goes on meanwhile, and is begun
/// again when it had not begun.
#[test]
fn at_each_seam() {
    let others = ["supervisor started", "before the commit: turn over", "after the commit: run over"];
    for seam in carillon_engine::seam::GUARD_SEAMS.iter().chain(&others) {
        let mut world = world();
        serve(&mut world, None);
        add_agent(&world, &format!("cat > /dev/null; {LEAK}; echo done"));
        world.end(libc::SIGTERM);
        serve(&mut world, Some(seam));
        let mut ask = ask(&world);
        assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
        serve(&mut world, None);
        assert!(wait(&mut ask).success(), "{seam}: it is answered");
        let told = notes(&world, seam);
        for name in LEAKED {
            assert!(
                told.contains(&format!("reaped {name}")) || told.contains(&format!(" {name}")),
                "{seam}: {told}"
            );
        }
        check_gone(&world, seam);
        check_no_trace(&world, seam);
    }
}

/// While no engine runs, the turn ends, and then the user makes something that the rules name: it is not the turn's.
#[test]
fn what_came_after_the_turn_while_no_engine_ran_stays() {
    let mut world = world();
    serve(&mut world, None);
    let go = world.path("go");
    add_agent(
        &world,
        &format!(
            "cat > /dev/null; {LEAK}; touch ready; until test -e {}; do sleep 0.02; done; echo done",
            go.display()
        ),
    );
    let mut ask = ask(&world);
    world.wait_for("the leak", || world.repo().join("ready").exists().then_some(()));
    world.crash();
    std::fs::write(&go, "").expect("a file");
    // The turn is over when none of its processes is left.
    world.wait_for("the end of the turn", || world.processes().is_empty().then_some(()));
    std::fs::create_dir(world.repo().join("test-feature-2")).expect("a directory");
    world.git(&["branch", "kitty/test-2"]);
    world.git(&["pack-refs", "--all"]);
    serve(&mut world, None);
    assert!(wait(&mut ask).success());
    let told = notes(&world, "after the turn");
    assert!(told.contains("reaped the directory test-feature-1"), "{told}");
    assert!(told.contains("kept the directory test-feature-2: it came only after the end"), "{told}");
    assert!(told.contains("kept the branch kitty/test-2"), "{told}");
    assert!(world.repo().join("test-feature-2").exists() && !world.repo().join("test-feature-1").exists());
    assert!(world.git(&["branch", "--list", "kitty/test-2"]).contains("kitty/test-2"));
}

/// A directory of the user's that was only given another name meanwhile is none that the turn made.
#[test]
fn what_was_moved_here_and_what_another_run_may_have_made_stays() {
    let mut world = world();
    std::fs::create_dir(world.repo().join("precious")).expect("a directory");
    serve(&mut world, None);
    let go = world.path("go");
    let wait_here = format!("until test -e {}; do sleep 0.02; done", go.display());
    add_agent(&world, "cat > /dev/null; mv precious test-feature-moved; mkdir test-feature-1; echo done");
    let task =
        world.ok(&["run", "--detach", "--cwd", world.repo().to_str().unwrap(), "--", "sh", "-c", &wait_here]);
    world.wait_for("the task", || {
        (world.ok(&["tasks", "show", task["id"].as_str().unwrap()])["state"] == "running").then_some(())
    });
    assert!(wait(&mut ask(&world)).success());
    let told = notes(&world, "beside a task");
    assert!(told.contains("kept the directory test-feature-1: another run is at work"), "{told}");
    std::fs::write(&go, "").expect("a file");
    world.wait_for("its end", || {
        (world.ok(&["tasks", "show", task["id"].as_str().unwrap()])["state"] == "succeeded").then_some(())
    });
    assert!(world.repo().join("test-feature-moved").exists() && world.repo().join("test-feature-1").exists());
    std::fs::rename(world.repo().join("test-feature-moved"), world.repo().join("precious")).unwrap();
    assert!(wait(&mut ask(&world)).success());
    let told = notes(&world, "alone");
    assert!(told.contains("kept the directory test-feature-moved: it was there before"), "{told}");
    assert!(world.repo().join("test-feature-moved").exists());
}
