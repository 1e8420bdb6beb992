//! What an unfriendly world does to an engine, and what must hold all the same.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{CARILLON, World, alive, send, wait};

fn run(world: &World, script: &str) -> Value {
    let cwd = world.repo();
    world.ok(&["run", "--cwd", cwd.to_str().unwrap(), "--", "sh", "-c", script])
}

fn opened() -> World {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    world
}

fn over(world: &World, task: &Value) -> Value {
    world.ok(&["tasks", "wait", task["id"].as_str().unwrap()])
}

#[test]
fn messages_that_cannot_be_written_cost_only_themselves() {
    let mut world = World::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut serve = world.isolated(CARILLON);
    serve.args(["serve"]).stderr(Stdio::from(full));
    world.start_command(serve);
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 1\n").unwrap();
    let first = run(&world, "sleep 0.3");
    let second = run(&world, "true");
    // The next claim warns about this, which nobody can read.
    std::fs::write(world.repo().join("carillon.toml"), "broken").unwrap();
    assert_eq!(over(&world, &first)["state"], "succeeded");
    assert_eq!(over(&world, &second)["state"], "succeeded");
}

#[test]
fn a_pipe_in_the_place_of_the_rules_makes_nobody_wait() {
    let world = opened();
    let made = std::process::Command::new("mkfifo").arg(world.repo().join("carillon.toml")).status().unwrap();
    assert!(made.success());
    let cwd = world.repo();
    let error = world.fails(&["run", "--cwd", cwd.to_str().unwrap(), "--", "true"], 1);
    assert!(error["message"].as_str().unwrap().contains("not a file"), "{error}");
    std::fs::remove_file(world.repo().join("carillon.toml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", world.repo().join("carillon.toml")).unwrap();
    world.fails(&["run", "--cwd", cwd.to_str().unwrap(), "--", "true"], 1);
}

#[test]
fn the_lock_cannot_be_removed_from_under_an_engine() {
    let world = opened();
    std::fs::remove_file(world.home().join("lock")).unwrap();
    assert_eq!(world.run(&["serve"]).status.code(), Some(4));
    assert_eq!(over(&world, &run(&world, "true"))["state"], "succeeded", "the first goes on");
}

#[test]
fn a_shutdown_keeps_its_deadline_while_somebody_holds_the_ledger() {
    let mut world = opened();
    let task = run(&world, "sleep 1000");
    let id = task["id"].as_str().unwrap().to_owned();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", &id])["state"] == "running").then_some(())
    });
    let mut holder = rusqlite::Connection::open(world.home().join("carillon.db")).unwrap();
    let held = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let began = Instant::now();
    world.end(libc::SIGTERM);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(8), "it took {took:?}");
    world.wait_for("the task to end", || world.processes().is_empty().then_some(()));
    drop(held);
    drop(holder);
    world.start(&[]);
    assert_eq!(over(&world, &task)["reason"], "cancelled when Carillon quit");
}

#[test]
fn a_damaged_record_is_an_end_that_is_not_known() {
    let mut world = opened();
    let task = run(&world, "sleep 1; exit 7");
    let id = task["id"].as_str().unwrap().to_owned();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", &id])["state"] == "running").then_some(())
    });
    world.crash();
    let runs = world.home().join("runs");
    let record = world.wait_for("the exit record", || {
        let mut runs = std::fs::read_dir(&runs).unwrap().flatten();
        runs.find_map(|run| Some(run.path().join("exit.json")).filter(|path| path.exists()))
    });
    world.wait_for("the supervisor to end", || world.processes().is_empty().then_some(()));
    std::fs::write(record, "{\"run\":").unwrap();
    world.start(&[]);
    let task = over(&world, &task);
    assert_eq!((&task["state"], &task["exit_code"]), (&json!("lost"), &json!(null)), "{task}");
}

#[test]
fn what_the_user_keeps_is_kept_beside_a_dead_supervisor_too() {
    let mut world = opened();
    let tool = world.path("tmux");
    std::fs::copy("/bin/sleep", &tool).unwrap();
    let pid_file = world.path("pid");
    let script = format!("setsid {} 1000 & echo $! > {}; sleep 1000", tool.display(), pid_file.display());
    run(&world, &script);
    let kept = world.wait_for("the kept program", || {
        let pid: u32 = std::fs::read_to_string(&pid_file).ok()?.trim().parse().ok()?;
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .ok()
            .filter(|name| name.trim() == "tmux")
            .map(|_| pid)
    });
    world.crash();
    for (pid, command) in world.processes() {
        if command.contains("supervise") {
            send(pid, libc::SIGKILL);
        }
    }
    world.start(&[]);
    world.wait_for("the rest to be ended", || {
        let left = world.processes();
        left.iter().all(|(pid, _)| *pid == kept).then_some(())
    });
    assert!(alive(kept));
    send(kept, libc::SIGKILL);
}

#[test]
fn output_is_followed_from_an_offset_that_is_not_there_yet() {
    let world = opened();
    let gate = world.path("gate");
    let task = run(
        &world,
        &format!("printf hello; while ! test -e {}; do sleep 0.05; done; printf ' world'", gate.display()),
    );
    let id = task["id"].as_str().unwrap();
    let mut client = carillon_api::Client::connect(&world.home().join("carillon.sock")).unwrap();
    let page = client.call("task_output", json!({"task": id, "offset": 8, "wait_ms": 300})).unwrap();
    assert_eq!((&page["offset"], &page["next_offset"], &page["over"]), (&json!(8), &json!(8), &json!(false)));
    std::fs::write(gate, "").unwrap();
    let output = world.run(&["tasks", "output", id, "--offset", "8", "--follow"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "rld");
}

#[test]
fn output_without_following_ends_however_fast_more_is_written() {
    let world = opened();
    let task = run(&world, "yes");
    let id = task["id"].as_str().unwrap();
    world.wait_for("some output", || {
        (world.ok(&["tasks", "show", id])["log_bytes"].as_u64() > Some(0)).then_some(())
    });
    let mut output = world.isolated(CARILLON);
    output.args(["tasks", "output", id]).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(wait(&mut output.spawn().unwrap()).success());
    world.ok(&["tasks", "cancel", id]);
    over(&world, &task);
}

#[test]
fn thousands_of_calls_in_flight_are_all_answered() {
    const CALLS: usize = 3_000;
    let world = opened();
    let stream = UnixStream::connect(world.home().join("carillon.sock")).unwrap();
    let mut write = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        for id in 0..CALLS {
            writeln!(write, "{}", json!({"id": id, "method": "tasks_list"})).unwrap();
        }
        write
    });
    stream.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
    let answered = BufReader::new(stream).lines().take(CALLS).filter(|line| line.is_ok()).count();
    assert_eq!(answered, CALLS);
    drop(sender.join().unwrap());
}

#[test]
fn a_hang_up_that_was_to_be_ignored_ends_nothing() {
    let mut world = World::new();
    let mut serve = world.isolated("nohup");
    serve.args([CARILLON, "serve"]).stderr(Stdio::null());
    world.start_command(serve);
    send(world.engine_pid(), libc::SIGHUP);
    world.ok(&["project", "list"]);
    assert_eq!(world.end(libc::SIGTERM).code(), Some(0));
}

#[test]
fn a_link_in_the_place_of_a_temp_directory_goes_and_its_target_stays() {
    let world = opened();
    let away = world.path("away");
    let script = format!("mv \"$TMPDIR\" {} && ln -s {} \"$TMPDIR\"", away.display(), world.repo().display());
    assert_eq!(over(&world, &run(&world, &script))["state"], "succeeded");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    assert!(world.repo().join("README").exists());
}

#[test]
fn a_callers_environment_may_hold_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let world = opened();
    let mut run = world.isolated(CARILLON);
    run.args(["run", "--wait", "--", "sh", "-c", "printf %s \"$ODD\""]).current_dir(world.repo());
    run.env("ODD", std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    assert_eq!(run.output().unwrap().stdout, b"\xff\xfe");
}

#[test]
fn carillon_can_be_typed_in_every_run() {
    let world = opened();
    let task = over(&world, &run(&world, "carillon run --title inner -- true"));
    assert_eq!(task["state"], "succeeded", "{task}");
    assert_eq!(world.ok(&["tasks", "list"]).as_array().unwrap().len(), 2);
}
