//! What an uninstall asks of this machine beside what cleaning up does.

use std::path::PathBuf;

use carillon_core::id::WorkdirId;
use carillon_core::judge::{Reason, Verdict};
use carillon_core::workdir::State;
use carillon_store::workdirs::WorkdirRow;
use carillon_tidy::git::{archive, list};

use super::Host;
use super::residue::{Item, Thing};

impl Host {
    /// The judgement of a workdir when all agents and tasks go: by what is in it, and by the user's word that it stays.
    pub(crate) fn judge_for_leaving(&self, row: &WorkdirRow) -> Verdict {
        match self.judge_by_git(row, 0, true) {
            Ok(Verdict::Safe { why }) => match row.state {
                State::Merged { keep: true } | State::Abandoned { keep: true, .. } => {
                    Verdict::NeedsConsent { why: vec![Reason::Kept] }
                }
                _ => Verdict::Safe { why },
            },
            Ok(verdict) => verdict,
            Err(why) => Verdict::Blocked { why: vec![Reason::Unseen(why)] },
        }
    }

    /// What lies where workdirs are made, apart from what is ours alone: hidden names, and files of context.
    pub(crate) fn in_the_place_of_workdirs(&self) -> Vec<PathBuf> {
        let Ok(place) = self.home.join("workdirs").canonicalize() else { return Vec::new() };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_context = name.strip_suffix(".json").is_some_and(|id| WorkdirId::parse(id).is_ok());
            if name == ".journal" || is_context {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    let inside = std::fs::read_dir(entry.path()).into_iter().flatten().flatten();
                    found.extend(inside.map(|entry| entry.path()));
                }
                _ => found.push(entry.path()),
            }
        }
        found.sort();
        found
    }

    /// The repositories that worktrees in our place lead to, each once.
    pub(crate) fn repositories_of_workdirs(&self) -> Vec<PathBuf> {
        let dirs = self.in_the_place_of_workdirs().into_iter().filter(|dir| dir.join(".git").is_file());
        let mut found: Vec<PathBuf> =
            // The main checkout is the first of them.
            dirs.filter_map(|dir| Some(list::worktrees(&dir).ok()?.into_iter().next()?.path)).collect();
        found.sort();
        found.dedup();
        found
    }

    /// A new reference for the commits of a branch that goes.
    pub(crate) fn reference_for_branch(&self, workdir: &WorkdirId) -> String {
        let unique = uuid::Uuid::new_v4().simple().to_string();
        format!("{}{workdir}.branch.{}", archive::NAMESPACE, &unique[..8])
    }

    /// What an archive keeps that is nowhere else, in words.
    pub(crate) fn own_of_archive(&self, item: &Item) -> Result<Vec<String>, String> {
        match &item.thing {
            Thing::Archive { repository, reference, .. } => {
                archive::own(repository, reference, &self.home).map_err(|error| error.to_string())
            }
            Thing::Tar { .. } => Ok(vec!["ignored files of a removed workdir, such as .env".to_owned()]),
            _ => Ok(Vec::new()),
        }
    }

    /// Takes away what is ours alone where workdirs were: contexts, and directories that are empty.
    pub(crate) fn take_what_is_left_of_workdirs(&self) {
        let place = self.home.join("workdirs");
        self.delete_stale_contexts(|_| false);
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            // Only an empty one goes.
            let _ = std::fs::remove_dir(entry.path());
        }
        let _ = std::fs::remove_dir(place);
        let _ = std::fs::remove_dir(self.home.join("archives"));
    }
}
