//! What an ask ends in: its children, its callee, its deadline, its caller's patience.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{CARILLON, World, wait};

/// Opens the repository and adds a headless agent that runs a shell script with the prompt on its
/// standard input.
pub fn add_headless(world: &World, name: &str, script: &str) {
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let profile = format!("{name}-profile");
    let plain = ["--adapter", "plain", "--program", "/bin/sh", "--arg", "-c", "--arg", script];
    world.ok(&[&["profile", "add", &profile], &plain[..]].concat());
    world.ok(&["agent", "add", name, "--project", "repo", "--profile", &profile, "--mode", "headless"]);
}

/// Asks and expects this exit code; answers the ask as it was printed.
fn ask(world: &World, args: &[&str], code: i32) -> Value {
    let output = world.run(&[&["--json", "ask"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {output:?}"))
}

fn messages(world: &World, agent: &str, kind: &str) -> Vec<Value> {
    let inbox = world.ok(&["inbox", agent]);
    inbox.as_array().expect("a list").iter().filter(|message| message["kind"] == kind).cloned().collect()
}

#[test]
fn a_child_that_ends_badly_ends_the_ask_the_same_way_and_is_named() {
    let cases = [
        ("carillon run -- sh -c 'echo why; exit 3'", "failed", "exited 3"),
        ("carillon run --timeout 200ms -- sleep 1000", "timed_out", "timed out"),
        ("carillon run -- sh -c 'kill -9 $$'", "failed", "SIGKILL"),
        ("carillon run -- /no/such/program", "failed", "/no/such/program"),
    ];
    for (child, state, words) in cases {
        let world = World::started();
        add_headless(&world, "bob", &format!("{child} > /dev/null; echo fine"));
        let ask = ask(&world, &["bob", "do it"], 1);
        assert_eq!((&ask["state"], &ask["final"]), (&json!(state), &json!("fine")), "{child}: {ask}");
        let (child, reason) = (&ask["children"][0], ask["reason"].as_str().expect("a reason"));
        assert!(reason.contains(child["id"].as_str().unwrap()) && reason.contains(words), "{reason}");
        assert_eq!(messages(&world, "bob", "task_ended").len(), 0, "the ask tells it");
    }
}

#[test]
fn an_answer_wakes_a_caller_whose_wakes_were_given_up() {
    let mut world = World::started();
    // Once: else each answer would be a reason to ask again.
    let ask_once =
        "[ -e asked ] || { touch asked; carillon ask bob 'how many' --detach --wait 1ms > /dev/null; }; cat";
    add_headless(&world, "ada", ask_once);
    add_headless(&world, "bob", "until [ -e go ]; do sleep 0.02; done; echo four");
    assert_eq!(ask(&world, &["ada", "ask bob"], 0)["final"], "ask bob");
    world.crash();
    let ledger = rusqlite::Connection::open(world.home().join("carillon.db")).unwrap();
    ledger
        .execute("UPDATE agents SET wake_failed = 6, wake_reason = 'it fails' WHERE name = 'ada'", [])
        .unwrap();
    drop(ledger);
    world.start(&[]);
    std::fs::write(world.repo().join("go"), "").unwrap();
    world.wait_for("the answer", || {
        let answers = messages(&world, "ada", "ask_answered");
        (answers.len() == 1 && answers[0]["state"] == "delivered").then_some(())
    });
}

#[test]
fn a_cancelled_child_cancels_the_ask_and_the_other_children() {
    let world = World::started();
    add_headless(
        &world,
        "bob",
        "carillon run --title one -- sleep 1000 >/dev/null; carillon run --title two -- sleep 1000 >/dev/null; echo up",
    );
    let mut waiting = world.isolated(CARILLON);
    let mut waiting =
        waiting.args(["--json", "ask", "bob", "do it"]).stdout(Stdio::piped()).spawn().expect("ask");
    let children = world.wait_for("the final", || {
        let asks = world.ok(&["asks", "list"]);
        (asks[0]["state"] == "pending_final").then(|| asks[0]["children"].clone())
    });
    let bob = world.agent("bob");
    assert_eq!(bob["waiting_on"].as_array().map(Vec::len), Some(2), "{bob}");
    world.ok(&["tasks", "cancel", children[0]["id"].as_str().unwrap()]);
    assert_eq!(wait(&mut waiting).code(), Some(1));
    let ask: Value = serde_json::from_reader(waiting.stdout.take().unwrap()).expect("the ask");
    assert_eq!(ask["state"], "cancelled", "{ask}");
    world.wait_for("the end of the other child", || {
        let other = world.ok(&["tasks", "show", children[1]["id"].as_str().unwrap()]);
        (other["state"] == "cancelled").then_some(())
    });
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
}

#[test]
fn what_the_callee_has_seen_does_not_surprise_it() {
    let seen = [
        "id=$(carillon --json run -- sh -c 'exit 3' | sed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/'); carillon tasks wait $id > /dev/null",
        "id=$(carillon --json run -- sleep 1000 | sed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/'); carillon tasks cancel $id > /dev/null",
        "id=$(carillon --json run -- sh -c 'test -e again || { touch again; exit 1; }' | sed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/'); carillon tasks wait $id >/dev/null; carillon tasks retry $id > /dev/null",
    ];
    for script in seen {
        let world = World::started();
        add_headless(&world, "bob", &format!("{script}; echo saw it"));
        let ask = ask(&world, &["bob", "do it"], 0);
        assert_eq!((&ask["state"], &ask["final"]), (&json!("answered"), &json!("saw it")), "{script}: {ask}");
        assert_eq!(ask["children"].as_array().map(Vec::len), Some(1), "it is reported: {ask}");
    }
}

#[test]
fn a_detached_child_is_no_child() {
    let world = World::started();
    add_headless(&world, "bob", "carillon run --detach -- sh -c 'exit 3' > /dev/null; echo fine");
    let ask = ask(&world, &["bob", "do it"], 0);
    assert_eq!((&ask["state"], &ask["children"]), (&json!("answered"), &json!([])), "{ask}");
    // Woken by the message, bob does the same once more, so there may be more of them by now.
    world.wait_for("the message", || (!messages(&world, "bob", "task_ended").is_empty()).then_some(()));
}

#[test]
fn no_answer_and_a_dead_callee_are_failures_with_their_cause() {
    for (script, words) in [
        ("true", "without an answer"),
        ("echo half; echo broken >&2; exit 7", "broken"),
        ("kill -9 $$", "signal 9"),
        ("yes | head -c 40000000", "output_too_large"),
    ] {
        let world = World::started();
        add_headless(&world, "bob", script);
        let ask = ask(&world, &["bob", "do it"], 1);
        let reason = ask["reason"].as_str().expect("a reason");
        assert!(ask["state"] == "failed" && reason.contains(words), "{script}: {reason}");
    }
}

#[test]
fn nested_asks_answer_in_their_order_and_show_what_they_wait_for() {
    let world = World::started();
    add_headless(
        &world,
        "c",
        "carillon run -- sh -c 'until [ -e go ]; do sleep 0.02; done' >/dev/null; echo C",
    );
    add_headless(&world, "b", "carillon ask c 'and you?'; echo B");
    let mut waiting = world.isolated(CARILLON);
    let mut waiting = waiting.args(["ask", "b", "do it"]).stdout(Stdio::piped()).spawn().expect("ask");
    world.wait_for("c waits for its child", || {
        let (b, c) = (world.agent("b"), world.agent("c"));
        let waits = |agent: &Value| agent["waiting_on"].as_array().is_some_and(|on| on.len() == 1);
        (waits(&b) && waits(&c)).then_some(())
    });
    std::fs::write(world.repo().join("go"), "").expect("a file");
    assert_eq!(wait(&mut waiting).code(), Some(0));
    let said = std::io::read_to_string(waiting.stdout.take().unwrap()).unwrap();
    assert!(said.starts_with("C\n") && said.contains("\nB\n"), "{said}");
    let asks = world.ok(&["asks", "list"]);
    let (nested, outer) = (&asks[0], &asks[1]);
    assert_eq!((&nested["joined_ask"], &nested["caller_name"]), (&outer["id"], &json!("b")));
    assert_eq!(outer["children"][0]["id"], nested["id"]);
    assert!(nested["ended_ms"].as_i64() <= outer["ended_ms"].as_i64());
    assert_eq!(messages(&world, "b", "ask_answered").len(), 0, "its call had it");
}

#[test]
fn an_ask_that_would_wait_for_itself_is_refused_and_names_the_circle() {
    let world = World::started();
    add_headless(&world, "b", "cat >/dev/null; carillon ask a again 2>&1; echo \"exit $?\"");
    add_headless(&world, "a", "carillon ask b 'and back'");
    let ask = ask(&world, &["a", "go"], 0);
    let said = ask["final"].as_str().expect("an answer");
    assert!(said.contains("b → a → b") && said.contains("exit 4"), "{said}");
    let error = world.fails(&["ask", "a", "me", "--from", "a"], 4);
    assert!(error["message"].as_str().unwrap().contains("a → a"), "{error}");
}

#[test]
fn a_follow_up_replaces_the_final_with_the_results_in_hand() {
    let world = World::started();
    add_headless(
        &world,
        "bob",
        "p=$(cat); case $p in start*) carillon run -- sh -c 'sleep 0.2; echo RESULT' >/dev/null; echo started;; *) echo \"got: $p\";; esac",
    );
    let ask = ask(&world, &["bob", "start", "--after-children", "follow_up"], 0);
    let said = ask["final"].as_str().expect("an answer");
    assert!(said.starts_with("got:") && said.contains("    RESULT"), "{said}");
}

#[test]
fn an_agent_that_the_user_stopped_is_not_asked_and_goes_on_when_started() {
    let world = World::started();
    add_headless(&world, "bob", "cat");
    world.ok(&["agent", "stop", "bob"]);
    let error = world.fails(&["ask", "bob", "hello"], 4);
    assert!(error["hint"].as_str().unwrap().contains("agent start bob"), "{error}");
    world.ok(&["send", "bob", "for later"]);
    assert_eq!(messages(&world, "bob", "note")[0]["state"], "pending");
    world.ok(&["agent", "start", "bob"]);
    world.wait_for("the note", || (messages(&world, "bob", "note")[0]["state"] == "delivered").then_some(()));
    assert_eq!(ask(&world, &["bob", "hello"], 0)["final"], "hello");
}

#[test]
fn a_call_that_gives_up_leaves_a_handle_and_the_answer_comes_once() {
    let world = World::started();
    add_headless(&world, "alice", "cat >> told; echo ok");
    add_headless(&world, "bob", "until [ -e go ]; do sleep 0.02; done; echo late");
    let open = ask(&world, &["bob", "do it", "--from", "alice", "--wait", "300ms"], 0);
    assert_eq!(open["state"], "open", "{open}");
    std::fs::write(world.repo().join("go"), "").expect("a file");
    let told = || messages(&world, "alice", "ask_answered").into_iter().find(|m| m["state"] == "delivered");
    let message = world.wait_for("the message", told);
    assert_eq!(message["about"], open["id"]);
    let ask = world.ok(&["asks", "show", open["id"].as_str().unwrap()]);
    assert_eq!((&ask["final"], &ask["delivered"]), (&json!("late"), &json!("inbox")));
    let told = std::fs::read_to_string(world.repo().join("told")).expect("she was woken");
    assert_eq!(told.matches(message["id"].as_str().unwrap()).count(), 1, "{told}");
}

#[test]
fn the_same_key_is_the_same_ask() {
    let world = World::started();
    add_headless(&world, "bob", "echo x >> asked; cat");
    let first = ask(&world, &["bob", "hello", "--key", "k1"], 0);
    let again = ask(&world, &["bob", "something else", "--key", "k1"], 0);
    assert_eq!(first["id"], again["id"]);
    assert_ne!(ask(&world, &["bob", "hello", "--key", "k2"], 0)["id"], first["id"]);
    assert_ne!(ask(&world, &["bob", "hello"], 0)["id"], ask(&world, &["bob", "hello"], 0)["id"]);
    assert_eq!(std::fs::read_to_string(world.repo().join("asked")).unwrap().lines().count(), 4);
}

#[test]
fn a_deadline_holds_while_no_engine_is_there() {
    let mut world = World::started();
    add_headless(&world, "bob", "carillon run -- sleep 1000 > /dev/null; echo up");
    let id = ask(&world, &["bob", "do it", "--timeout", "2s", "--wait", "300ms"], 0)["id"].clone();
    world.crash();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
    while std::time::Instant::now() < deadline {
        std::thread::park_timeout(deadline.saturating_duration_since(std::time::Instant::now()));
    }
    world.start(&[]);
    let ask = world.ok(&["asks", "show", id.as_str().unwrap()]);
    assert_eq!(ask["state"], "timed_out", "{ask}");
    world.wait_for("the end of its child", || world.processes().is_empty().then_some(()));
}

#[test]
fn a_time_out_ends_the_turn_and_the_callee_is_free_again() {
    let world = World::started();
    add_headless(&world, "bob", "p=$(cat); case $p in hang) sleep 1000;; *) echo \"$p\";; esac");
    let slow = ask(&world, &["bob", "hang", "--timeout", "300ms"], 1);
    assert_eq!(slow["state"], "timed_out", "{slow}");
    assert_eq!(ask(&world, &["bob", "hello"], 0)["final"], "hello");
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
}

#[test]
fn quit_and_come_back_ends_an_ask_that_cannot_go_on_with_a_clear_failure() {
    let mut world = World::started();
    add_headless(&world, "bob", "sleep 1000");
    let id = ask(&world, &["bob", "do it", "--wait", "300ms"], 0)["id"].clone();
    world.end(libc::SIGTERM);
    world.start(&[]);
    let ask = world.ok(&["asks", "show", id.as_str().unwrap()]);
    let reason = ask["reason"].as_str().expect("a reason");
    assert!(ask["state"] == "failed" && reason.starts_with("interrupted"), "{ask}");
}

#[test]
fn a_removed_agent_ends_its_asks_and_its_messages_are_shown_as_undeliverable() {
    let world = World::started();
    add_headless(&world, "bob", "sleep 1000");
    let id = ask(&world, &["bob", "do it", "--wait", "200ms"], 0)["id"].clone();
    world.ok(&["send", "bob", "never mind"]);
    let bob = world.agent("bob")["id"].as_str().unwrap().to_owned();
    world.ok(&["agent", "remove", "bob"]);
    let ask = world.ok(&["asks", "show", id.as_str().unwrap()]);
    assert_eq!((&ask["state"], &ask["callee"]), (&json!("failed"), &json!(null)), "{ask}");
    assert_eq!(messages(&world, &bob, "note")[0]["state"], "undeliverable");
}
