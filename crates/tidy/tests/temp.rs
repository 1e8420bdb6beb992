//! The namespace of temp directories: exclusive creation and leases, on a real file system and with processes.

mod common;

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use carillon_tidy::Error;
use carillon_tidy::temp::{create, lease_is_held, namespace};
use common::{NOBODY, is_root, mkdir, mode_of, on_disk, picture, set_mode, write};

#[test]
fn a_temp_directory_is_ours_alone_and_its_lease_is_held() {
    let base = on_disk();
    let temp = create(base.path(), "ab12cd", "abcdefgh").expect("a temp directory");
    assert_eq!(temp.path, base.path().join("ab12cd/abcdefgh"));
    assert_eq!((mode_of(&temp.path), mode_of(&base.path().join("ab12cd"))), (0o700, 0o700));
    assert!(lease_is_held(&temp.path).expect("it is there"));
    let path = temp.path.clone();
    drop(temp);
    assert!(!lease_is_held(&path).expect("it is there"), "the lease goes with its last descriptor");
    assert!(path.is_dir(), "letting go of the lease deletes nothing");
}

#[test]
fn a_child_that_inherits_the_lease_keeps_it_after_us() {
    let base = on_disk();
    let temp = create(base.path(), "ab12cd", "abcdefgh").expect("a temp directory");
    let copy = temp.lease.try_clone().expect("a copy");
    let mut child =
        Command::new("sleep").arg("60").stdin(Stdio::from(copy)).spawn().expect("sleep can be started");
    drop(temp.lease);
    assert!(lease_is_held(&temp.path).expect("it is there"), "the child holds it");
    child.kill().expect("our child");
    child.wait().expect("our child");
    assert!(!lease_is_held(&temp.path).expect("it is there"), "a killed holder lets go");
}

#[test]
fn a_lease_is_not_handed_on_by_accident() {
    let base = on_disk();
    let temp = create(base.path(), "ab12cd", "abcdefgh").expect("a temp directory");
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep can be started");
    drop(temp.lease);
    assert!(!lease_is_held(&temp.path).expect("it is there"), "a child got the lease without being given it");
    child.kill().expect("our child");
    child.wait().expect("our child");
}

#[test]
fn names_that_were_created_before_are_refused_and_not_touched() {
    let base = on_disk();
    let victim = mkdir(base.path().join("victim"));
    write(victim.join("precious"), "text");
    let inside = mkdir(base.path().join("ab12cd"));
    set_mode(&inside, 0o700);
    symlink(&victim, inside.join("linkdir0")).expect("a link");
    symlink(victim.join("precious"), inside.join("linkfile")).expect("a link");
    symlink(base.path().join("nothing"), inside.join("dangling")).expect("a link");
    write(inside.join("plainfil"), "text");
    mkdir(inside.join("dirthere"));
    let before = picture(base.path());
    for name in ["linkdir0", "linkfile", "dangling", "plainfil", "dirthere"] {
        let error = create(base.path(), "ab12cd", name).expect_err("the name is taken");
        assert!(matches!(&error, Error::Exists { path } if *path == inside.join(name)), "{name}: {error}");
    }
    assert_eq!(picture(base.path()), before);
}

#[test]
fn a_namespace_that_is_a_link_or_foreign_is_refused() {
    let base = on_disk();
    let victim = mkdir(base.path().join("victim"));
    symlink(&victim, base.path().join("ab12cd")).expect("a link");
    let error = create(base.path(), "ab12cd", "abcdefgh").expect_err("a link is no namespace");
    assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    assert_eq!(picture(&victim).len(), 1, "something was created behind the link");
    write(base.path().join("filefi"), "");
    assert!(matches!(create(base.path(), "filefi", "abcdefgh"), Err(Error::NotOurs { .. })));
    if is_root() {
        let foreign = mkdir(base.path().join("dddddd"));
        std::os::unix::fs::chown(&foreign, Some(NOBODY), Some(NOBODY)).expect("chown");
        let error = create(base.path(), "dddddd", "abcdefgh").expect_err("it belongs to nobody");
        assert!(error.to_string().contains("65534"), "{error}");
    }
}

#[test]
fn names_cannot_lead_out_of_the_base() {
    let base = on_disk();
    for (namespace, name) in
        [("..", "abcdefgh"), ("ab12cd", ".."), ("ab12cd", "a/b"), ("", "a"), ("ab12cd", "")]
    {
        let error = create(base.path(), namespace, name).expect_err("not a plain name");
        assert!(matches!(error, Error::BadName { .. }), "{error}");
    }
    assert_eq!(picture(base.path()).len(), 1, "something was created");
}

#[test]
fn a_directory_that_is_gone_is_not_the_same_as_free_and_can_be_made_again() {
    let base = on_disk();
    let temp = create(base.path(), "ab12cd", "abcdefgh").expect("a temp directory");
    std::fs::remove_dir_all(base.path().join("ab12cd")).expect("it can be removed");
    let error = lease_is_held(&temp.path).expect_err("it is gone");
    assert_eq!(error.kind(), Some(std::io::ErrorKind::NotFound), "{error}");
    assert!(error.to_string().contains("abcdefgh"), "{error}");
    let again = create(base.path(), "ab12cd", "abcdefgh").expect("it can be made again");
    assert_eq!(mode_of(&again.path), 0o700);
    assert!(lease_is_held(&again.path).expect("it is there"));
}

#[test]
fn testing_leases_never_hinders_a_creation() {
    const ROUNDS: usize = 2000;
    let base = on_disk();
    let (round, tested) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let name = |round: usize| format!("r{round:07}");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Both wait for the very directory that is created next, to be there in the moment it appears.
                while let now @ ..ROUNDS = round.load(Ordering::Relaxed) {
                    let path = base.path().join("ab12cd").join(name(now));
                    tested.fetch_add(usize::from(lease_is_held(&path).is_ok()), Ordering::Relaxed);
                }
            });
        }
        for now in 0..ROUNDS {
            match create(base.path(), "ab12cd", &name(now)) {
                Ok(_) => round.store(now + 1, Ordering::Relaxed),
                Err(error) => {
                    round.store(ROUNDS, Ordering::Relaxed);
                    panic!("round {now}: a test of the lease was in the way: {error}");
                }
            }
        }
    });
    assert!(tested.load(Ordering::Relaxed) > 0, "nothing was tested");
}

#[test]
fn two_projects_do_not_share_a_namespace() {
    let home = std::path::Path::new("/h");
    assert_ne!(namespace(home, "/src/a".as_ref()), namespace(home, "/src/b".as_ref()));
}
