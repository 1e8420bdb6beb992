//! Ends of turns in terminals that are easily missed: told to nobody, told by nobody, or told of another turn.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{CARILLON, World};
use crate::terminals::{add_stub, answer_of, got_file, patient, prompts, start};

/// An ask whose turn has begun.
fn asked(world: &World, name: &str, prompt: &str) -> std::process::Child {
    let ask = patient(world, &["ask", name, prompt]).spawn().expect("ask");
    world.wait_for("the turn", || world.agent(name)["turn"]["started_ms"].is_number().then_some(()));
    world.wait_for("its prompt", || prompts(world, name).contains(&prompt.to_owned()).then_some(()));
    ask
}

fn assert_broken_off((done, answer): (bool, Value)) {
    assert!(!done && answer["state"] == "failed", "{answer}");
    assert!(answer["reason"].as_str().unwrap_or_default().contains("broken off"), "{answer}");
}

#[test]
fn a_turn_that_its_user_breaks_off_is_over_without_a_word_of_its_program() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks", "stays"]);
    start(&world, "one");
    let ask = asked(&world, "one", "what is the launch code");
    world.write("one", "\x1b");
    assert_broken_off(answer_of(ask));
    world.wait_for("the agent", || (world.agent("one")["state"] == "idle").then_some(()));
}

#[test]
fn what_a_user_asks_after_he_broke_off_answers_nobody_else() {
    for crashes in [false, true] {
        let mut world = World::started();
        add_stub(&world, "one", &["marks", "hooks", "stays"]);
        start(&world, "one");
        let ask = asked(&world, "one", "what is the launch code");
        world.write("one", "\x1b");
        if crashes {
            world.crash();
            world.start(&[]);
            world.wait_for_text("one", "working");
        }
        world.write("one", "fix the typo\r");
        world.wait_for("what he asked", || (prompts(&world, "one").len() == 2).then_some(()));
        world.write("one", "done\r");
        assert_broken_off(answer_of(ask));
    }
}

/// As Codex does, which tells of ends only, and of none that was broken off.
#[test]
fn the_answer_after_a_cancelled_ask_is_heard_of_a_program_that_tells_only_ends() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let stub = Path::new(CARILLON).with_file_name("paste-stub");
    let script = format!("exec {} {} marks hooks ends-only stays", stub.display(), got_file(&world, "one"));
    let program = ["--adapter", "codex", "--program", "/bin/sh", "--arg", "-c", "--arg", &script];
    world.ok(&[&["profile", "add", "told"], &program[..]].concat());
    world.ok(&["agent", "add", "one", "--project", "repo", "--profile", "told"]);
    start(&world, "one");
    let first = asked(&world, "one", "first");
    let id = world.ok(&["asks", "list"])[0]["id"].as_str().unwrap().to_owned();
    world.ok(&["asks", "cancel", &id]);
    assert_eq!(answer_of(first).1["state"], "cancelled");
    let second = patient(&world, &["ask", "one", "done"]).spawn().expect("ask");
    let (done, answer) = answer_of(second);
    assert!(done && answer["final"] == json!("answer to done"), "{answer}");
}

#[test]
fn an_enter_that_was_taken_for_a_line_end_is_pressed_again() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks", "misses-enter"]);
    start(&world, "one");
    let ask = patient(&world, &["ask", "one", "the question"]).spawn().expect("ask");
    let (done, answer) = answer_of(ask);
    assert!(done && answer["state"] == "answered", "{answer}");
    assert_eq!(prompts(&world, "one"), ["the question\n"], "once");
    // Where the first one counts there is no second.
    let ask = patient(&world, &["ask", "one", "the next"]).spawn().expect("ask");
    assert!(answer_of(ask).0);
    assert_eq!(prompts(&world, "one"), ["the question\n", "the next"]);
}

/// Together they are longer than the line of a plain terminal.
#[test]
fn messages_that_fit_alone_arrive_also_where_they_do_not_fit_together() {
    let world = World::started();
    add_stub(&world, "one", &["cooked", "hooks"]);
    for note in 0..6 {
        world.ok(&["send", "one", &format!("{note} {}", "x".repeat(900))]);
    }
    start(&world, "one");
    world.wait_for("all of them", || {
        let inbox = world.ok(&["inbox", "one"]);
        inbox.as_array().expect("a list").iter().all(|m| m["state"] == "delivered").then_some(())
    });
    let got = prompts(&world, "one").join("\n");
    for note in 0..6 {
        assert_eq!(got.matches(&format!("{note} xxx")).count(), 1, "note {note}, once");
    }
}

/// Its program has told of its end and has ended, all while no engine was there.
#[test]
fn an_answer_is_heard_of_a_program_that_is_gone_since() {
    let mut world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let gate = world.path("gate");
    let script = format!(
        "{CARILLON} hook ready; read -r prompt; {CARILLON} hook turn_began; until [ -e {0} ]; do sleep 0.02; done; \
         {CARILLON} hook turn_ended '{{\"text\": \"kept\"}}'",
        gate.display()
    );
    world.add_agent("one", &script);
    world.ok(&["agent", "start", "one"]);
    let ask = patient(&world, &["ask", "one", "keep this"]).spawn().expect("ask");
    world.wait_for("the turn", || world.agent("one")["turn"]["started_ms"].is_number().then_some(()));
    let run = world.home().join("runs").join(world.agent("one")["run"]["id"].as_str().expect("a run"));
    world.crash();
    std::fs::write(&gate, "").expect("a file");
    world.wait_for("its end", || run.join("exit.json").exists().then_some(()));
    world.start(&[]);
    let (done, answer) = answer_of(ask);
    assert!(done && answer["final"] == "kept", "{answer}");
}

/// As an agent CLI does whose hooks are commands: they cannot wait for long.
#[test]
fn the_end_of_a_turn_is_not_lost_with_an_engine_that_is_away() {
    let mut world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let gate = world.path("gate");
    let script = format!(
        "{0} hook ready; read -r prompt; {0} hook turn_began; until [ -e {1} ]; do sleep 0.02; done; \
         {0} hook turn_ended '{{\"text\": \"kept\"}}'; touch {1}.told; exec sleep 1000",
        CARILLON,
        gate.display()
    );
    world.add_agent("one", &script);
    world.ok(&["agent", "start", "one"]);
    let ask = patient(&world, &["ask", "one", "keep this"]).spawn().expect("ask");
    world.wait_for("the turn", || (world.agent("one")["turn"]["started_ms"].is_number()).then_some(()));
    world.crash();
    std::fs::write(&gate, "").expect("a file");
    let told = world.path("gate.told");
    world.wait_for("the hook to give up", || told.exists().then_some(()));
    world.start(&[]);
    let (done, answer) = answer_of(ask);
    assert!(done && answer["final"] == "kept", "{answer}");
}

/// Whether it runs or not.
#[test]
fn a_start_tries_a_wake_anew_that_was_given_up_in_a_terminal() {
    for runs in [true, false] {
        let mut world = World::started();
        add_stub(&world, "one", &["marks", "hooks"]);
        start(&world, "one");
        if !runs {
            world.ok(&["agent", "stop", "one"]);
            world.wait_until_over("one");
        }
        world.crash();
        let ledger = rusqlite::Connection::open(world.home().join("carillon.db")).expect("the ledger");
        let gave_up = "UPDATE agents SET wake_failed = 6, wake_reason = 'it fails' WHERE name = 'one'";
        assert_eq!(ledger.execute(gave_up, []).expect("a change"), 1);
        // A note that has come since would be a reason of its own.
        let note = "INSERT INTO messages (id, agent, project, kind, state, part, text, created_ms) \
                    SELECT '22222222222242228222222222222222', id, project, 'note', 'pending', 0, 'a note', 1 FROM agents";
        ledger.execute(note, []).expect("a note");
        drop(ledger);
        world.start(&[]);
        assert_eq!(world.agent("one")["wake"]["given_up"], true, "before");
        start(&world, "one");
        world.wait_for("the note", || (world.ok(&["inbox", "one"])[0]["state"] == "delivered").then_some(()));
        assert_eq!(world.agent("one")["wake"], json!(null), "it has succeeded");
    }
}
