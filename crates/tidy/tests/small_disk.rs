//! The preflight on small real disks that fill up.

mod common;

use std::path::{Path, PathBuf};

use carillon_tidy::base::{RefusalReason, choose};
use carillon_tidy::{Error, temp, trash};
use common::{Mount, mkdir, on_disk, write};

fn why_not(candidate: &Path) -> RefusalReason {
    let mut refusals = choose(&[candidate.to_path_buf()]).expect_err("it must be refused");
    refusals.pop().expect("one refusal").why
}

/// Writes until so many bytes are free, or until nothing fits any more. The system promises some room twice before it
/// writes, so it is asked to write before it is believed that there is none.
fn fill(at: &Path, free: u64) {
    let mut size = 1 << 20;
    for number in 0..16_384 {
        let stat = rustix::fs::statvfs(at).expect("a file system");
        if size < 4_096 || (free > 0 && stat.f_bavail * stat.f_frsize <= free) {
            return;
        }
        if std::fs::write(at.join(format!("filler{number}")), vec![1; size]).is_err() {
            rustix::fs::syncfs(std::fs::File::open(at).expect("a directory")).expect("syncfs");
            size /= 4;
        }
    }
}

#[test]
fn a_disk_is_taken_until_it_is_nearly_full_and_the_reason_is_named() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    let Some(_mount) = Mount::disk(&at, 160, &[], "rw") else { return };
    let base = at.join("t");
    let found = choose(std::slice::from_ref(&base)).expect("there is room");
    assert_eq!((found.path, found.warnings), (base.clone(), vec![]), "it lies on a disk, not in memory");
    let made = temp::create(&base, "abcdef", "12345678").expect("a directory");
    fill(&at, 60 << 20);
    assert!(matches!(why_not(&base), RefusalReason::FewBytes { free } if free <= 60 << 20));
    fill(&at, 0);
    assert!(matches!(why_not(&base), RefusalReason::NotWritable(_)), "the probe itself finds no room");
    // What is there already can go all the same: a rename needs no room.
    let buried = trash::bury(&base, &trash::name("abcdef"), &made.path).expect("it goes");
    assert!(buried.is_dir() && !made.path.exists());
}

#[test]
fn a_disk_without_room_for_more_files_is_refused() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    let Some(_mount) = Mount::disk(&at, 160, &["-N", "512"], "rw") else { return };
    assert!(matches!(why_not(&at.join("t")), RefusalReason::FewInodes { free: 1..1_024 }));
    assert!(!at.join("t").exists(), "what was created for a refused base must go");
}

#[test]
fn a_disk_that_is_noexec_or_read_only_is_refused() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    if let Some(_mount) = Mount::disk(&at, 160, &[], "noexec") {
        assert!(matches!(why_not(&at.join("t")), RefusalReason::NoExec));
    }
    if let Some(_mount) = Mount::disk(&at, 160, &[], "ro") {
        assert!(matches!(why_not(&at.join("t")), RefusalReason::Unusable(_)));
    }
}

/// A program may mount something in its temp directory; it is on another disk than the trash.
#[test]
fn what_lies_on_another_disk_stays_where_it_is() {
    let place = on_disk();
    let base: PathBuf = mkdir(place.path().join("base"));
    let made = temp::create(&base, "abcdef", "12345678").expect("a directory");
    let Some(mount) = Mount::disk(&made.path, 16, &[], "rw") else { return };
    let precious = write(made.path.join("precious"), "text");
    let answer = trash::bury(&base, &trash::name("abcdef"), &made.path);
    assert!(matches!(answer, Err(Error::Io { .. } | Error::OtherFileSystem { .. })), "{answer:?}");
    assert!(precious.exists());
    drop(mount);
    trash::bury(&base, &trash::name("abcdef"), &made.path).expect("the directory itself goes");
}
