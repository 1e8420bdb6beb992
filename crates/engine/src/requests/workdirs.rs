//! Workdirs: making, looking, merging, removing, bringing back. git is at work on the caller's thread;
//! the loop only hears what came of it.

use std::path::Path;

use carillon_core::id::WorkdirId;
use carillon_core::workdir::{self, Effect, Event, State};
use carillon_core::{limits, name, task};
use carillon_store::db::{Db, SqlError};
use carillon_store::workdirs::{self, WorkdirRow};
use carillon_store::{agents, asks, attempts, runs, tasks};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::workdirs::{Diff, How, Merged, Removed, Seen, Settled};
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::callers::Caller;
use crate::requests::tasks::NewTask;

/// A workdir to make.
#[derive(Clone, Debug, Default)]
pub struct NewWorkdir {
    /// The project, by name, id or path; else that of the caller.
    pub project: Option<String>,
    /// Its name; else one is made.
    pub name: Option<String>,
    /// What it begins from; else what the project's rules or its checkout say.
    pub base: Option<String>,
    /// Who asks.
    pub caller: Caller,
}

/// A workdir with what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkdirView {
    /// The row.
    pub row: WorkdirRow,
    /// What was seen; none for a tombstone and for one that is being made.
    pub seen: Option<Seen>,
    /// What could not be done or is not as it was, in sentences.
    pub notes: Vec<String>,
}

/// How a workdir is merged.
#[derive(Clone, Debug)]
pub struct MergeOrder {
    /// The branch that gets its work; else its base.
    pub into: Option<String>,
    /// In which way.
    pub how: How,
    /// Worktree and branch stay.
    pub keep: bool,
}

impl Engine {
    /// Makes a workdir: a branch and a worktree of its own.
    pub fn new_workdir(&self, new: NewWorkdir) -> Result<WorkdirView, Error> {
        let caller = new.caller.clone();
        let who = self.request_blocking(move |inner| inner.who(&caller))?;
        let project = match (&who.agent, &new.project) {
            (Some(agent), _) => self.project(agent.project.as_str())?,
            (None, Some(key)) => self.project(key)?,
            (None, None) => {
                return Err(Error::invalid("a workdir needs a project", "say which one with --project"));
            }
        };
        let host = self.inner.host.clone();
        let root = Path::new(&project.root);
        let rules = host.workdir_rules(root).map_err(|e| Error::invalid(e, "mend the file, or remove it"))?;
        let id = WorkdirId::from_random(*uuid::Uuid::new_v4().as_bytes());
        let name = new.name.unwrap_or_else(|| format!("work-{}", &id.as_str()[..6]));
        name::check(&name).map_err(|e| Error::invalid(e.to_string(), "choose another name"))?;
        let here = host.branch_of(root);
        let base = new.base.clone().or_else(|| rules.base.clone()).or_else(|| here.clone());
        let base_branch = new.base.or(rules.base).or(here);
        let path = host.place_of_workdir(root, &name);
        let path = path.into_os_string().into_string().map_err(|path| {
            Error::failed(format!("the path {path:?} is not UTF-8"), "use another data directory")
        })?;
        let row = WorkdirRow {
            id,
            project: project.id.clone(),
            branch: Some(format!("carillon/{name}")),
            name,
            repository: project.root.clone(),
            path,
            base_branch,
            base_commit: None,
            identity: None,
            copied: Vec::new(),
            parent_is_ours: false,
            owner: who.agent.map(|agent| agent.id),
            state: State::Creating,
            not_kept: Vec::new(),
            created_ms: now_ms(),
            ended_ms: None,
        };
        let row = self.record_workdir(row)?;
        let made = host.make_workdir(&row, base.as_deref().unwrap_or("HEAD"));
        let made = match made {
            Ok(made) => made,
            Err(message) => {
                let event = Event::NotMade { message: message.clone() };
                self.step_workdir(&row.id, event, None)?;
                host.close_creation(&row);
                return Err(Error::failed(message, "choose another name or base"));
            }
        };
        let made = WorkdirRow { copied: host.copy_into(&made, &rules.copy), ..made };
        self.workdir_is_made(&made, &rules.setup)?;
        self.workdir(made.id.as_str())
    }

    fn record_workdir(&self, row: WorkdirRow) -> Result<WorkdirRow, Error> {
        self.request_blocking(move |inner| {
            if !inner.accepting {
                return Err(Error::ShuttingDown);
            }
            let all = inner.store.read(|db| workdirs::list(db, Some(&row.project)))?;
            let taken = |one: &WorkdirRow| one.ended_ms.is_none() && one.name == row.name;
            if all.iter().any(taken) {
                let message = format!("the project has a workdir {:?} already", row.name);
                return Err(Error::refused(message, "choose another name"));
            }
            inner.marks.push("workdir recorded");
            inner.store.write(|tx| workdirs::insert(tx, &row))?;
            Ok(row)
        })
    }

    /// git has made it: the ledger knows it, then its set-up begins.
    fn workdir_is_made(&self, made: &WorkdirRow, setup: &[String]) -> Result<(), Error> {
        self.inner.host.write_context(made);
        let row = made.clone();
        self.step_workdir(&made.id, Event::Made, Some(row))?;
        self.inner.host.close_creation(made);
        if !setup.is_empty() {
            let line = setup.join(" && ");
            self.add_task(NewTask {
                project: Some(made.project.to_string()),
                owner: made.owner.as_ref().map(ToString::to_string),
                command: vec!["sh".to_owned(), "-c".to_owned(), line],
                cwd: Some(made.path.clone().into()),
                title: Some(format!("set up {}", made.name)),
                ..NewTask::default()
            })?;
        }
        Ok(())
    }

    /// Compute, commit, act: one step of one workdir; answers what is to be done next.
    fn step_workdir(
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

    /// The workdirs of a project, or all, with what is seen of them.
    pub fn workdirs(&self, project: Option<&str>) -> Result<Vec<WorkdirView>, Error> {
        let project = project.map(|key| self.project(key)).transpose()?.map(|project| project.id);
        let rows = self.read(|db| workdirs::list(db, project.as_ref()))?;
        rows.into_iter().map(|row| self.view_of_workdir(row)).collect()
    }

    fn view_of_workdir(&self, row: WorkdirRow) -> Result<WorkdirView, Error> {
        let open_work = self.read(|db| open_work(db, &row))?;
        let (seen, notes) = match row.state {
            State::Creating | State::Tombstoned { .. } => (None, Vec::new()),
            State::Active { .. }
            | State::Merged { .. }
            | State::Abandoned { .. }
            | State::Removing { .. } => match self.inner.host.look_at(&row, open_work) {
                Ok(seen) => (Some(seen), Vec::new()),
                Err(message) => (None, vec![message]),
            },
        };
        Ok(WorkdirView { row, seen, notes })
    }

    /// The workdir that `key` names: its id, its name, its path or a unique start of its id.
    pub fn workdir(&self, key: &str) -> Result<WorkdirView, Error> {
        let row = self.workdir_row(key)?;
        self.view_of_workdir(row)
    }

    fn workdir_row(&self, key: &str) -> Result<WorkdirRow, Error> {
        let rows = self.read(|db| workdirs::list(db, None))?;
        // Those that are there stand first, so a name means them rather than a tombstone.
        let named: Vec<_> = rows.iter().filter(|row| row.name == key || row.path == key).collect();
        let there = named.iter().filter(|row| row.ended_ms.is_none()).count();
        if there > 1 {
            return Err(Error::Ambiguous { what: "workdir", name: key.to_owned() });
        }
        if let Some(row) = named.first() {
            return Ok((*row).clone());
        }
        let hex = key.len() >= 4 && key.bytes().all(|b| b.is_ascii_hexdigit());
        let mut found: Vec<_> =
            rows.into_iter().filter(|row| hex && row.id.as_str().starts_with(key)).collect();
        if found.len() > 1 {
            return Err(Error::Ambiguous { what: "workdir", name: key.to_owned() });
        }
        found.pop().ok_or_else(|| Error::NotFound {
            what: "workdir",
            name: key.to_owned(),
            hint: "`carillon workdirs list` shows them".to_owned(),
        })
    }

    /// The difference of a workdir from the commit that it began from.
    pub fn workdir_diff(&self, key: &str) -> Result<(WorkdirRow, Diff), Error> {
        let row = self.workdir_row(key)?;
        let failed = |message: String| Error::failed(message, "`carillon workdirs list` shows how it stands");
        let diff = self.inner.host.diff_of(&row).map_err(failed)?;
        Ok((row, diff))
    }

    /// Merges a workdir. Unless it is kept, worktree and branch go afterwards.
    pub fn merge_workdir(&self, key: &str, order: MergeOrder) -> Result<WorkdirView, Error> {
        let _alone = self.work_alone();
        let row = self.workdir_row(key)?;
        if !row.state.can_be_worked_in() {
            let message = format!("workdir {:?} is {}", row.name, row.state.word());
            return Err(Error::refused(message, "only one that is active can be merged"));
        }
        let into = order.into.or_else(|| row.base_branch.clone()).ok_or_else(|| {
            Error::invalid("nothing says which branch gets its work", "name one with --into")
        })?;
        let message = format!("Merge {} into {into}", row.branch.as_deref().unwrap_or(&row.name));
        let refused = |message: String| Error::refused(message, "commit or take away what is in the way");
        let merged = self.inner.host.merge_workdir(&row, &into, order.how, &message).map_err(refused)?;
        if let Merged::Conflicts(files) = &merged {
            let message = format!("these files would conflict: {}", files.join(", "));
            return Err(Error::refused(
                message,
                "nothing was changed; merge the base into the workdir first",
            ));
        }
        if !matches!(row.state, State::Merged { .. }) || !order.keep {
            let event = match row.state {
                State::Merged { .. } => {
                    Event::CancelRequested { by: "user".into(), keep: order.keep, open_work: 0 }
                }
                _ => Event::MergeCompleted { keep: order.keep },
            };
            let effects = self.step_workdir(&row.id, event, None)?;
            if effects.contains(&Effect::BeginRemoval) {
                let mut view = self.finish_removal(&row.id, false)?;
                if let State::Active { refused: Some(reason) } = &view.row.state {
                    view.notes.push(format!("merged, but the worktree stays: {reason}"));
                }
                return Ok(view);
            }
        }
        self.workdir(row.id.as_str())
    }

    /// Removes a workdir. Asking for it is the user's consent; what is blocked is refused.
    pub fn remove_workdir(&self, key: &str, keep: bool, by: &str) -> Result<WorkdirView, Error> {
        let _alone = self.work_alone();
        let row = self.workdir_row(key)?;
        let open = self.read(|db| open_work(db, &row))?;
        if open > 0 && !keep {
            let message = format!("{open} tasks, asks or agents of workdir {:?} are not over", row.name);
            return Err(Error::refused(message, "wait for them, or cancel and stop them first"));
        }
        let event = Event::CancelRequested { by: by.to_owned(), keep, open_work: 0 };
        let effects = self.step_workdir(&row.id, event, None)?;
        if !effects.contains(&Effect::BeginRemoval) {
            return self.workdir(row.id.as_str());
        }
        let view = self.finish_removal(&row.id, true)?;
        match &view.row.state {
            State::Active { refused: Some(reason) } => {
                let message = format!("workdir {:?} stays: {reason}", view.row.name);
                Err(Error::refused(message, "nothing was removed; see to the reason and try again"))
            }
            _ => Ok(view),
        }
    }

    /// Archives and removes a workdir that is merged or abandoned, as far as its work is over.
    fn finish_removal(&self, id: &WorkdirId, consent: bool) -> Result<WorkdirView, Error> {
        let begun = id.clone();
        let began = self.request_blocking(move |inner| {
            let Some(row) = inner.store.read(|db| workdirs::get(db, &begun))? else { return Ok(false) };
            let open_work = inner.store.read(|db| open_work(db, &row))?;
            match inner.step_workdir(&begun, Event::RemovalBegan { open_work }, None) {
                Ok((_, effects)) => Ok(effects.contains(&Effect::Remove)),
                // The end of its last task or ask goes on with it.
                Err(Error::Refused { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })?;
        if began {
            self.remove_now(id, consent)?;
        }
        self.workdir(id.as_str())
    }

    fn remove_now(&self, id: &WorkdirId, consent: bool) -> Result<(), Error> {
        let row = self.workdir_row(id.as_str())?;
        let removed = self.inner.host.remove_workdir(&row, 0, consent);
        let removed = removed.unwrap_or_else(Removed::Refused);
        match removed {
            Removed::Gone { archive_ref, not_kept } => {
                let facts = WorkdirRow { not_kept, ..row };
                self.step_workdir(id, Event::Removed { archive_ref }, Some(facts))?;
            }
            Removed::Refused(reason) => {
                self.step_workdir(id, Event::RemovalRefused { reason }, None)?;
            }
        }
        Ok(())
    }

    /// Brings a workdir back from its archive.
    pub fn restore_workdir(&self, key: &str) -> Result<WorkdirView, Error> {
        let _alone = self.work_alone();
        let row = self.workdir_row(key)?;
        self.step_workdir(&row.id, Event::RestoreRequested, None)?;
        let State::Tombstoned { archive_ref: Some(reference), .. } = &row.state else {
            return self.workdir(row.id.as_str());
        };
        let failed =
            |message: String| Error::failed(message, "nothing was changed; see to the reason and try again");
        let (back, notes) = self.inner.host.restore_workdir(&row, reference).map_err(failed)?;
        self.inner.host.write_context(&back);
        self.step_workdir(&row.id, Event::Restored, Some(back))?;
        let mut view = self.workdir(row.id.as_str())?;
        view.notes.extend(notes);
        Ok(view)
    }

    /// Says who works in a workdir.
    pub(crate) fn own_workdir(&self, id: &WorkdirId, owner: carillon_core::id::AgentId) -> Result<(), Error> {
        let id = id.clone();
        self.request_blocking(move |inner| {
            let Some(row) = inner.store.read(|db| workdirs::get(db, &id))? else { return Ok(()) };
            inner.store.write(|tx| workdirs::set_owner(tx, &row, Some(&owner)))?;
            Ok(())
        })
    }

    /// Goes on with workdirs that were on their way when the engine went away, or whose last task or
    /// ask has ended since.
    pub(crate) fn settle_workdirs(&self, rows: Vec<WorkdirRow>) {
        for row in rows {
            let _alone = self.work_alone();
            // Somebody may have gone on with it meanwhile.
            let now = self.read(|db| workdirs::get(db, &row.id)).ok().flatten();
            let Some(row) = now.filter(|now| now.state == row.state) else { continue };
            if let Err(error) = self.settle_workdir(&row) {
                tracing::warn!(%error, workdir = %row.id, "a workdir could not be gone on with");
            }
        }
    }

    /// Workdirs that are being made, or going.
    pub(crate) fn workdirs_on_their_way(&self) -> Vec<WorkdirRow> {
        self.read(workdirs::on_their_way).unwrap_or_default()
    }

    fn work_alone(&self) -> std::sync::MutexGuard<'_, ()> {
        self.inner.workdir_work.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn settle_workdir(&self, row: &WorkdirRow) -> Result<(), Error> {
        let open = self.read(|db| open_work(db, row))?;
        for effect in workdir::resume(&row.state, open) {
            match effect {
                Effect::SettleCreation => self.settle_creation(row)?,
                // Nobody is there who could consent: what needs it stays.
                Effect::BeginRemoval => drop(self.finish_removal(&row.id, false)?),
                Effect::Remove => self.remove_now(&row.id, false)?,
                Effect::SetUp
                | Effect::CancelWork
                | Effect::DeleteContext
                | Effect::Restore
                | Effect::TellOwner => {}
            }
        }
        Ok(())
    }

    fn settle_creation(&self, row: &WorkdirRow) -> Result<(), Error> {
        match self.inner.host.settle_workdir(row) {
            Ok(Settled::Made(made)) => self.workdir_is_made(&made, &[]),
            Ok(Settled::Nothing) => {
                let message = "Carillon ended while it was made".to_owned();
                self.step_workdir(&row.id, Event::NotMade { message }, None).map(drop)
            }
            Ok(Settled::Unclear(why)) | Err(why) => {
                tracing::warn!(why, workdir = %row.id, "what is left of a creation is not clear");
                Ok(())
            }
        }
    }
}

impl MainLoop {
    fn step_workdir(
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
        let (state, effects) = workdir::step(&row.state, event).map_err(|rejected| {
            let message = format!("workdir {:?} is {}: {}", row.name, row.state.word(), in_words(rejected));
            Error::refused(message, "`carillon workdirs list` shows how it stands")
        })?;
        self.marks.push("workdir changed");
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
    for task in tasks::list(db, Some(&row.project), None, limits::TASKS_LOOKED_AT)? {
        if inside(&task.task.cwd) {
            let over =
                attempts::latest(db, &task.task.id)?.is_some_and(|a| task::State::is_terminal(&a.state));
            open += u32::from(!over);
        }
    }
    for agent in agents::list(db)?.iter().filter(|agent| inside(&agent.workdir)) {
        let live = runs::newest_of(db, &agent.id)?.is_some_and(|run| !run.state.is_terminal());
        let asked =
            asks::going_on_with(db, &agent.id)?.iter().any(|ask| ask.callee.as_ref() == Some(&agent.id));
        open += u32::from(live) + u32::from(asked);
    }
    Ok(open)
}
