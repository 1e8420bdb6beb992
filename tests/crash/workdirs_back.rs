//! What comes back with a workdir, and what a restart leaves as it was.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::{Value, json};

use crate::support::World;
use crate::untouched;
use crate::workdirs::{commit, content, fill, git_in, named, new, path, world};

fn rules(world: &World, text: &str) {
    std::fs::write(world.repo().join("carillon.toml"), text).unwrap();
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn copied_files_are_there_again() {
    let world = world();
    rules(&world, "[workdirs]\ncopy = [\".env\", \"my.conf\"]\n");
    std::fs::write(world.repo().join(".env"), "A=1\n").unwrap();
    std::fs::set_permissions(world.repo().join(".env"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(world.repo().join("my.conf"), "B=1\n").unwrap();
    let dir = path(&new(&world, "one"));
    std::fs::write(dir.join("my.conf"), "B=2, changed here\n").unwrap();
    let removed = world.ok(&["workdirs", "remove", "one"]);
    assert_eq!(removed["not_kept"], json!([]), "a copy can be made again: {removed}");
    // What is copied is what the rules say now; what it had besides is copied as well.
    rules(&world, "[workdirs]\ncopy = [\"more.conf\"]\n");
    std::fs::write(world.repo().join("more.conf"), "C=1\n").unwrap();
    let back = world.ok(&["workdirs", "restore", "one"]);
    assert_eq!((&back["state"], &back["notes"]), (&json!("active"), &json!([])), "{back}");
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    assert_eq!((read(".env"), read("more.conf")), ("A=1\n".to_owned(), "C=1\n".to_owned()));
    assert_eq!(read("my.conf"), "B=2, changed here\n", "what was changed came out of the archive");
    assert_eq!(mode(&dir.join(".env")), 0o600);
    // They are on the ledger as copies: as the original they are nothing to lose, changed they are.
    assert!(!named(&world, "one")["reasons"].to_string().contains("more.conf"));
    std::fs::write(dir.join("more.conf"), "C=2\n").unwrap();
    assert!(named(&world, "one")["reasons"].to_string().contains("more.conf"));

    // What the checkout has no more is told.
    world.ok(&["workdirs", "remove", "one"]);
    rules(&world, "[workdirs]\ncpoy = []\n");
    std::fs::remove_file(world.repo().join(".env")).unwrap();
    let back = world.ok(&["workdirs", "restore", "one"]);
    let notes = back["notes"].to_string();
    assert!(notes.contains(".env is not back") && notes.contains("cpoy"), "{notes}");
    assert_eq!((read("more.conf"), read("my.conf")), ("C=2\n".to_owned(), "B=2, changed here\n".to_owned()));
    assert!(!dir.join(".env").exists());
}

#[test]
fn commits_come_back_when_the_directory_was_taken_away() {
    let world = world();
    rules(&world, "[workdirs]\ncopy = [\".env\"]\n");
    std::fs::write(world.repo().join(".env"), "A=1\n").unwrap();
    let dir = path(&new(&world, "one"));
    commit(&world, &dir, "own", "x\n");
    let tip = git_in(&world, &dir, &["rev-parse", "HEAD"]);
    std::fs::remove_dir_all(&dir).unwrap();
    let removed = world.ok(&["workdirs", "remove", "one"]);
    assert_eq!(removed["state"], "tombstoned", "{removed}");
    assert!(removed["archive_ref"].as_str().unwrap().ends_with(".branch"), "{removed}");
    assert_eq!(world.git(&["branch", "--list", "carillon/*"]), "");
    world.git(&["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);
    let back = world.ok(&["workdirs", "restore", "one"]);
    assert_eq!((&back["state"], &back["dirty"]), (&json!("active"), &json!(false)), "{back}");
    assert!(back["notes"].to_string().contains("had been taken away"), "{back}");
    assert_eq!(git_in(&world, &dir, &["rev-parse", "carillon/one"]), tip);
    assert_eq!(git_in(&world, &dir, &["branch", "--show-current"]).trim(), "carillon/one");
    assert!(dir.join(".env").is_file());
    world.ok(&["workdirs", "merge", "one"]);
    assert!(world.repo().join("own").is_file());
}

#[test]
fn a_restart_builds_nothing_anew() {
    let mut world = world();
    let dir = path(&new(&world, "one"));
    fill(&world, &dir);
    let (before, inode) = (untouched::tree(&dir, &|_| false), std::fs::metadata(&dir).unwrap().ino());
    let said = content(&world, &dir);
    world.crash();
    world.start(&[]);
    world.end(libc::SIGTERM);
    world.start(&[]);
    assert_eq!(named(&world, "one")["dirty"], true);
    assert_eq!(std::fs::metadata(&dir).unwrap().ino(), inode);
    assert_eq!(untouched::tree(&dir, &|_| false), before, "each file is the same, by its inode");
    assert_eq!(content(&world, &dir), said);
    assert_eq!(world.fails(&["workdirs", "restore", "one"], 4)["code"], "refused", "it is there");
    assert_eq!(untouched::tree(&dir, &|_| false), before);
}

#[test]
fn a_headless_agent_whose_workdir_is_gone_works_nowhere_else() {
    let world = world();
    world.add_demo_agents(&[]);
    let add = ["agent", "add", "ada", "--project", "repo", "--profile", "demo", "--mode", "headless"];
    world.ok(&[&add[..], &["--workdir", "new"]].concat());
    let answer = world.ok(&["ask", "ada", "say hello"]);
    assert_eq!(answer["state"], "answered", "{answer}");
    let dir = path(&named(&world, "ada"));
    std::fs::remove_dir_all(&dir).unwrap();
    let before = untouched::all(&world, &[]);
    let output = world.run(&["--json", "ask", "ada", "write here x", "--timeout", "15s"]);
    assert!(!output.status.success(), "{output:?}");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("gone") && said.contains(dir.to_str().unwrap()), "it says what is missing: {said}");
    assert_eq!(untouched::all(&world, &[]), before);
    assert!(!dir.exists(), "nobody made it anew");
}

#[test]
fn the_words_say_what_stays() {
    let world = world();
    let dir = path(&new(&world, "one"));
    let said = |args: &[&str]| String::from_utf8(world.run(args).stdout).unwrap();
    let kept = said(&["workdirs", "remove", "one", "--keep"]);
    let stays = format!("gave one up; its files in {} and its branch carillon/one stay\n", dir.display());
    assert_eq!(kept, stays);
    assert!(dir.is_dir());
    assert!(said(&["workdirs", "remove", "one"]).starts_with("removed one (tombstoned)"));
    assert_eq!(named(&world, "nobody"), Value::Null);
}
