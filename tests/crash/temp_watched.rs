//! The temp directory of a live run is watched over: it is made anew when somebody removes it, and ended with its run
//! when it takes more room than it may.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use carillon_tidy::temp::lease_is_held;
use serde_json::Value;

use crate::support::{CARILLON, World, send};

fn only_temp(world: &World) -> PathBuf {
    let [one] = &world.temp_entries()[..] else { panic!("one temp directory") };
    one.clone()
}

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

/// An engine that measures often.
fn measures_often() -> World {
    let mut world = World::new();
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_TEMP_WATCH_MS", "50");
    world.start_command(serve);
    world
}

fn rules(world: &World, text: &str) {
    std::fs::write(world.repo().join("carillon.toml"), text).expect("the rules");
}

#[test]
fn one_that_is_removed_from_outside_is_made_anew_for_its_run() {
    let mut world = World::new();
    world.start(&["--at-exit", "keep"]);
    // The program says when it can write there again.
    world.add_agent("one", "echo up; read -r l; echo x > \"$TMPDIR/x\" && echo written; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let temp = only_temp(&world);
    let is_there = |what: &str| {
        world.wait_for(what, || (temp.is_dir() && lease_is_held(&temp).is_ok_and(|held| held)).then_some(()));
        assert_eq!(mode_of(&temp), 0o700);
    };
    for round in 0..3 {
        std::fs::remove_dir(&temp).expect("ours");
        is_there(&format!("it to be made anew, round {round}"));
    }
    // Moved away instead, and with what is above it.
    let parts: Vec<&Path> = temp.ancestors().take(3).collect();
    for (number, part) in parts.into_iter().enumerate() {
        std::fs::rename(part, world.path(&format!("moved{number}"))).expect("ours");
        is_there(&format!("another one in its place, {number} above it"));
    }
    // No engine is there to see it; the next one does.
    world.crash();
    std::fs::remove_dir_all(&temp).expect("ours");
    world.start(&[]);
    world.wait_for("the next engine to make it anew", || {
        (temp.is_dir() && lease_is_held(&temp).is_ok_and(|held| held)).then_some(())
    });
    world.write("one", "go\r");
    world.wait_for_text("one", "written");
    assert!(temp.join("x").exists());
    world.write("one", "end\r");
    assert_eq!(world.wait_until_over("one")["run"]["reason"], "exited 0");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

/// A link in its place is not ours to follow, and not in the way of the run's end.
#[test]
fn what_a_program_puts_in_its_place_is_left_alone() {
    let world = World::started();
    let outside = world.path("outside");
    std::fs::create_dir(&outside).expect("a directory");
    std::fs::write(outside.join("precious"), "x").expect("a file");
    let swap = format!("rm -rf \"$TMPDIR\" && ln -sT '{}' \"$TMPDIR\"", outside.display());
    // It tries until it has been quicker than whoever makes the directory anew.
    let script = format!("until {swap} 2>/dev/null && [ -L \"$TMPDIR\" ]; do :; done; echo up; read -r l");
    world.add_agent("one", &script);
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    world.write("one", "end\r");
    world.wait_until_over("one");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    assert!(outside.join("precious").exists());
}

#[test]
fn the_engine_dies_when_it_has_just_made_one_anew() {
    let mut world = World::new();
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_DIE_AT", "temp directory made anew");
    world.start_command(serve);
    world.add_agent("one", "echo up; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let temp = only_temp(&world);
    std::fs::remove_dir_all(&temp).expect("ours");
    assert!(world.engine_dies_of(libc::SIGKILL), "it was about to make it anew");
    assert!(temp.is_dir());
    world.start(&[]);
    world.wait_for("the lease to be taken", || lease_is_held(&temp).expect("it is there").then_some(()));
    world.write("one", "end\r");
    world.wait_until_over("one");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

fn check<'a>(diagnosis: &'a Value, name: &str) -> &'a Value {
    let all = diagnosis["checks"].as_array().or_else(|| diagnosis.as_array()).expect("a list");
    all.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {diagnosis}"))
}

#[test]
fn the_user_is_told_of_one_that_takes_much_and_one_that_takes_too_much_is_ended() {
    let world = measures_often();
    rules(&world, "[temp]\nwarn = \"100KiB\"\nmax = \"1MiB\"\n");
    let fill = |kib: u32| format!("head -c {kib}K /dev/zero > \"$TMPDIR/f{kib}\"");
    world.add_agent(
        "one",
        &format!("echo up; read -r l; {}; read -r l; {}; read -r l", fill(300), fill(2000)),
    );
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let temp = |world: &World| world.agent("one")["temp"].clone();
    world.wait_for("a measurement", || (temp(&world)["files"] == 1).then_some(()));
    assert_eq!(temp(&world)["warning"], Value::Null);
    assert_eq!(check(&world.ok(&["doctor"]), "temp use")["state"], "ok");
    world.write("one", "more\r");
    let told = world.wait_for("a warning", || temp(&world)["warning"].as_str().map(str::to_owned));
    assert!(told.contains("2 files") && told.contains("beyond 1 MiB"), "{told}");
    let seen = world.ok(&["doctor"]);
    assert_eq!(check(&seen, "temp use")["state"], "warn", "{seen}");
    assert!(check(&seen, "temp use")["detail"].to_string().contains("2 files"), "{seen}");
    world.write("one", "more\r");
    let over = world.wait_until_over("one");
    let why = "stopped because its temp directory took more room than it may";
    assert_eq!(over["run"]["reason"], why, "{over}");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    assert_eq!(check(&world.ok(&["doctor"]), "temp use")["state"], "ok");
}

#[test]
fn a_task_that_makes_too_many_files_is_cancelled_for_it_and_no_other() {
    let world = measures_often();
    rules(&world, "[temp]\nmax_files = 50\n");
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    let task = |script: &str| {
        let task = world.ok(&["run", "--cwd", world.repo().to_str().unwrap(), "--", "sh", "-c", script]);
        task["id"].as_str().expect("an id").to_owned()
    };
    let other = task("touch \"$TMPDIR/x\"; exec sleep 1000");
    let greedy = task("for n in $(seq 200); do mkdir \"$TMPDIR/.$n\"; done; exec sleep 1000");
    let over = world.ok(&["tasks", "wait", &greedy]);
    assert_eq!(over["state"], "cancelled", "{over}");
    assert_eq!(over["reason"], "cancelled because its temp directory took more room than it may", "{over}");
    assert_eq!(world.ok(&["tasks", "show", &other])["state"], "running");
    world.wait_for("its temp to go", || (world.temp_entries().len() == 1).then_some(()));
}

/// Whoever has inherited a directory answers for it.
#[test]
fn tasks_that_fill_what_they_have_inherited_are_cancelled() {
    let world = measures_often();
    rules(&world, "[temp]\nmax = \"1MiB\"\n");
    let fill =
        "until [ -e \"$1/go\" ]; do sleep 0.05; done; head -c 3M /dev/zero > \"$1/f\"; exec sleep 1000";
    let script =
        format!("carillon run -- sh -c '{fill}' sh \"$TMPDIR\" > /dev/null; echo up; read -r l; exit 0");
    world.add_agent("one", &script);
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let report = world.ok(&["clean", "--kind", "temp"]);
    let run = world.agent("one")["run"]["id"].clone();
    let items = report.as_array().expect("a list");
    let item = items.iter().find(|item| item["run"] == run).unwrap_or_else(|| panic!("{items:?}"));
    let temp = PathBuf::from(item["path"].as_str().expect("a path"));
    world.write("one", "end\r");
    world.wait_until_over("one");
    std::fs::write(temp.join("go"), "").expect("it is still there");
    let task = world.ok(&["tasks", "list"])[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(world.ok(&["tasks", "wait", &task])["state"], "cancelled");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

/// A supervisor that dies takes its lease with it; the directory goes all the same.
#[test]
fn one_that_was_made_anew_goes_also_when_its_supervisor_is_killed() {
    let world = World::started();
    world.add_agent("one", "echo up; read -r l");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let temp = only_temp(&world);
    std::fs::remove_dir_all(&temp).expect("ours");
    world.wait_for("it to be made anew", || temp.is_dir().then_some(()));
    let pid = u32::try_from(world.agent("one")["run"]["pid"].as_u64().expect("a pid")).expect("a pid");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let supervisor = stat.rsplit_once(") ").expect("fields").1.split(' ').nth(1).expect("its parent");
    send(supervisor.parse().expect("a pid"), libc::SIGKILL);
    world.wait_until_over("one");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}
