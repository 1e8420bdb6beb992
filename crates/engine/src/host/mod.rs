//! The real world: supervisors, screens, temp directories. The one place that names the concrete
//! crates of floor 1.

mod burials;
mod checkpoint;
pub(crate) mod launch;
mod observe;
pub(crate) mod repository;
mod temp;
mod terminal;
mod watch;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use carillon_agents::shell_env::{self, Outcome};
use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_core::reconcile::Observed;
use carillon_store::runs::RunRow;

use crate::config::Config;
use crate::world::{Facts, LaunchOrder, Report, World};

use burials::{Burial, Burials};
pub use terminal::{Pulled, Terminal};

/// Variables by name.
pub type Vars = Vec<(OsString, OsString)>;

/// The real world of one engine.
pub struct Host {
    runs_root: PathBuf,
    home: PathBuf,
    carillon_binary: PathBuf,
    from_terminal: bool,
    temp_candidates: Vec<PathBuf>,
    /// The name of this data directory's trash in each temp base.
    trash_name: String,
    user_env: OnceLock<Arc<Vars>>,
    terminals: Mutex<HashMap<RunId, Arc<Terminal>>>,
    /// Runs whose supervisor is being connected, with who asked for their end meanwhile.
    connecting: (Mutex<HashMap<RunId, Option<String>>>, Condvar),
    burials: Burials,
    /// Set when what is in the trash may stay for the next start.
    sweep_cancelled: AtomicBool,
}

impl Host {
    /// The world of an engine with this configuration.
    pub fn new(config: &Config) -> Self {
        let chosen = config.home_is_chosen.then_some(config.home.as_path());
        let namespace = carillon_tidy::temp::namespace(&config.home, Path::new(""));
        Self {
            runs_root: config.paths().runs,
            home: config.home.clone(),
            carillon_binary: config.carillon_binary.clone(),
            from_terminal: config.from_terminal,
            temp_candidates: carillon_tidy::base::candidates(chosen),
            trash_name: carillon_tidy::trash::name(&namespace),
            user_env: OnceLock::new(),
            terminals: Mutex::default(),
            connecting: Default::default(),
            burials: Burials::default(),
            sweep_cancelled: AtomicBool::new(false),
        }
    }

    /// The user's environment: ours when started from a terminal, else what his login shell tells.
    /// The first call may take as long as that shell takes, at most 5 s.
    pub(crate) fn user_env(&self) -> Arc<Vars> {
        self.user_env
            .get_or_init(|| {
                if self.from_terminal {
                    return Arc::new(std::env::vars_os().collect());
                }
                let probe = shell_env::login_shell_env(Duration::from_millis(limits::SHELL_PROBE_MS));
                if let Outcome::FellBack { why } = &probe.outcome {
                    tracing::warn!(%why, shell = %probe.shell.display(), "the login shell did not tell its environment; using our own");
                }
                Arc::new(probe.vars)
            })
            .clone()
    }

    /// The directory of a run.
    pub(crate) fn run_dir(&self, run: &RunId) -> PathBuf {
        self.runs_root.join(run.as_str())
    }

    fn all(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Terminal>>> {
        self.terminals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal of a run: the live one, or one that is built from what the run left. Blocking.
    pub fn terminal(&self, run: &RunId) -> Result<Arc<Terminal>, String> {
        self.wait_until_connected(run);
        if let Some(terminal) = self.all().get(run) {
            return Ok(terminal.clone());
        }
        let built = Terminal::from_log(run, &self.run_dir(run))
            .map_err(|e| format!("the output of this run is not kept any more ({e})"))?;
        let terminal = Arc::new(built);
        Ok(self.all().entry(run.clone()).or_insert(terminal).clone())
    }

    /// Types into a live terminal.
    pub(crate) fn write(&self, run: &RunId, bytes: &[u8]) -> Result<(), String> {
        self.live(run)?.write(bytes)
    }

    /// Tells a live terminal its size; one that has ended keeps its own.
    pub(crate) fn resize(&self, run: &RunId, cols: u16, rows: u16) -> Result<(), String> {
        self.wait_until_connected(run);
        match self.all().get(run).cloned() {
            Some(terminal) => terminal.resize(cols, rows),
            None => Ok(()),
        }
    }

    /// Bytes of output so far, of a live run.
    pub(crate) fn log_bytes(&self, run: &RunId) -> Option<u64> {
        Some(self.all().get(run)?.end())
    }

    /// Saves the screens of live runs, so that the next start need not read their logs again.
    pub(crate) fn save_checkpoints(&self) {
        let live: Vec<_> = self.all().values().cloned().collect();
        for terminal in live {
            terminal.save_checkpoint();
        }
    }

    fn live(&self, run: &RunId) -> Result<Arc<Terminal>, String> {
        self.wait_until_connected(run);
        let terminal = self.all().get(run).cloned();
        terminal.filter(|t| t.is_live()).ok_or_else(|| "this terminal has ended".to_owned())
    }

    fn connecting(&self) -> MutexGuard<'_, HashMap<RunId, Option<String>>> {
        self.connecting.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The supervisor of a run answers now, or will not. Who asked for its end meanwhile is heard.
    pub(crate) fn set_connected(&self, run: &RunId) {
        let asked = self.connecting().remove(run).flatten();
        self.connecting.1.notify_all();
        if let (Some(by), Some(terminal)) = (asked, self.all().get(run).cloned()) {
            terminal.stop(&by);
        }
    }

    /// Right after a start the terminals of adopted runs are still being connected.
    fn wait_until_connected(&self, run: &RunId) {
        let patience = Duration::from_millis(limits::SUPERVISOR_PATIENCE_MS);
        let _ = self.connecting.1.wait_timeout_while(self.connecting(), patience, |runs| runs.contains_key(run));
    }

    pub(crate) fn keep_terminal(&self, run: &RunId, terminal: Arc<Terminal>) {
        self.all().insert(run.clone(), terminal);
    }
}

/// The world whose acts run on threads of their own needs itself to be shared.
impl World for Arc<Host> {
    fn launch(&self, order: LaunchOrder, report: Report) {
        let host = self.clone();
        let run = order.run.clone();
        self.connecting().insert(run.clone(), None);
        let failed = report.clone();
        let spawned = std::thread::Builder::new()
            .name(format!("run-{}", &run.as_str()[..8]))
            .spawn(move || host.launch_and_watch(order, &report));
        if let Err(error) = spawned {
            self.set_connected(&run);
            failed.launch_failed(&run, format!("the system gives no thread: {error}"));
        }
    }

    fn adopt(&self, run: &RunId, report: Report) {
        let host = self.clone();
        let adopted = run.clone();
        self.connecting().insert(run.clone(), None);
        let spawned = std::thread::Builder::new()
            .name(format!("run-{}", &run.as_str()[..8]))
            .spawn(move || host.adopt_and_watch(&adopted, &report));
        if let Err(error) = spawned {
            self.set_connected(run);
            tracing::error!(%run, %error, "no thread to watch a run; the next start adopts it");
        }
    }

    fn observe(&self, run: &RunRow) -> Result<(Observed, Facts), String> {
        self.observe_run(run)
    }

    fn stop(&self, run: &RunId, by: &str) -> bool {
        if let Some(asked) = self.connecting().get_mut(run) {
            *asked = Some(by.to_owned());
            return true;
        }
        let Some(terminal) = self.all().get(run).cloned() else { return false };
        terminal.stop(by)
    }

    fn clear_up(&self, run: &RunId, temp: Option<PathBuf>, strays: bool, report: Report) {
        self.bury_in_background(Burial { run: run.clone(), temp, strays, report });
    }

    fn drop_dir(&self, run: &RunId, report: Report) {
        self.all().remove(run);
        let dir = self.run_dir(run);
        match std::fs::remove_dir_all(&dir) {
            Ok(()) => report.dir_dropped(run),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => report.dir_dropped(run),
            Err(error) => {
                tracing::warn!(%error, dir = %dir.display(), "a run directory stays; the next start tries again")
            }
        }
    }

    fn let_go(&self) {
        for (_, terminal) in self.all().drain() {
            terminal.let_go();
        }
    }
}
