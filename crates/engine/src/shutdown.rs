//! The way out: run once, bounded, and repeated by nobody. What does not fit is the next boot's.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use carillon_core::limits;
use carillon_store::runs;

use crate::engine::Engine;
use crate::event::Event;

/// What happens to running agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtExit {
    /// They are stopped.
    Stop,
    /// They keep running; the next start adopts them.
    Keep,
}

impl Engine {
    /// Shuts the engine down within `deadline`. The first caller does it; any other waits until it
    /// is done, so that nobody's `_exit` cuts it short.
    pub fn shutdown(&self, at_exit: AtExit, deadline: Duration) {
        self.inner.down.call_once(|| self.shut_down(at_exit, Instant::now() + deadline));
    }

    fn shut_down(&self, at_exit: AtExit, until: Instant) {
        self.inner.residue.stop();
        let live = self.stop_accepting(at_exit, until);
        tracing::info!(?at_exit, live, "shutting down");
        if at_exit == AtExit::Stop && live > 0 {
            let share = Duration::from_millis(limits::SHUTDOWN_RUNS_MS);
            self.wait_for_runs(until.min(Instant::now() + share));
        }
        // Renaming is instant whatever the size of a tree; deleting takes what time is left.
        self.inner.host.wait_for_burials(until);
        self.inner.host.empty_trash(Some(until));
        self.inner.host.save_checkpoints();
        self.inner.world.let_go();
        let (done, closed) = mpsc::channel();
        if self.inner.events.send(Event::Closed { done }).is_ok() {
            let rest = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(250));
            let _ = closed.recv_timeout(rest);
        }
        let _ = std::fs::remove_file(&self.inner.paths.socket);
        // A git that is at work ends by itself; the next start finds what it did.
        let share = Duration::from_millis(limits::SHUTDOWN_LOOP_MS);
        self.inner.residue.wait_until_idle(until.min(Instant::now() + share));
    }

    /// Nothing starts from here on. Answers how many runs are live. A loop that does not answer (its
    /// ledger is held by somebody) is not waited for beyond its share: the runs are asked to end all
    /// the same, and the next start records what became of them.
    fn stop_accepting(&self, at_exit: AtExit, until: Instant) -> usize {
        let share = until.min(Instant::now() + Duration::from_millis(limits::SHUTDOWN_LOOP_MS));
        let answered = self.request_until(share, move |inner| {
            inner.accepting = false;
            let live = inner.store.read(runs::live)?;
            if at_exit == AtExit::Stop {
                for row in &live {
                    let run = row.id.clone();
                    inner.act_later(move |world, _| {
                        world.stop(&run, "app_exit");
                    });
                }
            }
            Ok(live.len())
        });
        match answered {
            Ok(live) => live,
            Err(error) => {
                tracing::warn!(%error, "the loop does not answer; the runs are asked to end without it");
                if at_exit == AtExit::Stop { self.inner.host.stop_all("app_exit") } else { 0 }
            }
        }
    }

    /// Waits until no run is live any more: each end is a change, so each change is a reason to look.
    fn wait_for_runs(&self, until: Instant) {
        loop {
            let seen = self.inner.newest.get();
            let live = self.request_until(until, |inner| Ok(inner.store.read(runs::live)?.len()));
            if matches!(live, Ok(0)) {
                return;
            }
            if live.is_err() || !self.inner.newest.wait(seen, until) {
                tracing::warn!("some runs did not end in time; the next start goes on with them");
                return;
            }
        }
    }
}
