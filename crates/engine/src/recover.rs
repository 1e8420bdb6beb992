//! What a boot does: observe each run that is not over, plan, act. A second boot in a row finds
//! nothing to do.

use std::sync::atomic::AtomicBool;

use carillon_core::reconcile::{self, Plan};
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
    /// Brings the ledger in line with what is there.
    pub(crate) fn recover(&mut self) -> Result<Recovered, Error> {
        let mut found = Recovered::default();
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
        for row in self.store.read(runs::holding_temp)? {
            self.bury_temp(&row);
        }
        self.drop_spent_dirs()?;
        Ok(found)
    }

    /// Plans and acts for one run; true when it goes on.
    pub(crate) fn reconcile(&mut self, row: &RunRow) -> Result<bool, String> {
        let (observed, facts) = self.world.observe(row)?;
        match reconcile::plan(&row.state, observed) {
            Plan::Nothing => Ok(false),
            Plan::Adopt => {
                self.world.adopt(&row.id, self.report.clone());
                Ok(true)
            }
            Plan::Finalise(event) => {
                self.advance(&row.id, event, &facts);
                Ok(false)
            }
        }
    }

    /// Directories of runs whose agent is gone, and of runs beyond what an agent keeps.
    fn drop_spent_dirs(&mut self) -> Result<(), Error> {
        let kept = self.store.read(runs::with_dir)?;
        let mut of_agent = std::collections::HashMap::new();
        for row in kept.iter().filter(|row| row.state.is_terminal()) {
            let spent = match &row.agent {
                None => true,
                Some(agent) => {
                    let count = of_agent.entry(agent).or_insert(0usize);
                    *count += 1;
                    *count > carillon_core::limits::RUNS_KEPT_PER_AGENT
                }
            };
            if spent {
                self.world.drop_dir(&row.id, self.report.clone());
            }
        }
        Ok(())
    }
}

/// Set while a sweep should end early.
pub(crate) static SWEEP_CANCELLED: AtomicBool = AtomicBool::new(false);
