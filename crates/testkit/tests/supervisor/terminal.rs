//! What a program finds when it starts: signals, descriptors, terminal, directory, environment.

use crate::stage::{PTY, SUPERVISE, Stage, assert_exited};
use carillon_supervisor::{Io, LogReader};
use carillon_testkit::waiting;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// HUP, INT, TERM, CHLD and PIPE as bits of the masks in /proc.
const MUST_NOT_BE_IGNORED: u64 = 1 << 0 | 1 << 1 | 1 << 14 | 1 << 16 | 1 << 12;

#[track_caller]
fn assert_clean_signals(log: &str) {
    let mask = |name: &str| {
        let line = log.lines().find_map(|l| l.trim().strip_prefix(name)).expect(name);
        u64::from_str_radix(line.trim(), 16).expect("a mask")
    };
    assert_eq!(mask("SigBlk:"), 0, "{log}");
    assert_eq!(mask("SigIgn:") & MUST_NOT_BE_IGNORED, 0, "{log}");
    assert_eq!(mask("SigIgn:"), 0, "{log}");
}

#[test]
fn no_signal_is_blocked_or_ignored() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let (record, live) = stage.run_agent(io, "print-sig");
        assert_exited(&record, 0);
        assert_clean_signals(&live.log_text());
    }
}

#[test]
fn signals_are_clean_even_if_whoever_launches_ignores_and_blocks_everything() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let spec = stage.agent(io, "print-sig");
        let file = stage.path("spec");
        std::fs::write(&file, serde_json::to_vec(&spec).expect("json")).expect("write");
        let mut launcher = std::process::Command::new(SUPERVISE);
        launcher.arg("launch").arg(&stage.runs).arg(&file).stdout(std::process::Stdio::null());
        // SAFETY: system calls only.
        unsafe {
            launcher.pre_exec(|| {
                for signal in 1..=31 {
                    libc::signal(signal, libc::SIG_IGN);
                }
                let mut all = std::mem::MaybeUninit::uninit();
                libc::sigfillset(all.as_mut_ptr());
                libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
                Ok(())
            });
        }
        // With CHLD ignored the launcher cannot wait for its child, so its own status says nothing.
        launcher.spawn().expect("a launcher").wait().expect("wait");
        let dir = stage.runs.join(&spec.run);
        let log = waiting::until("the record", || dir.join("exit.json").exists().then(|| read(&dir)));
        assert_clean_signals(&log);
    }
}

fn read(dir: &std::path::Path) -> String {
    let mut buf = vec![0; 64 << 10];
    match LogReader::open(dir).expect("a log").read_at(0, &mut buf).expect("a read") {
        carillon_supervisor::Read::Bytes(n) => String::from_utf8_lossy(&buf[..n]).into_owned(),
        other => panic!("nothing to read: {other:?}"),
    }
}

#[test]
fn a_program_gets_its_three_descriptors_and_none_of_ours() {
    let stage = Stage::new();
    for (io, stdin, out) in [(PTY, "/dev/pts/", "/dev/pts/"), (Io::Pipes, "/dev/null", "pipe:")] {
        let (record, live) = stage.run_agent(io, "print-fds");
        assert_exited(&record, 0);
        let log = live.log_text();
        let fds: Vec<&str> = log.lines().map(str::trim).collect();
        assert_eq!(fds.len(), 3, "{log}");
        assert!(fds[0].starts_with(&format!("fd 0 {stdin}")), "{log}");
        assert!(fds[1].starts_with(&format!("fd 1 {out}")), "{log}");
        assert!(fds[2].starts_with(&format!("fd 2 {out}")), "{log}");
    }
}

#[test]
fn a_descriptor_that_leaked_into_the_supervisor_ends_there() {
    let stage = Stage::new();
    // Without close-on-exec, as some libraries in a desktop process leave theirs.
    let leak = std::fs::File::open("/dev/zero").expect("open");
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).expect("fcntl");
    let mut live = stage.start(&stage.agent(PTY, "print-fds print up hang"));
    let log = live.wait_for_text("up");
    assert!(!log.contains("/dev/zero"), "{log}");
    let held = std::fs::read_dir(format!("/proc/{}/fd", live.supervisor)).expect("descriptors");
    for entry in held {
        let target = std::fs::read_link(entry.expect("entry").path()).unwrap_or_default();
        assert_ne!(target, std::path::Path::new("/dev/zero"));
    }
    live.control().sender().stop("you").expect("stop");
    live.wait();
}

#[test]
fn the_terminal_is_the_programs_own_and_has_the_size_of_the_spec() {
    let stage = Stage::new();
    for (cols, rows, expected) in [(120, 40, "120x40"), (0, 0, "80x24")] {
        let (_, live) = stage.run_agent(Io::Pty { cols, rows }, "print-tty");
        assert_eq!(live.log_text().trim(), format!("a terminal of {expected}"));
    }
}

#[test]
fn directory_arguments_and_environment_arrive_as_given_and_stand_in_no_file() {
    let stage = Stage::new();
    let mut spec = stage.spec(Io::Pipes, &["sh", "-c", "pwd; echo \"$0|$1\"; env", "a b", "c'd\n"]);
    spec.cwd = stage.temp.path().canonicalize().expect("a directory");
    let env: Vec<(std::ffi::OsString, std::ffi::OsString)> = vec![
        ("CARILLON_RUN".into(), spec.run.as_str().into()),
        ("SECRET_TOKEN".into(), "s3cr3t-value".into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
    ];
    let mut live = stage.start_with(&spec, &env);
    assert_exited(&live.wait(), 0);
    let log = live.log_text();
    assert!(log.starts_with(&format!("{}\na b|c'd\n", spec.cwd.display())), "{log}");
    assert!(log.contains("SECRET_TOKEN=s3cr3t-value\n"), "{log}");
    assert!(!log.contains("HOME="), "exactly the given environment: {log}");
    for name in ["spec.json", "started.json", "exit.json"] {
        let text = std::fs::read_to_string(live.dir.join(name)).expect(name);
        assert!(!text.contains("s3cr3t"), "{name}: {text}");
    }
}

#[test]
fn the_supervisor_stands_in_no_directory_of_the_users() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "print up hang"));
    live.wait_for_text("up");
    let cwd = std::fs::read_link(format!("/proc/{}/cwd", live.supervisor)).expect("a directory");
    assert_eq!(cwd, std::path::Path::new("/"));
    live.control().sender().stop("you").expect("stop");
    live.wait();
}

#[test]
fn a_storm_of_sizes_costs_few_signals_and_ends_at_the_last_size() {
    let stage = Stage::new();
    // The child holds the terminal beyond the program's end, so that there is an "after".
    let mut live = stage.start(&stage.agent(PTY, "leave-output-holder count-winch"));
    let pid = live.started().pid.expect("a pid");
    live.wait_for_text("counting");
    let sender = live.control().sender();
    let begun = Instant::now();
    for step in 0..100u16 {
        sender.resize(100 + step, 30).expect("resize");
        sender.resize(0, 0).expect("resize");
        let next = begun + Duration::from_millis(10) * u32::from(step + 1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let last = waiting::until("the last size", || {
        sender.input(None, b"?\n").expect("input");
        let log = live.log_text();
        let line = log.lines().rev().find(|l| l.contains("size 199x30"))?;
        Some(line.to_owned())
    });
    let count: usize = last.split(' ').nth(1).expect("a count").parse().expect("a number");
    assert!((1..=15).contains(&count), "{last}");
    // No zero was ever applied, and sizes after the end do no harm.
    assert!(!live.log_text().contains("0x0"));
    sender.input(None, b"\x04").expect("end of input");
    waiting::until("the program's end", || carillon_testkit::processes::name(pid).is_none().then_some(()));
    sender.resize(10, 10).expect("the supervisor still drains");
    assert_exited(&live.wait(), 0);
    assert!(sender.resize(10, 10).is_err(), "the supervisor is gone");
}
