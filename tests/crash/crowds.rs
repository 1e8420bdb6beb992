//! Many asks and many ends at once: none is lost, none is told twice, nothing stays.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

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

/// A wake that comes to nothing is tried again, after longer and longer pauses, and given up visibly; the next start
/// tells what waits.
#[test]
fn a_wake_that_fails_is_tried_again_and_then_given_up() {
    let world = World::started();
    add_headless(&world, "bob", "cat >> told; [ -e well ] && echo ok");
    world.ok(&["send", "bob", "listen"]);
    let (mut attempt, mut next_ms) = (0, 0);
    while attempt < 5 {
        let wake = world.wait_for("the next failure", || {
            let wake = world.agent("bob")["wake"].clone();
            (wake["attempt"].as_i64() > Some(attempt)).then_some(wake)
        });
        let (failed, next) = (wake["attempt"].as_i64().unwrap(), wake["next_ms"].as_i64().unwrap());
        assert_eq!((failed, &wake["given_up"]), (attempt + 1, &json!(false)), "{wake}");
        // A try is never before its time, so the times are at least as far apart as the pauses.
        assert!(next - next_ms >= 500 << attempt, "pause {failed} is too short: {wake}");
        (attempt, next_ms) = (failed, next);
    }
    let given_up = world.wait_for("it to be given up", || {
        let wake = world.agent("bob")["wake"].clone();
        (wake["given_up"] == true).then_some(wake)
    });
    assert_eq!((&given_up["attempt"], &given_up["next_ms"]), (&json!(6), &json!(null)), "{given_up}");
    let note = || world.ok(&["inbox", "bob"])[0].clone();
    assert_eq!(
        (&note()["state"], &world.agent("bob")["queued"]),
        (&json!("pending"), &json!(1)),
        "it waits on"
    );
    std::fs::write(world.repo().join("well"), "").unwrap();
    world.ok(&["agent", "start", "bob"]);
    let note = world.wait_for("the delivery", || Some(note()).filter(|note| note["state"] == "delivered"));
    assert_eq!(note["repeated"], true, "{note}");
    let told = std::fs::read_to_string(world.repo().join("told")).unwrap();
    assert_eq!(told.matches(note["id"].as_str().unwrap()).count(), 7, "{told}");
    assert_eq!(world.agent("bob")["wake"], json!(null), "it went well in the end");
}

/// An owner that is hardly ever free gets what waits in the first gap, and meanwhile one sees how much that is.
#[test]
fn an_owner_that_is_nearly_always_busy_is_told_in_the_gap() {
    let world = World::started();
    let script = "p=$(cat); case $p in work*) echo \"$p\" >> told; until [ -e \"go.${p#work }\" ]; do sleep 0.02; done;; \
                  *) echo \"$p\" >> told;; esac; echo ok";
    add_headless(&world, "bob", script);
    let first = world.ok(&["ask", "bob", "work 1", "--wait", "50ms"])["id"].clone();
    world.wait_for("the turn", || (world.agent("bob")["state"] == "working").then_some(()));
    world.ok(&["send", "bob", "mind the gap"]);
    let second = world.ok(&["ask", "bob", "work 2", "--wait", "50ms"])["id"].clone();
    let note = || {
        let inbox = world.ok(&["inbox", "bob"]);
        inbox.as_array().unwrap().iter().find(|message| message["kind"] == "note").expect("the note").clone()
    };
    let bob = world.agent("bob");
    assert_eq!((&bob["queued"], &note()["state"]), (&json!(2), &json!("pending")), "{bob}");
    std::fs::write(world.repo().join("go.1"), "").unwrap();
    world.wait_for("the delivery between two turns", || (note()["state"] == "delivered").then_some(()));
    world.wait_for("the next turn", || (world.agent("bob")["queued"] == 0).then_some(()));
    std::fs::write(world.repo().join("go.2"), "").unwrap();
    for id in [first, second] {
        let is_over = || world.ok(&["asks", "show", id.as_str().unwrap()])["state"] == "answered";
        world.wait_for("the answer", || is_over().then_some(()));
    }
    let told = std::fs::read_to_string(world.repo().join("told")).unwrap();
    let place = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words} in {told}"));
    assert!(place("work 1") < place("mind the gap") && place("mind the gap") < place("work 2"), "{told}");
}

/// An owner that closes itself while something of its own goes on is not woken for it, also not after a crash. Its
/// directory stays: somebody may start it again, and is told then.
#[test]
fn an_owner_that_closed_itself_is_not_woken_by_what_it_left() {
    let mut world = World::started();
    let script = "p=$(cat); echo turn >> told; case $p in work) carillon run --detach -- sh -c 'until [ -e go ]; do sleep 0.02; done' \
                  > /dev/null; carillon agent stop bob > /dev/null; sleep 1000;; *) echo \"$p\" >> told; echo ok;; esac";
    add_headless(&world, "bob", script);
    // It may be over at once: an owner that was stopped answers nothing.
    world.run(&["ask", "bob", "work", "--wait", "50ms"]);
    world.wait_for("its own stop", || (world.agent("bob")["state"] == "offline").then_some(()));
    std::fs::write(world.repo().join("go"), "").unwrap();
    world.wait_for("the end of the task", || {
        let task = world.ok(&["tasks", "list"])[0].clone();
        (!task["ended_ms"].is_null()).then_some(())
    });
    world.crash();
    world.start(&[]);
    assert_eq!((&world.agent("bob")["state"], &world.agent("bob")["queued"]), (&json!("offline"), &json!(1)));
    assert_eq!(
        std::fs::read_to_string(world.repo().join("told")).unwrap(),
        "turn\n",
        "no wake after its end"
    );
}
