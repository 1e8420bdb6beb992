//! Workdirs that are on their way: what a start goes on with, and what goes when its last work is over.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use carillon_core::limits;
use carillon_core::workdir::{self, Effect, Event, State, Why};
use carillon_store::workdirs::{self, WorkdirRow};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::{linux, workdirs::Settled};
use crate::requests::callers::Caller;
use crate::requests::workdir_steps::open_work;

impl Engine {
    /// What a start does for workdirs, once, before anybody can ask for more: `cut_short` were on their way when
    /// the engine went away.
    pub(crate) fn recover_workdirs(&self, cut_short: Vec<WorkdirRow>) {
        let mut waiting = self.settle_workdirs(cut_short);
        if let Err(error) = self.recover_what_was_told() {
            tracing::warn!(%error, "some workdirs could not be looked after; the next start does it");
        }
        // A git of before is not ours to end, and it ends by itself.
        let until = Instant::now() + Duration::from_millis(limits::GIT_OF_BEFORE_MS);
        for (row, pid) in &waiting {
            tracing::info!(workdir = %row.id, pid, "an earlier git is at work on a workdir; its end is waited for");
        }
        while !waiting.is_empty() && Instant::now() < until && !self.inner.residue.is_stopping() {
            let pids: Vec<u32> = waiting.iter().map(|(_, pid)| *pid).collect();
            linux::wait_for_an_end(&pids, Duration::from_millis(1_000));
            waiting = self.settle_workdirs(waiting.into_iter().map(|(row, _)| row).collect());
        }
    }

    /// What was committed, and what should have followed it may not have: set-ups, context files, restores.
    fn recover_what_was_told(&self) -> Result<(), Error> {
        let rows = self.read(|db| workdirs::list(db, None))?;
        let host = &self.inner.host;
        let creations: HashSet<String> = host.creations().into_iter().collect();
        for row in rows.iter().filter(|row| creations.contains(row.id.as_str()) && row.base_commit.is_some())
        {
            match row.state {
                State::Active { .. } if !host.is_being_made(row.id.as_str()) => drop(self.set_up_again(row)),
                State::Creating => {}
                _ => host.close_creation(row),
            }
        }
        let is_there = |id: &str| rows.iter().any(|row| row.ended_ms.is_none() && row.id.as_str() == id);
        host.delete_stale_contexts(is_there);
        for row in &rows {
            if let State::Tombstoned { archive_ref: Some(reference), .. } = &row.state {
                host.clear_unfinished_restore(row, reference);
            }
        }
        Ok(())
    }

    fn set_up_again(&self, row: &WorkdirRow) -> Vec<String> {
        let rules = self.inner.host.workdir_rules(row.repository.as_ref()).unwrap_or_default();
        // The set-up of a workdir that was made with its agent is the user's: he asked for both.
        if self.inner.host.agent_to_be(row).is_some() {
            let row = WorkdirRow { owner: None, ..row.clone() };
            return self.begin_set_up(&row, &rules.setup, Caller::default());
        }
        let caller = Caller { agent: row.owner.as_ref().map(ToString::to_string), run: None };
        self.begin_set_up(row, &rules.setup, caller)
    }

    /// Goes on with workdirs that are on their way. Answers those at which a git of before is still at work, with
    /// its process.
    pub(crate) fn settle_workdirs(&self, rows: Vec<WorkdirRow>) -> Vec<(WorkdirRow, u32)> {
        let mut in_progress = Vec::new();
        for row in rows {
            let _alone = self.work_alone();
            // Somebody may have gone on with it meanwhile.
            let now = self.read(|db| workdirs::get(db, &row.id)).unwrap_or_else(|error| {
                tracing::error!(%error, workdir = %row.id, "a workdir that is on its way cannot be read");
                None
            });
            let Some(row) = now.filter(|now| now.state == row.state) else { continue };
            match self.settle_workdir(&row) {
                Ok(Some(pid)) => in_progress.push((row, pid)),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, workdir = %row.id, "a workdir could not be gone on with")
                }
            }
        }
        in_progress
    }

    /// Workdirs that are being made, or going.
    pub(crate) fn workdirs_on_their_way(&self) -> Vec<WorkdirRow> {
        self.read(workdirs::on_their_way).unwrap_or_else(|error| {
            tracing::error!(%error, "which workdirs are on their way cannot be read; the next change is the next look");
            Vec::new()
        })
    }

    pub(crate) fn work_alone(&self) -> std::sync::MutexGuard<'_, ()> {
        self.inner.workdir_work.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn settle_workdir(&self, row: &WorkdirRow) -> Result<Option<u32>, Error> {
        let open = self.read(|db| open_work(db, row))?;
        for effect in workdir::resume(&row.state, open) {
            match effect {
                Effect::SettleCreation => {
                    if let Some(pid) = self.settle_creation(row)? {
                        return Ok(Some(pid));
                    }
                }
                // Without the user's word what needs it stays: nobody is there who could consent.
                Effect::BeginRemoval => {
                    drop(self.finish_removal(&row.id, was_consented(&row.state), None)?)
                }
                Effect::Remove => {
                    let goes_on = was_consented(&row.state) || self.inner.host.was_being_removed(row);
                    self.remove_now(&row.id, goes_on, None)?;
                }
                Effect::SetUp
                | Effect::CancelWork
                | Effect::DeleteContext
                | Effect::Restore
                | Effect::TellOwner => {}
            }
        }
        Ok(None)
    }

    fn settle_creation(&self, row: &WorkdirRow) -> Result<Option<u32>, Error> {
        if self.inner.host.is_being_made(row.id.as_str()) {
            return Ok(None);
        }
        match self.inner.host.settle_workdir(row) {
            Ok(Settled::Made(made)) => {
                let rules = self.inner.host.workdir_rules(made.repository.as_ref()).unwrap_or_default();
                let copied = self.inner.host.copy_into(&made, &rules.copy);
                let caller = Caller { agent: made.owner.as_ref().map(ToString::to_string), run: None };
                self.workdir_is_made(&WorkdirRow { copied, ..*made }, &rules.setup, caller)?;
            }
            Ok(Settled::Nothing) => {
                let message = "Carillon ended while it was made".to_owned();
                self.step_workdir(&row.id, Event::NotMade { message }, None)?;
                self.inner.host.forget_agent_to_be(row);
            }
            Ok(Settled::InProgress(pid)) => return Ok(Some(pid)),
            Ok(Settled::Unclear(why)) | Err(why) => {
                tracing::warn!(why, workdir = %row.id, "what is left of a creation is not clear");
            }
        }
        Ok(None)
    }
}

/// Whether a removal that was cut short, or that waited, has the user's own word.
fn was_consented(state: &State) -> bool {
    match state {
        State::Abandoned { by, keep: false } | State::Removing { why: Why::Abandoned { by } } => by == "user",
        _ => false,
    }
}
