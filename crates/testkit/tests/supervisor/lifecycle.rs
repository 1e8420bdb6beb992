//! Leases and records when the processes around a run die, and what many runs cost.

use crate::stage::{PTY, SUPERVISE, Stage, assert_exited};
use carillon_supervisor::{
    Cause, Control, Error, Io, Observed, RunSpec, create, is_same_process, launch, observe,
};
use carillon_testkit::{processes, waiting};
use rustix::fs::FlockOperation;
use rustix::process::Signal;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn launcher(stage: &Stage, spec: &RunSpec) -> Child {
    let file = stage.path("spec");
    std::fs::write(&file, serde_json::to_vec(spec).expect("json")).expect("write");
    Command::new(SUPERVISE)
        .arg("launch")
        .arg(&stage.runs)
        .arg(&file)
        .env("CARILLON_RUN", &spec.run)
        .stdout(Stdio::null())
        .spawn()
        .expect("a launcher")
}

/// Waits until nobody holds the run's lease and answers what became of it.
fn settled(dir: &Path) -> Observed {
    waiting::until("a free lease", || match observe(dir).expect("observe") {
        Observed::Alive { .. } => None,
        other => Some(other),
    })
}

#[test]
fn a_launcher_that_is_killed_at_any_moment_leaves_a_right_record_or_none() {
    let stage = Stage::new();
    let mut ended = 0;
    for round in 0..40u64 {
        let spec = stage.agent(if round % 2 == 0 { PTY } else { Io::Pipes }, "leave-daemon pause 20 exit 6");
        let mut launcher = launcher(&stage, &spec);
        // Not for luck: the moments are spread over the whole start.
        std::thread::sleep(Duration::from_micros(round * 400));
        launcher.kill().expect("kill");
        launcher.wait().expect("wait");
        match settled(&stage.runs.join(&spec.run)) {
            Observed::Ended(record) => {
                assert_exited(&record, 6);
                ended += 1;
            }
            Observed::NeverBegan | Observed::Gone => {}
            other => panic!("round {round}: {other:?}"),
        }
        let left = processes::with_marker(&spec.run);
        assert!(left.is_empty(), "round {round} left {left:?}");
    }
    assert!(ended > 0, "some launchers lived long enough");
}

#[test]
fn a_supervisor_that_is_killed_is_lost_and_its_lease_is_free() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "ignore-hup leave-daemon print up hang"));
    live.wait_for_text("up");
    let started = live.started();
    let (pid, start_time) = (started.pid.expect("a pid"), started.start_time.expect("a time"));
    assert!(is_same_process(pid, start_time, &started.boot_id));
    assert!(is_same_process(live.supervisor, started.supervisor_start_time, &started.boot_id));
    assert_eq!(started.supervisor_pid, live.supervisor);
    processes::signal(live.supervisor, Signal::KILL);
    live.wait_gone();
    assert_eq!(observe(&live.dir).expect("observe"), Observed::Lost(started));
    let refused = Control::connect(&live.dir, Duration::from_secs(10));
    assert!(matches!(refused, Err(Error::NotAlive { .. })));
    // The strays are alive and can be told by their marker.
    assert!(is_same_process(pid, start_time, &carillon_supervisor::boot_id()));
    assert!(processes::with_marker(&live.run).contains(&pid));
}

#[test]
fn a_run_that_was_leased_and_not_launched_never_began() {
    let stage = Stage::new();
    let leased = create(&stage.runs, &stage.id()).expect("create");
    let dir = leased.path.clone();
    assert_eq!(observe(&dir).expect("observe"), Observed::Alive { started: None });
    drop(leased);
    assert_eq!(observe(&dir).expect("observe"), Observed::NeverBegan);
}

#[test]
fn further_leases_are_held_until_the_end_and_not_by_the_program() {
    let stage = Stage::new();
    let temp = stage.temp.path().join("managed");
    std::fs::create_dir(&temp).expect("dir");
    let lock = |operation| {
        let dir = OwnedFd::from(std::fs::File::open(&temp).expect("open"));
        rustix::fs::flock(&dir, operation).map(|()| dir)
    };
    let lease = lock(FlockOperation::NonBlockingLockExclusive).expect("lease");
    let spec = stage.agent(PTY, "print-fds print up hang");
    let leased = create(&stage.runs, &spec.run).expect("create");
    let dir = leased.path.clone();
    let launched = launch(Path::new(SUPERVISE), leased, &spec, &Stage::env(&spec.run), vec![lease]);
    let launched = launched.expect("a supervisor");
    let control = Control::connect(&dir, waiting::PATIENCE).expect("a connection");
    assert!(lock(FlockOperation::NonBlockingLockShared).is_err(), "held by the supervisor");
    control.sender().stop("you").expect("stop");
    launched.reap().expect("reap");
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_ok(), "free at the end");
    assert!(matches!(observe(&dir), Ok(Observed::Ended(_))));
}

#[test]
fn a_supervisor_can_be_reaped_without_blocking() {
    let stage = Stage::new();
    let spec = stage.agent(Io::Pipes, "exit 0");
    let leased = create(&stage.runs, &spec.run).expect("create");
    let env = Stage::env(&spec.run);
    let mut launched = launch(Path::new(SUPERVISE), leased, &spec, &env, vec![]).expect("launch");
    waiting::until("the end", || launched.try_reap().expect("our child").then_some(()));
    assert!(matches!(launched.try_reap(), Err(Error::Reap { .. })), "only once");
}

#[test]
fn the_record_of_an_earlier_boot_names_no_process_of_this_one() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "hang"));
    let started = live.started();
    let (pid, start_time) = (started.pid.expect("a pid"), started.start_time.expect("a time"));
    assert!(is_same_process(pid, start_time, &started.boot_id));
    assert!(!is_same_process(pid, start_time, "an earlier boot"));
    live.control().sender().stop("you").expect("stop");
    live.wait();
    assert!(!is_same_process(pid, start_time, &started.boot_id));
}

#[test]
fn descriptors_terminals_and_threads_stay_flat_over_a_hundred_runs() {
    let stage = Stage::new();
    let cycle = |round: u32| {
        let io = if round.is_multiple_of(4) { Io::Pipes } else { PTY };
        let mut live = stage.start(&stage.agent(io, if round.is_multiple_of(3) { "hang" } else { "exit 0" }));
        if round.is_multiple_of(3) {
            let mut control = live.control();
            control.wait_output(0);
            control.sender().stop("you").expect("stop");
        }
        live.wait();
        live.assert_nothing_left();
    };
    cycle(0);
    let before = (processes::open_descriptors(), processes::threads());
    let terminals = processes::terminals();
    (1..=100).for_each(cycle);
    // The thread that waited for the last supervisor may just be going.
    waiting::until("the same number of descriptors and threads", || {
        let now = (processes::open_descriptors(), processes::threads());
        (now.0 <= before.0 && now.1 <= before.1).then_some(())
    });
    // Other tests have terminals, too, but not a hundred at a time.
    assert!(processes::terminals() < terminals + 50);
}

#[test]
fn a_flood_costs_the_supervisor_no_memory() {
    let stage = Stage::new();
    let go = stage.path("go");
    let mut live =
        stage.start(&stage.agent(PTY, &format!("print up wait-file {go} flood 20000000 print done hang")));
    live.wait_for_text("up");
    // Not the private memory: pages of the program file change between private and shared as other
    // supervisors come and go.
    let rollup = format!("/proc/{}/smaps_rollup", live.supervisor);
    let own = || processes::kib(&rollup, "Anonymous").expect("a field");
    let before = own();
    std::fs::write(&go, "").expect("write");
    let reader = carillon_supervisor::LogReader::open(&live.dir).expect("a log");
    waiting::until("the flood", || (reader.end().expect("end") > 20_000_000).then_some(()));
    let after = own();
    assert!(after <= before + 128, "{before} KiB before, {after} KiB after");
    assert!(after < 2048, "{after} KiB");
    live.control().sender().stop("you").expect("stop");
    assert_eq!(live.wait().cause, Cause::Stopped { by: "you".into() });
}
