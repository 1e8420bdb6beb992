//! The temp directories of runs, as the loop sees them: who clears them up, who inherits them, how much room they
//! take and what is done about that.
//!
//! When an agent's run is over and tasks that it started are not, its directory is theirs: a task may have been told
//! of a file there in any way, and nobody could find out whether it was. So it stays until the last of them is over.
//! Nothing of that is kept anywhere: who inherits follows from the ledger, and a boot asks it anew.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use carillon_core::id::{RunId, TaskId};
use carillon_core::residue::{self, Caps, Use, Watch};
use carillon_core::run::TEMP_FULL;
use carillon_store::changes::{self, Tag};
use carillon_store::runs::{self, RunRow};
use carillon_store::{attempts, projects, tasks};

use crate::error::Error;
use crate::main_loop::MainLoop;
use crate::rules;
use crate::seam;

/// What the temp directory of a run was last seen to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TempUse {
    /// The room.
    pub taken: Use,
    /// What was allowed then.
    pub caps: Caps,
    /// What is done about it.
    pub level: Watch,
}

impl TempUse {
    /// What the user should know of it, as a sentence.
    pub fn warning(&self) -> Option<String> {
        let mib = |bytes: u64| bytes.div_ceil(1024 * 1024);
        let taken = format!("{} MiB in {} files", mib(self.taken.bytes), self.taken.inodes);
        match self.level {
            Watch::Fine => None,
            Watch::Warn => Some(format!(
                "its temp directory takes {taken}; beyond {} MiB or {} files it is ended",
                mib(self.caps.max.bytes),
                self.caps.max.inodes
            )),
            Watch::End => {
                Some(format!("its temp directory takes {taken}, more than it may; it is being ended"))
            }
        }
    }
}

/// The temp directory of a run that is live, or whose tasks still use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TempView {
    /// Its absolute path; none for a run of which none is recorded.
    pub path: Option<String>,
    /// What it was last seen to take.
    pub seen: TempUse,
}

/// What all of them take, for whoever looks beside the loop.
#[derive(Debug, Default)]
pub(crate) struct TempUses(Mutex<HashMap<RunId, TempUse>>);

impl TempUses {
    fn all(&self) -> MutexGuard<'_, HashMap<RunId, TempUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None before it was measured for the first time.
    pub(crate) fn get(&self, run: &RunId) -> Option<TempUse> {
        self.all().get(run).copied()
    }

    /// As [`TempUses::get`], with where it is; none once it is on its way out.
    pub(crate) fn view(&self, row: &RunRow) -> Option<TempView> {
        let seen = self.get(&row.id).filter(|_| row.temp_held)?;
        Some(TempView { path: row.temp_path.clone(), seen })
    }

    /// Those of which the user should know.
    pub(crate) fn warned(&self) -> Vec<(RunId, TempUse)> {
        let all = self.all();
        let warned = all.iter().filter(|(_, one)| one.level != Watch::Fine);
        warned.map(|(run, one)| (run.clone(), *one)).collect()
    }

    /// Answers what was done about it before.
    fn set(&self, run: &RunId, now: TempUse) -> Watch {
        self.all().insert(run.clone(), now).unwrap_or_default().level
    }

    /// Answers what was known of it.
    pub(crate) fn forget(&self, run: &RunId) -> Option<TempUse> {
        self.all().remove(run)
    }
}

impl MainLoop {
    /// Has what a run left outside its directory cleared up. While tasks that it started are not over, its temp
    /// directory is theirs.
    pub(crate) fn clear_up(&mut self, row: &RunRow, strays: bool) {
        let held = row.temp_path.as_ref().filter(|_| row.temp_held).map(PathBuf::from);
        let is_held = held.is_some();
        let temp = match held {
            Some(temp) if self.is_inherited(row) => {
                if self.inherited.insert(row.id.clone()) {
                    tracing::info!(run = %row.id, path = %temp.display(), "tasks that the run started go on; its temp directory is theirs");
                }
                self.watch_temp(row);
                self.act_later(|_, _| seam::reach("temp directory handed over"));
                None
            }
            held => {
                self.inherited.remove(&row.id);
                held
            }
        };
        if is_held || strays {
            let run = row.id.clone();
            self.act_later(move |world, report| world.clear_up(&run, temp, strays, report.clone()));
        }
    }

    /// Has the temp directory of a run watched over, for as long as somebody needs it.
    pub(crate) fn watch_temp(&mut self, row: &RunRow) {
        let Some(temp) = row.temp_path.as_ref().filter(|_| row.temp_held).map(PathBuf::from) else { return };
        let run = row.id.clone();
        self.act_later(move |world, report| world.watch_temp(&run, temp, report.clone()));
    }

    /// An attempt of a task is over: a temp directory that only it still needed goes.
    pub(crate) fn heir_over(&mut self) -> Result<(), Error> {
        if self.inherited.is_empty() {
            return Ok(());
        }
        self.marks.push("heir over");
        for run in self.inherited.clone() {
            match self.store.read(|db| runs::get(db, &run))? {
                Some(row) if self.is_inherited(&row) => {}
                Some(row) => self.clear_up(&row, false),
                None => drop(self.inherited.remove(&run)),
            }
        }
        Ok(())
    }

    /// What cannot be read is not given up.
    fn is_inherited(&self, row: &RunRow) -> bool {
        self.heirs_of(row).map_or_else(
            |error| {
                tracing::warn!(%error, run = %row.id, "who needs the temp directory of a run cannot be read; it stays");
                true
            },
            |heirs| !heirs.is_empty(),
        )
    }

    fn heirs_of(&self, row: &RunRow) -> Result<Vec<TaskId>, Error> {
        Ok(self.store.read(|db| tasks::heirs_of(db, row))?)
    }

    /// A temp directory was measured.
    pub(crate) fn temp_measured(&mut self, run: &RunId, taken: Use) -> Result<(), Error> {
        let row = self.store.read(|db| runs::get(db, run))?.filter(|row| row.temp_held);
        let Some(row) = row else {
            self.temp_uses.forget(run);
            return Ok(());
        };
        let root = self.store.read(projects::list)?.into_iter().find(|one| one.id == row.project);
        let caps = root.map_or_else(Caps::default, |project| {
            rules::for_temp(project.root.as_ref()).unwrap_or_else(|error| {
                tracing::warn!(%error, "the defaults hold instead");
                Caps::default()
            })
        });
        let level = residue::watch(taken, &caps);
        let before = self.temp_uses.set(run, TempUse { taken, caps, level });
        if level > before {
            tracing::warn!(%run, ?taken, ?level, "the temp directory of a run takes much room");
        }
        if level != before {
            self.note_temp(&row)?;
        }
        if level == Watch::End { self.end_for_temp(&row) } else { Ok(()) }
    }

    /// A temp directory is gone. Whoever was told that it takes much room is told that it does not any more.
    pub(crate) fn temp_buried(&mut self, run: &RunId) -> Result<(), Error> {
        self.store.write(|tx| runs::set_temp_buried(tx, run))?;
        let was_told = self.temp_uses.forget(run).is_some_and(|one| one.level != Watch::Fine);
        match self.store.read(|db| runs::get(db, run))? {
            Some(row) if was_told => self.note_temp(&row),
            Some(_) | None => Ok(()),
        }
    }

    /// How much room it takes is in no row, so only the change is written.
    fn note_temp(&mut self, row: &RunRow) -> Result<(), Error> {
        let project = Some(row.project.as_str());
        self.store.write(|tx| {
            changes::note(tx, Tag::Run, row.id.as_str(), project)?;
            if let Some(task) = &row.task {
                changes::note(tx, Tag::Task, task.as_str(), project)?;
            }
            match &row.agent {
                Some(agent) => changes::note(tx, Tag::Agent, agent.as_str(), project),
                None => Ok(()),
            }
        })?;
        Ok(())
    }

    /// Ends whoever fills a temp directory beyond its cap: the run, or the tasks that have inherited it. It is asked
    /// for again with each measurement, so it is not lost with the engine.
    fn end_for_temp(&mut self, row: &RunRow) -> Result<(), Error> {
        if !row.state.is_terminal() {
            if let Some(attempt) = self.store.read(|db| attempts::of_run(db, &row.id))? {
                return self.cancel_attempt(attempt, TEMP_FULL);
            }
            let run = row.id.clone();
            self.act_later(move |world, _| {
                world.stop(&run, TEMP_FULL);
            });
            return Ok(());
        }
        for task in self.heirs_of(row)? {
            if let Some(attempt) = self.store.read(|db| attempts::latest(db, &task))? {
                self.cancel_attempt(attempt, TEMP_FULL)?;
            }
        }
        Ok(())
    }
}
