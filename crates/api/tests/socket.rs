//! The API on its real socket: many calls and many clients at once, callers that vanish, and requests
//! that are none.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use carillon_api::{App, Client, Code, Config};
use carillon_engine::AtExit;
use serde_json::{Value, json};

/// Longest that a test waits for anything. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
/// A waiting call that is answered after so long was not woken.
const LONG_MS: u64 = 30_000;

/// An engine in a home of its own.
struct Stage {
    dir: tempfile::TempDir,
    home: PathBuf,
    app: App,
}

impl Stage {
    fn new() -> Self {
        Self::in_home("h")
    }

    fn in_home(home: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("c").tempdir().expect("a directory");
        let home = dir.path().join(home);
        let app = App::open(config(&home)).expect("the app opens");
        Self { dir, home, app }
    }

    fn socket(&self) -> PathBuf {
        self.home.join("carillon.sock")
    }

    fn client(&self) -> Client {
        Client::connect(&self.socket()).expect("the socket answers")
    }

    fn line(&self) -> Line {
        Line::connect(&self.socket())
    }

    fn repo(&self) -> PathBuf {
        let repo = self.dir.path().join("bells");
        let init = Command::new("git").args(["init", "--quiet"]).arg(&repo).status().expect("git");
        assert!(init.success());
        repo
    }
}

fn config(home: &Path) -> Config {
    Config {
        home: home.to_owned(),
        home_is_chosen: true,
        carillon_binary: PathBuf::from("/no/such/carillon"),
        from_terminal: true,
        demo: false,
        on_raise: None,
    }
}

/// A connection on which several calls are under way.
struct Line(BufReader<UnixStream>);

impl Line {
    fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("the socket answers");
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
        Self(BufReader::new(stream))
    }

    fn send_raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("it is taken");
    }

    fn send(&mut self, id: u64, method: &str, params: &Value) {
        let line = json!({"id": id, "method": method, "params": params}).to_string() + "\n";
        self.send_raw(line.as_bytes());
    }

    /// The next answer; `null` when the other end has closed.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("an answer in time");
        if line.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&line).expect("one JSON value per line")
        }
    }
}

fn wait_for_changes(after: &Value) -> Value {
    json!({"after": after, "wait_ms": LONG_MS})
}

/// The present place in the change log. The answer needs no thread of its own.
fn place(line: &mut Line) -> Value {
    line.send(0, "changes_wait", &json!({"after": null}));
    line.next()["result"]["seq"].clone()
}

#[test]
fn calls_of_one_connection_are_answered_as_they_are_ready() {
    let stage = Stage::new();
    let mut line = stage.line();
    let seq = place(&mut line);
    line.send(1, "changes_wait", &wait_for_changes(&seq));
    line.send(2, "info", &json!({}));
    let answer = line.next();
    assert_eq!(answer["id"], 2, "it does not queue behind the waiting call");
    assert_eq!(answer["result"]["pid"], std::process::id());
    line.send(3, "settings_set", &json!({"patch": {"theme": "dark"}}));
    let answers: HashMap<u64, Value> =
        (0..2).map(|_| line.next()).map(|answer| (answer["id"].as_u64().expect("an id"), answer)).collect();
    assert_eq!(answers[&3]["result"]["theme"], "dark");
    assert_eq!(answers[&1]["result"]["changes"][0]["tag"], "settingsChanged");
}

#[test]
fn every_call_is_answered_once_under_its_id() {
    const CALLS: u64 = 500;
    let stage = Stage::new();
    let mut line = stage.line();
    let mut writing = UnixStream::try_clone(line.0.get_ref()).expect("another end");
    // More than one connection may have under way; the rest waits its turn.
    let sender = std::thread::spawn(move || {
        for id in 1..=CALLS {
            let method = if id.is_multiple_of(5) { "no_such" } else { "settings_get" };
            let call = json!({"id": id, "method": method}).to_string() + "\n";
            writing.write_all(call.as_bytes()).expect("it is taken");
        }
    });
    let mut answered = std::collections::BTreeSet::new();
    for _ in 0..CALLS {
        let answer = line.next();
        let id = answer["id"].as_u64().expect("an id");
        assert_eq!(answer["error"].is_object(), id.is_multiple_of(5), "{answer}");
        assert!(answered.insert(id), "{id} was answered twice");
    }
    sender.join().expect("all were sent");
    assert_eq!(answered.len() as u64, CALLS);
}

/// How many of something this process has.
fn count(what: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{what}")).expect("/proc").count()
}

#[test]
fn a_caller_that_vanishes_leaves_nothing() {
    let stage = Stage::new();
    let mut line = stage.line();
    let seq = place(&mut line);
    let before = (count("fd"), count("task"));
    for n in 0..100 {
        let mut line = stage.line();
        line.send(1, "changes_wait", &wait_for_changes(&seq));
        // Its answer says that the connection is served, and the wait under way.
        place(&mut line);
        if n % 2 == 0 {
            // Half a request is no reason to stay, either.
            line.send_raw(b"{\"id\":2,\"method\":\"in");
        }
    }
    let until = Instant::now() + PATIENCE;
    while count("fd") > before.0 || count("task") > before.1 {
        assert!(Instant::now() < until, "{:?} of {before:?}", (count("fd"), count("task")));
        // Nothing tells when the other end of a connection has been let go.
        std::thread::sleep(Duration::from_millis(2));
    }
    line.send(1, "settings_get", &json!({}));
    assert_eq!(line.next()["result"]["theme"], "system", "the others are served as before");
}

#[test]
fn what_is_no_call_is_told_so_and_the_connection_goes_on() {
    let stage = Stage::new();
    let mut line = stage.line();
    let garbage: [&[u8]; 9] = [
        b"hello",
        b"",
        b"{",
        b"[1,2]",
        b"{}",
        b"{\"id\":1}",
        b"{\"id\":1,\"method\":7}",
        b"\x1b[2J\x07",
        b"\xff\xfe\x00",
    ];
    for bytes in garbage {
        line.send_raw(bytes);
        line.send_raw(b"\n");
        let answer = line.next();
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(answer["error"]["code"], "invalid", "{shown:?}: {answer}");
        assert!(answer["id"].is_null(), "{shown:?}: {answer}");
    }
    line.send(7, "settings_get", &json!({}));
    assert_eq!(line.next()["id"], 7);
}

#[test]
fn a_request_that_is_too_long_is_told_so_and_the_connection_goes_on() {
    let stage = Stage::new();
    let mut line = stage.line();
    let mut writing = UnixStream::try_clone(line.0.get_ref()).expect("another end");
    let sender = std::thread::spawn(move || {
        let much = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            writing.write_all(&much).expect("it is taken");
        }
        writing.write_all(b"\n{\"id\":8,\"method\":\"settings_get\"}\n").expect("it is taken");
    });
    let answer = line.next();
    assert_eq!(answer["error"]["code"], "invalid", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("longer than"), "{answer}");
    assert_eq!(line.next()["id"], 8);
    sender.join().expect("all was taken");
}

#[test]
fn what_is_wrong_with_a_request_is_named() {
    let stage = Stage::new();
    let mut client = stage.client();
    let cases = [
        ("fly", json!({}), "fly"),
        ("agent_start", json!({"agent": "x", "colour": 1}), "colour"),
        ("settings_set", json!({"patch": {"sound": "loud"}}), "sound"),
        ("settings_set", json!({"patch": {"theme": "pink"}}), "pink"),
        ("changes_wait", json!({"after": 1, "forever": true}), "forever"),
        ("info", json!({"more": true}), "more"),
        ("agent_start", json!({}), "agent"),
        ("terminal_resize", json!({"run": "x", "cols": -1, "rows": 2}), "-1"),
    ];
    for (method, params, name) in cases {
        let error = client.call(method, params.clone()).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{method} {params}: {error}");
        assert!(error.message.contains(name), "{method} {params}: {error}");
    }
    let error = client.call("agent_start", json!({"agent": "nobody"})).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    assert!(error.message.contains("nobody") && error.hint.is_some(), "{error:?}");
}

#[test]
fn a_home_in_a_deep_directory_works() {
    let deep = ["a directory with a long name"; 6].join("/");
    let stage = Stage::in_home(&deep);
    let socket = stage.socket();
    assert!(socket.as_os_str().len() > 107, "{}", socket.display());
    let info = stage.client().call("info", json!({})).expect("an answer");
    assert_eq!(info["socket"], json!(socket));
    let mode = std::fs::metadata(&socket).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    stage.app.shutdown(AtExit::Stop, PATIENCE);
    assert!(!socket.exists());
}

#[test]
fn the_socket_of_a_dead_engine_is_replaced() {
    let dir = tempfile::Builder::new().prefix("c").tempdir().expect("a directory");
    let socket = dir.path().join("carillon.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
    assert_eq!(Client::connect(&socket).expect_err("nobody is there").code, Code::NoEngine);
    let app = App::open(config(dir.path())).expect("the app opens");
    assert!(Client::connect(&socket).expect("somebody is there").call("info", json!({})).is_ok());
    // While it lives, the place is taken, and the second start changes nothing.
    let error = App::open(config(dir.path())).err().expect("refused");
    assert!(error.to_string().contains("running already"), "{error}");
    assert!(Client::connect(&socket).expect("somebody is there").call("info", json!({})).is_ok());
    app.shutdown(AtExit::Stop, PATIENCE);
}

#[test]
fn a_waiting_caller_hears_of_the_shutdown() {
    let stage = Stage::new();
    let mut line = stage.line();
    let seq = place(&mut line);
    line.send(1, "changes_wait", &wait_for_changes(&seq));
    place(&mut line);
    stage.app.shutdown(AtExit::Stop, PATIENCE);
    assert_eq!(line.next(), Value::Null, "its connection is closed at once");
    assert_eq!(Client::connect(&stage.socket()).expect_err("nobody is there").code, Code::NoEngine);
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn fifty_clients_in_the_first_second_meet_no_error() {
    const CLIENTS: usize = 50;
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    // No other test of this file writes what is looked for.
    tracing::subscriber::set_global_default(subscriber).expect("the only one");
    let stage = Stage::new();
    let repo = stage.repo();
    let start = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let (stage, repo, start) = (&stage, &repo, &start);
            scope.spawn(move || {
                start.wait();
                let mut client = stage.client();
                for (method, params) in session(n, repo) {
                    let answer = client.call(method, params.clone());
                    answer.unwrap_or_else(|error| panic!("client {n}: {method} {params}: {error}"));
                }
            });
        }
    });
    let mut client = stage.client();
    let count = |client: &mut Client, method| {
        client.call(method, json!({})).expect("an answer").as_array().expect("a list").len()
    };
    assert_eq!(count(&mut client, "projects_list"), 1);
    assert_eq!(count(&mut client, "profiles_list"), CLIENTS);
    assert_eq!(count(&mut client, "agents_list"), CLIENTS);
    let text = String::from_utf8(log.0.lock().expect("no panic").clone()).expect("UTF-8");
    assert!(text.contains("recovered"), "the log is listened to: {text:?}");
    for word in ["SQLITE_BUSY", "locked", "another process holds"] {
        assert!(!text.contains(word), "{text}");
    }
}

/// What one client does in its first second.
fn session(n: usize, repo: &Path) -> Vec<(&'static str, Value)> {
    let name = format!("client-{n}");
    vec![
        ("info", json!({})),
        ("project_add", json!({"path": repo})),
        ("profile_add", json!({"name": name, "adapter": "plain", "program": "/bin/sh"})),
        ("agent_add", json!({"name": name, "project": "bells", "profile": name})),
        ("changes_wait", json!({"after": 0, "wait_ms": LONG_MS})),
        ("settings_set", json!({"patch": {"font_size": 10 + n % 10}})),
        ("layout_set", json!({"project": "bells", "layout": {"panes": [n]}})),
        ("agents_list", json!({"project": "bells"})),
        ("layout_get", json!({"project": "bells"})),
        ("profiles_list", json!({})),
    ]
}
