//! The engine as the tools see it: a socket that may be gone for a while.
//!
//! Each request has a connection of its own. Dropping a request ends what the engine waits for on its
//! behalf, and nothing has to be taken up again after a restart. A request may be repeated without
//! harm where its ids are made on this side; the others are sent once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use carillon_api::{ApiError, Code};
use carillon_core::limits;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::linux::{DirectoryWatch, connect_by_path};

/// Longest answer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// First pause between two looks for an engine that is away; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(5);
/// Longest such pause where the kernel tells of a new socket; it covers the moment between the
/// socket's file and its first `accept`.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The other side.
#[derive(Clone)]
pub(super) struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    socket: PathBuf,
    /// Held by the one request that looks for an engine that is away; the others wait for it.
    looking: Mutex<()>,
}

#[derive(Deserialize)]
struct Answer {
    result: Option<Value>,
    error: Option<ApiError>,
}

impl Engine {
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { inner: Arc::new(Inner { socket, looking: Mutex::new(()) }) }
    }

    pub(super) fn socket(&self) -> &Path {
        &self.inner.socket
    }

    /// Asks, and asks again when the engine goes away meanwhile. One that is away is waited for, as
    /// long as is usual.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, ApiError> {
        self.ask_for(method, params, Some(Duration::from_millis(limits::ENGINE_PATIENCE_MS))).await
    }

    /// Asks for what must not be done twice: an engine that is away is waited for, but when it goes
    /// away during the request, the caller has to look what became of it.
    pub(super) async fn ask_once(&self, method: &str, params: Value) -> Result<Value, ApiError> {
        let until = Instant::now() + Duration::from_millis(limits::ENGINE_PATIENCE_MS);
        exchange(self.connect(Some(until)).await?, &line(method, &params)).await.map_err(|error| {
            let hint = "look what was done before you try again".to_owned();
            if error.code == Code::NoEngine { ApiError { hint: Some(hint), ..error } } else { error }
        })
    }

    /// As [`Engine::ask`], but never gives up.
    pub(super) async fn ask_until_heard(&self, method: &str, params: Value) -> Result<Value, ApiError> {
        self.ask_for(method, params, None).await
    }

    /// Waits until an engine is there.
    pub(super) async fn reach(&self) -> Result<(), ApiError> {
        let until = Instant::now() + Duration::from_millis(limits::ENGINE_PATIENCE_MS);
        self.connect(Some(until)).await.map(drop)
    }

    async fn ask_for(
        &self,
        method: &str,
        params: Value,
        patience: Option<Duration>,
    ) -> Result<Value, ApiError> {
        let line = line(method, &params);
        let mut until = patience.map(|patience| Instant::now() + patience);
        let mut pause = PAUSE;
        loop {
            let stream = self.connect(until).await?;
            // It is there: from now on the patience counts anew.
            until = patience.map(|patience| Instant::now() + patience);
            match exchange(stream, &line).await {
                Err(error) if error.code == Code::NoEngine => {
                    // An engine that shuts down still accepts, and answers that it does not.
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                other => return other,
            }
        }
    }

    /// Connects, waiting for an engine that is away until `until`.
    async fn connect(&self, until: Option<Instant>) -> Result<UnixStream, ApiError> {
        if let Ok(stream) = open(&self.inner.socket) {
            return Ok(stream);
        }
        let patiently = async {
            let _looking = self.inner.looking.lock().await;
            let watch = self.inner.socket.parent().and_then(DirectoryWatch::begin);
            let mut pause = PAUSE;
            loop {
                if let Ok(stream) = open(&self.inner.socket) {
                    return stream;
                }
                match &watch {
                    Some(watch) => {
                        let made = tokio::time::timeout(pause, watch.changed()).await;
                        pause = if made.is_ok() { PAUSE } else { (pause * 2).min(PAUSE_MAX) };
                    }
                    None => {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(PAUSE_MAX);
                    }
                }
            }
        };
        match until {
            None => Ok(patiently.await),
            Some(until) => tokio::time::timeout_at(until, patiently).await.map_err(|_| {
                let socket = self.inner.socket.display();
                ApiError::no_engine(
                    format!("Carillon is not running: nobody answers at {socket}"),
                    "ask the user to start it, then try again",
                )
            }),
        }
    }
}

/// Opens a connection.
fn open(socket: &Path) -> std::io::Result<UnixStream> {
    let stream = connect_by_path(socket)?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// A request on its line.
fn line(method: &str, params: &Value) -> String {
    format!("{}\n", json!({"id": 1, "method": method, "params": params}))
}

async fn exchange(mut stream: UnixStream, line: &str) -> Result<Value, ApiError> {
    let gone = |_| ApiError::no_engine("Carillon ended during the call", "try again");
    stream.write_all(line.as_bytes()).await.map_err(gone)?;
    let mut answer = Vec::new();
    let mut reader = BufReader::with_capacity(READ_BYTES, stream).take(ANSWER_MAX_BYTES);
    reader.read_until(b'\n', &mut answer).await.map_err(gone)?;
    if answer.last() != Some(&b'\n') {
        if answer.len() as u64 == ANSWER_MAX_BYTES {
            return Err(ApiError::failed("the engine's answer is too long to be read"));
        }
        return Err(gone(std::io::ErrorKind::UnexpectedEof.into()));
    }
    let answer: Answer = serde_json::from_slice(&answer)
        .map_err(|error| ApiError::failed(format!("the engine's answer cannot be read: {error}")))?;
    match (answer.result, answer.error) {
        (_, Some(error)) => Err(error),
        (result, None) => Ok(result.unwrap_or(Value::Null)),
    }
}

/// Bytes that are read at a time.
const READ_BYTES: usize = 16 * 1024;
