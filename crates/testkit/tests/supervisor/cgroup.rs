//! A cgroup for each run. Where the system lets us have none, there is nothing to be seen here.

use crate::stage::{FAKE_AGENT, Live, PTY, Stage};
use carillon_supervisor::{Cause, Io, Observed, cgroup, observe};
use carillon_testkit::{processes, waiting};
use rustix::process::Signal;
use std::path::PathBuf;

/// The run's cgroup, once its program has been started in it. None only where this test could not make
/// one either.
fn place(live: &Live) -> Option<PathBuf> {
    let place = live.started().cgroup;
    if place.is_none() {
        let own = of(std::process::id());
        let probe = format!("probe-{}", std::process::id());
        let made = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter().find_map(|mount| {
            let dir = PathBuf::from(format!("{mount}{own}")).join(&probe);
            (PathBuf::from(mount).join("cgroup.procs").exists() && std::fs::create_dir(&dir).is_ok())
                .then_some(dir)
        });
        made.iter().for_each(|dir| std::fs::remove_dir(dir).expect("the probe goes"));
        assert_eq!(made, None, "a cgroup can be made here");
        eprintln!("no cgroup can be made here");
    }
    place
}

/// The cgroup of a process, as the system tells it.
fn of(pid: u32) -> String {
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("a living process");
    groups.lines().find_map(|line| line.strip_prefix("0::")).expect("version 2").to_owned()
}

/// The pid that a program has written into a file.
fn pid_in(file: &str) -> u32 {
    waiting::until(file, || std::fs::read_to_string(file).ok()?.strip_suffix('\n')?.parse().ok())
}

#[test]
fn a_run_has_a_cgroup_with_all_its_processes_which_goes_with_it() {
    let stage = Stage::new();
    for io in [PTY, Io::Pipes, Io::Turn] {
        let spec = stage.agent(io, "leave-daemon leave-double-forked print up hang");
        let mut live = stage.start_turn(&spec, b"");
        live.wait_for_text("up");
        let Some(place) = place(&live) else { return };
        assert!(place.ends_with(format!("carillon-{}", live.run)), "{}", place.display());
        let mut members: Vec<u32> = cgroup::members(&live.dir).iter().map(|m| m.pid).collect();
        let mut marked = processes::with_marker(&live.run);
        marked.retain(|pid| *pid != live.supervisor);
        members.sort_unstable();
        marked.sort_unstable();
        assert_eq!((members.len(), members), (3, marked), "the supervisor is not among them");
        live.control().sender().stop("the test").expect("stop");
        live.wait();
        live.assert_nothing_left();
        assert!(!place.exists(), "{} is left behind", place.display());
    }
}

#[test]
fn what_hides_from_a_killed_supervisor_is_still_found() {
    let stage = Stage::new();
    let file = stage.path("pid");
    let script = format!(
        "env -i setsid sh -c 'echo $$ >{file}.part; mv {file}.part {file}; exec sleep 1000' & echo up; wait"
    );
    let mut live = stage.start(&stage.spec(Io::Pipes, &["sh", "-c", &script]));
    live.wait_for_text("up");
    let hidden = pid_in(&file);
    let Some(place) = place(&live) else {
        live.control().sender().stop("the test").expect("stop");
        live.wait();
        return;
    };
    processes::signal(live.supervisor, Signal::KILL);
    live.wait_gone();
    assert!(matches!(observe(&live.dir), Ok(Observed::Lost(_))));
    assert!(!processes::with_marker(&live.run).contains(&hidden), "the marker does not tell");
    let members = cgroup::members(&live.dir);
    assert!(members.iter().any(|m| m.pid == hidden), "{members:?}");
    for member in &members {
        processes::signal(member.pid, Signal::KILL);
    }
    waiting::until("the end of all", || cgroup::members(&live.dir).is_empty().then_some(()));
    cgroup::dissolve(&live.dir);
    assert!(!place.exists());
    assert_eq!(cgroup::members(&live.dir), []);
}

#[test]
fn a_record_that_points_elsewhere_is_not_believed() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "print up hang"));
    live.wait_for_text("up");
    let Some(place) = place(&live) else { return };
    let mut other = stage.start(&stage.agent(PTY, "print up hang"));
    other.wait_for_text("up");
    let file = other.dir.join("started.json");
    let text = std::fs::read_to_string(&file).expect("read");
    let forged = text.replace(&format!("carillon-{}", other.run), &format!("carillon-{}", live.run));
    assert_ne!(forged, text);
    std::fs::write(&file, forged).expect("write");
    assert_eq!(cgroup::members(&other.dir), []);
    cgroup::dissolve(&other.dir);
    assert!(place.exists());
    assert_eq!(cgroup::members(&live.dir).len(), 1);
    for live in [&mut live, &mut other] {
        live.control().sender().stop("the test").expect("stop");
        live.wait();
    }
}

#[test]
fn what_is_kept_moves_out() {
    let stage = Stage::new();
    let mut spec = stage.agent(Io::Pipes, "leave-named-daemon test-agentd leave-daemon print up hang");
    spec.keep = vec!["test-agentd".into()];
    let mut live = stage.start(&spec);
    live.wait_for_text("up");
    let Some(place) = place(&live) else { return };
    live.control().sender().stop("the test").expect("stop");
    let record = live.wait();
    assert_eq!((record.left.len(), record.ended.len()), (1, 1), "{record:?}");
    assert!(!place.exists());
    assert!(!of(record.left[0].pid).contains("carillon-"), "{}", of(record.left[0].pid));
}

#[test]
fn cgroups_that_a_program_makes_in_its_own_go_as_well() {
    let stage = Stage::new();
    // Only in a cgroup of the run's, or the test would leave some in its own.
    let script = format!(
        "own=$(sed -n 's/^0:://p' /proc/self/cgroup); \
         for d in /sys/fs/cgroup$own /sys/fs/cgroup/unified$own; do case $d in *carillon-*) test ! -d $d || cd $d;; esac; done; \
         case $(pwd) in *carillon-*) mkdir -p inner/most; {FAKE_AGENT} leave-daemon; \
         echo $$ >inner/most/cgroup.procs;; esac; echo ready; exec {FAKE_AGENT} hang"
    );
    let mut live = stage.start(&stage.spec(Io::Pipes, &["sh", "-c", &script]));
    live.wait_for_text("ready");
    let Some(place) = place(&live) else { return };
    let program = live.started().pid.expect("a pid");
    assert!(of(program).ends_with("/inner/most"), "{}", of(program));
    assert_eq!(cgroup::members(&live.dir).len(), 2);
    live.control().sender().stop("the test").expect("stop");
    live.wait();
    live.assert_nothing_left();
    assert!(!place.exists());
}

#[test]
fn a_program_that_cannot_be_executed_leaves_none_and_is_told_of_as_ever() {
    let stage = Stage::new();
    let live = stage.start(&stage.agent(PTY, "hang"));
    let Some(place) = place(&live) else { return };
    let tool = stage.path("tool");
    std::fs::write(&tool, "#!/no/such/interpreter\n").expect("write");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
    let spec = stage.spec(Io::Pipes, &[&tool]);
    let mut failed = stage.start(&spec);
    match failed.wait().cause {
        Cause::SpawnFailed { message } => assert!(message.contains("/no/such/interpreter"), "{message}"),
        other => panic!("expected a failed start, recorded {other:?}"),
    }
    assert!(!place.with_file_name(format!("carillon-{}", spec.run)).exists());
    live.control().sender().stop("the test").expect("stop");
    let mut live = live;
    live.wait();
}

#[test]
fn sweeping_takes_what_has_no_members_and_nothing_else() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "print up hang"));
    live.wait_for_text("up");
    let Some(place) = place(&live) else { return };
    let left = place.with_file_name(format!("carillon-{}", stage.id()));
    let foreign = place.with_file_name(format!("carillon-{}-of-the-users", std::process::id()));
    for dir in [&left, &foreign] {
        std::fs::create_dir(dir).expect("a cgroup");
    }
    cgroup::sweep();
    let there = [&left, &foreign, &place].map(|dir| dir.exists());
    std::fs::remove_dir(&foreign).expect("the foreign one goes");
    assert_eq!(there, [false, true, true]);
    live.control().sender().stop("the test").expect("stop");
    live.wait();
}

#[test]
fn a_sweep_in_the_middle_of_a_start_costs_no_run_its_cgroup() {
    let stage = Stage::new();
    let mut live = stage.start(&stage.agent(PTY, "print up hang"));
    live.wait_for_text("up");
    let here = place(&live).is_some();
    live.control().sender().stop("the test").expect("stop");
    live.wait();
    if !here {
        return;
    }
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                cgroup::sweep();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        for _ in 0..30 {
            let (_, live) = stage.run_agent(Io::Pipes, "exit 0");
            let started = std::fs::read_to_string(live.dir.join("started.json")).expect("read");
            if !started.contains("\"cgroup\"") {
                is_over.store(true, std::sync::atomic::Ordering::Relaxed);
                panic!("no cgroup: {started}");
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
