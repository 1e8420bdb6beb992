//! How many turns of a profile run at once: who waits is told so, whoever waits longest is next, and agents that
//! wait for each other never stand in each other's way.

mod support;

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use support::{CARILLON, World, wait};

fn begin(world: &World, args: &[&str]) -> Child {
    let mut command = world.isolated(CARILLON);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("carillon")
}

/// Headless demo agents on a profile that lets this many turns run at once.
fn world(agents: &[&str], turns: &str) -> World {
    let world = World::started();
    world.add_demo_agents(agents);
    assert_eq!(
        world.ok(&["profile", "set", "demo", "--concurrency", turns])["concurrency"],
        json!(turns.parse::<u32>().unwrap())
    );
    world
}

fn wait_for_state(world: &World, agent: &str, state: &str) -> Value {
    world.wait_for(&format!("{agent} to be {state}"), || {
        let found = world.agent(agent);
        (found["state"] == state).then_some(found)
    })
}

fn wait_until_queued(world: &World, agent: &str) -> Value {
    world.wait_for(&format!("{agent} to be in line"), || {
        let found = world.agent(agent);
        found["held_back"].is_string().then_some(found)
    })
}

/// A prompt that makes a file and waits until another one is there.
fn until(world: &World, name: &str) -> String {
    let dir = world.path("").to_string_lossy().into_owned();
    format!("run: cd {dir} && touch {name}.began && while ! [ -e {name}.go ]; do sleep 0.02; done")
}

fn let_go(world: &World, name: &str) {
    std::fs::write(world.path(&format!("{name}.go")), "").unwrap();
}

fn began(world: &World, name: &str) -> bool {
    world.path(&format!("{name}.began")).exists()
}

#[test]
fn turns_beyond_the_bound_wait_in_their_order_and_say_why() {
    let mut world = world(&["ada", "bob", "cleo"], "1");
    let first = begin(&world, &["ask", "ada", &until(&world, "ada")]);
    wait_for_state(&world, "ada", "working");
    let second = begin(&world, &["ask", "bob", &until(&world, "bob")]);
    let queued = wait_until_queued(&world, "bob");
    assert_eq!((&queued["state"], &queued["queued"]), (&json!("idle"), &json!(1)));
    assert!(queued["held_back"].as_str().unwrap().contains("\"demo\" lets only 1 turn"), "{queued}");
    let third = begin(&world, &["ask", "cleo", &until(&world, "cleo")]);
    wait_until_queued(&world, "cleo");
    let asks = world.call("asks_list", json!({"agent": "bob"}));
    assert_eq!(asks[0]["waiting_for"], "slot", "{asks}");
    let list = String::from_utf8(world.run(&["agent", "list"]).stdout).unwrap();
    assert!(list.contains("idle, in line"), "{list}");
    // Another question for the one at work is newer than what the others wait for.
    let fourth = begin(&world, &["ask", "ada", "say again"]);
    world.wait_for("the second question", || (world.agent("ada")["queued"] == 1).then_some(()));
    world.crash();
    world.start(&[]);
    assert!(!began(&world, "bob") && !began(&world, "cleo"), "a restart lets nobody past");
    let_go(&world, "ada");
    world.wait_for("bob's turn", || began(&world, "bob").then_some(()));
    assert!(!began(&world, "cleo") && world.agent("ada")["held_back"].is_string());
    let_go(&world, "bob");
    world.wait_for("cleo's turn", || began(&world, "cleo").then_some(()));
    // More may run: whoever waits is let in at once.
    assert_eq!(world.ok(&["profile", "set", "demo", "--concurrency", "2"])["concurrency"], 2);
    for mut child in [first, second, fourth] {
        assert!(wait(&mut child).success());
    }
    let_go(&world, "cleo");
    assert!(wait(&mut { third }).success());
    assert_eq!(world.ok(&["profile", "set", "demo", "--concurrency", "0"])["concurrency"], Value::Null);
    world.fails(&["profile", "set", "demo", "--concurrency", "5000"], 2);
    world.fails(&["profile", "add", "p", "--adapter", "plain", "--program", "cat", "--concurrency", "0"], 2);
    let other = ["profile", "add", "p", "--adapter", "plain", "--program", "cat", "--concurrency", "3"];
    assert_eq!(world.ok(&other)["concurrency"], 3);
    world.end(libc::SIGTERM);
    world.start(&[]);
    assert_eq!(world.ok(&["profile", "list"])[1]["concurrency"], 3, "kept");
}

#[test]
fn who_waits_for_an_answer_lends_its_slot_to_those_that_give_it() {
    let world = world(&["ada", "bob", "cleo", "dan"], "1");
    let answer = world.ok(&["ask", "ada", "ask bob: ask cleo: say deep"]);
    assert_eq!(answer["state"], "answered", "{answer}");
    assert!(answer["final"].as_str().unwrap().starts_with("deep\n"), "{answer}");
    // Also when the one that is asked stands behind another in line.
    let first = begin(&world, &["ask", "dan", &until(&world, "dan")]);
    world.wait_for("dan's turn", || began(&world, "dan").then_some(()));
    let second = begin(&world, &["ask", "ada", "ask bob: say hello"]);
    wait_until_queued(&world, "ada");
    let third = begin(&world, &["ask", "cleo", "ask ada: say late"]);
    wait_until_queued(&world, "cleo");
    let_go(&world, "dan");
    for mut child in [first, second, third] {
        assert!(wait(&mut child).success());
    }
    let asks = world.call("asks_list", json!({}));
    assert!(asks.as_array().unwrap().iter().all(|ask| ask["state"] == "answered"), "{asks}");
}

/// An agent that asks and looks again and again for the answer, instead of waiting for it, is in nobody's way.
#[test]
fn who_looks_for_an_answer_again_and_again_lends_its_slot_as_well() {
    let world = world(&["ada", "bob"], "1");
    let look = format!(
        "run: {CARILLON} ask bob 'say hello' --wait 1ms >/dev/null 2>&1; \
         while ! {CARILLON} asks list | grep -q answered; do sleep 0.05; done; echo seen"
    );
    let answer = world.ok(&["ask", "ada", &look]);
    assert_eq!((&answer["state"], &answer["final"]), (&json!("answered"), &json!("seen")), "{answer}");
}
