//! The guard on real repositories: what is new and nobody else's goes, and nothing else is touched.

mod common;
mod repo;

use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use carillon_tidy::Error;
use carillon_tidy::git::names::DeletedBranch;
use carillon_tidy::guard::{self, Begun, Guard, Hands, Order, RealHands, Report};
use carillon_tidy::temp;
use common::picture;
use repo::{World, git, try_git};

const RULES: &str = "[residue]\ndirectories = [\"test-feature-*\", \"specs/test-*\"]\nbranches = \
                     [\"kitty/test-*\"]\nworktree_roots = [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\n";
const NOW: i64 = 1_700_000_000_000;

fn world() -> World {
    let world = World::new();
    world.write("carillon.toml", RULES);
    world.git(&["add", "carillon.toml"]);
    world.git(&["commit", "--quiet", "-m", "Rules"]);
    std::fs::create_dir(world.beside("tmp")).expect("a directory");
    // Things of the same kinds that were there before.
    world.write("test-feature-old/file", "old");
    world.write(".worktrees/old-husk/file", "old");
    world.git(&["branch", "kitty/test-old"]);
    std::fs::create_dir(world.beside("tmp/spec-kitty-old")).expect("a directory");
    world
}

fn order(world: &World) -> Order {
    Order { dir: world.root(), rules: None, temp_dir: world.beside("tmp"), outer: (None, None) }
}

fn begin(world: &World) -> Guard {
    match Guard::begin(&order(world)).expect("a guard") {
        Begun::Acts(guard) => *guard,
        Begun::Nested => panic!("there is no other guard"),
    }
}

/// Leaves one thing of each kind, as a careless test suite does.
fn leak(world: &World) {
    world.write("test-feature-new/deep/file", "new");
    world.write("specs/test-1/file", "new");
    world.write(".worktrees/husk/file", "new");
    world.git(&["branch", "kitty/test-new"]);
    std::fs::create_dir(world.beside("tmp/spec-kitty-new")).expect("a directory");
    // Nothing that a rule names.
    world.write("other-new/file", "new");
    world.git(&["branch", "feature"]);
    std::fs::create_dir(world.beside("tmp/other")).expect("a directory");
}

const LEAKED: [&str; 5] =
    ["specs/test-1", "test-feature-new", ".worktrees/husk", "kitty/test-new", "spec-kitty-new"];

fn reaped(report: &Report) -> Vec<&str> {
    report.reaped.iter().map(|reaped| reaped.name.as_str()).collect()
}

fn reason<'a>(report: &'a Report, name: &str) -> &'a str {
    let kept = report.kept.iter().find(|kept| kept.name == name);
    &kept.unwrap_or_else(|| panic!("{name} is not among what was kept: {report:?}")).reason
}

/// The whole promise, for a seeded leak. It is checked against reapers that are broken, too.
fn check_a_seeded_leak(hands: &dyn Hands) {
    let world = world();
    let guard = begin(&world);
    let before = picture(&world.path("test-feature-old"));
    leak(&world);
    let report = guard.finish_with(NOW, hands);
    assert_eq!(report.made, LEAKED, "{report:?}");
    assert_eq!(reaped(&report), LEAKED, "{report:?}");
    assert!(report.kept.is_empty() && report.blind.is_empty() && report.baseline == 4, "{report:?}");
    for name in ["specs/test-1", "test-feature-new", ".worktrees/husk"] {
        assert!(!world.path(name).exists(), "{name} is still there");
    }
    assert!(!world.beside("tmp/spec-kitty-new").exists());
    assert_eq!(world.branches(), ["feature", "kitty/test-old", "main"]);
    assert_eq!(picture(&world.path("test-feature-old")), before);
    assert!(world.path(".worktrees/old-husk/file").exists() && world.path("other-new/file").exists());
    assert!(world.beside("tmp/spec-kitty-old").exists() && world.beside("tmp/other").exists());
}

#[test]
fn a_seeded_leak_is_reaped_and_what_was_there_is_untouched() {
    check_a_seeded_leak(&RealHands);
}

/// Says that it did everything, and does nothing.
struct IdleHands;

impl Hands for IdleHands {
    fn bury(&self, base: &Path, trash: &str, _: &Path, name: &str) -> Result<PathBuf, Error> {
        Ok(base.join(trash).join(name))
    }

    fn delete_branch(&self, _: &Path, _: &str, _: &str) -> Result<DeletedBranch, Error> {
        Ok(DeletedBranch { tip: String::new(), archive_ref: None })
    }
}

#[test]
fn a_reaper_that_does_nothing_is_found_out() {
    let check = catch_unwind(AssertUnwindSafe(|| check_a_seeded_leak(&IdleHands)));
    assert!(check.is_err(), "the check of a seeded leak passes with a reaper that does nothing");
    let world = world();
    let guard = begin(&world);
    leak(&world);
    let report = guard.finish_with(NOW, &IdleHands);
    assert!(report.reaped.is_empty(), "only what was seen to be gone counts: {report:?}");
    assert_eq!((report.made.len(), report.kept.len()), (5, 5));
}

#[test]
fn what_was_reaped_comes_back_for_a_day_and_goes_then() {
    let world = world();
    let guard = begin(&world);
    leak(&world);
    let own = world.commit_on("kitty/test-own", "work that is nowhere else");
    let report = guard.finish(NOW);
    let at = |name: &str| {
        let found = report.reaped.iter().find(|reaped| reaped.name == name);
        found.unwrap_or_else(|| panic!("{name}: {report:?}")).kept_at.clone()
    };
    let tree = PathBuf::from(at("test-feature-new").expect("a place"));
    assert_eq!(std::fs::read_to_string(tree.join("deep/file")).expect("the file"), "new");
    assert_eq!(at("kitty/test-new"), None, "its commits are on main");
    let archive = at("kitty/test-own").expect("a reference");
    assert_eq!(world.git(&["rev-parse", &archive]), own);
    let common = world.path(".git");
    let purge = |now| guard::purge(&common, &world.beside("tmp"), now, None);
    assert!(purge(NOW + guard::KEPT_MS).is_empty());
    assert!(tree.exists() && world.refs("refs/carillon") == [archive]);
    assert!(purge(NOW + guard::KEPT_MS + 1).is_empty());
    assert!(!tree.exists() && world.refs("refs/carillon").is_empty());
    assert!(!common.join(format!("carillon-guard-{}", rustix::process::geteuid().as_raw())).exists());
    let left: Vec<_> =
        std::fs::read_dir(world.beside("tmp")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_clean_command_leaves_no_trace_of_the_guard() {
    let world = world();
    let before = (picture(&world.root()), picture(&world.beside("tmp")));
    let guard = begin(&world);
    assert_eq!(guard.finish(NOW), Report { baseline: 4, ..Report::default() });
    assert_eq!((picture(&world.root()), picture(&world.beside("tmp"))), before);
}

#[test]
fn registered_worktrees_and_repositories_stay() {
    let world = world();
    let guard = begin(&world);
    world.git(&["worktree", "add", "--quiet", "-b", "kitty/test-wt", ".worktrees/live"]);
    world.git(&["worktree", "add", "--quiet", "--detach", "test-feature-wt/inner"]);
    world.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        world.beside("tmp/spec-kitty-wt/w").to_str().unwrap(),
    ]);
    git(world.dir.path(), &["init", "--quiet", world.path("test-feature-repo/sub").to_str().unwrap()]);
    git(world.dir.path(), &["init", "--quiet", world.path(".worktrees/clone").to_str().unwrap()]);
    // A link to the user's worktree, with a name that a rule names.
    symlink(world.path(".worktrees/live"), world.path(".worktrees/link")).expect("a link");
    let report = guard.finish(NOW);
    assert!(report.reaped.is_empty(), "{report:?}");
    for name in [".worktrees/live", "test-feature-wt", "spec-kitty-wt", ".worktrees/link"] {
        assert!(reason(&report, name).contains("worktree"), "{report:?}");
    }
    for name in ["test-feature-repo", ".worktrees/clone"] {
        assert!(reason(&report, name).contains("repository"), "{report:?}");
    }
    assert!(reason(&report, "kitty/test-wt").contains("worktree"), "git's own reason: {report:?}");
    assert_eq!(world.refs("refs/carillon"), [""; 0]);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 4);
}

#[test]
fn the_husk_of_a_worktree_that_git_forgot_goes_and_its_trash_can_be_emptied() {
    let world = world();
    let guard = begin(&world);
    world.git(&["worktree", "add", "--quiet", "-b", "kitty/test-gone", ".worktrees/gone"]);
    std::fs::remove_dir_all(world.path(".git/worktrees/gone")).expect("the registration");
    std::fs::create_dir_all(world.beside("tmp/spec-kitty-repo")).expect("a directory");
    git(&world.beside("tmp/spec-kitty-repo"), &["init", "--quiet", "r"]);
    let report = guard.finish(NOW);
    assert_eq!(reaped(&report), [".worktrees/gone", "kitty/test-gone", "spec-kitty-repo"], "{report:?}");
    let refused = guard::purge(&world.path(".git"), &world.beside("tmp"), NOW + 2 * guard::KEPT_MS, None);
    assert!(refused.is_empty(), "{refused:?}");
    assert!(!world.path(&format!(".git/carillon-guard-{}", rustix::process::geteuid().as_raw())).exists());
}

/// A process that stands in a directory until it is dropped.
struct Standing(Child);

impl Standing {
    fn in_dir(dir: &Path) -> Standing {
        Standing(Command::new("sleep").arg("600").current_dir(dir).spawn().expect("sleep"))
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_another_process_uses_and_what_a_live_run_holds_stays() {
    let world = world();
    let guard = begin(&world);
    leak(&world);
    let process = Standing::in_dir(&world.path("test-feature-new/deep"));
    let lease = temp::create(&world.beside("."), "tmp", "spec-kitty-run").expect("a leased directory");
    let report = guard.finish(NOW);
    let pid = process.0.id().to_string();
    assert!(reason(&report, "test-feature-new").contains(&pid), "{report:?}");
    assert!(reason(&report, "spec-kitty-run").contains("lease"), "{report:?}");
    assert_eq!(report.reaped.len(), 4, "{report:?}");
    drop(lease);
}

#[test]
fn two_guards_tell_their_leavings_apart() {
    let world = world();
    let first = begin(&world);
    world.write("test-feature-a/file", "the first's");
    let second = begin(&world);
    world.write("test-feature-b/file", "the second's");
    // The second cannot tell whose b is: the first may have made it, too.
    let report = second.finish(NOW);
    assert_eq!((report.made.len(), report.reaped.len()), (1, 0), "{report:?}");
    assert!(reason(&report, "test-feature-b").contains("another guard"), "{report:?}");
    let third = begin(&world);
    world.write("test-feature-c/file", "whose?");
    // The first: a and b were there before the third began, c was not.
    let report = first.finish(NOW);
    assert_eq!(reaped(&report), ["test-feature-a", "test-feature-b"], "{report:?}");
    assert!(reason(&report, "test-feature-c").contains("another guard"), "{report:?}");
    let report = third.finish(NOW);
    assert_eq!(reaped(&report), ["test-feature-c"], "{report:?}");
}

#[test]
fn the_outermost_guard_of_a_repository_acts_and_another_repository_has_its_own() {
    let world = world();
    let outer = begin(&world);
    let env = outer.environment();
    assert_eq!(env[0].1, world.path(".git").as_os_str());
    let inner = |dir: PathBuf, outer| Guard::begin(&Order { dir, outer, ..order(&world) }).expect("a guard");
    let both = (Some(env[0].1.clone()), Some(env[1].1.clone()));
    assert!(matches!(inner(world.root(), both.clone()), Begun::Nested));
    assert!(matches!(inner(world.root(), (both.0.clone(), None)), Begun::Nested));
    // Through a link, and from another worktree: the same repository.
    symlink(world.root(), world.beside("link")).expect("a link");
    assert!(matches!(inner(world.beside("link"), both.clone()), Begun::Nested));
    world.git(&["worktree", "add", "--quiet", "--detach", world.beside("wt").to_str().unwrap()]);
    assert!(matches!(inner(world.beside("wt"), both.clone()), Begun::Nested));
    // A guard that is gone does not act any more.
    let dead = Some(format!("{} 1", std::process::id()).into());
    assert!(matches!(inner(world.root(), (both.0.clone(), dead)), Begun::Acts(_)));
    git(world.dir.path(), &["init", "--quiet", "other"]);
    let Begun::Acts(other) = inner(world.beside("other"), both) else { panic!("another repository") };
    let lines: Vec<String> = other.environment()[0].1.to_string_lossy().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_guard_that_cannot_see_does_not_begin() {
    let world = world();
    world.write("carillon.toml", "[residue]\nbranchs = [\"a-*\"]\n");
    let why = Guard::begin(&order(&world)).expect_err("a bad rule").to_string();
    assert!(why.contains("branchs") && why.contains("carillon.toml"), "{why}");
    let missing = Order { rules: Some(world.beside("none.toml")), ..order(&world) };
    assert!(matches!(Guard::begin(&missing), Err(Error::Rules { .. })));
    assert!(matches!(
        Guard::begin(&Order { dir: world.beside("tmp"), ..order(&world) }),
        Err(Error::Git { .. })
    ));
    assert!(!world.path(&format!(".git/carillon-guard-{}", rustix::process::geteuid().as_raw())).exists());
}

#[test]
fn a_repository_that_the_command_destroys_is_no_clean_end() {
    let world = world();
    let guard = begin(&world);
    std::fs::rename(world.path(".git"), world.beside("away")).expect("renamed");
    let report = guard.finish(NOW);
    assert!(!report.blind.is_empty(), "{report:?}");
    std::fs::rename(world.beside("away"), world.path(".git")).expect("renamed");
}

#[test]
fn what_a_killed_guard_left_is_cleared_away_by_the_next() {
    let world = world();
    let guards = world.path(&format!(".git/carillon-guard-{}/guards", rustix::process::geteuid().as_raw()));
    let killed = guards.join("deadbeef");
    std::fs::create_dir_all(&killed).expect("a directory");
    std::fs::write(killed.join("seen"), "").expect("a file");
    let guard = begin(&world);
    assert!(!killed.exists());
    guard.finish(NOW);
    assert!(!guards.exists());
}

#[test]
fn branches_are_found_in_files_packed_and_in_tables() {
    for format in ["files", "reftable"] {
        let world = world();
        if format == "reftable"
            && !try_git(&world.root(), &["refs", "migrate", "--ref-format=reftable"]).status.success()
        {
            println!("this git has no tables of references: this part was not run");
            continue;
        }
        for packs in [false, true] {
            let guard = begin(&world);
            world.git(&["branch", "kitty/test-a"]);
            world.git(&["branch", "kitty/test-a-b"]);
            world.git(&["branch", "kitty/other/test-x"]);
            if packs {
                world.git(&["pack-refs", "--all"]);
            }
            let report = guard.finish(NOW);
            assert_eq!(reaped(&report), ["kitty/test-a", "kitty/test-a-b"], "{format} {packs}: {report:?}");
            assert_eq!(report.baseline, 4);
            world.git(&["branch", "-D", "kitty/other/test-x"]);
        }
    }
}
