//! Removing worktrees and bringing them back, byte for byte.

mod common;
mod repo;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use carillon_core::judge::Verdict;
use carillon_tidy::Error;
use carillon_tidy::git::archive::{self, Archive};
use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::remove::{Order, Outcome, remove};
use carillon_tidy::git::restore::restore;
use common::{mode_of, set_mode};
use repo::{World, commit, git, put, try_git};

fn order<'a>(recorded: &'a Recorded, data_dir: &'a Path) -> Order<'a> {
    Order {
        id: "w1",
        recorded,
        data_dir,
        is_ours: true,
        open_work: 0,
        consent: false,
        with_branch: true,
        now_s: 1_700_000_000,
    }
}

fn removed(order: &Order<'_>) -> Archive {
    match remove(order).expect("removed") {
        Outcome::Removed { archive: Some(archive), .. } => archive,
        other => panic!("{other:?}"),
    }
}

/// Files with their modes and bytes.
type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Every file of a checkout, and git's own view of it.
fn contents(dir: &Path) -> (Files, String, String) {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in
            std::fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path())
        {
            let meta = std::fs::symlink_metadata(&entry).expect("it is there");
            if entry.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            if meta.is_dir() {
                open.push(entry);
                continue;
            }
            let bytes = if meta.is_symlink() {
                std::fs::read_link(&entry).expect("a link").as_os_str().as_bytes().to_vec()
            } else {
                std::fs::read(&entry).expect("a file")
            };
            found.insert(entry.strip_prefix(dir).expect("below").to_path_buf(), (meta.mode(), bytes));
        }
    }
    let status = git(dir, &["status", "--porcelain=v2", "--branch", "--untracked-files=all"]);
    (
        found,
        status,
        git(dir, &["ls-files", "--stage", "--debug"]).lines().filter(|l| !l.starts_with("  ")).collect(),
    )
}

/// A workdir with everything that can be in one.
fn full_workdir(world: &World) -> Recorded {
    world.write(".gitignore", ".env\nbuild/\n");
    world.write(".gitattributes", "*.crlf text eol=lf\n*.up filter=up\n");
    world.write("a.crlf", "one\ntwo\n");
    world.write("kept.up", "shout\n");
    for name in ["deleted", "staged", "staged-and-changed", "mode", "dir/file", "to-link"] {
        world.write(name, name);
    }
    world.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    world.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    commit(&world.root(), "Files");
    let recorded = world.workdir("a");
    let dir = &recorded.path;
    put(dir, "committed", "on the branch");
    commit(dir, "Work");
    put(dir, "staged", "staged");
    put(dir, "staged-and-changed", "staged");
    put(dir, "added", "added");
    git(dir, &["add", "staged", "staged-and-changed", "added"]);
    put(dir, "intended", "later");
    git(dir, &["add", "--intent-to-add", "intended"]);
    put(dir, "staged-and-changed", "and changed");
    // git takes both for unchanged, and a checkout would give other bytes.
    put(dir, "a.crlf", "one\r\ntwo\r\n");
    git(dir, &["add", "a.crlf"]);
    git(dir, &["update-index", "--assume-unchanged", "dir/file"]);
    put(dir, "dir/file", "changed behind git's back");
    std::fs::remove_file(dir.join("deleted")).expect("ours");
    std::fs::remove_file(dir.join("to-link")).expect("ours");
    symlink("dir/file", dir.join("to-link")).expect("a link");
    set_mode(&dir.join("mode"), 0o755);
    for name in ["new", "with space", "line\nfeed", "\"quoted", "-dash", "dir/ümlaut", "empty"] {
        put(dir, name, if name == "empty" { "" } else { name });
    }
    std::fs::write(dir.join("binary"), (0..=255).collect::<Vec<u8>>()).expect("a file");
    put(dir, "secret", "only for me");
    set_mode(&dir.join("secret"), 0o600);
    symlink("/nonexistent/dangling", dir.join("dangling")).expect("a link");
    put(dir, ".env", "KEY=1\n");
    set_mode(&dir.join(".env"), 0o600);
    put(dir, "build/output", "made again");
    recorded
}

#[test]
fn what_a_workdir_held_comes_back_byte_for_byte() {
    let world = World::new();
    let recorded = full_workdir(&world);
    let data = world.data();
    let (mut files, status, index) = contents(&recorded.path);
    let Outcome::Refused(Verdict::NeedsConsent { why }) = remove(&order(&recorded, &data)).expect("refused")
    else {
        panic!("it needs consent")
    };
    assert!(why.len() >= 4, "{why:?}");
    let consent = Order { consent: true, ..order(&recorded, &data) };
    let archive = removed(&consent);
    assert!(!recorded.path.exists() && !world.beside("wt").exists());
    assert_eq!(world.branches(), ["main"]);
    assert!(archive.not_kept.iter().any(|(path, _)| path == Path::new("build/")), "{archive:?}");
    let tar = archive.tar.clone().expect("a tar");
    assert_eq!(mode_of(&tar), 0o600);
    assert!(!world.git(&["ls-tree", "-r", &archive.reference]).contains(".env"), "never into git");
    // Nothing of it can be collected.
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    let back = restore(&recorded, &archive.reference, &data).expect("restored");
    files.remove(Path::new("build/output"));
    let (files_now, status_now, index_now) = contents(&back.recorded.path);
    for (path, content) in &files {
        assert_eq!(files_now.get(path), Some(content), "{path:?}");
    }
    assert_eq!(files_now.keys().collect::<Vec<_>>(), files.keys().collect::<Vec<_>>());
    assert_eq!(status_now, status);
    assert_eq!(index_now, index);
    assert!(back.notes.iter().any(|note| note.contains("build/")), "{:?}", back.notes);
    assert_eq!(world.refs("refs/carillon"), [archive.reference.as_str()], "the archive stays");
    // Asked for once more, since nobody heard of the first time: it is found as it is.
    put(&back.recorded.path, "since then", "work");
    let again = restore(&recorded, &archive.reference, &data).expect("found");
    assert_eq!((&again.recorded, &again.notes), (&back.recorded, &back.notes));
    assert!(again.recorded.path.join("since then").exists());
    archive::forget(&world.root(), &archive.reference, &data).expect("forgotten");
    archive::forget(&world.root(), &archive.reference, &data).expect("twice is fine");
    assert!(!tar.exists() && world.refs("refs/carillon").is_empty());
    assert!(world.git(&["fsck", "--full", "--no-dangling"]).is_empty());
}

#[test]
fn a_clean_workdir_goes_and_comes_back_too() {
    let world = World::new();
    let recorded = world.workdir("a");
    let data = world.data();
    let archive = removed(&order(&recorded, &data));
    assert_eq!(archive::list(&world.root()).expect("a list"), [(archive.reference.clone(), 1_700_000_000)]);
    let back = restore(&recorded, &archive.reference, &data).expect("restored");
    assert_eq!(git(&back.recorded.path, &["status", "--porcelain", "--branch"]), "## carillon/a");
    assert_eq!(back.notes, [""; 0]);
    // Removed again, it needs an archive of another name, since the first one stays.
    let archive = removed(&order(&back.recorded, &data));
    assert_eq!(archive.reference, "refs/carillon/archive/w1", "nothing is new");
}

#[test]
fn a_detached_head_and_a_branch_that_was_left_are_both_kept() {
    let world = World::new();
    let recorded = world.workdir("a");
    put(&recorded.path, "on-branch", "work");
    let on_branch = commit(&recorded.path, "On the branch");
    git(&recorded.path, &["checkout", "--quiet", "--detach", "main"]);
    put(&recorded.path, "detached", "work");
    let detached = commit(&recorded.path, "On no branch");
    let data = world.data();
    let archive = removed(&Order { consent: true, ..order(&recorded, &data) });
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    for kept in [&on_branch, &detached] {
        world.git(&["merge-base", "--is-ancestor", kept, &archive.reference]);
    }
    let back = restore(&recorded, &archive.reference, &data).expect("restored");
    assert_eq!(git(&back.recorded.path, &["rev-parse", "HEAD"]), detached);
    assert_eq!(git(&back.recorded.path, &["branch", "--show-current"]), "", "it was on no branch");
}

#[test]
fn a_branch_that_moved_on_is_left_alone_by_a_restore() {
    let world = World::new();
    let recorded = world.workdir("a");
    let data = world.data();
    let archive = removed(&Order { with_branch: false, ..order(&recorded, &data) });
    let moved = world.commit_on("carillon/a", "moved on");
    let back = restore(&recorded, &archive.reference, &data).expect("restored");
    assert_eq!(world.git(&["rev-parse", "carillon/a"]), moved);
    assert!(back.notes[0].contains("carillon/a"), "{:?}", back.notes);
}

/// Whatever keeps the archive from being written keeps the workdir.
#[test]
fn without_an_archive_nothing_is_removed() {
    let world = World::new();
    let recorded = world.workdir("a");
    put(&recorded.path, "work", "work");
    let data = world.data();
    let consent = Order { consent: true, ..order(&recorded, &data) };
    std::fs::write(world.path(".git/info/exclude"), ".env\n").expect("a file");
    put(&recorded.path, ".env", "KEY=1");
    let before = contents(&recorded.path);
    // Settings and hooks that stop a commit of the user's do not stop an archive.
    world.git(&["config", "commit.gpgSign", "true"]);
    world.git(&["config", "gpg.program", "/nonexistent/gpg"]);
    let hook = world.path(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).expect("a directory");
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("a hook");
    set_mode(&hook, 0o755);
    // A hook that refuses every reference, and data that cannot be written.
    let refusing = world.path(".git/hooks/reference-transaction");
    std::fs::write(&refusing, "#!/bin/sh\nexit 1\n").expect("a hook");
    set_mode(&refusing, 0o755);
    assert!(matches!(remove(&consent), Err(Error::Git { .. })));
    assert_eq!(contents(&recorded.path), before);
    std::fs::remove_file(&refusing).expect("ours");
    std::fs::rename(&data, world.beside("data-aside")).expect("renamed");
    std::fs::write(&data, "in the way").expect("a file");
    assert!(remove(&consent).is_err());
    assert_eq!(contents(&recorded.path), before);
    std::fs::remove_file(&data).expect("ours");
    removed(&consent);
}

#[test]
fn objects_that_cannot_be_written_keep_the_workdir() {
    common::as_nobody("objects_that_cannot_be_written_keep_the_workdir", || {
        let world = World::new();
        let recorded = world.workdir("a");
        put(&recorded.path, "work", "work");
        let objects = world.path(".git/objects");
        let dirs: Vec<PathBuf> =
            std::fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path()).collect();
        for dir in dirs.iter().chain([&objects]) {
            set_mode(dir, 0o555);
        }
        let data = world.data();
        let result = remove(&Order { consent: true, ..order(&recorded, &data) });
        for dir in dirs.iter().chain([&objects]) {
            set_mode(dir, 0o755);
        }
        assert!(matches!(result, Err(Error::Git { .. })), "{result:?}");
        assert!(recorded.path.join("work").exists());
    });
}

#[test]
fn a_locked_or_used_workdir_and_one_with_open_work_stay() {
    let world = World::new();
    let recorded = world.workdir("a");
    let data = world.data();
    let blocked = |order: &Order<'_>| match remove(order).expect("refused") {
        Outcome::Refused(Verdict::Blocked { why }) => why.iter().map(ToString::to_string).collect::<String>(),
        other => panic!("{other:?}"),
    };
    let consent = Order { consent: true, ..order(&recorded, &data) };
    world.git(&["worktree", "lock", recorded.path.to_str().unwrap()]);
    assert!(blocked(&consent).contains("locked"));
    world.git(&["worktree", "unlock", recorded.path.to_str().unwrap()]);
    assert!(blocked(&Order { open_work: 1, ..consent.clone() }).contains("not over"));
    let mut sleep =
        std::process::Command::new("sleep").arg("60").current_dir(&recorded.path).spawn().unwrap();
    assert!(blocked(&consent).contains("in use by pid"));
    sleep.kill().expect("ours");
    sleep.wait().expect("ours");
    let Outcome::Refused(Verdict::NeedsConsent { .. }) =
        remove(&Order { is_ours: false, ..order(&recorded, &data) }).expect("refused")
    else {
        panic!("what the ledger does not know needs consent")
    };
    assert!(recorded.path.exists() && world.refs("refs/carillon").is_empty());
    removed(&consent);
}

#[test]
fn files_that_are_written_meanwhile_keep_the_workdir() {
    let world = World::new();
    let recorded = world.workdir("a");
    let data = world.data();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // Without a directory or file held open, so that only the content tells.
            let mut number = 0_u64;
            while !stop.load(Ordering::Relaxed) && recorded.path.exists() {
                let _ = std::fs::write(recorded.path.join("written"), number.to_string());
                number += 1;
            }
            number
        });
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !recorded.path.join("written").exists() {
            assert!(std::time::Instant::now() < until, "nothing was written");
        }
        let result = remove(&Order { consent: true, ..order(&recorded, &data) });
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().expect("no panic") > 1);
        let why = result.expect_err("it was being written").to_string();
        assert!(why.contains("changed") || why.contains("read"), "{why}");
    });
    assert!(recorded.path.join("written").exists());
    assert!(try_git(&recorded.path, &["status"]).status.success());
}

#[test]
fn a_removal_that_was_cut_short_goes_on() {
    let world = World::new();
    let recorded = world.workdir("a");
    put(&recorded.path, "committed", "work");
    commit(&recorded.path, "Work");
    put(&recorded.path, "work", "not committed");
    let data = world.data();
    let consent = Order { consent: true, ..order(&recorded, &data) };
    // Dead after the archive, in the middle of git's own deleting.
    let look = carillon_tidy::git::look::look(&recorded).expect("a look");
    let first = archive::write(&recorded, &look, "w1", &data, 1_700_000_000).expect("an archive");
    std::fs::remove_file(recorded.path.join("work")).expect("ours");
    std::fs::remove_file(recorded.path.join("README")).expect("ours");
    assert_eq!(removed(&consent).reference, first.reference, "the first archive is the full one");
    let back = restore(&recorded, &first.reference, &data).expect("restored");
    assert_eq!(std::fs::read_to_string(back.recorded.path.join("work")).expect("a file"), "not committed");
    // Dead after git was through, before anybody knew.
    let recorded = back.recorded;
    world.git(&["worktree", "remove", "--force", recorded.path.to_str().unwrap()]);
    let again = removed(&Order { recorded: &recorded, ..consent.clone() });
    assert_eq!(again.reference, first.reference);
    // Something new was written between two attempts: a second archive keeps it.
    let recorded = restore(&recorded, &first.reference, &data).expect("restored").recorded;
    put(&recorded.path, "newer", "work");
    let second = removed(&Order { recorded: &recorded, ..consent.clone() });
    assert_eq!(second.reference, format!("{}.2", first.reference));
    // A directory that somebody else deleted: only our own entry goes.
    let recorded = restore(&recorded, &second.reference, &data).expect("restored").recorded;
    let users = world.beside("users");
    world.git(&["worktree", "add", "--quiet", "--detach", users.to_str().unwrap()]);
    std::fs::remove_dir_all(&users).expect("the user's own doing");
    std::fs::remove_dir_all(&recorded.path).expect("somebody's doing");
    removed(&Order { recorded: &recorded, ..consent });
    let list = world.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("users") && !list.contains("wt/a"), "{list}");
}

#[test]
fn a_restore_that_was_cut_short_is_built_anew() {
    let world = World::new();
    let recorded = world.workdir("a");
    put(&recorded.path, "work", "work");
    let data = world.data();
    let archive = removed(&Order { consent: true, ..order(&recorded, &data) });
    let stage = world.beside("wt").join(".carillon-restore-w1");
    std::fs::create_dir(world.beside("wt")).expect("a directory");
    world.git(&["worktree", "add", "--quiet", "--no-checkout", "--detach", stage.to_str().unwrap()]);
    put(&stage, "half", "written");
    let back = restore(&recorded, &archive.reference, &data).expect("restored");
    assert!(!stage.exists() && !back.recorded.path.join("half").exists());
    assert_eq!(std::fs::read_to_string(back.recorded.path.join("work")).expect("a file"), "work");
    // A broken archive leaves nothing behind.
    // Nor is something of the user's in the place ever touched.
    let moved = Recorded { path: world.beside("full"), ..recorded.clone() };
    put(&moved.path, "file", "the user's");
    assert!(matches!(restore(&moved, &archive.reference, &data), Err(Error::Exists { .. })));
    let archive =
        removed(&Order { id: "w2", consent: true, recorded: &back.recorded, ..order(&recorded, &data) });
    world.git(&["update-ref", &archive.reference, "main"]);
    assert!(restore(&recorded, &archive.reference, &data).is_err());
    assert!(!recorded.path.exists() && world.git(&["worktree", "list"]).lines().count() == 1);
}

#[test]
fn commits_whose_directory_was_taken_away_come_back_on_their_branch() {
    let world = World::new();
    let recorded = world.workdir("a");
    // Names in it that an archive has, too, mean nothing.
    for name in ["about", "deleted", "index", "modes", "files/own"] {
        put(&recorded.path, name, "the user's");
    }
    let tip = commit(&recorded.path, "Work");
    std::fs::remove_dir_all(&recorded.path).expect("removed");
    let data = world.data();
    let outcome = remove(&order(&recorded, &data)).expect("looked at");
    assert!(matches!(outcome, Outcome::Refused(Verdict::NeedsConsent { .. })), "{outcome:?}");
    let Outcome::Removed { archive: None, branch: Some(branch), .. } =
        remove(&Order { consent: true, ..order(&recorded, &data) }).expect("removed")
    else {
        panic!("its branch went")
    };
    let reference = branch.archive_ref.expect("its commits are kept");
    assert!(!world.branches().contains(&"carillon/a".to_owned()));
    let back = restore(&recorded, &reference, &data).expect("restored");
    assert_eq!(git(&recorded.path, &["rev-parse", "HEAD"]), tip);
    assert_eq!(git(&recorded.path, &["symbolic-ref", "HEAD"]), "refs/heads/carillon/a");
    assert_eq!(git(&recorded.path, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(std::fs::read_to_string(recorded.path.join("files/own")).expect("a file"), "the user's");
    assert!(back.notes.iter().any(|note| note.contains("had been taken away")), "{:?}", back.notes);
    let again = restore(&recorded, &reference, &data).expect("asked again, it is found");
    assert_eq!(again.recorded.identity, back.recorded.identity);
}

#[test]
fn links_in_a_workdir_lead_nowhere() {
    let world = World::new();
    let shared = world.beside("shared");
    put(&shared, "package/index", "shared");
    let recorded = world.workdir("a");
    world.write("ignored", "");
    put(&recorded.path, ".git-ignored", "");
    std::fs::write(world.path(".git/info/exclude"), "node_modules\n").expect("a file");
    symlink(&shared, recorded.path.join("node_modules")).expect("a link");
    std::fs::create_dir(recorded.path.join("deep")).expect("a directory");
    symlink(&shared, recorded.path.join("deep/node_modules")).expect("a link");
    symlink("/nonexistent", recorded.path.join("dangling")).expect("a link");
    let before = common::picture(&shared);
    let data = world.data();
    removed(&Order { consent: true, ..order(&recorded, &data) });
    assert!(!recorded.path.exists());
    assert_eq!(common::picture(&shared), before);
}

#[test]
fn four_workdirs_commit_while_one_of_them_goes_with_its_branch() {
    let world = World::new();
    let data = world.data();
    let others: Vec<Recorded> = (0..3).map(|number| world.workdir(&format!("other{number}"))).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for other in &others {
            scope.spawn(|| {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    put(&other.path, "file", &format!("{number}"));
                    commit(&other.path, "More");
                    number += 1;
                }
            });
        }
        for round in 0..5 {
            let recorded = world.workdir(&format!("r{round}"));
            put(&recorded.path, "file", "work");
            commit(&recorded.path, "Work");
            let id = format!("r{round}");
            removed(&Order { id: &id, consent: true, ..order(&recorded, &data) });
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(world.git(&["fsck", "--full", "--no-dangling"]).is_empty());
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 4);
}
