//! What is seen of a worktree, and what the judgement says of it, on real repositories.

mod common;
mod repo;

use std::os::unix::fs::symlink;
use std::process::{Child, Command};

use carillon_core::judge::{self, Head, Operation, Place, Proof, Verdict, Worktree};
use carillon_tidy::git::look::{Recorded, look};
use common::picture;
use repo::{World, commit, git, put, try_git};

fn facts(recorded: &Recorded) -> Worktree {
    look(recorded).expect("a look").facts
}

fn judged(recorded: &Recorded) -> (&'static str, String) {
    let verdict = judge::worktree(&facts(recorded));
    let why: Vec<String> = verdict.why().iter().map(ToString::to_string).collect();
    (verdict.word(), why.join("; "))
}

fn check(recorded: &Recorded, word: &str, reason: &str) {
    let (found, why) = judged(recorded);
    assert!(found == word && why.contains(reason), "{found}: {why}; expected {word}: {reason}");
}

#[test]
fn a_new_worktree_may_go_and_looking_changes_nothing() {
    let world = World::new();
    let recorded = world.workdir("a");
    // With another time, which git would like to note in its index.
    for path in [recorded.path.join("README"), world.path("README")] {
        let file = std::fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
            .expect("a time");
    }
    let before = (picture(&world.root()), picture(&recorded.path));
    check(&recorded, "safe", "no commit was made in it");
    assert_eq!((picture(&world.root()), picture(&recorded.path)), before, "not even git's index was written");
    assert_eq!(recorded.base_branch.as_deref(), Some("main"));
}

#[test]
fn what_is_not_committed_needs_consent() {
    let world = World::new();
    world.write(".gitignore", ".env\nbuild/\n*.log\n");
    world.write(".env", "KEY=1");
    world.git(&["add", ".gitignore"]);
    world.git(&["commit", "--quiet", "-m", "Ignore"]);
    let recorded = world.workdir("a");
    put(&recorded.path, "build/big", "made again");
    put(&recorded.path, "x.log", "made again");
    put(&recorded.path, ".env", "KEY=1");
    check(&recorded, "safe", "nothing in it differs");
    put(&recorded.path, ".env", "KEY=2");
    check(&recorded, "needs_consent", "cannot be made again: .env");
    put(&recorded.path, "README", "changed");
    put(&recorded.path, "new one/a", "new");
    let seen = facts(&recorded);
    assert_eq!((seen.changed, seen.untracked, seen.precious), (1, 1, vec![".env".to_owned()]));
    // A file that a project copies into its workdirs, and that somebody changed there.
    world.write("build/settings", "one");
    let copied = Recorded { copied: vec!["build/settings".to_owned()], ..recorded };
    put(&copied.path, "build/settings", "one");
    assert_eq!(facts(&copied).precious, [".env"]);
    put(&copied.path, "build/settings", "two");
    assert_eq!(facts(&copied).precious, [".env", "build/settings"]);
}

#[test]
fn commits_count_from_where_it_began_and_not_from_where_main_stands() {
    let world = World::new();
    let recorded = world.workdir("a");
    world.write("later", "on main");
    world.git(&["add", "later"]);
    world.git(&["commit", "--quiet", "-m", "Later"]);
    check(&recorded, "safe", "no commit was made in it");
    assert_eq!(look(&recorded).expect("a look").behind, 1);
    put(&recorded.path, "work", "work");
    commit(&recorded.path, "Work");
    check(&recorded, "needs_consent", "1 commit on no other branch");
    let seen = facts(&recorded).commits;
    assert_eq!((seen.own, seen.only_here, seen.unpushed, seen.on_base), (1, 1, None, None));
    assert_eq!(seen.head, Head::Branch("carillon/a".to_owned()));
    world.git(&["branch", "other", "carillon/a"]);
    check(&recorded, "safe", "on other branches");
    world.git(&["merge", "--quiet", "--no-edit", "carillon/a"]);
    check(&recorded, "safe", "on the base branch");
    assert_eq!(facts(&recorded).commits.on_base, Some(Proof::Merged));
}

#[test]
fn a_detached_commit_is_unreachable_and_a_stash_keeps_none() {
    let world = World::new();
    let recorded = world.workdir("a");
    git(&recorded.path, &["checkout", "--quiet", "--detach"]);
    put(&recorded.path, "work", "work");
    commit(&recorded.path, "Work");
    put(&recorded.path, "work", "more");
    git(&recorded.path, &["stash", "--quiet"]);
    check(&recorded, "needs_consent", "1 commit on no branch at all");
    // The branch that was made with it is left, and has work as well.
    git(&recorded.path, &["checkout", "--quiet", "carillon/a"]);
    put(&recorded.path, "other", "work");
    commit(&recorded.path, "On the branch");
    git(&recorded.path, &["checkout", "--quiet", "--detach", "main"]);
    check(&recorded, "needs_consent", "1 commit on no branch at all");
}

#[test]
fn pushed_and_unpushed_are_told_apart() {
    let world = World::new();
    git(world.dir.path(), &["init", "--quiet", "--bare", "remote"]);
    world.git(&["remote", "add", "origin", world.beside("remote").to_str().unwrap()]);
    let recorded = world.workdir("a");
    put(&recorded.path, "work", "work");
    commit(&recorded.path, "Work");
    check(&recorded, "needs_consent", "1 commit on no other branch (1 unpushed)");
    git(&recorded.path, &["push", "--quiet", "origin", "carillon/a"]);
    check(&recorded, "safe", "its commits were pushed");
    put(&recorded.path, "work", "more");
    commit(&recorded.path, "More");
    check(&recorded, "needs_consent", "(1 unpushed)");
}

#[test]
fn a_squash_merge_is_proved_by_content_and_one_more_commit_is_protected() {
    let world = World::new();
    git(world.dir.path(), &["init", "--quiet", "--bare", "remote"]);
    world.git(&["remote", "add", "origin", world.beside("remote").to_str().unwrap()]);
    let recorded = world.workdir("a");
    for text in ["one", "two"] {
        put(&recorded.path, "work", text);
        commit(&recorded.path, text);
    }
    git(&recorded.path, &["push", "--quiet", "origin", "carillon/a"]);
    world.git(&["merge", "--quiet", "--squash", "carillon/a"]);
    world.git(&["commit", "--quiet", "-m", "Squashed"]);
    world.write("later", "on main");
    commit(&world.root(), "Later");
    git(&recorded.path, &["push", "--quiet", "origin", "--delete", "carillon/a"]);
    world.git(&["fetch", "--quiet", "--prune"]);
    assert_eq!(facts(&recorded).commits.on_base, Some(Proof::SameTree));
    check(&recorded, "safe", "its content is on the base branch");
    // Later changes to the same lines hide the content, and the patch is still found.
    world.write("work", "three");
    commit(&world.root(), "Changed again");
    assert_eq!(facts(&recorded).commits.on_base, Some(Proof::SamePatches));
    check(&recorded, "safe", "same changes");
    put(&recorded.path, "extra", "one more");
    commit(&recorded.path, "One more");
    check(&recorded, "needs_consent", "3 commits on no other branch");
}

#[test]
fn a_rebase_is_proved_commit_by_commit() {
    let world = World::new();
    let recorded = world.workdir("a");
    for name in ["one", "two"] {
        put(&recorded.path, name, name);
        commit(&recorded.path, name);
    }
    world.write("later", "on main");
    commit(&world.root(), "Later");
    world.git(&["cherry-pick", "main..carillon/a"]);
    world.write("one", "changed again");
    commit(&world.root(), "Again");
    assert_eq!(facts(&recorded).commits.on_base, Some(Proof::SamePatches));
}

struct Standing(Child);

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_in_the_way_blocks() {
    let world = World::new();
    let recorded = world.workdir("a");
    world.git(&["worktree", "lock", "--reason", "mine", recorded.path.to_str().unwrap()]);
    check(&recorded, "blocked", "it is locked: mine");
    world.git(&["worktree", "unlock", recorded.path.to_str().unwrap()]);
    let sleep = Command::new("sleep").arg("600").current_dir(&recorded.path).spawn().expect("sleep");
    let sleep = Standing(sleep);
    check(&recorded, "blocked", &format!("in use by pid {} (sleep)", sleep.0.id()));
    drop(sleep);
    // A merge with conflicts.
    put(&recorded.path, "README", "ours");
    commit(&recorded.path, "Ours");
    world.write("README", "theirs");
    commit(&world.root(), "Theirs");
    assert!(!try_git(&recorded.path, &["merge", "main"]).status.success());
    let seen = facts(&recorded);
    assert_eq!((seen.operation, seen.unmerged), (Some(Operation::Merge), 1));
    check(&recorded, "blocked", "in the middle of a merge");
    git(&recorded.path, &["merge", "--abort"]);
    assert!(!try_git(&recorded.path, &["rebase", "main"]).status.success());
    assert_eq!(facts(&recorded).operation, Some(Operation::Rebase));
    git(&recorded.path, &["rebase", "--abort"]);
    git(&recorded.path, &["bisect", "start"]);
    assert_eq!(facts(&recorded).operation, Some(Operation::Bisect));
    git(&recorded.path, &["bisect", "reset"]);
    check(&recorded, "needs_consent", "1 commit on no other branch");
}

#[test]
fn repositories_in_it_are_looked_into() {
    let world = World::new();
    let library = world.beside("library");
    git(world.dir.path(), &["init", "--quiet", library.to_str().unwrap()]);
    for (name, value) in [("user.name", "Test"), ("user.email", "test@localhost")] {
        git(&library, &["config", name, value]);
    }
    put(&library, "lib", "1");
    commit(&library, "Library");
    let recorded = world.workdir("a");
    let url = library.to_str().unwrap();
    git(&recorded.path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    commit(&recorded.path, "With a submodule");
    world.git(&["branch", "kept", "carillon/a"]);
    check(&recorded, "safe", "");
    let sub = recorded.path.join("sub");
    put(&sub, "lib", "2");
    check(&recorded, "blocked", "the submodule sub has work");
    git(&sub, &["checkout", "--quiet", "--", "lib"]);
    git(&recorded.path, &["clone", "--quiet", url, "vendor/clone"]);
    put(&recorded.path.join("vendor"), ".gitignore", "*");
    check(&recorded, "needs_consent", "there is a repository in it: vendor/clone");
    git(&recorded.path.join("vendor/clone"), &["checkout", "--quiet", "-b", "own"]);
    put(&recorded.path.join("vendor/clone"), "lib", "3");
    for (name, value) in [("user.name", "Test"), ("user.email", "test@localhost")] {
        git(&recorded.path.join("vendor/clone"), &["config", name, value]);
    }
    commit(&recorded.path.join("vendor/clone"), "Own work");
    check(&recorded, "blocked", "the repository vendor/clone in it has work");
}

#[test]
fn only_the_directory_that_was_made_is_the_worktree() {
    let world = World::new();
    let recorded = world.workdir("a");
    let users = world.beside("users");
    world.git(&["worktree", "add", "--quiet", "--detach", users.to_str().unwrap()]);
    let away = world.beside("away");
    let place = |recorded: &Recorded| facts(recorded).place;
    // A link to the user's worktree, and to the one that was moved away.
    std::fs::rename(&recorded.path, &away).expect("renamed");
    assert_eq!(place(&recorded), Place::Gone);
    for target in [&users, &away] {
        symlink(target, &recorded.path).expect("a link");
        assert_eq!(place(&recorded), Place::Link);
        std::fs::remove_file(&recorded.path).expect("ours");
    }
    std::fs::write(&recorded.path, "a file").expect("a file");
    assert_eq!(place(&recorded), Place::NotADirectory);
    std::fs::remove_file(&recorded.path).expect("ours");
    std::fs::create_dir(&recorded.path).expect("a directory");
    assert_eq!(place(&recorded), Place::Other, "another directory of the same name");
    std::fs::remove_dir(&recorded.path).expect("ours");
    // The directory above it was swapped for a link.
    let above = recorded.path.parent().expect("a parent").to_path_buf();
    let aside = world.beside("aside");
    std::fs::rename(&away, &recorded.path).expect("renamed");
    std::fs::rename(&above, &aside).expect("renamed");
    symlink(&aside, &above).expect("a link");
    assert_eq!(place(&recorded), Place::Other);
    std::fs::remove_file(&above).expect("ours");
    std::fs::rename(&aside, &above).expect("renamed");
    assert_eq!(place(&recorded), Place::Worktree);
    // Its way back leads to another worktree.
    let git_file = recorded.path.join(".git");
    let way = std::fs::read(&git_file).expect("a file");
    std::fs::write(&git_file, format!("gitdir: {}\n", world.beside("elsewhere").display())).expect("a file");
    assert_eq!(place(&recorded), Place::Other);
    std::fs::write(&git_file, way).expect("a file");
    let with = |path| Recorded { path, identity: None, ..recorded.clone() };
    assert_eq!(place(&with(world.root())), Place::MainCheckout);
    assert_eq!(place(&with(world.dir.path().canonicalize().unwrap())), Place::MainCheckout);
    assert_eq!(place(&with(world.path(".git/worktrees"))), Place::InsideGit);
    std::fs::create_dir(world.beside("plain")).expect("a directory");
    assert_eq!(place(&with(world.beside("plain"))), Place::Unregistered);
    for path in [world.root(), world.path(".git"), world.beside("plain")] {
        let verdict = judge::worktree(&facts(&with(path)));
        assert!(matches!(verdict, Verdict::Blocked { .. }), "{verdict:?}");
    }
}
