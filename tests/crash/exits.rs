//! Each way out of `carillon serve`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{World, alive};

fn started_with_agent(args: &[&str]) -> (World, u32) {
    let mut world = World::new();
    world.start(args);
    world.add_agent("one", "touch \"$TMPDIR/x\"; echo ready; sleep 1000");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "ready");
    let pid = u32::try_from(world.agent("one")["run"]["pid"].as_u64().unwrap()).unwrap();
    (world, pid)
}

#[test]
fn each_signal_is_one_clean_way_out() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        let (mut world, pid) = started_with_agent(&[]);
        let status = world.end(signal);
        assert_eq!(status.code(), Some(0), "signal {signal}");
        assert!(!alive(pid), "signal {signal}: the agent has ended");
        assert_eq!(world.processes(), [], "signal {signal}: no process is left");
        assert_eq!(
            world.temp_entries(),
            Vec::<std::path::PathBuf>::new(),
            "signal {signal}: no temp is left"
        );
        assert!(!world.home().join("carillon.sock").exists(), "signal {signal}: the socket is gone");
        world.start(&[]);
        let run = world.agent("one")["run"].clone();
        assert_eq!(run["reason"], "stopped when Carillon quit", "signal {signal}");
    }
}

#[test]
fn what_is_kept_at_the_exit_is_found_again_with_its_screen() {
    let mut world = World::new();
    world.start(&["--at-exit", "keep"]);
    world.add_agent("one", "echo \"before $$\"; read -r line; echo \"after <$line>\"; sleep 1000");
    let run = world.ok(&["agent", "start", "one"])["run"].clone();
    world.wait_for_text("one", "before ");
    assert_eq!(world.end(libc::SIGTERM).code(), Some(0));
    assert!(alive(u32::try_from(run["pid"].as_u64().unwrap()).unwrap()), "it goes on without the engine");
    world.start(&["--at-exit", "stop"]);
    assert_eq!(world.agent("one")["run"]["id"], run["id"], "the same run");
    assert_eq!(world.agent("one")["run"]["pid"], run["pid"], "the same process");
    world.wait_for_text("one", "before ");
    world.write("one", "hello\r");
    let shown = world.wait_for_text("one", "after <hello>");
    assert!(shown.contains("before "), "the screen goes on where it was: {shown}");
}

#[test]
fn a_second_signal_ends_at_once_and_the_next_start_tidies() {
    let mut world = World::new();
    world.start(&[]);
    // It ignores what is polite, so that the shutdown has something to wait for.
    let asked = world.path("asked");
    let script = format!(
        "trap 'touch {}' HUP; trap '' TERM; echo ready; while :; do sleep 0.1; done",
        asked.display()
    );
    world.add_agent("one", &script);
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "ready");
    crate::support::send(world.engine_pid(), libc::SIGTERM);
    world.wait_for("the agent to be asked to end", || asked.exists().then_some(()));
    let began = Instant::now();
    let status = world.end(libc::SIGTERM);
    assert_eq!(status.code(), Some(128 + libc::SIGTERM));
    assert!(began.elapsed() < Duration::from_secs(2), "it does not wait for the agent");
    world.start(&[]);
    assert_eq!(world.wait_until_over("one")["run"]["reason"], "stopped when Carillon quit");
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
}

#[test]
fn an_agent_that_ignores_all_politeness_is_ended_in_time() {
    let mut world = World::new();
    world.start(&[]);
    world.add_agent("one", "trap '' HUP TERM INT; echo ready; while :; do sleep 1; done");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "ready");
    assert_eq!(world.end(libc::SIGTERM).code(), Some(0));
    assert_eq!(world.processes(), []);
    assert_eq!(world.temp_entries(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn nothing_starts_during_a_shutdown() {
    let (mut world, _) = started_with_agent(&[]);
    world.ok(&["agent", "add", "late", "--project", "repo", "--profile", "one-profile"]);
    world.end(libc::SIGTERM);
    let error = world.fails(&["agent", "start", "late"], 3);
    assert_eq!(error["code"], "no_engine");
    world.start(&[]);
    assert_eq!(world.agent("late")["run"], json!(null));
}
