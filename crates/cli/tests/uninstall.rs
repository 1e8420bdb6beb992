//! `carillon uninstall`: what goes, what stays, and when it is refused.

mod support;

use std::fs;
use std::path::Path;

use support::World;

/// The paths of one list of the answer, below the world's data directory.
fn below(answer: &serde_json::Value, list: &str, home: &Path) -> Vec<String> {
    let entries = answer[list].as_array().expect("a list");
    let paths = entries.iter().filter_map(|entry| {
        let path = Path::new(entry["path"].as_str().expect("a path"));
        Some(path.strip_prefix(home).ok()?.display().to_string())
    });
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    paths
}

#[test]
fn without_data_only_what_a_start_makes_again_goes() {
    let mut world = World::started();
    world.add_agent("ada", "echo here");
    world.ok(&["agent", "start", "ada"]);
    world.wait_until_over("ada");
    world.end(libc::SIGTERM);
    fs::create_dir_all(world.home().join("bin/0.1.0")).expect("a folder");
    fs::write(world.home().join("bin/0.1.0/carillon"), "").expect("a file");
    fs::write(world.home().join("mine.txt"), "mine").expect("a file");
    let answer = world.ok(&["uninstall"]);
    let (removed, kept) = (below(&answer, "removed", &world.home()), below(&answer, "kept", &world.home()));
    assert!(removed.contains(&"bin".to_owned()), "{removed:?}");
    for name in ["carillon.db", "runs", "mine.txt"] {
        assert!(kept.contains(&name.to_owned()) && world.home().join(name).exists(), "{name}: {kept:?}");
    }
    world.start(&[]);
    assert_eq!(world.agent("ada")["name"], "ada", "the ledger is as it was");
}

#[test]
fn with_data_nothing_stays_but_what_is_not_ours() {
    let mut world = World::started();
    world.add_agent("ada", "echo here");
    world.ok(&["agent", "start", "ada"]);
    world.wait_until_over("ada");
    world.end(libc::SIGTERM);
    let autostart = world.user_home().join(".config/autostart/dev.carillon.desktop.desktop");
    fs::create_dir_all(autostart.parent().expect("a folder")).expect("a folder");
    fs::write(&autostart, "[Desktop Entry]\n").expect("a file");
    let programs = world.user_home().join(".local/bin");
    fs::create_dir_all(&programs).expect("a folder");
    std::os::unix::fs::symlink(world.home().join("bin/carillon"), programs.join("carillon")).expect("a link");
    let mine = world.home().join("mine.txt");
    fs::write(&mine, "mine").expect("a file");
    let answer = world.ok(&["uninstall", "--data"]);
    assert_eq!(below(&answer, "kept", &world.home()), ["mine.txt"]);
    let left: Vec<_> = fs::read_dir(world.home()).expect("the data directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!autostart.exists() && programs.join("carillon").symlink_metadata().is_err());
    assert!(world.repo().join("README").exists(), "the repository is the user's");
    fs::remove_file(&mine).expect("removed");
    world.ok(&["uninstall", "--data"]);
    assert!(!world.home().exists());
    let nothing = world.ok(&["uninstall", "--data"]);
    assert_eq!(
        (nothing["removed"].as_array().map(Vec::len), nothing["kept"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
}

#[test]
fn a_link_to_somebody_elses_program_stays() {
    let world = World::new();
    let programs = world.user_home().join(".local/bin");
    fs::create_dir_all(&programs).expect("a folder");
    std::os::unix::fs::symlink("/opt/Carillon.AppImage", programs.join("carillon")).expect("a link");
    let answer = world.ok(&["uninstall", "--data"]);
    assert_eq!(answer["kept"][0]["path"], programs.join("carillon").to_str().expect("UTF-8"));
    assert!(programs.join("carillon").symlink_metadata().is_ok());
}

#[test]
fn it_is_refused_while_anything_runs() {
    let mut world = World::new();
    world.start(&["--at-exit", "keep"]);
    let error = world.fails(&["uninstall", "--data"], 4);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("running")), "{error}");
    world.add_agent("ada", "echo here; sleep 300");
    world.ok(&["agent", "start", "ada"]);
    world.wait_for_text("ada", "here");
    world.end(libc::SIGTERM);
    let error = world.fails(&["uninstall", "--data"], 4);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("kept running")), "{error}");
    assert!(world.home().join("carillon.db").exists());
    world.start(&[]);
    world.ok(&["agent", "stop", "ada"]);
    world.wait_until_over("ada");
    world.end(libc::SIGTERM);
    world.ok(&["uninstall", "--data"]);
    assert!(!world.home().exists());
}
