//! Turns: a prompt in a file, output that is whole or refused, errors apart.

use crate::stage::{FAKE_AGENT, GRACE, Stage, assert_exited, seconds};
use carillon_supervisor::spec::ERRORS_MAX;
use carillon_supervisor::{Cause, Event, Grace, Io, Observed, create, observe};
use carillon_testkit::{processes, waiting};
use rustix::process::Signal;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

/// Longer than any pipe, and than what a kernel would take at once.
const LONG: usize = 10 << 20;

#[test]
fn the_prompt_comes_in_and_output_and_errors_go_out_apart() {
    let stage = Stage::new();
    let prompt = "what is\0 this \u{2014} ?\n".as_bytes();
    let spec = stage.spec(Io::Turn, &["sh", "-c", "echo oops >&2; cat; echo more >&2; exit 3"]);
    let mut live = stage.start_turn(&spec, prompt);
    let record = live.wait();
    assert_exited(&record, 3);
    assert_eq!(live.log().0, prompt);
    assert_eq!(live.errors().0, b"oops\nmore\n");
    assert_eq!((record.log_bytes, record.errors_bytes), (prompt.len() as u64, 10));
    assert!(!record.log_truncated && !record.errors_truncated && !record.output_held);
    for file in ["prompt", "log", "errors"] {
        let meta = std::fs::metadata(live.dir.join(file)).expect("a file of the run");
        assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{file}");
    }
}

#[test]
fn a_turn_has_a_session_of_its_own_and_no_terminal() {
    let stage = Stage::new();
    let mut live = stage.start_turn(&stage.agent(Io::Turn, "print-tty print-ids print-fds"), b"");
    assert_exited(&live.wait(), 0);
    let log = live.log_text();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].starts_with("no terminal"), "{log}");
    let ids: Vec<&str> = lines[1].split(' ').collect();
    assert!(ids[1] == ids[3] && ids[1] == ids[5], "{log}");
    let targets: Vec<&str> = lines[2..].iter().filter_map(|l| l.split(' ').nth(2)).collect();
    let [input, output, errors] = targets[..] else { panic!("three descriptors: {log}") };
    assert_eq!(input, live.dir.join("prompt").to_str().expect("a plain path"));
    assert!(output.starts_with("pipe:") && errors.starts_with("pipe:") && output != errors, "{log}");
}

#[test]
fn a_long_prompt_is_read_fast_slowly_or_not_at_all() {
    let stage = Stage::new();
    let prompt: Vec<u8> = (0..LONG).map(|n| u8::try_from(n * 7 % 251).expect("a byte")).collect();
    let spec = stage.spec(Io::Turn, &["cat"]);
    let mut live = stage.start_turn(&spec, &prompt);
    assert_exited(&live.wait(), 0);
    assert!(live.log().0 == prompt, "it came through as it was");
    let mut live = stage.start_turn(&stage.agent(Io::Turn, &format!("slow-read {LONG}")), &prompt);
    assert_exited(&live.wait(), 0);
    assert!(live.log_text().starts_with(&format!("read {LONG} ")), "{}", live.log_text());
    let mut live = stage.start_turn(&stage.agent(Io::Turn, "print deaf exit 4"), &prompt);
    assert_exited(&live.wait(), 4);
    assert_eq!(live.log_text(), "deaf\n");
}

#[test]
fn a_turn_that_writes_too_much_is_ended_and_its_beginning_stays() {
    let stage = Stage::new();
    let cap = 100_000;
    for words in ["leave-daemon flood 3000000 hang", "ignore-hup ignore-term flood-forever"] {
        let mut spec = stage.agent(Io::Turn, words);
        spec.log_max = cap;
        let mut live = stage.start_turn(&spec, b"");
        let record = live.wait();
        assert_eq!(record.cause, Cause::OutputTooLarge, "{words}");
        assert!(record.signal.is_some() && record.log_truncated && record.log_bytes > cap, "{record:?}");
        let (log, gaps) = live.log();
        assert_eq!((log.len() as u64, gaps), (cap, vec![]), "{words}");
        live.assert_nothing_left();
    }
}

#[test]
fn an_output_of_just_the_bound_is_an_answer() {
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Turn, "flood 100000 exit 0");
    spec.log_max = 100_000;
    let mut live = stage.start_turn(&spec, b"");
    let record = live.wait();
    assert_exited(&record, 0);
    assert!(!record.log_truncated);
    assert_eq!(live.log().0.len(), 100_000);
}

/// What a program leaves in the pipe is read after its end, and may be the part that is too much.
#[test]
fn an_answer_with_a_part_missing_is_none_even_if_the_program_ended_well() {
    let stage = Stage::new();
    let go = stage.path("go");
    let mut spec = stage.agent(Io::Turn, &format!("print up wait-file {go} flood 50000 exit 0"));
    spec.log_max = 20_000;
    let mut live = stage.start_turn(&spec, b"");
    live.wait_for_text("up");
    let pid = live.started().pid.expect("a pid");
    processes::signal(live.supervisor, Signal::STOP);
    std::fs::write(&go, "").expect("write");
    waiting::until("the program's end", || {
        processes::field(format!("/proc/{pid}/status"), "State")?.starts_with('Z').then_some(())
    });
    processes::signal(live.supervisor, Signal::CONT);
    let record = live.wait();
    assert_eq!(record.cause, Cause::OutputTooLarge);
    assert_eq!((record.exit_code, record.signal), (Some(0), None));
    assert_eq!(live.log().0.len(), 20_000);
}

#[test]
fn what_decided_on_the_end_first_stays_the_cause() {
    let stage = Stage::new();
    let script = "trap 'head -c 100000 /dev/zero; exit 9' HUP; echo up; while :; do sleep 0.01; done";
    let mut spec = stage.spec(Io::Turn, &["sh", "-c", script]);
    spec.log_max = 20_000;
    spec.grace = Grace { hup_ms: 15_000, ..GRACE };
    let mut live = stage.start_turn(&spec, b"");
    live.wait_for_text("up");
    live.control().sender().stop("the test").expect("stop");
    let record = live.wait();
    assert_eq!(record.cause, Cause::Stopped { by: "the test".into() });
    assert_eq!(record.exit_code, Some(9));
    // Nobody may take this for a whole answer either.
    assert!(record.log_truncated);
    assert_eq!(live.log().0.len(), 20_000);
}

#[test]
fn errors_keep_their_head_and_tail_and_never_end_a_turn() {
    let stage = Stage::new();
    let script =
        format!("echo first >&2; {FAKE_AGENT} flood 3000000 >&2; echo last >&2; echo the answer; exit 5");
    let mut spec = stage.spec(Io::Turn, &["sh", "-c", &script]);
    spec.log_max = 20_000;
    let mut live = stage.start_turn(&spec, b"");
    let record = live.wait();
    assert_exited(&record, 5);
    assert_eq!(live.log_text(), "the answer\n");
    assert!(!record.log_truncated && record.errors_truncated, "{record:?}");
    assert_eq!(record.errors_bytes, 3_000_000 + "first\nlast\n".len() as u64);
    let (errors, gaps) = live.errors();
    assert!(errors.starts_with(b"first\n") && errors.ends_with(b"last\n"));
    let [(from, to)] = gaps[..] else { panic!("one gap, not {gaps:?}") };
    assert_eq!(from, ERRORS_MAX / 2);
    assert_eq!(errors.len() as u64 + (to - from), record.errors_bytes);
    assert!(errors.len() as u64 <= ERRORS_MAX * 9 / 8, "{} bytes", errors.len());
}

#[test]
fn floods_on_both_pipes_at_once_are_both_drained() {
    let stage = Stage::new();
    let script = format!("{FAKE_AGENT} flood 5000000 >&2 & {FAKE_AGENT} flood 5000000; wait");
    let mut live = stage.start_turn(&stage.spec(Io::Turn, &["sh", "-c", &script]), b"");
    let record = live.wait();
    assert_exited(&record, 0);
    assert_eq!((record.log_bytes, record.errors_bytes), (5_000_000, 5_000_000));
    let log = live.log_text();
    let numbers = log.lines().filter(|l| l.len() == 63).map(|l| l.parse::<usize>().expect("a line"));
    assert!(numbers.enumerate().all(|(n, line)| n == line), "errors are among the output");
    live.assert_nothing_left();
}

#[test]
fn a_descendant_that_holds_only_the_errors_is_waited_for_within_the_bound() {
    let stage = Stage::new();
    let begun = Instant::now();
    let script = "echo answer; sleep 30 >/dev/null & exit 0";
    let mut live = stage.start_turn(&stage.spec(Io::Turn, &["sh", "-c", script]), b"");
    let record = live.wait();
    assert_exited(&record, 0);
    assert!(record.output_held, "{record:?}");
    assert_eq!(record.ended[0].name, "sleep");
    assert!(begun.elapsed() < seconds(5), "took {:?}", begun.elapsed());
    assert_eq!(live.log_text(), "answer\n");
    live.assert_nothing_left();

    let go = stage.path("go");
    let script =
        format!("(while ! test -e {go}; do sleep 0.01; done; echo late >&2) >/dev/null & echo up; exit 0");
    let mut spec = stage.spec(Io::Turn, &["sh", "-c", &script]);
    spec.grace = Grace { drain_ms: 15_000, ..GRACE };
    let mut live = stage.start_turn(&spec, b"");
    let pid = live.started().pid.expect("a pid");
    waiting::until("the program's end", || processes::name(pid).is_none().then_some(()));
    std::fs::write(&go, "").expect("write");
    let record = live.wait();
    assert_exited(&record, 0);
    // Its output ends before the process itself does, so it may be found still there and be ended.
    assert!(!record.output_held, "{record:?}");
    assert_eq!(live.errors_text(), "late\n");
}

#[test]
fn a_turn_whose_supervisor_was_killed_is_lost_with_what_it_had_written() {
    let stage = Stage::new();
    let spec = stage.spec(Io::Turn, &["sh", "-c", "echo so far; echo trouble >&2; exec sleep 60"]);
    let mut live = stage.start_turn(&spec, b"think");
    live.wait_for_text("so far");
    waiting::until("the errors", || live.errors_text().contains("trouble").then_some(()));
    let started = live.started();
    processes::signal(live.supervisor, Signal::KILL);
    live.wait_gone();
    match observe(&live.dir).expect("observe") {
        Observed::Lost(lost) => assert_eq!(lost, started),
        other => panic!("expected a lost run, observed {other:?}"),
    }
    assert_eq!((live.log_text(), live.errors_text()), ("so far\n".to_owned(), "trouble\n".to_owned()));
    assert_eq!(std::fs::read(live.dir.join("prompt")).expect("the prompt"), b"think");
}

#[test]
fn a_turn_is_told_of_stopped_timed_and_takes_no_input() {
    let stage = Stage::new();
    let go = stage.path("go");
    let spec = stage.agent(Io::Turn, &format!("print abc wait-file {go} print def hang"));
    let mut live = stage.start_turn(&spec, b"");
    let mut control = live.control();
    control.wait_output(0);
    assert_eq!(control.next().expect("an event"), Event::Output { end: 4 });
    control.wait_output(4);
    std::fs::write(&go, "").expect("write");
    assert_eq!(control.next().expect("an event"), Event::Output { end: 8 });
    control.sender().input(Some(7), b"more").expect("input");
    assert_eq!(control.next().expect("an event"), Event::Refused { id: 7 });
    control.sender().stop("the test").expect("stop");
    let record = live.wait();
    assert_eq!(record.cause, Cause::Stopped { by: "the test".into() });

    let mut spec = stage.agent(Io::Turn, "hang");
    spec.timeout_ms = Some(100);
    assert_eq!(stage.start_turn(&spec, b"").wait().cause, Cause::TimedOut);
}

#[test]
fn a_prompt_that_cannot_be_read_is_a_start_that_failed() {
    let stage = Stage::new();
    let spec = stage.spec(Io::Turn, &["cat"]);
    let leased = create(&stage.runs, &spec.run).expect("a run directory");
    // It must be a file of the run's own, so that nothing else can be slipped in.
    symlink("/etc/hostname", leased.path.join("prompt")).expect("a link");
    let record = stage.start_leased(leased, &spec, &Stage::env(&spec.run)).wait();
    match &record.cause {
        Cause::SpawnFailed { message } => assert!(message.contains("the prompt for cat"), "{message}"),
        other => panic!("expected a failed start, recorded {other:?}"),
    }
    assert!(record.duration_ms < u64::try_from(Duration::from_secs(5).as_millis()).expect("few"));
}
