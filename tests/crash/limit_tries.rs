//! Who tries a limit, what counts as an answer, and how an agent goes on that was cut short by one.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{CARILLON, World};

/// What every program here can do, and does first: like Claude Code, it tells its session. Each start is noted with its
/// time, and each prompt by agent.
const WORDS: &str = r#"#!/bin/sh
prompt=$(cat)
echo "$prompt" >> prompts.$CARILLON_AGENT
echo "$(date +%s%3N) $CARILLON_AGENT" >> starts
id='"session_id":"11111111-1111-4111-8111-111111111111"'
echo '{"type":"system","subtype":"init",'$id'}'
says() { echo '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"'"$1"'"}]},'$id'}'; }
uses() { echo '{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","name":"Bash","input":{}}]},'$id'}'; }
limited() {
  echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected",'$1'"rateLimitType":"five_hour"}}'
  echo '{"type":"result","subtype":"success","is_error":true,"result":"Rate limited",'$id'}'
  exit 1
}
until_s() { echo '"resetsAt":'$(( $(date +%s) + $1 ))','; }
waits_for() { until [ -e $1 ]; do sleep 0.02; done; }
fine() { echo '{"type":"result","subtype":"success","is_error":false,"result":"fine",'$id'}'; exit 0; }
"#;

/// Headless agents of one profile, whose program does this.
fn world_of(agents: &[&str], script: &str) -> World {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let program = world.path("claude");
    std::fs::write(&program, format!("{WORDS}{script}\n")).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    world.ok(&["profile", "add", "c", "--adapter", "claude", "--program", program.to_str().expect("UTF-8")]);
    for name in agents {
        world.ok(&["agent", "add", name, "--project", "repo", "--profile", "c", "--mode", "headless"]);
    }
    world
}

fn touch(world: &World, name: &str) {
    std::fs::write(world.repo().join(name), "").expect("a file");
}

fn open_ask(world: &World, agent: &str) -> String {
    let ask = world.ok(&["ask", agent, "do it", "--wait", "50ms"]);
    ask["id"].as_str().expect("an id").to_owned()
}

fn ended(world: &World, id: &str) -> Value {
    world.wait_for("the end of an ask", || {
        let ask = world.ok(&["asks", "show", id]);
        (!ask["ended_ms"].is_null()).then_some(ask)
    })
}

fn id_of(world: &World, name: &str) -> String {
    world.agent(name)["id"].as_str().expect("an id").to_owned()
}

/// What an agent was told, turn by turn.
fn prompts(world: &World, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.repo().join(format!("prompts.{}", id_of(world, name))));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// When turns began, in Unix milliseconds, and whose they were.
fn starts(world: &World) -> Vec<(i64, String)> {
    let text = std::fs::read_to_string(world.repo().join("starts")).unwrap_or_default();
    let whole = text.lines().filter_map(|line| line.split_once(' '));
    whole.map(|(at, who)| (at.parse().expect("a time"), who.to_owned())).collect()
}

fn wait_for_limit(world: &World) -> Value {
    world.wait_for("the limit", || {
        let limits = world.ok(&["limits", "list"]);
        (limits[0]["trying"] == false).then(|| limits[0].clone())
    })
}

fn wait_for_turns(world: &World, name: &str, count: usize) {
    world.wait_for("a turn", || (prompts(world, name).len() == count).then_some(()));
}

const GO_ON: &str = "Your turn was cut short. Go on where you were, and give your final answer.";

#[test]
fn a_turn_that_was_cut_short_by_a_limit_is_gone_on_with_and_does_nothing_twice() {
    let script = r#"case $prompt in
        "do it") uses; carillon run -- true > /dev/null; limited $(until_s 2);;
        *) says "it is done"; fine;;
    esac"#;
    let mut world = world_of(&["one"], script);
    world.ok(&["profile", "set", "c", "--policy", "allow"]);
    let ask = open_ask(&world, "one");
    wait_for_limit(&world);
    world.crash();
    world.start(&[]);
    let ask = ended(&world, &ask);
    assert_eq!((&ask["state"], &ask["final"]), (&json!("answered"), &json!("fine")), "{ask}");
    assert_eq!(prompts(&world, "one"), ["do it", GO_ON]);
    let tasks = world.ok(&["tasks", "list"]);
    assert_eq!(tasks.as_array().map(Vec::len), Some(1), "{tasks}");
}

#[test]
fn a_try_that_nobody_has_answered_yet_lets_nobody_follow_also_after_a_crash() {
    let script = r#"if [ ! -e met ]; then touch met; limited $(until_s 3600); fi; waits_for go; limited $(until_s 3600)"#;
    let mut world = world_of(&["one", "two"], script);
    open_ask(&world, "one");
    wait_for_limit(&world);
    open_ask(&world, "two");
    world.ok(&["limits", "resume", "c"]);
    wait_for_turns(&world, "one", 2);
    world.crash();
    world.start(&[]);
    assert_eq!(world.ok(&["limits", "list"])[0]["trying"], true, "nobody has answered it");
    touch(&world, "go");
    wait_for_limit(&world);
    assert_eq!((prompts(&world, "one").len(), prompts(&world, "two").len()), (2, 0));
}

#[test]
fn a_try_that_the_model_answers_lets_the_others_follow_while_it_goes_on() {
    let script =
        r#"if [ ! -e met ]; then touch met; limited $(until_s 3600); fi; says "on it"; waits_for go; fine"#;
    let mut world = world_of(&["one", "two"], script);
    let first = open_ask(&world, "one");
    wait_for_limit(&world);
    let second = open_ask(&world, "two");
    world.ok(&["limits", "resume", "c"]);
    wait_for_turns(&world, "one", 2);
    world.crash();
    world.start(&[]);
    wait_for_turns(&world, "two", 1);
    assert_eq!(world.agent("one")["state"], "working");
    touch(&world, "go");
    assert_eq!(
        (&ended(&world, &first)["final"], &ended(&world, &second)["final"]),
        (&json!("fine"), &json!("fine"))
    );
}

#[test]
fn a_try_that_fails_before_it_reaches_the_model_tells_nothing_of_the_limit() {
    let script =
        r#"if [ ! -e met ]; then touch met; limited $(until_s 3600); fi; echo "no network" >&2; exit 1"#;
    let world = world_of(&["one", "two"], script);
    let first = open_ask(&world, "one");
    let limit = wait_for_limit(&world);
    open_ask(&world, "two");
    world.ok(&["limits", "resume", "c"]);
    assert_eq!(ended(&world, &first)["state"], "failed");
    let still = wait_for_limit(&world);
    assert_eq!((&still["until_ms"], &still["waiting"]), (&limit["until_ms"], &json!(["two"])), "{still}");
    assert!(still["resume_ms"].as_i64() >= limit["until_ms"].as_i64(), "{still}");
    assert_eq!(prompts(&world, "two").len(), 0);
}

#[test]
fn under_a_limit_that_stays_one_tries_in_each_window() {
    let script = r#"end=$(( $(date +%s) + 2 )); echo "${end}000" >> ends; limited '"resetsAt":'$end','"#;
    let world = world_of(&["one", "two", "three"], script);
    let first = open_ask(&world, "one");
    wait_for_limit(&world);
    let others = [open_ask(&world, "two"), open_ask(&world, "three")];
    let starts = world.wait_for("some windows", || Some(starts(&world)).filter(|starts| starts.len() >= 4));
    let ends = std::fs::read_to_string(world.repo().join("ends")).expect("their ends");
    for (end, (start, _)) in ends.lines().zip(starts.iter().skip(1)) {
        assert!(
            *start >= end.parse::<i64>().expect("a time"),
            "{start} is within the window that ends at {end}"
        );
    }
    for id in [&first, &others[0], &others[1]] {
        let ask = world.ok(&["asks", "show", id]);
        assert_eq!(ask["state"], "open", "{ask}");
    }
}

#[test]
fn three_that_met_a_limit_at_once_go_on_apart_from_each_other_whatever_the_engine_does() {
    let script = r#"if [ ! -e met.$CARILLON_AGENT ]; then touch met.$CARILLON_AGENT; waits_for go; limited $(until_s 3); fi; fine"#;
    let mut world = world_of(&["one", "two", "three"], script);
    let asks = ["one", "two", "three"].map(|name| open_ask(&world, name));
    world.wait_for("all three", || (starts(&world).len() == 3).then_some(()));
    touch(&world, "go");
    world.wait_for("all to wait", || {
        let limits = world.ok(&["limits", "list"]);
        (limits[0]["waiting"].as_array().map(Vec::len) == Some(3)).then_some(())
    });
    world.crash();
    world.start(&[]);
    // The first has got its answer, and the others stand in line.
    world.wait_for("the end of the limit", || (world.ok(&["limits", "list"]) == json!([])).then_some(()));
    world.crash();
    world.start(&[]);
    for id in &asks {
        assert_eq!(ended(&world, id)["final"], "fine");
    }
    let starts = starts(&world);
    let again: Vec<i64> = starts.iter().skip(3).map(|(at, _)| *at).collect();
    assert_eq!(again.len(), 3, "each went on once: {starts:?}");
    // They are told to begin a second apart; how long each takes to come up is not ours.
    assert!(again.windows(2).all(|pair| pair[1] - pair[0] >= 500), "{again:?}");
}

#[test]
fn nothing_is_lost_under_a_limit_of_which_only_the_word_is_known() {
    let world = world_of(&["one", "two"], "if [ -e open ]; then fine; else limited ''; fi");
    world.ok(&["send", "one", "a note"]);
    wait_for_limit(&world);
    let ask = open_ask(&world, "two");
    let note = || world.ok(&["inbox", "one"])[0].clone();
    assert_eq!((&note()["state"], &world.agent("one")["wake"]), (&json!("pending"), &json!(null)));
    // A second rejection uses up nothing either.
    world.ok(&["limits", "resume", "c"]);
    world.wait_for("the second try", || (starts(&world).len() == 2).then_some(()));
    assert_eq!(wait_for_limit(&world)["until_ms"], json!(null));
    assert_eq!((&note()["state"], &world.agent("one")["wake"]), (&json!("pending"), &json!(null)));
    touch(&world, "open");
    world.ok(&["limits", "resume", "c"]);
    let ask = ended(&world, &ask);
    assert_eq!((&ask["state"], &ask["final"]), (&json!("answered"), &json!("fine")), "{ask}");
    assert!(prompts(&world, "two").iter().all(|prompt| prompt == "do it"));
    world.wait_for("the note", || (note()["state"] == "delivered").then_some(()));
}

#[test]
fn a_limit_that_the_users_own_turn_meets_in_a_pane_keeps_the_others_waiting() {
    let world = World::started();
    let script = format!(
        "{CARILLON} hook ready; read -r line; {CARILLON} hook turn_began; \
         {CARILLON} hook limit_reached '{{\"reason\": \"out of words\"}}'; exec sleep 1000"
    );
    world.add_agent("pane", &script);
    world.ok(&[
        "agent",
        "add",
        "other",
        "--project",
        "repo",
        "--profile",
        "pane-profile",
        "--mode",
        "headless",
    ]);
    world.ok(&["agent", "start", "pane"]);
    world.write("pane", "hello\n");
    let limit = wait_for_limit(&world);
    assert_eq!((&limit["reason"], &limit["until_ms"]), (&json!("out of words"), &json!(null)), "{limit}");
    let ask = world.ok(&["ask", "other", "do it", "--wait", "50ms"]);
    assert_eq!((&ask["state"], &ask["waiting_for"]), (&json!("open"), &json!("limit")), "{ask}");
}

/// OpenCode does so: typed once more, the prompt would be worked on twice.
#[test]
fn a_program_that_waits_for_the_end_by_itself_is_not_told_twice() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let (program, gate, got) = (world.path("opencode"), world.path("gate"), world.path("got"));
    let status = r#"{"session": "s", "message": "out of words", "named": true, "next": '$(( $(date +%s) + 3600 ))'000}"#;
    let script = format!(
        "#!/bin/sh\n{CARILLON} hook ready\nwhile read -r line; do\n  echo \"$line\" >> {got}\n  \
         {CARILLON} hook session.status '{{\"session\": \"s\", \"busy\": true}}'\n  \
         {CARILLON} hook session.status '{status}'\n  until [ -e {gate} ]; do sleep 0.02; done\n  \
         {CARILLON} hook session.idle '{{\"session\": \"s\", \"text\": \"fine\"}}'\ndone\n",
        got = got.display(),
        gate = gate.display()
    );
    std::fs::write(&program, script).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    world.ok(&[
        "profile",
        "add",
        "o",
        "--adapter",
        "opencode",
        "--program",
        program.to_str().expect("UTF-8"),
    ]);
    world.ok(&["agent", "add", "pane", "--project", "repo", "--profile", "o"]);
    world.ok(&["agent", "start", "pane"]);
    let ask = open_ask(&world, "pane");
    let limit = wait_for_limit(&world);
    for _ in 0..2 {
        let refused = world.fails(&["limits", "resume", "o"], 4);
        assert!(refused.to_string().contains("by itself"), "{refused}");
    }
    assert_eq!(world.ok(&["limits", "list"])[0]["until_ms"], limit["until_ms"], "it holds for the others");
    std::fs::write(&gate, "").expect("a file");
    assert_eq!(ended(&world, &ask)["final"], "fine");
    let told = std::fs::read_to_string(&got).expect("what it was told");
    assert_eq!(told.matches("do it").count(), 1, "{told}");
}
