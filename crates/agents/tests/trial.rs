//! Trying real programs: what they say is kept, and nothing of them is left.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use carillon_agents::Vars;
use carillon_agents::trial::{self, Ending, Outcome};

/// For what ends by itself; long enough on a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn vars(mark: &Path) -> Vars {
    vec![("PATH".into(), "/usr/bin:/bin".into()), ("TEST_MARK".into(), mark.into())]
}

fn begin(dir: &Path, script: &str) -> trial::Trial {
    let args: Vec<OsString> = vec!["-c".into(), script.into()];
    trial::begin(Path::new("/bin/sh"), &args, &vars(dir), dir).expect("a shell starts")
}

fn try_out(script: &str, limit: Duration) -> (Outcome, usize) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let outcome = begin(dir.path(), script).watch(limit).expect("the trial is watched");
    (outcome, processes_left(dir.path()))
}

fn processes_left(mark: &Path) -> usize {
    let mark = format!("TEST_MARK={}\0", mark.display());
    let has_mark = |path: &Path| {
        std::fs::read(path.join("environ"))
            .is_ok_and(|environ| environ.windows(mark.len()).any(|window| window == mark.as_bytes()))
    };
    std::fs::read_dir("/proc").expect("/proc").flatten().filter(|entry| has_mark(&entry.path())).count()
}

fn code(outcome: &Outcome) -> Option<i32> {
    match outcome.ending {
        Ending::Exited(status) => status.and_then(|status| status.code()),
        Ending::TimeUp | Ending::TooMuch => None,
    }
}

#[test]
fn what_a_program_says_is_kept_without_control_sequences_and_with_its_end() {
    let (outcome, left) = try_out(r"printf '\033[1mtool\033[0m 1.2.3\n'; echo 'no key' >&2; exit 3", LONG);
    assert_eq!(outcome.said, "tool 1.2.3\nno key");
    assert_eq!(outcome.version.as_deref(), Some("1.2.3"));
    assert_eq!((code(&outcome), left), (Some(3), 0));
}

#[test]
fn its_input_is_at_its_end_and_it_has_no_terminal() {
    let (outcome, _) =
        try_out("cat; test -t 0 || echo none; (: >/dev/tty) 2>/dev/null || echo 'no terminal'", LONG);
    assert_eq!(outcome.said, "none\nno terminal");
}

#[test]
fn one_that_goes_on_is_killed_with_all_that_it_started() {
    let (outcome, left) = try_out("sleep 600 & echo ready; sleep 600", Duration::from_secs(1));
    assert_eq!((outcome.ending, outcome.said.as_str(), left), (Ending::TimeUp, "ready", 0));
}

#[test]
fn one_that_ends_takes_what_it_left_in_the_background_with_it() {
    let (outcome, left) = try_out("sleep 600 >/dev/null 2>&1 & echo done", LONG);
    assert_eq!((code(&outcome), outcome.said.as_str(), left), (Some(0), "done", 0));
}

#[test]
fn one_that_prints_without_end_is_killed_and_its_last_words_are_bounded() {
    let (outcome, left) = try_out("yes", LONG);
    assert_eq!((outcome.ending, left), (Ending::TooMuch, 0));
    assert!(outcome.said.chars().count() < 3_000, "{} characters", outcome.said.chars().count());
}

#[test]
fn it_can_be_stopped_from_elsewhere() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let trial = begin(dir.path(), "echo begun; sleep 600");
    let stopper = trial.stopper().expect("a way to stop it");
    let watching = std::thread::spawn(move || trial.watch(LONG));
    stopper.stop();
    let outcome = watching.join().expect("no panic").expect("the trial is watched");
    assert!(matches!(outcome.ending, Ending::Exited(Some(status)) if !status.success()), "{outcome:?}");
    assert_eq!(processes_left(dir.path()), 0);
    stopper.stop();
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    assert!(trial::begin(Path::new("/nowhere/tool"), &[], &Vec::new(), Path::new("/")).is_err());
}
