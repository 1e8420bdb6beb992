//! Asks over MCP: one answer for each call, whatever happens to the client, the engine or the wait.

mod support;

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::fake_engine::{Answer, FakeEngine, answered, ask};
use support::mcp::{Mcp, content, error};

const ADA: &[&str] = &["--agent", "ada", "--run", "0123456789abcdef0123456789abcdef"];

/// Waits as long as a request says, or until something is so.
fn wait_ms(params: &Value, is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_millis(params["wait_ms"].as_u64().unwrap_or(0));
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    is_so()
}

/// An engine whose asks are answered with "done" when the test says so.
fn engine_that_answers(when: Arc<AtomicBool>) -> FakeEngine {
    FakeEngine::started(move |method, params| answering(method, params, || when.load(Ordering::SeqCst)))
}

fn answering(method: &str, params: &Value, is_done: impl Fn() -> bool) -> Answer {
    match method {
        "ask_open" => Ok(ask(params["id"].as_str().unwrap(), json!({}))),
        "ask_wait" => {
            let id = params["ask"].as_str().unwrap();
            Ok(if wait_ms(params, is_done) { answered(id, "done") } else { ask(id, json!({})) })
        }
        "ask_attach" => Ok(ask(params["ask"].as_str().unwrap(), json!({}))),
        "ask_delivered" => Ok(answered(params["ask"].as_str().unwrap(), "done")),
        "ask_leave" => Ok(json!({})),
        _ => Err("invalid"),
    }
}

fn prompt(text: &str) -> Value {
    json!({"agent": "bob", "prompt": text})
}

fn calls_of(engine: &FakeEngine) -> usize {
    std::fs::read_dir(engine.home().join("calls")).unwrap().count()
}

#[test]
fn an_answer_is_delivered_when_it_was_written_and_not_before() {
    let when = Arc::new(AtomicBool::new(false));
    let engine = engine_that_answers(when.clone());
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let id = mcp.begin(
        "ask_agent",
        json!({"agent": "bob", "prompt": "go", "timeout_s": 1.5, "key": "k", "after_children": "follow_up"}),
    );
    let open = engine.wait_heard("ask_wait", 1).len();
    assert!(open >= 1);
    let opened = engine.heard("ask_open")[0].clone();
    let call = opened["call"].as_str().unwrap();
    assert!(engine.is_held(call), "somebody waits");
    for (field, value) in [
        ("agent", json!("bob")),
        ("prompt", json!("go")),
        ("from", json!("ada")),
        ("timeout_ms", json!(1500)),
        ("from_run", json!("0123456789abcdef0123456789abcdef")),
        ("key", json!("k")),
        ("after_children", json!("follow_up")),
    ] {
        assert_eq!(opened[field], value, "{field}");
    }
    assert_eq!(mcp.progress(id)["message"], "bob is at it");
    when.store(true, Ordering::SeqCst);
    let answer = content(&mcp.answer(id));
    assert_eq!(
        (&answer["status"], &answer["final"], &answer["id"]),
        (&json!("answered"), &json!("done"), &opened["id"])
    );
    let delivered = engine.wait_heard("ask_delivered", 1);
    assert_eq!(delivered, [json!({"ask": opened["id"], "call": call})]);
    assert_eq!(std::fs::read_to_string(engine.home().join("calls").join(call)).unwrap(), "written\n");
    assert!(mcp.end().success());
    assert_eq!(engine.heard("ask_leave"), [] as [Value; 0]);
    assert_eq!(engine.heard("ask_delivered").len(), 1);
}

#[test]
fn a_client_that_does_not_read_has_not_got_its_answer() {
    let long = "x".repeat(60_000);
    let engine = FakeEngine::started(move |method, params| match method {
        "ask_wait" => Ok(answered(params["ask"].as_str().unwrap(), &long)),
        other => answering(other, params, || true),
    });
    let mut command = std::process::Command::new(support::CARILLON);
    command.env_clear().arg("mcp").arg("--socket").arg(engine.socket()).args(ADA);
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut say =
        |message: Value| std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).unwrap();
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}));
    for id in 2..4 {
        say(
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ask_agent", "arguments": prompt("go")}}),
        );
    }
    engine.wait_heard("ask_wait", 2);
    // Each answer is larger than what a pipe holds: once more stands there than a greeting, one stands there in part.
    let stdout = child.stdout.take().unwrap();
    let size = rustix::pipe::fcntl_getpipe_size(&stdout).unwrap() as u64;
    support::until("a part of an answer", || {
        (rustix::io::ioctl_fionread(&stdout).unwrap() > size / 2).then_some(())
    });
    assert_eq!(engine.heard("ask_delivered").len(), 0, "nobody has read anything");
    // It reads the first answer whole, and then closes its end.
    let mut out = std::io::BufReader::new(stdout);
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    }
    assert!(line.len() > 120_000, "{}", line.len());
    engine.wait_heard("ask_delivered", 1);
    out.get_mut().read_exact(&mut [0; 10]).unwrap();
    drop(out);
    engine.wait_heard("ask_leave", 1);
    assert_eq!(engine.heard("ask_delivered").len(), 1);
    drop(input);
    assert!(support::wait(&mut child).success());
}

#[test]
fn a_wait_that_is_over_leaves_a_handle_and_the_ask_goes_on() {
    let engine = engine_that_answers(Arc::default());
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let answer = content(&mcp.call("ask_agent", json!({"agent": "bob", "prompt": "go", "wait_s": 0.2})));
    assert_eq!(answer["status"], "still_running");
    assert!(answer["hint"].as_str().unwrap().contains("get_ask"), "{answer}");
    let opened = engine.heard("ask_open")[0].clone();
    assert_eq!(answer["ask_id"], opened["id"]);
    assert_eq!(engine.wait_heard("ask_leave", 1), [json!({"ask": opened["id"], "call": opened["call"]})]);
    assert!(!engine.is_held(opened["call"].as_str().unwrap()), "nobody waits any more");
    assert_eq!(engine.heard("ask_delivered").len(), 0);
}

#[test]
fn a_client_with_a_limit_is_answered_before_it() {
    let engine = engine_that_answers(Arc::default());
    let mut mcp = Mcp::start(&engine.socket(), &["--agent", "ada", "--client-limit-s", "2"]);
    let begun = Instant::now();
    let answer = content(&mcp.call("ask_agent", json!({"agent": "bob", "prompt": "go", "wait_s": 100})));
    assert_eq!(answer["status"], "still_running");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_cancelled_call_ends_and_the_work_goes_on() {
    let when = Arc::new(AtomicBool::new(false));
    let engine = engine_that_answers(when.clone());
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let id = mcp.send("tools/call", json!({"name": "ask_agent", "arguments": prompt("go")}));
    engine.wait_heard("ask_wait", 1);
    mcp.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    let opened = engine.heard("ask_open")[0].clone();
    assert_eq!(engine.wait_heard("ask_leave", 1), [json!({"ask": opened["id"], "call": opened["call"]})]);
    assert!(!engine.is_held(opened["call"].as_str().unwrap()));
    when.store(true, Ordering::SeqCst);
    // The next call works, and a cancellation of one that is over means nothing.
    let next = mcp.send("tools/call", json!({"name": "ask_agent", "arguments": prompt("again")}));
    assert_eq!(content(&mcp.answer(next))["final"], "done");
    mcp.notify("notifications/cancelled", json!({"requestId": next}));
    engine.wait_heard("ask_delivered", 1);
    assert!(mcp.rest(Duration::from_millis(100)).is_empty(), "nobody is told of a call that was cancelled");
    assert_eq!(engine.heard("ask_cancel").len(), 0);
    assert_eq!(engine.heard("ask_leave").len(), 1);
}

#[test]
fn whenever_a_client_cancels_its_answer_is_either_written_or_left() {
    let engine = engine_that_answers(Arc::new(AtomicBool::new(true)));
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let mut ids = Vec::new();
    for round in 0..200 {
        let waits = engine.heard("ask_wait").len();
        let id = mcp.send("tools/call", json!({"name": "ask_agent", "arguments": prompt("go")}));
        if round % 4 == 1 {
            engine.wait_heard("ask_wait", waits + 1);
        }
        mcp.notify("notifications/cancelled", json!({"requestId": id}));
        ids.push(json!(id));
    }
    mcp.request("ping", json!({}));
    let settled = || engine.heard("ask_leave").len() + engine.heard("ask_delivered").len();
    support::until("all calls to be settled", || (settled() == engine.heard("ask_open").len()).then_some(()));
    let written =
        mcp.rest(Duration::from_millis(100)).iter().filter(|message| ids.contains(&message["id"])).count();
    assert_eq!(engine.heard("ask_delivered").len(), written, "exactly what was written counts as delivered");
    assert!(engine.heard("ask_leave").len() > 50, "most came in time");
    assert!(mcp.end().success());
    assert_eq!(settled(), engine.heard("ask_open").len(), "each once");
}

#[test]
fn an_answer_that_meets_its_cancellation_is_settled_once() {
    const ROUNDS: usize = 60;
    // The engine's answer and the client's cancellation set out in the same moment.
    let cancels: Arc<Mutex<Option<std::fs::File>>> = Arc::default();
    let current = Arc::new(AtomicU64::new(0));
    let (hand, id) = (cancels.clone(), current.clone());
    let engine = FakeEngine::started(move |method, params| {
        if method == "ask_wait" {
            let id = id.load(Ordering::SeqCst);
            let line =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            let mut hand = hand.lock().unwrap();
            hand.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        answering(method, params, || true)
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    *cancels.lock().unwrap() = Some(mcp.another_input());
    let settled = || engine.heard("ask_leave").len() + engine.heard("ask_delivered").len();
    let mut ids = Vec::new();
    for round in 1..=ROUNDS {
        current.store(mcp.next_id(), Ordering::SeqCst);
        ids.push(json!(mcp.send("tools/call", json!({"name": "ask_agent", "arguments": prompt("go")}))));
        support::until("the call to be left or delivered", || (settled() >= round).then_some(()));
    }
    let written =
        mcp.rest(Duration::from_millis(100)).iter().filter(|message| ids.contains(&message["id"])).count();
    assert_eq!(engine.heard("ask_delivered").len(), written, "exactly what was written counts as delivered");
    *cancels.lock().unwrap() = None;
    assert!(mcp.end().success());
    assert_eq!(settled(), ROUNDS, "each once");
}

#[test]
fn a_client_that_goes_leaves_all_its_calls() {
    let engine = engine_that_answers(Arc::default());
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    for _ in 0..10 {
        mcp.send("tools/call", json!({"name": "ask_agent", "arguments": prompt("go")}));
    }
    engine.wait_heard("ask_wait", 10);
    let begun = Instant::now();
    assert!(mcp.end().success());
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(engine.heard("ask_leave").len(), 10);
    assert_eq!(engine.heard("ask_delivered").len(), 0);
}

#[test]
fn a_call_goes_on_by_its_ids_when_the_engine_restarts() {
    let when = Arc::new(AtomicBool::new(false));
    let mut engine = engine_that_answers(when.clone());
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let id = mcp.begin("ask_agent", prompt("go"));
    engine.wait_heard("ask_wait", 1);
    let call = engine.heard("ask_open")[0]["call"].as_str().unwrap().to_owned();
    for round in 2..5 {
        engine.stop();
        assert!(engine.is_held(&call), "it still waits");
        engine.start();
        engine.wait_heard("ask_wait", round);
    }
    when.store(true, Ordering::SeqCst);
    assert_eq!(content(&mcp.answer(id))["final"], "done");
    engine.wait_heard("ask_delivered", 1);
    assert_eq!(engine.heard("ask_open").len(), 1, "asked once");
    let waits = engine.heard("ask_wait");
    assert!(waits.iter().all(|wait| wait["ask"] == waits[0]["ask"]));
    assert!(mcp.rest(Duration::from_millis(50)).iter().all(|message| message["id"].is_null()), "one answer");
}

#[test]
fn a_delivery_is_told_to_the_engine_that_comes_back() {
    let when = Arc::new(AtomicBool::new(true));
    let told = Arc::new(AtomicUsize::new(0));
    let (counted, done) = (told.clone(), when.clone());
    let mut engine = FakeEngine::started(move |method, params| {
        // The first time it dies on it: whoever asked does not know whether it was heard.
        if method == "ask_delivered" && counted.fetch_add(1, Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_secs(3600));
        }
        answering(method, params, || done.load(Ordering::SeqCst))
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    assert_eq!(content(&mcp.call("ask_agent", prompt("go")))["final"], "done");
    engine.wait_heard("ask_delivered", 1);
    let call = engine.heard("ask_open")[0]["call"].as_str().unwrap().to_owned();
    engine.stop();
    assert!(engine.is_held(&call), "until the engine knows");
    engine.start();
    engine.wait_heard("ask_delivered", 2);
    assert!(mcp.end().success());
    assert!(!engine.is_held(&call));
    assert_eq!(engine.heard("ask_leave").len(), 0);
}

#[test]
fn many_calls_wait_side_by_side_and_hold_nothing_up() {
    let when = Arc::new(AtomicBool::new(false));
    let done = when.clone();
    let engine = FakeEngine::started(move |method, params| match method {
        "agents_list" => Ok(
            json!([{"id": "a".repeat(32), "name": "ada", "project": "p".repeat(32), "profile": "f".repeat(32),
            "mode": "headless", "state": "working", "waiting_on": ["x"], "queued": 3, "turn": null, "wake": null,
            "workdir": "/w", "session_id": null, "limited_until_ms": null, "run": null}]),
        ),
        other => answering(other, params, || done.load(Ordering::SeqCst)),
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let ids: Vec<u64> = (0..64)
        .map(|n| {
            mcp.send("tools/call", json!({"name": "ask_agent", "arguments": prompt(&format!("go {n}"))}))
        })
        .collect();
    engine.wait_heard("ask_wait", 64);
    let agents = content(&mcp.call("list_agents", json!({})));
    assert_eq!(agents["agents"][0]["is_you"], true);
    assert_eq!(agents["agents"][0]["waiting_on"], json!(["x"]));
    when.store(true, Ordering::SeqCst);
    for id in ids {
        assert_eq!(content(&mcp.answer(id))["final"], "done");
    }
    engine.wait_heard("ask_delivered", 64);
    assert!(mcp.end().success());
    assert_eq!(calls_of(&engine), 64, "the engine settles the files, not the client");
}

#[test]
fn an_ask_that_is_refused_leaves_no_call_behind() {
    let engine = FakeEngine::started(|method, params| match method {
        "ask_open" => Err("refused"),
        other => answering(other, params, || false),
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let said = error(&mcp.call("ask_agent", prompt("go")));
    assert!(said.contains("ask_open: refused"), "{said}");
    assert_eq!(calls_of(&engine), 0);
}

#[test]
fn an_ask_that_failed_is_never_a_success_and_its_texts_are_clean() {
    let engine = FakeEngine::started(|method, params| match method {
        "ask_wait" => {
            let child = json!({"kind": "task", "id": "1".repeat(32), "command": "make\u{1b}[31m", "state": "failed", "exit_code": 2,
                "signal": null, "duration_ms": 7, "tail": "bad\u{202e}\u{1b}]0;x\u{7}\r\n"});
            Ok(ask(
                params["ask"].as_str().unwrap(),
                json!({"state": "failed", "reason": "task 1111 failed\u{9b}2J: exit 2",
                "final": "half\u{1b}[0m\ttext\n", "children": [child], "ended_ms": 3, "waiting_for": null}),
            ))
        }
        other => answering(other, params, || false),
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let answer = mcp.call("ask_agent", prompt("go"));
    assert_eq!(answer["result"]["isError"], true);
    let failed = content(&answer);
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["reason"], "task 1111 failed2J: exit 2");
    assert_eq!(failed["final"], "half\ttext\n");
    assert_eq!(
        (&failed["children"][0]["command"], &failed["children"][0]["tail"]),
        (&json!("make"), &json!("bad\n"))
    );
    engine.wait_heard("ask_delivered", 1);
}

#[test]
fn looking_takes_an_answer_only_from_ones_own_wait() {
    let when = Arc::new(AtomicBool::new(true));
    let done = when.clone();
    let engine = FakeEngine::started(move |method, params| match method {
        "ask_show" => {
            let id = params["ask"].as_str().unwrap();
            Ok(if id.starts_with('f') {
                ask(id, json!({"caller": "c".repeat(32), "caller_name": "cleo"}))
            } else {
                ask(id, json!({}))
            })
        }
        other => answering(other, params, || done.load(Ordering::SeqCst)),
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let mine = "0".repeat(32);
    let shown = content(&mcp.call("get_ask", json!({"ask_id": mine})));
    assert_eq!(
        (&shown["status"], &shown["state"]),
        (&json!("still_running"), &json!("open")),
        "it does not wait"
    );
    let foreign = "f".repeat(32);
    assert_eq!(content(&mcp.call("get_ask", json!({"ask_id": foreign, "wait_s": 10})))["final"], "done");
    assert_eq!(engine.heard("ask_attach").len(), 0, "cleo's answer stays cleo's");
    assert_eq!(content(&mcp.call("get_ask", json!({"ask_id": mine, "wait_s": 10})))["final"], "done");
    let attached = engine.heard("ask_attach");
    assert_eq!(engine.wait_heard("ask_delivered", 1), [json!({"ask": mine, "call": attached[0]["call"]})]);
}

#[test]
fn a_waiting_call_says_every_few_seconds_what_it_waits_for() {
    let engine = FakeEngine::started(|method, params| match method {
        "ask_wait" => {
            wait_ms(params, || false);
            let child = json!({"kind": "task", "id": "1".repeat(32), "command": "sleep 5", "state": "running", "exit_code": null,
                "signal": null, "duration_ms": null, "tail": null});
            let waits = json!({"state": "pending_final", "waiting_for": "children", "children": [child]});
            Ok(ask(params["ask"].as_str().unwrap(), waits))
        }
        other => answering(other, params, || false),
    });
    let mut mcp = Mcp::start(&engine.socket(), ADA);
    let id = mcp.begin("ask_agent", prompt("go"));
    let first = mcp.progress(id);
    assert_eq!(first["message"], "bob is at it");
    let begun = Instant::now();
    let mut last = first;
    while last["message"] != "waiting for 1 task: sleep 5 (11111111)" {
        let next = mcp.progress(id);
        assert!(next["progress"].as_f64() > last["progress"].as_f64(), "it grows");
        last = next;
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
