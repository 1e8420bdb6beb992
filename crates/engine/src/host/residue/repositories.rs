//! What is left in repositories: worktrees, creations that were cut short, branches, archives.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use carillon_core::id::{ProjectId, WorkdirId};
use carillon_core::judge::{Reason, Verdict};
use carillon_core::limits;
use carillon_core::residue::{self, Kind, OnLedger, Owner, Record};
use carillon_core::words::Project;
use carillon_core::workdir::State;
use carillon_store::workdirs::WorkdirRow;
use carillon_tidy::git::{archive, branch, create, list};
use carillon_tidy::guard;

use super::{Item, Known, Listing, Thing, age_of, files, item};
use crate::host::{Host, repository};

/// Below this the branches of workdirs are.
const BRANCHES: &str = "carillon";
/// What the archives of guards are called: they are kept for their own time.
const OF_GUARDS: &str = "guard-";

/// What was found in the repository of one or more projects.
#[derive(Debug)]
pub(crate) struct Repository {
    projects: Vec<Project>,
    common_dir: PathBuf,
    worktrees: Vec<list::Registered>,
    branches: Vec<String>,
    /// References with the time of their commit, in Unix seconds; none when they could not be listed.
    pub(crate) archives: Option<Vec<(String, i64)>>,
}

impl Repository {
    pub(crate) fn has_project(&self, id: &ProjectId) -> bool {
        self.projects.iter().any(|project| project.id == *id)
    }

    fn root(&self) -> &Path {
        Path::new(&self.projects[0].root)
    }
}

impl Host {
    /// Several projects may be worktrees of one repository: it is listed once.
    pub(super) fn repositories(&self, projects: &[Project]) -> Vec<Repository> {
        let mut found: Vec<Repository> = Vec::new();
        for project in projects {
            let root = Path::new(&project.root);
            let Ok(repository) = list::repository_of(root) else { continue };
            if let Some(known) = found.iter_mut().find(|one| one.common_dir == repository.common_dir) {
                known.projects.push(project.clone());
                continue;
            }
            found.push(Repository {
                projects: vec![project.clone()],
                common_dir: repository.common_dir,
                worktrees: list::worktrees(root).unwrap_or_default(),
                branches: branch::below(root, BRANCHES).unwrap_or_default(),
                archives: archive::list(root).ok(),
            });
        }
        found
    }

    pub(super) fn tars(&self) -> Vec<String> {
        let names = files::names_in(&self.home.join("archives")).into_iter();
        names.filter_map(|name| name.strip_suffix(".tar").map(str::to_owned)).collect()
    }

    pub(super) fn tar_of(&self, reference: &str) -> PathBuf {
        let id = reference.strip_prefix(archive::NAMESPACE).unwrap_or(reference).replace('/', "-");
        self.home.join("archives").join(format!("{id}.tar"))
    }

    /// Every workdir that is there, and worktrees in our own place that the ledger does not know.
    pub(super) fn judge_worktrees(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        let there = |row: &&WorkdirRow| match row.state {
            // One that is being made is on its way; what a creation left is a husk.
            State::Creating | State::Tombstoned { .. } => false,
            State::Active { .. }
            | State::Merged { .. }
            | State::Abandoned { .. }
            | State::Removing { .. } => true,
        };
        let listed: Vec<WorkdirRow> = known.workdirs.iter().filter(there).cloned().collect();
        let unlisted = self.unlisted(listing, known);
        let all: Vec<(WorkdirRow, bool)> = listed
            .into_iter()
            .map(|row| (row, true))
            .chain(unlisted.into_iter().map(|row| (row, false)))
            .collect();
        let verdicts = each(&all, |(row, is_listed)| self.judge_workdir(row, *is_listed, known));
        for ((row, is_listed), verdict) in all.into_iter().zip(verdicts) {
            let key = if is_listed { row.id.to_string() } else { row.path.clone() };
            let age_ms = if is_listed {
                Some((known.now_ms - row.created_ms).max(0))
            } else {
                age_of(Path::new(&row.path), known.now_ms)
            };
            let (path, name) = (row.path.clone(), row.name.clone());
            let (project, owner) = (Some(row.project.clone()), row.owner.clone());
            let thing = if is_listed {
                Thing::Worktree { id: row.id }
            } else {
                Thing::Unlisted { row: Box::new(row) }
            };
            items.push(Item {
                name,
                project,
                owner,
                age_ms,
                is_proved: is_listed,
                ..item(Kind::Worktree, &key, path, verdict, thing)
            });
        }
    }

    /// The judgement of one workdir, with all that the ledger adds.
    pub(crate) fn judge_workdir(&self, row: &WorkdirRow, is_listed: bool, known: &Known) -> Verdict {
        let open_work = known.open_work.get(&row.id).copied().unwrap_or(0);
        let is_kept = matches!(row.state, State::Merged { keep: true } | State::Abandoned { keep: true, .. });
        match self.judge_by_git(row, open_work, is_listed) {
            Ok(verdict) => {
                let age_ms = is_listed.then(|| in_place_for(row, known.now_ms));
                residue::worktree(verdict, OnLedger { agents: known.agents_in(row), is_kept, age_ms })
            }
            // What cannot be looked at stays.
            Err(why) => Verdict::Blocked { why: vec![Reason::Unseen(why)] },
        }
    }

    /// Worktrees in the place of our own workdirs without a row: the ledger was lost, or an engine died while it
    /// brought one back.
    fn unlisted(&self, listing: &Listing, known: &Known) -> Vec<WorkdirRow> {
        let place = self.home.join("workdirs");
        let Ok(place) = place.canonicalize() else { return Vec::new() };
        let is_known = |path: &Path| {
            known.workdirs.iter().any(|row| row.ended_ms.is_none() && Path::new(&row.path) == path)
        };
        let mut found = Vec::new();
        for repository in &listing.repositories {
            let ours = repository.worktrees.iter().filter(|one| one.path.starts_with(&place));
            for worktree in ours.filter(|one| !is_known(&one.path) && one.path.is_dir()) {
                found.extend(self.row_of_unlisted(repository, worktree, known.now_ms));
            }
        }
        found
    }

    fn row_of_unlisted(
        &self,
        repository: &Repository,
        worktree: &list::Registered,
        now_ms: i64,
    ) -> Option<WorkdirRow> {
        let head = worktree.head.clone()?;
        let of_namespace = |project: &&Project| {
            let namespace = carillon_tidy::temp::namespace(&self.home, Path::new(&project.root));
            worktree.path.parent().and_then(Path::file_name).is_some_and(|name| name == namespace.as_str())
        };
        let project = repository.projects.iter().find(of_namespace).unwrap_or(&repository.projects[0]);
        let root = Path::new(&project.root);
        let base_branch = self.branch_of(root);
        let base_commit =
            base_branch.as_ref().and_then(|base| common_commit(root, base, &head)).unwrap_or(head);
        let is_of_ours = |name: &&String| name.starts_with(&format!("{BRANCHES}/"));
        Some(WorkdirRow {
            id: WorkdirId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            project: project.id.clone(),
            name: worktree.path.file_name()?.to_str()?.to_owned(),
            repository: project.root.clone(),
            path: worktree.path.to_str()?.to_owned(),
            branch: worktree.branch.as_ref().filter(is_of_ours).cloned(),
            base_branch,
            base_commit: Some(base_commit),
            identity: None,
            copied: Vec::new(),
            parent_is_ours: false,
            owner: None,
            state: State::Active { refused: None },
            not_kept: Vec::new(),
            branch_stays: false,
            created_ms: now_ms,
            ended_ms: None,
        })
    }

    /// What creations left that were cut short. One that is being made now is none.
    pub(super) fn judge_husks(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        for id in &listing.creations {
            let row = known.workdirs.iter().find(|row| row.id.as_str() == id);
            let Some((husk, verdict)) = self.judge_husk(id) else { continue };
            let path = husk.path.to_string_lossy().into_owned();
            items.push(Item {
                project: row.map(|row| row.project.clone()),
                owner: row.and_then(|row| row.owner.clone()),
                age_ms: age_of(&husk.path, known.now_ms),
                is_proved: row.is_some(),
                ..item(Kind::Husk, id, path, verdict, Thing::Husk { id: id.clone() })
            });
        }
    }

    /// The husk of a creation in the journal; none when it is no husk: it is being made, or git had finished it.
    pub(super) fn judge_husk(&self, id: &str) -> Option<(create::Husk, Verdict)> {
        if self.is_being_made(id) {
            return None;
        }
        let husk = create::peek(&self.journal(), id).ok()?;
        if husk.is_complete {
            return None;
        }
        let facts = residue::Husk {
            is_in_journal: !husk.is_there || husk.is_the_same,
            is_registered: false,
            has_files: husk.has_files,
            users: husk.users.clone(),
        };
        Some((husk, residue::husk(&facts)))
    }

    /// Branches of workdirs that are gone, which git did not let go with them. Any other branch is the user's,
    /// whatever its name is.
    pub(super) fn judge_branches(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        // A later workdir may have got the same name, and its branch is in use.
        let is_used = |name: &str, row: &WorkdirRow| {
            known.workdirs.iter().any(|other| {
                other.ended_ms.is_none()
                    && other.repository == row.repository
                    && other.branch.as_deref() == Some(name)
            })
        };
        let mut seen = std::collections::HashSet::new();
        for row in known.workdirs.iter().filter(|row| row.ended_ms.is_some() && row.branch_stays) {
            let Some(name) = &row.branch else { continue };
            let Some(repository) = listing.repositories.iter().find(|one| one.has_project(&row.project))
            else {
                continue;
            };
            if !repository.branches.contains(name)
                || is_used(name, row)
                || !seen.insert((repository.common_dir.clone(), name.clone()))
            {
                continue;
            }
            let thing = Thing::Branch {
                repository: repository.root().to_path_buf(),
                workdir: row.id.clone(),
                name: name.clone(),
                base: row.base_branch.clone(),
            };
            let Some(verdict) = judge_branch(repository.root(), name, row.base_branch.as_deref()) else {
                continue;
            };
            let key = format!("{} {name}", repository.common_dir.display());
            items.push(Item {
                name: name.clone(),
                project: Some(row.project.clone()),
                owner: row.owner.clone(),
                age_ms: row.ended_ms.map(|ended| (known.now_ms - ended).max(0)),
                is_proved: true,
                ..item(Kind::Branch, &key, name.clone(), verdict, thing)
            });
        }
    }

    /// What brings workdirs back, and tars whose reference is gone.
    pub(super) fn judge_archives(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        let mut by_id: HashMap<&str, &WorkdirRow> = HashMap::new();
        by_id.extend(known.workdirs.iter().map(|row| (row.id.as_str(), row)));
        let mut with_reference = Vec::new();
        for repository in &listing.repositories {
            for (reference, made_s) in repository.archives.iter().flatten() {
                let id = reference.strip_prefix(archive::NAMESPACE).unwrap_or(reference);
                with_reference.push(id.to_owned());
                let row = by_id.get(id.split('.').next().unwrap_or(id)).copied();
                let made_ms = made_s.saturating_mul(1_000);
                let is_known = row.is_some() || id.starts_with(OF_GUARDS);
                let verdict = judge_archive(reference, is_known, made_ms, known.now_ms);
                let thing = Thing::Archive {
                    repository: repository.root().to_path_buf(),
                    reference: reference.clone(),
                    is_known,
                    made_ms,
                };
                let key = format!("{} {reference}", repository.common_dir.display());
                items.push(Item {
                    name: row.map_or_else(|| id.to_owned(), |row| row.name.clone()),
                    project: row
                        .map(|row| row.project.clone())
                        .or_else(|| Some(repository.projects[0].id.clone())),
                    owner: row.and_then(|row| row.owner.clone()),
                    age_ms: Some((known.now_ms - made_ms).max(0)),
                    is_proved: is_known,
                    ..item(Kind::Archive, &key, reference.clone(), verdict, thing)
                });
            }
        }
        for id in listing.tars.iter().filter(|id| !with_reference.contains(id)) {
            let path = self.tar_of(id);
            let Some(age_ms) = age_of(&path, known.now_ms) else { continue };
            // Its reference may be in a repository that is not open just now.
            let row = by_id.get(id.split('.').next().unwrap_or(id)).copied();
            let owner = if row.is_some() { Owner::Over } else { Owner::Unknown };
            let facts = Record { owner, is_leased: false, age_ms, kept_ms: limits::ARCHIVE_AGE_MAX_MS };
            let shown = path.to_string_lossy().into_owned();
            items.push(Item {
                project: row.map(|row| row.project.clone()),
                age_ms: Some(age_ms),
                is_proved: row.is_some(),
                ..item(Kind::Archive, &shown.clone(), shown, residue::record(&facts), Thing::Tar { path })
            });
        }
    }
}

/// How long a workdir has been in its place, in milliseconds. One that was brought back is as new as one that was
/// just made: git writes its way back into the repository anew (`.git`, a file) when it is put there.
fn in_place_for(row: &WorkdirRow, now_ms: i64) -> i64 {
    let since_made = now_ms - row.created_ms;
    age_of(&Path::new(&row.path).join(".git"), now_ms).map_or(since_made, |age| age.min(since_made))
}

/// None when there is no such branch any more.
pub(super) fn judge_branch(repository: &Path, name: &str, base: Option<&str>) -> Option<Verdict> {
    match branch::look(repository, name, base) {
        Ok(None) => None,
        Ok(Some(seen)) => Some(residue::branch(&residue::Branch {
            is_ours: true,
            checked_out: seen.checked_out,
            only_here: seen.only_here,
            on_base: seen.on_base,
        })),
        Err(error) => Some(Verdict::Blocked { why: vec![Reason::Unseen(error.to_string())] }),
    }
}

pub(super) fn judge_archive(reference: &str, is_known: bool, made_ms: i64, now_ms: i64) -> Verdict {
    let id = reference.strip_prefix(archive::NAMESPACE).unwrap_or(reference);
    let kept_ms = if id.starts_with(OF_GUARDS) { guard::KEPT_MS } else { limits::ARCHIVE_AGE_MAX_MS };
    let owner = if is_known { Owner::Over } else { Owner::Unknown };
    residue::record(&Record { owner, is_leased: false, age_ms: now_ms - made_ms, kept_ms })
}

/// The newest commit that both lead to.
fn common_commit(root: &Path, one: &str, other: &str) -> Option<String> {
    let args = ["merge-base", "--end-of-options", one, other];
    let output = repository::git(root).args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|commit| !commit.is_empty())
}

/// Does the same for each, a few at a time: git is a process of its own, and most of the time is its.
fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(all.len()));
    std::thread::scope(|scope| {
        for _ in 0..limits::LOOKS_AT_A_TIME.min(all.len()) {
            scope.spawn(|| {
                while let Some((place, one)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|place| Some((place, all.get(place)?)))
                {
                    let result = work(one);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
