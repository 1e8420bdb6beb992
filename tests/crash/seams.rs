//! The engine is killed at each named seam, and at seeded random moments, while a task is on its way.
//! Whatever the moment: the task is not lost, its command runs once, its end is true and told once.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::rounds::{Random, number};
use crate::support::{CARILLON, World, wait};

/// Starts a task from the command line, which asks again when its engine goes away.
fn start_task(world: &World, name: &str, script: &str) -> Child {
    let mut run = world.isolated(CARILLON);
    let count = world.path(name);
    let script = format!("echo x >> {}; {script}", count.display());
    run.args(["run", "--owner", "boss", "--title", name, "--", "sh", "-c", &script]);
    // Inside a run the command line waits for an engine that restarts; so does this one.
    run.env_remove("CARILLON_HOME").env("CARILLON_SOCKET", world.home().join("carillon.sock"));
    run.current_dir(world.repo());
    run.stdout(Stdio::null()).spawn().expect("carillon run")
}

fn check(world: &World, name: &str, state: &str, code: Option<i32>, when: &str) {
    let task = world.wait_for(&format!("the end of {name} ({when})"), || {
        let tasks = world.ok(&["tasks", "list"]);
        let task = tasks.as_array().unwrap().iter().find(|task| task["title"] == name)?.clone();
        (!task["ended_ms"].is_null()).then_some(task)
    });
    assert_eq!((&task["state"], &task["exit_code"]), (&json!(state), &json!(code)), "{when}: {task}");
    assert_eq!(task["attempt"], 1, "{when}");
    let ran = std::fs::read_to_string(world.path(name)).unwrap_or_default();
    assert_eq!(ran, "x\n", "{when}: {name} ran {} times", ran.lines().count());
    let inbox = world.ok(&["inbox", "boss"]);
    let told = inbox.as_array().unwrap().iter().filter(|message| message["about"] == task["id"]).count();
    assert_eq!(told, 1, "{when}: one message for one end");
}

fn check_nothing_left(world: &World) {
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

#[test]
fn at_each_seam() {
    for seam in carillon_engine::seam::SEAMS {
        let mut world = World::started();
        world.add_agent("boss", "true");
        world.end(libc::SIGTERM);
        let mut serve = world.isolated(CARILLON);
        serve.arg("serve").env("CARILLON_DIE_AT", seam);
        world.start_command(serve);
        let mut task = start_task(&world, "task", "sleep 0.2; exit 5");
        assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
        world.start(&[]);
        assert!(wait(&mut task).success(), "{seam}: the start is answered in the end");
        check(&world, "task", "failed", Some(5), seam);
        check_nothing_left(&world);
    }
}

/// `CARILLON_TASK_ROUNDS` sets how many (20 when it is not set); `CARILLON_SEED` repeats one sequence.
#[test]
fn at_random_moments() {
    let seed = number("CARILLON_SEED", 0x5eed_0002);
    for round in 0..number("CARILLON_TASK_ROUNDS", 20) {
        let mut random = Random::of(seed, round);
        let mut world = World::started();
        world.add_agent("boss", "true");
        let kinds =
            [("zero", "exit 0", "succeeded", Some(0)), ("five", "sleep 0.1; exit 5", "failed", Some(5))];
        let starts = kinds.map(|(name, script, ..)| start_task(&world, name, script));
        // The moment is what is tested here; nothing is waited for.
        std::thread::sleep(Duration::from_micros(random.next(180_000)));
        world.crash();
        world.start(&[]);
        for mut start in starts {
            assert!(wait(&mut start).success(), "round {round}");
        }
        for (name, _, state, code) in kinds {
            check(&world, name, state, code, &format!("round {round}"));
        }
        check_nothing_left(&world);
    }
}
