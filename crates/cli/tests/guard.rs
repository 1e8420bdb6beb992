//! `carillon guard` as people and scripts use it, on the built binary. No engine runs.

mod support;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use support::{CARILLON, World, send};

const RULES: &str = "[residue]\ndirectories = [\"test-feature-*\"]\nbranches = [\"kitty/test-*\"]\n\
                     worktree_roots = [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\n";

fn world() -> World {
    let world = World::new();
    std::fs::write(world.repo().join("carillon.toml"), RULES).expect("a file");
    std::fs::create_dir(world.path("tmp")).expect("a directory");
    world
}

fn guard(world: &World, options: &[&str], script: &str) -> Command {
    let mut command = world.isolated(CARILLON);
    command.args(options).args(["--", "sh", "-c", script]).current_dir(world.repo());
    command.env("TMPDIR", world.path("tmp")).stdin(Stdio::null());
    command
}

fn run(world: &World, options: &[&str], script: &str) -> Output {
    guard(world, options, script).output().expect("carillon guard")
}

fn shape(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

#[test]
fn a_leak_is_reaped_named_and_told_in_json() {
    let world = world();
    let script = "echo to the user; mkdir -p test-feature-1 .worktrees/w $TMPDIR/spec-kitty-1; git branch kitty/test-1";
    let output = run(&world, &["guard", "--json"], script);
    let told = shape(&output);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(told["baseline"], 0);
    let names = json!(["test-feature-1", ".worktrees/w", "kitty/test-1", "spec-kitty-1"]);
    assert_eq!((&told["made"], &told["reaped"], &told["kept"]), (&names, &names, &json!([])));
    assert_eq!((&told["exit_code"], &told["acts"]), (&json!(0), &json!(true)));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("to the user"), "the command's own output goes to standard error: {err}");
    for gone in [world.repo().join("test-feature-1"), world.path("tmp/spec-kitty-1")] {
        assert!(!gone.exists(), "{}", gone.display());
    }
    // What was there before stays, and a clean command is a clean end.
    std::fs::create_dir(world.repo().join("test-feature-old")).expect("a directory");
    let told = shape(&run(&world, &["--json", "guard", "--strict"], "true"));
    assert_eq!((&told["baseline"], &told["made"], &told["exit_code"]), (&json!(1), &json!([]), &json!(0)));
    assert!(world.repo().join("test-feature-old").exists());
}

#[test]
fn strict_turns_only_a_success_into_a_failure_and_prints_the_names() {
    let world = world();
    for (options, script, code) in [
        (&["guard"][..], "mkdir test-feature-1", 0),
        (&["guard", "--strict"], "mkdir test-feature-2", 1),
        (&["guard", "--strict"], "mkdir test-feature-3; exit 7", 7),
        (&["guard"], "kill -TERM $$", 143),
        (&["guard", "--strict"], "true", 0),
    ] {
        let output = run(&world, options, script);
        assert_eq!(output.status.code(), Some(code), "{script}: {output:?}");
        let err = String::from_utf8_lossy(&output.stderr);
        let names_it = err.contains("test-feature-");
        assert_eq!(names_it, script.starts_with("mkdir"), "{script}: {err}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn what_the_command_left_running_is_ended_before_anything_is_reaped() {
    let world = world();
    // Out of reach of its group, deaf to a polite end, and with its directory inside of what is reaped.
    let script = "mkdir test-feature-1; cd test-feature-1; \
                  setsid sh -c 'trap \"\" TERM HUP; echo $$ > ../pid; while :; do sleep 1; done' & \
                  while ! test -s ../pid; do sleep 0.01; done";
    let told = shape(&run(&world, &["guard", "--json"], script));
    assert_eq!(told["reaped"], json!(["test-feature-1"]), "{told}");
    assert_eq!(told["processes_left"], json!([]));
    let pid = std::fs::read_to_string(world.repo().join("pid")).expect("the pid");
    assert!(!PathBuf::from(format!("/proc/{}", pid.trim())).exists());
}

#[test]
fn what_a_process_outside_of_the_tree_uses_stays() {
    let world = world();
    let mut outside = world.isolated("sh");
    let wait = "until cd test-feature-1 2>/dev/null; do sleep 0.01; done; touch ../seen; exec sleep 60";
    let mut outside =
        outside.args(["-c", wait]).current_dir(world.repo()).spawn().expect("a process of another tree");
    let script = "mkdir test-feature-1; until test -e seen; do sleep 0.01; done";
    let told = shape(&run(&world, &["guard", "--json", "--strict"], script));
    outside.kill().expect("it is ours");
    outside.wait().expect("it is ours");
    assert_eq!((&told["reaped"], &told["exit_code"]), (&json!([]), &json!(1)));
    let reason = told["kept"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains(&format!("in use by pid {}", outside.id())), "{reason}");
    assert!(world.repo().join("test-feature-1").exists());
}

#[test]
fn an_inner_guard_does_nothing_and_one_in_another_repository_is_its_own() {
    let world = world();
    let other = world.path("other");
    std::fs::create_dir(&other).expect("a directory");
    let init = world.isolated("git").arg("-C").arg(&other).args(["init", "--quiet"]).status();
    assert!(init.expect("git").success());
    std::fs::write(other.join("carillon.toml"), RULES).expect("a file");
    let inner = format!(
        "{CARILLON} guard --json -- mkdir test-feature-1 > inner.json; test -d test-feature-1 && cd {} && \
         {CARILLON} guard --json -- mkdir test-feature-2 > other.json",
        other.display()
    );
    let told = shape(&run(&world, &["guard", "--json"], &inner));
    let read = |path: PathBuf| -> Value {
        serde_json::from_slice(&std::fs::read(path).expect("its answer")).expect("JSON")
    };
    let inner = read(world.repo().join("inner.json"));
    assert_eq!((&inner["acts"], &inner["made"], &inner["exit_code"]), (&json!(false), &json!([]), &json!(0)));
    let other = read(other.join("other.json"));
    assert_eq!((&other["acts"], &other["reaped"]), (&json!(true), &json!(["test-feature-2"])));
    assert_eq!(told["reaped"], json!(["test-feature-1"]), "the outermost one acts");
}

#[test]
fn signals_reach_the_command_and_the_guard_still_reaps() {
    let world = world();
    let script = "trap 'exit 5' USR1; mkdir test-feature-1; echo ready; while :; do sleep 0.05; done";
    let mut child = guard(&world, &["guard"], script).stdout(Stdio::piped()).spawn().expect("carillon guard");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    send(child.id(), libc::SIGUSR1);
    assert_eq!(child.wait().expect("its end").code(), Some(5));
    assert!(!world.repo().join("test-feature-1").exists());

    let mut child = guard(&world, &["guard"], "mkdir test-feature-2; echo ready; exec sleep 60")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    send(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().expect("its end").code(), Some(143));
    assert!(!world.repo().join("test-feature-2").exists());
}

#[test]
fn bad_rules_and_bad_commands_are_refused_before_anything_runs() {
    let world = world();
    let rules = world.path("rules.toml");
    std::fs::write(&rules, "[residue]\ndirectory = [\"a-*\"]\n").expect("a file");
    let output = run(&world, &["guard", "--json", "--rules", rules.to_str().unwrap()], "touch ran");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error: Value = serde_json::from_slice(&output.stderr).expect("an error");
    assert!(error["error"]["message"].as_str().unwrap().contains("directory"), "{error}");
    assert!(!world.repo().join("ran").exists());
    let mut missing = world.isolated(CARILLON);
    let missing =
        missing.args(["guard", "--", "no-such-program-here"]).current_dir(world.repo()).output().unwrap();
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no-such-program-here"));
    // Rules of one's own come instead of those of the repository.
    std::fs::write(&rules, "[residue]\ndirectories = [\"mine-*\"]\n").expect("a file");
    let told = shape(&run(
        &world,
        &["guard", "--json", "--rules", rules.to_str().unwrap()],
        "mkdir mine-1 test-feature-1",
    ));
    assert_eq!(told["reaped"], json!(["mine-1"]));
    let outside =
        world.isolated(CARILLON).args(["guard", "--", "true"]).current_dir(world.path("tmp")).output();
    assert_eq!(outside.expect("carillon guard").status.code(), Some(1));
}
