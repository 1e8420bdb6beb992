//! Starting a run: its temp directory, its run directory, its supervisor.

use std::sync::Arc;
use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_supervisor::{Control, Grace, Io, RunSpec};

use crate::host::Host;
use crate::host::terminal::Terminal;
use crate::world::{LaunchOrder, Report};

/// Programs that serve the user beyond a run: they are left alone and shown.
pub(crate) const KEPT_PROGRAMS: &[&str] =
    &["gpg-agent", "ssh-agent", "tmux", "adb", "bazel", "gradle", "dbus-daemon", "keyboxd", "scdaemon"];

impl Host {
    /// Runs on a thread of its own, from the start of a run to its end.
    pub(crate) fn launch_and_watch(self: Arc<Self>, order: LaunchOrder, report: &Report) {
        let run = order.run.clone();
        match self.launch(&order) {
            Ok(supervisor) => {
                self.connect_and_watch(&run, Some(order.size), 0, report);
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

    fn launch(&self, order: &LaunchOrder) -> Result<carillon_supervisor::Launched, String> {
        let temp = carillon_tidy::temp::create(&order.temp.base, &order.temp.namespace, &order.temp.name)
            .map_err(|e| format!("no temp directory can be made: {e}"))?;
        let leased = carillon_supervisor::create(&self.runs_root, order.run.as_str())
            .map_err(|e| format!("no run directory can be made: {e}"))?;
        let (cols, rows) = order.size;
        let spec = RunSpec {
            run: order.run.to_string(),
            argv: order.argv.clone(),
            cwd: order.cwd.clone(),
            io: Io::Pty { cols, rows },
            timeout_ms: None,
            grace: Grace::default(),
            log_max: limits::TERMINAL_LOG_MAX_BYTES,
            keep: KEPT_PROGRAMS.iter().map(|&name| name.to_owned()).collect(),
        };
        carillon_supervisor::launch(&self.carillon_binary, leased, &spec, &order.env, vec![temp.lease])
            .map_err(|e| format!("no supervisor can be started: {e}"))
    }

    /// Goes on with a run that an earlier engine started.
    pub(crate) fn adopt_and_watch(self: Arc<Self>, run: &RunId, report: &Report) {
        // What was written before now is history: its questions were answered or given up.
        let dir = self.run_dir(run);
        let history = carillon_supervisor::LogReader::open(&dir).and_then(|log| log.end()).unwrap_or(0);
        self.connect_and_watch(run, None, history, report);
    }

    fn connect_and_watch(&self, run: &RunId, size: Option<(u16, u16)>, history: u64, report: &Report) {
        let dir = self.run_dir(run);
        let patience = Duration::from_millis(limits::SUPERVISOR_PATIENCE_MS);
        match Control::connect(&dir, patience) {
            Ok(control) => match Terminal::live(run, &dir, size, &control) {
                Ok(terminal) => {
                    let terminal = Arc::new(terminal);
                    self.keep_terminal(run, terminal.clone());
                    self.set_connected(run);
                    self.watch(run, control, &terminal, history, report);
                }
                Err(error) => tracing::error!(%run, %error, "the log of a run cannot be read"),
            },
            // It may have ended before anybody could connect: what it left tells.
            Err(error) => tracing::debug!(%run, %error, "no supervisor answers"),
        }
        self.set_connected(run);
        report.over(run);
    }
}
