//! An engine that is only a socket: it answers as a test tells it to, and can be away for a while.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::until;

/// What an engine answers: a result, or the code of an error.
pub type Answer = Result<Value, &'static str>;
type Rule = dyn Fn(&str, &Value) -> Answer + Send + Sync;

/// A fake engine in a home of its own.
pub struct FakeEngine {
    dir: tempfile::TempDir,
    rule: Arc<Rule>,
    heard: Arc<Mutex<Vec<(String, Value)>>>,
    up: Option<Up>,
}

struct Up {
    stop: Arc<AtomicBool>,
    accepting: std::thread::JoinHandle<()>,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl FakeEngine {
    /// One that is not up yet. The rule may block: each connection has a thread.
    pub fn new(rule: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let dir = tempfile::Builder::new().prefix("f").tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("calls")).expect("a directory for calls");
        Self { dir, rule: Arc::new(rule), heard: Arc::default(), up: None }
    }

    /// One that is up.
    pub fn started(rule: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let mut engine = Self::new(rule);
        engine.start();
        engine
    }

    pub fn home(&self) -> &Path {
        self.dir.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.home().join("carillon.sock")
    }

    pub fn start(&mut self) {
        let _ = std::fs::remove_file(self.socket());
        let listener = UnixListener::bind(self.socket()).expect("a socket");
        let (stop, open) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (rule, heard) = (self.rule.clone(), self.heard.clone());
        let (stopping, streams) = (stop.clone(), open.clone());
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopping.load(Ordering::SeqCst) {
                    return;
                }
                streams.lock().expect("the streams").push(stream.try_clone().expect("a copy"));
                let (rule, heard) = (rule.clone(), heard.clone());
                std::thread::spawn(move || serve(&stream, &*rule, &heard));
            }
        });
        self.up = Some(Up { stop, accepting, open });
    }

    /// Goes away as a crash would: every connection breaks off.
    pub fn stop(&mut self) {
        let Some(Up { stop, accepting, open }) = self.up.take() else { return };
        stop.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(self.socket());
        accepting.join().expect("the listener");
        std::fs::remove_file(self.socket()).expect("the socket");
        for stream in open.lock().expect("the streams").drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// All requests of one method so far.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        let heard = self.heard.lock().expect("what was heard");
        heard.iter().filter(|(name, _)| name == method).map(|(_, params)| params.clone()).collect()
    }

    /// Waits until a method was called so often.
    pub fn wait_heard(&self, method: &str, count: usize) -> Vec<Value> {
        until(&format!("{method} to be heard {count} times"), || {
            let heard = self.heard(method);
            (heard.len() >= count).then_some(heard)
        })
    }

    /// Whether somebody holds the lock of a call.
    pub fn is_held(&self, call: &str) -> bool {
        use rustix::fs::{FlockOperation, flock};
        let file = std::fs::File::open(self.home().join("calls").join(call)).expect("the call's file");
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }
}

impl Drop for FakeEngine {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(stream: &UnixStream, rule: &Rule, heard: &Mutex<Vec<(String, Value)>>) {
    let mut out = stream;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let call: Value = serde_json::from_str(&line).expect("a request");
        let method = call["method"].as_str().expect("a method").to_owned();
        heard.lock().expect("what was heard").push((method.clone(), call["params"].clone()));
        let answer = match rule(&method, &call["params"]) {
            Ok(result) => json!({"id": call["id"], "result": result}),
            Err(code) => {
                json!({"id": call["id"], "error": {"code": code, "message": format!("{method}: {code}"), "hint": null}})
            }
        };
        if writeln!(out, "{answer}").is_err() {
            return;
        }
    }
}

/// An ask as the engine tells it, with these fields changed.
pub fn ask(id: &str, changes: Value) -> Value {
    let mut ask = json!({"id": id, "project": "p".repeat(32), "caller": "a".repeat(32), "caller_name": "ada",
        "callee": "b".repeat(32), "callee_name": "bob", "prompt": "?", "state": "open", "final": null,
        "reason": null, "key": null, "after_children": "deliver", "joined_ask": null, "children": [],
        "delivered": null, "waiting_for": "turn", "created_ms": 1, "deadline_ms": null, "ended_ms": null});
    ask.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
    ask
}

/// The same with an answer.
pub fn answered(id: &str, text: &str) -> Value {
    ask(id, json!({"state": "answered", "final": text, "waiting_for": null, "ended_ms": 2}))
}
