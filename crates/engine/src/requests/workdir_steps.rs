//! The steps of workdirs: computed by `core`, committed, then followed by what they ask for.

use std::collections::HashMap;
use std::path::Path;

use carillon_core::id::WorkdirId;
use carillon_core::workdir::{self, Effect, Event};
use carillon_store::db::{Db, SqlError};
use carillon_store::workdirs::{self, WorkdirRow};
use carillon_store::{agents, asks, attempts, runs};

use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};

impl Engine {
    /// Compute, commit, act: one step of one workdir; answers what is to be done next.
    pub(crate) fn step_workdir(
        &self,
        id: &WorkdirId,
        event: Event,
        facts: Option<WorkdirRow>,
    ) -> Result<Vec<Effect>, Error> {
        let id = id.clone();
        let (row, effects) = self.request_blocking(move |inner| inner.step_workdir(&id, event, facts))?;
        if effects.contains(&Effect::DeleteContext) {
            self.inner.host.delete_context(&row);
        }
        Ok(effects)
    }
}

impl MainLoop {
    pub(crate) fn step_workdir(
        &mut self,
        id: &WorkdirId,
        event: Event,
        facts: Option<WorkdirRow>,
    ) -> Result<(WorkdirRow, Vec<Effect>), Error> {
        let row = self.store.read(|db| workdirs::get(db, id))?.ok_or_else(|| Error::NotFound {
            what: "workdir",
            name: id.to_string(),
            hint: "`carillon workdirs list` shows them".to_owned(),
        })?;
        let (state, effects) = workdir::step(&row.state, event.clone()).map_err(|rejected| {
            let message = format!("workdir {:?} is {}: {}", row.name, row.state.word(), in_words(rejected));
            Error::refused(message, "`carillon workdirs list` shows how it stands")
        })?;
        self.marks.extend(mark_of(&event));
        self.store.write(|tx| {
            if let Some(facts) = &facts {
                workdirs::set_made(tx, facts)?;
            }
            let not_kept =
                facts.as_ref().map_or_else(|| row.not_kept.clone(), |facts| facts.not_kept.clone());
            workdirs::set_state(tx, &WorkdirRow { not_kept, ..row.clone() }, &state, now_ms())
        })?;
        Ok((row, effects))
    }
}

/// What a crash at this step would be telling about.
fn mark_of(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::Made => "workdir made",
        Event::NotMade { .. } => "workdir not made",
        Event::MergeCompleted { .. } => "workdir merged",
        Event::CancelRequested { .. } => "workdir given up",
        Event::RemovalBegan { .. } => "workdir going",
        Event::RemovalRefused { .. } => "workdir stays",
        Event::Removed { .. } | Event::Vanished | Event::ArchiveForgotten => "workdir gone",
        Event::Restored => "workdir back",
        // Neither changes what the ledger says.
        Event::WorkEnded | Event::RestoreRequested => return None,
    })
}

fn in_words(rejected: workdir::Rejected) -> &'static str {
    match rejected {
        workdir::Rejected::StillCreating => "it is not made yet",
        workdir::Rejected::AlreadyMade => "it is made already",
        workdir::Rejected::AlreadyMerged => "it was merged already",
        workdir::Rejected::AlreadyAbandoned => "it is given up already",
        workdir::Rejected::AlreadyRemoving => "it is on its way out",
        workdir::Rejected::AlreadyGone => "it is gone",
        workdir::Rejected::NotRemoving => "it is not on its way out",
        workdir::Rejected::NotGone => "it is still there",
        workdir::Rejected::OpenWork => "some of its work is not over",
        workdir::Rejected::NotDone => "nobody has said that it may go",
        workdir::Rejected::NothingToRestore => "there is nothing that would bring it back",
    }
}

/// Tasks, asks and agents of a workdir that are not over.
pub(crate) fn open_work(db: &Db, row: &WorkdirRow) -> Result<u32, SqlError> {
    let inside = |path: &str| Path::new(path).starts_with(&row.path);
    let mut open = 0;
    for cwd in attempts::open_cwds(db, Some(&row.project))? {
        open += u32::from(inside(&cwd));
    }
    for agent in agents::list(db)?.iter().filter(|agent| inside(&agent.workdir)) {
        open += work_of(db, agent)?;
    }
    Ok(open)
}

/// As [`open_work`] for each of them, looking at each open task and each agent once.
pub(crate) fn open_work_of(db: &Db, rows: &[WorkdirRow]) -> Result<HashMap<WorkdirId, u32>, SqlError> {
    let mut open: HashMap<WorkdirId, u32> = HashMap::new();
    let mut count = |path: &str, work: u32| {
        for row in rows.iter().filter(|row| work > 0 && Path::new(path).starts_with(&row.path)) {
            *open.entry(row.id.clone()).or_default() += work;
        }
    };
    for cwd in attempts::open_cwds(db, None)? {
        count(&cwd, 1);
    }
    for agent in agents::list(db)? {
        count(&agent.workdir, work_of(db, &agent)?);
    }
    Ok(open)
}

/// Whether an agent runs, and whether it is asked something.
fn work_of(db: &Db, agent: &carillon_core::words::Agent) -> Result<u32, SqlError> {
    let live = runs::newest_of(db, &agent.id)?.is_some_and(|run| !run.state.is_terminal());
    let asked = asks::going_on_with(db, &agent.id)?.iter().any(|ask| ask.callee.as_ref() == Some(&agent.id));
    Ok(u32::from(live) + u32::from(asked))
}
