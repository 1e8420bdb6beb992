//! Opening repositories and taking them off the list.

use std::path::Path;

use carillon_core::id::ProjectId;
use carillon_core::usage::UsageSum;
use carillon_core::words::Project;
use carillon_store::{asks, attempts, projects, runs, tasks, usage, workdirs};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::repository;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::find::find;

/// A project with what was used in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectView {
    /// The project.
    pub project: Project,
    /// What turns of its agents have used, those of removed ones too.
    pub usage: Option<UsageSum>,
}

impl Engine {
    /// All projects, with what was used in them.
    pub fn project_views(&self) -> Result<Vec<ProjectView>, Error> {
        self.read(|db| {
            let used = usage::of_projects(db)?;
            let view = |project: Project| ProjectView { usage: used.get(&project.id).copied(), project };
            Ok(projects::list(db)?.into_iter().map(view).collect())
        })
    }

    /// A project, with what was used in it.
    pub fn project_view(&self, project: Project) -> Result<ProjectView, Error> {
        let usage = self.read(|db| Ok(usage::of_projects(db)?.remove(&project.id)))?;
        Ok(ProjectView { project, usage })
    }

    /// All projects.
    pub fn projects(&self) -> Result<Vec<Project>, Error> {
        self.read(projects::list)
    }

    /// The project that `key` names: a name, an id, a start of an id, or a path in its repository
    /// or in one of its workdirs.
    pub fn project(&self, key: &str) -> Result<Project, Error> {
        let all = self.projects()?;
        if Path::new(key).is_absolute() {
            let path = std::fs::canonicalize(key).unwrap_or_else(|_| key.into());
            // The innermost root wins when one repository lies within another.
            let holds = |p: &&Project| path.starts_with(&p.root);
            if let Some(project) = all.iter().filter(holds).max_by_key(|p| p.root.len()) {
                return Ok(project.clone());
            }
            // A workdir lies outside of the root, and belongs to its project all the same.
            let workdirs = self.read(|db| workdirs::list(db, None))?;
            let around = workdirs.iter().find(|row| row.ended_ms.is_none() && path.starts_with(&row.path));
            if let Some(project) = around.and_then(|row| all.iter().find(|project| project.id == row.project))
            {
                return Ok(project.clone());
            }
        }
        find(all, key)
    }

    /// Opens the git repository that `path` lies in. Opening it again gives the same project.
    pub fn add_project(&self, path: &str) -> Result<Project, Error> {
        // As a shell would: people type it into the window, too.
        let home = path.strip_prefix("~/").and_then(|rest| Some(dirs::home_dir()?.join(rest)));
        let root = repository::top_level(&home.unwrap_or_else(|| path.into()))?;
        self.request_blocking(move |inner| {
            if let Some(known) = inner.store.read(|db| projects::by_root(db, &root))? {
                inner.reconcile_project(&known.id)?;
                return Ok(known);
            }
            let all = inner.store.read(projects::list)?;
            let id = ProjectId::from_random(*uuid::Uuid::new_v4().as_bytes());
            let project = Project { id, name: free_name(&all, &root), root };
            inner.store.write(|tx| projects::insert(tx, &project, now_ms()))?;
            Ok(project)
        })
    }

    /// Takes a project off the list. Refused while it has agents; the repository is not touched.
    pub fn remove_project(&self, key: &str) -> Result<(), Error> {
        let project = self.project(key)?;
        self.request_blocking(move |inner| {
            let agents = inner.store.read(carillon_store::agents::list)?;
            let count = agents.iter().filter(|agent| agent.project == project.id).count();
            if count > 0 {
                let message = format!("project {:?} still has {count} agents", project.name);
                return Err(Error::refused(message, "remove its agents first"));
            }
            let workdirs = inner.store.read(|db| workdirs::list(db, Some(&project.id)))?;
            let there: Vec<&str> =
                workdirs.iter().filter(|row| row.ended_ms.is_none()).map(|row| row.name.as_str()).collect();
            if !there.is_empty() {
                let message = format!("project {:?} still has workdirs: {}", project.name, there.join(", "));
                return Err(Error::refused(message, "merge or remove them first"));
            }
            inner.forget_tasks_of(&project)?;
            inner.store.write(|tx| {
                // What archives keep stays in the repository; opened again, it is listed there.
                workdirs::delete_of_project(tx, &project.id)?;
                asks::delete_of_project(tx, &project.id)?;
                projects::delete(tx, &project.id)
            })?;
            Ok(())
        })
    }
}

/// The last part of the path, with a number when another project has it already.
fn free_name(all: &[Project], root: &str) -> String {
    let base =
        Path::new(root).file_name().map_or("root".to_owned(), |name| name.to_string_lossy().into_owned());
    let taken = |name: &str| all.iter().any(|project| project.name == name);
    if !taken(&base) {
        return base;
    }
    (2..).map(|n| format!("{base}-{n}")).find(|name| !taken(name)).unwrap_or(base)
}

impl MainLoop {
    /// Brings the runs of a project in line with what is there. Done when it is opened; what is in
    /// line already stays as it is.
    fn reconcile_project(&mut self, project: &ProjectId) -> Result<(), Error> {
        let live = self.store.read(runs::live)?;
        for row in live.iter().filter(|row| row.project == *project) {
            if let Err(why) = self.wholly(|this| this.reconcile(row)) {
                tracing::error!(run = %row.id, %why, "a run could not be observed; it stays as it is");
            }
        }
        self.fill_slots(project);
        Ok(())
    }

    /// Removes the records of a project's tasks, when all of them are over.
    fn forget_tasks_of(&mut self, project: &Project) -> Result<(), Error> {
        let rows = self.store.read(|db| tasks::list(db, Some(&project.id), None, usize::MAX >> 1))?;
        for row in &rows {
            let latest = self.store.read(|db| attempts::latest(db, &row.task.id))?;
            if latest.is_some_and(|attempt| !attempt.state.is_terminal()) {
                let message = format!("project {:?} still has a task: {}", project.name, row.task.title);
                return Err(Error::refused(message, "wait for it, or cancel it"));
            }
        }
        let kept = self.store.read(runs::with_dir)?;
        self.store.write(|tx| rows.iter().try_for_each(|row| tasks::delete(tx, &row.task.id)))?;
        for row in kept.iter().filter(|run| run.project == project.id && run.state.is_terminal()) {
            self.drop_dir(&row.id);
        }
        Ok(())
    }
}
