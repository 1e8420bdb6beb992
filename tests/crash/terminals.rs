//! Prompts that are typed into the terminals of agents: whole, once, at the right moment, whatever
//! happens to the engine meanwhile.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{CARILLON, World, wait};

/// Adds an agent whose program is the stub of the testkit, with these words.
pub(crate) fn add_stub(world: &World, name: &str, words: &[&str]) {
    let stub = Path::new(CARILLON).with_file_name("paste-stub");
    assert!(stub.exists(), "{} is missing: `cargo build -p carillon-testkit` makes it", stub.display());
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let (profile, file) = (format!("{name}-profile"), got_file(world, name));
    let mut args: Vec<String> =
        ["profile", "add", &profile, "--adapter", "plain", "--program"].map(String::from).into();
    args.push(stub.to_string_lossy().into_owned());
    for word in [&[file.as_str()], words].concat() {
        args.extend(["--arg".to_owned(), word.to_owned()]);
    }
    world.ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
    world.ok(&["agent", "add", name, "--project", "repo", "--profile", &profile]);
}

pub(crate) fn got_file(world: &World, name: &str) -> String {
    world.path(&format!("{name}.got")).to_string_lossy().into_owned()
}

/// What the stub has noted, in its order.
pub(crate) fn noted(world: &World, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(got_file(world, name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the stub")).collect()
}

pub(crate) fn prompts(world: &World, name: &str) -> Vec<String> {
    noted(world, name).iter().filter_map(|line| Some(line["prompt"].as_str()?.to_owned())).collect()
}

fn ask(world: &World, name: &str, prompt: &str) -> Value {
    world.ok(&["ask", name, prompt])
}

/// Of this length, without two equal parts.
fn numbered(length: usize) -> String {
    let mut text: String = (0..=length / 8).map(|n| format!("{n:07} ")).collect();
    text.truncate(length);
    text.trim_end().to_owned()
}

pub(crate) fn start(world: &World, name: &str) {
    world.ok(&["agent", "start", name]);
    world.wait_for_text(name, "ready");
}

fn messages(world: &World, name: &str) -> Vec<Value> {
    world.ok(&["inbox", name]).as_array().expect("a list").clone()
}

fn wait_for_delivery(world: &World, name: &str, count: usize) {
    world.wait_for("the delivery", || {
        let delivered = messages(world, name).iter().filter(|m| m["state"] == "delivered").count();
        (delivered == count).then_some(())
    });
}

/// A command that waits for its engine, as all do inside a run.
pub(crate) fn patient(world: &World, args: &[&str]) -> Command {
    let mut command = world.isolated(CARILLON);
    command.arg("--json").args(args).current_dir(world.repo());
    command.env_remove("CARILLON_HOME").env("CARILLON_SOCKET", world.home().join("./carillon.sock"));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

pub(crate) fn answer_of(mut ask: Child) -> (bool, Value) {
    let out = std::io::read_to_string(ask.stdout.take().expect("its output")).expect("text");
    let done = wait(&mut ask).success();
    (done, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out:?}")))
}

fn all_lengths(habits: &[&str], lengths: &[usize]) {
    let world = World::started();
    add_stub(&world, "one", &[habits, &["hooks"]].concat());
    start(&world, "one");
    let sent: Vec<String> = lengths.iter().map(|length| numbered(*length)).collect();
    for prompt in &sent {
        let ask = ask(&world, "one", prompt);
        assert_eq!(ask["state"], "answered", "{} bytes, {habits:?}: {ask}", prompt.len());
    }
    let got = prompts(&world, "one");
    assert_eq!(got.len(), sent.len(), "{habits:?}: each was sent off once");
    for (got, sent) in got.iter().zip(&sent) {
        assert!(got == sent, "{habits:?}: of {} bytes {} arrived as they were", sent.len(), got.len());
    }
}

const LENGTHS: [usize; 7] = [10, 63, 64, 92, 1_204, 10_240, 102_400];

#[test]
fn prompts_of_all_lengths_arrive_as_keys() {
    all_lengths(&["burst", "64"], &LENGTHS);
}

#[test]
fn prompts_of_all_lengths_arrive_as_pastes() {
    all_lengths(&["marks"], &LENGTHS);
}

#[test]
fn prompts_of_all_lengths_arrive_where_a_burst_swallows_enter() {
    all_lengths(&["marks", "burst", "64"], &LENGTHS);
}

#[test]
fn a_slow_reader_gets_everything() {
    all_lengths(&["burst", "64", "slow", "64", "2"], &[92, 1_204, 102_400]);
    all_lengths(&["marks", "slow", "64", "50"], &[1_204, 5_000]);
}

#[test]
fn enter_waits_until_the_paste_is_shown() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "late", "700", "hooks"]);
    start(&world, "one");
    for prompt in ["say hello", "and\nagain, in two lines"] {
        assert_eq!(ask(&world, "one", prompt)["state"], "answered");
    }
    assert_eq!(prompts(&world, "one"), ["say hello", "and\nagain, in two lines"]);
}

#[test]
fn a_terminal_that_keeps_lines_gets_what_a_line_can_hold() {
    let world = World::started();
    add_stub(&world, "one", &["cooked", "hooks"]);
    start(&world, "one");
    let longest = numbered(4_095);
    assert_eq!(ask(&world, "one", &longest)["state"], "answered");
    let output = world.run(&["--json", "ask", "one", &numbered(5_000)]);
    let failed: Value = serde_json::from_slice(&output.stdout).expect("the ask");
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(failed["reason"].as_str().unwrap().contains("4095"), "{failed}");
    assert_eq!(prompts(&world, "one"), [longest]);
}

#[test]
fn lines_stay_together_and_nothing_ends_a_paste() {
    let text = "one\ntwo\nthree\n\n\tfour\n\nend \x1b[201~ rm -rf x\rlast \u{9b}201~ \u{20ac}";
    let harmless = |text: &str| text.replace('\x1b', "\u{241b}").replace('\u{9b}', "\u{fffd}");
    let cases = [
        (&["marks", "hooks"][..], harmless(text).replace('\r', "\n")),
        (&["marks", "burst", "64", "hooks"], harmless(text).replace('\r', "\n")),
        (&["hooks"], harmless(text).replace(['\n', '\t', '\r'], " ")),
        (&["cooked", "hooks"], harmless(text).replace(['\n', '\t', '\r'], " ")),
    ];
    for (habits, expected) in cases {
        let world = World::started();
        add_stub(&world, "one", habits);
        start(&world, "one");
        assert_eq!(ask(&world, "one", text)["state"], "answered");
        assert_eq!(noted(&world, "one"), [json!({"prompt": expected})], "{habits:?}");
    }
}

#[test]
fn half_a_line_stays_and_the_prompt_comes_after_it() {
    let mut world = World::started();
    add_stub(&world, "one", &["marks", "hooks"]);
    start(&world, "one");
    world.write("one", "my half");
    let first = patient(&world, &["ask", "one", "the question"]).spawn().expect("ask");
    let queued = || (world.agent("one")["queued"] == 1).then_some(());
    world.wait_for("the turn in line", queued);
    // What is in the line outlives the engine that saw it typed.
    world.crash();
    world.start(&[]);
    world.wait_for_text("one", "ready");
    for key in ["x", "\x7f", "\x1b[A", "\x1b[I"] {
        world.write("one", key);
    }
    // Another terminal has been found free, and its whole turn is over, before this one is.
    add_stub(&world, "two", &["marks", "hooks"]);
    start(&world, "two");
    assert_eq!(ask(&world, "two", "meanwhile")["state"], "answered");
    let begun =
        world.home().join("runs").join(world.agent("one")["run"]["id"].as_str().unwrap()).join("hand-over");
    assert!(!begun.exists() && prompts(&world, "one").is_empty(), "it was typed into half a line");
    world.write("one", " line\r");
    let (done, answer) = answer_of(first);
    assert!(done && answer["final"] == "answer to the question", "{answer}");
    assert_eq!(prompts(&world, "one"), ["my half line", "the question"]);
    // Deleting it lets the next one in as well.
    world.write("one", "ab");
    let next = patient(&world, &["ask", "one", "the next"]).spawn().expect("ask");
    world.wait_for("the turn in line", || (world.agent("one")["queued"] == 1).then_some(()));
    world.write("one", "\x7f\x7f");
    assert!(answer_of(next).0);
    assert_eq!(prompts(&world, "one").last().unwrap(), "the next");
}

#[test]
fn nothing_disturbs_a_tool_and_what_came_meanwhile_is_told_once_after_the_turn() {
    // One that tells nothing is judged only when it has been up for a while.
    for (time, hooks) in [("1500", &["hooks"][..]), ("5000", &[])] {
        let world = World::started();
        add_stub(&world, "one", &[&["tool", time], hooks].concat());
        start(&world, "one");
        world.write("one", "work\r");
        world.wait_for("the tool", || (prompts(&world, "one").len() == 1).then_some(()));
        let cwd = world.repo();
        let run = ["run", "--owner", "one", "--cwd", cwd.to_str().unwrap(), "--wait", "--", "true"];
        assert!(world.run(&run).status.success());
        world.ok(&["send", "one", "a note"]);
        world.wait_for("both notes", || (messages(&world, "one").len() == 2).then_some(()));
        wait_for_delivery(&world, "one", 2);
        world.wait_for("the second turn's end", || {
            (noted(&world, "one").iter().filter(|line| line["tool"] == "done").count() == 2).then_some(())
        });
        let lines = noted(&world, "one");
        let expected: Vec<bool> = lines.iter().filter_map(|line| line["disturbed"].as_bool()).collect();
        assert_eq!(expected, [false, false], "{hooks:?}: {lines:?}");
        assert!(lines.iter().all(|line| line["key"].is_null()), "{lines:?}");
        let all = prompts(&world, "one").join("\n");
        for message in messages(&world, "one") {
            assert_eq!(all.matches(message["id"].as_str().unwrap()).count(), 1, "{all}");
        }
        assert_eq!(prompts(&world, "one").len(), 2, "one turn for both: {all}");
    }
}

#[test]
fn a_prompt_that_was_on_its_way_when_the_engine_died_arrives_once() {
    let long = numbered(10_240);
    for seam in carillon_engine::seam::TYPING_SEAMS {
        let mut world = World::started();
        add_stub(&world, "one", &["marks", "burst", "64", "hooks", "slow", "512", "1"]);
        start(&world, "one");
        world.end(libc::SIGKILL);
        let mut serve = world.isolated(CARILLON);
        serve.arg("serve").env("CARILLON_DIE_AT", seam);
        world.start_command(serve);
        let ask = patient(&world, &["ask", "one", &long]).spawn().expect("ask");
        assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
        world.start(&[]);
        let (done, answer) = answer_of(ask);
        assert!(done && answer["state"] == "answered", "{seam}: {answer}");
        let got = prompts(&world, "one");
        assert!(
            got == [long.as_str()],
            "{seam}: {} prompts, {:?} bytes",
            got.len(),
            got.first().map(String::len)
        );
        assert_eq!(world.ok(&["asks", "list"]).as_array().unwrap().len(), 1);
    }
}

#[test]
fn an_agent_that_is_not_there_is_started_for_an_ask() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks"]);
    let answered = ask(&world, "one", "are you there");
    assert_eq!(answered["final"], "answer to are you there");
    assert_eq!(prompts(&world, "one"), ["are you there"]);
}

#[test]
fn one_that_does_not_tell_of_its_turns_cannot_be_asked_but_be_sent_a_note() {
    let world = World::started();
    add_stub(&world, "one", &["marks"]);
    let output = world.run(&["--json", "ask", "one", "a question"]);
    let ask: Value = serde_json::from_slice(&output.stdout).expect("the ask");
    assert_eq!((output.status.code(), &ask["state"]), (Some(1), &json!("failed")));
    assert!(ask["reason"].as_str().unwrap().contains("does not tell when its turn ends"), "{ask}");
    world.ok(&["send", "one", "a note"]);
    wait_for_delivery(&world, "one", 1);
    let got = prompts(&world, "one");
    assert!(got.len() == 1 && got[0].contains("a note") && !got[0].contains("a question"), "{got:?}");
}

#[test]
fn what_waits_for_a_closed_agent_is_told_once_when_it_is_started_again() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks"]);
    start(&world, "one");
    world.write("one", "hello\r");
    world.wait_for("the turn", || (prompts(&world, "one").len() == 1).then_some(()));
    world.ok(&["agent", "stop", "one"]);
    world.ok(&["send", "one", "while you were away"]);
    world.ok(&["send", "one", "another one"]);
    world.ok(&["agent", "start", "one"]);
    wait_for_delivery(&world, "one", 2);
    let got = prompts(&world, "one");
    assert!(
        got.len() == 2 && got[1].contains("while you were away") && got[1].contains("another one"),
        "{got:?}"
    );
    world.ok(&["agent", "stop", "one"]);
    let late = world.ok(&["send", "one", "too late"]);
    let id = world.agent("one")["id"].as_str().unwrap().to_owned();
    world.ok(&["agent", "remove", "one"]);
    let kept = messages(&world, &id).into_iter().find(|m| m["id"] == late["id"]).expect("the note");
    assert_eq!(kept["state"], "undeliverable", "{kept}");
    assert_eq!(prompts(&world, "one").len(), 2);
}

#[test]
fn what_the_user_types_meanwhile_comes_after_the_prompt() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks", "slow", "256", "20"]);
    start(&world, "one");
    let long = numbered(10_240);
    let ask = patient(&world, &["ask", "one", &long]).spawn().expect("ask");
    world.wait_for("the hand-over", || {
        let run = world.agent("one")["run"]["id"].as_str()?.to_owned();
        world.home().join("runs").join(run).join("hand-over").exists().then_some(())
    });
    world.write("one", "me ");
    world.write("one", "too\r");
    assert!(answer_of(ask).0);
    world.wait_for("both", || (prompts(&world, "one").len() == 2).then_some(()));
    assert!(prompts(&world, "one") == [long.as_str(), "me too"]);
}

#[test]
fn the_end_of_a_turn_that_nobody_wants_any_more_is_no_answer_to_the_next_ask() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks", "tool", "700"]);
    start(&world, "one");
    let first = patient(&world, &["ask", "one", "first"]).spawn().expect("ask");
    world.wait_for("the turn", || (prompts(&world, "one").len() == 1).then_some(()));
    let id = world.ok(&["asks", "list"])[0]["id"].as_str().unwrap().to_owned();
    world.ok(&["asks", "cancel", &id]);
    assert_eq!(answer_of(first).1["state"], "cancelled");
    assert_eq!(ask(&world, "one", "second")["final"], "answer to second");
    assert_eq!(prompts(&world, "one"), ["first", "second"]);
    assert!(noted(&world, "one").iter().all(|line| line["key"].is_null()), "no key was pressed");
}

/// An agent is silent for some seconds before it counts as waiting for its user.
fn wait_for_attention(world: &World, name: &str, ask: &str) {
    world.wait_for("attention", || {
        (world.ok(&["asks", "show", ask])["waiting_for"] == "attention").then_some(())
    });
    assert_eq!(world.agent(name)["state"], "needs_attention");
}

#[test]
fn an_agent_that_sits_on_a_question_is_shown_so_until_somebody_answers() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "hooks", "asks-in-turn", "Run rm -r build? [y/N] "]);
    start(&world, "one");
    let ask = patient(&world, &["ask", "one", "clean up"]).spawn().expect("ask");
    world.wait_for("the turn", || (prompts(&world, "one").len() == 1).then_some(()));
    let id = world.ok(&["asks", "list"])[0]["id"].as_str().unwrap().to_owned();
    wait_for_attention(&world, "one", &id);
    world.write("one", "y");
    let (done, answer) = answer_of(ask);
    assert!(done && answer["final"] == "answer to clean up", "{answer}");
    assert_eq!(world.agent("one")["state"], "idle");
    assert_eq!(noted(&world, "one")[1], json!({"answered": "y"}));
}

#[test]
fn a_question_before_the_first_turn_is_shown_and_nobody_types_into_it() {
    let world = World::started();
    add_stub(&world, "one", &["marks", "asks", "Do you trust this folder? (y/n) "]);
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "Do you trust");
    world.ok(&["send", "one", "a note"]);
    world.wait_for("attention", || (world.agent("one")["state"] == "needs_attention").then_some(()));
    assert_eq!(noted(&world, "one"), Vec::<Value>::new());
    world.write("one", "y");
    wait_for_delivery(&world, "one", 1);
    assert_eq!(noted(&world, "one")[0], json!({"answered": "y"}));
    assert_eq!(prompts(&world, "one").len(), 1);
}

#[test]
fn a_headless_agent_that_sits_on_a_question_is_shown_so_and_its_cancel_is_no_success() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let gate = world.path("gate");
    let script = format!(
        "[ -e {0} ] && {{ echo fine; exit; }}; printf 'Do you trust this folder? [y/N] ' >&2; exec sleep 1000",
        gate.display()
    );
    let plain = ["--adapter", "plain", "--program", "/bin/sh", "--arg", "-c", "--arg", &script];
    world.ok(&[&["profile", "add", "blocked"], &plain[..]].concat());
    world.ok(&["agent", "add", "one", "--project", "repo", "--profile", "blocked", "--mode", "headless"]);
    let waiting = patient(&world, &["ask", "one", "go"]).spawn().expect("ask");
    let id = world.wait_for("the ask", || world.ok(&["asks", "list"])[0]["id"].as_str().map(str::to_owned));
    wait_for_attention(&world, "one", &id);
    world.ok(&["asks", "cancel", &id]);
    let (done, answer) = answer_of(waiting);
    assert_eq!((done, &answer["state"]), (false, &json!("cancelled")), "{answer}");
    std::fs::write(&gate, "").expect("a file");
    assert_eq!(ask(&world, "one", "again")["final"], "fine");
    assert_eq!(world.agent("one")["state"], "idle");
}
