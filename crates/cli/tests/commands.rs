//! The commands as people and scripts use them: shapes, exit codes, and what bad input is told.

mod support;

use serde_json::{Value, json};
use support::World;

fn fields(value: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

#[test]
fn the_shapes_are_those_that_people_script() {
    let mut world = World::new();
    let ready = world.start(&[]);
    assert_eq!(ready["ready"], true);
    assert_eq!(ready["pid"], world.engine_pid());
    assert_eq!(ready["socket"], json!(world.home().join("carillon.sock")));

    let project = world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    assert_eq!(fields(&project), ["id", "name", "root", "usage"]);
    assert_eq!(project["name"], "repo");
    let again = world.ok(&["project", "add", world.repo().join(".").to_str().unwrap()]);
    assert_eq!(again, project, "opening a repository twice gives the same project");

    let profile =
        world.ok(&["profile", "add", "cat", "--adapter", "plain", "--program", "cat", "--env", "K=v"]);
    assert_eq!(profile["policy"], "allow");
    assert_eq!(profile["env_names"], json!(["K"]));
    for field in ["id", "name", "adapter", "program", "version", "policy", "concurrency", "limited_until_ms"]
    {
        assert!(profile.get(field).is_some(), "{field} in {profile}");
    }

    let agent = world.ok(&["agent", "add", "one", "--project", "repo", "--profile", "cat"]);
    for field in [
        "id",
        "name",
        "project",
        "profile",
        "mode",
        "state",
        "waiting_on",
        "queued",
        "workdir",
        "session_id",
        "limited_until_ms",
        "held_back",
        "usage",
    ] {
        assert!(agent.get(field).is_some(), "{field} in {agent}");
    }
    assert_eq!(agent["state"], "offline");
    assert_eq!(agent["workdir"], json!(world.repo()));

    let started = world.ok(&["agent", "start", "one"]);
    assert_eq!(started["state"], "idle");
    assert_eq!(world.ok(&["agent", "start", "one"])["run"]["id"], started["run"]["id"], "started once");
    let stopped = world.ok(&["agent", "stop", &agent["id"].as_str().unwrap()[..6]]);
    assert_eq!(stopped["run"]["reason"], "stopped by you");
    world.ok(&["agent", "remove", "one"]);
    assert_eq!(world.ok(&["agent", "list"]), json!([]));
    assert!(world.ok(&["doctor"])["checks"].as_array().is_some_and(|checks| checks.len() >= 5));
}

#[test]
fn what_is_typed_reaches_the_program_and_its_answer_the_screen() {
    let world = World::started();
    world.add_agent("one", "while read -r line; do echo \"got <$line>\"; done");
    world.ok(&["agent", "start", "one"]);
    world.write("one", "hällo wörld\r");
    world.wait_for_text("one", "got <hällo wörld>");
    // Ctrl+D ends the input, so the script ends by itself.
    world.write("one", "\u{4}");
    assert_eq!(world.wait_until_over("one")["run"]["reason"], "exited 0");
    let run = world.agent("one")["run"]["id"].clone();
    let shown = world.call("terminal_text", json!({"run": run}));
    assert!(shown["text"].as_str().unwrap().contains("got <hällo wörld>"), "the last screen stays");
}

#[test]
fn bad_input_is_named_with_the_way_out() {
    let world = World::started();
    let user_home = world.user_home();
    let error = world.fails(&["project", "add", user_home.to_str().unwrap()], 1);
    assert!(error["message"].as_str().unwrap().contains("is not a git repository"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("git init"), "{error}");
    world.fails(&["project", "add", "/no/such/place"], 1);
    world.fails(&["project", "add", world.repo().join("README").to_str().unwrap()], 1);

    let add =
        |program: &str| world.fails(&["profile", "add", "p", "--adapter", "plain", "--program", program], 1);
    let error = add("no-such-program");
    assert!(error["message"].as_str().unwrap().contains("no-such-program"), "{error}");
    let plain_file = world.repo().join("README");
    let error = add(plain_file.to_str().unwrap());
    assert!(error["message"].as_str().unwrap().contains("not executable"), "{error}");
    let error = world.fails(&["profile", "add", "p", "--adapter", "emacs", "--program", "cat"], 2);
    assert!(error["message"].as_str().unwrap().contains("emacs"), "{error}");
    let error = world.fails(&["profile", "add", "-x", "--adapter", "plain", "--program", "cat"], 2);
    assert_eq!(error["code"], "invalid");

    world.fails(&["agent", "start", "nobody"], 1);
    world.fails(&["agent", "add", "a", "--project", "nowhere", "--profile", "cat"], 1);
    assert_eq!(world.run(&["agent", "fly"]).status.code(), Some(2), "wrong use");
    assert_eq!(world.run(&[]).status.code(), Some(2), "wrong use");
}

#[test]
fn what_is_wanted_of_a_limit_that_does_not_hold_is_refused() {
    let world = World::started();
    world.add_demo_agents(&[]);
    for wanted in ["hold", "resume", "clear"] {
        let error = world.fails(&["limits", wanted, "demo"], 4);
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!("refused"), &json!("no session limit holds for profile \"demo\""))
        );
        world.fails(&["limits", wanted, "nobody"], 1);
    }
    assert_eq!(world.ok(&["limits", "list"]), json!([]));
}

#[test]
fn a_headless_agent_that_has_done_its_turn_is_idle_and_nothing_else() {
    let world = World::started();
    world.add_demo_agents(&["ada"]);
    let words = || {
        let list = String::from_utf8(world.run(&["agent", "list"]).stdout).unwrap();
        let row = list.lines().find(|row| row.contains(" ada ")).expect("her row").to_owned();
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).nth(3).expect("her state").to_owned()
    };
    assert_eq!(words(), "idle");
    world.ok(&["ask", "ada", "say hello"]);
    assert_eq!(world.agent("ada")["run"]["reason"], "exited 0");
    assert_eq!(words(), "idle");
    assert_eq!(world.run(&["ask", "ada", "fail no luck"]).status.code(), Some(1));
    assert!(words().starts_with("idle (exited "), "{}", words());
    let ask = world.run(&["ask", "ada", "sleep 60", "--timeout", "200ms"]);
    assert_eq!(ask.status.code(), Some(1));
    let turns = world.wait_for("the end of the turn", || {
        let turns = world.call("turns_list", json!({"agent": "ada"}));
        (turns[0]["state"] == "interrupted").then_some(turns)
    });
    assert_eq!(turns[0]["reason"], "stopped because its ask was over");
}

#[test]
fn a_directory_that_is_gone_is_never_replaced_by_another() {
    let world = World::started();
    world.add_agent("one", "pwd; sleep 100");
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let path = elsewhere.to_str().unwrap();
    world.ok(&["agent", "add", "two", "--project", "repo", "--profile", "one-profile", "--workdir", path]);
    std::fs::remove_dir(&elsewhere).unwrap();
    let error = world.fails(&["agent", "start", "two"], 1);
    assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    assert_eq!(world.agent("two")["run"], Value::Null, "nothing was started");
}

#[test]
fn a_program_that_vanished_is_named_when_it_is_started() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    let program = world.path("tool");
    std::fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = program.to_str().unwrap();
    world.ok(&["profile", "add", "p", "--adapter", "plain", "--program", path]);
    world.ok(&["agent", "add", "one", "--project", "repo", "--profile", "p"]);
    std::fs::remove_file(&program).unwrap();
    let error = world.fails(&["agent", "start", "one"], 1);
    assert!(error["message"].as_str().unwrap().contains(path), "{error}");
}

#[test]
fn without_an_engine_a_command_says_so() {
    let world = World::new();
    let error = world.fails(&["project", "list"], 3);
    assert!(error["hint"].as_str().unwrap().contains("carillon serve"), "{error}");
    let diagnosis = world.ok(&["doctor"]);
    assert_eq!(diagnosis["ok"], true, "{diagnosis}");
}

#[test]
fn a_second_engine_is_refused_and_the_first_goes_on() {
    let world = World::started();
    let output = world.run(&["serve", "--json"]);
    assert_eq!(output.status.code(), Some(4));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains(&world.engine_pid().to_string()), "{message}");
    world.ok(&["project", "list"]);
}

#[test]
fn a_home_that_cannot_be_used_is_named() {
    let world = World::new();
    std::fs::write(world.home(), "a file, not a directory").unwrap();
    let output = world.run(&["serve", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    let text = error["error"].to_string();
    assert!(text.contains(world.home().to_str().unwrap()) && text.contains("CARILLON_HOME"), "{text}");
}

#[test]
fn a_damaged_ledger_is_moved_aside_whole() {
    let mut world = World::started();
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    world.end(libc::SIGTERM);
    let ledger = world.home().join("carillon.db");
    let mut bytes = std::fs::read(&ledger).unwrap();
    bytes[100..4096].fill(0xff);
    std::fs::write(&ledger, &bytes).unwrap();
    world.start(&[]);
    assert_eq!(world.ok(&["project", "list"]), json!([]));
    let notices = world.call("info", json!({}))["notices"].clone();
    assert!(notices[0]["hint"].as_str().unwrap().contains("carillon.db.corrupt-"), "{notices}");
    let aside = std::fs::read_dir(world.home())
        .unwrap()
        .flatten()
        .find(|e| e.file_name().to_string_lossy().starts_with("carillon.db.corrupt-"))
        .expect("the damaged file is kept");
    assert_eq!(std::fs::read(aside.path()).unwrap(), bytes);
}

#[test]
fn a_request_that_is_too_long_is_refused_and_the_next_one_works() {
    use std::io::{BufRead, BufReader, Write};
    let world = World::started();
    let stream = std::os::unix::net::UnixStream::connect(world.home().join("carillon.sock")).unwrap();
    let mut write = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        write.write_all(&vec![b'x'; 20 << 20]).unwrap();
        write.write_all(b"\n{\"id\":7,\"method\":\"projects_list\"}\n").unwrap();
    });
    let mut answers = BufReader::new(stream).lines();
    let first: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
    assert!(first["error"]["message"].as_str().unwrap().contains("longer than"), "{first}");
    let second: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
    assert_eq!(second, json!({"id": 7, "result": []}));
    sender.join().unwrap();
}

#[test]
fn secrets_of_a_profile_stand_in_no_list_and_not_in_the_ledger() {
    let mut world = World::started();
    let canary = "canary-4711-secret";
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    world.ok(&[
        "profile",
        "add",
        "p",
        "--adapter",
        "plain",
        "--program",
        "/bin/sh",
        "--arg",
        "-c",
        "--arg",
        "test -n \"$KEY\" && echo \"length ${#KEY}\"; sleep 100",
        "--env",
        &format!("KEY={canary}"),
    ]);
    world.ok(&["agent", "add", "one", "--project", "repo", "--profile", "p"]);
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", &format!("length {}", canary.len()));
    assert!(!world.ok(&["profile", "list"]).to_string().contains("canary"));
    world.end(libc::SIGTERM);
    for entry in walk(&world.home()) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let holds = bytes.windows(8).any(|part| part == &canary.as_bytes()[..8]);
        let is_own_file = entry.starts_with(world.home().join("secrets"));
        assert_eq!(holds, is_own_file, "{}", entry.display());
    }
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(walk(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files
}
