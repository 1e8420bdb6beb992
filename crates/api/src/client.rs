//! The other end of the socket, for programs that have no runtime: blocking, one call at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{ApiError, Code};
use crate::socket::with_short_path;

/// Longest answer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// How often a call looks for an engine that is on its way back.
const RETRY: Duration = Duration::from_millis(100);

/// A connection to an engine.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
    next_id: u64,
}

#[derive(Deserialize)]
struct Answer {
    result: Option<Value>,
    error: Option<ApiError>,
}

impl Client {
    /// Connects to the engine behind `socket`.
    pub fn connect(socket: &Path) -> Result<Self, ApiError> {
        let stream = with_short_path(socket, |short| UnixStream::connect(short)).map_err(|error| {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                    "Carillon is not running".to_owned()
                }
                _ => format!("Carillon cannot be reached at {}: {error}", socket.display()),
            };
            ApiError::no_engine(message, "start the app, or run `carillon serve`")
        })?;
        Ok(Self { socket: socket.to_owned(), stream: BufReader::new(stream), next_id: 1 })
    }

    /// Connects, waiting up to `patience` for an engine that is on its way back.
    pub fn connect_patiently(socket: &Path, patience: Duration) -> Result<Self, ApiError> {
        let until = Instant::now() + patience;
        loop {
            match Self::connect(socket) {
                Err(error) if error.code == Code::NoEngine && Instant::now() < until => {
                    std::thread::sleep(RETRY);
                }
                other => return other,
            }
        }
    }

    /// Calls a command.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, ApiError> {
        let id = self.next_id;
        self.next_id += 1;
        let mut line = json!({"id": id, "method": method, "params": params}).to_string();
        line.push('\n');
        let gone = |_| {
            ApiError::no_engine("Carillon ended during the call", "start it again and look what was done")
        };
        self.stream.get_mut().write_all(line.as_bytes()).map_err(gone)?;
        let mut answer = String::new();
        (&mut self.stream).take(ANSWER_MAX_BYTES).read_line(&mut answer).map_err(gone)?;
        if answer.is_empty() {
            return Err(gone(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let answer: Answer = serde_json::from_str(&answer)
            .map_err(|error| ApiError::failed(format!("the answer cannot be read: {error}")))?;
        match (answer.result, answer.error) {
            (_, Some(error)) => Err(error),
            (result, None) => Ok(result.unwrap_or(Value::Null)),
        }
    }

    /// Calls a command that may be repeated without harm: when the engine goes away during the
    /// call, it is asked again once it is back within `patience`.
    pub fn call_again(
        &mut self,
        method: &str,
        params: &Value,
        patience: Duration,
    ) -> Result<Value, ApiError> {
        let until = Instant::now() + patience;
        loop {
            match self.call(method, params.clone()) {
                Err(error) if error.code == Code::NoEngine && Instant::now() < until => {
                    std::thread::sleep(RETRY);
                    let rest = until.saturating_duration_since(Instant::now());
                    *self = Self::connect_patiently(&self.socket.clone(), rest)?;
                }
                other => return other,
            }
        }
    }
}
