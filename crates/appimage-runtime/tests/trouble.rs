//! What must go wrong in an orderly way: damaged files, no room, no FUSE.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::{MODES, Made, make, text};

/// Runs it in a mount namespace of its own, after `prepare` (a line of shell).
fn run_after(made: &Made, prepare: &str, args: &[&str]) -> Output {
    let script = format!("{prepare} || exit 99; exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"]).arg(&made.file).args(args);
    command.env("TMPDIR", &made.temp).env_remove("APPIMAGE_EXTRACT_AND_RUN").stdin(Stdio::null());
    let output = command.output().expect("unshare");
    assert_ne!(output.status.code(), Some(99), "{}", text(&output.stderr));
    output
}

/// It ends by itself, with a sentence and without a trace.
fn fails_well(made: &Made, what: &str, args: &[&str]) -> String {
    let output = made.run(args);
    let code = output.status.code();
    let said = text(&output.stderr);
    assert!(code.is_some_and(|code| code != 0), "{what}: {code:?} {said}");
    assert!(said.starts_with("AppImage: ") && !said.contains("panicked"), "{what}: {said}");
    made.is_left_clean();
    said
}

#[test]
fn a_file_that_was_cut_short_says_so() {
    let made = make();
    let whole = fs::read(&made.file).expect("the file");
    let offset: usize = text(&made.run(&["--appimage-offset"]).stdout).trim().parse().expect("a number");
    for length in
        [offset, offset + 3, offset + 50, offset + 200, whole.len() / 2 + offset / 2, whole.len() - 5000]
    {
        fs::remove_file(&made.file).expect("removed");
        support::write(&made.file, &whole[..length], 0o755);
        for mode in MODES {
            let said = fails_well(&made, &format!("cut at {length}"), &[mode, &["code", "0"]].concat());
            assert!(said.contains("damaged"), "{said}");
        }
    }
}

#[test]
fn a_file_that_is_no_appimage_is_not_taken_for_one() {
    let made = make();
    let other = made.folder.path().join("other");
    for bytes in [
        &b""[..],
        b"#!/bin/sh\n",
        &[0; 4096],
        b"\x7fELF\x02\x01",
        &[b"\x7fELF\x02\x01".as_slice(), &[0xff; 4096]].concat(),
    ] {
        fs::write(&other, bytes).expect("a file");
        let mut command = made.command(&["--appimage-offset"]);
        let output = command.env("TARGET_APPIMAGE", &other).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1), "{bytes:?}");
        assert!(text(&output.stderr).starts_with("AppImage: "), "{}", text(&output.stderr));
    }
}

#[test]
fn a_flipped_byte_is_an_error_or_harmless_but_never_a_crash() {
    let made = make();
    let whole = fs::read(&made.file).expect("the file");
    let offset: usize = text(&made.run(&["--appimage-offset"]).stdout).trim().parse().expect("a number");
    // The superblock, and the tables at the end: inodes, directories, fragments, ids.
    let places = (offset..offset + 96).chain(whole.len() - 4096 - 700..whole.len() - 3500);
    for place in places.step_by(17) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        // A new file each time: the keeper of the one before may still be running from it.
        fs::remove_file(&made.file).expect("removed");
        support::write(&made.file, &bytes, 0o755);
        for mode in MODES {
            // A limit on memory: a wrong number must not be taken for a size.
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"]).arg(&made.file);
            command.args(mode).args(["code", "0"]).env("TMPDIR", &made.temp);
            let output = command.output().expect("it starts");
            assert!(output.status.code().is_some(), "a flip at {}: {:?}", place - offset, output.status);
        }
    }
    made.is_left_clean();
}

#[test]
fn damaged_contents_do_not_end_the_mount() {
    let made = make();
    let mut bytes = fs::read(&made.file).expect("the file");
    let offset: usize = text(&made.run(&["--appimage-offset"]).stdout).trim().parse().expect("a number");
    // Contents stand first in the image, in the order of their names: well inside `usr/large`, which is nearly all of them.
    let inside = offset + (bytes.len() - offset) / 2;
    bytes[inside..inside + 64].fill(0);
    fs::remove_file(&made.file).expect("removed");
    support::write(&made.file, &bytes, 0o755);
    let (mut child, app_dir) = made.start(&["wait"]);
    let app_dir = Path::new(&app_dir);
    let read = fs::read(app_dir.join("usr/large"));
    let is_whole = read.as_ref().is_ok_and(|read| *read == support::large());
    assert!(!is_whole, "what was read is not what was packed");
    assert_eq!(fs::read(app_dir.join("usr/small")).expect("the rest"), b"small\n");
    support::signal(child.id(), "TERM");
    child.wait().expect("its end");
    made.is_left_clean();
}

#[test]
fn without_room_it_says_how_much_it_needs_and_leaves_nothing() {
    let made = make();
    let small = format!("mount -t tmpfs -o size=1m none '{}'", made.temp.display());
    let output = run_after(&made, &small, &["--appimage-extract-and-run", "code", "0"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(127), "{said}");
    assert!(said.contains("MiB free of the") && said.contains("TMPDIR"), "{said}");
    made.is_left_clean();
}

#[test]
fn unpacking_into_a_full_disk_says_so() {
    let made = make();
    // The image's files need more than a megabyte; the disk is full in the middle of one.
    let full = format!("mount -t tmpfs -o size=512k none '{0}' && cd '{0}'", made.temp.display());
    let output = run_after(&made, &full, &["--appimage-extract"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("AppImage: ") && said.contains("No space left"), "{said}");
    assert!(output.stdout.is_empty(), "it is not said to be there");
    made.is_left_clean();
}

#[test]
fn a_disk_that_fills_up_meanwhile_leaves_nothing() {
    let made = make();
    // A limit on the size of a file is the disk that is full in the middle of one.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"]).arg(&made.file);
    command.args(["--appimage-extract-and-run", "code", "0"]).env("TMPDIR", &made.temp);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("large"), "it names the file: {}", text(&output.stderr));
    made.is_left_clean();
}

#[test]
fn a_place_that_runs_no_programs_is_not_extracted_to() {
    let made = make();
    let noexec = format!("mount -t tmpfs -o noexec none '{}'", made.temp.display());
    let output = run_after(&made, &noexec, &["--appimage-extract-and-run", "code", "0"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("noexec"), "{}", text(&output.stderr));
    // Mounted there, it runs: the mount has options of its own.
    assert!(run_after(&made, &noexec, &["code", "0"]).status.success());
}

#[test]
fn without_fuse_it_is_extracted_and_says_so() {
    let made = make();
    let no_fuse = "mount --bind /dev/null /dev/fuse";
    for prepare in [no_fuse, "mount -t tmpfs none /dev"] {
        let output = run_after(&made, prepare, &["args", "here"]);
        assert_eq!(text(&output.stdout), "<here>", "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("extracting instead"), "{}", text(&output.stderr));
        made.is_left_clean();
    }
}

#[test]
fn a_temp_directory_that_is_not_there_is_named() {
    let made = make();
    for mode in MODES {
        let mut command = made.command(&[mode, &["code", "0"]].concat());
        let output = command.env("TMPDIR", "/no/such/place").output().expect("it starts");
        assert_eq!(output.status.code(), Some(127), "{mode:?}");
        assert!(text(&output.stderr).contains("/no/such/place"), "{}", text(&output.stderr));
    }
    assert!(!Path::new("/no/such/place").exists());
}
