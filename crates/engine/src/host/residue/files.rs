//! Temp directories, directories of runs, logs, and what lies in a trash.

use std::path::{Path, PathBuf};

use carillon_core::id::RunId;
use carillon_core::judge::{Reason, User, Verdict};
use carillon_core::limits;
use carillon_core::residue::{self, Kind, Owner, Record, Temp};
use carillon_core::words::Project;
use carillon_store::runs::RunRow;
use carillon_tidy::in_use::{self, Subject};
use carillon_tidy::temp;

use super::{Item, Known, Listing, Thing, age_of, item, owner_of};
use crate::host::Host;

/// A temp directory, and the run that it is of.
pub(super) struct OfRun {
    pub(super) path: PathBuf,
    pub(super) run: Option<RunId>,
    pub(super) owner: Owner,
}

impl Host {
    /// The entries of our namespaces. A base in our own data directory is ours alone; in the others there
    /// may be namespaces of other data directories, which nobody here knows anything of.
    pub(super) fn temps(&self, projects: &[Project]) -> Vec<PathBuf> {
        let known: Vec<String> =
            projects.iter().map(|project| temp::namespace(&self.home, Path::new(&project.root))).collect();
        let mut found = Vec::new();
        for base in &self.temp_candidates {
            let is_ours_alone = base.starts_with(&self.home);
            for namespace in names_in(base) {
                let has_shape = namespace.len() == temp::NAMESPACE_LEN
                    && namespace.bytes().all(|b| b.is_ascii_hexdigit());
                if known.contains(&namespace) || (is_ours_alone && has_shape) {
                    let dir = base.join(&namespace);
                    found.extend(names_in(&dir).into_iter().map(|name| dir.join(name)));
                }
            }
        }
        found
    }

    pub(super) fn trashes(&self) -> Vec<PathBuf> {
        let bases = self.temp_candidates.iter().chain([&self.home]);
        let dirs = bases.map(|base| base.join(&self.trash_name));
        dirs.filter(|dir| !names_in(dir).is_empty()).collect()
    }

    pub(super) fn judge_temps(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        let mut subjects = Vec::new();
        let mut rows = Vec::new();
        for row in &known.runs {
            let Some(path) = row.temp_path.as_ref().map(PathBuf::from) else { continue };
            if std::fs::symlink_metadata(&path).is_ok() {
                subjects.push(OfRun {
                    path,
                    run: Some(row.id.clone()),
                    owner: known.owner_of_temp(Some(row)),
                });
                rows.push(Some(row));
            }
        }
        for path in &listing.temps {
            let is_known = |row: &RunRow| row.temp_path.as_deref().map(Path::new) == Some(path);
            // It may have gone since it was listed, and its row with it.
            if !known.runs.iter().any(is_known) && std::fs::symlink_metadata(path).is_ok() {
                subjects.push(OfRun { path: path.clone(), run: None, owner: Owner::Unknown });
                rows.push(None);
            }
        }
        let namespace = |project: &Project| temp::namespace(&self.home, Path::new(&project.root));
        let verdicts = judge_temp_dirs(&subjects);
        for ((subject, row), verdict) in subjects.into_iter().zip(rows).zip(verdicts) {
            // It may have gone by itself while it was judged.
            if std::fs::symlink_metadata(&subject.path).is_err() {
                continue;
            }
            let path = subject.path.to_string_lossy().into_owned();
            let key = path.clone();
            let age_ms = match row.and_then(|row| row.ended_ms) {
                Some(ended) => Some((known.now_ms - ended).max(0)),
                None => age_of(&subject.path, known.now_ms),
            };
            let parent = subject
                .path
                .parent()
                .and_then(Path::file_name)
                .map(|name| name.to_string_lossy().into_owned());
            let of_namespace = known.projects.iter().find(|project| Some(namespace(project)) == parent);
            let thing = Thing::Temp { path: subject.path, run: subject.run };
            items.push(Item {
                project: row.map(|row| row.project.clone()).or_else(|| of_namespace.map(|p| p.id.clone())),
                owner: row.and_then(|row| row.agent.clone()),
                run: row.map(|row| row.id.clone()),
                age_ms,
                is_proved: row.is_some(),
                ..item(Kind::Temp, &key, path, verdict, thing)
            });
        }
    }

    /// Directories of runs that the ledger does not know, or takes for gone.
    pub(super) fn judge_runs(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        for name in &listing.runs {
            let row = known.run(name);
            let path = self.runs_root.join(name);
            if row.is_some_and(|row| row.dir_kept) || std::fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let age_ms = age_of(&path, known.now_ms);
            let verdict = judge_run_dir(&path, owner_of(row));
            let thing = Thing::Run { path: path.clone(), run: name.clone() };
            items.push(Item {
                project: row.map(|row| row.project.clone()),
                age_ms,
                is_proved: row.is_some(),
                ..item(Kind::Run, name, path.to_string_lossy().into_owned(), verdict, thing)
            });
        }
    }

    /// What runs that are over have written, with what is kept beside it.
    pub(super) fn judge_logs(&self, _: &Listing, known: &Known, items: &mut Vec<Item>) {
        let mut newer = std::collections::HashMap::new();
        for row in known.runs.iter().filter(|row| row.dir_kept && row.state.is_terminal()) {
            let count = match &row.agent {
                Some(agent) if row.task.is_none() => {
                    let count = newer.entry(agent.clone()).or_insert(0usize);
                    *count += 1;
                    *count
                }
                Some(_) | None => 0,
            };
            let dir = self.run_dir(&row.id);
            if !dir.exists() {
                continue;
            }
            let facts = log_facts(row, known, count);
            let thing = Thing::Log { run: row.id.clone() };
            items.push(Item {
                project: Some(row.project.clone()),
                owner: row.agent.clone(),
                run: Some(row.id.clone()),
                age_ms: Some(facts.age_ms),
                is_proved: true,
                ..item(
                    Kind::Log,
                    row.id.as_str(),
                    dir.to_string_lossy().into_owned(),
                    residue::record(&facts),
                    thing,
                )
            });
        }
    }

    pub(super) fn judge_trashes(&self, listing: &Listing, _: &Known, items: &mut Vec<Item>) {
        for dir in &listing.trashes {
            let path = dir.to_string_lossy().into_owned();
            let thing = Thing::Trash { dir: dir.clone() };
            let key = path.clone();
            items.push(Item { is_proved: true, ..item(Kind::Trash, &key, path, residue::trash(), thing) });
        }
    }
}

/// What the log of a run that is over is judged by. `count` is its place among those of its agent, the newest
/// being the first; 0 for a task's.
pub(super) fn log_facts(row: &RunRow, known: &Known, count: usize) -> Record {
    let kept_of_agent = row.agent.as_ref().filter(|_| row.task.is_none()).and_then(|a| known.runs_kept(a));
    let is_shown = kept_of_agent.is_some_and(|kept| count <= kept);
    let owner = match (known.needed.contains(&row.id), is_shown) {
        (true, _) => Owner::Needed,
        (false, true) => Owner::Shown,
        (false, false) => Owner::Over,
    };
    Record {
        owner,
        is_leased: false,
        age_ms: row.ended_ms.map_or(0, |ended| known.now_ms - ended),
        kept_ms: if row.task.is_some() { limits::TASK_LOG_AGE_MAX_MS } else { 0 },
    }
}

/// A run directory that is on nobody's list. Its lease says whether somebody is responsible for it.
pub(super) fn judge_run_dir(path: &Path, owner: Owner) -> Verdict {
    let is_leased = matches!(
        carillon_supervisor::observe(path),
        Ok(carillon_supervisor::Observed::Alive { .. }) | Err(_)
    );
    residue::record(&Record { owner, is_leased, age_ms: 0, kept_ms: 0 })
}

/// Judges temp directories, with one look at all processes.
pub(super) fn judge_temp_dirs(subjects: &[OfRun]) -> Vec<Verdict> {
    // A link leads to what is not ours; it is the link itself that may go.
    let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_dir());
    let asked: Vec<Subject<'_>> = subjects
        .iter()
        .filter(|one| !is_link(&one.path))
        .map(|one| Subject { path: &one.path, run: one.run.as_ref().map_or("", RunId::as_str) })
        .collect();
    let mut holders = if asked.is_empty() { Vec::new() } else { in_use::holders_of(&asked) }.into_iter();
    let judge = |one: &OfRun| {
        if is_link(&one.path) {
            return residue::temp(&Temp { owner: one.owner, is_leased: false, users: Vec::new() });
        }
        let users = holders.next().unwrap_or_default().into_iter();
        let users = users.map(|h| User { pid: h.pid, name: h.name, how: h.how.to_string() }).collect();
        match temp::lease_is_held(&one.path) {
            Ok(is_leased) => residue::temp(&Temp { owner: one.owner, is_leased, users }),
            Err(carillon_tidy::Error::NotOurs { .. }) => Verdict::Blocked { why: vec![Reason::NotOurs] },
            Err(error) => Verdict::NeedsConsent { why: vec![Reason::Unseen(error.to_string())] },
        }
    };
    subjects.iter().map(judge).collect()
}

/// The names in a directory; none when it cannot be read.
pub(super) fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
