//! The engine dies in the middle of taking things away, and sweeps by itself: what may go goes in the end, and
//! nothing else does.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::clean::{applied, at, branch_elsewhere, husk, make_dir, namespace, report, sleep, stray, trash};
use crate::support::{CARILLON, World, alive, send, wait};
use crate::untouched;
use crate::workdirs::{aged, commit, git_in, named, new, path, shell_in, world};

#[test]
fn at_each_seam() {
    for seam in carillon_engine::seam::RESIDUE_SEAMS {
        let mut world = world();
        let (clean, dirty) = (path(&aged(&world, "clean")), path(&new(&world, "dirty")));
        std::fs::write(dirty.join("open"), "x").unwrap();
        let unknown: Vec<_> = ["unknown1", "unknown2"].map(|name| namespace(&world).join(name)).into();
        unknown.iter().for_each(|dir| make_dir(dir));
        let before = untouched::all(&world, &[&dirty]);
        let items = report(&world, "temp");
        let ids: Vec<String> =
            unknown.iter().map(|dir| at(&items, dir)["id"].as_str().unwrap().to_owned()).collect();
        world.end(libc::SIGTERM);
        let mut serve = world.isolated(CARILLON);
        serve.arg("serve").env("CARILLON_DIE_AT", seam);
        world.start_command(serve);
        let mut command = world.isolated(CARILLON);
        command.args(["clean", "--apply", "--consent", &ids[0], "--consent", &ids[1]]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(world.engine_dies_of(libc::SIGKILL), "{seam}: the seam is reached");
        assert!(!wait(&mut child).success());
        world.start(&[]);
        world.wait_for("the trash to be empty", || (!trash(&world).exists()).then_some(()));
        assert_eq!(untouched::all(&world, &[&dirty]), before, "{seam}");
        for dir in unknown.iter().filter(|dir| dir.exists()) {
            assert!(dir.join("file").is_file(), "{seam}: whole or gone");
        }
        let items = report(&world, "temp");
        let consent: Vec<&str> =
            items.iter().flat_map(|item| ["--consent", item["id"].as_str().unwrap()]).collect();
        applied(&world, &consent);
        assert!(unknown.iter().all(|dir| !dir.exists()) && !clean.exists(), "{seam}");
        assert_eq!(untouched::all(&world, &[&dirty]), before, "{seam}");
        assert_eq!(named(&world, "dirty")["state"], "active", "{seam}");
    }
}

/// Starts an engine that sweeps often.
fn sweeps_often(world: &mut World) {
    world.end(libc::SIGTERM);
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve").env("CARILLON_SWEEP_EVERY_MS", "200");
    world.start_command(serve);
}

#[test]
fn the_sweep_takes_what_is_safe_and_proved_ours_and_nothing_else() {
    let mut world = world();
    sweeps_often(&mut world);
    let (clean, gone) = (path(&new(&world, "clean")), path(&new(&world, "gone")));
    commit(&world, &gone, "own", "x\n");
    new(&world, "other");
    let sides = ["gone", "other"].map(|name| branch_elsewhere(&world, name));
    world.ok(&["workdirs", "remove", "gone"]);
    world.ok(&["workdirs", "remove", "other"]);
    // A temp directory that a user held until after its run.
    world.add_agent("one", "echo up; read -r l; exit 0");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let [own] = &world.temp_entries()[..] else { panic!("one temp directory") };
    let mut user = shell_in(own);
    world.write("one", "end\r");
    world.wait_until_over("one");
    let unknown = namespace(&world).join("unknown1");
    make_dir(&unknown);
    let id = named(&world, "gone")["id"].as_str().unwrap().to_owned();
    let archive = format!("refs/carillon/archive/{id}");
    let before = untouched::all(&world, &[&clean, &unknown]);
    // The trash is emptied first in each sweep: with the second one, the first was through.
    let swept = |world: &World| {
        for _ in 0..2 {
            make_dir(&trash(world).join("sign"));
            world.wait_for("a sweep", || (!trash(world).exists()).then_some(()));
        }
    };
    let branch = |name: &str| !world.git(&["branch", "--list", name]).is_empty();
    world.git(&["branch", "carillon/mine", "main"]);
    swept(&world);
    assert!(branch("carillon/gone") && branch("carillon/other"), "the user works on them");
    for side in &sides {
        git_in(&world, side, &["checkout", "--quiet", "--detach", "main"]);
    }
    world.wait_for("the branch to go", || (!branch("carillon/other")).then_some(()));
    swept(&world);
    assert!(
        branch("carillon/gone") && branch("carillon/mine"),
        "one has a commit of its own, one is the user's"
    );
    assert!(own.exists(), "somebody uses it");
    assert!(!world.git(&["for-each-ref", &archive]).is_empty(), "its time is not over");
    user.kill().unwrap();
    user.wait().unwrap();
    world.wait_for("the temp directory to go", || (!own.exists()).then_some(()));
    // An archive whose time is over.
    let mut git = world.isolated("git");
    git.arg("-C").arg(world.repo()).args(["commit-tree", "HEAD^{tree}", "-m", "old"]);
    let old = git.env("GIT_COMMITTER_DATE", "1000000000 +0000").output().unwrap();
    let old = String::from_utf8(old.stdout).unwrap();
    world.git(&["update-ref", &archive, old.trim()]);
    world.wait_for("the archive to go", || world.git(&["for-each-ref", &archive]).is_empty().then_some(()));
    swept(&world);
    assert!(branch("carillon/gone"), "it has a commit of its own");
    assert_eq!(named(&world, "gone")["archive_ref"], Value::Null);
    assert_eq!(untouched::all(&world, &[&clean, &unknown]), before);
}

#[test]
fn the_sweep_ends_what_a_dead_supervisor_left_and_clears_husks_of_ours() {
    let mut world = world();
    // A creation that is on the ledger, and one that nobody knows.
    world.fails(&["workdirs", "new", "bad", "--project", "repo", "--base", "no-such"], 1);
    let known = named(&world, "bad")["id"].as_str().unwrap().to_owned();
    let ours = husk(&world, &known, Path::new(""));
    let nobodys = husk(&world, "00000000000000000000000000000bad", Path::new(""));
    world.add_agent("one", "echo up; sleep 1000");
    world.ok(&["agent", "start", "one"]);
    world.wait_for_text("one", "up");
    let run = world.agent("one")["run"]["id"].as_str().unwrap().to_owned();
    let started = std::fs::read(world.home().join("runs").join(&run).join("started.json")).unwrap();
    let started: Value = serde_json::from_slice(&started).unwrap();
    let parent = |pid: u64| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap()
    };
    send(parent(started["pid"].as_u64().unwrap()), libc::SIGKILL);
    assert_eq!(world.wait_until_over("one")["run"]["state"], "lost");
    // One that comes to light later, and one that is not of this engine.
    let mut late = stray(&world, &run, &sleep());
    let mut foreign = std::process::Command::new(sleep()).arg("1000").spawn().unwrap();
    sweeps_often(&mut world);
    assert!(!wait(&mut late).success(), "a signal ended it");
    world.wait_for("the husk to go", || (!ours.exists()).then_some(()));
    assert!(nobodys.is_dir() && alive(foreign.id()));
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

#[test]
fn an_archive_that_somebody_took_away_is_not_promised() {
    let mut world = world();
    let dir = path(&new(&world, "one"));
    commit(&world, &dir, "own", "x\n");
    let reference = world.ok(&["workdirs", "remove", "one"])["archive_ref"].as_str().unwrap().to_owned();
    world.git(&["update-ref", "-d", &reference]);
    sweeps_often(&mut world);
    world.wait_for("the tombstone to tell the truth", || {
        named(&world, "one")["archive_ref"].is_null().then_some(())
    });
    assert_eq!(world.fails(&["workdirs", "restore", "one"], 4)["code"], "refused");
}

#[test]
fn with_an_empty_ledger_nothing_is_taken_that_is_not_proved_ours() {
    let mut world = world();
    let dir = path(&new(&world, "one"));
    commit(&world, &dir, "own", "x\n");
    world.ok(&["workdirs", "new", "two", "--project", "repo"]);
    let archive = world.ok(&["workdirs", "remove", "two"])["archive_ref"].as_str().unwrap().to_owned();
    make_dir(&namespace(&world).join("dir00001"));
    let runs = world.home().join("runs/00000000000000000000000000000bad");
    make_dir(&runs);
    world.end(libc::SIGTERM);
    std::fs::write(world.home().join("carillon.db"), "this is no ledger").unwrap();
    let before = untouched::all(&world, &[&dir, &namespace(&world), &runs]);
    world.start(&[]);
    sweeps_often(&mut world);
    world.ok(&["project", "add", world.repo().to_str().unwrap()]);
    // What the boot's sweep empties is a sign that it was there.
    make_dir(&trash(&world).join("sign"));
    world.wait_for("a sweep", || (!trash(&world).exists()).then_some(()));
    let kept = applied(&world, &[]);
    assert!(kept.iter().all(|item| item["removed"] == false), "{kept:?}");
    assert!(kept.iter().any(|item| item["path"] == json!(dir)), "but all of it is shown: {kept:?}");
    assert!(!world.git(&["for-each-ref", &archive]).is_empty());
    assert_eq!(untouched::all(&world, &[&dir, &namespace(&world), &runs]), before);
    assert!(Path::new(&dir.join("own")).is_file());
}
