//! What is left behind on this machine: listed, measured, judged, and taken away. Blocking; never called on the
//! loop's thread.
//!
//! The disk is listed before the ledger is read. The ledger knows each thing before it is made, so whatever was
//! listed and is not on it is really not on it, and was not made in this very moment.

mod files;
mod processes;
mod removal;
mod repositories;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use carillon_core::id::{AgentId, ProjectId, RunId, WorkdirId};
use carillon_core::judge::Verdict;
use carillon_core::limits;
use carillon_core::residue::{Kind, Owner};
use carillon_core::words::{Agent, Mode, Project};
use carillon_store::runs::RunRow;
use carillon_store::workdirs::WorkdirRow;
use carillon_tidy::strays::Stray;
use sha2::{Digest, Sha256};

use crate::host::Host;

pub(crate) use removal::{Taken, reasons};

/// Something that is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// 32 hex digits, the same in each report.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// What people call it.
    pub name: String,
    /// Where it is: a path, the name of a branch or of a reference.
    pub path: String,
    /// Where it belongs.
    pub project: Option<ProjectId>,
    /// The agent that it is of.
    pub owner: Option<AgentId>,
    /// The run that it is of.
    pub run: Option<RunId>,
    /// Bytes that it takes on the disk.
    pub bytes: u64,
    /// Whether all of it was counted.
    pub is_counted: bool,
    /// How old it is, in milliseconds, where that can be told.
    pub age_ms: Option<i64>,
    /// Whether it may go, and why.
    pub verdict: Verdict,
    /// The ledger proves it to be ours, so it goes by itself once it is safe; see
    /// [`carillon_core::residue::goes_by_itself`].
    pub is_proved: bool,
    pub(crate) thing: Thing,
}

/// What it is, as far as its removal needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Temp {
        path: PathBuf,
        run: Option<RunId>,
    },
    Run {
        path: PathBuf,
        run: String,
    },
    Log {
        run: RunId,
    },
    Worktree {
        id: WorkdirId,
    },
    /// A worktree in a place of ours that the ledger does not know; the row is what it would say.
    Unlisted {
        row: Box<WorkdirRow>,
    },
    Husk {
        id: String,
    },
    Branch {
        repository: PathBuf,
        workdir: WorkdirId,
        name: String,
        base: Option<String>,
    },
    Process {
        stray: Stray,
    },
    Archive {
        repository: PathBuf,
        reference: String,
        is_known: bool,
        made_ms: i64,
    },
    Tar {
        path: PathBuf,
    },
    Trash {
        dir: PathBuf,
    },
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// These kinds; all when there is none.
    pub(crate) kinds: Vec<Kind>,
    /// What belongs to this project.
    pub(crate) project: Option<ProjectId>,
    /// Sizes are measured.
    pub(crate) sizes: bool,
}

impl Wanted {
    fn has(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// What the ledger says, read after the disk was listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) projects: Vec<Project>,
    pub(crate) agents: Vec<Agent>,
    /// The newest first.
    pub(crate) runs: Vec<RunRow>,
    pub(crate) workdirs: Vec<WorkdirRow>,
    /// Runs that are over and whose output somebody still waits for.
    pub(crate) needed: HashSet<RunId>,
    /// Runs that are over and whose temp directory tasks have inherited.
    pub(crate) inherited: HashSet<RunId>,
    /// Tasks, asks and live agents of each workdir that are not over.
    pub(crate) open_work: HashMap<WorkdirId, u32>,
    pub(crate) now_ms: i64,
}

impl Known {
    pub(crate) fn run(&self, id: &str) -> Option<&RunRow> {
        self.runs.iter().find(|row| row.id.as_str() == id)
    }

    /// What the ledger says of the run of a temp directory.
    fn owner_of_temp(&self, row: Option<&RunRow>) -> Owner {
        match row {
            Some(row) if self.inherited.contains(&row.id) => Owner::Inherited,
            row => owner_of(row),
        }
    }

    fn agents_in(&self, row: &WorkdirRow) -> Vec<String> {
        let works = |agent: &&Agent| {
            Path::new(&agent.workdir).starts_with(&row.path) || row.owner.as_ref() == Some(&agent.id)
        };
        self.agents.iter().filter(works).map(|agent| agent.name.clone()).collect()
    }

    fn runs_kept(&self, agent: &AgentId) -> Option<usize> {
        let agent = self.agents.iter().find(|one| one.id == *agent)?;
        Some(match agent.mode {
            Mode::Headless => limits::TURN_RUNS_KEPT,
            Mode::Terminal => limits::RUNS_KEPT_PER_AGENT,
        })
    }
}

/// What the ledger says of the run of something.
fn owner_of(row: Option<&RunRow>) -> Owner {
    match row {
        None => Owner::Unknown,
        Some(row) if row.state.is_terminal() => Owner::Over,
        Some(_) => Owner::Alive,
    }
}

/// The names of what is there.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Entries of our namespaces in the temp bases.
    temps: Vec<PathBuf>,
    /// Names in the directory of the runs.
    runs: Vec<String>,
    /// Trashes with anything in them.
    trashes: Vec<PathBuf>,
    /// Ids in the journal of creations.
    creations: Vec<String>,
    /// Tars of archives, by their ids.
    tars: Vec<String>,
    repositories: Vec<repositories::Repository>,
    strays: Vec<Stray>,
}

impl Listing {
    /// References of tombstones that lead to nothing any more, in repositories that could be read.
    pub(crate) fn archives_gone(&self, known: &Known) -> Vec<(WorkdirId, String)> {
        use carillon_core::workdir::State;
        let is_gone = |row: &WorkdirRow, reference: &str| {
            let repository = self.repositories.iter().find(|one| one.has_project(&row.project));
            repository
                .and_then(|one| one.archives.as_ref())
                .is_some_and(|all| !all.iter().any(|(known, _)| known == reference))
        };
        let gone = |row: &WorkdirRow| match &row.state {
            State::Tombstoned { archive_ref: Some(reference), .. } if is_gone(row, reference) => {
                Some((row.id.clone(), reference.clone()))
            }
            _ => None,
        };
        known.workdirs.iter().filter_map(gone).collect()
    }
}

/// Judges what there is of one kind.
type Judge = fn(&Host, &Listing, &Known, &mut Vec<Item>);

impl Host {
    /// Lists what is there. The ledger is read afterwards.
    pub(crate) fn list_residue(&self, projects: &[Project], wanted: &Wanted) -> Listing {
        let mut listing = Listing::default();
        if wanted.has(Kind::Temp) {
            listing.temps = self.temps(projects);
        }
        if wanted.has(Kind::Run) {
            listing.runs = files::names_in(&self.runs_root);
        }
        if wanted.has(Kind::Trash) {
            listing.trashes = self.trashes();
        }
        if wanted.has(Kind::Husk) || wanted.has(Kind::Worktree) {
            listing.creations = self.creations();
        }
        if [Kind::Worktree, Kind::Branch, Kind::Archive].iter().any(|kind| wanted.has(*kind)) {
            listing.repositories = self.repositories(projects);
            listing.tars = self.tars();
        }
        if wanted.has(Kind::Process) {
            listing.strays = carillon_tidy::strays::strays();
        }
        listing
    }

    /// Judges what was listed, and measures it when that is wanted.
    pub(crate) fn judge_residue(&self, listing: &Listing, known: &Known, wanted: &Wanted) -> Vec<Item> {
        let mut items = Vec::new();
        let judges: [(Kind, Judge); 9] = [
            (Kind::Process, Host::judge_processes),
            (Kind::Temp, Host::judge_temps),
            (Kind::Run, Host::judge_runs),
            (Kind::Log, Host::judge_logs),
            (Kind::Husk, Host::judge_husks),
            (Kind::Worktree, Host::judge_worktrees),
            (Kind::Branch, Host::judge_branches),
            (Kind::Archive, Host::judge_archives),
            (Kind::Trash, Host::judge_trashes),
        ];
        for (_, judge) in judges.iter().filter(|(kind, _)| wanted.has(*kind)) {
            judge(self, listing, known, &mut items);
        }
        items.retain(|item| wanted.project.is_none() || item.project == wanted.project);
        if wanted.sizes {
            self.measure(&mut items);
        }
        items
    }

    /// Deletes what guards put away more than a day ago.
    pub(crate) fn purge_guards(&self, projects: &[Project], now_ms: i64) {
        let until = Instant::now() + Duration::from_millis(limits::PURGE_GUARDS_MS);
        for project in projects {
            let Ok(repository) = carillon_tidy::git::list::repository_of(Path::new(&project.root)) else {
                continue;
            };
            let temp = std::env::temp_dir();
            for (path, why) in carillon_tidy::guard::purge(&repository.common_dir, &temp, now_ms, Some(until))
            {
                tracing::warn!(path = %path.display(), why, "what a guard put away cannot go");
            }
        }
    }

    fn measure(&self, items: &mut [Item]) {
        let until = Instant::now() + Duration::from_millis(limits::MEASURE_MS);
        for item in items {
            let place = match &item.thing {
                Thing::Temp { path, .. } | Thing::Run { path, .. } | Thing::Tar { path } => path.clone(),
                Thing::Log { run } => self.run_dir(run),
                Thing::Worktree { .. } | Thing::Unlisted { .. } | Thing::Husk { .. } => {
                    PathBuf::from(&item.path)
                }
                Thing::Archive { reference, .. } => self.tar_of(reference),
                Thing::Trash { dir } => dir.clone(),
                Thing::Branch { .. } | Thing::Process { .. } => continue,
            };
            if Instant::now() > until {
                item.is_counted = false;
            } else {
                (item.bytes, item.is_counted) = size_of(&place);
            }
        }
    }
}

/// Bytes on the disk, and whether all of it was counted.
fn size_of(place: &Path) -> (u64, bool) {
    let never = AtomicBool::new(false);
    let measured = carillon_tidy::measure::measure(place, limits::MEASURE_ENTRIES_MAX, &never);
    (measured.bytes, measured.is_complete)
}

/// The id of something: a hash of its kind and of what never changes of it.
fn id_of(kind: Kind, key: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(kind.word());
    hash.update([0]);
    hash.update(key);
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn item(kind: Kind, key: &str, path: String, verdict: Verdict, thing: Thing) -> Item {
    let name =
        Path::new(&path).file_name().map_or_else(|| path.clone(), |n| n.to_string_lossy().into_owned());
    Item {
        id: id_of(kind, key),
        kind,
        name,
        path,
        project: None,
        owner: None,
        run: None,
        bytes: 0,
        is_counted: true,
        age_ms: None,
        verdict,
        is_proved: false,
        thing,
    }
}

/// How long ago the file or directory was changed last, in milliseconds.
fn age_of(path: &Path, now_ms: i64) -> Option<i64> {
    let changed = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    let since = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((now_ms - i64::try_from(since.as_millis()).ok()?).max(0))
}
