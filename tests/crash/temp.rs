//! Temp directories go when their reason goes, and not before.

use std::path::PathBuf;

use crate::support::{World, send};

const NONE: Vec<PathBuf> = Vec::new();

#[test]
fn they_go_however_a_program_ends() {
    let world = World::started();
    let fill =
        "mkdir \"$TMPDIR/d\"; echo x > \"$TMPDIR/d/.hidden\"; echo y > \"$TMP/y\"; chmod 500 \"$TEMP/d\"";
    for (name, end) in [("zero", "exit 0"), ("one", "exit 1"), ("killed", "kill -KILL $$")] {
        world.add_agent(name, &format!("{fill}; {end}"));
        world.run(&["agent", "start", name]);
        world.wait_until_over(name);
    }
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    assert!(!world.home().join("t").join(".trash").exists());
}

#[test]
fn after_a_crash_the_dead_ones_go_and_the_live_one_stays() {
    let mut world = World::started();
    world.add_agent("dead", "touch \"$TMPDIR/x\"; echo up; sleep 1000");
    world.add_agent("live", "touch \"$TMPDIR/x\"; echo up; read -r line; exit 0");
    for name in ["dead", "live"] {
        world.ok(&["agent", "start", name]);
        world.wait_for_text(name, "up");
    }
    assert_eq!(world.temp_entries().len(), 2);
    let pid = u32::try_from(world.agent("dead")["run"]["pid"].as_u64().unwrap()).unwrap();
    world.crash();
    send(pid, libc::SIGKILL);
    world.start(&[]);
    world.wait_until_over("dead");
    world.wait_for("the dead one's temp to go", || (world.temp_entries().len() == 1).then_some(()));
    world.write("live", "end\r");
    world.wait_until_over("live");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

#[test]
fn a_run_that_never_came_up_leaves_none() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    // Executable by its mode, but nothing that runs.
    let broken = world.path("broken");
    std::fs::write(&broken, [0x7f, b'E', b'L', b'F', 9, 9, 9, 9]).unwrap();
    std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.ok(&["profile", "add", "p", "--adapter", "plain", "--program", broken.to_str().unwrap()]);
    world.ok(&["agent", "add", "one", "--project", "repo", "--profile", "p"]);
    world.run(&["agent", "start", "one"]);
    let agent = world.wait_until_over("one");
    assert_eq!(agent["state"], "failed", "{agent}");
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

#[test]
fn one_that_somebody_removed_harms_nothing() {
    let world = World::started();
    world.add_agent("one", "echo up; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let [temp] = &world.temp_entries()[..] else { panic!("one temp directory") };
    std::fs::remove_dir_all(temp).unwrap();
    world.write("one", "end\r");
    assert_eq!(world.wait_until_over("one")["run"]["reason"], "exited 0");
    // It may have been made anew meanwhile; then it goes as any other.
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let [again] = &world.temp_entries()[..] else { panic!("a new temp directory") };
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(again).unwrap().permissions());
    assert_eq!(mode & 0o7777, 0o700);
}

#[test]
fn one_that_a_process_still_uses_stays_until_that_ends() {
    let mut world = World::started();
    world.add_agent("one", "echo up; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let [temp] = &world.temp_entries()[..] else { panic!("one temp directory") };
    // A process of the user's, with its working directory there.
    let mut user = std::process::Command::new("sleep").arg("1000").current_dir(temp).spawn().unwrap();
    world.write("one", "end\r");
    world.wait_until_over("one");
    assert_eq!(world.end(libc::SIGTERM).code(), Some(0));
    assert!(temp.exists(), "it is in use");
    user.kill().unwrap();
    user.wait().unwrap();
    world.start(&[]);
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}

#[test]
fn the_repository_is_as_it_was() {
    let mut world = World::started();
    let before = world.git(&["status", "--porcelain", "--ignored"]);
    world.add_agent("one", "echo x > \"$TMPDIR/x\"; echo up; sleep 1000");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    world.ok(&["agent", "stop", "one"]);
    world.ok(&["agent", "start", "one"]);
    world.end(libc::SIGTERM);
    assert_eq!(world.git(&["status", "--porcelain", "--ignored"]), before);
    assert_eq!(world.temp_entries(), NONE);
}
