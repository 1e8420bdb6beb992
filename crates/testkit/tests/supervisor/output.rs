//! The log tells what was written, completely or with its gaps named.

use crate::stage::{GRACE, PTY, Stage, assert_exited, seconds};
use carillon_supervisor::{Grace, Io};
use std::time::Instant;

#[test]
fn output_that_a_descendant_holds_is_waited_for_within_the_bound_and_flagged() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let begun = Instant::now();
        let (record, live) = stage.run_agent(io, "print a leave-output-holder print b exit 6");
        assert_exited(&record, 6);
        assert!(record.output_held, "{record:?}");
        assert!(begun.elapsed() < seconds(3), "took {:?}", begun.elapsed());
        assert!(record.duration_ms < 300, "the wait is not the program's time: {record:?}");
        assert_eq!(live.log_text().replace('\r', ""), "a\nb\n");
        live.assert_nothing_left();
    }
}

#[test]
fn a_shell_that_leaves_a_sleeper_has_ended_with_its_own_code() {
    let stage = Stage::new();
    let mut spec = stage.spec(Io::Pipes, &["sh", "-c", "echo a; sleep 30 &"]);
    spec.grace = Grace::default();
    let begun = Instant::now();
    let record = stage.run(&spec);
    assert_exited(&record, 0);
    assert!(record.output_held);
    assert_eq!(record.ended[0].name, "sleep");
    assert!(begun.elapsed() < seconds(2), "took {:?}", begun.elapsed());
}

#[test]
fn the_end_in_a_terminal_is_noticed_although_a_background_child_holds_it() {
    let stage = Stage::new();
    // With job control the child is in a group of its own, which the kernel does not hang up.
    for script in ["sleep 60 & exit 3", "set -m; sleep 60 & exit 3", "trap '' HUP; sleep 60 & exit 3"] {
        let mut spec = stage.spec(PTY, &["bash", "-c", script]);
        spec.grace = Grace { hup_ms: 100, ..Grace::default() };
        let begun = Instant::now();
        let mut live = stage.start(&spec);
        let record = live.wait();
        assert_exited(&record, 3);
        assert!(begun.elapsed() < seconds(2), "{script}: {:?}", begun.elapsed());
        live.assert_nothing_left();
    }
}

#[test]
fn a_flood_is_cut_in_the_middle_and_the_status_is_still_right() {
    let stage = Stage::new();
    let cap = 1 << 20;
    for io in [PTY, Io::Pipes] {
        for word in ["flood", "flood-line"] {
            let bytes = 6 << 20;
            let words = format!("print first {word} {bytes} print last exit 9");
            let mut spec = stage.agent(io, &words);
            spec.log_max = cap;
            let mut live = stage.start(&spec);
            let record = live.wait();
            assert_exited(&record, 9);
            assert!(record.log_truncated && !record.output_held);
            assert!(record.log_bytes > bytes);
            let on_disk: u64 = std::fs::read_dir(&live.dir)
                .expect("the run's directory")
                .map(|entry| entry.expect("entry"))
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("log"))
                .map(|entry| entry.metadata().expect("meta").len())
                .sum();
            assert!(on_disk <= cap + cap / 8, "{on_disk} bytes");
            let (log, gaps) = live.log();
            assert!(log.starts_with(b"first"), "the head is kept");
            assert!(String::from_utf8_lossy(&log).trim_end().ends_with("last"), "the tail is kept");
            let [(from, to)] = gaps[..] else {
                panic!("one gap, not {gaps:?}");
            };
            assert_eq!(from, cap / 2);
            assert_eq!(log.len() as u64 + (to - from), record.log_bytes);
        }
    }
}

#[test]
fn a_flood_that_never_ends_is_stopped_with_a_log_under_its_cap() {
    let stage = Stage::new();
    let mut spec = stage.spec(PTY, &["yes"]);
    spec.log_max = 256 << 10;
    spec.timeout_ms = Some(700);
    let mut live = stage.start(&spec);
    let record = live.wait();
    assert_eq!(record.signal, Some(1));
    assert!(record.log_truncated, "{record:?}");
    assert!((live.log().0.len() as u64) <= (256 << 10) * 9 / 8);
    live.assert_nothing_left();
}

#[test]
fn what_was_written_just_before_the_end_is_all_there() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        for bytes in [1, 64, 4096, 65_536, 3_000_000] {
            let (record, live) = stage.run_agent(io, &format!("flood {bytes} exit 0"));
            assert_exited(&record, 0);
            let log = live.log_text().replace("\r\n", "\n");
            assert_eq!(log.len(), bytes, "{io:?}");
            let numbers = log.lines().filter(|l| l.len() == 63).map(|l| l.parse::<usize>().expect("a line"));
            assert!(numbers.enumerate().all(|(n, line)| n == line));
        }
    }
}

#[test]
fn bytes_are_kept_exactly_however_a_character_was_cut() {
    let stage = Stage::new();
    let dash = "e28094";
    let (record, live) =
        stage.run_agent(Io::Pipes, "raw e2 pause 50 raw 8094 raw 00fff09f pause 20 raw 9880 exit 0");
    assert_exited(&record, 0);
    assert_eq!(live.log().0, b"\xe2\x80\x94\x00\xff\xf0\x9f\x98\x80");
    let (_, live) = stage.run_agent(PTY, &format!("raw e2 pause 50 raw 8094 raw {dash} raw 1b5b316d exit 0"));
    assert_eq!(live.log().0, "\u{2014}\u{2014}\x1b[1m".as_bytes());
    assert_eq!(record.log_bytes, 9);
}

#[test]
fn without_a_terminal_nothing_waits_for_input() {
    let stage = Stage::new();
    let script = "cat; read x; echo read $?; (read x </dev/tty) 2>/dev/null; echo tty $?";
    let begun = Instant::now();
    let mut live = stage.start(&stage.spec(Io::Pipes, &["sh", "-c", script]));
    assert_exited(&live.wait(), 0);
    assert!(begun.elapsed() < seconds(5));
    let log = live.log_text();
    assert!(log.contains("read 1\n") && !log.contains("tty 0"), "{log}");
    let (_, live) = stage.run_agent(Io::Pipes, "print-tty");
    assert!(live.log_text().starts_with("no terminal"), "{}", live.log_text());
}

#[test]
fn output_and_errors_are_merged_in_their_order() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.spec(Io::Pipes, &["sh", "-c", "echo a; echo b >&2; echo c"]));
    assert_exited(&live.wait(), 0);
    assert_eq!(live.log_text(), "a\nb\nc\n");
}

#[test]
fn a_program_that_closes_its_output_is_still_waited_for() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let go = stage.path("go");
        let script = format!("exec >&- 2>&- <&-; while ! test -e {go}; do sleep 0.01; done; exit 8");
        let mut live = stage.start(&stage.spec(io, &["sh", "-c", &script]));
        live.started();
        // A closed terminal must neither look like the end nor keep the supervisor busy.
        let before = cpu_ticks(live.supervisor);
        std::thread::sleep(std::time::Duration::from_millis(200));
        let burnt = cpu_ticks(live.supervisor) - before;
        assert!(burnt < 10, "{burnt} ticks in 200 ms");
        std::fs::write(&go, "").expect("write");
        let record = live.wait();
        assert_exited(&record, 8);
        assert!(!record.output_held);
        std::fs::remove_file(&go).expect("remove");
    }
}

/// CPU time of a process in clock ticks of a hundredth of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a living process");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    fields[11..=12].iter().map(|f| f.parse::<u64>().expect("a number")).sum()
}

/// A limit on the size of files does to a log what a full disk does.
#[test]
fn a_log_that_cannot_be_written_costs_the_program_nothing() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Pipes, "flood 3000000 leave-daemon exit 5");
    spec.grace = GRACE;
    let before = getrlimit(Resource::Fsize);
    let limit = Rlimit { current: Some(1 << 20), maximum: before.maximum };
    setrlimit(Resource::Fsize, limit).expect("limit");
    let mut live = stage.start(&spec);
    setrlimit(Resource::Fsize, before).expect("limit");
    let record = live.wait();
    assert_exited(&record, 5);
    assert_eq!(record.log_bytes, 3_000_000);
    assert!(record.log_truncated);
    assert!(!live.log().0.is_empty());
    live.assert_nothing_left();
}
