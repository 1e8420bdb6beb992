//! Headless turns whose end nobody saw: what their programs told in full is the answer all the same.

use serde_json::Value;

use crate::support::{World, send};

/// A program that speaks like Claude Code, answers in full and then does not end.
const ANSWERS: &str = r#"#!/bin/sh
echo "$@" >> args
cat > prompt
echo '{"type":"system","subtype":"init","session_id":"11111111-1111-4111-8111-111111111111"}'
[ -e answers ] && echo '{"type":"result","subtype":"success","is_error":false,"result":"forty-two","session_id":"11111111-1111-4111-8111-111111111111"}'
echo $PPID > supervisor.part && mv supervisor.part supervisor
sleep 1000
"#;

/// A world with an agent on this program.
fn world() -> World {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let program = world.path("claude");
    std::fs::write(&program, ANSWERS).expect("a program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("its mode");
    world.ok(&["profile", "add", "c", "--adapter", "claude", "--program", program.to_str().expect("UTF-8")]);
    world.ok(&["agent", "add", "bob", "--project", "repo", "--profile", "c", "--mode", "headless"]);
    world
}

/// The ask whose turn is at work, when this much of it is on the disk, and the supervisor of its run.
fn at_work(world: &World, said: &str) -> (Value, u32) {
    let ask = world.ok(&["ask", "bob", "go", "--wait", "1ms"]);
    let file = world.repo().join("supervisor");
    let pid = world.wait_for("the supervisor", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    let run = world.agent("bob")["run"]["id"].clone();
    let dir = world.home().join("runs").join(run.as_str().expect("its run"));
    world.wait_for("what it said", || {
        let files = std::fs::read_dir(&dir).ok()?.flatten();
        let mut texts = files.filter_map(|file| std::fs::read(file.path()).ok());
        texts.any(|text| String::from_utf8_lossy(&text).contains(said)).then_some(())
    });
    (ask["id"].clone(), pid)
}

fn over(world: &World, id: &Value) -> Value {
    world.wait_for("the end of the ask", || {
        let now = world.ok(&["asks", "show", id.as_str().expect("an id")]);
        now["ended_ms"].is_i64().then_some(now)
    })
}

#[test]
fn an_answer_that_was_told_in_full_outlives_its_supervisor() {
    let mut world = world();
    std::fs::write(world.repo().join("answers"), "").expect("a file");
    let (id, supervisor) = at_work(&world, "forty-two");
    send(supervisor, libc::SIGKILL);
    let ask = over(&world, &id);
    assert_eq!((&ask["state"], &ask["final"]), (&"answered".into(), &"forty-two".into()), "{ask}");
    // The same when nobody was there to see it.
    std::fs::remove_file(world.repo().join("supervisor")).expect("ours");
    let (id, supervisor) = at_work(&world, "forty-two");
    world.crash();
    send(supervisor, libc::SIGKILL);
    world.start(&[]);
    assert_eq!(over(&world, &id)["final"], "forty-two");
}

#[test]
fn a_turn_that_had_told_no_answer_is_lost_and_says_so_and_its_session_goes_on() {
    let world = world();
    let (id, supervisor) = at_work(&world, "session_id");
    send(supervisor, libc::SIGKILL);
    let ask = over(&world, &id);
    assert_eq!(ask["state"], "failed", "{ask}");
    assert!(ask["reason"].as_str().expect("why").contains("no record"), "{ask}");
    std::fs::remove_file(world.repo().join("supervisor")).expect("ours");
    std::fs::write(world.repo().join("answers"), "").expect("a file");
    let (_, supervisor) = at_work(&world, "forty-two");
    send(supervisor, libc::SIGKILL);
    let args = std::fs::read_to_string(world.repo().join("args")).expect("what it was started with");
    let resumed =
        args.lines().last().expect("a start").contains("--resume 11111111-1111-4111-8111-111111111111");
    assert!(resumed, "{args}");
}
