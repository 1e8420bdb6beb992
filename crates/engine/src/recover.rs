//! What a boot does: observe each run that is not over, plan, act. A second boot in a row finds
//! nothing to do.

use carillon_core::reconcile::{self, Plan};
use carillon_core::run::{self, LostWhy, State};
use carillon_core::task;
use carillon_core::words::Agent;
use carillon_store::attempts;
use carillon_store::runs::{self, RunRow};

use crate::error::Error;
use crate::event::Event;
use crate::host::Host;
use crate::main_loop::{MainLoop, now_ms};
use crate::wanted::Want;

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
    pub(crate) fn boot(&mut self, host: &Host) -> Result<Recovered, Error> {
        self.store.begin_batch(true)?;
        let mut again = Vec::new();
        let found = self.recover(host, &mut again);
        self.look_after_all(&mut again);
        let committed = self.store.commit_batch();
        let failed = committed.as_ref().err().map(ToString::to_string);
        self.finish_batch(committed, again);
        match failed {
            Some(why) => Err(Error::failed(why, "free some space on the disk of the data directory")),
            None => found,
        }
    }

    /// Does at once all that the recovery has found to be looked after.
    fn look_after_all(&mut self, again: &mut Vec<Event>) {
        while let Some(want) = self.wanted.next() {
            let done = self.wholly(|this| match &want {
                Want::Turn(agent) => this.look_after(agent),
                Want::Slot(project) => this.fill_slot(project),
            });
            if let Err(error) = done {
                tracing::error!(%error, ?want, "what waits cannot be started; it is tried again");
                again.push(Event::Wanted(want).after(1));
            }
        }
    }

    /// Brings the ledger in line with what is there. What one thing fails with keeps no other from it; what may
    /// be tried again soon is put into `again`.
    fn recover(&mut self, host: &Host, again: &mut Vec<Event>) -> Result<Recovered, Error> {
        let mut found = Recovered::default();
        // A program that told of the end of its turn may have ended since: it has answered all the same.
        self.hear_all_left(host)?;
        // Read before the runs that end here are among them: those are cleared up by their own step.
        let held = self.store.read(runs::holding_temp)?;
        for row in self.store.read(runs::live)? {
            match self.wholly(|this| this.reconcile(&row)) {
                Ok(true) => found.adopted += 1,
                Ok(false) => found.finalised += 1,
                Err(error) => {
                    tracing::error!(run = %row.id, %error, "a run could not be observed; it stays as it is");
                    found.unknown += 1;
                    again.push(Event::RunOver { run: row.id.clone() }.after(1));
                }
            }
        }
        self.recover_attempts()?;
        for row in held {
            // Whether its strays were ended before the engine went away is not known.
            self.clear_up(&row, row.state == State::Lost(LostWhy::SupervisorGone));
        }
        let _ = std::fs::remove_dir_all(&self.paths.probe);
        self.drop_spent_dirs()?;
        self.retire_or_log();
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
    pub(crate) fn reconcile(&mut self, row: &RunRow) -> Result<bool, Error> {
        let seen = self.observe(row);
        let (observed, facts) =
            seen.map_err(|why| Error::failed(why, "`carillon doctor` checks the data directory"))?;
        match reconcile::plan(&row.state, observed) {
            Plan::Nothing => Ok(false),
            Plan::Adopt => {
                self.watch_temp(row);
                let run = row.id.clone();
                let unwanted = self.who_stopped(row)?;
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
                let event = if event == run::Event::NeverBegan { self.never_began(row) } else { event };
                self.advance(&row.id, event, &facts)?;
                Ok(false)
            }
        }
    }

    /// Who asked for the end of a live run before the engine went away.
    fn who_stopped(&self, row: &RunRow) -> Result<Option<String>, Error> {
        if row.task.is_some() {
            let attempt = self.store.read(|db| attempts::of_run(db, &row.id))?;
            return Ok(attempt.and_then(|attempt| attempt.cancel_by));
        }
        let agents = self.store.read(carillon_store::agents::list)?;
        let stopped = |agent: &Agent| agent.stopped_by_user && Some(&agent.id) == row.agent.as_ref();
        Ok(agents.iter().any(stopped).then(|| "user".to_owned()))
    }

    /// An attempt whose run is over did not hear of it: an earlier engine wrote the one without the other.
    fn recover_attempts(&mut self) -> Result<(), Error> {
        for attempt in self.store.read(attempts::at_work)? {
            let run = match &attempt.run {
                Some(run) => self.store.read(|db| runs::get(db, run))?,
                None => None,
            };
            let mended = match run {
                Some(row) if !row.state.is_terminal() => continue,
                Some(row) => self.wholly(|this| {
                    let facts = this.observe(&row).map(|(_, facts)| facts).unwrap_or_default();
                    this.advance_attempt(&row, &row.state.clone(), &facts)
                }),
                None => self.wholly(|this| {
                    let lost = task::Event::RunOver(State::Lost(LostWhy::SupervisorGone));
                    this.step_attempt(&attempt, lost, now_ms())
                }),
            };
            match mended {
                Ok(()) => tracing::warn!(task = %attempt.task, "an attempt whose run was over is over now"),
                Err(error) => {
                    tracing::error!(%error, task = %attempt.task, "an attempt whose run is over stays as it is");
                }
            }
        }
        Ok(())
    }

    /// Directories of runs whose agent is gone, and of runs beyond what an agent keeps.
    pub(crate) fn drop_spent_dirs(&mut self) -> Result<(), Error> {
        let kept = self.store.read(runs::with_dir)?;
        let mut of_agent = std::collections::HashMap::new();
        for row in kept.iter().filter(|row| row.task.is_none() && row.state.is_terminal()) {
            let spent = match &row.agent {
                None => true,
                Some(agent) => {
                    let (count, most) =
                        of_agent.entry(agent).or_insert_with(|| (0usize, self.runs_kept(agent)));
                    *count += 1;
                    *count > *most
                }
            };
            if spent {
                self.drop_dir(&row.id);
            }
        }
        Ok(())
    }
}
