//! What agents may run is the user's to say: an agent can neither go around it nor change it.

use serde_json::Value;

use crate::answers::add_headless;
use crate::support::World;

fn under(policy: &str, script: &str) -> World {
    let world = World::started();
    add_headless(&world, "bob", script);
    world.ok(&["profile", "set", "bob-profile", "--policy", policy]);
    world
}

fn pending(world: &World) -> Option<Value> {
    let all = world.ok(&["approvals", "list"]);
    all.as_array().expect("a list").iter().find(|one| one["state"] == "pending").cloned()
}

/// The ask, once it is over.
fn over(world: &World, ask: &Value) -> Value {
    world.wait_for("the end of the ask", || {
        let now = world.ok(&["asks", "show", ask["id"].as_str().expect("an id")]);
        now["ended_ms"].is_i64().then_some(now)
    })
}

#[test]
fn a_command_for_another_owner_is_bound_as_any_other() {
    let world = under("never", "carillon run --owner bob -- touch made 2>&1; echo \"exit $?\"");
    let ask = world.ok(&["ask", "bob", "go"]);
    assert!(ask["final"].as_str().expect("a final").contains("exit 4"), "{ask}");
    assert!(!world.repo().join("made").exists());
    world.ok(&["profile", "set", "bob-profile", "--policy", "ask"]);
    let ask = world.ok(&["ask", "bob", "go", "--wait", "1ms"]);
    let waits = world.wait_for("the question", || pending(&world));
    assert!(!world.repo().join("made").exists());
    world.ok(&["approvals", "approve", waits["id"].as_str().expect("an id")]);
    assert_eq!(over(&world, &ask)["state"], "answered");
    assert!(world.repo().join("made").exists());
}

/// Also a program that hides from which run it comes: those above it tell.
#[test]
fn an_agent_cannot_approve_what_it_wants_to_run() {
    let script = "id=$(carillon run -- touch made | cut -d' ' -f1)
        carillon approvals approve $id 2>&1; echo \"exit $?\"
        env -u CARILLON_RUN -u CARILLON_AGENT carillon approvals approve $id; echo \"exit $?\"
        carillon profile set bob-profile --policy allow; echo \"exit $?\"";
    let world = under("ask", script);
    let ask = world.ok(&["ask", "bob", "go", "--wait", "1ms"]);
    let task = |ask: &Value| ask["children"][0]["id"].as_str().map(str::to_owned);
    let asked = world.wait_for("its answer, that waits for the command", || {
        let now = world.ok(&["asks", "show", ask["id"].as_str()?]);
        (now["state"] == "pending_final").then_some(now)
    });
    let waits = pending(&world).expect("it still waits");
    assert_eq!(waits["task"].as_str().map(str::to_owned), task(&asked));
    assert!(!world.repo().join("made").exists());
    world.ok(&["approvals", "deny", waits["id"].as_str().expect("an id")]);
    let said = over(&world, &ask);
    let turns = world.call("turns_list", serde_json::json!({"agent": "bob"}));
    let text = turns[0]["final"].as_str().unwrap_or_default();
    assert_eq!(text.matches("exit 4").count(), 3, "{said} {turns}");
    assert!(text.contains("for the user to decide"), "it is told why: {text}");
    let profiles = world.ok(&["profile", "list"]);
    assert!(profiles.as_array().expect("a list").iter().any(|p| p["policy"] == "ask"), "{profiles}");
}

/// Who may run everything may decide everything, like a shell of the user's in a pane.
#[test]
fn an_agent_that_may_run_everything_may_change_what_others_may() {
    let world =
        under("allow", "carillon profile set bob-profile --allow 'npm test' > /dev/null; echo \"exit $?\"");
    let ask = world.ok(&["ask", "bob", "go"]);
    assert!(ask["final"].as_str().expect("a final").contains("exit 0"), "{ask}");
}

#[test]
fn what_was_taken_from_a_profile_is_gone() {
    let world = World::started();
    add_headless(&world, "bob", "echo \"key <$KEY>\"");
    world.ok(&["profile", "set", "bob-profile", "--env", "KEY=s3cret", "--allow", "npm test"]);
    assert_eq!(world.ok(&["ask", "bob", "go"])["final"], "key <s3cret>");
    let changed = world.ok(&["profile", "set", "bob-profile", "--env", "KEY", "--no-allow"]);
    assert_eq!(changed["allow_prefixes"], serde_json::json!([]), "{changed}");
    assert_eq!(world.ok(&["ask", "bob", "go"])["final"], "key <>");
    let kept = std::fs::read_dir(world.home().join("secrets")).expect("the directory").count();
    assert_eq!(kept, 0, "its file is gone");
    // What an earlier change took does not come back with the next.
    world.ok(&["profile", "set", "bob-profile", "--env", "OTHER=1"]);
    assert_eq!(world.ok(&["ask", "bob", "go"])["final"], "key <>");
}

/// The user's word is waited for a bounded time, and the time goes on while no engine runs.
#[test]
fn a_question_that_nobody_answers_ends() {
    let mut world = under("ask", "carillon run -- touch made > /dev/null; echo up");
    let ask = world.ok(&["ask", "bob", "go", "--wait", "1ms"]);
    let waits = world.wait_for("the question", || pending(&world));
    let now_ms = waits["created_ms"].as_i64().expect("a time");
    assert!(waits["until_ms"].as_i64().expect("a time") > now_ms);
    world.crash();
    let ledger = rusqlite::Connection::open(world.home().join("carillon.db")).expect("the ledger");
    ledger.execute("UPDATE approvals SET until_ms = created_ms + 1", []).expect("a change");
    drop(ledger);
    world.start(&[]);
    let said = over(&world, &ask);
    assert_eq!(said["state"], "cancelled", "{said}");
    assert!(said["reason"].as_str().expect("why").contains("approv"), "{said}");
    assert_eq!(world.ok(&["approvals", "list"])[0]["state"], "expired");
    world.fails(&["approvals", "approve", waits["id"].as_str().expect("an id")], 4);
    assert!(!world.repo().join("made").exists());
}
