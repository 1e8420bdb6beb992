//! Background tasks: one record each that tells the truth, whatever happens to the engine.

use serde_json::{Value, json};

use crate::support::{CARILLON, World, alive, send, wait};

/// An opened repository with an agent that owns tasks.
fn world() -> World {
    let world = World::started();
    world.add_agent("boss", "sleep 1000");
    world
}

fn run(world: &World, args: &[&str]) -> Value {
    let cwd = world.repo();
    world.ok(&[&["run", "--cwd", cwd.to_str().unwrap()], args].concat())
}

fn over(world: &World, task: &Value) -> Value {
    world.ok(&["tasks", "wait", task["id"].as_str().unwrap()])
}

fn messages(world: &World, task: &Value) -> usize {
    let inbox = world.ok(&["inbox", "boss"]);
    inbox.as_array().unwrap().iter().filter(|message| message["about"] == task["id"]).count()
}

#[test]
fn each_end_has_its_state_its_words_and_its_output() {
    let world = world();
    let sh = |script: &'static str| run(&world, &["--", "sh", "-c", script]);
    let ends = [
        (sh("echo fine"), "succeeded", json!(0), json!(null), "succeeded", "fine\n"),
        (sh("echo bad >&2; exit 3"), "failed", json!(3), json!(null), "exited 3", "bad\n"),
        (sh("kill -KILL $$"), "failed", json!(null), json!(9), "killed by signal 9 (SIGKILL)", ""),
    ];
    for (task, state, code, signal, reason, output) in ends {
        let task = over(&world, &task);
        assert_eq!(
            (&task["state"], &task["exit_code"], &task["signal"]),
            (&json!(state), &code, &signal),
            "{task}"
        );
        assert_eq!(task["reason"], reason);
        let shown = world.run(&["tasks", "output", task["id"].as_str().unwrap()]);
        assert_eq!(String::from_utf8_lossy(&shown.stdout), output);
    }
    let timed_out = over(&world, &run(&world, &["--timeout", "200ms", "--", "sleep", "100"]));
    assert_eq!(timed_out["state"], "timed_out");
    let missing = over(&world, &run(&world, &["--", "no-such-command-here"]));
    assert_eq!(missing["state"], "failed");
    assert!(missing["reason"].as_str().unwrap().contains("no-such-command-here"), "{missing}");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

#[test]
fn run_wait_shows_the_output_and_passes_the_code_on() {
    let world = world();
    let go = |args: &[&str]| {
        let mut command = world.isolated(crate::support::CARILLON);
        command.args(["run", "--wait"]).args(args).current_dir(world.repo());
        command.env("MARK", "from the caller").output().unwrap()
    };
    let output = go(&["--", "sh", "-c", "pwd; echo \"$MARK\"; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    let expected = format!("{}\nfrom the caller\n", world.repo().display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert_eq!(go(&["--timeout", "100ms", "--", "sleep", "9"]).status.code(), Some(124));
    assert_eq!(go(&["--", "sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
}

#[test]
fn a_cancel_is_one_notice_without_a_word_of_failure() {
    let world = world();
    let task = run(&world, &["--owner", "boss", "--", "sleep", "1000"]);
    let id = task["id"].as_str().unwrap();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", id])["state"] == "running").then_some(())
    });
    world.ok(&["tasks", "cancel", id]);
    world.ok(&["tasks", "cancel", id]);
    let task = over(&world, &task);
    assert_eq!((&task["state"], &task["reason"]), (&json!("cancelled"), &json!("cancelled by you")));
    let inbox = world.ok(&["inbox", "boss"]);
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    let text = inbox[0]["text"].as_str().unwrap();
    assert!(text.contains("cancelled") && !text.contains("fail") && !text.contains("143"), "{text}");
}

#[test]
fn what_waits_in_line_starts_in_order_and_can_be_cancelled() {
    let world = world();
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 1\n").unwrap();
    let blocker = run(&world, &["--", "sleep", "1000"]);
    let order = world.path("order");
    let note = |n: u32| format!("echo {n} >> {}", order.display());
    let second = run(&world, &["--", "sh", "-c", &note(2)]);
    let third = run(&world, &["--", "sh", "-c", &note(3)]);
    let fourth = run(&world, &["--", "sh", "-c", &note(4)]);
    assert_eq!((&second["state"], &third["state"]), (&json!("queued"), &json!("queued")));
    world.ok(&["tasks", "cancel", third["id"].as_str().unwrap()]);
    assert_eq!(over(&world, &third)["state"], "cancelled");
    world.ok(&["tasks", "cancel", blocker["id"].as_str().unwrap()]);
    for task in [&second, &fourth] {
        assert_eq!(over(&world, task)["state"], "succeeded");
    }
    assert_eq!(std::fs::read_to_string(order).unwrap(), "2\n4\n");
}

#[test]
fn a_task_that_waits_for_a_task_lends_it_its_slot() {
    let world = world();
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 1\n").unwrap();
    let nested = format!("{} run --wait -- echo inner", crate::support::CARILLON);
    let task = run(&world, &["--timeout", "15s", "--", "sh", "-c", &nested]);
    let task = over(&world, &task);
    assert_eq!(task["state"], "succeeded", "{task}");
    let output = world.run(&["tasks", "output", task["id"].as_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "inner\n");
}

#[test]
fn two_retries_make_one_new_attempt() {
    let world = world();
    let gate = world.path("gate");
    let script = format!("test -e {0} && sleep 1000; exit 1", gate.display());
    let task = over(&world, &run(&world, &["--owner", "boss", "--", "sh", "-c", &script]));
    std::fs::write(&gate, "").unwrap();
    let id = task["id"].as_str().unwrap();
    let mut first = world.isolated(crate::support::CARILLON).args(["tasks", "retry", id]).spawn().unwrap();
    let mut second = world.isolated(crate::support::CARILLON).args(["tasks", "retry", id]).spawn().unwrap();
    assert!(wait(&mut first).success() && wait(&mut second).success());
    assert_eq!(world.ok(&["tasks", "show", id])["attempt"], 2);
    world.ok(&["tasks", "cancel", id]);
    assert_eq!(over(&world, &task)["attempt"], 2);
    assert_eq!(messages(&world, &task), 2, "one for each attempt's end");
}

#[test]
fn the_same_id_starts_nothing_twice() {
    let world = world();
    let count = world.path("count");
    let request = json!({
        "id": "0123456789abcdef0123456789abcdef", "project": "repo",
        "command": ["sh", "-c", format!("echo x >> {}", count.display())],
    });
    let first = world.call("task_add", request.clone());
    over(&world, &first);
    let again = world.call("task_add", request);
    assert_eq!((&again["id"], &again["state"]), (&first["id"], &json!("succeeded")));
    assert_eq!(std::fs::read_to_string(count).unwrap(), "x\n");
}

#[test]
fn owner_and_project_come_from_the_environment_of_a_run() {
    let world = world();
    let nested = format!("{} run -- true", crate::support::CARILLON);
    let outer = over(&world, &run(&world, &["--owner", "boss", "--", "sh", "-c", &nested]));
    assert_eq!(outer["state"], "succeeded", "{outer}");
    let tasks = world.ok(&["tasks", "list"]);
    let boss = world.agent("boss");
    for task in tasks.as_array().unwrap() {
        assert_eq!(task["owner"], boss["id"], "{task}");
    }
    assert_eq!(tasks.as_array().unwrap().len(), 2);
}

#[test]
fn nothing_to_read_no_terminal_no_prompt() {
    let world = world();
    let ask = "cat; read x </dev/tty; test \"$GIT_TERMINAL_PROMPT\" = 0 && echo no prompts";
    let task = over(&world, &run(&world, &["--timeout", "10s", "--", "sh", "-c", ask]));
    assert_eq!(task["state"], "succeeded", "{task}");
    let output = world.run(&["tasks", "output", task["id"].as_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("no prompts\n"), "{output:?}");
}

#[test]
fn a_descendant_that_holds_the_output_is_told_and_ended() {
    let world = world();
    let task = over(&world, &run(&world, &["--", "sh", "-c", "echo a; sleep 1000 &"]));
    assert_eq!((&task["exit_code"], &task["output_held"]), (&json!(0), &json!(true)), "{task}");
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
}

/// Moves everything in the ledger so many days into the past.
fn make_older(world: &World, days: i64) {
    let ledger = rusqlite::Connection::open(world.home().join("carillon.db")).unwrap();
    let ms = days * 24 * 3_600 * 1_000;
    for (table, column) in [("attempts", "ended_ms"), ("runs", "ended_ms"), ("tasks", "created_ms")] {
        let older = format!("UPDATE {table} SET {column} = {column} - {ms} WHERE {column} IS NOT NULL");
        ledger.execute(&older, []).unwrap();
    }
}

#[test]
fn logs_go_with_age_and_records_long_after() {
    let mut world = world();
    let task = over(&world, &run(&world, &["--", "echo", "old"]));
    let id = task["id"].as_str().unwrap();
    world.end(libc::SIGTERM);
    make_older(&world, 15);
    world.start(&[]);
    world.wait_for("the log to go", || {
        let output = world.run(&["tasks", "output", id]);
        String::from_utf8_lossy(&output.stderr).contains("not kept any more").then_some(())
    });
    assert_eq!(world.ok(&["tasks", "show", id])["state"], "succeeded", "the record stays");
    world.end(libc::SIGTERM);
    make_older(&world, 90);
    world.start(&[]);
    world.fails(&["tasks", "show", id], 1);
}

#[test]
fn output_is_followed_paged_and_capped() {
    let world = world();
    let task = run(&world, &["--", "sh", "-c", "printf '\\342'; sleep 0.1; printf '\\200\\224 end'"]);
    let id = task["id"].as_str().unwrap();
    let followed = world.run(&["tasks", "output", id, "--follow"]);
    assert_eq!(String::from_utf8_lossy(&followed.stdout), "— end");
    let page = world.ok(&["tasks", "output", id, "--tail", "5"]);
    assert_eq!(
        (&page["text"], &page["offset"], &page["total"]),
        (&json!(" end"), &json!(3), &json!(7)),
        "{page}"
    );

    let flood =
        run(&world, &["--log-max", "1MiB", "--", "sh", "-c", "echo head; yes | head -c 20000000; echo tail"]);
    let flood = over(&world, &flood);
    assert_eq!((&flood["state"], &flood["log_truncated"]), (&json!("succeeded"), &json!(true)));
    let kept = world.run(&["tasks", "output", flood["id"].as_str().unwrap()]);
    let text = String::from_utf8_lossy(&kept.stdout).into_owned();
    assert!(text.starts_with("head\n") && text.ends_with("tail\n"), "head and tail are kept");
    assert!(text.len() < 2 << 20, "{} bytes", text.len());
}

#[test]
fn what_is_kept_at_the_exit_is_adopted_and_its_end_told_once() {
    let mut world = World::new();
    world.start(&["--at-exit", "keep"]);
    world.add_agent("boss", "sleep 1000");
    let gate = world.path("gate");
    let script = format!("while ! test -e {}; do sleep 0.05; done; echo done; exit 6", gate.display());
    let task = run(&world, &["--owner", "boss", "--", "sh", "-c", &script]);
    let id = task["id"].as_str().unwrap();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", id])["state"] == "running").then_some(())
    });
    world.end(libc::SIGTERM);
    world.start(&["--at-exit", "stop"]);
    assert_eq!(world.ok(&["tasks", "show", id])["state"], "running");
    std::fs::write(gate, "").unwrap();
    assert_eq!(over(&world, &task)["exit_code"], 6);
    assert_eq!(messages(&world, &task), 1);
    let output = world.run(&["tasks", "output", id]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
}

#[test]
fn a_stop_at_the_exit_cancels_what_runs_and_keeps_the_line() {
    let mut world = world();
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 1\n").unwrap();
    let running = run(&world, &["--owner", "boss", "--", "sleep", "1000"]);
    let waiting = run(&world, &["--owner", "boss", "--", "true"]);
    world.end(libc::SIGTERM);
    world.start(&[]);
    let running = over(&world, &running);
    assert_eq!(
        (&running["state"], &running["reason"]),
        (&json!("cancelled"), &json!("cancelled when Carillon quit"))
    );
    assert_eq!(over(&world, &waiting)["state"], "succeeded", "what was in line is not lost");
    assert_eq!((messages(&world, &running), messages(&world, &waiting)), (1, 1));
}

#[test]
fn after_a_reboot_a_running_task_is_lost_and_a_stranger_lives() {
    let mut world = world();
    let task = run(&world, &["--owner", "boss", "--", "sleep", "1000"]);
    let id = task["id"].as_str().unwrap();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", id])["state"] == "running").then_some(())
    });
    world.crash();
    for (pid, _) in world.processes() {
        send(pid, libc::SIGKILL);
    }
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    let mut stranger = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    for run in std::fs::read_dir(world.home().join("runs")).unwrap().flatten() {
        let path = run.path().join("started.json");
        let mut started: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        started["pid"] = json!(stranger.id());
        std::fs::write(path, started.to_string()).unwrap();
    }
    let mut serve = world.isolated(crate::support::CARILLON);
    serve.arg("serve").env("CARILLON_BOOT_ID", "another-boot");
    world.start_command(serve);
    let task = over(&world, &task);
    assert_eq!(
        (&task["state"], &task["reason"]),
        (&json!("lost"), &json!("lost: the machine was restarted"))
    );
    assert_eq!(messages(&world, &task), 1);
    assert!(alive(stranger.id()), "the stranger got no signal");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_cancel_that_was_recorded_holds_across_a_crash() {
    let mut world = world();
    let task = run(&world, &["--", "sh", "-c", "trap '' HUP TERM; while :; do sleep 1; done"]);
    let id = task["id"].as_str().unwrap();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", id])["state"] == "running").then_some(())
    });
    world.ok(&["tasks", "cancel", id]);
    world.crash();
    world.start(&[]);
    assert_eq!(over(&world, &task)["state"], "cancelled");
}

#[test]
fn a_task_that_asks_lends_its_slot_to_what_its_callee_runs() {
    let world = world();
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurrent = 1\n").unwrap();
    crate::answers::add_headless(&world, "bob", "carillon run -- true > /dev/null; echo done");
    let task = run(&world, &["--", CARILLON, "ask", "bob", "go"]);
    let over = over(&world, &task);
    assert_eq!(over["state"], "succeeded", "{over}");
    let output = world.ok(&["tasks", "output", over["id"].as_str().unwrap()]);
    assert!(output["text"].as_str().unwrap().contains("done"), "{output}");
}

#[test]
fn a_pause_of_the_engine_is_no_time_out() {
    let world = world();
    let task = run(&world, &["--owner", "boss", "--timeout", "10s", "--", "sleep", "1"]);
    let id = task["id"].as_str().unwrap();
    world.wait_for("its supervisor", || {
        let state = world.ok(&["tasks", "show", id])["state"].clone();
        (state != "queued" && state != "starting").then_some(())
    });
    send(world.engine_pid(), libc::SIGSTOP);
    // Its supervisor does not need the engine.
    let mut runs = std::fs::read_dir(world.home().join("runs")).unwrap().flatten();
    let run = runs.next().expect("the task's run").path();
    world.wait_for("the record of its end", || run.join("exit.json").exists().then_some(()));
    send(world.engine_pid(), libc::SIGCONT);
    assert_eq!(over(&world, &task)["state"], "succeeded");
    assert_eq!(messages(&world, &task), 1);
}

#[test]
fn bad_input_is_named() {
    let world = world();
    let error = world.fails(&["run", "--timeout", "soon", "--", "true"], 2);
    assert!(error["message"].as_str().unwrap().contains("soon"), "{error}");
    let user = world.user_home();
    let error = world.fails(&["run", "--cwd", user.to_str().unwrap(), "--", "true"], 1);
    assert!(error["hint"].as_str().unwrap().contains("project add"), "{error}");
    world.fails(&["run", "--cwd", "/no/such/place", "--", "true"], 1);
    world.fails(&["tasks", "show", "0000"], 1);
    std::fs::write(world.repo().join("carillon.toml"), "[tasks]\nconcurent = 2\n").unwrap();
    let cwd = world.repo();
    let error = world.fails(&["run", "--cwd", cwd.to_str().unwrap(), "--", "true"], 1);
    assert!(error["message"].as_str().unwrap().contains("concurent"), "{error}");
}

#[test]
fn four_hundred_in_line_all_succeed() {
    let world = world();
    let mut client = carillon_api::Client::connect(&world.home().join("carillon.sock")).unwrap();
    for _ in 0..400 {
        client.call("task_add", json!({"project": "repo", "owner": "boss", "command": ["true"]})).unwrap();
    }
    world.wait_for("the end of all", || {
        let tasks = world.ok(&["tasks", "list"]);
        let over = tasks.as_array().unwrap().iter().filter(|task| task["state"] == "succeeded").count();
        (over == 400).then_some(())
    });
    assert_eq!(world.ok(&["inbox", "boss"]).as_array().unwrap().len(), 400);
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}
