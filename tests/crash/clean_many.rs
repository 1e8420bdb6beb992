//! Many things at a time, and words that are not understood.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clean::{applied, make_dir, namespace, trash};
use crate::support::CARILLON;
use crate::workdirs::{aged, path, shell_in, world};

#[test]
fn a_word_that_is_not_understood_does_nothing_at_all() {
    let world = world();
    let dir = path(&aged(&world, "clean"));
    let error = world.fails(&["clean", "--apply", "--consent", "0123456789ab"], 1);
    assert!(error["message"].as_str().unwrap().contains("0123456789ab"), "{error}");
    assert!(dir.is_dir(), "what is safe stays as well");
    assert_eq!(world.fails(&["clean", "--consent", "0123456789ab"], 2)["code"], "invalid");
    let error = world.fails(&["clean", "--kind", "everything"], 2);
    assert!(error["message"].as_str().unwrap().contains("temp, run, log"), "{error}");
    assert_eq!(world.fails(&["clean", "--apply", "--project", "no-such"], 1)["code"], "not_found");
    // Only what was asked for.
    make_dir(&trash(&world).join("one"));
    applied(&world, &["--kind", "trash"]);
    assert!(dir.is_dir());
    applied(&world, &["--project", "repo"]);
    assert!(!dir.exists());
    let output = world.run(&["clean", "--apply"]);
    assert_eq!(output.status.code(), Some(0), "also when some were kept");
    assert!(String::from_utf8_lossy(&output.stderr).contains("came free"), "{output:?}");
}

#[test]
fn two_at_once_do_it_once() {
    let world = world();
    let dirs: Vec<PathBuf> = (0..6).map(|n| path(&aged(&world, &format!("n{n}")))).collect();
    make_dir(&trash(&world).join("one"));
    let start = || {
        let mut command = world.isolated(CARILLON);
        command
            .args(["--json", "clean", "--apply"])
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (one, two) = (start(), start());
    let removed = |child: Child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let items: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = items.as_array().unwrap().iter();
        all.filter(|item| item["kind"] == "worktree" && item["removed"] == true).count()
    };
    assert_eq!(removed(one) + removed(two), 6, "each went once, and both told the truth");
    assert!(dirs.iter().all(|dir| !dir.exists()));
    world.git(&["fsck", "--full", "--strict"]);
}

#[test]
fn a_thousand_things_hold_nobody_up() {
    let world = world();
    for n in 0..1_000 {
        make_dir(&namespace(&world).join(format!("dir{n:05}")));
    }
    let begun = Instant::now();
    let mut command = world.isolated(CARILLON);
    let listing = command.args(["--json", "clean"]).stdout(Stdio::piped()).spawn().unwrap();
    let reader = std::thread::spawn(move || (listing.wait_with_output().unwrap(), begun.elapsed()));
    // The loop answers meanwhile.
    let mut slowest = Duration::ZERO;
    let mut rounds = 0;
    while !reader.is_finished() || rounds < 5 {
        let asked = Instant::now();
        world.call("settings_set", json!({"patch": {"font_size": 12 + rounds % 3}}));
        slowest = slowest.max(asked.elapsed());
        rounds += 1;
    }
    let (output, took) = reader.join().unwrap();
    let items: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(items.as_array().unwrap().len(), 1_000);
    println!("a report of 1,000 took {took:?}; the loop's slowest answer of {rounds} took {slowest:?}");
    assert!(slowest < Duration::from_secs(1), "the loop was held up for {slowest:?}");
    // Broken off, what is gone is gone and the rest stays.
    let ids: Vec<String> =
        items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    let socket = world.home().join("carillon.sock");
    let apply = std::thread::spawn(move || {
        carillon_api::Client::connect(&socket)
            .unwrap()
            .call("residue_apply", json!({"consent": ids}))
            .unwrap()
    });
    world.wait_for("the removal to be on its way", || {
        (world.call("residue_progress", json!({}))["done"].as_u64() > Some(0)).then_some(())
    });
    world.call("residue_cancel", json!({}));
    let done = apply.join().unwrap();
    let removed = done.as_array().unwrap().iter().filter(|item| item["removed"] == true).count();
    let left = std::fs::read_dir(namespace(&world)).map_or(0, |dir| dir.flatten().count());
    assert_eq!(left, 1_000 - removed, "it told the truth");
    assert!(removed < 1_000, "it was broken off");
    let progress = world.call("residue_progress", json!({}));
    assert_eq!((&progress["running"], &progress["removed"]), (&json!(false), &json!(removed)), "{progress}");
}

#[test]
fn what_somebody_begins_to_use_meanwhile_stays() {
    let world = world();
    let dirs: Vec<PathBuf> = (0..256).map(|n| namespace(&world).join(format!("dir{n:05}"))).collect();
    for dir in &dirs {
        std::fs::create_dir_all(dir).unwrap();
        (0..30).for_each(|n| std::fs::write(dir.join(n.to_string()), "x").unwrap());
    }
    let items = world.ok(&["clean", "--kind", "temp"]);
    let ids: Vec<String> =
        items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    let socket = world.home().join("carillon.sock");
    let apply = std::thread::spawn(move || {
        carillon_api::Client::connect(&socket)
            .unwrap()
            .call("residue_apply", json!({"consent": ids}))
            .unwrap()
    });
    let done = || world.call("residue_progress", json!({}))["done"].as_u64().unwrap();
    world.wait_for("the removal to be on its way", || (done() > 0).then_some(()));
    let last = dirs.last().unwrap();
    let mut user = shell_in(last);
    let so_far = done();
    assert!(so_far <= 128, "the last ones are judged later than this: {so_far}");
    let done = apply.join().unwrap();
    let kept: Vec<&Value> = done.as_array().unwrap().iter().filter(|item| item["removed"] == false).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(
        kept[0]["refused"].as_str().unwrap().contains(&format!("in use by pid {}", user.id())),
        "{kept:?}"
    );
    assert!(last.join("29").is_file());
    user.kill().unwrap();
    user.wait().unwrap();
}
