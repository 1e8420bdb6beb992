//! The temp directory of an agent whose run is over, while tasks that it started go on: it is theirs, and goes with
//! the last of them.

use std::path::PathBuf;

use carillon_api::Client;
use carillon_engine::seam;
use serde_json::{Value, json};

use crate::support::{CARILLON, World};

/// A task that reads from the agent's directory when it is told, long after the agent is gone.
const LATE: &str = "until [ -e GATE ]; do sleep 0.05; done; cat FILE";

/// An agent that leaves a file in its temp directory, starts a task that will need it, and ends.
fn agent_with_heirs(world: &World, gates: &[&str]) -> PathBuf {
    let mut script = "echo inherited > \"$TMPDIR/file\"; ".to_owned();
    for gate in gates {
        let gate = world.path(gate).display().to_string();
        let task = LATE.replace("GATE", &gate).replace("FILE", "\"$1\"");
        script += &format!("carillon run -- sh -c '{task}' sh \"$TMPDIR/file\" > /dev/null; ");
    }
    world.add_agent("one", &format!("{script} echo up; read -r l; exit 0"));
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    temp_of(world)
}

/// The one temp directory in which the agent's file is.
fn temp_of(world: &World) -> PathBuf {
    let all = world.temp_entries();
    let with_file: Vec<PathBuf> = all.into_iter().filter(|dir| dir.join("file").exists()).collect();
    let [one] = &with_file[..] else { panic!("one directory has the file: {with_file:?}") };
    one.clone()
}

fn tasks(world: &World) -> Vec<Value> {
    world.ok(&["tasks", "list"]).as_array().expect("a list").clone()
}

fn wait_until_buried(world: &World) {
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

fn open(world: &World, gate: &str) {
    std::fs::write(world.path(gate), "").expect("a file");
}

#[test]
fn it_stays_until_the_last_of_its_tasks_is_over() {
    let mut world = World::started();
    let temp = agent_with_heirs(&world, &["g1", "g2"]);
    world.write("one", "end\r");
    world.wait_until_over("one");
    world.wait_for("the engine to hold it", || {
        carillon_tidy::temp::lease_is_held(&temp).expect("it is there").then_some(())
    });
    let report = world.ok(&["clean", "--kind", "temp"]);
    let item = |report: &Value| {
        let found =
            report.as_array().expect("a list").iter().find(|item| item["path"] == temp.to_str().unwrap());
        found.expect("it is reported").clone()
    };
    assert_eq!(item(&report)["verdict"], "blocked", "{report}");
    assert!(item(&report)["reasons"].to_string().contains("tasks that its run started"), "{report}");
    world.ok(&["clean", "--apply", "--kind", "temp"]);
    assert!(temp.join("file").exists());
    open(&world, "g1");
    world.wait_for("one task to end", || {
        tasks(&world).iter().any(|task| task["state"] == "succeeded").then_some(())
    });
    // A boot finds the heir anew.
    world.crash();
    world.start(&[]);
    world.wait_for("the next engine to hold it", || {
        carillon_tidy::temp::lease_is_held(&temp).expect("it is there").then_some(())
    });
    assert!(temp.join("file").exists());
    open(&world, "g2");
    world.wait_for("both to end", || {
        tasks(&world).iter().all(|task| task["state"] == "succeeded").then_some(())
    });
    for task in tasks(&world) {
        let id = task["id"].as_str().expect("an id");
        assert_eq!(world.ok(&["tasks", "output", id])["text"], "inherited\n");
    }
    wait_until_buried(&world);
}

#[test]
fn it_goes_with_a_task_that_is_cancelled_and_with_an_agent_that_is_removed() {
    let world = World::started();
    agent_with_heirs(&world, &["g1"]);
    world.ok(&["agent", "remove", "one"]);
    let temp = temp_of(&world);
    let [task] = &tasks(&world)[..] else { panic!("one task") };
    assert_eq!(task["state"], "running", "{task}");
    assert!(temp.exists());
    world.ok(&["tasks", "cancel", task["id"].as_str().expect("an id")]);
    wait_until_buried(&world);
}

/// The engine dies at each step of the hand-over; the next one goes on, and nothing is lost or left.
#[test]
fn at_each_seam() {
    let (of_runs, own) = (seam::SEAMS.iter().copied(), seam::TEMP_SEAMS.iter().copied());
    let steps = of_runs
        .filter(|step| {
            step.contains("run over") || step.contains("temp buried") || step.contains("in the trash")
        })
        .chain(own.filter(|step| !step.contains("made anew")));
    for step in steps {
        let mut world = World::new();
        world.start(&["--at-exit", "keep"]);
        let temp = agent_with_heirs(&world, &["g1"]);
        world.end(libc::SIGTERM);
        let mut serve = world.isolated(CARILLON);
        serve.args(["serve", "--at-exit", "keep"]).env("CARILLON_DIE_AT", step);
        world.start_command(serve);
        world.wait_for_text("one", "up");
        // The engine may die before it can answer.
        let run = world.agent("one")["run"]["id"].clone();
        let mut client = Client::connect(&world.home().join("carillon.sock")).expect("the engine answers");
        let _ = client.call("terminal_write", json!({"run": run, "data": "end\r"}));
        if !step.contains("run over") && !step.contains("handed over") {
            world.wait_until_over("one");
            assert!(temp.join("file").exists(), "{step}: the task still needs it");
            open(&world, "g1");
        }
        assert!(world.engine_dies_of(libc::SIGKILL), "{step} is reached");
        world.start(&[]);

        world.wait_until_over("one");
        if !world.path("g1").exists() {
            assert!(temp.join("file").exists(), "{step}: the task still needs it");
            open(&world, "g1");
        }
        let succeeded = |task: &Value| task["state"] == "succeeded";
        world.wait_for("the task's end", || tasks(&world).iter().all(succeeded).then_some(()));
        let id = tasks(&world)[0]["id"].as_str().expect("an id").to_owned();
        assert_eq!(world.ok(&["tasks", "output", &id])["text"], "inherited\n", "{step}");
        wait_until_buried(&world);
    }
}
