//! An engine with a fake world, in a home of its own, with a repository and a profile.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use carillon_core::agent::AgentState;
use carillon_core::id::AskId;
use carillon_core::words::Mode;
use carillon_engine::host::Host;
use carillon_engine::requests::{AgentView, AskView, Caller, NewAgent, NewAsk, NewProfile, NewTask};
use carillon_engine::requests::{RunRow, TaskView, Workdir};
use carillon_engine::{AtExit, Config, Engine};
use rusqlite::Connection;

use crate::fake::{Fake, OnLaunch, PATIENCE};

pub struct Stage {
    dir: tempfile::TempDir,
    pub world: Arc<Fake>,
    pub engine: Engine,
}

impl Stage {
    /// A running engine with the agent `treble`.
    pub fn new(on_launch: OnLaunch) -> Self {
        // A short path, so that the temp base under the home passes its preflight.
        let dir = tempfile::Builder::new().prefix("c").tempdir().expect("a directory");
        let repo = dir.path().join("bells");
        let init = Command::new("git").args(["init", "--quiet"]).arg(&repo).status().expect("git");
        assert!(init.success());
        let world = Fake::new(dir.path().join("h/carillon.db"), on_launch);
        let engine = open(dir.path().join("h"), &world);
        engine.add_project(&repo.to_string_lossy()).expect("a project");
        let profile = NewProfile {
            name: "script".to_owned(),
            adapter: "plain".to_owned(),
            program: "/bin/sh".to_owned(),
            args: vec!["-i".to_owned()],
            env: vec![("OWN".to_owned(), "value".to_owned())],
            policy: None,
            allow_prefixes: Vec::new(),
            concurrency: None,
        };
        engine.add_profile(profile).expect("a profile");
        let stage = Self { dir, world, engine };
        stage.add_agent("treble");
        stage
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("h")
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.path().join("bells")
    }

    pub fn add_agent(&self, name: &str) {
        let new = NewAgent {
            name: name.to_owned(),
            project: "bells".to_owned(),
            profile: "script".to_owned(),
            mode: Mode::Terminal,
            role: String::new(),
            workdir: Workdir::Root,
        };
        let view = self.engine.add_agent(new).expect("an agent");
        assert_eq!((view.state, view.run), (AgentState::Offline, None));
    }

    /// A headless agent that works in `workdir`.
    pub fn add_headless(&self, name: &str, workdir: Workdir) {
        let new = NewAgent {
            name: name.to_owned(),
            project: "bells".to_owned(),
            profile: "script".to_owned(),
            mode: Mode::Headless,
            role: String::new(),
            workdir,
        };
        self.engine.add_agent(new).expect("an agent");
    }

    /// Asks an agent, as the user.
    pub fn ask(&self, callee: &str) -> AskView {
        self.ask_by(Caller::default(), callee)
    }

    /// One agent asks another.
    pub fn ask_from(&self, caller: &str, callee: &str) -> AskView {
        self.ask_by(Caller { agent: Some(caller.to_owned()), run: None }, callee)
    }

    fn ask_by(&self, caller: Caller, callee: &str) -> AskView {
        self.engine.open_ask(new_ask(caller, callee)).expect("it is taken")
    }

    /// A task of the user's, or of who calls from within a run.
    pub fn add_task(&self, caller: Caller) -> TaskView {
        let new = NewTask {
            project: Some("bells".to_owned()),
            command: vec!["/bin/true".to_owned()],
            caller,
            ..NewTask::default()
        };
        self.engine.add_task(new).expect("it is taken")
    }

    /// Waits until something is so: each change is a reason to look.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        // A thousand of something take a while on a machine that is busy with other tests.
        let until = Instant::now() + 4 * PATIENCE;
        loop {
            let seq = self.seq();
            if is_so(self) {
                return;
            }
            assert!(Instant::now() < until, "waited in vain: {what}");
            let rest = until.saturating_duration_since(Instant::now()).min(PATIENCE);
            runtime.block_on(self.engine.changes(Some(seq), rest)).expect("an answer");
        }
    }

    pub fn start(&self, name: &str) -> AgentView {
        self.engine.start_agent(name, None).expect("it starts")
    }

    /// Starts an agent on a thread of its own: the call waits for the supervisor.
    pub fn start_beside(&self, name: &str) -> std::thread::JoinHandle<AgentView> {
        let (engine, name) = (self.engine.clone(), name.to_owned());
        std::thread::spawn(move || engine.start_agent(&name, None).expect("it starts"))
    }

    pub fn view(&self, name: &str) -> AgentView {
        self.engine.agent(name).expect("the agent")
    }

    /// The newest run of an agent.
    pub fn run(&self, name: &str) -> RunRow {
        self.view(name).run.expect("a run")
    }

    /// Returns when the loop has taken everything that was reported before: it takes one thing after
    /// the other.
    pub fn settle(&self) {
        let nothing = serde_json::Map::new();
        self.engine.set_settings(nothing).expect("the loop answers");
    }

    /// A connection that knows nothing of the engine.
    pub fn raw(&self) -> Connection {
        let db = Connection::open(self.home().join("carillon.db")).expect("the ledger");
        db.busy_timeout(PATIENCE).expect("a time-out");
        db
    }

    /// All runs as the ledger has them, for comparing.
    pub fn rows(&self) -> Vec<String> {
        let db = self.raw();
        let columns =
            "id || state || coalesce(cause, '') || coalesce(exit_code, '') || coalesce(lost_why, '')
            || temp_state || dir_state || coalesce(ended_ms, '')";
        let mut statement = db.prepare(&format!("SELECT {columns} FROM runs ORDER BY id")).expect("a query");
        statement.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
    }

    /// The number of the newest change.
    pub fn seq(&self) -> u64 {
        let newest = "SELECT coalesce(max(seq), 0) FROM changes";
        self.raw().query_row(newest, [], |row| row.get(0)).expect("a read")
    }

    /// Ends this engine, leaving the runs alone, and opens the next one. What was asked is forgotten
    /// in between.
    pub fn boot_again(self) -> Self {
        self.engine.shutdown(AtExit::Keep, PATIENCE);
        let Self { dir, world, engine } = self;
        drop(engine);
        world.forget();
        let engine = open(dir.path().join("h"), &world);
        Self { dir, world, engine }
    }
}

fn open(home: PathBuf, world: &Arc<Fake>) -> Engine {
    let config = Config {
        home,
        home_is_chosen: true,
        carillon_binary: PathBuf::from("/no/such/carillon"),
        from_terminal: true,
    };
    let host = Arc::new(Host::new(&config));
    Engine::open_in(config, host, world.clone()).expect("the engine opens")
}

/// A question to an agent.
pub fn new_ask(caller: Caller, callee: &str) -> NewAsk {
    NewAsk {
        id: AskId::from_random(*uuid::Uuid::new_v4().as_bytes()),
        caller,
        callee: callee.to_owned(),
        project: None,
        prompt: "which bell?".to_owned(),
        follow_up: false,
        key: None,
        timeout_ms: None,
        detached: false,
        call: None,
    }
}
