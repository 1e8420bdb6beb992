//! The control socket: input, stop and notices, with clients that come, go, hang and lie.

use crate::stage::{PTY, SUPERVISE, Stage, assert_exited, seconds};
use carillon_supervisor::{Cause, Control, Error, Event, Io, Observed, observe, was_accepted};
use carillon_testkit::{processes, waiting};
use rustix::process::Signal;
use std::io::{BufRead, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

#[test]
fn input_reaches_the_program_and_its_repeat_does_not() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "raw-mode print ready echo"));
    live.wait_for_text("ready");
    let mut control = live.control();
    let sender = control.sender();
    assert!(!was_accepted(&live.dir, 7).expect("journal"));
    for (id, text) in [(7, "one."), (8, "two."), (7, "one."), (8, "two.")] {
        sender.input(Some(id), text.as_bytes()).expect("input");
        assert_eq!(control.next().expect("an answer"), Event::Accepted { id });
        assert!(was_accepted(&live.dir, id).expect("journal"));
    }
    // Another client, as after a restart, is known the ids too.
    drop(control);
    let mut again = live.control();
    again.sender().input(Some(7), b"one.").expect("input");
    assert_eq!(again.next().expect("an answer"), Event::Accepted { id: 7 });
    again.sender().input(None, b"end.").expect("input");
    let log = live.wait_for_text("end.");
    assert!(log.ends_with("one.two.end."), "{log}");
    again.sender().stop("you").expect("stop");
    live.wait();
    assert!(was_accepted(&live.dir, 7).expect("journal"), "also after the end");
}

#[test]
fn input_that_nobody_can_read_is_refused() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(Io::Pipes, "print up hang"));
    live.wait_for_text("up");
    let mut control = live.control();
    control.sender().input(Some(1), b"x").expect("input");
    assert_eq!(control.next().expect("an answer"), Event::Refused { id: 1 });
    assert!(!was_accepted(&live.dir, 1).expect("journal"));
    let long = vec![b'x'; (1 << 20) + 1];
    let refused = control.sender().input(Some(2), &long);
    assert!(matches!(refused, Err(Error::InputTooLong { .. })));
    control.sender().stop("you").expect("stop");
    live.wait();
    assert_eq!(control.next().expect("the end"), Event::Closed);
    assert!(control.sender().input(Some(3), b"x").is_err());
}

#[test]
fn a_notice_comes_once_for_each_question_and_the_end_is_told() {
    let stage = Stage::new();
    let go = stage.path("go");
    let mut live =
        stage.start(&stage.agent(Io::Pipes, &format!("print abc wait-file {go} print def exit 0")));
    live.wait_for_text("abc");
    let mut control = live.control();
    control.wait_output(0);
    assert_eq!(control.next().expect("what is there already"), Event::Output { end: 4 });
    control.wait_output(4);
    std::fs::write(&go, "").expect("write");
    assert_eq!(control.next().expect("what comes"), Event::Output { end: 8 });
    assert_eq!(control.next().expect("the end"), Event::Closed);
    assert_exited(&live.wait(), 0);
}

#[test]
fn a_program_that_does_not_read_stalls_input_but_neither_notices_nor_the_stop() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "raw-mode print ready hang"));
    live.wait_for_text("ready");
    let mut control = live.control();
    let sender = control.sender();
    let rss = || processes::kib(format!("/proc/{}/status", live.supervisor), "VmRSS");
    let before = rss().expect("a living supervisor");
    let stalled = sender.clone();
    let paste = std::thread::spawn(move || stalled.input(None, &vec![b'x'; 8 << 20]));
    control.wait_output(0);
    assert!(matches!(control.next().expect("a notice"), Event::Output { .. }));
    waiting::until("a full queue", || rss().filter(|kib| *kib > before + 900));
    assert!(!paste.is_finished(), "there is no room for all of it");
    let asked = Instant::now();
    sender.stop("you").expect("stop");
    let full = rss().map_or(0, |kib| kib.saturating_sub(before));
    assert!(full < 4 << 10, "{full} KiB for a queue of 1 MiB");
    let record = live.wait();
    assert!(asked.elapsed() < seconds(2), "took {:?}", asked.elapsed());
    assert_eq!(record.cause, Cause::Stopped { by: "you".into() });
    // The rest was swallowed after the program's end, or the connection broke; it does not hang.
    drop(paste.join().expect("the paste's thread"));
}

#[test]
fn a_long_paste_arrives_whole_at_a_slow_reader() {
    let stage = Stage::new();
    let total = 3 << 20;
    let mut live = stage.start(&stage.agent(PTY, &format!("raw-mode slow-read {total}")));
    live.wait_for_text("raw");
    let bytes: Vec<u8> = (0..total).map(|n: u32| (n % 251) as u8).collect();
    let sum = bytes.iter().fold(0u64, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(*b)));
    live.control().sender().input(None, &bytes).expect("input");
    assert_exited(&live.wait(), 0);
    let log = live.log_text();
    assert!(log.contains(&format!("read {total} sum {sum:016x}")), "{log}");
}

/// A client process that follows the run, once it is attached.
fn follower(
    live: &crate::stage::Live,
) -> (Child, std::io::Lines<std::io::BufReader<std::process::ChildStdout>>) {
    let mut client = Command::new(SUPERVISE)
        .arg("attach")
        .arg(&live.dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a client");
    let out = client.stdout.take().expect("its output");
    let mut lines = std::io::BufReader::new(out).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "attached");
    (client, lines)
}

#[test]
fn a_client_that_is_killed_leaves_the_run_and_the_next_client_alone() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "raw-mode print ready echo"));
    live.wait_for_text("ready");
    for _ in 0..5 {
        let (mut client, _lines) = follower(&live);
        client.kill().expect("kill");
        client.wait().expect("wait");
    }
    let mut control = live.control();
    control.sender().input(Some(1), b"still here").expect("input");
    assert_eq!(control.next().expect("an answer"), Event::Accepted { id: 1 });
    live.wait_for_text("still here");
    control.sender().stop("you").expect("stop");
    live.wait();
}

#[test]
fn a_client_that_is_suspended_delays_neither_the_program_nor_its_time_out() {
    let stage = Stage::new();
    let go = stage.path("go");
    let mut spec = stage.agent(PTY, &format!("print up wait-file {go} flood 2000000 exit 4"));
    spec.timeout_ms = Some(15_000);
    let mut live = stage.start(&spec);
    let (mut client, lines) = follower(&live);
    processes::signal(client.id(), Signal::STOP);
    std::fs::write(&go, "").expect("write");
    let record = live.wait();
    assert_exited(&record, 4);
    assert!(record.duration_ms < 10_000, "{record:?}");
    processes::signal(client.id(), Signal::CONT);
    let last = lines.last().expect("lines").expect("text");
    assert_eq!(last, format!("offset {}", record.log_bytes), "it catches up");
    assert!(client.wait().expect("wait").success());
}

#[test]
fn many_clients_and_nonsense_do_no_harm() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "raw-mode print ready echo"));
    live.wait_for_text("ready");
    let socket = live.dir.join("control.sock");
    let connect = || std::os::unix::net::UnixStream::connect(&socket);
    for nonsense in
        [&b"\xff\xff\xff\xff\xff"[..], b"GET / HTTP/1.1\r\n\r\n", b"\x03\x01\x00\x00\x00x", b"\x07"]
    {
        connect().expect("connect").write_all(nonsense).expect("write");
    }
    // More than are served at a time; the rest waits and is served when these have gone.
    let crowd: Vec<_> = (0..60).map(|_| connect().expect("connect")).collect();
    let patience = std::time::Duration::from_millis(100);
    let crowded = Control::connect(&live.dir, patience);
    assert!(matches!(crowded, Err(Error::NoAnswer { .. })), "{crowded:?}");
    drop(crowd);
    let mut control = live.control();
    control.sender().input(Some(1), b"fine").expect("input");
    assert_eq!(control.next().expect("an answer"), Event::Accepted { id: 1 });
    control.sender().stop("you").expect("stop");
    live.wait();
}

#[test]
fn detaching_ends_a_blocked_wait_and_nothing_else() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "print up hang"));
    live.wait_for_text("up");
    let mut control = live.control();
    let sender = control.sender();
    let waiting = std::thread::spawn(move || control.next());
    sender.detach();
    assert_eq!(waiting.join().expect("a thread").expect("an event"), Event::Closed);
    assert!(matches!(observe(&live.dir), Ok(Observed::Alive { .. })));
    live.control().sender().stop("you").expect("stop");
    live.wait();
}

#[test]
fn a_run_whose_path_is_longer_than_a_socket_address_works() {
    let mut stage = Stage::new();
    stage.runs = stage.runs.join("x".repeat(120));
    std::fs::create_dir(&stage.runs).expect("dir");
    let mut live = stage.start(&stage.agent(PTY, "print up hang"));
    live.wait_for_text("up");
    live.control().sender().stop("you").expect("stop");
    assert_eq!(live.wait().cause, Cause::Stopped { by: "you".into() });
}

#[test]
fn nobody_answers_for_a_run_that_is_over() {
    let stage = Stage::new();
    let (_, live) = stage.run_agent(PTY, "exit 0");
    let refused = Control::connect(&live.dir, seconds(10));
    assert!(matches!(refused, Err(Error::NotAlive { .. })), "{refused:?}");
    let refused = Control::connect(&stage.runs.join("gone"), seconds(10));
    assert!(matches!(refused, Err(Error::NotAlive { .. })), "{refused:?}");
}
