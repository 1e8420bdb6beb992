//! Tells the engine of turns, as hooks of agents do.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) struct Teller {
    to: Option<(String, String)>,
}

/// An engine that restarts is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

impl Teller {
    pub(crate) fn new(tells: bool) -> Self {
        let named = |name: &str| std::env::var(name).ok().filter(|_| tells);
        Self { to: named("CARILLON_SOCKET").zip(named("CARILLON_RUN")) }
    }

    pub(crate) fn tell(&self, event: &str, data: Value) {
        let Some((socket, run)) = &self.to else { return };
        let params = json!({"run": run, "event": event, "data": data});
        let request = format!("{}\n", json!({"id": 1, "method": "agent_hook", "params": params}));
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if call(socket, &request).is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn call(socket: &str, request: &str) -> Option<()> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok().filter(|count| *count > 0).map(drop)
}
