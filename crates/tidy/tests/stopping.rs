//! Stopping a merge or a removal, on real git that is held at one of its calls: until the step that cannot be taken back
//! nothing is changed, and from there on it goes on to its end.

mod common;
mod repo;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;

use carillon_tidy::Error;
use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::merge::{How, Outcome as Merged, merge};
use carillon_tidy::git::remove::{Order, Outcome as Removed, remove};
use carillon_tidy::git::stop::Stop;
use common::picture;
use repo::{World, commit, put};

/// A git in front of the real one. A call that has the word of the file `at` among its arguments tells its process, and
/// waits until it may go on.
struct Holding {
    dir: PathBuf,
}

impl Holding {
    fn new(world: &World) -> Self {
        let real = std::env::split_paths(&std::env::var_os("PATH").expect("a PATH"))
            .map(|dir| dir.join("git"))
            .find(|git| git.is_file())
            .expect("git");
        let dir = world.beside("holding");
        fs::create_dir(&dir).expect("a directory");
        let held = dir.display();
        let text = format!(
            "#!/bin/sh\nat=$(cat {held}/at 2>/dev/null)\nfor arg; do\n  if [ -n \"$at\" ] && [ \"$arg\" = \"$at\" ]; then\n    rm {held}/at\n    echo $$ > {held}/told\n    read go < {held}/go\n    break\n  fi\ndone\nexec {} \"$@\"\n",
            real.display()
        );
        fs::write(dir.join("git"), text).expect("a script");
        fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).expect("a mode");
        for name in ["told", "go"] {
            let made = Command::new("mkfifo").arg(dir.join(name)).status().expect("mkfifo");
            assert!(made.success());
        }
        let path = std::env::var("PATH").expect("a PATH");
        // SAFETY: at the beginning of a test, which has a process of its own and no other thread yet.
        unsafe { std::env::set_var("PATH", format!("{}:{path}", dir.display())) };
        Self { dir }
    }

    fn at(&self, word: &str) {
        fs::write(self.dir.join("at"), word).expect("a file");
    }

    /// Waits until a call is held. Answers its process.
    fn held(&self) -> PathBuf {
        let mut pid = String::new();
        fs::File::open(self.dir.join("told")).expect("a pipe").read_to_string(&mut pid).expect("its process");
        Path::new("/proc").join(pid.trim())
    }

    fn go_on(&self) {
        let mut go = fs::File::options().write(true).open(self.dir.join("go")).expect("a pipe");
        go.write_all(b"go\n").expect("written");
    }
}

fn begin<T: Send + 'static>(
    stop: &Arc<Stop>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> JoinHandle<Result<T, Error>> {
    let stop = stop.clone();
    std::thread::spawn(move || stop.within(work))
}

/// A worktree with a commit on its branch, and one on main beside it.
fn with_work(world: &World) -> Recorded {
    let recorded = world.workdir("a");
    put(&recorded.path, "one", "one");
    commit(&recorded.path, "one");
    world.write("later", "on main");
    commit(&world.root(), "Later");
    recorded
}

fn merged(recorded: &Recorded) -> Result<Merged, Error> {
    merge(recorded, "main", How::Merge, "Bring the work\n")
}

/// Everything but the objects of the repository: what leads nowhere is collected by git.
fn seen(world: &World, recorded: &Recorded) -> (BTreeMap<PathBuf, String>, BTreeMap<PathBuf, String>) {
    let mut root = picture(&world.root());
    root.retain(|path, _| !path.starts_with(world.root().join(".git/objects")));
    (root, picture(&recorded.path))
}

#[test]
fn a_merge_that_is_stopped_has_changed_nothing() {
    let world = World::new();
    let holding = Holding::new(&world);
    let recorded = with_work(&world);
    let before = seen(&world, &recorded);
    for word in ["status", "merge-tree", "commit-tree"] {
        holding.at(word);
        let stop = Stop::new().expect("a stop");
        let at_work = begin(&stop, {
            let recorded = recorded.clone();
            move || merged(&recorded)
        });
        let held = holding.held();
        assert!(stop.ask(), "{word}");
        assert!(matches!(at_work.join().expect("no panic"), Err(Error::Stopped)), "{word}");
        assert!(!held.exists(), "{word}: git is still there");
        assert!(seen(&world, &recorded) == before, "{word}: something changed");
    }
    assert!(matches!(merged(&recorded), Ok(Merged::Done { .. })), "and it can be merged later");
}

#[test]
fn a_merge_whose_branch_moves_goes_on() {
    let world = World::new();
    let holding = Holding::new(&world);
    let recorded = with_work(&world);
    holding.at("--ff-only");
    let stop = Stop::new().expect("a stop");
    let at_work = begin(&stop, move || merged(&recorded));
    holding.held();
    assert!(!stop.ask(), "it is too late");
    holding.go_on();
    assert!(matches!(at_work.join().expect("no panic"), Ok(Merged::Done { .. })));
    assert!(world.path("one").exists());
}

fn removed(recorded: &Recorded, data_dir: &Path) -> Result<Removed, Error> {
    remove(&Order {
        id: "w1",
        recorded,
        data_dir,
        is_ours: true,
        open_work: 0,
        consent: true,
        with_branch: true,
        now_s: 1_700_000_000,
    })
}

/// With something in it that goes into the archive, and something that goes into its tar.
fn full(world: &World) -> Recorded {
    world.write(".gitignore", ".env\n");
    commit(&world.root(), "Rules");
    let recorded = world.workdir("a");
    put(&recorded.path, "committed", "on the branch");
    commit(&recorded.path, "Work");
    put(&recorded.path, "untracked", "only here");
    put(&recorded.path, ".env", "SECRET=1");
    recorded
}

#[test]
fn a_removal_that_is_stopped_before_its_archive_stands_has_removed_nothing() {
    let world = World::new();
    let holding = Holding::new(&world);
    let recorded = full(&world);
    let tar = world.data().join("archives/w1.tar");
    let before = seen(&world, &recorded);
    for word in ["status", "hash-object", "write-tree", "commit-tree"] {
        holding.at(word);
        let stop = Stop::new().expect("a stop");
        let (recorded_there, data) = (recorded.clone(), world.data());
        let at_work = begin(&stop, move || removed(&recorded_there, &data));
        let held = holding.held();
        assert!(stop.ask(), "{word}");
        assert!(matches!(at_work.join().expect("no panic"), Err(Error::Stopped)), "{word}");
        assert!(!held.exists(), "{word}: git is still there");
        assert!(seen(&world, &recorded) == before, "{word}: something changed");
        assert!(!tar.exists(), "{word}: what leads nowhere went, too");
        assert!(!world.root().join(".git/worktrees/a/carillon-archive").exists(), "{word}");
    }
    let Ok(Removed::Removed { archive: Some(archive), .. }) = removed(&recorded, &world.data()) else {
        panic!("it can be removed later")
    };
    assert!(archive.tar.is_some() && !recorded.path.exists());
}

#[test]
fn a_removal_whose_archive_stands_goes_on() {
    let world = World::new();
    let holding = Holding::new(&world);
    let recorded = full(&world);
    holding.at("remove");
    let stop = Stop::new().expect("a stop");
    let (path, data) = (recorded.path.clone(), world.data());
    let at_work = begin(&stop, move || removed(&recorded, &data));
    holding.held();
    assert!(!stop.ask(), "it is too late");
    assert_eq!(world.refs("refs/carillon/archive"), ["refs/carillon/archive/w1"]);
    holding.go_on();
    assert!(matches!(at_work.join().expect("no panic"), Ok(Removed::Removed { archive: Some(_), .. })));
    assert!(!path.exists());
}

#[test]
fn what_was_stopped_before_it_began_calls_no_git() {
    let world = World::new();
    let recorded = with_work(&world);
    let stop = Stop::new().expect("a stop");
    assert!(stop.ask());
    assert!(matches!(stop.within(|| merged(&recorded)), Err(Error::Stopped)));
    assert!(matches!(stop.within(|| removed(&recorded, &world.data())), Err(Error::Stopped)));
    assert!(recorded.path.exists());
}
