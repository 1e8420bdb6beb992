//! Workdirs: making, looking, merging, removing, bringing back. git is at work on the caller's thread;
//! the loop only hears what came of it.

use std::path::Path;

use carillon_core::id::{TaskId, WorkdirId};
use carillon_core::name;
use carillon_core::words::Agent;
use carillon_core::workdir::{Effect, Event, State};
use carillon_store::agents;
use carillon_store::workdirs::{self, WorkdirRow};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::residue::reasons;
use crate::host::workdirs::{Diff, How, Merged, Removed, Rules, Seen};
use crate::main_loop::now_ms;
use crate::requests::callers::Caller;
use crate::requests::tasks::NewTask;
use crate::requests::workdir_steps::open_work;
use crate::requests::workdir_stops::Work;
use crate::seam;

/// Of a workdir whose work is not over.
const GOES_LATER: &str = "it goes when its last task, ask or agent is over";

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
    /// The agent that it is made for, and that is added with it.
    pub agent: Option<Agent>,
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
        let branch = format!("carillon/{name}");
        host.check_new_branch(root, &branch).map_err(|e| Error::invalid(e, "choose another name"))?;
        let here = host.branch_of(root);
        let base = new.base.or(rules.base.clone()).or_else(|| here.clone()).unwrap_or("HEAD".to_owned());
        // A tag or a commit is something to begin from, and nothing that work can go to.
        let base_branch = if host.is_branch(root, &base) { Some(base.clone()) } else { here };
        let path = host.place_of_workdir(root, &name);
        let path = path.into_os_string().into_string().map_err(|path| {
            Error::failed(format!("the path {path:?} is not UTF-8"), "use another data directory")
        })?;
        let row = WorkdirRow {
            id,
            project: project.id.clone(),
            branch: Some(branch),
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
            branch_stays: false,
            created_ms: now_ms(),
            ended_ms: None,
        };
        host.open_creation(&row);
        let made = self.make_recorded(row.clone(), &base, &rules, new.caller, new.agent.as_ref());
        host.leave_creation(&row);
        let notes = made?;
        let mut view = self.workdir(row.id.as_str())?;
        view.notes.extend(notes);
        Ok(view)
    }

    fn make_recorded(
        &self,
        row: WorkdirRow,
        base: &str,
        rules: &Rules,
        caller: Caller,
        agent: Option<&Agent>,
    ) -> Result<Vec<String>, Error> {
        let host = &self.inner.host;
        let row = self.record_workdir(row)?;
        let kept = agent.map_or(Ok(()), |agent| host.keep_agent_to_be(&row, agent));
        let kept = kept.map_err(|error| format!("the agent cannot be written down: {error}"));
        match kept.and_then(|()| host.make_workdir(&row, base)) {
            Ok(made) => {
                let made = WorkdirRow { copied: host.copy_into(&made, &rules.copy), ..made };
                self.workdir_is_made(&made, &rules.setup, caller)
            }
            // What git may have left of it is in the journal, and is shown as a husk.
            Err(message) => {
                self.step_workdir(&row.id, Event::NotMade { message: message.clone() }, None)?;
                host.forget_agent_to_be(&row);
                Err(Error::failed(message, "choose another name or base"))
            }
        }
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

    /// git has made it: the ledger knows it, then its set-up begins. Answers what the user should know.
    pub(crate) fn workdir_is_made(
        &self,
        made: &WorkdirRow,
        setup: &[String],
        caller: Caller,
    ) -> Result<Vec<String>, Error> {
        self.inner.host.write_context(made);
        let not_added = self.record_made(made)?;
        let mut notes = self.begin_set_up(made, setup, caller);
        notes.extend(not_added.map(|error| format!("its agent was not added: {error}")));
        Ok(notes)
    }

    /// Runs the set-up as a task whose id is that of the workdir, so that a repeat is the same task. The journal
    /// is closed when the task is on the ledger: until then a start knows that it is still to come.
    pub(crate) fn begin_set_up(&self, made: &WorkdirRow, setup: &[String], caller: Caller) -> Vec<String> {
        let mut notes = Vec::new();
        if !setup.is_empty() {
            let task = NewTask {
                id: TaskId::parse(made.id.as_str()).ok(),
                project: Some(made.project.to_string()),
                owner: made.owner.as_ref().map(ToString::to_string),
                command: vec!["sh".to_owned(), "-c".to_owned(), setup.join(" && ")],
                cwd: Some(made.path.clone().into()),
                title: Some(format!("set up {}", made.name)),
                // What an agent asks for is bound to what it may run.
                caller,
                ..NewTask::default()
            };
            if let Err(error) = self.add_task(task) {
                tracing::warn!(%error, workdir = %made.id, "the set-up of a workdir cannot begin");
                notes.push(format!("its set-up does not run: {error}"));
            }
            seam::reach("set-up started");
        }
        self.inner.host.forget_agent_to_be(made);
        self.inner.host.close_creation(made);
        notes
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

    pub(crate) fn workdir_row(&self, key: &str) -> Result<WorkdirRow, Error> {
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
        let row = self.workdir_row(key)?;
        let work = self.begin_work(&row.id)?;
        let _alone = self.work_alone();
        work.check()?;
        let row = self.workdir_row(row.id.as_str())?;
        if !row.state.can_be_worked_in() {
            let message = format!("workdir {:?} is {}", row.name, row.state.word());
            return Err(Error::refused(message, "only one that is active can be merged"));
        }
        let into = order.into.or_else(|| row.base_branch.clone()).ok_or_else(|| {
            Error::invalid("nothing says which branch gets its work", "name one with --into")
        })?;
        if row.branch.as_deref() == Some(into.as_str()) {
            let message = format!("{into} is the branch of the workdir itself");
            return Err(Error::invalid(message, "name the branch that gets its work with --into"));
        }
        let message = format!("Merge {} into {into}", row.branch.as_deref().unwrap_or(&row.name));
        let refused = |message: String| Error::refused(message, "commit or take away what is in the way");
        let merged = work.within(|| self.inner.host.merge_workdir(&row, &into, order.how, &message));
        // Also where it had nothing to do: what would follow was not wanted any more.
        work.check()?;
        let merged = merged.map_err(refused)?;
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
                let work = self.next_part(work)?;
                let mut view = self.finish_removal(&row.id, false, Some(&work))?;
                match &view.row.state {
                    State::Active { refused: Some(reason) } => {
                        view.notes.push(format!("merged, but the worktree stays: {reason}"));
                    }
                    State::Merged { .. } => view.notes.push(GOES_LATER.to_owned()),
                    _ => view.notes.extend(branch_that_stays(&view.row)),
                }
                return Ok(view);
            }
        }
        self.workdir(row.id.as_str())
    }

    /// Removes a workdir. Asking for it is the user's consent; what is blocked is refused.
    pub fn remove_workdir(&self, key: &str, keep: bool, by: &str) -> Result<WorkdirView, Error> {
        let row = self.workdir_row(key)?;
        let work = self.begin_work(&row.id)?;
        let _alone = self.work_alone();
        work.check()?;
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
        let mut view = self.finish_removal(&row.id, true, Some(&work))?;
        match &view.row.state {
            State::Active { refused: Some(reason) } => {
                let message = format!("workdir {:?} stays: {reason}", view.row.name);
                return Err(Error::refused(message, "nothing was removed; see to the reason and try again"));
            }
            State::Abandoned { .. } => view.notes.push(GOES_LATER.to_owned()),
            State::Tombstoned { .. } => {
                view.notes.extend(self.agents_without_directory(&view.row)?);
                view.notes.extend(branch_that_stays(&view.row));
            }
            _ => {}
        }
        Ok(view)
    }

    /// Agents that worked in a workdir which is gone.
    fn agents_without_directory(&self, row: &WorkdirRow) -> Result<Vec<String>, Error> {
        let all = self.read(agents::list)?;
        let inside = all.iter().filter(|agent| Path::new(&agent.workdir).starts_with(&row.path));
        Ok(inside.map(|agent| format!("agent {} has no directory now", agent.name)).collect())
    }

    /// Removes a workdir for the cleaning, which has looked whether it may go. Answers why it stays.
    pub(crate) fn clean_workdir(&self, id: &WorkdirId, consent: bool) -> Result<Result<(), String>, Error> {
        let _alone = self.work_alone();
        let row = self.workdir_row(id.as_str())?;
        let known = self.known_residue()?;
        let verdict = self.inner.host.judge_workdir(&row, true, &known);
        if !verdict.allows(consent) {
            return Ok(Err(reasons(&verdict)));
        }
        // Only the user's own word is one that a start after a crash goes by.
        let by = if consent { "user" } else { "the cleaning" };
        let event = Event::CancelRequested { by: by.to_owned(), keep: false, open_work: 0 };
        self.step_workdir(&row.id, event, None)?;
        Ok(match self.finish_removal(&row.id, consent, None)?.row.state {
            State::Tombstoned { .. } => Ok(()),
            State::Active { refused: Some(reason) } => Err(reason),
            _ => Err(GOES_LATER.to_owned()),
        })
    }

    /// Archives and removes a workdir that is merged or abandoned, as far as its work is over.
    pub(crate) fn finish_removal(
        &self,
        id: &WorkdirId,
        consent: bool,
        work: Option<&Work>,
    ) -> Result<WorkdirView, Error> {
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
            self.remove_now(id, consent, work)?;
        }
        self.workdir(id.as_str())
    }

    /// `work` is what it is a part of; else it can be stopped by itself.
    pub(crate) fn remove_now(&self, id: &WorkdirId, consent: bool, work: Option<&Work>) -> Result<(), Error> {
        let row = self.workdir_row(id.as_str())?;
        let alone;
        let work = match work {
            Some(work) => work,
            None => {
                alone = self.begin_work(id)?;
                &alone
            }
        };
        let removed = work.within(|| self.inner.host.remove_workdir(&row, 0, consent));
        let removed = removed.unwrap_or_else(Removed::Refused);
        match removed {
            Removed::Gone { archive_ref, not_kept, branch_stays } => {
                let facts = WorkdirRow { not_kept, branch_stays, ..row };
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
        let all = self.read(|db| workdirs::list(db, Some(&row.project)))?;
        let is_taken =
            |one: &WorkdirRow| one.ended_ms.is_none() && (one.name == row.name || one.path == row.path);
        if all.iter().any(is_taken) {
            let message = format!("there is another workdir {:?} now", row.name);
            return Err(Error::refused(message, "merge or remove that one first"));
        }
        let State::Tombstoned { archive_ref: Some(reference), .. } = &row.state else {
            return self.workdir(row.id.as_str());
        };
        let failed =
            |message: String| Error::failed(message, "nothing was changed; see to the reason and try again");
        let (back, mut notes) = self.inner.host.restore_workdir(&row, reference).map_err(failed)?;
        let back = self.copy_again(back, &mut notes);
        self.inner.host.write_context(&back);
        self.step_workdir(&row.id, Event::Restored, Some(back))?;
        let mut view = self.workdir(row.id.as_str())?;
        view.notes.extend(notes);
        Ok(view)
    }

    /// Copies into a workdir that is back what the project's rules name, and what it had a copy of before: an archive
    /// has only those that were changed in it. `notes` say what is not as it was.
    fn copy_again(&self, back: WorkdirRow, notes: &mut Vec<String>) -> WorkdirRow {
        let host = &self.inner.host;
        let rules = host.workdir_rules(Path::new(&back.repository)).unwrap_or_else(|error| {
            notes.push(format!("only what it had a copy of is copied again: {error}"));
            Rules::default()
        });
        let mut names = rules.copy;
        names.extend(back.copied.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        let copied = host.copy_into(&back, &names);
        let missing = back.copied.iter().filter(|name| !copied.contains(name));
        notes
            .extend(missing.map(|name| format!("{name} is not back: the project's checkout has it no more")));
        WorkdirRow { copied, ..back }
    }
}

/// What the user should know of the branch of a workdir that is gone.
fn branch_that_stays(row: &WorkdirRow) -> Option<String> {
    let branch = row.branch.as_ref().filter(|_| row.branch_stays)?;
    Some(format!("its branch {branch} stays; `carillon clean --kind branch` says why"))
}
