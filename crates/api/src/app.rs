//! An engine with its API, as the window and `carillon serve` host it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use carillon_engine::host::Pulled;
pub use carillon_engine::settings::ExitChoice;
use carillon_engine::{AtExit, Engine};
use serde_json::Value;

use crate::client::Client;
use crate::commands;
use crate::error::ApiError;
use crate::server::Server;

/// Called when a second start wants the first window.
pub type OnRaise = Arc<dyn Fn() + Send + Sync>;

/// How to open an [`App`].
pub struct Config {
    /// The data directory.
    pub home: PathBuf,
    /// Whether `CARILLON_HOME` named it.
    pub home_is_chosen: bool,
    /// The `carillon` binary.
    pub carillon_binary: PathBuf,
    /// Started from a terminal, so that our own environment is the user's.
    pub from_terminal: bool,
    /// Show the demo.
    pub demo: bool,
    /// Raises the window; none when there is no window.
    pub on_raise: Option<OnRaise>,
}

impl Config {
    /// The configuration that the environment asks for; none when there is no home directory.
    pub fn from_environment(carillon_binary: PathBuf, from_terminal: bool) -> Option<Self> {
        let (home, home_is_chosen) = carillon_engine::Config::default_home()?;
        Some(Self { home, home_is_chosen, carillon_binary, from_terminal, demo: false, on_raise: None })
    }
}

/// Why an [`App`] could not be opened. Its text is a full sentence.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another engine holds the data directory.
    #[error("{message}")]
    AlreadyRunning {
        /// The other engine's process.
        pid: Option<u32>,
        /// Its window was raised.
        raised: bool,
        /// The sentence.
        message: String,
    },
    /// Anything else.
    #[error(transparent)]
    Engine(carillon_engine::OpenError),
}

impl OpenError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            Self::AlreadyRunning { raised: true, .. } => "its window is in front now".to_owned(),
            Self::AlreadyRunning { raised: false, .. } => {
                "it has no window: end it first, or set CARILLON_HOME to a directory of its own".to_owned()
            }
            Self::Engine(error) => error.hint(),
        }
    }
}

/// What kind of thing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningKind {
    /// An agent.
    Agent,
    /// A background task.
    Task,
}

/// An agent or a task that has a live run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RunningAgent {
    /// Which of both.
    pub kind: RunningKind,
    /// The name of the agent or the title of the task.
    pub agent: String,
    /// The name of its project.
    pub project: String,
}

/// An engine with its API. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

/// A handle that does not keep the app alive.
pub(crate) struct WeakApp(std::sync::Weak<Inner>);

impl WeakApp {
    /// The app, while it lives.
    pub(crate) fn upgrade(&self) -> Option<App> {
        Some(App { inner: self.0.upgrade()? })
    }
}

struct Inner {
    engine: Engine,
    demo: bool,
    on_raise: Option<OnRaise>,
    /// Dropped with the last handle, which ends the server's runtime.
    server: std::sync::OnceLock<Server>,
}

impl App {
    /// Takes the data directory and opens the API. When another engine holds it, that one's window
    /// is asked to come to the front. Blocking.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        Self::open_or_raise(config, || false)
    }

    /// As [`App::open`]; `raise_first` is another way to ask for that window, and says whether it was
    /// heard. The socket is asked when it was not.
    pub fn open_or_raise(config: Config, raise_first: impl FnOnce() -> bool) -> Result<Self, OpenError> {
        let engine = carillon_engine::Config {
            home: config.home,
            home_is_chosen: config.home_is_chosen,
            carillon_binary: config.carillon_binary,
            from_terminal: config.from_terminal,
        };
        let socket = engine.paths().socket;
        let engine = Engine::open(engine).map_err(|error| match error {
            carillon_engine::OpenError::AlreadyRunning { pid, .. } => {
                let raised = raise_first() || raise(&socket);
                OpenError::AlreadyRunning { pid, raised, message: error.to_string() }
            }
            other => OpenError::Engine(other),
        })?;
        let inner =
            Inner { engine, demo: config.demo, on_raise: config.on_raise, server: Default::default() };
        let app = Self { inner: Arc::new(inner) };
        let server = Server::start(&app, &socket).map_err(|error| {
            OpenError::Engine(carillon_engine::OpenError::Socket { path: socket, why: error.to_string() })
        })?;
        let _ = app.inner.server.set(server);
        app.inner.engine.hear_left_hooks();
        if app.inner.demo
            && let Err(error) = app.inner.engine.open_demo()
        {
            app.inner.engine.notice(&error);
        }
        Ok(app)
    }

    /// A handle that does not keep the app alive.
    pub(crate) fn downgrade(&self) -> WeakApp {
        WeakApp(Arc::downgrade(&self.inner))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Whether it was started to show the demo.
    pub fn is_demo(&self) -> bool {
        self.inner.demo
    }

    /// Calls a command by name, as [`commands::call`]. Needs a tokio runtime.
    pub async fn rpc(&self, method: &str, params: Value) -> Result<Value, ApiError> {
        commands::call(self, method, params).await
    }

    /// What follows `offset` on a run's terminal, or its screen when there is no offset. The size is
    /// the view's: a new view of a live run tells the program its size. Needs a tokio runtime.
    pub async fn terminal_pull(
        &self,
        run: &str,
        offset: Option<u64>,
        size: (u16, u16),
        wait: Duration,
    ) -> Result<Vec<u8>, ApiError> {
        let pulled = self.inner.engine.pull(run, offset, size, wait).await?;
        Ok(pack(&pulled))
    }

    /// Agents and tasks with a live run. That it cannot be read does not mean that nothing runs.
    pub fn running(&self) -> Result<Vec<RunningAgent>, ApiError> {
        let projects = self.inner.engine.projects()?;
        let agents = self.inner.engine.agents(None)?;
        let live = agents.into_iter().filter(|a| a.run.as_ref().is_some_and(|r| !r.state.is_terminal()));
        let name_of = |id| projects.iter().find(|p| p.id == id).map(|p| p.name.clone());
        let agents = live.map(|a| RunningAgent {
            kind: RunningKind::Agent,
            project: name_of(a.agent.project).unwrap_or_default(),
            agent: a.agent.name,
        });
        let tasks = ["starting", "running"].map(|state| self.inner.engine.tasks(None, Some(state)));
        let tasks = tasks.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        let tasks = tasks.map(|t| RunningAgent {
            kind: RunningKind::Task,
            project: name_of(t.row.task.project).unwrap_or_default(),
            agent: t.row.task.title,
        });
        Ok(agents.chain(tasks).collect())
    }

    /// What the user chose for running agents at the exit.
    pub fn at_exit(&self) -> ExitChoice {
        self.inner.engine.settings().map_or(ExitChoice::Ask, |settings| settings.at_exit)
    }

    /// Brings the window to the front; false when there is none.
    pub fn raise(&self) -> bool {
        self.inner.on_raise.as_ref().map(|raise| raise()).is_some()
    }

    /// Shuts down within `deadline`. Run once: a second caller waits until it is done.
    pub fn shutdown(&self, at_exit: AtExit, deadline: Duration) {
        if let Some(server) = self.inner.server.get() {
            server.stop_accepting();
        }
        self.inner.engine.shutdown(at_exit, deadline);
    }
}

/// Asks the engine behind this socket to raise its window.
fn raise(socket: &std::path::Path) -> bool {
    let asked = Client::connect(socket).and_then(|mut client| client.call("raise", Value::Null));
    matches!(asked, Ok(Value::Bool(true)))
}

/// Header of a pulled chunk: kind, flags (bit 0: over, bit 1: the screen alone), next offset, columns,
/// rows, reserved; little-endian.
const HEADER_BYTES: usize = 24;

fn pack(pulled: &Pulled) -> Vec<u8> {
    let (cols, rows) = pulled.snapshot.unwrap_or_default();
    let mut out = Vec::with_capacity(HEADER_BYTES + pulled.bytes.len());
    out.extend_from_slice(&u32::from(pulled.snapshot.is_some()).to_le_bytes());
    let flags = u32::from(pulled.over) | u32::from(pulled.screen_only) << 1;
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&pulled.next_offset.to_le_bytes());
    out.extend_from_slice(&cols.to_le_bytes());
    out.extend_from_slice(&rows.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&pulled.bytes);
    out
}
