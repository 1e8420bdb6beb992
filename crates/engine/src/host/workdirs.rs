//! Worktrees on this machine: what is made, looked at, merged, removed and brought back. Blocking;
//! never called on the loop's thread.

use std::collections::HashSet;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use carillon_core::id::WorkdirId;
use carillon_core::judge;
use carillon_store::workdirs::WorkdirRow;
use carillon_tidy::git::{archive, create, diff, list, look, merge, names, remove, restore};
use carillon_tidy::rules;

use crate::host::Host;
use crate::seam;

pub use carillon_tidy::git::diff::Diff;
pub use carillon_tidy::git::merge::{How, Outcome as Merged};
pub(crate) use carillon_tidy::rules::Workdirs as Rules;

/// What became of a creation that was cut short.
pub(crate) enum Settled {
    /// git had finished it.
    Made(Box<WorkdirRow>),
    /// Nothing of it is there.
    Nothing,
    /// A git that an engine of before started is still at work there.
    InProgress(u32),
    /// It cannot be told yet, or is not ours to clear away.
    Unclear(String),
}

/// What came of a removal.
pub(crate) enum Removed {
    /// It is gone; this brings it back, this could not be kept, and whether git did not let its branch go.
    Gone { archive_ref: Option<String>, not_kept: Vec<String>, branch_stays: bool },
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
    pub(crate) fn journal(&self) -> PathBuf {
        self.home.join("workdirs").join(".journal")
    }

    /// Where a new workdir of a project is to be.
    pub(crate) fn place_of_workdir(&self, project_root: &Path, name: &str) -> PathBuf {
        let namespace = carillon_tidy::temp::namespace(&self.home, project_root);
        self.home.join("workdirs").join(namespace).join(name)
    }

    /// The rules of a project for its workdirs.
    pub(crate) fn workdir_rules(&self, project_root: &Path) -> Result<rules::Workdirs, String> {
        Ok(super::rules::of_project(project_root)?.workdirs)
    }

    /// The branch that a checkout stands on.
    pub(crate) fn branch_of(&self, dir: &Path) -> Option<String> {
        let repository = list::repository_of(dir).ok()?;
        let all = list::worktrees(&repository.root).ok()?;
        let own = all.into_iter().find(|one| one.path == repository.root)?;
        own.branch.map(|branch| branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned())
    }

    /// Whether git takes this for the name of a new branch.
    pub(crate) fn check_new_branch(&self, dir: &Path, name: &str) -> Result<(), String> {
        names::check_branch(dir, name).map_err(|e| e.to_string())
    }

    /// Whether a revision is the name of a branch, and not of a tag or a commit.
    pub(crate) fn is_branch(&self, dir: &Path, name: &str) -> bool {
        let full = format!("refs/heads/{name}");
        names::check_branch(dir, name).is_ok() && matches!(names::commit_of(dir, &full), Ok(Some(_)))
    }

    /// Whether a creation is at work in this moment.
    pub(crate) fn is_being_made(&self, id: &str) -> bool {
        self.making().contains(id)
    }

    fn making(&self) -> MutexGuard<'_, HashSet<String>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
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
        seam::reach("worktree made");
        let mut made = with_recorded(row.clone(), recorded)?;
        made.base_branch = row.base_branch.clone();
        Ok(made)
    }

    /// From now on until [`Host::close_creation`] what is there of it is no leftover.
    pub(crate) fn open_creation(&self, row: &WorkdirRow) {
        self.making().insert(row.id.to_string());
    }

    /// It is not at work any more. What it may have left stays in the journal.
    pub(crate) fn leave_creation(&self, row: &WorkdirRow) {
        self.making().remove(row.id.as_str());
    }

    /// Creations that the journal knows, by the ids of their workdirs.
    pub(crate) fn creations(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.journal()).into_iter().flatten().flatten();
        let id =
            |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_owned());
        entries.filter_map(id).filter(|id| WorkdirId::parse(id).is_ok()).collect()
    }

    /// Forgets entries and copies that were not even written to their end. Only at a start: later, one may be at it.
    pub(crate) fn begin_journal(&self) {
        create::unfinished(&self.journal());
        for entry in std::fs::read_dir(self.journal()).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().ends_with(b".copying") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// The ledger knows now what became of it.
    pub(crate) fn close_creation(&self, row: &WorkdirRow) {
        if let Err(error) = create::close(&self.journal(), row.id.as_str()) {
            tracing::warn!(%error, workdir = %row.id, "the journal of a creation stays");
        }
        let _ = std::fs::remove_file(self.half_copied(row));
        self.leave_creation(row);
    }

    /// Where a file is while it is being copied, so that a copy is whole or not there.
    fn half_copied(&self, row: &WorkdirRow) -> PathBuf {
        self.journal().join(format!("{}.copying", row.id))
    }

    pub(crate) fn settle_workdir(&self, row: &WorkdirRow) -> Result<Settled, String> {
        let journal = self.journal();
        if !self.creations().iter().any(|id| id == row.id.as_str()) {
            return Ok(Settled::Nothing);
        }
        Ok(match create::settle(&journal, row.id.as_str()).map_err(|e| e.to_string())? {
            create::Settled::Complete(recorded) => {
                let mut made = with_recorded(row.clone(), recorded)?;
                made.base_branch = row.base_branch.clone();
                Settled::Made(Box::new(made))
            }
            create::Settled::Nothing => Settled::Nothing,
            create::Settled::InProgress { pid } => Settled::InProgress(pid),
            create::Settled::LeftAlone { why } => Settled::Unclear(why),
        })
    }

    /// Copies the ignored files that the project's rules name; answers which are there now.
    pub(crate) fn copy_into(&self, row: &WorkdirRow, names: &[String]) -> Vec<String> {
        let (from, to) = (Path::new(&row.repository), Path::new(&row.path));
        let part = self.half_copied(row);
        let copied = |name: &String| match copy_one(from, to, Path::new(name), &part) {
            Ok(done) => done,
            Err(error) => {
                tracing::warn!(%error, name, "a file could not be copied into a workdir");
                false
            }
        };
        let there = names.iter().filter(|name| copied(name)).cloned().collect();
        // Only a copy that failed leaves anything of it.
        let _ = std::fs::remove_file(&part);
        there
    }

    /// What git says of a worktree, and what is judged by that alone.
    pub(crate) fn judge_by_git(
        &self,
        row: &WorkdirRow,
        open_work: u32,
        is_ours: bool,
    ) -> Result<judge::Verdict, String> {
        let recorded = recorded(row).ok_or("git has not made it yet")?;
        let mut seen = look::look(&recorded).map_err(|e| e.to_string())?;
        (seen.facts.is_ours, seen.facts.open_work) = (is_ours, open_work);
        Ok(judge::worktree(&seen.facts))
    }

    /// Whether a removal was cut short after all was archived: then nothing is missing but files that git had
    /// begun to take away, and it goes on without being asked for anew.
    pub(crate) fn was_being_removed(&self, row: &WorkdirRow) -> bool {
        let Some(recorded) = recorded(row) else { return false };
        let reference = format!("{}{}", archive::NAMESPACE, row.id);
        let is_archived =
            archive::list(&recorded.repository).is_ok_and(|all| all.iter().any(|(one, _)| *one == reference));
        is_archived && look::look(&recorded).is_ok_and(|seen| seen.lacks_only_files())
    }

    /// Clears away what a restore left that was cut short.
    pub(crate) fn clear_unfinished_restore(&self, row: &WorkdirRow, reference: &str) {
        let Some(recorded) = recorded(row) else { return };
        match restore::clear_unfinished(&recorded, reference) {
            Ok(true) => tracing::info!(workdir = %row.id, "what a restore had begun is cleared away"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, workdir = %row.id, "what a restore had begun stays"),
        }
    }

    /// Deletes the context files of workdirs that are not there any more.
    pub(crate) fn delete_stale_contexts(&self, is_there: impl Fn(&str) -> bool) {
        for entry in std::fs::read_dir(self.home.join("workdirs")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if id.is_some_and(|id| WorkdirId::parse(id).is_ok() && !is_there(id)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
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
        let merged = merge::merge(&recorded, into, how, message).map_err(|e| e.to_string())?;
        seam::reach("worktree merged");
        Ok(merged)
    }

    pub(crate) fn remove_workdir(
        &self,
        row: &WorkdirRow,
        open_work: u32,
        consent: bool,
    ) -> Result<Removed, String> {
        // What git never made cannot hold anything.
        let Some(recorded) = recorded(row) else {
            return Ok(Removed::Gone { archive_ref: None, not_kept: Vec::new(), branch_stays: false });
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
                seam::reach("worktree removed");
                if let Some(why) = &branch_kept {
                    tracing::info!(why, "the branch of a workdir stays");
                }
                let from_branch = branch.and_then(|branch| branch.archive_ref);
                let words = |(path, why): &(PathBuf, String)| format!("{}: {why}", path.display());
                let (archive_ref, not_kept) = match archive {
                    Some(archive::Archive { reference, not_kept, .. }) => {
                        (Some(reference), not_kept.iter().map(words).collect())
                    }
                    None => (from_branch, Vec::new()),
                };
                Ok(Removed::Gone { archive_ref, not_kept, branch_stays: branch_kept.is_some() })
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
        seam::reach("worktree brought back");
        let base_branch = row.base_branch.clone();
        let mut back = with_recorded(row.clone(), restored.recorded)?;
        back.base_branch = base_branch;
        back.branch_stays = false;
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

pub(super) fn private_dir(dir: &Path) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| format!("{} cannot be made: {e}", dir.display()))
}

/// Copies one file that is a plain file inside of the repository; false when there is none. One that is there
/// already stays as it is.
fn copy_one(from: &Path, to: &Path, name: &Path, part: &Path) -> std::io::Result<bool> {
    if !name.components().all(|one| matches!(one, Component::Normal(_))) {
        return Ok(false);
    }
    let (source, target) = (from.join(name), to.join(name));
    let Ok(meta) = std::fs::symlink_metadata(&source) else { return Ok(false) };
    if !meta.is_file() || !source.canonicalize()?.starts_with(from.canonicalize()?) {
        return Ok(false);
    }
    if let Ok(there) = std::fs::symlink_metadata(&target) {
        return Ok(there.is_file());
    }
    let above = target.parent().unwrap_or(to);
    // A link among the directories of the commit may lead anywhere: what is not there yet is made, and where it
    // then is has to be inside.
    let first = above.ancestors().find(|dir| dir.exists()).unwrap_or(to);
    if !first.canonicalize()?.starts_with(to.canonicalize()?) {
        return Ok(false);
    }
    std::fs::create_dir_all(above)?;
    let _ = std::fs::remove_file(part);
    let mode = meta.mode() & 0o777;
    let mut out = std::fs::File::options().write(true).create_new(true).mode(mode).open(part)?;
    std::io::copy(&mut std::fs::File::open(&source)?, &mut out)?;
    out.sync_all()?;
    // The umask has its say at the opening; the copy is as the original.
    out.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    std::fs::rename(part, &target)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_look_at_the_journal_leaves_what_is_just_being_written() {
        let temp = tempfile::tempdir().expect("a directory");
        let host = Host::new(&Config::of_test(temp.path()));
        assert!(host.creations().is_empty(), "there need be no journal");
        std::fs::create_dir_all(host.journal()).expect("a journal");
        let id = "0a".repeat(16);
        let written = host.journal().join(format!(".new-{id}.json"));
        for file in [
            written.clone(),
            host.journal().join(format!("{id}.json")),
            host.journal().join(format!("{id}.copying")),
        ] {
            std::fs::write(file, "{}").expect("a file");
        }
        assert_eq!(host.creations(), std::slice::from_ref(&id));
        assert!(written.exists());
        host.begin_journal();
        assert!(!written.exists(), "at a start nobody writes it any more");
        assert!(!host.journal().join(format!("{id}.copying")).exists(), "nor copies");
        assert_eq!(host.creations(), std::slice::from_ref(&id));
    }
}
