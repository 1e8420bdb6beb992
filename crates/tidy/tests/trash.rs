//! Burying and emptying: what goes, what stays and why, on real file systems.

mod common;

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use carillon_tidy::Error;
use carillon_tidy::trash::{Emptied, REFUSED_MAX, bury, empty, name};
use common::{Mount, as_nobody, is_root, mkdir, mode_of, not_run, on_disk, picture, set_mode, write};

static NEVER: AtomicBool = AtomicBool::new(false);

/// A base with a trash in it.
struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { base: on_disk() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    fn trash(&self) -> PathBuf {
        mkdir(self.at(&name("ab12cd")))
    }

    fn bury(&self, path: &Path) -> PathBuf {
        bury(self.base.path(), &name("ab12cd"), path).unwrap_or_else(|error| panic!("{error}"))
    }

    fn empty(&self) -> Emptied {
        empty(&self.trash(), None, &NEVER)
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(self.trash()).expect("the trash").next().is_none()
    }
}

fn many_files(dir: &Path, count: usize) {
    for folder in 0..count.div_ceil(500) {
        let folder = mkdir(dir.join(format!("d{folder}")));
        for file in 0..count.min(500) {
            std::fs::File::create(folder.join(format!("f{file}"))).expect("a file");
        }
    }
}

#[test]
fn a_whole_tree_with_hidden_and_special_files_goes_and_its_bytes_are_counted() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    mkdir(tree.join("a/.hidden/..odd"));
    std::fs::write(tree.join("a/.hidden/.lib.so"), vec![1; 4 << 20]).expect("a file");
    write(tree.join("a/new\nline \u{1F514}"), "text");
    std::fs::hard_link(write(place.at("outside"), &"x".repeat(1 << 20)), tree.join("hard"))
        .expect("a hard link");
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.join("fifo"), rustix::fs::Mode::RWXU).expect("a fifo");
    drop(UnixListener::bind(tree.join("socket")).expect("a socket"));
    place.bury(&tree);
    assert!(!tree.exists());
    let emptied = place.empty();
    assert!(emptied.complete && emptied.refused.is_empty(), "{emptied:?}");
    assert_eq!(emptied.entries, 9, "{emptied:?}");
    assert!(emptied.bytes >= 4 << 20 && emptied.bytes < 5 << 20, "a linked file frees nothing: {emptied:?}");
    assert!(place.is_empty() && place.trash().is_dir());
    assert_eq!(std::fs::metadata(place.at("outside")).expect("it stays").len(), 1 << 20);
    assert_eq!(
        place.empty(),
        Emptied { complete: true, ..Emptied::default() },
        "the second time nothing is left"
    );
}

#[test]
fn an_absent_trash_is_empty() {
    let place = Place::new();
    assert_eq!(
        empty(&place.at(".trash-none"), None, &NEVER),
        Emptied { complete: true, ..Emptied::default() }
    );
}

#[test]
fn links_go_and_their_targets_stay() {
    let place = Place::new();
    let victim = mkdir(place.at("victim"));
    mkdir(victim.join("sub"));
    write(victim.join("sub/precious"), "text");
    let tree = mkdir(place.at("tree"));
    let nested = mkdir(tree.join("a/b"));
    symlink(&victim, tree.join("top")).expect("a link");
    symlink(&victim, nested.join("nested")).expect("a link");
    symlink("../../../victim/sub/precious", nested.join("file")).expect("a link");
    symlink("/no/such/thing", nested.join("dangling")).expect("a link");
    symlink(".", nested.join("loop")).expect("a link");
    symlink("/", nested.join("root")).expect("a link");
    symlink(&victim, place.at("link")).expect("a link");
    let before = picture(&victim);
    place.bury(&tree);
    let moved = place.bury(&place.at("link"));
    assert!(moved.is_symlink(), "a link is renamed itself");
    let emptied = place.empty();
    assert!(emptied.complete, "{emptied:?}");
    assert!(place.is_empty());
    assert_eq!(picture(&victim), before);
}

#[test]
fn only_what_is_in_a_trash_is_deleted() {
    let place = Place::new();
    let victim = mkdir(place.at("victim"));
    write(victim.join("precious"), "text");
    symlink(&victim, place.at(".trash-link")).expect("a link");
    symlink(&victim, place.trash().join("link")).expect("a link");
    let before = picture(&victim);
    let through = place.trash().join("link/.");
    for dir in [&victim, &place.at(".trash-link"), &through, &victim.join("precious"), &PathBuf::from("/")] {
        let emptied = empty(dir, None, &NEVER);
        assert!(!emptied.complete && emptied.entries == 0, "{}: {emptied:?}", dir.display());
        assert_eq!(emptied.refused.len(), 1, "{}: {emptied:?}", dir.display());
    }
    assert_eq!(picture(&victim), before);
}

#[test]
fn a_buried_tree_can_be_emptied_alone() {
    let place = Place::new();
    let one = mkdir(place.at("one"));
    write(one.join("file"), "");
    let two = mkdir(place.at("two"));
    write(two.join("file"), "");
    let (one, two) = (place.bury(&one), place.bury(&two));
    assert!(empty(&one, None, &NEVER).complete);
    assert_eq!(
        (one.read_dir().expect("it stays").count(), two.read_dir().expect("it stays").count()),
        (0, 1)
    );
}

#[test]
fn a_repository_stays_whole_and_is_named() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    let repository = mkdir(tree.join("a/repository"));
    mkdir(repository.join(".git/objects"));
    write(repository.join("code"), "text");
    let worktree = mkdir(tree.join("worktree"));
    write(worktree.join(".git"), "gitdir: elsewhere\n");
    mkdir(worktree.join("deep/er"));
    let odd = mkdir(tree.join("odd"));
    symlink("/nowhere", odd.join(".git")).expect("a link");
    write(tree.join("a/goes"), "");
    write(tree.join("b.git"), "");
    let buried = place.bury(&tree);
    let kept = ["a/repository", "worktree", "odd"].map(|dir| buried.join(dir));
    let before = kept.each_ref().map(|dir| picture(dir));
    let emptied = place.empty();
    assert!(!emptied.complete);
    let mut refused: Vec<&Path> = emptied.refused.iter().map(|(path, _)| path.as_path()).collect();
    refused.sort();
    let mut expected: Vec<&Path> = kept.iter().map(PathBuf::as_path).collect();
    expected.sort();
    assert_eq!(refused, expected);
    assert!(emptied.refused.iter().all(|(_, why)| why.contains(".git")), "{emptied:?}");
    assert_eq!(kept.each_ref().map(|dir| picture(dir)), before, "a repository was touched");
    assert_eq!(emptied.entries, 2, "the rest goes: {emptied:?}");
    assert_eq!(picture(&buried).len(), 1 + 1 + before.iter().map(|tree| tree.len()).sum::<usize>());

    write(place.trash().join(".git"), "");
    let emptied = place.empty();
    assert_eq!(
        (emptied.entries, emptied.refused.len(), emptied.complete),
        (0, 1, false),
        "the top counts as well"
    );
}

#[test]
fn mounts_are_not_entered() {
    let place = Place::new();
    let victim = mkdir(place.at("victim"));
    write(victim.join("precious"), "text");
    let tree = mkdir(place.at("tree"));
    let points = ["tmpfs", "same", "file"].map(|name| tree.join(name));
    mkdir(points[0].clone());
    mkdir(points[1].clone());
    write(points[2].clone(), "");
    write(tree.join("goes"), "");
    let buried = place.bury(&tree);
    let points = ["tmpfs", "same", "file"].map(|name| buried.join(name));
    let Some(_other) = Mount::tmpfs(&points[0], 0, "size=1m") else { return };
    write(points[0].join("inside"), "text");
    // A bind mount of the same file system has the same device number.
    let Some(_same) = Mount::bind(&victim, &points[1]) else { return };
    let Some(_file) = Mount::bind(&victim.join("precious"), &points[2]) else { return };
    let before = picture(&victim);
    let emptied = place.empty();
    let why = |path: &PathBuf| {
        let found = emptied.refused.iter().find(|(refused, _)| refused == path);
        found.map(|(_, why)| why.as_str()).unwrap_or_default()
    };
    assert!(why(&points[0]).contains("mounted"), "{emptied:?}");
    assert!(why(&points[1]).contains("mounted"), "{emptied:?}");
    assert!(why(&points[2]).contains("busy"), "{emptied:?}");
    assert_eq!((emptied.refused.len(), emptied.entries, emptied.complete), (3, 1, false), "{emptied:?}");
    assert_eq!(picture(&victim), before);
    assert!(points[0].join("inside").exists());
}

#[test]
fn read_only_trees_get_their_write_bit() {
    as_nobody("read_only_trees_get_their_write_bit", || {
        let place = Place::new();
        let tree = mkdir(place.at("tree"));
        for (folder, mode) in
            [("read", 0o555), ("nothing", 0o000), ("write", 0o300), ("list", 0o400), ("in", 0o100)]
        {
            let folder = mkdir(tree.join(folder));
            set_mode(&write(folder.join("file"), "text"), 0o000);
            mkdir(folder.join("sub"));
            write(folder.join("sub/file"), "text");
            set_mode(&folder.join("sub"), 0o000);
            set_mode(&folder, mode);
        }
        set_mode(&tree, 0o555);
        let buried = place.bury(&tree);
        assert!(!tree.exists(), "a read-only directory could not be renamed");
        assert_eq!(mode_of(&buried) & 0o700, 0o700);
        let emptied = place.empty();
        assert!(emptied.complete && emptied.refused.is_empty(), "{emptied:?}");
        assert!(place.is_empty());
    });
}

#[test]
fn what_cannot_go_is_reported_and_the_rest_goes() {
    if !is_root() {
        not_run("only root can make a file immutable");
        return;
    }
    let place = Place::new();
    let tree = mkdir(place.at("tree/a"));
    let fixed = write(tree.join("fixed"), "text");
    write(tree.join("goes"), "");
    mkdir(tree.join("sub"));
    let buried = place.bury(&place.at("tree"));
    let fixed = buried.join("a").join(fixed.file_name().expect("a name"));
    let chattr = |flag: &str| std::process::Command::new("chattr").arg(flag).arg(&fixed).status();
    if !chattr("+i").is_ok_and(|status| status.success()) {
        not_run("files cannot be made immutable here");
        return;
    }
    let emptied = place.empty();
    let again = place.empty();
    assert!(chattr("-i").is_ok_and(|status| status.success()));
    assert_eq!(emptied.refused.len(), 1, "{emptied:?}");
    assert_eq!(emptied.refused[0].0, fixed);
    assert!(emptied.refused[0].1.contains("not permitted"), "{emptied:?}");
    assert_eq!((emptied.entries, emptied.complete), (2, false), "{emptied:?}");
    assert_eq!((again.refused.len(), again.entries), (1, 0), "{again:?}");
    assert!(place.empty().complete, "it goes when its reason is gone");
}

#[test]
fn the_list_of_what_stays_is_bounded() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    for number in 0..REFUSED_MAX + 10 {
        mkdir(tree.join(format!("r{number}/.git")));
    }
    place.bury(&tree);
    let emptied = place.empty();
    assert_eq!((emptied.refused.len(), emptied.complete), (REFUSED_MAX, false));
}

#[test]
fn a_tree_that_is_deeper_than_any_path_or_table_of_descriptors_goes() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    let open = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
    let mut dir = rustix::fs::open(&tree, open, rustix::fs::Mode::empty()).expect("a directory");
    for _ in 0..3000 {
        rustix::fs::mkdirat(&dir, "deeper", rustix::fs::Mode::RWXU).expect("a directory");
        rustix::fs::mkdirat(&dir, "beside", rustix::fs::Mode::RWXU).expect("a directory");
        dir = rustix::fs::openat(&dir, "deeper", open, rustix::fs::Mode::empty()).expect("a directory");
    }
    rustix::fs::mkdirat(&dir, ".git", rustix::fs::Mode::RWXU).expect("a directory");
    place.bury(&tree);
    let emptied = place.empty();
    assert_eq!((emptied.entries, emptied.refused.len()), (3000, 1), "all beside the way to the repository");
    rustix::fs::unlinkat(&dir, ".git", rustix::fs::AtFlags::REMOVEDIR).expect("it is empty");
    let emptied = place.empty();
    assert!(emptied.complete && place.is_empty(), "{} refused", emptied.refused.len());
    assert_eq!(emptied.entries, 3001);
}

#[test]
fn emptying_ends_at_its_deadline_and_when_it_is_cancelled() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    many_files(&tree, 20_000);
    place.bury(&tree);
    let past = Instant::now();
    assert_eq!(empty(&place.trash(), Some(past), &NEVER), Emptied::default(), "no time, no deletion");
    let cancelled = empty(&place.trash(), None, &AtomicBool::new(true));
    assert_eq!(cancelled, Emptied::default());
    let begun = Instant::now();
    let part = empty(&place.trash(), Some(begun + Duration::from_millis(20)), &NEVER);
    assert!(begun.elapsed() < Duration::from_secs(2), "the deadline was passed by {:?}", begun.elapsed());
    assert!(!part.complete && part.entries > 0 && part.entries < 20_000, "{part:?}");
    let cancel = AtomicBool::new(false);
    let second = std::thread::scope(|scope| {
        let sweep = scope.spawn(|| empty(&place.trash(), None, &cancel));
        std::thread::yield_now();
        cancel.store(true, Ordering::Relaxed);
        sweep.join().expect("no panic")
    });
    assert!(!second.complete, "it was cancelled: {second:?}");
    let rest = place.empty();
    assert!(rest.complete && place.is_empty());
    assert_eq!(part.entries + second.entries + rest.entries, 20_000 + 40 + 1, "each entry is counted once");
}

#[test]
fn a_big_tree_is_buried_at_once() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    many_files(&tree, 20_000);
    let begun = Instant::now();
    place.bury(&tree);
    assert!(begun.elapsed() < Duration::from_millis(500), "a rename took {:?}", begun.elapsed());
    assert!(!tree.exists());
    assert!(place.empty().complete);
}

#[test]
fn burying_refuses_what_it_cannot_rename_and_changes_nothing() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    write(tree.join("file"), "text");
    let before = picture(&tree);
    let base = place.base.path();
    for bad in ["", "..", "trash", "a/.trash-x", ".trash"] {
        assert!(matches!(bury(base, bad, &tree), Err(Error::BadName { .. })), "{bad:?}");
    }
    assert!(matches!(bury(base, ".trash-x", Path::new("/")), Err(Error::BadName { .. })));
    let missing = bury(base, ".trash-x", &place.at("missing")).expect_err("it is not there");
    assert_eq!(missing.kind(), Some(std::io::ErrorKind::NotFound), "{missing}");
    assert!(bury(base, ".trash-x", base).is_err(), "a base cannot go into itself");
    symlink(&tree, place.at(".trash-link")).expect("a link");
    assert!(matches!(bury(base, ".trash-link", &place.at("tree")), Err(Error::NotOurs { .. })));
    assert_eq!(picture(&tree), before);

    let other = mkdir(place.at("m"));
    let Some(_mount) = Mount::tmpfs(&other, 0, "size=1m,mode=0700") else { return };
    let there = mkdir(other.join("tree"));
    let error = bury(base, ".trash-x", &there).expect_err("another file system");
    assert!(matches!(error, Error::OtherFileSystem { .. }), "{error}");
    assert!(there.is_dir());
    assert!(bury(base, ".trash-x", &other).is_err(), "a mount point cannot be renamed");
}

#[test]
fn a_file_that_is_written_all_the_time_does_not_keep_a_sweep_for_ever() {
    let place = Place::new();
    let tree = mkdir(place.at("tree"));
    let buried = place.bury(&tree);
    let done = AtomicBool::new(false);
    let emptied = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut number = 0_u64;
            while !done.load(Ordering::Relaxed) {
                number += 1;
                // The directory itself may be gone by now.
                let _ = std::fs::create_dir_all(&buried);
                let _ = std::fs::write(buried.join(format!("f{number}")), "");
            }
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        let emptied = empty(&place.trash(), Some(deadline), &NEVER);
        let in_time = Instant::now() < deadline;
        done.store(true, Ordering::Relaxed);
        writer.join().expect("no panic");
        assert!(in_time, "it went on as long as files were written");
        emptied
    });
    assert!(emptied.complete || !emptied.refused.is_empty(), "what stays has a reason: {emptied:?}");
    assert!(place.empty().complete);
}
