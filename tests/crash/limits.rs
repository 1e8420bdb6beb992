//! Session limits and approvals: what waits, for whom, and how it goes on.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::answers::add_headless;
use crate::support::{CARILLON, World, wait};

/// A program that speaks like Claude Code. It is limited until the file `open` is there or the told time has
/// come; each of its turns is counted by agent.
const LIMITED: &str = r#"
cat > prompt.$CARILLON_AGENT
echo x >> turns.$CARILLON_AGENT
echo '{"type":"system","subtype":"init","session_id":"11111111-1111-4111-8111-111111111111"}'
now=$(date +%s)
if [ ! -e open ] && [ "$now" -lt "$(cat until)" ]; then
  echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(cat until)',"rateLimitType":"five_hour"}}'
  echo '{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit","session_id":"11111111-1111-4111-8111-111111111111"}'
  exit 1
fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine","session_id":"11111111-1111-4111-8111-111111111111"}'
"#;

fn limited_world(seconds: i64) -> World {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let program = world.path("claude");
    std::fs::write(&program, format!("#!/bin/sh\n{LIMITED}")).expect("a program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("its mode");
    set_until(&world, seconds);
    let program = program.to_str().expect("UTF-8").to_owned();
    world.ok(&["profile", "add", "c", "--adapter", "claude", "--program", &program]);
    for name in ["one", "two"] {
        world.ok(&["agent", "add", name, "--project", "repo", "--profile", "c", "--mode", "headless"]);
    }
    add_headless(&world, "other", "cat");
    world
}

fn set_until(world: &World, seconds: i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs();
    let until = now.cast_signed() + seconds;
    std::fs::write(world.repo().join("until"), until.to_string()).expect("a file");
}

fn turns(world: &World, name: &str) -> usize {
    let id = world.agent(name)["id"].as_str().expect("an id").to_owned();
    let counted = std::fs::read_to_string(world.repo().join(format!("turns.{id}")));
    counted.unwrap_or_default().lines().count()
}

fn open_ask(world: &World, agent: &str) -> Value {
    world.ok(&["ask", agent, "do it", "--wait", "100ms"])["id"].clone()
}

fn ended(world: &World, id: &Value) -> Value {
    world.wait_for("the end of an ask", || {
        let ask = world.ok(&["asks", "show", id.as_str().unwrap()]);
        (!ask["ended_ms"].is_null()).then_some(ask)
    })
}

#[test]
fn all_agents_of_a_profile_wait_and_resume_once_each_also_across_a_crash() {
    let mut world = limited_world(4);
    let first = open_ask(&world, "one");
    world.wait_for("the limit", || (world.agent("one")["state"] == "limited").then_some(()));
    let second = open_ask(&world, "two");
    assert_eq!(turns(&world, "two"), 0, "nobody knocks at a closed door");
    let ask = world.ok(&["asks", "show", second.as_str().unwrap()]);
    assert_eq!((&ask["state"], &ask["waiting_for"]), (&json!("open"), &json!("limit")), "{ask}");
    assert_eq!(world.ok(&["ask", "other", "hello"])["final"], "hello", "another profile goes on");
    let limits = world.ok(&["limits", "list"]);
    assert_eq!(limits[0]["profile_name"], "c");
    assert!(limits[0]["until_ms"].is_number() && limits[0]["waiting"] == json!(["one", "two"]), "{limits}");
    world.crash();
    world.start(&[]);
    for (id, name) in [(first, "one"), (second, "two")] {
        let ask = ended(&world, &id);
        assert_eq!((&ask["state"], &ask["final"]), (&json!("answered"), &json!("fine")), "{ask}");
        let expected = if name == "one" { 2 } else { 1 };
        assert_eq!(turns(&world, name), expected, "{name} was tried once after the limit");
    }
    assert_eq!(world.ok(&["limits", "list"]), json!([]));
}

#[test]
fn the_user_resumes_clears_and_holds() {
    let world = limited_world(3_600);
    let first = open_ask(&world, "one");
    world.wait_for("the limit", || (world.agent("one")["state"] == "limited").then_some(()));
    // Tried too early, it is limited still, and nothing is lost.
    world.ok(&["limits", "resume", "c"]);
    world.ok(&["limits", "resume", "c"]);
    world.wait_for("the second try", || (turns(&world, "one") == 2).then_some(()));
    world.wait_for("the limit", || {
        let limits = world.ok(&["limits", "list"]);
        (limits[0]["trying"] == false).then_some(())
    });
    assert_eq!(turns(&world, "one"), 2, "asked twice, it is tried once");
    world.ok(&["limits", "hold", "c"]);
    assert_eq!(world.ok(&["limits", "list"])[0]["resume_ms"], json!(null));
    std::fs::write(world.repo().join("open"), "").expect("a file");
    world.ok(&["limits", "clear", "c"]);
    assert_eq!(ended(&world, &first)["final"], "fine");
    let one = world.agent("one")["id"].as_str().unwrap().to_owned();
    let prompt = std::fs::read_to_string(world.repo().join(format!("prompt.{one}"))).unwrap();
    assert_eq!(prompt, "do it", "a turn that was rejected gets its prompt again");
}

#[test]
fn who_cannot_begin_keeps_nobody_else_waiting() {
    let world = limited_world(3_600);
    // What waits longest is for a terminal that nobody has started.
    world.ok(&["agent", "add", "offline", "--project", "repo", "--profile", "c"]);
    world.ok(&["send", "offline", "a note"]);
    let first = open_ask(&world, "one");
    world.wait_for("the limit", || (world.agent("one")["state"] == "limited").then_some(()));
    std::fs::write(world.repo().join("open"), "").expect("a file");
    world.ok(&["limits", "resume", "c"]);
    assert_eq!(ended(&world, &first)["final"], "fine");
    world.wait_for("the limit to be over", || (world.ok(&["limits", "list"]) == json!([])).then_some(()));
    assert_eq!(world.ok(&["inbox", "offline"])[0]["state"], "pending", "it waits for its start");
}

#[test]
fn a_limit_without_an_end_is_unknown() {
    let world = limited_world(-10);
    let program = std::fs::read_to_string(world.path("claude")).unwrap();
    let silent = program
        .replace("[ \"$now\" -lt \"$(cat until)\" ]", "true")
        .replace(r#",\"resetsAt\":'$(cat until)',"#, ",");
    std::fs::write(world.path("claude"), silent.replace(r#""resetsAt":'$(cat until)',"#, "")).unwrap();
    let id = open_ask(&world, "one");
    world.wait_for("the limit", || (world.agent("one")["state"] == "limited").then_some(()));
    let limits = world.ok(&["limits", "list"]);
    assert_eq!(limits[0]["until_ms"], json!(null), "no time is made up: {limits}");
    assert!(
        limits[0]["resume_ms"].as_i64() > limits[0]["since_ms"].as_i64(),
        "but it is tried again: {limits}"
    );
    world.ok(&["asks", "cancel", id.as_str().unwrap()]);
    assert_eq!(world.agent("one")["queued"], 0);
}

#[test]
fn a_command_waits_for_the_users_word() {
    let world = World::started();
    add_headless(
        &world,
        "bob",
        "carillon run -- touch made > /dev/null; carillon run -- echo free > /dev/null; echo up",
    );
    world.ok(&["profile", "set", "bob-profile", "--policy", "ask", "--allow", "echo"]);
    let mut waiting = world.isolated(CARILLON);
    let mut waiting =
        waiting.args(["--json", "ask", "bob", "go"]).stdout(Stdio::piped()).spawn().expect("ask");
    let approval = world.wait_for("the question", || {
        let all = world.ok(&["approvals", "list"]);
        all.as_array().unwrap().iter().find(|one| one["state"] == "pending").cloned()
    });
    assert_eq!((&approval["command"], &approval["agent_name"]), (&json!(["touch", "made"]), &json!("bob")));
    let task = world.ok(&["tasks", "show", approval["task"].as_str().unwrap()]);
    assert_eq!(task["state"], "awaiting_approval");
    assert!(!world.repo().join("made").exists());
    world.ok(&["approvals", "approve", approval["id"].as_str().unwrap()]);
    assert!(wait(&mut waiting).success());
    let ask: Value = serde_json::from_reader(waiting.stdout.take().unwrap()).expect("the ask");
    assert_eq!(ask["children"].as_array().map(Vec::len), Some(2), "{ask}");
    assert!(world.repo().join("made").exists());
    world.fails(&["approvals", "deny", approval["id"].as_str().unwrap()], 4);
}

#[test]
fn a_task_that_is_tried_again_is_decided_again_by_its_id() {
    let world = World::started();
    let script = "if [ -e task ]; then carillon tasks retry $(cat task); else carillon run -- false; fi > /dev/null; echo up";
    add_headless(&world, "bob", script);
    world.ok(&["profile", "set", "bob-profile", "--policy", "ask"]);
    for attempt in 1..=2 {
        let ask = open_ask(&world, "bob");
        let pending = world.wait_for("the question", || {
            let all = world.ok(&["approvals", "list"]);
            all.as_array().unwrap().iter().find(|one| one["state"] == "pending").cloned()
        });
        let task = pending["task"].as_str().unwrap();
        std::fs::write(world.repo().join("task"), task).expect("a file");
        world.ok(&["approvals", "approve", task]);
        ended(&world, &ask);
        assert_eq!(world.ok(&["tasks", "show", task])["attempt"], attempt);
    }
}

#[test]
fn what_the_user_denies_is_not_run_and_the_ask_says_so() {
    let mut world = World::started();
    add_headless(&world, "bob", "carillon run -- touch made > /dev/null; echo up");
    world.ok(&["profile", "set", "bob-profile", "--policy", "ask"]);
    let id = world.ok(&["ask", "bob", "go", "--wait", "400ms"])["id"].clone();
    world.crash();
    world.start(&[]);
    let pending = world.ok(&["approvals", "list"])[0].clone();
    assert_eq!(pending["state"], "pending", "it still waits: {pending}");
    world.ok(&["approvals", "deny", pending["id"].as_str().unwrap()]);
    let ask = ended(&world, &id);
    assert!(
        ask["state"] == "cancelled" && ask["reason"].as_str().unwrap().contains("did not approve"),
        "{ask}"
    );
    assert!(!world.repo().join("made").exists());
}

#[test]
fn a_profile_that_may_run_nothing_runs_nothing() {
    let world = World::started();
    add_headless(&world, "bob", "carillon run -- touch made 2>&1; echo \"exit $?\"");
    world.ok(&["profile", "set", "bob-profile", "--policy", "never"]);
    let ask = world.ok(&["ask", "bob", "go"]);
    assert!(ask["final"].as_str().unwrap().contains("exit 4"), "{ask}");
    assert!(!world.repo().join("made").exists());
    // The user himself may.
    world.ok(&["run", "--cwd", world.repo().to_str().unwrap(), "--wait", "--", "touch", "made"]);
}
