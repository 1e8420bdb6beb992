//! Bringing work to the base branch: all of it, or none of it.

mod common;
mod repo;

use carillon_tidy::Error;
use carillon_tidy::git::diff::diff;
use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::merge::{How, Outcome, merge};
use common::picture;
use repo::{World, commit, git, put};

fn with_work(world: &World) -> Recorded {
    let recorded = world.workdir("a");
    for name in ["one", "two"] {
        put(&recorded.path, name, name);
        commit(&recorded.path, name);
    }
    recorded
}

fn merged(recorded: &Recorded, how: How) -> Outcome {
    merge(recorded, "main", how, "Bring the work\n").expect("an outcome")
}

#[test]
fn each_way_brings_all_of_it_into_the_checkout_that_has_the_branch() {
    for (how, commits, main_moves) in [
        (How::Merge, 3, false),
        (How::Merge, 5, true),
        (How::Squash, 2, false),
        (How::Squash, 3, true),
        (How::Rebase, 3, false),
        (How::Rebase, 4, true),
    ] {
        let world = World::new();
        let recorded = with_work(&world);
        if main_moves {
            world.write("later", "on main");
            commit(&world.root(), "Later");
        }
        // What the user has not committed and nobody needs stays as it is.
        world.write("README", "the user's own change\n");
        world.write("users-own", "not committed");
        let was = world.git(&["rev-parse", "main"]);
        let Outcome::Done { commit, was: told } = merged(&recorded, how) else { panic!("{how:?}") };
        assert_eq!((world.git(&["rev-parse", "main"]), told), (commit, was), "{how:?}");
        assert_eq!(world.git(&["rev-list", "--count", "main"]), commits.to_string(), "{how:?} {main_moves}");
        for name in ["one", "two"] {
            assert_eq!(std::fs::read_to_string(world.path(name)).expect("a file"), name);
        }
        assert_eq!(world.git(&["status", "--porcelain"]), " M README\n?? users-own", "{how:?}");
        assert_eq!(merged(&recorded, How::Squash), Outcome::NothingToDo, "{how:?}: a second time");
        if how == How::Rebase {
            assert_eq!(world.git(&["log", "-1", "--format=%s %an", "main"]), "two Test");
        }
    }
}

#[test]
fn a_branch_that_is_checked_out_nowhere_moves_alone() {
    let world = World::new();
    let recorded = with_work(&world);
    world.git(&["checkout", "--quiet", "--detach"]);
    let before = picture(&world.path("README"));
    assert!(matches!(merged(&recorded, How::Squash), Outcome::Done { .. }));
    assert_eq!(picture(&world.path("README")), before);
    assert!(!world.path("one").exists());
    assert_eq!(world.git(&["show", "main:two"]), "two");
}

#[test]
fn a_conflict_is_named_and_changes_nothing() {
    for how in [How::Merge, How::Squash, How::Rebase] {
        let world = World::new();
        let recorded = with_work(&world);
        world.write("one", "something else");
        world.write("dir/two", "fine");
        commit(&world.root(), "In the way");
        let state = || {
            let files = (picture(&world.path("one")), picture(&world.path("dir")));
            (world.git(&["for-each-ref"]), world.git(&["status", "--porcelain"]), files)
        };
        let before = (state(), picture(&recorded.path));
        assert_eq!(merged(&recorded, how), Outcome::Conflicts(vec!["one".to_owned()]), "{how:?}");
        assert_eq!((state(), picture(&recorded.path)), before, "{how:?}");
    }
}

#[test]
fn what_is_in_the_way_of_the_checkout_refuses_all_of_it() {
    let world = World::new();
    let recorded = with_work(&world);
    world.write("one", "the user's own file of the same name");
    let before = (world.git(&["for-each-ref"]), picture(&world.path("one")));
    let refused = merge(&recorded, "main", How::Merge, "m").expect_err("refused");
    assert!(matches!(&refused, Error::Git { said, .. } if said.contains("one")), "{refused}");
    assert_eq!((world.git(&["for-each-ref"]), picture(&world.path("one"))), before);
}

#[test]
fn what_is_not_committed_and_bad_names_are_refused() {
    let world = World::new();
    let recorded = with_work(&world);
    put(&recorded.path, "three", "not committed");
    assert!(matches!(merge(&recorded, "main", How::Merge, "m"), Err(Error::Refused { .. })));
    std::fs::remove_file(recorded.path.join("three")).expect("ours");
    for bad in ["--all", "none-such", "a..b", ""] {
        assert!(matches!(merge(&recorded, bad, How::Merge, "m"), Err(Error::BadRef { .. })), "{bad}");
    }
}

#[test]
fn a_difference_has_what_is_not_committed_and_runs_no_program() {
    let world = World::new();
    world.write(".gitattributes", "* diff=evil\n");
    commit(&world.root(), "Attributes");
    let evil = format!("touch {}", world.beside("ran").display());
    world.git(&["config", "diff.evil.textconv", &evil]);
    world.git(&["config", "diff.external", &evil]);
    let recorded = with_work(&world);
    put(&recorded.path, "README", "changed\n");
    put(&recorded.path, "new", "untracked");
    std::fs::write(recorded.path.join("one"), [0, 159, 146, 150]).expect("a file");
    let diff = diff(&recorded).expect("a difference");
    let text = String::from_utf8_lossy(&diff.text);
    assert!(text.contains("-hello") && text.contains("+changed") && text.contains("+two"), "{text}");
    let files: Vec<(String, Option<u64>)> =
        diff.files.iter().map(|file| (file.path.display().to_string(), file.added)).collect();
    let expected = [("README", Some(1)), ("one", None), ("two", Some(1))];
    assert_eq!(files, expected.map(|(path, added)| (path.to_owned(), added)));
    assert_eq!(diff.untracked, [std::path::PathBuf::from("new")]);
    assert!(!diff.is_cut && !world.beside("ran").exists());
    put(&recorded.path, "README", &"x\n".repeat(3 << 20));
    let long = carillon_tidy::git::diff::diff(&recorded).expect("a difference");
    assert!(long.is_cut && long.text.len() == carillon_tidy::git::diff::TEXT_MAX);
    assert_eq!(git(&recorded.path, &["status", "--porcelain"]).lines().count(), 3);
}
