//! A real MCP client, a real engine, real agents: the answer of a call survives the engine's death.

mod support;

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig};
use rmcp::service::{Peer, RoleClient, RunningService, serve_client};
use serde_json::{Value, json};
use support::{CARILLON, World};
use tokio::net::unix::pipe;

type Client = RunningService<RoleClient, ClientConfig>;

/// A world with two headless demo agents, ada and bob.
fn world() -> World {
    let world = World::started();
    world.add_demo_agents(&["ada", "bob"]);
    world
}

/// `carillon mcp` for an agent, and a client that holds its pipes.
async fn client(world: &World, agent: &str) -> (Client, Child) {
    let mut command = world.isolated(CARILLON);
    command.args(["mcp", "--agent", agent]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = spawn(command);
    let input =
        pipe::Sender::from_owned_fd(OwnedFd::from(child.stdin.take().expect("its input"))).expect("a pipe");
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(child.stdout.take().expect("its output")))
        .expect("a pipe");
    let client = serve_client(ClientConfig::default(), (output, input)).await.expect("it shakes hands");
    (client, child)
}

fn spawn(mut command: Command) -> Child {
    command.spawn().expect("carillon mcp")
}

async fn call(peer: &Peer<RoleClient>, tool: &str, arguments: Value) -> CallToolResult {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    peer.call_tool(request).await.unwrap_or_else(|e| panic!("{tool}: {e}"))
}

fn content(result: CallToolResult) -> Value {
    result.structured_content.unwrap_or_else(|| panic!("nothing structured in {:?}", result.content))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Ends the client and its server.
async fn end(client: Client, mut child: Child) {
    client.cancel().await.expect("the client ends");
    tokio::task::spawn_blocking(move || assert!(support::wait(&mut child).success()))
        .await
        .expect("it ended");
}

#[test]
fn a_real_client_lists_the_tools_and_uses_them() {
    let world = world();
    runtime().block_on(async {
        let (client, child) = client(&world, "ada").await;
        let tools = client.list_all_tools().await.expect("the tools");
        assert!(tools.iter().any(|tool| tool.name == "ask_agent" && tool.output_schema.is_some()));

        let answer = content(
            call(
                &client,
                "ask_agent",
                json!({"agent": "bob", "prompt": "start: sleep 0.3; echo R\nsay started"}),
            )
            .await,
        );
        assert_eq!(answer["status"], "answered");
        assert!(answer["final"].as_str().is_some_and(|text| text.ends_with("started")), "{answer}");
        let child_of = &answer["children"][0];
        assert_eq!((&child_of["state"], &child_of["exit_code"]), (&json!("succeeded"), &json!(0)));
        assert_eq!(child_of["tail"].as_str().map(str::trim), Some("R"));
        let id = answer["id"].as_str().unwrap().to_owned();
        world.wait_for("the delivery", || {
            (world.ok(&["asks", "show", &id])["delivered"] == "call").then_some(())
        });

        let failed = call(
            &client,
            "ask_agent",
            json!({"agent": "bob", "prompt": "start: exit 7\nsleep 0.1\nsay fine"}),
        )
        .await;
        assert_eq!(failed.is_error, Some(true));
        let failed = content(failed);
        assert_eq!(failed["status"], "failed");
        assert!(failed["reason"].as_str().unwrap().contains("exit 7"), "{failed}");

        let task = content(
            call(
                &client,
                "run_in_background",
                json!({"command": "pwd; echo $CARILLON_AGENT", "title": "where"}),
            )
            .await,
        );
        let over = content(call(&client, "wait_for_task", json!({"task_id": task["id"]})).await);
        assert_eq!((&over["state"], &over["title"]), (&json!("succeeded"), &json!("where")));
        let output = call(&client, "read_task_output", json!({"task_id": task["id"]})).await;
        let text = output.content[0].as_text().expect("text").text.clone();
        assert!(
            text.starts_with(world.repo().to_str().unwrap())
                && text.contains(world.agent("ada")["id"].as_str().unwrap()),
            "{text}"
        );
        let tail = call(&client, "read_task_output", json!({"task_id": task["id"], "tail": 5})).await;
        assert_eq!(tail.content[0].as_text().expect("text").text.len(), 5);
        let tasks = content(call(&client, "list_tasks", json!({"state": "succeeded"})).await);
        assert!(tasks["tasks"].as_array().unwrap().iter().any(|row| row["id"] == task["id"]), "{tasks}");

        let made = content(call(&client, "create_workdir", json!({"name": "trial"})).await);
        assert!(std::path::Path::new(made["path"].as_str().unwrap()).join("README").exists(), "{made}");
        assert_eq!(made["owner"], world.agent("ada")["id"]);
        let workdirs = content(call(&client, "list_workdirs", json!({})).await);
        assert_eq!((&workdirs["total"], &workdirs["workdirs"][0]["name"]), (&json!(1), &json!("trial")));

        let residue = content(call(&client, "list_residue", json!({"kind": "worktree"})).await);
        assert!(residue["residue"].is_array(), "{residue}");

        let sent = content(call(&client, "send_message", json!({"agent": "bob", "text": "a word"})).await);
        let inbox = world.ok(&["inbox", "bob"]);
        assert!(
            inbox.as_array().unwrap().iter().any(|message| message["id"] == sent["message_id"]),
            "{inbox}"
        );
        end(client, child).await;
    });
}

/// Has ada make a workdir by her tool; answers it.
fn made_by_ada(world: &World, name: &str) -> Value {
    runtime().block_on(async {
        let (client, child) = client(world, "ada").await;
        let made = call(&client, "create_workdir", json!({"name": name})).await;
        assert_ne!(made.is_error, Some(true), "{made:?}");
        end(client, child).await;
        content(made)
    })
}

#[test]
fn the_set_up_of_a_workdir_is_bound_to_what_its_agent_may_run() {
    let mut world = world();
    let count = world.path("count");
    let rules = format!("[workdirs]\nsetup = [\"basename $PWD >> {}\"]\n", count.display());
    std::fs::write(world.repo().join("carillon.toml"), rules).expect("a file");
    let counted = || std::fs::read_to_string(&count).unwrap_or_default();
    let policy = |world: &World, word: &str| world.ok(&["profile", "set", "demo", "--policy", word]);

    policy(&world, "never");
    let made = made_by_ada(&world, "never");
    assert_eq!(made["state"], "active", "the worktree itself is no command: {made}");
    let notes = made["notes"].to_string();
    assert!(notes.contains("its set-up does not run") && notes.contains("may not run commands"), "{made}");
    assert_eq!(world.ok(&["tasks", "list"]), json!([]));

    policy(&world, "ask");
    let made = made_by_ada(&world, "ask");
    let task = made["id"].as_str().expect("an id").to_owned();
    assert_eq!(world.ok(&["tasks", "show", &task])["state"], "awaiting_approval");
    let approvals = world.ok(&["approvals", "list"]);
    let approval = approvals[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(approvals.as_array().map(Vec::len), Some(1), "{approvals}");
    assert!(approvals[0].to_string().contains("basename $PWD"), "{approvals}");
    // An engine that comes back neither runs it nor asks a second time.
    world.crash();
    world.start(&[]);
    assert_eq!(world.ok(&["tasks", "show", &task])["state"], "awaiting_approval");
    assert_eq!(world.ok(&["approvals", "list"]).as_array().map(Vec::len), Some(1));
    assert_eq!(counted(), "");
    world.ok(&["approvals", "approve", &approval]);
    assert_eq!(world.ok(&["tasks", "wait", &task])["state"], "succeeded");
    assert_eq!(counted(), "ask\n");
    let denied = made_by_ada(&world, "denied");
    let approvals = world.ok(&["approvals", "list"]);
    let pending = approvals.as_array().expect("a list").iter().find(|one| one["state"] == "pending");
    world.ok(&["approvals", "deny", pending.expect("one")["id"].as_str().expect("an id")]);
    assert_eq!(world.ok(&["tasks", "wait", denied["id"].as_str().expect("an id")])["state"], "cancelled");

    policy(&world, "allow");
    let made = made_by_ada(&world, "allow");
    assert_eq!(world.ok(&["tasks", "wait", made["id"].as_str().expect("an id")])["state"], "succeeded");
    // What the user asks for himself is his own word.
    policy(&world, "never");
    let made = world.ok(&["workdirs", "new", "users", "--project", "repo"]);
    assert_eq!(world.ok(&["tasks", "wait", made["id"].as_str().expect("an id")])["state"], "succeeded");
    assert_eq!(counted(), "ask\nallow\nusers\n");
}

/// What is left of a call when the engine dies and comes back at a moment of the test's choice.
fn dies(prompt: &str, when: impl FnOnce(&mut World)) {
    let mut world = world();
    let runtime = runtime();
    let (client, child) = runtime.block_on(client(&world, "ada"));
    let peer = client.peer().clone();
    let arguments = json!({"agent": "bob", "prompt": prompt});
    let calling = runtime.spawn(async move { call(&peer, "ask_agent", arguments).await });
    when(&mut world);
    let answer = runtime.block_on(async {
        tokio::time::timeout(support::PATIENCE, calling).await.expect("in time").expect("an answer")
    });
    let answer = content(answer);
    assert_eq!(answer["status"], "answered", "{answer}");
    assert!(answer["final"].as_str().is_some_and(|text| text.ends_with("started")), "{answer}");
    assert_eq!(answer["children"][0]["tail"].as_str().map(str::trim), Some("R"), "{answer}");
    let id = answer["id"].as_str().unwrap().to_owned();
    world
        .wait_for("the delivery", || (world.ok(&["asks", "show", &id])["delivered"] == "call").then_some(()));
    let inbox = world.ok(&["inbox", "ada"]);
    assert!(
        !inbox.as_array().unwrap().iter().any(|message| message["about"] == json!(id)),
        "never both: {inbox}"
    );
    assert_eq!(world.ok(&["asks", "list"]).as_array().unwrap().len(), 1, "asked once");
    runtime.block_on(end(client, child));
}

/// Waits until the one ask is as it should be.
fn until(world: &World, what: &str, is_so: impl Fn(&Value) -> bool) {
    world.wait_for(what, || {
        let asks = world.call("asks_list", json!({}));
        asks.get(0).filter(|ask| is_so(ask)).map(|_| ())
    });
}

#[test]
fn the_same_call_is_answered_when_the_engine_died_before_the_final() {
    dies("start: sleep 1; echo R\nsleep 0.7\nsay started", |world| {
        until(world, "a child", |ask| {
            ask["children"].as_array().is_some_and(|children| !children.is_empty())
        });
        world.crash();
        world.start(&[]);
    });
}

#[test]
fn the_same_call_is_answered_when_the_engine_died_after_the_final() {
    dies("start: sleep 1.5; echo R\nsay started", |world| {
        until(world, "a pending final", |ask| ask["state"] == "pending_final");
        world.crash();
        world.start(&[]);
    });
}

#[test]
fn the_same_call_is_answered_when_all_ended_while_the_engine_was_away() {
    let dir = tempfile::tempdir().expect("a directory");
    let mark = dir.path().join("done");
    dies(&format!("start: sleep 0.5; echo R; touch {}\nsay started", mark.display()), |world| {
        until(world, "a pending final", |ask| ask["state"] == "pending_final");
        world.crash();
        world.wait_for("the end of the task", || mark.exists().then_some(()));
        world.start(&[]);
    });
}

#[test]
fn two_deaths_in_one_call_are_one_too_few() {
    dies("start: sleep 2; echo R\nsay started", |world| {
        for _ in 0..2 {
            until(world, "a pending final", |ask| ask["state"] == "pending_final");
            world.crash();
            world.start(&[]);
        }
    });
}

#[test]
fn a_call_that_was_cut_off_is_answered_in_the_inbox() {
    let world = world();
    let runtime = runtime();
    let (client, mut child) = runtime.block_on(client(&world, "ada"));
    let peer = client.peer().clone();
    let calling = runtime.spawn(async move {
        let arguments = json!({"agent": "bob", "prompt": "sleep 0.5\nsay late"});
        let Value::Object(arguments) = arguments else { unreachable!("it is an object") };
        peer.call_tool(CallToolRequestParams::new("ask_agent").with_arguments(arguments)).await
    });
    until(&world, "the ask", |ask| ask["state"] == "open");
    // Nobody can say goodbye: the lock says that nobody waits any more.
    child.kill().expect("a kill");
    child.wait().expect("its end");
    assert!(runtime.block_on(calling).expect("a result").is_err());
    let id = world.call("asks_list", json!({}))[0]["id"].as_str().unwrap().to_owned();
    world.wait_for("the delivery", || {
        (world.ok(&["asks", "show", &id])["delivered"] == "inbox").then_some(())
    });
    let messages = world.wait_for("the message", || {
        let inbox = world.ok(&["inbox", "ada"]);
        let about: Vec<Value> =
            inbox.as_array()?.iter().filter(|message| message["about"] == json!(id)).cloned().collect();
        (about.len() == 1 && about[0]["state"] == "delivered").then_some(about)
    });
    assert_eq!(messages[0]["kind"], "ask_answered");
    assert!(messages[0]["text"].as_str().unwrap().contains("late"), "{messages:?}");
    drop(client);
}

#[test]
fn an_agent_acts_only_in_its_own_project() {
    let world = world();
    let other = world.path("other");
    std::fs::create_dir(&other).expect("a directory");
    let git = |args: &[&str]| {
        assert!(world.isolated("git").arg("-C").arg(&other).args(args).status().expect("git").success())
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
    world.ok(&["project", "add", other.to_str().expect("UTF-8")]);
    world.ok(&["agent", "add", "zoe", "--project", "other", "--profile", "demo", "--mode", "headless"]);
    let ask = world.ok(&["ask", "bob", "start: echo theirs\nsay theirs"]);
    let task = ask["children"][0]["id"].clone();
    runtime().block_on(async {
        let (client, child) = client(&world, "zoe").await;
        let agents = content(call(&client, "list_agents", json!({})).await);
        assert_eq!((&agents["total"], &agents["agents"][0]["name"]), (&json!(1), &json!("zoe")));
        assert_eq!(content(call(&client, "list_tasks", json!({})).await)["total"], 0);
        for (tool, arguments) in [
            ("ask_agent", json!({"agent": "bob", "prompt": "say x"})),
            ("send_message", json!({"agent": "bob", "text": "x"})),
            ("get_task", json!({"task_id": task})),
            ("read_task_output", json!({"task_id": task})),
            ("wait_for_task", json!({"task_id": task})),
            ("cancel_task", json!({"task_id": task})),
            ("retry_task", json!({"task_id": task})),
            ("get_ask", json!({"ask_id": ask["id"]})),
            ("cancel_ask", json!({"ask_id": ask["id"]})),
        ] {
            let refused = call(&client, tool, arguments).await;
            assert_eq!(refused.is_error, Some(true), "{tool}: {refused:?}");
            assert!(refused.structured_content.is_none(), "{tool}: {refused:?}");
        }
        end(client, child).await;
    });
    assert_eq!(world.ok(&["tasks", "show", task.as_str().unwrap()])["attempt"], 1);
}
