//! What turns have used: counted once for each turn, summed for its agent and its project, and kept.

mod support;

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use support::{CARILLON, World, wait};

/// A program that says what stands in the file `next`, and before that waits for the file `go` where `hold` is there.
fn add(world: &World, name: &str, adapter: &str) {
    let dir = world.path("").to_string_lossy().into_owned();
    let script =
        format!("cat >/dev/null; cd {dir}; while [ -e hold ] && ! [ -e go ]; do sleep 0.02; done; cat next");
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    let profile = ["profile", "add", name, "--adapter", adapter, "--program", "/bin/sh", "--arg", "-c"];
    world.ok(&[&profile[..], &["--arg", &script]].concat());
    world.ok(&["agent", "add", name, "--project", "repo", "--profile", name, "--mode", "headless"]);
}

/// What Codex says of a turn: the tokens are those of its whole conversation.
fn codex(thread: u8, input: u64, output: u64) -> String {
    [
        json!({"type": "thread.started", "thread_id": format!("0199{thread:04}-0000-7000-8000-000000000000")}),
        json!({"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": input, "cached_input_tokens": input / 2,
            "output_tokens": output, "reasoning_output_tokens": 1}}),
    ]
    .map(|event| format!("{event}\n"))
    .concat()
}

fn say(world: &World, events: &str) {
    std::fs::write(world.path("next"), events).expect("what it says");
}

fn ask(world: &World, agent: &str) {
    assert_eq!(world.ok(&["ask", agent, "go on"])["state"], "answered");
}

fn begin_ask(world: &World, agent: &str) -> Child {
    let mut command = world.isolated(CARILLON);
    command.args(["ask", agent, "go on"]).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("carillon ask")
}

fn project(world: &World) -> Value {
    world.ok(&["project", "list"])[0]["usage"].clone()
}

/// Turns, and tokens read and written, of a usage.
fn counts(usage: &Value) -> (u64, u64, u64) {
    let count = |field: &str| usage[field].as_u64().unwrap_or_else(|| panic!("no {field} in {usage}"));
    (count("turns"), count("input_tokens"), count("output_tokens"))
}

#[test]
fn a_conversation_that_counts_itself_as_a_whole_is_counted_turn_by_turn() {
    let mut world = World::started();
    add(&world, "ada", "codex");
    assert_eq!((&world.agent("ada")["usage"], project(&world)), (&Value::Null, Value::Null), "unknown");
    say(&world, &codex(1, 400, 80));
    ask(&world, "ada");
    assert_eq!(counts(&world.agent("ada")["usage"]), (1, 400, 80));
    say(&world, &codex(1, 1_000, 90));
    ask(&world, "ada");
    let usage = world.agent("ada")["usage"].clone();
    assert_eq!(counts(&usage), (2, 1_000, 90), "what is new alone");
    assert_eq!((&usage["cached_tokens"], &usage["reasoning_tokens"]), (&json!(500), &json!(1)));
    assert_eq!((&usage["cost_micro_usd"], &usage["priced_turns"]), (&Value::Null, &json!(0)), "no price");
    say(&world, &codex(2, 50, 5));
    ask(&world, "ada");
    assert_eq!(counts(&world.agent("ada")["usage"]), (3, 1_050, 95), "a new conversation begins at zero");
    say(&world, &codex(2, 40, 9));
    ask(&world, "ada");
    assert_eq!(counts(&world.agent("ada")["usage"]), (4, 1_050, 99), "never backwards");
    let turns = world.call("turns_list", json!({"agent": "ada"}));
    let each: Vec<_> = turns.as_array().unwrap().iter().map(|turn| counts(&turn["usage"])).collect();
    assert_eq!(each, [(1, 0, 4), (1, 50, 5), (1, 600, 10), (1, 400, 80)]);
    world.crash();
    world.start(&[]);
    assert_eq!(counts(&world.agent("ada")["usage"]), (4, 1_050, 99));
    assert_eq!(counts(&project(&world)), (4, 1_050, 99));
}

#[test]
fn a_turn_that_ended_while_no_engine_was_there_counts_once() {
    let mut world = World::started();
    add(&world, "ada", "codex");
    say(&world, &codex(1, 400, 80));
    ask(&world, "ada");
    std::fs::write(world.path("hold"), "").unwrap();
    say(&world, &codex(1, 1_000, 90));
    let mut waiting = begin_ask(&world, "ada");
    world.wait_for("the turn", || (world.agent("ada")["state"] == "working").then_some(()));
    world.crash();
    std::fs::write(world.path("go"), "").unwrap();
    for _ in 0..2 {
        world.start(&[]);
        let usage = world.wait_for("the end of the turn", || {
            let agent = world.agent("ada");
            (agent["state"] == "idle").then(|| agent["usage"].clone())
        });
        assert_eq!(counts(&usage), (2, 1_000, 90));
        if let Some(status) = waiting.try_wait().unwrap() {
            assert!(status.success());
        }
        world.crash();
    }
    world.start(&[]);
    assert!(wait(&mut waiting).success());
    assert_eq!(counts(&project(&world)), (2, 1_000, 90));
}

#[test]
fn prices_are_whole_millionths_and_stay_with_the_project() {
    let world = World::started();
    add(&world, "ada", "codex");
    add(&world, "cleo", "claude");
    say(&world, &codex(1, 400, 80));
    ask(&world, "ada");
    let result = json!({"type": "result", "is_error": false, "result": "done",
        "session_id": "70435f15-5fa0-4c49-84da-17f7c03abed9", "total_cost_usd": 9.0,
        "model_usage_since_last_result": {"m": {"inputTokens": 150, "cacheReadInputTokens": 12_000,
            "cacheCreationInputTokens": 10, "outputTokens": 40, "costUSD": 0.01625}}});
    say(&world, &format!("{result}\n"));
    ask(&world, "cleo");
    let usage = world.agent("cleo")["usage"].clone();
    assert_eq!(counts(&usage), (1, 12_160, 40));
    assert_eq!((&usage["cost_micro_usd"], &usage["cached_tokens"]), (&json!(16_250), &json!(12_000)));
    let words = |args: &[&str]| String::from_utf8(world.run(args).stdout).unwrap();
    assert!(words(&["agent", "list"]).contains("12.1k in, 40 out, $0.0162"), "{}", words(&["agent", "list"]));
    let list = words(&["project", "list"]);
    assert!(list.contains("12.5k in, 120 out, at least $0.0162"), "{list}");
    world.ok(&["agent", "remove", "cleo"]);
    let usage = project(&world);
    assert_eq!((counts(&usage), &usage["cost_micro_usd"]), ((2, 12_560, 120), &json!(16_250)));
    // Numbers that no program can mean end the turn all the same.
    say(&world, &codex(1, u64::MAX, 81));
    ask(&world, "ada");
    assert_eq!(counts(&world.agent("ada")["usage"]), (2, 1_000_000_000_400, 81));
}
