//! What a boot does: observe each run that is not over, plan, act. A second boot in a row finds
//! nothing to do.

use carillon_core::reconcile::{self, Plan};
use carillon_core::run::{LostWhy, State};
use carillon_core::words::Agent;
use carillon_store::runs::{self, RunRow};

use crate::error::Error;
use crate::main_loop::MainLoop;

/// What the boot found, for the log and for the user's eyes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Runs that still go on.
    pub adopted: usize,
    /// Runs that had ended meanwhile, or are lost.
    pub finalised: usize,
    /// Runs of which nothing could be learned.
    pub unknown: usize,
}

impl MainLoop {
    /// Recovers in one batch, before anything else can happen.
    pub(crate) fn boot(&mut self) -> Result<Recovered, Error> {
        self.store.begin_batch(true)?;
        let found = self.recover();
        let committed = self.store.commit_batch();
        let failed = committed.as_ref().err().map(ToString::to_string);
        self.finish_batch(committed, Vec::new());
        match failed {
            Some(why) => Err(Error::failed(why, "free some space on the disk of the data directory")),
            None => found,
        }
    }

    /// Brings the ledger in line with what is there.
    fn recover(&mut self) -> Result<Recovered, Error> {
        let mut found = Recovered::default();
        // Read before the runs that end here are among them: those are cleared up by their own step.
        let held = self.store.read(runs::holding_temp)?;
        for row in self.store.read(runs::live)? {
            match self.reconcile(&row) {
                Ok(true) => found.adopted += 1,
                Ok(false) => found.finalised += 1,
                Err(why) => {
                    tracing::error!(run = %row.id, why, "a run could not be observed; it stays as it is");
                    found.unknown += 1;
                }
            }
        }
        for row in held {
            // Whether its strays were ended before the engine went away is not known.
            self.clear_up(&row, row.state == State::Lost(LostWhy::SupervisorGone));
        }
        let _ = std::fs::remove_dir_all(&self.paths.probe);
        self.drop_spent_dirs()?;
        self.retire_tasks()?;
        let needed = self.store.read(carillon_store::tasks::env_keys)?.into_iter().collect();
        crate::envs::keep_only(&self.paths.envs, &needed);
        self.fill_all_slots()?;
        self.recover_limits()?;
        self.recover_approvals()?;
        self.recover_turns()?;
        self.recover_asks()?;
        Ok(found)
    }

    /// Plans and acts for one run; true when it goes on.
    pub(crate) fn reconcile(&mut self, row: &RunRow) -> Result<bool, String> {
        let (observed, facts) = self.observe(row)?;
        match reconcile::plan(&row.state, observed) {
            Plan::Nothing => Ok(false),
            Plan::Adopt => {
                let run = row.id.clone();
                let unwanted = self.who_stopped(row);
                self.act_later(move |world, report| {
                    world.adopt(&run, report.clone());
                    // The request was recorded; whether it had reached the supervisor is not known.
                    if let Some(by) = unwanted {
                        world.stop(&run, &by);
                    }
                });
                Ok(true)
            }
            Plan::Finalise(event) => {
                self.advance(&row.id, event, &facts);
                Ok(false)
            }
        }
    }

    /// Who asked for the end of a live run before the engine went away.
    fn who_stopped(&self, row: &RunRow) -> Option<String> {
        if row.task.is_some() {
            let attempt = self.store.read(|db| carillon_store::attempts::of_run(db, &row.id)).ok()??;
            return attempt.cancel_by;
        }
        let agents = self.store.read(carillon_store::agents::list).ok()?;
        let stopped = |agent: &Agent| agent.stopped_by_user && Some(&agent.id) == row.agent.as_ref();
        agents.iter().any(stopped).then(|| "user".to_owned())
    }

    /// Directories of runs whose agent is gone, and of runs beyond what an agent keeps.
    pub(crate) fn drop_spent_dirs(&mut self) -> Result<(), Error> {
        let kept = self.store.read(runs::with_dir)?;
        let mut of_agent = std::collections::HashMap::new();
        for row in kept.iter().filter(|row| row.task.is_none() && row.state.is_terminal()) {
            let spent = match &row.agent {
                None => true,
                Some(agent) => {
                    let count = of_agent.entry(agent).or_insert(0usize);
                    *count += 1;
                    *count > carillon_core::limits::RUNS_KEPT_PER_AGENT
                }
            };
            if spent {
                self.drop_dir(&row.id);
            }
        }
        Ok(())
    }
}
