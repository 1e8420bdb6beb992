//! `carillon mcp` as a client meets it, before any engine: revisions, errors, bounds, the end.

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::fake_engine::FakeEngine;
use support::mcp::{Mcp, content, error};

/// An engine that is not there.
fn nobody() -> FakeEngine {
    FakeEngine::new(|_, _| Err("failed"))
}

#[test]
fn it_answers_at_once_while_the_engine_is_away() {
    let away = nobody();
    let mut mcp = Mcp::start(&away.socket(), &["--agent", "ada"]);
    let tools = mcp.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "ask_agent",
        "get_ask",
        "cancel_ask",
        "list_agents",
        "send_message",
        "run_in_background",
        "list_tasks",
        "get_task",
        "read_task_output",
        "wait_for_task",
        "cancel_task",
        "retry_task",
        "create_workdir",
        "list_workdirs",
        "list_residue",
    ];
    assert_eq!(names, expected);
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["description"].as_str().unwrap().len() > 100, "{name} says when to use it");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool.get("outputSchema").is_none(), name == "read_task_output", "{name}");
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(
            properties
                .values()
                .all(|property| property["description"].is_string() || property["enum"].is_array()),
            "{name}"
        );
    }
    assert!(mcp.end().success());
}

#[test]
fn each_revision_of_the_protocol_is_spoken() {
    let away = nobody();
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut mcp = Mcp::silent(&away.socket(), &[]);
        let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert_eq!(mcp.request("initialize", hello)["result"]["protocolVersion"], revision);
        assert!(mcp.request("tools/list", json!({}))["result"]["tools"].is_array());
    }
    // The newest has no handshake: each request says who asks.
    let mut mcp = Mcp::silent(&away.socket(), &[]);
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let found = mcp.request("server/discover", meta.clone());
    let versions =
        found["result"]["supportedVersions"].as_array().unwrap_or_else(|| panic!("{found}")).clone();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")), "{found}");
    assert!(mcp.request("tools/list", meta)["result"]["tools"].is_array());
}

#[test]
fn what_is_no_request_is_told_so_and_the_next_one_works() {
    let away = nobody();
    let mut mcp = Mcp::start(&away.socket(), &[]);
    let code = |answer: &Value| answer["error"]["code"].as_i64();
    let removed = mcp.call("reply", json!({}));
    assert_eq!(code(&removed), Some(-32601), "{removed}");
    assert_eq!(code(&mcp.request("tools/fly", json!({}))), Some(-32601));
    mcp.write("{\"jsonrpc\": \"2.0\", \"id\"");
    let answer = mcp
        .expect("an error without an id", |message| message["id"].is_null() && message["error"].is_object());
    assert_eq!(code(&answer), Some(-32700), "{answer}");
    mcp.write("{\"id\": 77, \"method\": 5}");
    assert_eq!(code(&mcp.answer(77)), Some(-32600));
    mcp.write("\u{fe}\u{ff}");
    mcp.write("[]");
    mcp.notify("notifications/nonsense", json!({"x": 1}));
    mcp.notify("notifications/cancelled", json!({"requestId": 4711}));
    mcp.notify("notifications/cancelled", json!({}));
    let said = error(&mcp.call("ask_agent", json!({"agent": "bob"})));
    assert!(said.contains("prompt"), "{said}");
    let said = error(&mcp.call("get_task", json!({"task_id": "abcd", "colour": "red"})));
    assert!(said.contains("colour"), "{said}");
    assert!(mcp.request("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn a_message_of_20_mb_is_refused_by_its_size_and_the_next_one_works() {
    let away = nobody();
    let mut mcp = Mcp::start(&away.socket(), &["--agent", "ada"]);
    let before = mcp.memory("VmHWM");
    let long = "x".repeat(20 << 20);
    for (tool, argument) in [("ask_agent", "prompt"), ("run_in_background", "command")] {
        let said = error(&mcp.call(tool, json!({"agent": "bob", argument: long})));
        assert!(said.contains("bytes long"), "{said}");
    }
    // The same with the id behind the long part, as some clients write it.
    let line =
        json!({"method": "tools/call", "params": {"name": "ask_agent", "arguments": {"prompt": long}}})
            .to_string();
    mcp.write(&format!("{},\"jsonrpc\":\"2.0\",\"id\":900}}", &line[..line.len() - 1]));
    assert!(error(&mcp.answer(900)).contains("bytes long"));
    assert!(mcp.request("tools/list", json!({}))["result"]["tools"].is_array());
    let grown = mcp.memory("VmHWM").saturating_sub(before);
    assert!(grown < 24 << 20, "a message that is dropped is not kept: {grown} bytes");
}

#[test]
fn a_prompt_or_command_that_is_too_long_for_its_tool_is_named() {
    let away = nobody();
    let mut mcp = Mcp::start(&away.socket(), &[]);
    let said = error(&mcp.call("ask_agent", json!({"agent": "bob", "prompt": "y".repeat((8 << 20) + 1)})));
    assert!(said.contains("prompt is 8388609 bytes"), "{said}");
    let said = error(&mcp.call("run_in_background", json!({"command": "y".repeat(200_000)})));
    assert!(said.contains("command is 2000"), "{said}");
    let said = error(&mcp.call("send_message", json!({"agent": "bob", "text": "y".repeat(300_000)})));
    assert!(said.contains("text is 300000 bytes"), "{said}");
    for (tool, arguments) in [
        ("ask_agent", json!({"agent": "bob", "prompt": " \n"})),
        ("run_in_background", json!({"command": []})),
        ("run_in_background", json!({"command": "  "})),
        ("ask_agent", json!({"agent": "bob", "prompt": "x", "timeout_s": -1})),
        ("ask_agent", json!({"agent": "bob", "prompt": "x", "after_children": "explode"})),
    ] {
        error(&mcp.call(tool, arguments));
    }
}

#[test]
fn it_ends_with_its_client_and_by_a_signal() {
    let away = nobody();
    assert!(Mcp::silent(&away.socket(), &[]).end().success(), "nothing was ever said");
    let mut mcp = Mcp::start(&away.socket(), &["--agent", "ada"]);
    // A call that waits for an engine does not hold the end up.
    mcp.send("tools/call", json!({"name": "list_agents", "arguments": {}}));
    assert!(mcp.end().success());
    let mut mcp = Mcp::start(&away.socket(), &[]);
    support::send(mcp.pid(), libc::SIGTERM);
    assert!(mcp.ended().success());
}

#[test]
fn it_is_small() {
    let away = nobody();
    let mut mcp = Mcp::start(&away.socket(), &["--agent", "ada"]);
    mcp.request("tools/list", json!({}));
    // A build with all checks in it has more code in memory than one that is shipped.
    let (own, all) = (mcp.memory("RssAnon"), mcp.memory("VmRSS"));
    assert!(own < 4 << 20, "{own} bytes of its own");
    assert!(all < 24 << 20, "{all} bytes");
    // What a long prompt took is given back.
    error(&mcp.call("ask_agent", json!({"agent": "bob", "prompt": "y".repeat(9 << 20)})));
    let own = mcp.memory("RssAnon");
    assert!(own < 6 << 20, "{own} bytes of its own after a long prompt");
}

#[test]
fn an_engine_that_comes_back_is_noticed_by_an_event() {
    let mut engine = FakeEngine::new(|method, _| match method {
        "agents_list" => Ok(json!([])),
        _ => Err("failed"),
    });
    let mut mcp = Mcp::start(&engine.socket(), &[]);
    let calls: Vec<u64> =
        (0..64).map(|_| mcp.send("tools/call", json!({"name": "list_agents", "arguments": {}}))).collect();
    assert!(mcp.rest(Duration::from_millis(300)).is_empty(), "they wait");
    engine.start();
    for id in calls {
        assert_eq!(content(&mcp.answer(id))["agents"], json!([]));
    }
}
