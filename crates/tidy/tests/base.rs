//! The preflight of a temp base on real file systems.

mod common;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use carillon_tidy::base::{BASE_LEN_MAX, Base, Refusal, RefusalReason, choose};
use common::{Mount, NOBODY, as_nobody, is_root, mkdir, mode_of, not_run, on_disk, set_mode, write};

fn refused(candidate: &Path) -> Refusal {
    let mut refusals = choose(&[candidate.to_path_buf()]).expect_err("it must be refused");
    assert_eq!(refusals.len(), 1);
    let refusal = refusals.remove(0);
    assert_eq!(refusal.path, candidate);
    assert!(refusal.to_string().contains(&*candidate.to_string_lossy()), "{refusal}");
    refusal
}

fn chosen(candidates: &[&Path]) -> Base {
    let candidates: Vec<PathBuf> = candidates.iter().map(|path| path.to_path_buf()).collect();
    choose(&candidates).unwrap_or_else(|refusals| panic!("all were refused: {refusals:?}"))
}

#[test]
fn a_missing_base_is_created_for_us_alone_with_what_is_above_it() {
    let place = on_disk();
    let base = place.path().join("c/carillon/t");
    let found = chosen(&[&base]);
    assert_eq!(found, Base { path: base.clone(), warnings: vec![] });
    for dir in [&base, &place.path().join("c/carillon"), &place.path().join("c")] {
        assert_eq!(mode_of(dir), 0o700, "{}", dir.display());
    }
    assert_eq!(std::fs::read_dir(&base).expect("a directory").count(), 0, "the probe left something");
    assert_eq!(chosen(&[&base]).path, base, "the second time it is found as it is");
}

#[test]
fn a_base_on_a_noexec_mount_is_refused_and_the_next_one_is_taken() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    let Some(_mount) = Mount::tmpfs(&at, libc::MS_NOEXEC, "size=256m,mode=0700") else { return };
    let disk = place.path().join("d");
    let refusal = refused(&at.join("t"));
    assert!(matches!(refusal.why, RefusalReason::NoExec), "{refusal}");
    assert!(
        refusal.to_string().contains("noexec") && refusal.to_string().contains("CARILLON_HOME"),
        "{refusal}"
    );
    let base = chosen(&[&at.join("t"), &disk]);
    assert_eq!(base.path, disk);
    assert!(base.warnings.iter().any(|warning| warning.contains("noexec")), "{:?}", base.warnings);
    assert!(!at.join("t").exists(), "what was created for a refused base must go");
}

#[test]
fn a_full_file_system_is_found_by_writing_and_named() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    let Some(_mount) = Mount::tmpfs(&at, 0, "size=1m,mode=0700") else { return };
    let base = mkdir(at.join("t"));
    set_mode(&base, 0o700);
    let filled = std::fs::write(at.join("filler"), vec![1; 2 * 1024 * 1024]);
    assert!(filled.is_err(), "the file system was to be full");
    let refusal = refused(&base);
    assert!(matches!(refusal.why, RefusalReason::NotWritable(_)), "{refusal}");
    assert!(refusal.to_string().contains("No space left on device"), "{refusal}");
    let disk = place.path().join("d");
    let found = chosen(&[&base, &disk]);
    assert_eq!(found.path, disk);
    assert!(found.warnings.iter().any(|warning| warning.contains("No space left")), "{:?}", found.warnings);
    assert!(base.exists(), "a base that was there before stays");
    assert_eq!(std::fs::read_dir(&base).expect("a directory").count(), 0, "the probe left something");
}

#[test]
fn too_few_bytes_or_inodes_are_refused() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    if let Some(_mount) = Mount::tmpfs(&at, 0, "size=32m,mode=0700") {
        let refusal = refused(&at.join("t"));
        assert!(matches!(refusal.why, RefusalReason::FewBytes { free } if free <= 32 << 20), "{refusal}");
        assert!(refusal.to_string().contains("64 MiB are needed"), "{refusal}");
    }
    if let Some(_mount) = Mount::tmpfs(&at, 0, "size=256m,nr_inodes=500,mode=0700") {
        let refusal = refused(&at.join("t"));
        assert!(matches!(refusal.why, RefusalReason::FewInodes { free: 1..500 }), "{refusal}");
    }
}

#[test]
fn a_base_in_memory_is_taken_only_when_there_is_no_disk() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    let Some(_mount) = Mount::tmpfs(&at, 0, "size=256m,mode=0700") else { return };
    let (memory, disk) = (at.join("t"), place.path().join("d"));
    let base = chosen(&[&memory, &disk]);
    assert_eq!(base.path, disk);
    assert!(base.warnings[0].contains("memory") && base.warnings[0].contains("passed over"), "{base:?}");
    assert!(!memory.exists(), "what was created for a base that is passed over must go");
    let base = chosen(&[&memory, &at.join("u"), Path::new("relative")]);
    assert_eq!(base.path, memory, "the first one in memory");
    assert!(!at.join("u").exists());
    assert!(base.warnings.iter().any(|warning| warning.contains("memory")), "{base:?}");
    assert!(base.warnings.iter().any(|warning| warning.contains("not absolute")), "{base:?}");
}

#[test]
fn a_read_only_file_system_is_refused() {
    let place = on_disk();
    let at = mkdir(place.path().join("m"));
    let Some(_mount) = Mount::tmpfs(&at, libc::MS_RDONLY, "size=256m,mode=0700") else { return };
    let refusal = refused(&at.join("t"));
    assert!(refusal.to_string().contains("Read-only file system"), "{refusal}");
}

#[test]
fn a_link_a_file_and_open_modes_are_refused_and_not_changed() {
    let place = on_disk();
    let real = mkdir(place.path().join("real"));
    set_mode(&real, 0o700);
    symlink(&real, place.path().join("link")).expect("a link");
    symlink(place.path().join("nothing"), place.path().join("dangling")).expect("a link");
    assert!(matches!(refused(&place.path().join("link")).why, RefusalReason::Link));
    assert!(matches!(refused(&place.path().join("dangling")).why, RefusalReason::Link));
    assert!(!place.path().join("nothing").exists(), "the link was followed");
    let file = write(place.path().join("file"), "text");
    assert!(matches!(refused(&file).why, RefusalReason::NotADirectory));
    for mode in [0o755, 0o750, 0o701, 0o777, 0o500] {
        set_mode(&real, mode);
        let refusal = refused(&real);
        assert!(matches!(refusal.why, RefusalReason::OpenMode { mode: found } if found == mode), "{refusal}");
        assert!(refusal.to_string().contains("chmod 0700"), "{refusal}");
        assert_eq!(mode_of(&real), mode);
    }
}

#[test]
fn a_link_above_the_base_is_resolved() {
    let place = on_disk();
    let big = mkdir(place.path().join("big"));
    symlink(&big, place.path().join("cache")).expect("a link");
    assert_eq!(chosen(&[&place.path().join("cache/t")]).path, big.join("t"));
}

#[test]
fn a_base_of_another_user_is_refused() {
    if !is_root() {
        not_run("only root can give a directory away");
        return;
    }
    let place = on_disk();
    let base = mkdir(place.path().join("t"));
    set_mode(&base, 0o700);
    std::os::unix::fs::chown(&base, Some(NOBODY), Some(NOBODY)).expect("chown");
    let refusal = refused(&base);
    assert!(matches!(refusal.why, RefusalReason::Foreign { uid: NOBODY }), "{refusal}");
}

#[test]
fn a_base_that_anybody_could_swap_is_refused() {
    let place = on_disk();
    let open = mkdir(place.path().join("open"));
    set_mode(&open, 0o777);
    let refusal = refused(&open.join("t"));
    assert!(matches!(&refusal.why, RefusalReason::OpenParent { parent } if *parent == open), "{refusal}");
    assert!(!open.join("t").exists());
    set_mode(&open, 0o1777);
    assert_eq!(chosen(&[&open.join("t")]).path, open.join("t"), "sticky as /tmp is fine");
}

#[test]
fn a_place_where_we_may_not_write_is_refused_with_the_reason() {
    as_nobody("a_place_where_we_may_not_write_is_refused_with_the_reason", || {
        let place = on_disk();
        let closed = mkdir(place.path().join("closed"));
        set_mode(&closed, 0o500);
        let refusal = refused(&closed.join("c/t"));
        assert!(matches!(refusal.why, RefusalReason::Unusable(_)), "{refusal}");
        assert!(refusal.to_string().contains("Permission denied"), "{refusal}");
        set_mode(&closed, 0o700);
        assert!(!closed.join("c").exists());
    });
}

#[test]
fn the_length_is_bounded_by_what_a_socket_needs() {
    let place = on_disk();
    let rest = BASE_LEN_MAX - place.path().as_os_str().len() - 1;
    let longest = place.path().join("x".repeat(rest));
    assert_eq!(chosen(&[&longest]).path, longest);
    let too_long = place.path().join("x".repeat(rest + 1));
    let refusal = refused(&too_long);
    assert!(
        matches!(refusal.why, RefusalReason::TooLong { bytes } if bytes == BASE_LEN_MAX + 1),
        "{refusal}"
    );
    assert!(!too_long.exists());
    let deep = place.path().join("a/b").join("x".repeat(rest));
    assert!(matches!(refused(&deep).why, RefusalReason::TooLong { .. }));
    assert!(!place.path().join("a").exists(), "what was created above a refused base must go");
}

#[test]
fn each_refusal_is_reported_in_order() {
    let place = on_disk();
    let file = write(place.path().join("file"), "");
    let refusals = choose(&["relative".into(), "/".into(), file.clone()]).expect_err("none passes");
    let paths: Vec<&Path> = refusals.iter().map(|refusal| refusal.path.as_path()).collect();
    assert_eq!(paths, [Path::new("relative"), Path::new("/"), &file]);
    assert!(choose(&[]).expect_err("no candidate is no base").is_empty());
}
