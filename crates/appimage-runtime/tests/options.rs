//! Every `--appimage-*` option, on a real AppImage.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use support::{make, signal, text};

#[test]
fn it_tells_where_its_image_is_and_what_it_is() {
    let made = make();
    let offset: usize = text(&made.run(&["--appimage-offset"]).stdout).trim().parse().expect("a number");
    let bytes = fs::read(&made.file).expect("the file");
    assert_eq!(&bytes[offset..offset + 4], b"hsqs");
    assert_eq!(&bytes[8..11], b"AI\x02", "the mark of an AppImage of type 2");
    let version = made.run(&["--appimage-version"]);
    assert_eq!(
        text(&version.stdout).trim(),
        format!("carillon-appimage-runtime {}", env!("CARGO_PKG_VERSION"))
    );
    for empty in ["--appimage-signature", "--appimage-updateinformation", "--appimage-updateinfo"] {
        let answer = made.run(&[empty]);
        assert!(answer.status.success() && answer.stdout == b"\n", "{empty}");
    }
    let help = text(&made.run(&["--appimage-help"]).stdout);
    for option in
        ["extract", "extract-and-run", "mount", "offset", "signature", "updateinformation", "version", "help"]
    {
        assert!(help.contains(&format!("--appimage-{option}")), "{help}");
    }
    made.is_left_clean();
}

#[test]
fn a_mistyped_option_is_refused_and_does_not_start_the_program() {
    let made = make();
    let refused = made.run(&["--appimage-extrct"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--appimage-extrct"), "{}", text(&refused.stderr));
    assert!(refused.stdout.is_empty());
    // Only the first argument is ours: a program may have such an argument of its own.
    assert_eq!(text(&made.run(&["args", "--appimage-help"]).stdout), "<--appimage-help>");
}

#[test]
fn extracting_gives_every_byte_mode_and_link_back() {
    let made = make();
    let extracted = made.run(&["--appimage-extract"]);
    assert!(extracted.status.success(), "{}", text(&extracted.stderr));
    assert_eq!(extracted.stdout, b"squashfs-root\n");
    let root = made.folder.path().join("squashfs-root");
    let differences =
        Command::new("diff").args(["-r", "--no-dereference"]).arg(&made.inside).arg(&root).output();
    let differences = differences.expect("diff");
    assert!(differences.status.success(), "{}", text(&differences.stdout));
    for file in ["AppRun", "usr/small", "usr/empty"] {
        let mode = |root: &Path| fs::metadata(root.join(file)).expect(file).permissions().mode() & 0o777;
        assert_eq!(mode(&root), mode(&made.inside), "{file}");
    }
    assert!(made.run(&["--appimage-extract"]).status.success(), "a second time, over the first");
}

#[test]
fn a_part_is_extracted_by_its_name_or_a_pattern() {
    let made = make();
    let root = made.folder.path().join("squashfs-root");
    for (pattern, there, absent) in [
        ("usr/bin", "usr/bin/tool", "usr/small"),
        ("usr/*mpty", "usr/empty", "AppRun"),
        ("tool", "tool", "usr"),
    ] {
        let extracted = made.run(&["--appimage-extract", pattern]);
        assert!(extracted.status.success(), "{pattern}: {}", text(&extracted.stderr));
        assert!(root.join(there).symlink_metadata().is_ok(), "{pattern}");
        assert!(!root.join(absent).exists(), "{pattern}");
        fs::remove_dir_all(&root).expect("removed");
    }
    let nothing = made.run(&["--appimage-extract", "no/such/*"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(text(&nothing.stderr).contains("no/such/*"));
}

#[test]
fn extracting_writes_through_no_link_that_is_there() {
    let made = make();
    let (root, victim) = (made.folder.path().join("squashfs-root"), made.folder.path().join("victim"));
    fs::create_dir_all(&root).expect("a directory");
    fs::create_dir(&victim).expect("a directory");
    fs::write(victim.join("small"), "mine").expect("a file");
    std::os::unix::fs::symlink(victim.join("small"), root.join("AppRun")).expect("a link");
    assert!(made.run(&["--appimage-extract", "AppRun"]).status.success());
    assert_eq!(fs::read(victim.join("small")).expect("the file"), b"mine");
    std::os::unix::fs::symlink(&victim, root.join("usr")).expect("a link");
    assert_eq!(made.run(&["--appimage-extract"]).status.code(), Some(1));
    assert_eq!(fs::read(victim.join("small")).expect("the file"), b"mine");
    assert_eq!(fs::read_dir(&victim).expect("a directory").count(), 1);
}

#[test]
fn a_mount_shows_the_image_until_its_process_is_ended() {
    for how in ["TERM", "INT", "KILL"] {
        let made = make();
        let (mut child, path) = made.start(&["--appimage-mount"]);
        let mounted = Path::new(&path);
        assert!(mounted.starts_with(&made.temp), "{path}");
        let differences =
            Command::new("diff").args(["-r", "--no-dereference"]).arg(&made.inside).arg(mounted).output();
        let differences = differences.expect("diff");
        assert!(differences.status.success(), "{}", text(&differences.stdout));
        assert!(fs::write(mounted.join("new"), "").is_err(), "it is read-only");
        signal(child.id(), how);
        child.wait().expect("its end");
        made.is_left_clean();
    }
}
