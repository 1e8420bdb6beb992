//! What an uninstall has to know, and takes away, of workdirs, repositories, temp directories and processes. No engine
//! runs meanwhile: who calls holds its lock.
//!
//! An uninstall loses nothing of the user's: a workdir with anything that is nowhere else is in the way of it, and an
//! archive with anything that is nowhere else stays where it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use carillon_core::id::{ProjectId, RunId};
use carillon_core::judge::{Reason, Verdict};
use carillon_core::residue::Kind;
use carillon_core::words::Project;
use carillon_store::db::Store;
use carillon_store::runs::RunRow;
use carillon_store::workdirs::WorkdirRow;

use crate::config::Config;
use crate::error::OpenError;
use crate::host::Host;
use crate::host::residue::{Item, Known, Thing, Wanted, reasons};
use crate::host::workdirs::Removed;
use crate::main_loop::now_ms;
use crate::requests::known_residue;

/// Something, and why it is in the way or stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stays {
    /// Where it is: a path, or a path and the name of a branch or of a reference in it.
    pub place: String,
    /// Why.
    pub why: String,
}

/// What was taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Where it was, and the bytes that came free.
    pub removed: Vec<(String, u64)>,
    /// What stays.
    pub kept: Vec<Stays>,
}

/// What there is, of a data directory whose engine is not running.
pub struct Leaving {
    host: Host,
    known: Known,
    projects: Vec<Project>,
    items: Vec<Item>,
    home_is_chosen: bool,
}

impl std::fmt::Debug for Leaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leaving").field("items", &self.items).finish_non_exhaustive()
    }
}

impl Leaving {
    /// Looks at what there is. A data directory without a ledger is looked at by what lies in it.
    ///
    /// # Errors
    /// The ledger cannot be opened.
    pub fn look(config: &Config) -> Result<Self, OpenError> {
        let host = Host::new(config);
        let ledger = config.paths().ledger;
        let known = if ledger.is_file() {
            Store::open(&ledger, now_ms())?.store.read(known_residue)?
        } else {
            Known { now_ms: now_ms(), ..Known::default() }
        };
        let mut projects = known.projects.clone();
        for root in host.repositories_of_workdirs() {
            if !projects.iter().any(|project| Path::new(&project.root) == root)
                && let Some(project) = project_at(&root)
            {
                projects.push(project);
            }
        }
        let wanted = Wanted { sizes: true, ..Wanted::default() };
        let listing = host.list_residue(&projects, &wanted);
        let items = host.judge_residue(&listing, &known, &wanted);
        Ok(Self { host, known, projects, items, home_is_chosen: config.home_is_chosen })
    }

    /// What is in the way of taking the data away: workdirs that hold anything that is nowhere else, or are in use, and
    /// what lies among them and is not known.
    pub fn in_the_way(&self) -> Vec<Stays> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for item in &self.items {
            let verdict = match &item.thing {
                Thing::Worktree { .. } | Thing::Unlisted { .. } => {
                    self.row_of(item).map(|row| self.host.judge_for_leaving(&row))
                }
                Thing::Husk { .. } => Some(item.verdict.clone()),
                _ => None,
            };
            let Some(verdict) = verdict else { continue };
            seen.push(PathBuf::from(&item.path));
            if !matches!(verdict, Verdict::Safe { .. }) {
                found.push(Stays { place: item.path.clone(), why: reasons(&verdict) });
            }
        }
        let unknown = self.host.in_the_place_of_workdirs().into_iter().filter(|path| !seen.contains(path));
        found.extend(unknown.map(|path| Stays {
            place: path.display().to_string(),
            why: "it is no workdir whose repository could be asked".to_owned(),
        }));
        found
    }

    /// What stays when the data does, with what it is.
    pub fn there(&self) -> Vec<Stays> {
        let mut found = Vec::new();
        let mut archives: HashMap<&Path, usize> = HashMap::new();
        for item in &self.items {
            match &item.thing {
                Thing::Worktree { .. } | Thing::Unlisted { .. } => {
                    let branch = self.row_of(item).and_then(|row| row.branch);
                    let on = branch.map_or(String::new(), |branch| format!(" on branch {branch}"));
                    let why = format!("workdir {}{on}", item.name);
                    found.push(Stays { place: item.path.clone(), why });
                }
                Thing::Branch { repository, name, .. } => found.push(Stays {
                    place: repository.display().to_string(),
                    why: format!("branch {name} of a workdir that is gone"),
                }),
                Thing::Archive { repository, .. } => *archives.entry(repository).or_default() += 1,
                _ => {}
            }
        }
        let mut archives: Vec<_> = archives.into_iter().collect();
        archives.sort();
        found.extend(archives.into_iter().map(|(repository, count)| Stays {
            place: repository.display().to_string(),
            why: format!("{count} archives of workdirs, below refs/carillon/archive/"),
        }));
        found
    }

    /// Takes away temp directories of runs that are over, their trash, and processes that such runs left; with `data`
    /// also workdirs, branches and archives that hold nothing of their own. To be asked only when nothing is
    /// [`Self::in_the_way`]; each is judged once more right before it goes.
    pub fn take(&self, data: bool) -> Taken {
        let mut taken = Taken::default();
        for item in &self.items {
            let came = match &item.thing {
                Thing::Process { stray } => Some(self.host.take_process(stray, self.run(&stray.run), false)),
                Thing::Temp { .. } => Some(self.take_temp(item)),
                Thing::Trash { dir } => Some(self.host.take_trash(dir, &AtomicBool::new(false))),
                Thing::Worktree { .. } | Thing::Unlisted { .. } if data => {
                    self.row_of(item).map(|row| self.take_workdir(item, &row))
                }
                Thing::Husk { id } if data => Some(self.host.take_husk(id, false, &AtomicBool::new(false))),
                Thing::Branch { repository, workdir, name, base } if data => {
                    let kept = self.host.reference_for_branch(workdir);
                    Some(self.host.take_branch(repository, name, base.as_deref(), &kept, false))
                }
                _ => None,
            };
            match came {
                Some(Ok(freed)) => taken.removed.push((place_of(item), freed)),
                Some(Err(why)) => taken.kept.push(Stays { place: place_of(item), why }),
                None => {}
            }
        }
        if data {
            self.host.purge_guards(&self.projects, now_ms());
            self.take_archives(&mut taken);
            self.host.take_what_is_left_of_workdirs();
        }
        taken
    }

    /// Archives are listed anew: what went before this may have left some.
    fn take_archives(&self, taken: &mut Taken) {
        let wanted = Wanted { kinds: vec![Kind::Archive], sizes: true, ..Wanted::default() };
        let listing = self.host.list_residue(&self.projects, &wanted);
        for item in self.host.judge_residue(&listing, &self.known, &wanted) {
            let is_over = matches!(item.verdict, Verdict::Safe { .. });
            let own = if is_over { Ok(Vec::new()) } else { self.host.own_of_archive(&item) };
            let came = match (&item.thing, own) {
                (_, Err(why)) => Err(why),
                (Thing::Tar { path }, _) if is_over => self.host.take_tar(path),
                (Thing::Archive { is_known: false, .. }, _) => Err("it is not on the ledger".to_owned()),
                (_, Ok(own)) if own.is_empty() => self.host.take_archive(&item, true, now_ms()),
                (Thing::Tar { .. }, Ok(own)) => Err(own.join(", ")),
                (_, Ok(own)) => Err(format!("{}: {}", item.name, own.join(", "))),
            };
            match came {
                Ok(freed) => taken.removed.push((place_of(&item), freed)),
                Err(why) => taken.kept.push(Stays { place: place_of(&item), why }),
            }
        }
    }

    /// A base of our own is nobody else's, so what the ledger does not know goes as well, when nobody uses it.
    fn take_temp(&self, item: &Item) -> Result<u64, String> {
        let is_only_unknown = item.verdict.why() == [Reason::NotOnLedger];
        let consent = self.home_is_chosen && is_only_unknown;
        let taken = self.host.take_temps(&[(item, consent)], &self.known, &AtomicBool::new(false));
        taken.into_iter().next().map_or(Ok(0), |one| one.taken)
    }

    fn take_workdir(&self, item: &Item, row: &WorkdirRow) -> Result<u64, String> {
        let verdict = self.host.judge_for_leaving(row);
        if !matches!(verdict, Verdict::Safe { .. }) {
            return Err(reasons(&verdict));
        }
        match self.host.remove_workdir(row, 0, false)? {
            Removed::Gone { .. } => Ok(item.bytes),
            Removed::Refused(why) => Err(why),
        }
    }

    fn row_of(&self, item: &Item) -> Option<WorkdirRow> {
        match &item.thing {
            Thing::Worktree { id } => self.known.workdirs.iter().find(|row| row.id == *id).cloned(),
            Thing::Unlisted { row } => Some((**row).clone()),
            _ => None,
        }
    }

    fn run(&self, id: &str) -> Option<&RunRow> {
        RunId::parse(id).ok().and_then(|id| self.known.run(id.as_str()))
    }
}

/// A project for a repository that the ledger does not know.
fn project_at(root: &Path) -> Option<Project> {
    let id = ProjectId::from_random(*uuid::Uuid::new_v4().as_bytes());
    let name = root.file_name()?.to_str()?.to_owned();
    Some(Project { id, name, root: root.to_str()?.to_owned() })
}

/// Where it is, for people.
fn place_of(item: &Item) -> String {
    match &item.thing {
        Thing::Branch { repository, .. } | Thing::Archive { repository, .. } => {
            format!("{} in {}", item.path, repository.display())
        }
        Thing::Process { .. } => item.name.clone(),
        _ => item.path.clone(),
    }
}
