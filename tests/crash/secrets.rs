//! Values that nobody may read: they stand in files for the user alone, and nowhere else, whatever fails.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{CARILLON, World};

/// Every file below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

/// Whether the first eight characters of a secret are anywhere in it.
fn tells(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(8).any(|part| part == &secret.as_bytes()[..8])
}

/// An engine that logs all it can, and has a secret of its own in its environment.
fn talkative(world: &mut World, log: &Path, own: &str) {
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_LOG", "trace").env("CARILLON_OWN_KEY", own);
    serve.stderr(std::fs::File::options().create(true).append(true).open(log).unwrap());
    world.start_command(serve);
}

#[test]
fn no_log_no_ledger_and_no_report_tells_a_secret() {
    let mut world = World::new();
    let log = world.path("log");
    let (of_profile, of_caller) = ("pr0file-canary-4711", "ca11er-canary-4712");
    talkative(&mut world, &log, "0wn-canary-4713");
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    let key = format!("KEY={of_profile}");
    let profile = |name: &str, program: &str, script: &str| {
        let args = ["profile", "add", name, "--adapter", "plain", "--program", program, "--env", &key];
        world.ok(&[&args[..], &["--arg", "-c", "--arg", script]].concat());
        world.ok(&["agent", "add", name, "--project", "repo", "--profile", name, "--mode", "headless"]);
    };
    profile("fine", "/bin/sh", "test -n \"$KEY\" && echo fine");
    profile("fails", "/bin/sh", "echo no use >&2; exit 3");
    // One that goes after it was found.
    let missing = world.path("missing");
    std::fs::copy("/bin/sh", &missing).unwrap();
    profile("missing", missing.to_str().unwrap(), "true");
    std::fs::remove_file(&missing).unwrap();
    assert_eq!(world.ok(&["ask", "fine", "hello"])["state"], "answered");
    for name in ["fails", "missing"] {
        assert!(!world.run(&["--json", "ask", name, "hello", "--timeout", "15s"]).status.success(), "{name}");
    }
    // Tasks take the environment of who starts them, also when they wait in line or cannot begin.
    let cwd = world.repo();
    for command in [&["sh", "-c", "test -n \"$TOKEN\""][..], &["sh", "-c", "exit 4"], &["/no/such/program"]] {
        let mut run = world.isolated(CARILLON);
        run.args(["--json", "run", "--cwd", cwd.to_str().unwrap(), "--wait", "--"]).args(command);
        run.env("TOKEN", of_caller).output().unwrap();
    }
    let mut run = world.isolated(CARILLON);
    run.args(["--json", "run", "--cwd", cwd.to_str().unwrap(), "--", "sleep", "1000"]);
    let started = run.env("TOKEN", of_caller).output().unwrap();
    let task: serde_json::Value = serde_json::from_slice(&started.stdout).unwrap();
    world.wait_for("the task to run", || {
        (world.ok(&["tasks", "show", task["id"].as_str().unwrap()])["state"] == "running").then_some(())
    });
    let reports = [&["doctor"][..], &["clean"], &["tasks", "list"], &["asks", "list"], &["profile", "list"]];
    let said: Vec<u8> = reports
        .iter()
        .flat_map(|args| {
            let output = world.run(&[&["--json"], *args].concat());
            [output.stdout, output.stderr].concat()
        })
        .collect();
    world.crash();
    talkative(&mut world, &log, "0wn-canary-4713");
    world.end(libc::SIGTERM);
    for secret in [of_profile, of_caller] {
        assert!(!tells(&said, secret), "a report tells {secret}");
        assert!(!tells(&std::fs::read(&log).unwrap(), secret), "the log tells {secret}");
        let holding: Vec<PathBuf> = files(&world.home())
            .into_iter()
            .filter(|file| tells(&std::fs::read(file).unwrap_or_default(), secret))
            .collect();
        for file in &holding {
            let below = file.strip_prefix(world.home()).unwrap();
            assert!(below.starts_with("secrets") || below.starts_with("envs"), "{below:?} holds {secret}");
            assert_eq!(std::fs::metadata(file).unwrap().mode() & 0o077, 0, "{below:?} is for the user alone");
        }
    }
    assert!(!std::fs::read(&log).unwrap().is_empty(), "it did log");
}

#[test]
fn what_is_the_engines_own_reaches_no_child() {
    let mut world = World::new();
    let own = "0wn-canary-4713";
    let log = world.path("log");
    talkative(&mut world, &log, own);
    world.add_agent("one", "env; echo done; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "done");
    let run = world.agent("one")["run"]["id"].clone();
    let screen = world.call("terminal_text", json!({"run": run}))["text"].to_string();
    assert!(screen.contains("CARILLON_RUN") && !screen.contains("CARILLON_OWN_KEY"), "{screen}");
    let task = world.ok(&["run", "--cwd", world.repo().to_str().unwrap(), "--wait", "--", "env"]);
    let output = world.run(&["tasks", "output", task["id"].as_str().unwrap()]).stdout;
    let text = String::from_utf8_lossy(&output);
    assert!(text.contains("CARILLON_RUN=") && !text.contains("CARILLON_OWN_KEY"), "{text}");
    world.write("one", "end\r");
    world.wait_until_over("one");
    world.end(libc::SIGTERM);
    for file in files(&world.home()) {
        assert!(!tells(&std::fs::read(&file).unwrap_or_default(), own), "{} holds it", file.display());
    }
}
