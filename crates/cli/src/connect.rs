//! Reaching the engine.

use std::path::PathBuf;
use std::time::Duration;

use carillon_api::{ApiError, Client};
use carillon_core::limits;
use carillon_engine::Paths;
use serde_json::Value;

/// A connection, and how long it may wait for an engine that restarts.
pub(crate) struct Connection {
    client: Client,
    patience: Duration,
}

impl Connection {
    /// Connects to the engine of the environment. Inside a run its engine is only away for a
    /// restart, so it is waited for.
    pub(crate) fn open() -> Result<Self, ApiError> {
        let inside = std::env::var_os("CARILLON_SOCKET").filter(|socket| !socket.is_empty());
        let wait = Duration::from_millis(limits::ENGINE_PATIENCE_MS);
        let (socket, patience) = match inside {
            Some(socket) => (PathBuf::from(socket), wait),
            None => (default_socket()?, Duration::ZERO),
        };
        Ok(Self { client: Client::connect_patiently(&socket, patience)?, patience: wait })
    }

    /// Calls a command that changes something.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Result<Value, ApiError> {
        self.client.call(method, params)
    }

    /// Calls a command that may be repeated without harm, also across a restart of the engine.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, ApiError> {
        self.client.call_again(method, &params, self.patience)
    }
}

fn default_socket() -> Result<PathBuf, ApiError> {
    let (home, _) = carillon_engine::Config::default_home()
        .ok_or_else(|| ApiError::no_engine("you have no home directory", "set HOME or CARILLON_HOME"))?;
    Ok(Paths::under(&home).socket)
}

/// The project to use: what was given, made absolute when it is a path, or the present directory.
pub(crate) fn project_key(given: Option<String>) -> Result<String, ApiError> {
    let here = || {
        std::env::current_dir()
            .map_err(|e| ApiError::failed(format!("the present directory cannot be read: {e}")))
    };
    match given {
        None => Ok(here()?.to_string_lossy().into_owned()),
        Some(path) if path.starts_with('.') || path.contains('/') => {
            Ok(here()?.join(path).to_string_lossy().into_owned())
        }
        Some(name) => Ok(name),
    }
}
