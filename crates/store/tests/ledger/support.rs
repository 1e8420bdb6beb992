//! A ledger in a directory of its own, and rows to put into it.

use std::path::{Path, PathBuf};

use carillon_core::id::{AgentId, ProfileId, ProjectId, RunId};
use carillon_core::run::State;
use carillon_core::words::{Agent, Mode, Policy, Profile, Project};
use carillon_store::runs::RunRow;
use carillon_store::{Store, agents, profiles, projects, runs};
use rusqlite::Connection;

/// The time of every row that a test writes, in Unix milliseconds.
pub const NOW_MS: i64 = 1_700_000_000_000;

/// A directory with one ledger in it.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("carillon.db")
    }

    /// The file itself, its log (`-wal`) or its index (`-shm`).
    pub fn file(&self, suffix: &str) -> PathBuf {
        self.dir.path().join(format!("carillon.db{suffix}"))
    }

    /// Opens a file that must be sound.
    pub fn open(&self) -> Store {
        let opened = Store::open(&self.path(), NOW_MS).expect("the ledger opens");
        assert_eq!((opened.moved_aside, opened.log_put_aside), (None, None), "nothing is wrong with it");
        opened.store
    }

    /// A connection that knows nothing of the store's methods, as a stranger's would be.
    pub fn raw(&self) -> Connection {
        Connection::open(self.path()).expect("the file opens")
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir()).expect("the directory").flatten();
        let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// What an id looks like, told apart by its first characters.
pub fn hex(start: &str) -> String {
    format!("{start:0<32}")
}

pub fn run_id(start: &str) -> RunId {
    RunId::parse(&hex(start)).expect("an id")
}

pub fn project() -> Project {
    let id = ProjectId::parse(&hex("a0")).expect("an id");
    Project { id, name: "bells".to_owned(), root: "/home/ada/bells".to_owned() }
}

pub fn profile() -> Profile {
    Profile {
        id: ProfileId::parse(&hex("b0")).expect("an id"),
        name: "script".to_owned(),
        adapter: "plain".to_owned(),
        program: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), "exec \"$0\"".to_owned()],
        env: vec![("TOKEN".to_owned(), "sk-canary-6f1d2b".to_owned())],
        version: Some("1.2".to_owned()),
        policy: Policy::Ask,
        allow_prefixes: Vec::new(),
        concurrency: None,
    }
}

pub fn agent(start: &str, name: &str) -> Agent {
    Agent {
        id: AgentId::parse(&hex(start)).expect("an id"),
        name: name.to_owned(),
        project: project().id,
        profile: profile().id,
        mode: Mode::Terminal,
        role: "You tune the bells.".to_owned(),
        workdir: "/home/ada/bells".to_owned(),
        stopped_by_user: false,
        session_id: None,
    }
}

/// A run of the agent `treble` that is about to start.
pub fn run(start: &str) -> RunRow {
    RunRow {
        id: run_id(start),
        project: project().id,
        agent: Some(treble().id),
        task: None,
        state: State::Starting,
        pid: None,
        start_time: None,
        boot_id: None,
        temp_path: Some(format!("/tmp/t/abcdef/{start}")),
        temp_held: true,
        dir_kept: true,
        log_bytes: 0,
        created_ms: NOW_MS,
        started_ms: None,
        ended_ms: None,
    }
}

pub fn treble() -> Agent {
    agent("c0", "treble")
}

pub fn tenor() -> Agent {
    agent("c1", "tenor")
}

/// Puts a project, a profile and two agents into the ledger.
pub fn fill(store: &mut Store) {
    store
        .write(|tx| {
            projects::insert(tx, &project(), NOW_MS)?;
            profiles::insert(tx, &profile(), NOW_MS)?;
            agents::insert(tx, &treble(), NOW_MS)?;
            agents::insert(tx, &tenor(), NOW_MS)
        })
        .expect("rows");
}

/// Records a run that is about to start.
pub fn begin(store: &mut Store, row: &RunRow) {
    store.write(|tx| runs::insert_starting(tx, row)).expect("a run");
}

/// The run as the ledger has it.
pub fn find(store: &Store, start: &str) -> RunRow {
    store.read(|db| runs::get(db, &run_id(start))).expect("a read").expect("the run is there")
}
