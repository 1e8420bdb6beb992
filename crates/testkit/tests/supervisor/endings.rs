//! How a run ends and what its record says.

use crate::stage::{GRACE, PTY, SUPERVISE, Stage, assert_exited, seconds};
use carillon_supervisor::{Cause, Grace, Io, Observed, observe};
use carillon_testkit::{processes, waiting};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

#[test]
fn an_exit_code_is_told_from_a_signal() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        for (words, code, signal) in [
            ("exit 0", Some(0), None),
            ("exit 3", Some(3), None),
            ("exit 143", Some(143), None),
            ("kill-self 15", None, Some(15)),
            ("kill-self 9", None, Some(9)),
            ("segfault", None, Some(11)),
        ] {
            let (record, _) = stage.run_agent(io, words);
            assert_eq!((record.exit_code, record.signal), (code, signal), "{words} {io:?}");
            assert_eq!(record.cause, Cause::Ended);
            assert!(record.ended_ms >= record.started_ms);
            assert!(!record.output_held && !record.log_truncated);
            assert_eq!((record.ended.len(), record.left.len()), (0, 0));
        }
    }
}

#[test]
fn a_program_that_cannot_be_executed_is_named_with_its_reason() {
    let stage = Stage::new();
    let script = stage.path("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("write");
    let plain = stage.path("plain");
    std::fs::write(&plain, "text").expect("write");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("mode");
    for io in [PTY, Io::Pipes] {
        for (program, reason) in [
            ("no-such-program", "not found on PATH"),
            (plain.as_str(), "is not executable"),
            ("/", "is a directory"),
            (script.as_str(), "/no/such/interpreter is not there"),
        ] {
            let mut live = stage.start(&stage.spec(io, &[program, "argument"]));
            let record = live.wait();
            let Cause::SpawnFailed { message } = &record.cause else {
                panic!("{program}: {record:?}");
            };
            assert!(message.contains(program) && message.contains(reason), "{message}");
            assert_eq!((record.exit_code, record.signal), (None, None));
            assert_eq!(live.log().0, b"", "nothing is written in the program's name");
            assert_no_part_is_left(&live.dir);
        }
    }
}

#[test]
fn a_directory_that_is_gone_is_named() {
    let stage = Stage::new();
    let mut spec = stage.agent(PTY, "exit 0");
    spec.cwd = stage.temp.path().join("gone");
    let record = stage.run(&spec);
    let Cause::SpawnFailed { message } = record.cause else {
        panic!("{record:?}");
    };
    assert!(message.contains("gone is not there"), "{message}");
}

#[track_caller]
fn assert_no_part_is_left(dir: &std::path::Path) {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .expect("the run's directory")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["exit.json", "log", "spec.json", "started.json"]);
}

#[test]
fn a_time_out_ends_the_whole_tree_and_nothing_happens_later() {
    let stage = Stage::new();
    let late = stage.path("late");
    let mut spec = stage.agent(Io::Pipes, &format!("leave-late-writer {late} 1500 hang"));
    spec.timeout_ms = Some(200);
    let mut live = stage.start(&spec);
    let record = live.wait();
    assert_eq!(record.cause, Cause::TimedOut);
    assert_eq!(record.signal, Some(1), "{record:?}");
    assert!(record.duration_ms >= 200, "{record:?}");
    assert!(record.duration_ms < 1000, "{record:?}");
    assert_eq!(record.ended.len(), 1, "the worker is named: {record:?}");
    // The writer cannot write any more, because it is not there any more.
    live.assert_nothing_left();
    assert!(!std::path::Path::new(&late).exists());
}

#[test]
fn a_program_that_ends_in_time_has_not_timed_out_however_long_its_children_take() {
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Pipes, "leave-output-holder exit 0");
    spec.timeout_ms = Some(250);
    spec.grace = Grace { drain_ms: 500, ..GRACE };
    assert_exited(&stage.run(&spec), 0);
}

#[test]
fn a_stop_is_recorded_with_who_asked_and_goes_up_to_kill() {
    let stage = Stage::new();
    for (words, signal) in
        [("print up hang", 1), ("ignore-hup print up hang", 15), ("ignore-hup ignore-term print up hang", 9)]
    {
        for io in [PTY, Io::Pipes] {
            let mut live = stage.start(&stage.agent(io, words));
            live.wait_for_text("up");
            live.control().sender().stop("the test").expect("stop");
            let record = live.wait();
            assert_eq!(record.cause, Cause::Stopped { by: "the test".into() });
            assert_eq!((record.exit_code, record.signal), (None, Some(signal)), "{words} {io:?}");
            live.assert_nothing_left();
        }
    }
}

#[test]
fn a_stop_after_the_program_has_ended_changes_nothing_but_the_waiting() {
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Pipes, "leave-output-holder print up exit 7");
    spec.grace = Grace { drain_ms: 60_000, ..GRACE };
    let mut live = stage.start(&spec);
    let pid = live.started().pid.expect("a pid");
    let gone = || processes::name(pid).is_none().then_some(());
    waiting::until("the program's end", gone);
    let asked = Instant::now();
    live.control().sender().stop("too late").expect("stop");
    let record = live.wait();
    assert_exited(&record, 7);
    assert!(record.output_held);
    assert!(asked.elapsed() < seconds(10));
    live.assert_nothing_left();
}

#[test]
fn term_to_the_supervisor_ends_its_tree_and_is_recorded() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let mut live = stage.start(&stage.agent(io, "leave-daemon leave-double-forked print up hang"));
        live.wait_for_text("up");
        for harmless in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::PIPE, Signal::USR1] {
            processes::signal(live.supervisor, harmless);
        }
        assert!(matches!(observe(&live.dir), Ok(Observed::Alive { .. })));
        processes::signal(live.supervisor, Signal::TERM);
        let record = live.wait();
        assert_eq!(record.cause, Cause::SystemStop);
        assert_eq!(record.signal, Some(1));
        assert_eq!(record.ended.len(), 2, "{record:?}");
        live.assert_nothing_left();
    }
}

#[test]
fn term_while_the_program_is_being_started_loses_nothing() {
    let stage = Stage::new();
    for pause_us in (0..3000).step_by(150) {
        let mut live = stage.start(&stage.agent(Io::Pipes, "hang"));
        // Not for luck: every moment of the start is to be hit.
        std::thread::sleep(std::time::Duration::from_micros(pause_us));
        processes::signal(live.supervisor, Signal::TERM);
        live.wait_gone();
        match observe(&live.dir).expect("observe") {
            Observed::Ended(record) => assert_eq!(record.cause, Cause::SystemStop),
            Observed::NeverBegan => {}
            other => panic!("after {pause_us} us: {other:?}"),
        }
        live.assert_nothing_left();
    }
}

#[test]
fn a_wrong_call_is_refused_and_touches_nothing() {
    let stage = Stage::new();
    let (record, live) = stage.run_agent(Io::Pipes, "exit 4");
    let run_dir = live.dir.to_str().expect("a plain path");
    for args in [
        vec!["supervise"],
        vec!["supervise", run_dir],
        vec!["supervise", run_dir, "--lease-fds", "x"],
        vec!["supervise", run_dir, "--lease-fds", "0"],
        vec!["supervise", run_dir, "--lease-fds", "77"],
    ] {
        let done = std::process::Command::new(SUPERVISE).args(&args).output().expect("run it");
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(!done.stderr.is_empty());
    }
    assert_eq!(observe(&live.dir).expect("observe"), Observed::Ended(record));
}
