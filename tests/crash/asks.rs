//! An ask with a child while the engine dies: the caller's own call returns exactly one answer, with
//! the final and what became of the child.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{CARILLON, World, alive, send, wait};

/// Two headless agents: `alice` notes what she is told, `bob` starts a child and answers at once.
fn quartet(world: &World, child: &str) {
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let told = world.path("told");
    add_headless(world, "alice", &format!("echo woken >> {0}; cat >> {0}; echo done", told.display()));
    let ran = world.path("ran");
    let script = format!(
        "cat > /dev/null; carillon run -- sh -c 'echo x >> {}; {child}' > /dev/null; echo started",
        ran.display()
    );
    add_headless(world, "bob", &script);
}

fn add_headless(world: &World, name: &str, script: &str) {
    let profile = format!("{name}-profile");
    let plain = ["--adapter", "plain", "--program", "/bin/sh", "--arg", "-c", "--arg", script];
    world.ok(&[&["profile", "add", &profile], &plain[..]].concat());
    world.ok(&["agent", "add", name, "--project", "repo", "--profile", &profile, "--mode", "headless"]);
}

/// A command that waits for its engine, as all do inside a run.
fn patient(world: &World, args: &[&str]) -> Command {
    let mut command = world.isolated(CARILLON);
    command.arg("--json").args(args).current_dir(world.repo());
    // Written in another way than in runs, so that the caller does not count as one of their processes.
    command.env_remove("CARILLON_HOME").env("CARILLON_SOCKET", world.home().join("./carillon.sock"));
    command.stdin(Stdio::null());
    command
}

fn start_ask(world: &World) -> Child {
    let mut ask = patient(world, &["ask", "bob", "do it", "--from", "alice"]);
    ask.stdout(Stdio::piped()).spawn().expect("carillon ask")
}

fn answer_of(mut ask: Child, when: &str) -> Value {
    let status = wait(&mut ask);
    let text = std::io::read_to_string(ask.stdout.take().expect("its output")).expect("text");
    assert!(status.success(), "{when}: {status}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{when}: {e}: {text:?}"))
}

fn the_ask(world: &World) -> Value {
    let asks = world.ok(&["asks", "list"]);
    let asks = asks.as_array().expect("a list");
    assert_eq!(asks.len(), 1, "one ask and no more: {asks:?}");
    asks[0].clone()
}

fn check_answered(world: &World, answer: &Value, when: &str) {
    assert_eq!((&answer["state"], &answer["final"]), (&json!("answered"), &json!("started")), "{when}");
    let children = answer["children"].as_array().expect("children");
    assert_eq!(children.len(), 1, "{when}: {answer}");
    assert_eq!((&children[0]["state"], &children[0]["tail"]), (&json!("succeeded"), &json!("R")), "{when}");
    let ran = std::fs::read_to_string(world.path("ran")).unwrap_or_default();
    assert_eq!(ran, "x\n", "{when}: the child ran once");
    world.wait_for(&format!("the delivery ({when})"), || {
        (the_ask(world)["delivered"] == "call").then_some(())
    });
    // Nothing reached an inbox: what the call has, nobody is told again.
    assert_eq!(messages(world, "alice", "ask_answered").len(), 0, "{when}");
    assert_eq!(messages(world, "bob", "task_ended").len(), 0, "{when}: no wake for a joined child");
    assert!(!world.path("told").exists(), "{when}: alice was not woken");
}

fn messages(world: &World, agent: &str, kind: &str) -> Vec<Value> {
    let inbox = world.ok(&["inbox", agent]);
    inbox.as_array().expect("a list").iter().filter(|message| message["kind"] == kind).cloned().collect()
}

fn check_nothing_left(world: &World) {
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    world.wait_for("no call left", || {
        std::fs::read_dir(world.home().join("calls")).expect("calls").next().is_none().then_some(())
    });
}

#[test]
fn at_each_seam() {
    for seam in carillon_engine::seam::ASK_SEAMS.iter().filter(|seam| !seam.contains("note")) {
        let mut world = World::started();
        quartet(&world, "sleep 0.2; echo R");
        world.end(libc::SIGTERM);
        let mut serve = world.isolated(CARILLON);
        serve.arg("serve").env("CARILLON_DIE_AT", seam);
        world.start_command(serve);
        let ask = start_ask(&world);
        assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
        world.start(&[]);
        let answer = answer_of(ask, seam);
        check_answered(&world, &answer, seam);
        check_nothing_left(&world);
    }
}

#[test]
fn a_note_is_handed_over_once_whatever_happens() {
    for seam in carillon_engine::seam::ASK_SEAMS.iter().filter(|seam| seam.contains("note")) {
        let mut world = World::started();
        quartet(&world, "true");
        world.end(libc::SIGTERM);
        let mut serve = world.isolated(CARILLON);
        serve.arg("serve").env("CARILLON_DIE_AT", seam);
        world.start_command(serve);
        let mut note =
            patient(&world, &["send", "alice", "listen"]).stdout(Stdio::null()).spawn().expect("send");
        assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
        world.start(&[]);
        assert!(wait(&mut note).success(), "{seam}");
        let delivered = || messages(&world, "alice", "note").into_iter().find(|m| m["state"] == "delivered");
        let note = world.wait_for("the delivery", delivered);
        let told = std::fs::read_to_string(world.path("told")).expect("she was told");
        assert_eq!(told.matches("woken").count(), 1, "{seam}: {told}");
        assert_eq!(told.matches(note["id"].as_str().unwrap()).count(), 1, "{seam}: {told}");
        assert!(told.contains("listen") && !told.contains("repeated"), "{seam}: {told}");
        check_nothing_left(&world);
    }
}

/// Where the ask stands when the engine is killed.
#[test]
fn in_each_phase() {
    type Phase = (&'static str, fn(&World) -> Option<()>);
    let open: fn(&World) -> Option<()> = |world| (the_ask(world)["waiting_for"] == "turn").then_some(());
    let pending: fn(&World) -> Option<()> =
        |world| (the_ask(world)["state"] == "pending_final").then_some(());
    let phases: [Phase; 2] = [("before the final", open), ("while the child runs", pending)];
    for (when, reached) in phases {
        let mut world = World::started();
        quartet(&world, "until [ -e go ]; do sleep 0.02; done; echo R");
        let ask = start_ask(&world);
        world.wait_for(when, || (!world.ok(&["asks", "list"]).as_array().unwrap().is_empty()).then_some(()));
        world.wait_for(when, || reached(&world));
        world.crash();
        world.start(&[]);
        std::fs::write(world.repo().join("go"), "").expect("a file");
        check_answered(&world, &answer_of(ask, when), when);
        check_nothing_left(&world);
    }
}

/// The child ends while no engine is there.
#[test]
fn a_child_that_ends_meanwhile_ends_the_ask() {
    let mut world = World::started();
    quartet(&world, "until [ -e go ]; do sleep 0.02; done; echo R; touch ended");
    let ask = start_ask(&world);
    world.wait_for("the final", || {
        let asks = world.ok(&["asks", "list"]);
        (asks[0]["state"] == "pending_final").then_some(())
    });
    world.crash();
    std::fs::write(world.repo().join("go"), "").expect("a file");
    world.wait_for("the end of the child", || world.repo().join("ended").exists().then_some(()));
    world.wait_for("no process left but the call", || world.processes().is_empty().then_some(()));
    world.start(&[]);
    check_answered(&world, &answer_of(ask, "ended meanwhile"), "ended meanwhile");
    check_nothing_left(&world);
}

/// Every process of the machine is gone, the caller's own as well.
fn reboot(world: &mut World, ask: &mut Child) {
    send(ask.id(), libc::SIGKILL);
    wait(ask);
    world.crash();
    // Until none is left: one that was just forked was not there when the others were looked for.
    world.wait_for("the end of all", || {
        let all = world.processes();
        all.iter().for_each(|(pid, _)| send(*pid, libc::SIGKILL));
        all.iter().all(|(pid, _)| !alive(*pid)).then_some(())
    });
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_BOOT_ID", "another-boot");
    world.start_command(serve);
}

#[test]
fn a_reboot_loses_a_child_and_says_so_to_the_inbox_once() {
    let mut world = World::started();
    quartet(&world, "sleep 1000");
    let mut ask = start_ask(&world);
    world
        .wait_for("the final", || (world.ok(&["asks", "list"])[0]["state"] == "pending_final").then_some(()));
    reboot(&mut world, &mut ask);
    let message = world.wait_for("the message", || {
        messages(&world, "alice", "ask_answered").into_iter().find(|message| message["state"] == "delivered")
    });
    let ask = the_ask(&world);
    let child = ask["children"][0]["id"].as_str().expect("a child").to_owned();
    assert_eq!((&ask["state"], &ask["delivered"]), (&json!("failed"), &json!("inbox")), "{ask}");
    let reason = ask["reason"].as_str().expect("a reason");
    assert!(reason.contains(&child) && reason.contains("restarted"), "{reason}");
    assert_eq!(message["about"], ask["id"]);
    let told = std::fs::read_to_string(world.path("told")).expect("she was woken");
    assert_eq!(told.matches("woken").count(), 1, "{told}");
    assert!(told.contains(&child) && told.contains(ask["id"].as_str().unwrap()), "{told}");
    check_nothing_left(&world);
}

#[test]
fn a_reboot_after_the_child_has_ended_brings_the_answer_to_the_inbox() {
    let mut world = World::started();
    quartet(&world, "until [ -e go ]; do sleep 0.02; done; echo R; touch ended");
    let mut ask = start_ask(&world);
    world
        .wait_for("the final", || (world.ok(&["asks", "list"])[0]["state"] == "pending_final").then_some(()));
    world.crash();
    std::fs::write(world.repo().join("go"), "").expect("a file");
    world.wait_for("the end of the child", || world.processes().is_empty().then_some(()));
    send(ask.id(), libc::SIGKILL);
    wait(&mut ask);
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_BOOT_ID", "another-boot");
    world.start_command(serve);
    world.wait_for("the message", || {
        messages(&world, "alice", "ask_answered").into_iter().find(|message| message["state"] == "delivered")
    });
    let ask = the_ask(&world);
    assert_eq!((&ask["state"], &ask["final"]), (&json!("answered"), &json!("started")), "{ask}");
    let told = std::fs::read_to_string(world.path("told")).expect("she was woken");
    assert_eq!(told.matches("woken").count(), 1, "{told}");
    assert!(told.contains("started") && told.contains("    R\n"), "{told}");
    assert_eq!(messages(&world, "bob", "task_ended").len(), 0, "no wake for a joined child");
    check_nothing_left(&world);
}
