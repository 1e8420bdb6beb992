//! The processes of ours that stand between a supervisor and a CLI. There is no `carillon` binary on this floor, so this
//! test binary becomes them in a child of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Set in the child, which then is the process of ours.
const CHILD: &str = "TEST_AGENT_PROCESS";

/// Runs this test binary once more with one test alone, which becomes the process.
fn in_child(args: &[&str], home: &Path, stdin: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "inner::becomes_the_process", "--nocapture", "--test-threads=1"])
        .env(CHILD, args.join("\n"))
        .env("HOME", home)
        .env_remove("GEMINI_CLI_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut pipe = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut pipe, stdin.as_bytes()).expect("the prompt");
    drop(pipe);
    child.wait_with_output().expect("its end")
}

#[test]
fn becomes_the_process() {
    if let Ok(args) = std::env::var(CHILD) {
        let code = carillon_agents::inner::main(args.split('\n').map(Into::into));
        std::process::exit(code);
    }
}

fn script(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("the mode");
    path.display().to_string()
}

/// What the process printed, without the lines of the test around it.
fn events(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The first one stands behind the words of the test.
    text.lines().filter_map(|line| serde_json::from_str(line.get(line.find('{')?..)?).ok()).collect()
}

#[test]
fn gemini_gets_a_home_that_differs_in_the_settings_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let (home, run) = (dir.path().join("home"), dir.path().join("run"));
    fs::create_dir_all(home.join(".gemini")).expect("a directory");
    fs::create_dir(&run).expect("a directory");
    let theirs = "{ // mine\n \"model\": \"a//b\", /* \"x\" */ \"mcp\": {\"allowed\": [\"own\"]}, \"mcpServers\": {\"own\": {\"command\": \"x\"}} }";
    fs::write(home.join(".gemini/settings.json"), theirs).expect("a file");
    fs::write(home.join(".gemini/oauth_creds.json"), "login").expect("a file");
    symlink("/nowhere", home.join(".gemini/broken")).expect("a link");
    let additions = json!({ "settings": { "mcpServers": { "carillon": { "command": "/opt/carillon" } } }, "role": "You are alice." });
    let file = run.join("additions.json");
    fs::write(&file, additions.to_string()).expect("a file");
    let seen = script(
        dir.path(),
        "gemini",
        "printf '%s|' \"$@\"; cd \"$GEMINI_CLI_HOME/.gemini\" && cat settings.json CARILLON.md oauth_creds.json; echo \"[$CARILLON_WAS_GEMINI_CLI_HOME]\"; stat -c %a settings.json; echo new > tmp/session",
    );
    let (own, additions) = (run.join("home").display().to_string(), file.display().to_string());
    let output = in_child(&["gemini", &own, &additions, "--", &seen, "-o", "a b"], &home, "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let at = text.find("-o|a b|").expect("the arguments");
    let (settings, rest) = text[at + 7..].split_at(text[at + 7..].find("You are").expect("the role"));
    let settings: Value = serde_json::from_str(settings).expect("settings without comments");
    assert_eq!(settings["model"], "a//b");
    assert_eq!(settings["mcpServers"]["own"]["command"], "x");
    assert_eq!(settings["mcpServers"]["carillon"]["command"], "/opt/carillon");
    assert_eq!(settings["mcp"]["allowed"], json!(["own", "carillon"]));
    assert_eq!(settings["context"]["fileName"], json!(["GEMINI.md", "CARILLON.md"]));
    assert!(rest.starts_with("You are alice.login[]\n600\n"), "{rest}");
    assert_eq!(fs::read_to_string(home.join(".gemini/settings.json")).expect("the file"), theirs);
    assert!(home.join(".gemini/tmp/session").exists(), "sessions are the user's");
}

#[test]
fn settings_that_cannot_be_read_start_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join(".gemini")).expect("a directory");
    fs::write(dir.path().join(".gemini/settings.json"), "{ broken").expect("a file");
    let file = dir.path().join("additions.json");
    fs::write(&file, r#"{"settings":{},"role":null}"#).expect("a file");
    let own = dir.path().join("own").display().to_string();
    let output = in_child(
        &["gemini", &own, &file.display().to_string(), "--", "/bin/echo", "started"],
        dir.path(),
        "",
    );
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && errors.contains("settings.json"), "{errors}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("started"));
}

/// An agent in a few lines of shell: it answers each request by its place.
const AGENT: &str = r#"
say() { printf '%s\n' "$1"; }
read -r line; say '{"jsonrpc":"2.0","id":1,"result":{"agentInfo":{"name":"sh"},"agentCapabilities":{"loadSession":true}}}'
read -r line; echo "$line" >> "$0.log"
say '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"replayed"}}}}'
say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}'
read -r line; echo "$line" >> "$0.log"
say 'noise'
say '{"jsonrpc":"2.0","id":70,"method":"fs/read_text_file","params":{}}'
read -r line; echo "$line" >> "$0.log"
say '{"jsonrpc":"2.0","id":71,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"t1","title":"TITLE","kind":"KIND"},"options":[{"optionId":"always","kind":"allow_always"},{"optionId":"once","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}'
read -r line; echo "$line" >> "$0.log"
say '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is 4."}}}}'
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;

/// Runs a turn with that agent and answers its events and what it was told.
fn acp(title: &str, kind: &str, resume: Value, end: &str) -> (Vec<Value>, String, Output) {
    let dir = tempfile::tempdir().expect("a directory");
    let text = format!("{}{end}", AGENT.replace("TITLE", title).replace("KIND", kind));
    let program = script(dir.path(), "agent", &text);
    let file = dir.path().join("turn.json");
    let turn =
        json!({ "program": program, "args": [], "resume": resume, "mcp_servers": [{ "name": "carillon" }] });
    fs::write(&file, turn.to_string()).expect("a file");
    let output = in_child(&["acp", &file.display().to_string()], dir.path(), "What is 2+2?");
    let told = fs::read_to_string(format!("{program}.log")).unwrap_or_default();
    (events(&output), told, output)
}

#[test]
fn a_turn_is_spoken_to_its_end() {
    let (events, told, output) = acp("ask_agent (carillon MCP Server)", "other", Value::Null, "");
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["agent", "session", "update", "permission", "update", "end"], "{output:?}");
    assert_eq!((&events[1]["id"], &events[3]["allowed"]), (&json!("s-1"), &json!(true)));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].contains("session/new") && lines[0].contains("carillon"), "{told}");
    assert!(lines[1].contains("What is 2+2?") && lines[2].contains("-32601"), "{told}");
    assert!(lines[3].contains("\"optionId\":\"once\""), "{told}");
}

#[test]
fn only_tools_of_ours_are_allowed() {
    for (title, kind) in [
        ("rm -rf / # mcp__carillon__ask_agent", "execute"),
        ("carillon_ask", "execute"),
        ("Edit file", "edit"),
        ("mcp__carillon__", "other"),
        ("x (carillon MCP Server) y", "other"),
    ] {
        let (events, told, _) = acp(title, kind, Value::Null, "");
        assert!(events.iter().any(|event| event["allowed"] == false), "{title}");
        assert!(told.contains("\"optionId\":\"no\""), "{title}");
    }
}

#[test]
fn a_conversation_is_loaded_and_its_replay_is_not_shown() {
    let (events, told, _) = acp("carillon_ask_agent", "other", json!("s-0"), "");
    assert!(told.lines().next().is_some_and(|line| line.contains("session/load") && line.contains("s-0")));
    assert!(!events.iter().any(|event| event.to_string().contains("replayed")));
    assert_eq!(events[1]["id"], "s-0");
}

#[test]
fn an_agent_that_does_not_go_is_ended() {
    // It ignores the end of its input and TERM.
    let (events, _, output) = acp("x", "other", Value::Null, "trap '' TERM\nwhile :; do sleep 0.2; done");
    assert_eq!(events.last().map(|event| event["type"].clone()), Some(json!("end")));
    assert!(output.status.success());
}

#[test]
fn an_agent_that_dies_is_a_failure_with_its_status() {
    let dir = tempfile::tempdir().expect("a directory");
    let program = script(dir.path(), "agent", "read -r line; exit 7");
    let file = dir.path().join("turn.json");
    fs::write(
        &file,
        json!({ "program": program, "args": [], "resume": null, "mcp_servers": [] }).to_string(),
    )
    .expect("a file");
    let output = in_child(&["acp", &file.display().to_string()], dir.path(), "x");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("ended during initialize (exited 7)"), "{errors}");
    assert_eq!(output.status.code(), Some(1));
}
