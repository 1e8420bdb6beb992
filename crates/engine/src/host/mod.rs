//! The real world: supervisors, screens, temp directories. The one place that names the concrete
//! crates of floor 1.

mod agents_to_be;
mod attention;
mod burials;
mod calls;
mod checkpoint;
mod guard;
mod idle;
mod injection;
pub(crate) mod launch;
mod leaving;
mod limit_watch;
mod line;
pub(crate) mod linux;
mod observe;
mod outcomes;
pub(crate) mod outlet;
mod prompt_form;
mod pulse;
pub(crate) mod repository;
pub(crate) mod residue;
pub(crate) mod rules;
mod temp;
mod temp_watch;
mod terminal;
mod turns;
pub(crate) mod typing;
mod watch;
pub mod workdirs;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use carillon_agents::shell_env::{self, Outcome};
use carillon_core::id::{CallId, RunId, TurnId};
use carillon_core::limits;
use carillon_core::reconcile::Observed;
use carillon_core::run::Ending;
use carillon_store::runs::RunRow;

use crate::config::Config;
use crate::host::outlet::Outlet;
use crate::host::typing::Keyboard;
use crate::own_env;
use crate::world::{
    CallState, Facts, LaunchOrder, Quiet, Report, TempPlace, TerminalFacts, TurnOutcome, Unread, World,
};

use burials::{Burial, Burials};
use outcomes::Outcomes;
use temp_watch::TempWatch;
pub use terminal::{Pulled, Terminal};

/// Variables by name.
pub type Vars = Vec<(OsString, OsString)>;

/// The real world of one engine.
pub struct Host {
    runs_root: PathBuf,
    envs_root: PathBuf,
    home: PathBuf,
    carillon_binary: PathBuf,
    from_terminal: bool,
    temp_candidates: Vec<PathBuf>,
    /// The base that passed its preflight last, and when.
    temp_base: Mutex<Option<(PathBuf, Instant)>>,
    /// The name of this data directory's trash in each temp base.
    trash_name: String,
    user_env: OnceLock<Arc<Vars>>,
    /// Runs that are watched.
    outlets: Mutex<HashMap<RunId, Arc<Outlet>>>,
    /// Screens: of live runs, and of ended ones that somebody looked at.
    terminals: Mutex<HashMap<RunId, Arc<Terminal>>>,
    /// Runs whose supervisor is being connected, with who asked for their end meanwhile.
    connecting: (Mutex<HashMap<RunId, Option<String>>>, Condvar),
    burials: Burials,
    /// What turns have said that are just over.
    outcomes: Outcomes,
    temp_watch: Arc<TempWatch>,
    /// Calls whose client's lock a thread waits for.
    watched_calls: Mutex<HashSet<CallId>>,
    /// What users type into terminals, by run.
    keyboards: Mutex<HashMap<RunId, Arc<Mutex<Keyboard>>>>,
    /// Terminals that a thread waits for to become free; true when that was asked for once more.
    watched_terminals: Mutex<HashMap<RunId, bool>>,
    /// Set when what is in the trash may stay for the next start.
    sweep_cancelled: AtomicBool,
    /// Workdirs that git is just making, by their ids.
    making: Mutex<HashSet<String>>,
}

impl Host {
    /// The world of an engine with this configuration.
    pub fn new(config: &Config) -> Self {
        let chosen = config.home_is_chosen.then_some(config.home.as_path());
        let namespace = carillon_tidy::temp::namespace(&config.home, Path::new(""));
        Self {
            runs_root: config.paths().runs,
            envs_root: config.paths().envs,
            home: config.home.clone(),
            carillon_binary: config.carillon_binary.clone(),
            from_terminal: config.from_terminal,
            temp_candidates: carillon_tidy::base::candidates(chosen),
            temp_base: Mutex::default(),
            trash_name: carillon_tidy::trash::name(&namespace),
            user_env: OnceLock::new(),
            outlets: Mutex::default(),
            terminals: Mutex::default(),
            connecting: Default::default(),
            burials: Burials::default(),
            outcomes: Outcomes::default(),
            temp_watch: Arc::default(),
            watched_calls: Mutex::default(),
            keyboards: Mutex::default(),
            watched_terminals: Mutex::default(),
            sweep_cancelled: AtomicBool::new(false),
            making: Mutex::default(),
        }
    }

    /// The user's environment: ours when started from a terminal, else what his login shell tells.
    /// The first call may take as long as that shell takes, at most 5 s.
    pub(crate) fn user_env(&self) -> Arc<Vars> {
        self.user_env
            .get_or_init(|| {
                if self.from_terminal {
                    return Arc::new(own_env().clone());
                }
                let probe = shell_env::login_shell_env(own_env(), Duration::from_millis(limits::SHELL_PROBE_MS));
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

    fn watched_calls(&self) -> MutexGuard<'_, HashSet<CallId>> {
        self.watched_calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keyboards(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Mutex<Keyboard>>>> {
        self.keyboards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watched_terminals(&self) -> MutexGuard<'_, HashMap<RunId, bool>> {
        self.watched_terminals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlets(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Outlet>>> {
        self.outlets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn terminals(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Terminal>>> {
        self.terminals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal of a run: the live one, or one that is built from what the run left. Blocking.
    pub fn terminal(&self, run: &RunId) -> Result<Arc<Terminal>, String> {
        self.wait_until_connected(run);
        if let Some(terminal) = self.terminals().get(run) {
            return Ok(terminal.clone());
        }
        let built = Terminal::from_log(run, &self.run_dir(run))
            .map_err(|e| format!("the output of this run is not kept any more ({e})"))?;
        let terminal = Arc::new(built);
        let mut terminals = self.terminals();
        // Screens of ended runs are built again when somebody looks; only a few are kept ready.
        let cold: Vec<RunId> =
            terminals.iter().filter(|(_, t)| !t.is_live()).map(|(run, _)| run.clone()).collect();
        if cold.len() >= limits::COLD_TERMINALS {
            cold.iter().for_each(|run| drop(terminals.remove(run)));
        }
        Ok(terminals.entry(run.clone()).or_insert(terminal).clone())
    }

    /// The outlet of a run that is watched.
    pub(crate) fn outlet(&self, run: &RunId) -> Option<Arc<Outlet>> {
        self.wait_until_connected(run);
        self.outlets().get(run).cloned()
    }

    /// Types into a live terminal.
    pub(crate) fn write(&self, run: &RunId, bytes: &[u8]) -> Result<(), String> {
        let outlet = self.outlet(run).filter(|outlet| outlet.is_live());
        if outlet.is_none() {
            return Err("this terminal has ended".to_owned());
        }
        self.terminal(run)?.write(bytes)
    }

    /// Tells a live terminal its size; one that has ended keeps its own.
    pub(crate) fn resize(&self, run: &RunId, cols: u16, rows: u16) -> Result<(), String> {
        self.wait_until_connected(run);
        let terminal = self.terminals().get(run).cloned();
        terminal.map_or(Ok(()), |terminal| terminal.resize(cols, rows))
    }

    /// Bytes of output so far, of a run that is watched.
    pub(crate) fn log_bytes(&self, run: &RunId) -> Option<u64> {
        Some(self.outlets().get(run)?.end().0)
    }

    /// Asks all runs that are watched to end; answers how many there are.
    pub(crate) fn stop_all(&self, by: &str) -> usize {
        let live: Vec<_> = self.outlets().values().cloned().collect();
        live.iter().filter(|outlet| outlet.stop(by)).count()
    }

    /// Saves the screens of live runs, so that the next start need not read their logs again.
    pub(crate) fn save_checkpoints(&self) {
        let live: Vec<_> = self.terminals().values().cloned().collect();
        for terminal in live {
            terminal.save_checkpoint();
        }
    }

    fn connecting(&self) -> MutexGuard<'_, HashMap<RunId, Option<String>>> {
        self.connecting.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The supervisor of a run answers now, or will not. Who asked for its end meanwhile is heard.
    pub(crate) fn set_connected(&self, run: &RunId) {
        let asked = self.connecting().remove(run).flatten();
        self.connecting.1.notify_all();
        if let (Some(by), Some(outlet)) = (asked, self.outlets().get(run).cloned()) {
            outlet.stop(&by);
        }
    }

    /// Right after a start the terminals of adopted runs are still being connected.
    fn wait_until_connected(&self, run: &RunId) {
        let patience = Duration::from_millis(limits::SUPERVISOR_PATIENCE_MS);
        let _ =
            self.connecting.1.wait_timeout_while(self.connecting(), patience, |runs| runs.contains_key(run));
    }

    fn is_watched(&self, run: &RunId) -> bool {
        self.connecting().contains_key(run) || self.outlets().get(run).is_some_and(|outlet| outlet.is_live())
    }

    /// Keeps what watches a run: for as long as it is live, a terminal beyond that.
    pub(crate) fn keep(&self, run: &RunId, outlet: Arc<Outlet>, terminal: Option<Arc<Terminal>>) {
        self.outlets().insert(run.clone(), outlet);
        if let Some(terminal) = terminal {
            self.terminals().insert(run.clone(), terminal);
        }
    }

    /// Lets a run that is over go. Its screen is saved, and built again for who looks.
    pub(crate) fn forget(&self, run: &RunId) {
        self.outlets().remove(run);
        self.terminals().remove(run);
        self.drop_keyboard(run);
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
        if self.is_watched(run) {
            return;
        }
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

    fn temp_place(&self, project_root: &Path) -> Result<TempPlace, String> {
        self.choose_temp_soon(project_root)
    }

    fn observe(&self, run: &RunRow) -> Result<(Observed, Facts), String> {
        self.observe_run(run)
    }

    fn stop(&self, run: &RunId, by: &str) -> bool {
        if let Some(asked) = self.connecting().get_mut(run) {
            *asked = Some(by.to_owned());
            return true;
        }
        let outlet = self.outlets().get(run).cloned();
        outlet.is_some_and(|outlet| outlet.stop(by))
    }

    fn clear_up(&self, run: &RunId, temp: Option<PathBuf>, strays: bool, report: Report) {
        if temp.is_some() {
            self.temp_watch.forget(run);
        }
        self.bury_in_background(Burial { run: run.clone(), temp, strays, dir: None, report });
    }

    fn watch_temp(&self, run: &RunId, temp: PathBuf, report: Report) {
        self.temp_watch.add(run, temp, report);
    }

    fn drop_dir(&self, run: &RunId, report: Report) {
        self.terminals().remove(run);
        self.outcomes.forget(run);
        let dir = Some(self.run_dir(run));
        self.bury_in_background(Burial { run: run.clone(), temp: None, strays: false, dir, report });
    }

    fn turn_outcome(
        &self,
        run: &RunId,
        adapter: &str,
        ending: Option<&Ending>,
        ended_ms: i64,
    ) -> Result<TurnOutcome, Unread> {
        self.read_outcome(run, adapter, ending, ended_ms)
    }

    fn has_answered(&self, run: &RunId, adapter: &str) -> bool {
        self.shows_an_answer(run, adapter)
    }

    fn tail_of(&self, run: &RunId, most_bytes: u64) -> String {
        self.read_tail(run, most_bytes)
    }

    fn call_state(&self, call: &CallId) -> CallState {
        self.state_of_call(call)
    }

    fn watch_call(&self, call: &CallId, report: Report) {
        self.watch_call_in_background(call, report);
    }

    fn settle_call(&self, call: &CallId) {
        self.forget_call(call);
    }

    fn terminal_facts(&self, run: &RunId) -> TerminalFacts {
        self.facts_of_terminal(run)
    }

    fn watch_terminal(&self, run: &RunId, report: Report) {
        self.watch_terminal_in_background(run, report);
    }

    fn hand_over(&self, run: &RunId, turn: &TurnId, prompt: String, report: Report) {
        self.hand_over_in_background(run, turn, prompt, report);
    }

    fn was_handed_over(&self, run: &RunId, turn: &TurnId) -> bool {
        self.was_sent_off(run, turn)
    }

    fn interrupt(&self, run: &RunId, adapter: &str) {
        self.break_off(run, matches!(adapter, "claude" | "codex" | "gemini" | "opencode"));
    }

    fn quiet(&self, run: &RunId, at_least: Duration) -> Option<Quiet> {
        self.quiet_of(run, at_least)
    }

    fn set_attention(&self, run: &RunId, told: bool) -> bool {
        self.need_attention(run, told)
    }

    fn needs_attention(&self, run: &RunId) -> bool {
        self.is_attention_needed(run)
    }

    fn let_go(&self) {
        self.temp_watch.stop();
        for (_, outlet) in self.outlets().drain() {
            outlet.let_go();
        }
    }
}
