//! Worktrees on this machine: what is made, looked at, merged, removed and brought back. Blocking;
//! never called on the loop's thread.

use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use carillon_core::judge;
use carillon_store::workdirs::WorkdirRow;
use carillon_tidy::git::{archive, create, diff, list, look, merge, remove, restore};
use carillon_tidy::rules;

use crate::host::Host;

pub use carillon_tidy::git::diff::Diff;
pub use carillon_tidy::git::merge::{How, Outcome as Merged};

/// What became of a creation that was cut short.
pub(crate) enum Settled {
    /// git had finished it.
    Made(WorkdirRow),
    /// Nothing of it is there.
    Nothing,
    /// It cannot be told yet, or is not ours to clear away.
    Unclear(String),
}

/// What came of a removal.
pub(crate) enum Removed {
    /// It is gone; this brings it back, and this could not be kept.
    Gone { archive_ref: Option<String>, not_kept: Vec<String> },
    /// It stays, for this reason.
    Refused(String),
}

/// What was seen of a workdir.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Something in it is not committed.
    pub dirty: bool,
    /// Commits that were made in it.
    pub ahead: u64,
    /// Commits that its base has and it has not.
    pub behind: u64,
    /// The commit that it stands on.
    pub head: Option<String>,
    /// Whether it may go, in one word.
    pub verdict: &'static str,
    /// The reasons, in sentences.
    pub reasons: Vec<String>,
    /// Nothing is at its path any more.
    pub gone: bool,
}

impl Host {
    fn journal(&self) -> PathBuf {
        self.home.join("workdirs").join(".journal")
    }

    /// Where a new workdir of a project is to be.
    pub(crate) fn place_of_workdir(&self, project_root: &Path, name: &str) -> PathBuf {
        let namespace = carillon_tidy::temp::namespace(&self.home, project_root);
        self.home.join("workdirs").join(namespace).join(name)
    }

    /// The rules of a project for its workdirs.
    pub(crate) fn workdir_rules(&self, project_root: &Path) -> Result<rules::Workdirs, String> {
        let found = rules::read(&project_root.join(rules::FILE_NAME)).map_err(|e| e.to_string())?;
        Ok(found.map(|sections| sections.workdirs).unwrap_or_default())
    }

    /// The branch that a checkout stands on.
    pub(crate) fn branch_of(&self, dir: &Path) -> Option<String> {
        let repository = list::repository_of(dir).ok()?;
        let all = list::worktrees(&repository.root).ok()?;
        let own = all.into_iter().find(|one| one.path == repository.root)?;
        own.branch.map(|branch| branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned())
    }

    /// Makes the worktree of a row that is on the ledger.
    pub(crate) fn make_workdir(&self, row: &WorkdirRow, base: &str) -> Result<WorkdirRow, String> {
        let journal = self.journal();
        private_dir(&journal)?;
        let path = PathBuf::from(&row.path);
        if let Some(above) = path.parent() {
            private_dir(above)?;
        }
        let order = create::Order {
            id: row.id.to_string(),
            repository: row.repository.clone().into(),
            path,
            branch: row.branch.clone(),
            base: base.to_owned(),
        };
        let recorded = create::create(&order, &journal).map_err(|e| e.to_string())?;
        let mut made = with_recorded(row.clone(), recorded)?;
        made.base_branch = row.base_branch.clone();
        Ok(made)
    }

    /// The ledger knows now what became of it.
    pub(crate) fn close_creation(&self, row: &WorkdirRow) {
        if let Err(error) = create::close(&self.journal(), row.id.as_str()) {
            tracing::warn!(%error, workdir = %row.id, "the journal of a creation stays");
        }
    }

    pub(crate) fn settle_workdir(&self, row: &WorkdirRow) -> Result<Settled, String> {
        let journal = self.journal();
        if !create::unfinished(&journal).iter().any(|id| id == row.id.as_str()) {
            return Ok(Settled::Nothing);
        }
        Ok(match create::settle(&journal, row.id.as_str()).map_err(|e| e.to_string())? {
            create::Settled::Complete(recorded) => {
                let mut made = with_recorded(row.clone(), recorded)?;
                made.base_branch = row.base_branch.clone();
                Settled::Made(made)
            }
            create::Settled::Nothing => Settled::Nothing,
            create::Settled::InProgress { pid } => {
                Settled::Unclear(format!("process {pid} is at work there"))
            }
            create::Settled::LeftAlone { why } => Settled::Unclear(why),
        })
    }

    /// Copies the ignored files that the project's rules name; answers which it got.
    pub(crate) fn copy_into(&self, row: &WorkdirRow, names: &[String]) -> Vec<String> {
        let (from, to) = (Path::new(&row.repository), Path::new(&row.path));
        let copied = |name: &String| match copy_one(from, to, Path::new(name)) {
            Ok(done) => done,
            Err(error) => {
                tracing::warn!(%error, name, "a file could not be copied into a workdir");
                false
            }
        };
        names.iter().filter(|name| copied(name)).cloned().collect()
    }

    pub(crate) fn look_at(&self, row: &WorkdirRow, open_work: u32) -> Result<Seen, String> {
        let recorded = recorded(row).ok_or("git has not made it yet")?;
        let mut seen = look::look(&recorded).map_err(|e| e.to_string())?;
        seen.facts.is_ours = true;
        seen.facts.open_work = open_work;
        let verdict = judge::worktree(&seen.facts);
        Ok(Seen {
            dirty: seen.facts.changed + seen.facts.untracked > 0,
            ahead: seen.facts.commits.own,
            behind: seen.behind,
            head: seen.head,
            verdict: verdict.word(),
            reasons: verdict.why().iter().map(ToString::to_string).collect(),
            gone: seen.facts.place == judge::Place::Gone,
        })
    }

    pub(crate) fn diff_of(&self, row: &WorkdirRow) -> Result<Diff, String> {
        let recorded = recorded(row).ok_or("git has not made it yet")?;
        diff::diff(&recorded).map_err(|e| e.to_string())
    }

    pub(crate) fn merge_workdir(
        &self,
        row: &WorkdirRow,
        into: &str,
        how: How,
        message: &str,
    ) -> Result<Merged, String> {
        let recorded = recorded(row).ok_or("git has not made it yet")?;
        merge::merge(&recorded, into, how, message).map_err(|e| e.to_string())
    }

    pub(crate) fn remove_workdir(
        &self,
        row: &WorkdirRow,
        open_work: u32,
        consent: bool,
    ) -> Result<Removed, String> {
        // What git never made cannot hold anything.
        let Some(recorded) = recorded(row) else {
            return Ok(Removed::Gone { archive_ref: None, not_kept: Vec::new() });
        };
        let order = remove::Order {
            id: row.id.as_str(),
            recorded: &recorded,
            data_dir: &self.home,
            is_ours: true,
            open_work,
            consent,
            with_branch: true,
            now_s: crate::main_loop::now_ms() / 1_000,
        };
        match remove::remove(&order) {
            Ok(remove::Outcome::Removed { archive, branch, branch_kept }) => {
                if let Some(why) = branch_kept {
                    tracing::info!(why, "the branch of a workdir stays");
                }
                let from_branch = branch.and_then(|branch| branch.archive_ref);
                Ok(match archive {
                    Some(archive::Archive { reference, not_kept, .. }) => Removed::Gone {
                        archive_ref: Some(reference),
                        not_kept: not_kept
                            .iter()
                            .map(|(path, why)| format!("{}: {why}", path.display()))
                            .collect(),
                    },
                    None => Removed::Gone { archive_ref: from_branch, not_kept: Vec::new() },
                })
            }
            Ok(remove::Outcome::Refused(verdict)) => {
                let reasons: Vec<String> = verdict.why().iter().map(ToString::to_string).collect();
                Ok(Removed::Refused(reasons.join("; ")))
            }
            Err(error) => Ok(Removed::Refused(error.to_string())),
        }
    }

    /// Brings a workdir back; what is not as it was is told in sentences.
    pub(crate) fn restore_workdir(
        &self,
        row: &WorkdirRow,
        reference: &str,
    ) -> Result<(WorkdirRow, Vec<String>), String> {
        let recorded = recorded(row).ok_or("git never made it")?;
        if let Some(above) = recorded.path.parent() {
            private_dir(above)?;
        }
        let restored = restore::restore(&recorded, reference, &self.home).map_err(|e| e.to_string())?;
        let base_branch = row.base_branch.clone();
        let mut back = with_recorded(row.clone(), restored.recorded)?;
        back.base_branch = base_branch;
        Ok((back, restored.notes))
    }

    fn context_file(&self, row: &WorkdirRow) -> PathBuf {
        self.home.join("workdirs").join(format!("{}.json", row.id))
    }

    /// What whoever works in the workdir may want to know of it.
    pub(crate) fn write_context(&self, row: &WorkdirRow) {
        let text = serde_json::json!({
            "id": row.id.as_str(), "name": row.name, "path": row.path, "branch": row.branch,
            "base_branch": row.base_branch, "base_commit": row.base_commit, "repository": row.repository,
        });
        let file = self.context_file(row);
        let written = std::fs::File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&file)
            .and_then(|mut out| std::io::Write::write_all(&mut out, text.to_string().as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, file = %file.display(), "the context of a workdir cannot be written");
        }
    }

    /// Exactly this file; that it is gone already is fine.
    pub(crate) fn delete_context(&self, row: &WorkdirRow) {
        let file = self.context_file(row);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = %file.display(), "the context of a workdir stays");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// What tidy needs to know of a row; none before git has made it.
pub(crate) fn recorded(row: &WorkdirRow) -> Option<look::Recorded> {
    Some(look::Recorded {
        repository: row.repository.clone().into(),
        path: row.path.clone().into(),
        identity: row.identity,
        branch: row.branch.clone(),
        base_commit: row.base_commit.clone()?,
        base_branch: row.base_branch.clone(),
        copied: row.copied.clone(),
        parent_is_ours: row.parent_is_ours,
    })
}

fn with_recorded(row: WorkdirRow, recorded: look::Recorded) -> Result<WorkdirRow, String> {
    let path = recorded.path.to_str().ok_or("its path is not UTF-8")?.to_owned();
    Ok(WorkdirRow {
        path,
        identity: recorded.identity,
        branch: recorded.branch,
        base_commit: Some(recorded.base_commit),
        base_branch: recorded.base_branch,
        parent_is_ours: recorded.parent_is_ours,
        ..row
    })
}

fn private_dir(dir: &Path) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| format!("{} cannot be made: {e}", dir.display()))
}

/// Copies one file that is there and is a plain file inside of the repository; false when there is none.
fn copy_one(from: &Path, to: &Path, name: &Path) -> std::io::Result<bool> {
    if !name.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(false);
    }
    let (source, target) = (from.join(name), to.join(name));
    let Ok(meta) = std::fs::symlink_metadata(&source) else { return Ok(false) };
    let inside = source.canonicalize()?.starts_with(from.canonicalize()?);
    if !meta.is_file() || !inside || target.exists() {
        return Ok(false);
    }
    if let Some(above) = target.parent() {
        std::fs::create_dir_all(above)?;
    }
    let mode = meta.mode() & 0o777;
    let mut out = std::fs::File::options().write(true).create_new(true).mode(mode).open(&target)?;
    std::io::copy(&mut std::fs::File::open(&source)?, &mut out)?;
    Ok(true)
}
