//! What a start finds after a crash, a reboot, or somebody's hand in the data directory.

use serde_json::json;

use crate::support::{World, alive, send};

#[test]
fn a_run_that_goes_on_is_adopted_and_its_end_told_right() {
    let mut world = World::started();
    world.add_agent("one", "echo up; read -r line; exit 7");
    let run = world.ok(&["agent", "start", "one"])["run"].clone();
    world.wait_for_text("one", "up");
    world.crash();
    world.start(&[]);
    let found = world.agent("one");
    assert_eq!((&found["run"]["id"], &found["state"]), (&run["id"], &json!("idle")));
    world.write("one", "go\r");
    let over = world.wait_until_over("one");
    assert_eq!((&over["run"]["exit_code"], &over["run"]["reason"]), (&json!(7), &json!("exited 7")));
}

#[test]
fn a_run_that_ended_meanwhile_has_its_real_status() {
    for (script, code, signal, reason) in [
        ("read -r l; exit 3", json!(3), json!(null), "exited 3"),
        ("read -r l; kill -SEGV $$", json!(null), json!(11), "killed by signal 11 (SIGSEGV)"),
    ] {
        let mut world = World::started();
        world.add_agent("one", script);
        let run = world.ok(&["agent", "start", "one"])["run"].clone();
        let pid = u32::try_from(run["pid"].as_u64().unwrap()).unwrap();
        world.write("one", "go\r");
        world.crash();
        world.wait_for("the end of the program", || (!alive(pid)).then_some(()));
        world.wait_for("the exit record", || {
            world
                .home()
                .join("runs")
                .join(run["id"].as_str().unwrap())
                .join("exit.json")
                .exists()
                .then_some(())
        });
        world.start(&[]);
        let over = world.wait_until_over("one")["run"].clone();
        assert_eq!(
            (&over["exit_code"], &over["signal"], over["reason"].as_str()),
            (&code, &signal, Some(reason))
        );
    }
}

#[test]
fn a_supervisor_that_was_killed_leaves_a_lost_run_and_no_process() {
    let mut world = World::started();
    world.add_agent("one", "(setsid sleep 1000 &) ; echo up; sleep 1000");
    let run = world.ok(&["agent", "start", "one"])["run"].clone();
    world.wait_for_text("one", "up");
    let started = world.home().join("runs").join(run["id"].as_str().unwrap()).join("started.json");
    let started: serde_json::Value = serde_json::from_slice(&std::fs::read(started).unwrap()).unwrap();
    world.crash();
    send(u32::try_from(started["supervisor_pid"].as_u64().unwrap()).unwrap(), libc::SIGKILL);
    world.start(&[]);
    let over = world.wait_until_over("one");
    assert_eq!(over["run"]["state"], "lost");
    assert_eq!(over["run"]["reason"], "lost: its supervisor left no record of the end");
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

/// It clears its environment, so only its cgroup tells whose it is. Where the system lets us have none,
/// it is missed, as `docs/adr/0008-a-cgroup-per-run.md` says.
#[test]
fn what_hides_from_a_dead_supervisor_is_ended_where_the_run_has_a_cgroup() {
    let mut world = World::started();
    let file = world.path("pid");
    let script =
        format!("env -i setsid sh -c 'echo $$ >{}; exec sleep 1000' & echo up; wait", file.display());
    world.add_agent("one", &script);
    let run = world.ok(&["agent", "start", "one"])["run"].clone();
    world.wait_for_text("one", "up");
    let hidden: u32 = world.wait_for("its pid", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    let started = world.home().join("runs").join(run["id"].as_str().unwrap()).join("started.json");
    let started: serde_json::Value = serde_json::from_slice(&std::fs::read(started).unwrap()).unwrap();
    assert!(!world.processes().iter().any(|(pid, _)| *pid == hidden), "it carries no marker");
    world.crash();
    send(u32::try_from(started["supervisor_pid"].as_u64().unwrap()).unwrap(), libc::SIGKILL);
    world.start(&[]);
    assert_eq!(world.wait_until_over("one")["run"]["state"], "lost");
    match started["cgroup"].as_str() {
        Some(cgroup) => {
            world.wait_for("its end", || (!alive(hidden)).then_some(()));
            let is_there = || std::path::Path::new(cgroup).exists();
            world.wait_for("the end of the cgroup", || (!is_there()).then_some(()));
        }
        None => send(hidden, libc::SIGKILL),
    }
}

#[test]
fn after_a_reboot_a_strangers_process_gets_no_signal() {
    let mut world = World::started();
    world.add_agent("one", "echo up; sleep 1000");
    let run = world.ok(&["agent", "start", "one"])["run"].clone();
    world.wait_for_text("one", "up");
    let dir = world.home().join("runs").join(run["id"].as_str().unwrap());
    let mut started: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.join("started.json")).unwrap()).unwrap();
    world.crash();
    for (pid, _) in world.processes() {
        send(pid, libc::SIGKILL);
    }
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    // The recorded pid is now a process of somebody else's that was there all along.
    let mut stranger = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    started["pid"] = json!(stranger.id());
    std::fs::write(dir.join("started.json"), started.to_string()).unwrap();
    let mut serve = world.isolated(crate::support::CARILLON);
    serve.arg("serve").env("CARILLON_BOOT_ID", "another-boot");
    world.start_command(serve);
    let over = world.wait_until_over("one")["run"].clone();
    assert_eq!(over["reason"], "lost: the machine was restarted");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_run_directory_that_is_gone_ends_as_lost() {
    let mut world = World::started();
    world.add_agent("one", "echo up; sleep 1000");
    let run = world.ok(&["agent", "start", "one"])["run"].clone();
    world.wait_for_text("one", "up");
    world.crash();
    std::fs::remove_dir_all(world.home().join("runs").join(run["id"].as_str().unwrap())).unwrap();
    world.start(&[]);
    assert_eq!(world.wait_until_over("one")["run"]["state"], "lost");
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
}

#[test]
fn a_boot_that_is_repeated_changes_nothing() {
    let mut world = World::started();
    world.add_agent("one", "echo up; sleep 1000");
    world.add_agent("two", "exit 5");
    world.ok(&["agent", "start", "one"]);
    world.run(&["agent", "start", "two"]);
    world.wait_until_over("two");
    let mut boot = || {
        world.crash();
        world.start(&[]);
        // How much a live run has written is not the ledger's to know.
        let mut agents = world.ok(&["agent", "list"]);
        for agent in agents.as_array_mut().unwrap() {
            agent["run"]["log_bytes"].take();
        }
        let seq = world.call("changes_wait", json!({}))["seq"].clone();
        (agents, seq)
    };
    let first = boot();
    assert_eq!(boot(), first, "neither the agents nor the number of changes");
}
