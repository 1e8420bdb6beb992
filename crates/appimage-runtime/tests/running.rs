//! Running what is inside, mounted and extracted: what it is given, how it ends, and that nothing stays.

mod support;

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use support::{MODES, Made, first_line, keepers, make, make_named, signal, text, wait_until};

fn variables(output: &[u8]) -> HashMap<String, String> {
    let pairs = text(output);
    pairs
        .split('\0')
        .filter_map(|pair| pair.split_once('='))
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

#[test]
fn the_program_gets_its_arguments_and_gives_its_exit_code() {
    let made = make();
    for mode in MODES {
        let told = made.run_in(mode, &["args", "a b", "", "ä", "--appimage-mount", "'\n"]);
        assert_eq!(
            text(&told.stdout),
            "<a b><><ä><--appimage-mount><'\n>",
            "{mode:?} {}",
            text(&told.stderr)
        );
        assert_eq!(made.run_in(mode, &["code", "37"]).status.code(), Some(37), "{mode:?}");
        made.is_left_clean();
    }
}

#[test]
fn its_environment_is_ours_and_four_names() {
    let made = make();
    for mode in MODES {
        let mut command = made.command(&[mode, &["env"]].concat());
        command
            .env_clear()
            .env("TMPDIR", &made.temp)
            .env("PATH", "/usr/bin:/bin")
            .env("OWN", "1")
            .arg0("./it");
        let told = variables(&command.output().expect("it starts").stdout);
        let named = |name: &str| told.get(name).map(String::as_str);
        assert_eq!(named("APPIMAGE"), made.file.to_str(), "{mode:?}");
        assert_eq!(named("ARGV0"), Some("./it"));
        assert_eq!(named("OWD"), made.folder.path().to_str());
        assert!(named("APPDIR").is_some_and(|path| Path::new(path).starts_with(&made.temp)));
        let mut names: Vec<&str> = told.keys().map(String::as_str).collect();
        names.sort_unstable();
        // PWD and _ are the shell's that tells.
        names.retain(|name| !["PWD", "_", "SHLVL"].contains(name));
        assert_eq!(names, ["APPDIR", "APPIMAGE", "ARGV0", "OWD", "OWN", "PATH", "TMPDIR"], "{mode:?}");
    }
}

#[test]
fn it_inherits_no_descriptor_and_no_ignored_signal() {
    let made = make();
    // Whoever runs the tests hands something on, too: it is the same without us.
    let without_us = |what: &str| {
        let mut command = Command::new(made.inside.join("AppRun"));
        told(what, &command.arg(what).stdin(Stdio::null()).output().expect("it starts").stdout)
    };
    for (mode, what) in MODES.iter().flat_map(|mode| [(mode, "fds"), (mode, "signals")]) {
        let output = made.run_in(mode, &[what]);
        assert!(!output.stdout.is_empty());
        assert_eq!(told(what, &output.stdout), without_us(what), "{mode:?} {what}");
    }
}

/// What the program said. Of ignored signals, only those that a program can know: 32 and 33 are glibc's own.
fn told(what: &str, output: &[u8]) -> String {
    let said = text(output);
    if what != "signals" {
        return said;
    }
    let ignored = said.split_whitespace().last().expect("a mask");
    format!("{:x}", u64::from_str_radix(ignored, 16).expect("a mask") & 0x7fff_ffff)
}

#[test]
fn every_byte_can_be_read_through_the_mount() {
    let made = make();
    let sums: Vec<String> = MODES.iter().map(|mode| text(&made.run_in(mode, &["cat"]).stdout)).collect();
    let own =
        Command::new("cksum").stdin(fs::File::open(made.inside.join("usr/large")).expect("a file")).output();
    assert_eq!(sums, [text(&own.as_ref().expect("cksum").stdout), text(&own.expect("cksum").stdout)]);
}

#[test]
fn a_signal_reaches_the_program_itself_and_nothing_stays() {
    for mode in MODES {
        for (how, number) in [("TERM", 15), ("INT", 2), ("HUP", 1), ("KILL", 9)] {
            let made = make();
            let (mut child, app_dir) = made.start(&[mode, &["wait"]].concat());
            assert!(Path::new(&app_dir).join("AppRun").exists(), "{mode:?} {app_dir}");
            signal(child.id(), how);
            assert_eq!(child.wait().expect("its end").signal(), Some(number), "{mode:?} {how}");
            made.is_left_clean();
        }
    }
}

#[test]
fn a_signal_in_mid_extraction_leaves_nothing() {
    let made = make_named("Big.AppImage", |inside| {
        for number in 0..400 {
            support::write(&inside.join(format!("file-{number}")), &vec![number as u8; 200_000], 0o644);
        }
    });
    let mut command = made.command(&["--appimage-extract-and-run", "wait"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let files = || made.left().iter().flat_map(fs::read_dir).flatten().count();
    wait_until("some files are there", || files() > 3);
    signal(child.id(), "TERM");
    assert_eq!(child.wait().expect("its end").signal(), Some(15));
    made.is_left_clean();
}

#[test]
fn the_keepers_own_signals_end_nothing() {
    for mode in MODES {
        let made = make();
        let (mut child, app_dir) = made.start(&[mode, &["wait"]].concat());
        let keeper = keepers(&made.file);
        assert_eq!(keeper.len(), 1, "{mode:?}");
        for how in ["TERM", "INT", "HUP", "QUIT"] {
            signal(keeper[0], how);
        }
        assert!(fs::read(Path::new(&app_dir).join("usr/large")).is_ok(), "{mode:?}");
        assert_eq!(keepers(&made.file), keeper);
        signal(child.id(), "TERM");
        child.wait().expect("its end");
        made.is_left_clean();
    }
}

#[test]
fn what_a_killed_keeper_left_goes_at_the_next_start() {
    for mode in MODES {
        let made = make();
        let (mut child, _) = made.start(&[mode, &["wait"]].concat());
        signal(keepers(&made.file)[0], "KILL");
        signal(child.id(), "KILL");
        child.wait().expect("its end");
        wait_until("the keeper is gone", || keepers(&made.file).is_empty());
        assert_eq!(made.left().len(), 1, "{mode:?}: nobody was there to take it away");
        // What was killed lets go of its lock a moment after it is gone from sight: only a start after that
        // can tell that nobody has it.
        wait_until("a later start has taken it away", || {
            assert!(made.run_in(mode, &["code", "0"]).status.success());
            made.left().is_empty()
        });
        made.is_left_clean();
    }
}

#[test]
fn helpers_that_end_later_keep_no_mount() {
    let made = make();
    let mut child = made.command(&["linger"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let _app_dir = first_line(&mut child);
    let helper: u32 = first_line(&mut child).parse().expect("a process id");
    assert!(child.wait().expect("its end").success());
    wait_until("nothing is left in the temp directory", || made.left().is_empty());
    assert!(Path::new(&format!("/proc/{helper}")).exists(), "the helper goes on");
    assert_eq!(keepers(&made.file).len(), 1, "and is served for as long");
    signal(helper, "KILL");
    made.is_left_clean();
}

#[test]
fn a_reader_of_the_output_does_not_wait_for_the_keeper() {
    let made = make();
    let mut child = made.command(&["linger"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut all = String::new();
    // It ends with the program, though a helper of it keeps the keeper alive.
    child.stdout.as_mut().expect("output").read_to_string(&mut all).expect("read to its end");
    signal(all.lines().nth(1).expect("a line").parse().expect("a process id"), "KILL");
    child.wait().expect("its end");
    made.is_left_clean();
}

#[test]
fn two_at_once_do_not_touch_each_other() {
    for mode in MODES {
        let made = make();
        let (mut first, one) = made.start(&[mode, &["wait"]].concat());
        let (mut second, other) = made.start(&[mode, &["wait"]].concat());
        assert_ne!(one, other);
        signal(first.id(), "TERM");
        first.wait().expect("its end");
        wait_until("the first one's directory is gone", || !Path::new(&one).exists());
        assert!(fs::read(Path::new(&other).join("usr/large")).is_ok(), "{mode:?}");
        signal(second.id(), "TERM");
        second.wait().expect("its end");
        made.is_left_clean();
    }
}

#[test]
fn many_that_start_in_the_same_moment_do_not_sweep_each_other() {
    let made = make();
    for mode in MODES {
        let start = |number: &usize| {
            let mut command = made.command(&[mode, &["args", &number.to_string()]].concat());
            command.stdout(Stdio::piped()).spawn().expect("it starts")
        };
        let numbers: Vec<usize> = (0..8).collect();
        let children: Vec<_> = numbers.iter().map(start).collect();
        for (number, child) in children.into_iter().enumerate() {
            let output = child.wait_with_output().expect("its end");
            assert!(output.status.success(), "{mode:?} {:?}", output.status);
            assert_eq!(text(&output.stdout), format!("<{number}>"), "{mode:?}");
        }
        made.is_left_clean();
    }
}

#[test]
fn a_signal_before_anything_is_there_leaves_nothing() {
    // Sent right after the start, at no particular moment: in each the keeper, or nobody, is responsible.
    for mode in MODES {
        let made = make();
        for _ in 0..10 {
            let mut command = made.command(&[mode, &["wait"]].concat());
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            signal(child.id(), "TERM");
            assert_eq!(child.wait().expect("its end").signal(), Some(15), "{mode:?}");
        }
        made.is_left_clean();
    }
}

#[test]
fn it_runs_from_a_path_with_spaces_in_a_directory_that_nobody_may_write() {
    let made = make_named("An App, v1 (new).AppImage", |_| {});
    let folder = made.folder.path().join("read only");
    fs::create_dir(&folder).expect("a directory");
    let file = folder.join(made.file.file_name().expect("a name"));
    fs::rename(&made.file, &file).expect("moved");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o555)).expect("its mode");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("its mode");
    let made = Made { file, ..made };
    for mode in MODES {
        let mut command = made.command(&[mode, &["env"]].concat());
        let told = variables(&command.current_dir(&folder).output().expect("it starts").stdout);
        assert_eq!(told.get("APPIMAGE").map(String::as_str), made.file.to_str(), "{mode:?}");
        made.is_left_clean();
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn it_goes_on_when_its_file_is_moved_or_replaced() {
    let made = make();
    let (mut child, app_dir) = made.start(&["wait"]);
    fs::rename(&made.file, made.folder.path().join("moved")).expect("moved");
    fs::write(&made.file, "another version").expect("replaced");
    let read = fs::read(Path::new(&app_dir).join("usr/large")).expect("the mount is whole");
    assert_eq!(read, fs::read(made.inside.join("usr/large")).expect("the original"));
    signal(child.id(), "TERM");
    child.wait().expect("its end");
    made.is_left_clean();
}

#[test]
fn what_is_asked_to_stay_stays() {
    let made = make();
    let mut command = made.command(&["--appimage-extract-and-run", "code", "0"]);
    assert!(command.env("NO_CLEANUP", "1").status().expect("it starts").success());
    assert!(made.run_in(MODES[1], &["code", "0"]).status.success());
    wait_until("the second one's directory is gone", || keepers(&made.file).is_empty());
    let left = made.left();
    assert_eq!(left.len(), 1, "neither its own end nor the next start takes it away");
    assert!(left[0].join("usr/large").exists());
}

#[test]
fn the_variable_does_what_the_option_does() {
    let made = make();
    let started = |value: &str| {
        let mut command = made.command(&["wait"]);
        let command = command.env("APPIMAGE_EXTRACT_AND_RUN", value).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let app_dir = first_line(&mut child);
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        signal(child.id(), "TERM");
        child.wait().expect("its end");
        mounts.contains(&app_dir)
    };
    assert!(!started("1"), "extracted");
    assert!(started("0") && started(""), "mounted");
    made.is_left_clean();
}
