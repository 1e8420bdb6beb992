//! From a key to its echo: through the engine (its API, the supervisor, the program, the log, a pull), and through a bare terminal, in
//! turns; then the same while another terminal of the engine is flooded and a view pulls that flood.
//!
//! SETTINGS is JSON: `{"home", "carillon", "repository", "echo": [..], "flood": [..], "marks", "rounds", "keys"}`. Prints
//! `{"bare_idle", "idle", "bare_flood", "flood"}`, lists of nanoseconds, and how many bytes the view `"pulled"`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use carillon_api::App;
use carillon_api::app::Config;
use carillon_engine::AtExit;
use serde_json::{Value, json};

use crate::{Outcome, bare, monotonic_ns};

/// A person's keys do not come in a row: this much between two of them.
const PAUSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(30);
const SIZE: (u16, u16) = (120, 40);
/// Of a pulled answer: the header, and where the next offset stands in it.
const HEADER_BYTES: usize = 24;

struct Bench {
    runtime: tokio::runtime::Runtime,
    app: App,
    settings: Value,
}

pub fn run(settings: &str) -> Outcome {
    let settings: Value = serde_json::from_str(settings)?;
    let path = |name: &str| PathBuf::from(settings[name].as_str().unwrap_or_default());
    let config = Config {
        home: path("home"),
        home_is_chosen: true,
        carillon_binary: path("carillon"),
        from_terminal: true,
        demo: false,
        on_raise: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let bench = Bench { runtime, app: App::open(config)?, settings };
    let measured = bench.measure();
    bench.app.shutdown(AtExit::Stop, Duration::from_secs(10));
    println!("{}", measured?);
    Ok(())
}

impl Bench {
    fn call(&self, method: &str, params: Value) -> Outcome<Value> {
        self.runtime
            .block_on(self.app.rpc(method, params))
            .map_err(|error| format!("{method}: {error:?}").into())
    }

    fn words(&self, name: &str) -> Vec<&str> {
        self.settings[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Starts an agent with the program of that setting; answers its run.
    fn start(&self, name: &str, project: &Value) -> Outcome<String> {
        let words = self.words(name);
        let (program, args) = words.split_first().ok_or("no program")?;
        self.call(
            "profile_add",
            json!({"name": name, "adapter": "plain", "program": program, "args": args}),
        )?;
        let agent = self.call("agent_add", json!({"name": name, "project": project, "profile": name}))?;
        let started =
            self.call("agent_start", json!({"agent": agent["id"], "cols": SIZE.0, "rows": SIZE.1}))?;
        Ok(started["run"]["id"].as_str().ok_or("the agent has no run")?.to_owned())
    }

    fn measure(&self) -> Outcome<Value> {
        let project = self.call("project_add", json!({"path": self.settings["repository"]}))?["id"].clone();
        let run = self.start("echo", &project)?;
        let mut view = View::attach(self, run)?;
        let mut reference = bare::Typing::open(&self.words("echo"))?;
        let (rounds, keys) = (self.number("rounds"), self.number("keys"));
        let (mut bare_idle, mut idle) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            for _ in 0..keys {
                std::thread::sleep(PAUSE);
                bare_idle.push(reference.key()?);
            }
            for _ in 0..keys {
                std::thread::sleep(PAUSE);
                idle.push(view.key()?);
            }
        }
        let flooded = self.start("flood", &project)?;
        let watcher = Watcher::start(self, &flooded);
        let (mut bare_flood, mut flood) = (Vec::new(), Vec::new());
        for round in 1..=rounds.min(3) {
            self.call("terminal_write", json!({"run": flooded, "data": "\n"}))?;
            while self.marks() < round {
                std::thread::sleep(PAUSE);
                bare_flood.push(reference.key()?);
                std::thread::sleep(PAUSE);
                flood.push(view.key()?);
            }
        }
        let pulled = watcher.stop()?;
        Ok(
            json!({"bare_idle": bare_idle, "idle": idle, "bare_flood": bare_flood, "flood": flood, "pulled": pulled}),
        )
    }

    fn number(&self, name: &str) -> u64 {
        self.settings[name].as_u64().unwrap_or(1)
    }

    /// How many floods are over: the program writes a line for each.
    fn marks(&self) -> u64 {
        let file = self.settings["marks"].as_str().unwrap_or_default();
        std::fs::read_to_string(file).map_or(0, |text| text.lines().count() as u64)
    }
}

/// A view of a terminal, as the window has it: it pulls by offset, one request at a time.
struct View<'a> {
    bench: &'a Bench,
    run: String,
    offset: u64,
}

impl<'a> View<'a> {
    /// Attaches and waits until the program has said something.
    fn attach(bench: &'a Bench, run: String) -> Outcome<Self> {
        let began = Instant::now();
        let mut view = Self { bench, run, offset: 0 };
        loop {
            match view.pull(None, Duration::ZERO) {
                Ok(_) if view.offset > 0 => return Ok(view),
                _ if began.elapsed() > PATIENCE => return Err("the terminal says nothing".into()),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Answers how many bytes came.
    fn pull(&mut self, offset: Option<u64>, wait: Duration) -> Outcome<usize> {
        let pull = self.bench.app.terminal_pull(&self.run, offset, SIZE, wait);
        let answer = self.bench.runtime.block_on(pull).map_err(|error| format!("the pull: {error:?}"))?;
        self.offset = u64::from_le_bytes(answer[8..16].try_into()?);
        Ok(answer.len() - HEADER_BYTES)
    }

    /// Types one key and waits until a pull brings its echo; nanoseconds.
    fn key(&mut self) -> Outcome<u64> {
        let began = monotonic_ns();
        self.bench.call("terminal_write", json!({"run": self.run, "data": "x"}))?;
        if self.pull(Some(self.offset), PATIENCE)? == 0 {
            return Err("no echo".into());
        }
        Ok(monotonic_ns() - began)
    }
}

/// Pulls a run on a thread of its own for as long as it lives, as a window does.
struct Watcher {
    done: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u64>,
}

impl Watcher {
    fn start(bench: &Bench, run: &str) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (app, run, handle) = (bench.app.clone(), run.to_owned(), bench.runtime.handle().clone());
        let over = done.clone();
        let thread = std::thread::spawn(move || {
            let (mut offset, mut pulled) = (None, 0);
            while !over.load(Ordering::Relaxed) {
                let pull = app.terminal_pull(&run, offset, SIZE, Duration::from_millis(200));
                match handle.block_on(pull) {
                    Ok(answer) => {
                        offset = answer[8..16].try_into().ok().map(u64::from_le_bytes);
                        pulled += (answer.len() - HEADER_BYTES) as u64;
                    }
                    // A run that has just been made is not known at once.
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
            pulled
        });
        Self { done, thread }
    }

    fn stop(self) -> Outcome<u64> {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the watching thread broke off".into())
    }
}
