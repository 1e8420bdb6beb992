//! Making worktrees, also with everything dying in between.

mod common;
mod repo;

use std::path::PathBuf;

use carillon_tidy::Error;
use carillon_tidy::git::create::{Order, Settled, close, create, settle, unfinished};
use common::picture;
use repo::{World, git, try_git};
use serde_json::json;

fn order(world: &World) -> Order {
    Order {
        id: "a".to_owned(),
        repository: world.root(),
        path: world.beside("wt").join("a"),
        branch: Some("carillon/a".to_owned()),
        base: "main".to_owned(),
    }
}

fn journal(world: &World) -> PathBuf {
    world.data().join("journal")
}

#[test]
fn a_worktree_is_made_and_recorded() {
    let world = World::new();
    let recorded = create(&order(&world), &journal(&world)).expect("a worktree");
    assert_eq!(recorded.base_commit, world.git(&["rev-parse", "main"]));
    assert_eq!(git(&recorded.path, &["branch", "--show-current"]), "carillon/a");
    assert!(recorded.parent_is_ours && recorded.identity.is_some());
    assert_eq!(unfinished(&journal(&world)), ["a"], "until the ledger knows it");
    let Settled::Complete(settled) = settle(&journal(&world), "a").expect("settled") else {
        panic!("complete")
    };
    assert_eq!(settled.path, recorded.path);
    close(&journal(&world), "a").expect("closed");
    close(&journal(&world), "a").expect("closing twice is fine");
    assert!(unfinished(&journal(&world)).is_empty());
}

#[test]
fn bad_names_and_taken_places_are_refused_and_leave_nothing() {
    let world = World::new();
    world.git(&["branch", "taken"]);
    std::fs::create_dir(world.beside("full")).expect("a directory");
    let before = picture(world.dir.path());
    let with = |change: fn(&mut Order, &World)| {
        let mut order = order(&world);
        change(&mut order, &world);
        create(&order, &journal(&world)).expect_err("refused")
    };
    type Change = fn(&mut Order, &World);
    let bad_names: [Change; 9] = [
        |order, _| order.branch = Some("-b".to_owned()),
        |order, _| order.branch = Some("--upload-pack=x".to_owned()),
        |order, _| order.branch = Some("a..b".to_owned()),
        |order, _| order.branch = Some("@{-1}".to_owned()),
        |order, _| order.branch = Some("HEAD".to_owned()),
        |order, _| order.branch = Some(String::new()),
        |order, _| order.branch = Some("taken".to_owned()),
        |order, _| order.base = "--all".to_owned(),
        |order, _| order.base = "no-such-revision".to_owned(),
    ];
    for change in bad_names {
        assert!(matches!(with(change), Error::BadRef { .. }));
    }
    assert!(matches!(with(|order, world| order.path = world.beside("full")), Error::Exists { .. }));
    assert!(matches!(with(|order, world| order.path = world.path(".git/x")), Error::Refused { .. }));
    assert!(matches!(with(|order, _| order.path = "relative".into()), Error::BadName { .. }));
    assert!(matches!(with(|order, _| order.id = "../x".to_owned()), Error::BadName { .. }));
    assert_eq!(picture(world.dir.path()), before);
}

#[test]
fn what_git_could_not_finish_is_taken_back() {
    let world = World::new();
    // git cannot write its own entry there.
    std::fs::write(world.path(".git/worktrees"), "in the way").expect("a file");
    let before = picture(world.dir.path());
    assert!(matches!(create(&order(&world), &journal(&world)), Err(Error::Git { .. })));
    std::fs::remove_dir_all(world.data()).expect("the empty journal");
    assert_eq!(picture(world.dir.path()), before, "no branch, no directory");
}

/// The entry of a creation that died at some line, written as the code writes it.
fn entry(world: &World, identity: Option<(u64, u64)>) {
    let text = json!({
        "repository": world.root(), "path": world.beside("wt").join("a"), "stage": world.beside("wt").join(".carillon-x"),
        "branch": "carillon/a", "base_commit": world.git(&["rev-parse", "main"]), "parent_is_ours": true,
        "identity": identity,
    });
    std::fs::create_dir_all(journal(world)).expect("a directory");
    std::fs::write(journal(world).join("a.json"), text.to_string()).expect("a file");
}

fn identity(path: &std::path::Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::symlink_metadata(path).expect("it is there");
    (meta.dev(), meta.ino())
}

#[test]
fn a_husk_of_ours_goes_and_one_that_only_looks_like_it_stays() {
    let world = World::new();
    let place = world.beside("wt").join("a");
    // Dead before the directory had its name.
    std::fs::create_dir_all(world.beside("wt").join(".carillon-x")).expect("a directory");
    entry(&world, None);
    assert_eq!(settle(&journal(&world), "a").expect("settled"), Settled::Nothing);
    assert!(!world.beside("wt").exists() && unfinished(&journal(&world)).is_empty());
    // An empty directory of the user's in the same place.
    std::fs::create_dir_all(&place).expect("a directory");
    entry(&world, None);
    assert!(matches!(settle(&journal(&world), "a"), Ok(Settled::LeftAlone { .. })));
    entry(&world, Some((1, 2)));
    assert!(matches!(settle(&journal(&world), "a"), Ok(Settled::LeftAlone { .. })));
    assert!(place.exists());
    // Ours, empty but for what git had begun.
    std::fs::write(place.join(".git"), "gitdir: /nonexistent\n").expect("a file");
    std::fs::create_dir(place.join("empty")).expect("a directory");
    world.git(&["branch", "carillon/a"]);
    entry(&world, Some(identity(&place)));
    assert_eq!(settle(&journal(&world), "a").expect("settled"), Settled::Nothing);
    assert!(!world.beside("wt").exists());
    assert_eq!(world.branches(), ["main"], "the branch that was made for it went as well");
    create(&order(&world), &journal(&world)).expect("the second creation");
}

#[test]
fn a_checkout_that_was_cut_short_goes_when_only_the_checkout_wrote_there() {
    let world = World::new();
    world.write("second", "file");
    repo::commit(&world.root(), "Second");
    for has_own_file in [false, true] {
        let recorded = create(&order(&world), &journal(&world)).expect("a worktree");
        let admin = world.path(".git/worktrees/a");
        // As git leaves it when it is killed in mid-checkout.
        std::fs::write(admin.join("locked"), "initializing").expect("a file");
        std::fs::remove_file(admin.join("index")).expect("an index");
        std::fs::remove_file(recorded.path.join("second")).expect("a file");
        if has_own_file {
            std::fs::write(recorded.path.join("own"), "work").expect("a file");
        }
        let settled = settle(&journal(&world), "a").expect("settled");
        assert_eq!(recorded.path.exists(), has_own_file, "{settled:?}");
        if has_own_file {
            assert!(matches!(settled, Settled::LeftAlone { .. }), "{settled:?}");
            assert!(recorded.path.join("own").exists());
        } else {
            assert_eq!((settled, world.branches()), (Settled::Nothing, vec!["main".to_owned()]));
        }
    }
}

#[test]
fn a_creation_that_died_before_its_way_back_was_written_goes() {
    let world = World::new();
    let recorded = create(&order(&world), &journal(&world)).expect("a worktree");
    std::fs::write(world.path(".git/worktrees/a/locked"), "initializing").expect("a file");
    std::fs::remove_file(recorded.path.join("README")).expect("a file");
    std::fs::write(recorded.path.join(".git"), "").expect("a file");
    assert_eq!(settle(&journal(&world), "a").expect("settled"), Settled::Nothing);
    assert!(!world.beside("wt").exists() && world.branches() == ["main"]);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_slow_hook_is_waited_for_by_looking_again() {
    let world = World::new();
    let hook = world.path(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).expect("a directory");
    std::fs::write(
        &hook,
        "#!/bin/sh\ntouch \"$PWD/../../started\"\nuntil test -e ../../go; do sleep 0.02; done\n",
    )
    .expect("a hook");
    common::set_mode(&hook, 0o755);
    let recorded = std::thread::scope(|scope| {
        let making = scope.spawn(|| create(&order(&world), &journal(&world)));
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !world.beside("started").exists() {
            assert!(std::time::Instant::now() < until, "the hook never ran");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // What a start would find now: the hook stands in the directory.
        let settled = settle(&journal(&world), "a").expect("settled");
        assert!(matches!(settled, Settled::InProgress { .. }), "{settled:?}");
        std::fs::write(world.beside("go"), "").expect("a file");
        making.join().expect("no panic").expect("a worktree")
    });
    assert!(matches!(settle(&journal(&world), "a"), Ok(Settled::Complete(_))));
    assert!(try_git(&recorded.path, &["status"]).status.success());
}
