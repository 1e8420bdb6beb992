//! A real engine in a home of its own, with a real repository, for tests on the built binary.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod fake_engine;
pub mod mcp;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use carillon_api::Client;
use serde_json::{Value, json};

/// Longest that any one thing may take. Only a broken build comes near it.
pub const PATIENCE: Duration = Duration::from_secs(40);

pub const CARILLON: &str = env!("CARGO_BIN_EXE_carillon");

/// A home, a repository, and an engine that may be ended and started again.
pub struct World {
    dir: tempfile::TempDir,
    engine: Option<Child>,
}

impl World {
    /// A world without a running engine.
    pub fn new() -> Self {
        // A short path, so that the temp base under the home passes its preflight.
        let dir = tempfile::Builder::new().prefix("c").tempdir().expect("a directory");
        let world = Self { dir, engine: None };
        std::fs::create_dir(world.repo()).expect("a directory for the repository");
        std::fs::create_dir(world.user_home()).expect("a directory for the user");
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(world.repo().join("README"), "hello\n").expect("a file");
        world.git(&["add", "README"]);
        world.git(&["commit", "--quiet", "-m", "Begin"]);
        world
    }

    /// A world with a running engine.
    pub fn started() -> Self {
        let mut world = Self::new();
        world.start(&[]);
        world
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("h")
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub fn user_home(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = self.isolated("git").arg("-C").arg(self.repo()).args(args).output().expect("git");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("git prints UTF-8")
    }

    /// A command that sees this world and nothing of the machine's user.
    pub fn isolated(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.user_home())
            .env("CARILLON_HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@localhost")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@localhost");
        command
    }

    /// Starts the engine and waits for its ready line.
    pub fn start(&mut self, args: &[&str]) -> Value {
        let mut command = self.isolated(CARILLON);
        command.arg("serve").args(args);
        self.start_command(command)
    }

    /// Starts the engine by a prepared command.
    pub fn start_command(&mut self, mut command: Command) -> Value {
        assert!(self.engine.is_none(), "the engine runs already");
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("carillon serve");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a ready line");
        self.engine = Some(child);
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("the ready line {line:?}: {e}"))
    }

    pub fn engine_pid(&self) -> u32 {
        self.engine.as_ref().expect("a running engine").id()
    }

    /// Sends a signal to the engine and waits for its end.
    pub fn end(&mut self, signal: i32) -> ExitStatus {
        let mut child = self.engine.take().expect("a running engine");
        send(child.id(), signal);
        wait(&mut child)
    }

    /// Waits until the engine has ended by itself; true when this signal did it.
    pub fn engine_dies_of(&mut self, signal: i32) -> bool {
        use std::os::unix::process::ExitStatusExt;
        let mut child = self.engine.take().expect("a running engine");
        wait(&mut child).signal() == Some(signal)
    }

    /// Ends the engine as a crash would.
    pub fn crash(&mut self) {
        self.end(libc::SIGKILL);
    }

    /// Runs the command line and returns what it did.
    pub fn run(&self, args: &[&str]) -> Output {
        self.isolated(CARILLON).args(args).stdin(Stdio::null()).output().expect("carillon")
    }

    /// Runs a command that must work, and reads its JSON.
    pub fn ok(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {} {err}", output.status);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {output:?}"))
    }

    /// Runs a command that must fail with this code, and reads its error.
    pub fn fails(&self, args: &[&str], code: i32) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        let error: Value = serde_json::from_slice(&output.stderr)
            .unwrap_or_else(|e| panic!("{args:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
        error["error"].clone()
    }

    /// Calls the engine over its socket.
    pub fn call(&self, method: &str, params: Value) -> Value {
        let mut client = Client::connect(&self.home().join("carillon.sock")).expect("the engine answers");
        client.call(method, params).unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    /// Opens the repository and adds an agent that runs a shell script on a terminal.
    pub fn add_agent(&self, name: &str, script: &str) {
        self.ok(&["project", "add", self.repo().to_str().expect("UTF-8")]);
        let profile = format!("{name}-profile");
        self.ok(&[
            "profile",
            "add",
            &profile,
            "--adapter",
            "plain",
            "--program",
            "/bin/sh",
            "--arg",
            "-c",
            "--arg",
            script,
        ]);
        self.ok(&["agent", "add", name, "--project", "repo", "--profile", &profile]);
    }

    /// Opens the repository and adds headless demo agents.
    pub fn add_demo_agents(&self, names: &[&str]) {
        self.ok(&["project", "add", self.repo().to_str().expect("UTF-8")]);
        self.ok(&[
            "profile",
            "add",
            "demo",
            "--adapter",
            "plain",
            "--program",
            CARILLON,
            "--arg",
            "demo-agent",
        ]);
        for name in names {
            self.ok(&["agent", "add", name, "--project", "repo", "--profile", "demo", "--mode", "headless"]);
        }
    }

    pub fn agent(&self, name: &str) -> Value {
        let list = self.ok(&["agent", "list"]);
        let found = list.as_array().expect("a list").iter().find(|agent| agent["name"] == name);
        found.unwrap_or_else(|| panic!("no agent {name} in {list}")).clone()
    }

    /// Waits until the agent's newest run is over.
    pub fn wait_until_over(&self, name: &str) -> Value {
        self.wait_for(&format!("the end of {name}"), || {
            let agent = self.agent(name);
            matches!(agent["run"]["state"].as_str(), Some("ended" | "lost")).then_some(agent)
        })
    }

    /// Waits until the agent's terminal shows a text.
    pub fn wait_for_text(&self, name: &str, text: &str) -> String {
        let run = self.agent(name)["run"]["id"].clone();
        self.wait_for(&format!("{text:?} on the terminal of {name}"), || {
            let shown = self.call("terminal_text", json!({"run": run}));
            let shown = shown["text"].as_str().unwrap_or_default().to_owned();
            shown.contains(text).then_some(shown)
        })
    }

    pub fn write(&self, name: &str, text: &str) {
        let run = self.agent(name)["run"]["id"].clone();
        self.call("terminal_write", json!({"run": run, "data": text}));
    }

    /// Waits for something that a change of the ledger announces, or that has no announcement.
    pub fn wait_for<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        until(what, look)
    }

    /// All temp directories of runs that are there, trash included.
    pub fn temp_entries(&self) -> Vec<PathBuf> {
        let base = self.home().join("t");
        let read = |dir: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(dir).map(|dir| dir.flatten().map(|e| e.path()).collect()).unwrap_or_default()
        };
        read(&base).iter().flat_map(|namespace| read(namespace)).collect()
    }

    /// Processes that carry the marker of one of this world's runs.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let marker = format!("CARILLON_SOCKET={}", self.home().join("carillon.sock").display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
            if environ.split(|b| *b == 0).any(|var| var == marker.as_bytes()) {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push((pid, String::from_utf8_lossy(&command).replace('\0', " ")));
            }
        }
        found
    }
}

impl Drop for World {
    /// Ends what this test started, also when it failed.
    fn drop(&mut self) {
        if let Some(mut child) = self.engine.take() {
            send(child.id(), libc::SIGKILL);
            let _ = child.wait();
        }
        for (pid, _) in self.processes() {
            send(pid, libc::SIGKILL);
        }
        // A supervisor that was killed could not remove its run's cgroup.
        let until = Instant::now() + PATIENCE;
        while !self.processes().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        carillon_supervisor::cgroup::sweep();
    }
}

/// Looks again and again until `look` finds something, and panics with `what` when the patience is over. For what
/// tells nobody that it has happened; where something does, wait for that.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to a process that this test started.
pub fn send(pid: u32, signal: i32) {
    let pid = i32::try_from(pid).expect("a pid");
    assert!(pid > 1, "never a group, never init");
    // SAFETY: kill(2) touches no memory of ours.
    unsafe { libc::kill(pid, signal) };
}

pub fn wait(child: &mut Child) -> ExitStatus {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("waitpid") {
            return status;
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("process {} does not end", child.id());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
