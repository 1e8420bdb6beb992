//! `carillon ask` and what belongs to it, as people and scripts use it.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use support::{CARILLON, World};

fn world() -> World {
    let world = World::started();
    world.add_demo_agents(&["ada", "bob"]);
    world
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Starts a command whose ends are in the test's hands.
fn begin(world: &World, args: &[&str]) -> Child {
    let mut command: Command = world.isolated(CARILLON);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("carillon")
}

/// Waits for the newest ask and returns it.
fn newest(world: &World) -> Value {
    world.wait_for("an ask", || world.call("asks_list", json!({})).get(0).cloned())
}

fn show(world: &World, id: &Value) -> Value {
    world.call("ask_show", json!({"ask": id}))
}

#[test]
fn an_answer_is_printed_and_an_ask_has_its_shape() {
    let world = world();
    let output = world.run(&["ask", "bob", "say hello\nsay twice"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "hello\ntwice\n".to_owned()));
    assert_eq!(text(&output.stderr), "");
    let id = newest(&world)["id"].clone();
    assert_eq!(show(&world, &id)["delivered"], "call");

    let ask = world.ok(&["ask", "bob", "say hello", "--key", "k"]);
    for field in [
        "id",
        "caller",
        "callee",
        "prompt",
        "state",
        "final",
        "reason",
        "key",
        "children",
        "delivered",
        "created_ms",
        "ended_ms",
    ] {
        assert!(ask.get(field).is_some(), "{field} in {ask}");
    }
    assert_eq!((&ask["state"], &ask["key"]), (&json!("answered"), &json!("k")));
    let again = world.ok(&["ask", "bob", "say hello", "--key", "k"]);
    assert_eq!(again["id"], ask["id"], "the same key asks once");
    let by_prefix = world.ok(&["asks", "show", &ask["id"].as_str().unwrap()[..8]]);
    assert_eq!(by_prefix["id"], ask["id"]);
    assert_eq!(world.ok(&["asks", "list"]).as_array().unwrap().len(), 2);
    assert_eq!(world.ok(&["asks", "list", "--state", "failed"]), json!([]));
    assert_eq!(world.ok(&["asks", "list", "--agent", "ada"]), json!([]));
}

#[test]
fn an_answer_tells_what_became_of_the_work() {
    let world = world();
    let output = world.run(&["ask", "bob", "start: sleep 0.2; echo R\nsay started"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("\nstarted\n\ntask ") && said.contains("`sh -c sleep 0.2; echo R`: succeeded, exit 0"),
        "{said}"
    );
    assert!(said.ends_with("s\n  R\n"), "{said}");

    let output = world.run(&["ask", "bob", "start: sleep 0.2; exit 9\nsay fine"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    assert!(text(&output.stderr).contains("exit 9"), "the child is named: {}", text(&output.stderr));
    let output = world.run(&["--json", "ask", "bob", "fail no luck"]);
    assert_eq!(output.status.code(), Some(1));
    let ask: Value = serde_json::from_slice(&output.stdout).expect("the ask on standard output");
    assert_eq!(ask["state"], "failed");
    assert!(ask["reason"].as_str().unwrap().contains("no luck"), "{ask}");
    assert_eq!(show(&world, &ask["id"])["delivered"], "call", "a failure is delivered as well");
    let output = world.run(&["ask", "bob", "silent"]);
    assert_eq!(output.status.code(), Some(1), "no answer is never an empty success");
}

#[test]
fn the_prompt_may_come_on_standard_input() {
    let world = world();
    let with_input = |args: &[&str], input: &[u8]| -> Output {
        let mut command = world.isolated(CARILLON);
        let mut child = command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that is refused is not read to its end.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    };
    for args in [&["ask", "bob"][..], &["ask", "bob", "-"]] {
        assert_eq!(text(&with_input(args, b"say piped").stdout), "piped\n");
    }
    let output = with_input(&["ask", "bob"], b"\xff\xfe");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("not UTF-8"), "{output:?}");
    let output = with_input(&["ask", "bob"], &vec![b'x'; (8 << 20) + 1]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("longer than"), "{output:?}");
    let long = format!("say {}", "y".repeat(1 << 20));
    assert_eq!(
        with_input(&["ask", "bob"], long.as_bytes()).stdout.len(),
        (1 << 20) + 1,
        "a long one arrives whole"
    );
}

#[test]
fn a_wait_that_is_over_leaves_a_handle() {
    let world = world();
    let output = world.run(&["--json", "ask", "bob", "sleep 1\nsay late", "--wait", "100ms"]);
    assert!(output.status.success(), "{output:?}");
    let ask: Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = ask["id"].as_str().unwrap();
    assert_eq!(ask["state"], "open");
    assert!(text(&output.stderr).contains(&format!("still running: carillon asks wait {id}")), "{output:?}");
    let output = world.run(&["asks", "wait", id, "--wait", "50ms"]);
    assert!(output.status.success() && text(&output.stderr).contains("still running"), "{output:?}");
    let output = world.run(&["asks", "wait", id]);
    assert_eq!(text(&output.stdout), "slept 1 s\nlate\n");
    assert_eq!(show(&world, &json!(id))["delivered"], "call");
    assert_eq!(text(&world.run(&["asks", "wait", id]).stdout), "slept 1 s\nlate\n", "it can be shown again");
}

#[test]
fn an_answer_that_nobody_waited_for_is_there_to_be_shown() {
    let world = world();
    world.run(&["ask", "bob", "sleep 0.3\nsay late", "--wait", "50ms"]);
    let id = newest(&world)["id"].clone();
    world.wait_for("the answer", || (show(&world, &id)["state"] == "answered").then_some(()));
    assert_eq!(show(&world, &id)["delivered"], Value::Null, "the user has not seen it");
    world.ok(&["asks", "show", id.as_str().unwrap()]);
    assert_eq!(show(&world, &id)["delivered"], "call");
}

#[test]
fn an_interrupt_ends_the_wait_and_not_the_work() {
    let world = world();
    let child = begin(&world, &["ask", "bob", "sleep 0.7\nsay late", "--from", "ada"]);
    let id = newest(&world)["id"].clone();
    // The handler is there before anything is asked.
    support::send(child.id(), libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(
        text(&output.stderr).contains(&format!("carillon asks wait {}", id.as_str().unwrap())),
        "{output:?}"
    );
    let ended = world.wait_for("the delivery", || {
        let ask = show(&world, &id);
        ask["delivered"].is_string().then_some(ask)
    });
    assert_eq!((&ended["state"], &ended["delivered"]), (&json!("answered"), &json!("inbox")));
}

#[test]
fn an_answer_that_cannot_be_written_is_not_delivered() {
    let world = world();
    let mut child = begin(&world, &["ask", "bob", "sleep 0.2\nsay lost"]);
    let id = newest(&world)["id"].clone();
    drop(child.stdout.take());
    assert_eq!(support::wait(&mut child).code(), Some(1));
    let ask = show(&world, &id);
    assert_eq!((&ask["state"], &ask["delivered"]), (&json!("answered"), &Value::Null));
}

#[test]
fn a_call_survives_the_death_of_the_engine() {
    let mut world = world();
    // Inside a run the engine is waited for; here the call is in flight.
    let child = begin(&world, &["ask", "bob", "sleep 1\nsay there"]);
    let id = newest(&world)["id"].clone();
    world.crash();
    world.start(&[]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "slept 1 s\nthere\n".to_owned()),
        "{}",
        text(&output.stderr)
    );
    world.wait_for("the delivery", || (show(&world, &id)["delivered"] == "call").then_some(()));
}

#[test]
fn what_is_refused_says_why() {
    let world = world();
    let error = world.fails(&["ask", "bob", "say x", "--from", "bob"], 4);
    assert_eq!(error["code"], "refused", "{error}");
    world.fails(&["ask", "nobody", "say x"], 1);
    world.fails(&["asks", "show", "0123456789"], 1);
    world.fails(&["ask", "bob", "say x", "--timeout", "soon"], 2);
    let unsent = world.run(&["ask", "bob", ""]);
    assert_ne!(unsent.status.code(), Some(0), "an empty prompt asks nothing");
    assert_eq!(std::fs::read_dir(world.home().join("calls")).unwrap().count(), 0, "no call is left behind");
    let away = World::new();
    away.fails(&["ask", "bob", "say x"], 3);
}

#[test]
fn a_time_out_and_a_cancellation_end_an_ask() {
    let world = world();
    let output = world.run(&["--json", "ask", "bob", "sleep 30\nsay never", "--timeout", "300ms"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["state"], "timed_out");

    let child = begin(&world, &["ask", "bob", "sleep 30\nsay never"]);
    let id = world.wait_for("the second ask", || {
        let asks = world.call("asks_list", json!({"state": "open"}));
        asks.get(0).map(|ask| ask["id"].clone())
    });
    world.ok(&["asks", "cancel", id.as_str().unwrap()]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cancelled"), "{output:?}");
}

#[test]
fn agents_ask_each_other_and_are_told_apart() {
    let world = world();
    let output = world.run(&["ask", "ada", "ask bob: say deep"]);
    assert!(text(&output.stdout).starts_with("deep\n"), "{output:?}");
    let asks = world.ok(&["asks", "list", "--agent", "bob"]);
    assert_eq!((&asks[0]["caller_name"], &asks[0]["callee_name"]), (&json!("ada"), &json!("bob")));
    let words = text(&world.run(&["asks", "list"]).stdout);
    assert!(words.contains("FROM") && words.contains("ada") && words.contains("you"), "{words}");
}

#[test]
fn a_note_reaches_the_inbox() {
    let world = world();
    let sent = world.ok(&["send", "bob", "mind the gap", "--from", "ada"]);
    assert_eq!(sent["kind"], "note");
    let inbox = world.wait_for("its delivery", || {
        let inbox = world.ok(&["inbox", "bob"]);
        (inbox[0]["state"] == "delivered").then_some(inbox)
    });
    assert_eq!(inbox[0]["id"], sent["id"]);
    assert!(text(&world.run(&["inbox", "bob"]).stdout).contains("mind the gap"));
}

#[test]
fn a_hook_never_disturbs_the_program_that_calls_it() {
    let world = World::new();
    let hook = |input: &[u8], env: &[(&str, &str)]| {
        let mut command = world.isolated(CARILLON);
        command.env_remove("CARILLON_HOME").envs(env.iter().copied()).args(["hook", "Stop"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input);
        let begun = std::time::Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
        begun.elapsed().as_millis()
    };
    assert!(hook(b"{}", &[]) < 1_000, "outside of a run there is nobody to tell");
    let run =
        [("CARILLON_RUN", "0123456789abcdef0123456789abcdef"), ("CARILLON_SOCKET", "/nonexistent/x.sock")];
    assert!(hook(b"{}", &run) < 4_000, "an engine that is away is not waited for");
    hook(&vec![b'{'; 3 << 20], &run);
}

#[test]
fn a_hook_does_not_wait_for_an_engine_that_hangs() {
    use support::fake_engine::FakeEngine;
    let engine = FakeEngine::started(|_, _| {
        std::thread::sleep(std::time::Duration::from_secs(3600));
        Err("failed")
    });
    let mut command = Command::new(CARILLON);
    command.env_clear().env("CARILLON_RUN", "0".repeat(32)).env("CARILLON_SOCKET", engine.socket());
    let begun = std::time::Instant::now();
    let mut child = command.args(["hook", "Stop", "{}"]).stdin(Stdio::null()).spawn().unwrap();
    assert!(support::wait(&mut child).success());
    assert!(begun.elapsed().as_secs() < 4, "{:?}", begun.elapsed());
}

#[test]
fn whoever_stops_waiting_says_so() {
    use support::fake_engine::{FakeEngine, ask};
    let engine = FakeEngine::started(|method, params| match method {
        "ask_open" => Ok(ask(params["id"].as_str().unwrap(), json!({}))),
        "ask_wait" => Ok(ask(params["ask"].as_str().unwrap(), json!({}))),
        _ => Ok(json!({})),
    });
    let mut command = Command::new(CARILLON);
    command.env_clear().env("CARILLON_AGENT", "ada").env("CARILLON_SOCKET", engine.socket());
    let output = command.args(["ask", "bob", "go", "--wait", "1ms"]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let opened = engine.heard("ask_open")[0].clone();
    assert_eq!(opened["from"], "ada");
    let left = engine.heard("ask_leave");
    assert_eq!(left, [json!({"ask": opened["id"], "call": opened["call"]})]);
    assert_eq!(engine.heard("ask_delivered").len(), 0);
}

#[test]
fn a_hook_tells_the_engine_what_it_was_given() {
    use support::fake_engine::FakeEngine;
    let engine = FakeEngine::started(|_, _| Ok(json!({})));
    let run = "0123456789abcdef0123456789abcdef";
    let ids = std::cell::RefCell::new(std::collections::HashSet::new());
    let told = |args: &[&str], input: &str| {
        let mut command = Command::new(CARILLON);
        command
            .env_clear()
            .env("CARILLON_RUN", run)
            .env("CARILLON_SOCKET", engine.socket())
            .arg("hook")
            .args(args);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let mut told = engine.heard("agent_hook").pop().unwrap();
        let id = told.as_object_mut().unwrap().remove("id").expect("an id of its own");
        assert_eq!(id.as_str().map(str::len), Some(32));
        assert!(ids.borrow_mut().insert(id), "each event has its own");
        told
    };
    assert_eq!(told(&["Stop"], "{\"a\": [1]}"), json!({"run": run, "event": "Stop", "data": {"a": [1]}}));
    assert_eq!(told(&["Stop"], "no JSON"), json!({"run": run, "event": "Stop", "data": null}));
    assert_eq!(told(&["notify", "{\"b\": 2}"], ""), json!({"run": run, "event": "notify", "data": {"b": 2}}));
    // A program that never closes its end is heard all the same.
    let mut command = Command::new(CARILLON);
    command
        .env_clear()
        .env("CARILLON_RUN", run)
        .env("CARILLON_SOCKET", engine.socket())
        .args(["hook", "Open"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let kept = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(kept);
    assert_eq!(engine.heard("agent_hook").pop().unwrap()["event"], "Open");
}

#[test]
fn the_demo_agent_on_a_terminal_takes_a_pasted_prompt_and_tells_its_answer() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    world.ok(&["profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent"]);
    world.ok(&["agent", "add", "tess", "--project", "repo", "--profile", "demo"]);
    world.ok(&["agent", "start", "tess"]);
    world.wait_for_text("tess", "demo agent");
    world.write("tess", "say typed\r");
    world.wait_for_text("tess", "\ntyped");
    let answer = world.ok(&["ask", "tess", "say one\nsay two", "--wait", "20s"]);
    assert_eq!(answer["final"].as_str().map(str::trim), Some("one\ntwo"), "{answer}");
    let long = format!("say {}", "z".repeat(100_000));
    let answer = world.ok(&["ask", "tess", &long, "--wait", "20s"]);
    assert_eq!(answer["final"].as_str().map(|text| text.trim().len()), Some(100_000));
    world.write("tess", "bye\r");
    assert_eq!(world.wait_until_over("tess")["run"]["reason"], "exited 0");
}

#[test]
fn nothing_of_an_answer_moves_a_cursor() {
    let world = world();
    let output = world.run(&["ask", "bob", "run: printf 'a\\033[31mred\\033[0m \\033]0;t\\007b'"]);
    assert_eq!(text(&output.stdout), "ared b\n");
    let mut all = String::new();
    let mut child = begin(&world, &["asks", "list"]);
    BufReader::new(child.stdout.take().unwrap()).read_to_string(&mut all).unwrap();
    support::wait(&mut child);
    assert!(!all.contains('\u{1b}'));
    assert!(BufReader::new(all.as_bytes()).lines().count() >= 2);
}
