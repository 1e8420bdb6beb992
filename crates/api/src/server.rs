//! The unix socket: one JSON value per line, `{"id", "method", "params"}` in, `{"id", "result"}` or
//! `{"id", "error"}` out. Calls of one connection run side by side, answers come as they are ready.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use carillon_core::limits;
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

use crate::app::App;
use crate::commands;
use crate::error::ApiError;

/// Calls that one connection may have under way.
const CALLS_PER_CONNECTION: usize = 64;
/// Threads that carry the connections.
const WORKERS: usize = 2;

/// A running server. It ends when it is dropped.
pub struct Server {
    accepting: watch::Sender<bool>,
    runtime: Option<tokio::runtime::Runtime>,
}

#[derive(Deserialize)]
struct Call {
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

#[derive(Serialize)]
struct Answer {
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ApiError>,
}

impl Server {
    /// Binds the socket (0600) and serves on threads of its own. The caller holds the lock of the
    /// data directory, so a socket that is there is a dead engine's.
    pub fn start(app: &App, socket: &Path) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("api")
            .enable_all()
            .build()?;
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = {
            let _inside = runtime.enter();
            crate::socket::with_short_path(socket, |short| UnixListener::bind(short))?
        };
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
        let (accepting, mut open) = watch::channel(true);
        let weak = app.downgrade();
        runtime.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    // The sender going away ends the server as well.
                    _ = open.changed() => return,
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => {
                            let Some(app) = weak.upgrade() else { return };
                            connections.spawn(serve(app, stream));
                        }
                        Err(error) => {
                            // Out of descriptors: what is open goes on, and accepting waits for one.
                            tracing::warn!(%error, "a connection could not be accepted");
                            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                        }
                    },
                    Some(_) = connections.join_next(), if !connections.is_empty() => {}
                }
            }
        });
        Ok(Self { accepting, runtime: Some(runtime) })
    }

    /// Takes no more connections and ends those that are open.
    pub fn stop_accepting(&self) {
        let _ = self.accepting.send(false);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(app: App, stream: UnixStream) {
    let caller = stream.peer_cred().ok().and_then(|peer| u32::try_from(peer.pid()?).ok());
    let (read, write) = stream.into_split();
    let mut lines = FramedRead::new(read, LinesCodec::new_with_max_length(limits::REQUEST_MAX_BYTES));
    let mut out = FramedWrite::new(write, LinesCodec::new());
    let (answers, mut ready) = mpsc::channel::<String>(CALLS_PER_CONNECTION);
    let slots = Arc::new(Semaphore::new(CALLS_PER_CONNECTION));
    let mut calls = JoinSet::new();
    // After an error the reader ends once, and goes on when it is asked again.
    let mut goes_on = false;
    loop {
        tokio::select! {
            Some(answer) = ready.recv() => {
                if out.send(answer).await.is_err() {
                    return;
                }
            }
            // Without a free slot nothing more is read, but answers still go out.
            line = lines.next(), if slots.available_permits() > 0 => match line {
                Some(Ok(line)) => {
                    let Ok(slot) = slots.clone().acquire_owned().await else { return };
                    let (app, answers) = (app.clone(), answers.clone());
                    calls.spawn(async move {
                        let answer = respond(&app, &line, caller).await;
                        let _ = answers.send(answer).await;
                        drop(slot);
                    });
                }
                None if goes_on => goes_on = false,
                Some(Err(error)) if let Some(what) = what_is_wrong(&error) => {
                    goes_on = true;
                    if out.send(pack(Value::Null, Err(ApiError::invalid(what)))).await.is_err() {
                        return;
                    }
                }
                // The caller has gone: whoever waited for it stops waiting.
                Some(Err(_)) | None => return,
            },
            Some(_) = calls.join_next(), if !calls.is_empty() => {}
        }
    }
}

/// What a caller is told of a line that cannot be read; `None` when the caller has gone.
fn what_is_wrong(error: &LinesCodecError) -> Option<String> {
    match error {
        LinesCodecError::MaxLineLengthExceeded => {
            Some(format!("the request is longer than {} bytes", limits::REQUEST_MAX_BYTES))
        }
        LinesCodecError::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Some("the request is not UTF-8".to_owned())
        }
        LinesCodecError::Io(_) => None,
    }
}

async fn respond(app: &App, line: &str, caller: Option<u32>) -> String {
    match serde_json::from_str::<Call>(line) {
        Ok(call) => pack(call.id, commands::call_from(app, caller, &call.method, call.params).await),
        Err(error) => pack(Value::Null, Err(ApiError::invalid(format!("this is no call: {error}")))),
    }
}

fn pack(id: Value, result: Result<Value, ApiError>) -> String {
    let answer = match result {
        Ok(result) => Answer { id, result: Some(result), error: None },
        Err(error) => Answer { id, result: None, error: Some(error) },
    };
    serde_json::to_string(&answer).unwrap_or_else(|_| "{\"id\":null}".to_owned())
}
