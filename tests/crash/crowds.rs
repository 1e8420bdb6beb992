//! Many asks and many ends at once: none is lost, none is told twice, nothing stays.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::answers::add_headless;
use crate::support::{CARILLON, World, wait};

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count()
}

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads").count()
}

/// Two hundred, one after the other, some of them given up in the middle; then the same flat figures.
#[test]
fn two_hundred_asks_leave_nothing() {
    let world = World::started();
    add_headless(&world, "bob", "p=$(cat); case $p in hang) sleep 1000;; *) echo \"$p\";; esac");
    let one = |n: usize| {
        let prompt = format!("number {n}");
        let ask = world.ok(&["ask", "bob", &prompt]);
        assert_eq!((&ask["state"], &ask["final"]), (&json!("answered"), &json!(prompt)));
    };
    (0..20).for_each(one);
    let pid = world.engine_pid();
    let before = (descriptors(pid), threads(pid));
    for n in 20..200 {
        if n % 30 == 0 {
            let open = world.ok(&["ask", "bob", "hang", "--wait", "50ms"]);
            world.ok(&["asks", "cancel", open["id"].as_str().unwrap()]);
        }
        one(n);
    }
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    let flat = || descriptors(pid) <= before.0 + 4 && threads(pid) <= before.1 + 4;
    world.wait_for("the same descriptors and threads", || flat().then_some(()));
    let kept = std::fs::read_dir(world.home().join("runs")).unwrap().count();
    assert!(kept <= 25, "{kept} run directories are kept");
}

/// Two agents that ask each other all the time. What would wait for itself is refused, all else is
/// answered, and nobody hangs.
#[test]
fn a_hundred_rounds_of_crossing_asks() {
    let world = World::started();
    add_headless(&world, "a", "cat");
    add_headless(&world, "b", "cat");
    let (answered, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let rounds = |from: &str, to: &str| {
        for round in 0..50 {
            let output = world.run(&["--json", "ask", to, &format!("round {round}"), "--from", from]);
            match output.status.code() {
                Some(0) => answered.fetch_add(1, Ordering::Relaxed),
                Some(4) => refused.fetch_add(1, Ordering::Relaxed),
                _ => panic!("{output:?}"),
            };
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| rounds("a", "b"));
        scope.spawn(|| rounds("b", "a"));
    });
    let (answered, refused) = (answered.into_inner(), refused.into_inner());
    assert_eq!(answered + refused, 100);
    let asks = world.ok(&["asks", "list"]);
    let asks = asks.as_array().unwrap();
    assert_eq!(asks.len(), answered, "what was refused was never there");
    assert!(
        asks.iter().all(|ask| ask["state"] == "answered" && ask["delivered"] == "call"),
        "each was told once"
    );
}

/// Completions for an agent that sleeps: all of them arrive, each once, in few turns.
#[test]
fn two_hundred_ends_reach_a_sleeping_owner() {
    let world = World::started();
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 20\n").unwrap();
    add_headless(&world, "bob", "echo turn >> told; cat >> told; echo ok");
    world.ok(&["agent", "stop", "bob"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let output = world
                        .isolated(CARILLON)
                        .current_dir(world.repo())
                        .args(["run", "--owner", "bob", "--", "true"])
                        .output()
                        .expect("carillon run");
                    assert!(output.status.success(), "{output:?}");
                }
            });
        }
    });
    let all_ended = || {
        let inbox = world.ok(&["inbox", "bob"]);
        (inbox.as_array().unwrap().len() == 200).then_some(inbox)
    };
    let inbox = world.wait_for("all ends", all_ended);
    assert!(inbox.as_array().unwrap().iter().all(|message| message["state"] == "pending"));
    world.ok(&["agent", "start", "bob"]);
    let delivered = || {
        let inbox = world.ok(&["inbox", "bob"]);
        let done = inbox.as_array().unwrap().iter().all(|message| message["state"] == "delivered");
        done.then_some(inbox)
    };
    let inbox = world.wait_for("all delivered", delivered);
    let told = std::fs::read_to_string(world.repo().join("told")).unwrap();
    assert!(told.lines().filter(|line| *line == "turn").count() <= 2, "few turns");
    for message in inbox.as_array().unwrap() {
        let (id, about) = (message["id"].as_str().unwrap(), message["about"].as_str().unwrap());
        assert_eq!((told.matches(id).count(), told.matches(about).count()), (1, 1), "{message}");
    }
}

/// Twenty that end in the same second while their owner works: told after the turn, in one wake.
#[test]
fn ends_during_a_turn_are_told_after_it_and_once() {
    let world = World::started();
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 40\n").unwrap();
    add_headless(
        &world,
        "bob",
        "p=$(cat); case $p in work) until [ -e go ]; do sleep 0.02; done; echo worked >> told; echo done;; *) echo turn >> told; echo \"$p\" >> told; echo ok;; esac",
    );
    let mut waiting = world.isolated(CARILLON);
    let mut waiting = waiting.args(["ask", "bob", "work"]).stdout(Stdio::null()).spawn().expect("ask");
    world.wait_for("the turn", || (world.agent("bob")["state"] == "working").then_some(()));
    for _ in 0..20 {
        let output = world
            .isolated(CARILLON)
            .current_dir(world.repo())
            .args(["run", "--owner", "bob", "--", "true"])
            .output()
            .expect("carillon run");
        assert!(output.status.success(), "{output:?}");
    }
    let ended = |state: &str| {
        let inbox = world.ok(&["inbox", "bob"]);
        let count =
            inbox.as_array().unwrap().iter().filter(|m| m["kind"] == "task_ended" && m["state"] == state);
        count.count() == 20
    };
    world.wait_for("all ends", || ended("pending").then_some(()));
    assert!(!world.repo().join("told").exists(), "nothing was said in the middle of the turn");
    std::fs::write(world.repo().join("go"), "").unwrap();
    assert!(wait(&mut waiting).success());
    world.wait_for("the wake", || ended("delivered").then_some(()));
    let told = std::fs::read_to_string(world.repo().join("told")).unwrap();
    assert!(told.starts_with("worked\nturn\n"), "{told}");
    assert_eq!(told.lines().filter(|line| *line == "turn").count(), 1, "{told}");
}

/// A wake that comes to nothing is tried again, told as a repeat, and given up visibly.
#[test]
fn a_wake_that_fails_is_tried_again_and_then_given_up() {
    let world = World::started();
    add_headless(&world, "bob", "cat >> told; if [ -e well ]; then echo ok; else touch well; exit 1; fi");
    world.ok(&["send", "bob", "listen"]);
    let note = || {
        let inbox = world.ok(&["inbox", "bob"]);
        let note = inbox[0].clone();
        (note["state"] == "delivered").then_some(note)
    };
    let note = world.wait_for("the delivery", note);
    assert_eq!(note["repeated"], true, "{note}");
    let told = std::fs::read_to_string(world.repo().join("told")).unwrap();
    assert_eq!(told.matches(note["id"].as_str().unwrap()).count(), 2, "{told}");
    assert_eq!(told.matches("repeated").count(), 1, "{told}");
    let wake = |agent: &Value| agent["wake"].clone();
    assert_eq!(wake(&world.agent("bob")), json!(null), "it went well in the end");
}
