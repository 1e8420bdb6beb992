//! The whole tree goes, whatever its members do to get away.

use crate::stage::{PTY, Stage, assert_exited};
use carillon_supervisor::{Cause, Io};
use carillon_testkit::{processes, waiting};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;

#[test]
fn daemons_that_left_session_and_parent_are_ended_and_named() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        for words in ["leave-daemon exit 5", "leave-double-forked exit 5", "leave-sleeper exit 5"] {
            let (record, live) = stage.run_agent(io, words);
            assert_exited(&record, 5);
            live.assert_nothing_left();
            if words.contains("sleeper") && io == PTY {
                // The kernel hangs up the terminal's foreground, so there may be nothing left to do.
                continue;
            }
            assert_eq!(record.ended.len(), 1, "{words}: {record:?}");
            assert_eq!(record.ended[0].name, "fake-agent");
            assert!(record.ended[0].reason.starts_with("ended by "), "{record:?}");
            assert!(record.left.is_empty());
        }
    }
}

#[test]
fn a_shell_whose_child_made_its_own_session_is_stopped_with_it() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.spec(PTY, &["sh", "-c", "setsid sleep 300 & echo up; wait"]));
    live.wait_for_text("up");
    live.control().sender().stop("you").expect("stop");
    let record = live.wait();
    assert!(record.left.is_empty(), "{record:?}");
    live.assert_nothing_left();
}

#[test]
fn fifty_programs_that_leave_sleepers_leave_nothing() {
    let stage = Stage::new();
    let mut all: Vec<_> =
        (0..50).map(|_| stage.start(&stage.agent(Io::Pipes, "leave-daemon leave-sleeper exit 0"))).collect();
    for live in &mut all {
        let record = live.wait();
        assert_exited(&record, 0);
        assert_eq!(record.ended.len(), 2, "{record:?}");
        live.assert_nothing_left();
    }
}

#[test]
fn no_program_is_used_to_end_processes() {
    let stage = Stage::new();
    let traps = stage.temp.path().join("traps");
    std::fs::create_dir(&traps).expect("dir");
    let called = stage.path("called");
    for name in ["kill", "pkill", "killall", "ps", "sh"] {
        let trap = traps.join(name);
        std::fs::write(&trap, format!("#!/bin/sh\necho {name} \"$@\" >> {called}\n")).expect("write");
        std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
    let spec = stage.agent(PTY, "leave-daemon leave-spinner ignore-hup ignore-term print up hang");
    let mut env = Stage::env(&spec.run);
    env.retain(|(name, _)| name != "PATH");
    env.push(("PATH".into(), format!("{}:/usr/bin:/bin", traps.display()).into()));
    let mut live = stage.start_with(&spec, &env);
    live.wait_for_text("up");
    live.control().sender().stop("you").expect("stop");
    assert_eq!(live.wait().signal, Some(9));
    live.assert_nothing_left();
    assert!(!std::path::Path::new(&called).exists(), "a trap was called");
}

#[test]
fn every_program_has_its_own_session_and_group() {
    let stage = Stage::new();
    // SAFETY: plain system calls about ourselves.
    let (own_group, own_session) = unsafe { (libc::getpgrp(), libc::getsid(0)) };
    for io in [PTY, Io::Pipes] {
        let mut live = stage.start(&stage.agent(io, "print-ids hang"));
        let log = live.wait_for_text("session");
        let pid = live.started().pid.expect("a pid");
        assert!(log.contains(&format!("pid {pid} group {pid} session {pid}")), "{log}");
        let supervisor = i32::try_from(live.supervisor).expect("a pid");
        for pid in [i32::try_from(pid).expect("a pid"), supervisor] {
            // SAFETY: as above.
            let (group, session) = unsafe { (libc::getpgid(pid), libc::getsid(pid)) };
            assert_eq!((group, session), (pid, pid));
            assert_ne!((group, session), (own_group, own_session));
        }
        live.control().sender().stop("you").expect("stop");
        live.wait();
    }
}

#[test]
fn a_stopped_child_is_ended_and_takes_nobody_else_with_it() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let mut bystander = stage.start(&stage.agent(io, "print up hang"));
        bystander.wait_for_text("up");
        let mut live = stage.start(&stage.agent(io, "leave-stopped-child print up hang"));
        live.wait_for_text("up");
        live.control().sender().stop("you").expect("stop");
        let record = live.wait();
        assert_eq!(record.cause, Cause::Stopped { by: "you".into() });
        assert_eq!(record.ended[0].reason, "ended by HUP", "it was woken to see it: {record:?}");
        live.assert_nothing_left();
        assert!(processes::name(bystander.supervisor).is_some());
        bystander.control().sender().stop("you").expect("stop");
        assert_eq!(bystander.wait().signal, Some(1));
    }
}

#[test]
fn a_helper_that_spins_at_the_end_of_its_input_is_ended_even_when_its_parent_was_killed() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes] {
        let mut live = stage.start(&stage.agent(io, "leave-spinner print up hang"));
        live.wait_for_text("up");
        processes::signal(live.started().pid.expect("a pid"), Signal::KILL);
        let record = live.wait();
        assert_eq!((record.cause, record.signal), (Cause::Ended, Some(9)));
        assert_eq!(record.ended.len(), 1);
        assert_eq!(record.ended[0].reason, "ended by KILL");
        live.assert_nothing_left();
    }
}

#[test]
fn a_process_that_hops_from_pid_to_pid_is_caught() {
    let stage = Stage::new();
    let (record, live) = stage.run_agent(Io::Pipes, "leave-hopper exit 0");
    assert_exited(&record, 0);
    assert!(record.left.is_empty(), "{record:?}");
    live.assert_nothing_left();
}

#[test]
fn hundreds_of_deaf_children_are_ended_and_the_record_stays_small() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(Io::Pipes, "fork-storm 300 print up hang"));
    live.wait_for_text("up");
    live.control().sender().stop("you").expect("stop");
    let record = live.wait();
    assert_eq!(record.ended.len(), carillon_supervisor::spec::NOTES_MAX);
    assert!(record.left.is_empty(), "{record:?}");
    live.assert_nothing_left();
}

#[test]
fn a_daemon_on_the_keep_list_is_left_alone_and_reported() {
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Pipes, "leave-named-daemon test-agentd leave-daemon exit 0");
    spec.keep = vec!["test-agentd".into()];
    let mut live = stage.start(&spec);
    let record = live.wait();
    assert_exited(&record, 0);
    assert_eq!(record.ended.len(), 1, "the other one is ended: {record:?}");
    assert_eq!(record.left.len(), 1, "{record:?}");
    assert_eq!(record.left[0].name, "test-agentd");
    assert_eq!(record.left[0].reason, "on the keep list");
    let alive = processes::with_marker(&live.run);
    assert_eq!(alive, [record.left[0].pid]);
    processes::kill_marked(&live.run);
    let gone = || processes::with_marker(&live.run).is_empty().then_some(());
    waiting::until("the daemon's end", gone);
}

#[test]
fn a_name_on_the_keep_list_saves_nobody_who_stayed_in_the_session() {
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Pipes, "leave-named-child test-agentd exit 0");
    spec.keep = vec!["test-agentd".into(), "fake-agent".into()];
    let mut live = stage.start(&spec);
    let record = live.wait();
    assert_eq!(record.ended.len(), 1, "{record:?}");
    assert!(record.left.is_empty(), "{record:?}");
    live.assert_nothing_left();
    // The program itself is never kept either.
    let mut spec = stage.agent(PTY, "print up hang");
    spec.keep = vec!["fake-agent".into()];
    let mut live = stage.start(&spec);
    live.wait_for_text("up");
    live.control().sender().stop("you").expect("stop");
    assert_eq!(live.wait().signal, Some(1));
}
