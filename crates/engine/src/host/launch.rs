//! Starting a run: its temp directory, its run directory, its supervisor.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use carillon_agents::child_env::{Connection, child_env};
use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_supervisor::{Control, Grace, Io, RunSpec};

use crate::envs;
use crate::host::guard::{Around, By};
use crate::host::outlet::Outlet;
use crate::host::terminal::Terminal;
use crate::host::turns::Ready;
use crate::host::{Host, Vars};
use crate::seam;
use crate::world::{BaseEnv, LaunchOrder, OrderIo, Report, What};

/// How long a supervisor may take to end after its connection did.
const LET_GO_PATIENCE: Duration = Duration::from_millis(250);

/// Programs that serve the user beyond a run: they are left alone and shown.
pub(crate) const KEPT_PROGRAMS: &[&str] =
    &["gpg-agent", "ssh-agent", "tmux", "adb", "bazel", "gradle", "dbus-daemon", "keyboxd", "scdaemon"];

impl Host {
    /// Runs on a thread of its own, from the start of a run to its end.
    pub(crate) fn launch_and_watch(self: Arc<Self>, order: LaunchOrder, report: &Report) {
        let run = order.run.clone();
        match self.launch(&order) {
            Ok((supervisor, guard)) => {
                seam::reach("supervisor started");
                self.connect_and_watch(&run, 0, guard.as_ref(), report);
                // The supervisor was ours to start, so it is ours to reap.
                if let Err(error) = supervisor.reap() {
                    tracing::debug!(%run, %error, "the supervisor was reaped by somebody else");
                }
            }
            Err(message) => {
                self.set_connected(&run);
                report.launch_failed(&run, message);
            }
        }
    }

    /// Answers with the lease of the guard around it, where it has one.
    fn launch(
        &self,
        order: &LaunchOrder,
    ) -> Result<(carillon_supervisor::Launched, Option<OwnedFd>), String> {
        let temp = carillon_tidy::temp::create(&order.temp.base, &order.temp.namespace, &order.temp.name)
            .map_err(|e| format!("no temp directory can be made: {e}"))?;
        seam::reach("temp directory made");
        let leased = carillon_supervisor::create(&self.runs_root, order.run.as_str())
            .map_err(|e| format!("no run directory can be made: {e}"))?;
        seam::reach("run directory made");
        let io = match order.io {
            OrderIo::Terminal { cols, rows } => Io::Pty { cols, rows },
            OrderIo::Pipes => Io::Pipes,
            OrderIo::Turn => Io::Turn,
        };
        let ready = match &order.what {
            What::Command(argv) => {
                Ready { argv: argv.clone(), env: Vec::new(), prompt: String::new(), marks: &[] }
            }
            What::Agent(agent) => self.make_ready(agent, order.io, &order.ours, &order.cwd, &leased.path)?,
        };
        ready.marks.iter().for_each(|mark| self.set_mark(&order.run, *mark, true));
        if io == Io::Turn {
            leased.write_prompt(ready.prompt.as_bytes()).map_err(|e| e.to_string())?;
        }
        let spec = RunSpec {
            run: order.run.to_string(),
            argv: ready.argv,
            cwd: order.cwd.clone(),
            io,
            timeout_ms: order.timeout_ms,
            grace: Grace::default(),
            log_max: order.log_max,
            keep: KEPT_PROGRAMS.iter().map(|&name| name.to_owned()).collect(),
        };
        let mut env = self.env_of(order)?;
        let guard = match &order.guarded {
            Some(root) => self.begin_guard(root, &order.cwd, &leased.path),
            None => Around::default(),
        };
        carillon_agents::turn::put_into(&mut env, ready.env).map_err(|e| e.to_string())?;
        for (name, value) in guard.env {
            env.retain(|(known, _)| *known != name);
            env.push((name, value));
        }
        let mut inherited = vec![temp.lease];
        if let Some(lease) = &guard.lease {
            inherited.push(lease.try_clone().map_err(|e| format!("no descriptor is left: {e}"))?);
        }
        let launched = carillon_supervisor::launch(&self.carillon_binary, leased, &spec, &env, inherited)
            .map_err(|e| format!("no supervisor can be started: {e}"))?;
        Ok((launched, guard.lease))
    }

    /// The whole environment of a program. It is handed on from process to process and stands in no
    /// file of the run.
    fn env_of(&self, order: &LaunchOrder) -> Result<Vars, String> {
        let base = match &order.base_env {
            BaseEnv::User => self.user_env(),
            BaseEnv::Kept(key) => {
                let kept = envs::get(&self.envs_root, key);
                Arc::new(kept.map_err(|e| format!("the environment of the caller is lost: {e}"))?)
            }
        };
        let ours: Vec<(&str, &str)> =
            order.ours.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let connection = match order.io {
            OrderIo::Terminal { .. } => Connection::Terminal,
            OrderIo::Pipes | OrderIo::Turn => Connection::Pipes,
        };
        let mut env = child_env(&base, &order.temp.path(), &ours, &order.own_env, connection);
        self.put_ourselves_on_path(&mut env);
        Ok(env)
    }

    /// `carillon` can be typed in every run. It comes last, so that it hides nothing of the user's.
    fn put_ourselves_on_path(&self, env: &mut Vars) {
        let Some(dir) = self.carillon_binary.parent() else { return };
        let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") else { return };
        if !std::env::split_paths(path).any(|there| there == dir) {
            path.push(":");
            path.push(dir);
        }
    }

    /// Goes on with a run that an earlier engine started.
    pub(crate) fn adopt_and_watch(self: Arc<Self>, run: &RunId, report: &Report) {
        // What was written before now is history: its questions were answered or given up.
        let dir = self.run_dir(run);
        let history = carillon_supervisor::LogReader::open(&dir).and_then(|log| log.end()).unwrap_or(0);
        self.watch_records_in_background(run, report);
        self.connect_and_watch(run, history, None, report);
    }

    /// `guard` is the lease of the guard around it, held since it began.
    fn connect_and_watch(&self, run: &RunId, history: u64, guard: Option<&OwnedFd>, report: &Report) {
        let dir = self.run_dir(run);
        let patience = Duration::from_millis(limits::SUPERVISOR_PATIENCE_MS);
        match Control::connect(&dir, patience) {
            Ok(control) => {
                seam::reach("supervisor connected");
                let outlet = Arc::new(Outlet::live(run, &dir, &control));
                let terminal = self.terminal_of(&outlet);
                self.keep(run, outlet.clone(), terminal.clone());
                self.set_connected(run);
                self.watch(run, control, &outlet, terminal.as_deref(), history, report);
            }
            // It may have ended before anybody could connect: what it left tells.
            Err(error) => tracing::debug!(%run, %error, "no supervisor answers"),
        }
        self.set_connected(run);
        self.forget(run);
        // Else the loop would find a run that still seems to live, and connect to it once more.
        carillon_supervisor::wait_until_free(&dir, LET_GO_PATIENCE);
        // Before the turn counts as over, so that what is told of it is whole and its agent's next one not yet there.
        self.finish_guard(run, By::Watcher { held: guard.is_some() });
        self.read_ahead(run);
        report.over(run);
    }

    /// The screen of a run that has a terminal; its size stands in the run's directory.
    fn terminal_of(&self, outlet: &Arc<Outlet>) -> Option<Arc<Terminal>> {
        let size = super::checkpoint::size_at_start(&outlet.dir)?;
        match Terminal::live(outlet.clone(), Some(size)) {
            Ok(terminal) => Some(Arc::new(terminal)),
            Err(error) => {
                tracing::error!(run = %outlet.run, %error, "the log of a run cannot be read; it has no screen");
                None
            }
        }
    }
}
