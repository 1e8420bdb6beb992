//! A directory for runs, and runs in it that are cleaned up whatever a test does.

use carillon_supervisor::{
    Control, ExitRecord, Grace, Io, Launched, LeasedRun, LogReader, Observed, Read, RunSpec, Started, create,
    launch, observe,
};
use carillon_testkit::{processes, waiting};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

pub const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");
pub const SUPERVISE: &str = env!("CARGO_BIN_EXE_test-supervise");

/// Short graces, so that a test that needs all of them still takes less than a second.
pub const GRACE: Grace = Grace { hup_ms: 100, term_ms: 200, drain_ms: 300 };

pub const PTY: Io = Io::Pty { cols: 80, rows: 24 };

/// A home for the runs of one test.
pub struct Stage {
    pub temp: tempfile::TempDir,
    pub runs: PathBuf,
    made: std::cell::RefCell<Vec<String>>,
}

/// A run that was started.
pub struct Live {
    pub run: String,
    pub dir: PathBuf,
    pub supervisor: u32,
    launched: Option<Launched>,
}

impl Stage {
    pub fn new() -> Stage {
        let temp = tempfile::tempdir().expect("a temp directory");
        let runs = temp.path().join("runs");
        std::fs::create_dir(&runs).expect("a directory for runs");
        Stage { temp, runs, made: std::cell::RefCell::default() }
    }

    /// A path in this test's directory, as text.
    pub fn path(&self, name: &str) -> String {
        self.temp.path().join(name).to_str().expect("a plain path").to_owned()
    }

    /// A fresh run id that will be cleaned up.
    pub fn id(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let run = format!("{:016x}{:016x}", std::process::id(), number);
        self.made.borrow_mut().push(run.clone());
        run
    }

    /// A spec that starts these words.
    pub fn spec(&self, io: Io, argv: &[&str]) -> RunSpec {
        RunSpec {
            run: self.id(),
            argv: argv.iter().map(|a| (*a).to_owned()).collect(),
            cwd: self.temp.path().to_owned(),
            io,
            timeout_ms: None,
            grace: GRACE,
            log_max: 64 << 20,
            keep: vec![],
        }
    }

    /// A spec that starts the fake agent with these words, separated by spaces.
    pub fn agent(&self, io: Io, words: &str) -> RunSpec {
        let argv: Vec<&str> = std::iter::once(FAKE_AGENT).chain(words.split_whitespace()).collect();
        self.spec(io, &argv)
    }

    /// The environment of a run: this test's, with the marker.
    pub fn env(run: &str) -> Vec<(OsString, OsString)> {
        let own = std::env::vars_os().filter(|(name, _)| name != "CARILLON_RUN");
        own.chain([("CARILLON_RUN".into(), run.into())]).collect()
    }

    pub fn start(&self, spec: &RunSpec) -> Live {
        self.start_with(spec, &Stage::env(&spec.run))
    }

    pub fn start_with(&self, spec: &RunSpec, env: &[(OsString, OsString)]) -> Live {
        self.start_leased(create(&self.runs, &spec.run).expect("a run directory"), spec, env)
    }

    /// Starts a turn with this prompt.
    pub fn start_turn(&self, spec: &RunSpec, prompt: &[u8]) -> Live {
        let leased = create(&self.runs, &spec.run).expect("a run directory");
        leased.write_prompt(prompt).expect("a prompt");
        self.start_leased(leased, spec, &Stage::env(&spec.run))
    }

    pub fn start_leased(&self, leased: LeasedRun, spec: &RunSpec, env: &[(OsString, OsString)]) -> Live {
        let dir = leased.path.clone();
        let launched = launch(Path::new(SUPERVISE), leased, spec, env, vec![]).expect("a supervisor");
        let supervisor = launched.pid;
        Live { run: spec.run.clone(), dir, supervisor, launched: Some(launched) }
    }

    /// Starts a run and waits for its end.
    pub fn run(&self, spec: &RunSpec) -> ExitRecord {
        self.start(spec).wait()
    }

    /// Starts the fake agent with these words and waits for its end.
    pub fn run_agent(&self, io: Io, words: &str) -> (ExitRecord, Live) {
        let mut live = self.start(&self.agent(io, words));
        let record = live.wait();
        (record, live)
    }
}

impl Drop for Stage {
    /// A test that failed half-way must not leave anything either.
    fn drop(&mut self) {
        for run in self.made.borrow().iter() {
            processes::kill_marked(run);
            carillon_supervisor::cgroup::dissolve(&self.runs.join(run));
        }
    }
}

impl Live {
    /// Waits for the supervisor's end and answers the record that it left.
    pub fn wait(&mut self) -> ExitRecord {
        self.wait_gone();
        match observe(&self.dir).expect("a run that can be observed") {
            Observed::Ended(record) => record,
            other => panic!("expected a record, observed {other:?}"),
        }
    }

    /// Waits for the supervisor's end.
    pub fn wait_gone(&mut self) {
        let launched = self.launched.take().expect("a run is waited for once");
        let (done, gone) = mpsc::channel();
        std::thread::spawn(move || done.send(launched.reap()));
        let reaped = gone.recv_timeout(waiting::PATIENCE);
        reaped.expect("the supervisor ends in time").expect("the supervisor is our child");
    }

    /// Waits until the program has a pid and answers what is recorded about it.
    pub fn started(&self) -> Started {
        waiting::until("the program's start", || match observe(&self.dir) {
            Ok(Observed::Alive { started: Some(started) }) if started.pid.is_some() => Some(started),
            Ok(Observed::Alive { .. }) => None,
            other => panic!("expected a living run, observed {other:?}"),
        })
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.dir, waiting::PATIENCE).expect("a connection")
    }

    /// All bytes of the log that are kept, with the gaps between them.
    pub fn log(&self) -> (Vec<u8>, Vec<(u64, u64)>) {
        all_of(LogReader::open(&self.dir).expect("a log"))
    }

    /// The same for what a turn wrote to standard error.
    pub fn errors(&self) -> (Vec<u8>, Vec<(u64, u64)>) {
        all_of(LogReader::open_errors(&self.dir).expect("a log"))
    }

    pub fn log_text(&self) -> String {
        String::from_utf8_lossy(&self.log().0).into_owned()
    }

    pub fn errors_text(&self) -> String {
        String::from_utf8_lossy(&self.errors().0).into_owned()
    }

    /// Waits until the log contains this text and answers the whole log.
    pub fn wait_for_text(&self, text: &str) -> String {
        waiting::until(&format!("{text:?} in the log"), || {
            let log = self.log_text();
            log.contains(text).then_some(log)
        })
    }

    /// Asserts that no process of the run is left.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let left: Vec<String> =
            processes::with_marker(&self.run).into_iter().filter_map(processes::name).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Reads a log from its beginning to its present end.
fn all_of(mut reader: LogReader) -> (Vec<u8>, Vec<(u64, u64)>) {
    let (mut bytes, mut gaps, mut offset) = (Vec::new(), Vec::new(), 0);
    let mut buf = vec![0; 64 << 10];
    loop {
        match reader.read_at(offset, &mut buf).expect("a readable log") {
            Read::Bytes(n) => {
                bytes.extend_from_slice(&buf[..n]);
                offset += n as u64;
            }
            Read::Gap { from, to } => {
                gaps.push((from, to));
                offset = to;
            }
            Read::End => return (bytes, gaps),
        }
    }
}

/// What a record must say about a program that exited by itself.
#[track_caller]
pub fn assert_exited(record: &ExitRecord, code: i32) {
    assert_eq!(record.cause, carillon_supervisor::Cause::Ended, "{record:?}");
    assert_eq!((record.exit_code, record.signal), (Some(code), None), "{record:?}");
}

pub fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
