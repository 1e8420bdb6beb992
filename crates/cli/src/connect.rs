//! Reaching the engine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use carillon_api::{ApiError, Client};
use carillon_core::limits;
use carillon_engine::Paths;
use serde_json::Value;

/// A connection, and how long it may wait for an engine that restarts.
pub(crate) struct Connection {
    client: Client,
    socket: PathBuf,
    patience: Duration,
}

impl Connection {
    /// Connects to the engine of the environment. Inside a run its engine is only away for a
    /// restart, so it is waited for.
    pub(crate) fn open() -> Result<Self, ApiError> {
        let (socket, is_inside) = socket_of_environment()?;
        let wait = Duration::from_millis(limits::ENGINE_PATIENCE_MS);
        let patience = if is_inside { wait } else { Duration::ZERO };
        let client =
            Client::connect_patiently(&socket, patience).map_err(|error| unreachable(error, &socket))?;
        Ok(Self { client, socket, patience: wait })
    }

    /// The socket of the engine.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
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

/// An engine that lives and has lost its socket cannot be reached by anybody.
fn unreachable(error: ApiError, socket: &Path) -> ApiError {
    let lock = socket.with_file_name("lock");
    let pid = std::fs::read_to_string(lock).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let lives = pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}/exe")).exists());
    match pid {
        Some(pid) if lives && !socket.exists() => ApiError::no_engine(
            format!("Carillon (process {pid}) has lost its socket {}", socket.display()),
            format!(
                "end it with `kill {pid}` and start it again: agents and tasks are found again or stopped cleanly"
            ),
        ),
        _ => error,
    }
}

/// The socket of the engine that the environment names, and whether we are inside one of its runs.
pub(crate) fn socket_of_environment() -> Result<(PathBuf, bool), ApiError> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    // No run is given CARILLON_HOME: where it is set, somebody means that one.
    match named("CARILLON_SOCKET").filter(|_| named("CARILLON_HOME").is_none()) {
        Some(socket) => Ok((PathBuf::from(socket), true)),
        None => Ok((default_socket()?, false)),
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
