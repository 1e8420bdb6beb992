//! Strays are found by their marker and ended by descriptors, on real misbehaving processes.

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use carillon_tidy::strays::{Outcome, Stray, end, strays};
use common::{as_nobody, on_disk};

const GRACE: Duration = Duration::from_millis(600);

/// Children with a marker of their own, ended at the end of the test.
struct Run {
    id: String,
    /// What the scripts find in a variable of this name.
    again: String,
    children: Vec<Child>,
}

impl Run {
    fn new(test: &str) -> Run {
        Run { id: format!("{test}-{}", std::process::id()), again: String::new(), children: Vec::new() }
    }

    /// Starts a script and waits until it says that it is ready.
    fn start(&mut self, script: &str) -> u32 {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script])
            .env("CARILLON_RUN", &self.id)
            .env("again", &self.again)
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh can be started");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        self.children.push(child);
        self.children.last().map_or(0, Child::id)
    }

    fn found(&self) -> Vec<Stray> {
        strays().into_iter().filter(|stray| stray.run == self.id).collect()
    }

    fn exit_of(&mut self, pid: u32) -> ExitStatus {
        let child = self.children.iter_mut().find(|child| child.id() == pid).expect("our child");
        child.wait().expect("our child")
    }

    fn is_running(&mut self, pid: u32) -> bool {
        let child = self.children.iter_mut().find(|child| child.id() == pid).expect("our child");
        child.try_wait().expect("our child").is_none()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn pids(strays: &[Stray]) -> Vec<u32> {
    let mut pids: Vec<u32> = strays.iter().map(|stray| stray.pid).collect();
    pids.sort_unstable();
    pids
}

#[test]
fn marked_processes_are_found_also_when_they_left_their_session() {
    let mut run = Run::new("found");
    let leader = run.start("setsid sleep 60 & echo ready; wait");
    let deadline = Instant::now() + Duration::from_secs(10);
    // The shell says that it is ready before its child has become `sleep`.
    while run.found().iter().filter(|stray| stray.name == "sleep").count() < 1 {
        assert!(Instant::now() < deadline, "{:?}", run.found());
        std::thread::yield_now();
    }
    let found = run.found();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|stray| stray.pid == leader && stray.name == "sh"), "{found:?}");
    assert!(found.iter().all(|stray| stray.start_time > 0));
    let outcome = end(&found, GRACE);
    assert_eq!(pids(&outcome.ended), pids(&found), "{outcome:?}");
    assert_eq!(run.found(), []);
}

#[test]
fn each_gets_the_gentlest_signal_that_works() {
    let mut run = Run::new("signals");
    let polite = run.start("echo ready; read x < /dev/tty; exec sleep 60");
    let no_hup = run.start("trap '' HUP; echo ready; exec sleep 60");
    let stubborn = run.start("trap '' HUP TERM INT; echo ready; exec sleep 60");
    let stopped = run.start("echo ready; kill -STOP $$; exec sleep 60");
    let _ = polite;
    let found = run.found();
    let begun = Instant::now();
    let outcome = end(&found, GRACE);
    assert!(begun.elapsed() >= GRACE, "the stubborn one had its grace");
    assert_eq!(pids(&outcome.ended), pids(&found), "{outcome:?}");
    assert_eq!(outcome.left, []);
    assert_eq!(run.exit_of(no_hup).signal(), Some(libc::SIGTERM));
    assert_eq!(run.exit_of(stubborn).signal(), Some(libc::SIGKILL));
    assert_eq!(
        run.exit_of(stopped).signal(),
        Some(libc::SIGHUP),
        "a stopped one is continued to end by itself"
    );
}

#[test]
fn quick_ones_are_not_waited_for_until_the_grace_ends() {
    let mut run = Run::new("quick");
    run.start("echo ready; exec sleep 60");
    // A stopped one has to be continued first.
    run.start("echo ready; kill -STOP $$; exec sleep 60");
    let begun = Instant::now();
    let outcome = end(&run.found(), Duration::from_secs(60));
    assert_eq!(outcome.ended.len(), 2, "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited although all had ended");
}

#[test]
fn a_pid_that_means_another_process_by_now_is_never_signalled() {
    let mut run = Run::new("reused");
    let pid = run.start("echo ready; exec sleep 60");
    let mut found = run.found();
    assert_eq!(pids(&found), [pid]);
    // As if the stray had ended and its pid had been given to the process that has it now.
    found[0].start_time -= 1;
    let outcome = end(&found, Duration::from_millis(50));
    assert_eq!(outcome, Outcome { gone: found.clone(), ..Outcome::default() });
    assert!(run.is_running(pid), "a process that was not meant was ended");
    let mut child = run.children.pop().expect("our child");
    child.kill().expect("our child");
    child.wait().expect("our child");
    found[0].start_time += 1;
    assert_eq!(end(&found, GRACE).gone.len(), 1, "one that is gone is reported as gone");
}

#[test]
fn the_first_process_ourselves_and_our_ancestors_are_refused() {
    let me = std::process::id();
    let parent = std::os::unix::process::parent_id();
    let start_time = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().nth(19);
        fields.and_then(|field| field.parse().ok()).unwrap_or(0)
    };
    let asked: Vec<Stray> = [0, 1, me, parent]
        .into_iter()
        .map(|pid| Stray { pid, start_time: start_time(pid), name: String::new(), run: "x".to_owned() })
        .collect();
    let outcome = end(&asked, GRACE);
    let left: Vec<u32> = outcome.left.iter().map(|(stray, _)| stray.pid).collect();
    assert_eq!(left, [0, 1, me, parent], "{outcome:?}");
    assert!(outcome.left.iter().all(|(_, why)| !why.is_empty()));
    assert!(outcome.ended.is_empty() && outcome.gone.is_empty(), "{outcome:?}");
    assert_eq!(end(&[], GRACE), Outcome::default());
}

#[test]
fn a_process_that_is_becoming_another_program_is_not_missed() {
    find_one_that_becomes_another_program_all_the_time();
}

#[test]
fn nor_is_it_missed_by_a_user_who_may_not_read_everything() {
    as_nobody(
        "nor_is_it_missed_by_a_user_who_may_not_read_everything",
        find_one_that_becomes_another_program_all_the_time,
    );
}

fn find_one_that_becomes_another_program_all_the_time() {
    let mut run = Run::new("exec");
    // A shell that becomes another shell again and again, all in one process.
    let script =
        "i=$((${i:-0}+1)); export i; [ $i = 1 ] && echo ready; [ $i -lt 100000 ] && exec sh -c \"$again\"";
    run.again = script.to_owned();
    let pid = run.start(script);
    for round in 0..150 {
        assert_eq!(pids(&run.found()), [pid], "round {round}");
    }
    assert!(run.is_running(pid));
}

#[test]
fn we_are_not_a_stray_of_the_run_that_we_are_part_of() {
    const NAME: &str = "we_are_not_a_stray_of_the_run_that_we_are_part_of";
    let id = "outer-run-of-a-test";
    if std::env::var_os("CARILLON_RUN").is_some_and(|run| run == id) {
        let found: Vec<u32> = strays().into_iter().map(|stray| stray.pid).collect();
        assert!(!found.contains(&std::process::id()), "{found:?}");
        assert!(!found.contains(&std::os::unix::process::parent_id()), "{found:?}");
        return;
    }
    let program = std::env::current_exe().expect("this program");
    // The shell in between is marked as well, and is an ancestor.
    let script = format!("'{}' --exact {NAME} --nocapture; exit $?", program.display());
    let output =
        Command::new("/bin/sh").args(["-c", &script]).env("CARILLON_RUN", id).output().expect("sh runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[test]
fn hundreds_of_strays_are_ended_and_no_program_is_called_for_it() {
    let place = on_disk();
    let log = place.path().join("log");
    for name in ["kill", "pkill", "killall"] {
        let path = place.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho {name} >> '{}'\n", log.display())).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("the mode");
    }
    let own_path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = vec![place.path().to_path_buf()];
    dirs.extend(std::env::split_paths(&own_path));
    // SAFETY: nextest runs each test in a process of its own, and no other thread of this one reads it now.
    unsafe { std::env::set_var("PATH", std::env::join_paths(dirs).expect("a PATH")) };
    let mut run = Run::new("many");
    for _ in 0..300 {
        let mut command = Command::new("/bin/sleep");
        run.children.push(command.arg("60").env("CARILLON_RUN", &run.id).spawn().expect("sleep"));
    }
    let found = run.found();
    assert_eq!(found.len(), 300);
    let outcome = end(&found, Duration::from_secs(20));
    assert_eq!((outcome.ended.len(), outcome.gone.len(), outcome.left.len()), (300, 0, 0));
    assert_eq!(run.found(), []);
    assert!(!log.exists(), "a program was called: {:?}", std::fs::read_to_string(&log));
}
