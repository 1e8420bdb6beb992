//! Removing a worktree: looked at, judged, archived, looked at again, and then removed by git alone. What git
//! refuses stays; nothing here deletes a tree itself.

use std::path::{Path, PathBuf};

use carillon_core::judge::{self, Place, Verdict};

use super::archive::{self, Archive, NAMESPACE, OF_BRANCH};
use super::look::{Look, Recorded, look, users};
use super::names::{self, DeletedBranch};
use super::{Call, LONG_LIMIT, list, stop};
use crate::Error;

/// Most archives of one workdir: one for each removal that was cut short, and changed something in between.
const ARCHIVES_MAX: usize = 20;

/// What is to be removed, and what the caller knows of it.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// Names the archive: one plain file name.
    pub id: &'a str,
    /// What is recorded of it.
    pub recorded: &'a Recorded,
    /// Where tars are kept.
    pub data_dir: &'a Path,
    /// The ledger says that we made it.
    pub is_ours: bool,
    /// Tasks and asks of it that are not over.
    pub open_work: u32,
    /// The user has said yes to this one.
    pub consent: bool,
    /// The branch that was made with it goes, too.
    pub with_branch: bool,
    /// The time, in Unix seconds.
    pub now_s: i64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is gone.
    Removed {
        /// What brings it back; none when it was gone before and never archived.
        archive: Option<Archive>,
        /// The branch that went with it.
        branch: Option<DeletedBranch>,
        /// Why the branch stays, if it was to go.
        branch_kept: Option<String>,
    },
    /// The judgement does not allow it. Nothing was changed.
    Refused(Verdict),
}

/// Removes a worktree. Repeated after it was cut short, it goes on where that was.
///
/// # Errors
/// The archive could not be written, something changed while it was written, or git refused: then the worktree is
/// as it was. [`Error::Git`] has git's reason. [`Error::Stopped`]: so it was asked for, before the archive stood.
pub fn remove(order: &Order<'_>) -> Result<Outcome, Error> {
    let recorded = order.recorded;
    let mut seen = look(recorded)?;
    seen.facts.is_ours = order.is_ours;
    seen.facts.open_work = order.open_work;
    let verdict = judge::worktree(&seen.facts);
    if !verdict.allows(order.consent) {
        return Ok(Outcome::Refused(verdict));
    }
    let archive = match seen.facts.place {
        Place::Gone => {
            let archive = known(order)?;
            drop_registration(recorded)?;
            archive
        }
        _ => Some(archive_and_remove(order, &seen)?),
    };
    if recorded.parent_is_ours {
        // Goes only when it is empty.
        let _ = recorded.path.parent().map(std::fs::remove_dir);
    }
    let (branch, branch_kept) = remove_branch(order, archive.as_ref())?;
    Ok(Outcome::Removed { archive, branch, branch_kept })
}

/// The archive that an attempt before this one has written.
fn known(order: &Order<'_>) -> Result<Option<Archive>, Error> {
    let reference = format!("{NAMESPACE}{}", order.id);
    let value = names::value_of(&order.recorded.repository, &reference)?;
    Ok(value.map(|_| of_reference(order, reference)))
}

fn of_reference(order: &Order<'_>, reference: String) -> Archive {
    let tar: PathBuf = archive::tar_path(order.data_dir, order.id);
    Archive { reference, tar: tar.exists().then_some(tar), not_kept: Vec::new() }
}

fn archive_and_remove(order: &Order<'_>, seen: &Look) -> Result<Archive, Error> {
    let recorded = order.recorded;
    let path = &recorded.path;
    let before = archive::fingerprint(path, seen)?;
    let archive = write_archive(order, seen)?;
    let mut again = look(recorded)?;
    (again.facts.is_ours, again.facts.open_work) = (order.is_ours, order.open_work);
    let changed = |why: &str| Error::Refused { path: path.clone(), why: why.to_owned() };
    let may_go = judge::worktree(&again.facts).allows(order.consent);
    if !may_go || archive::fingerprint(path, &again)? != before {
        return Err(changed("something changed in it while it was being archived"));
    }
    stop::pass()?;
    let call = Call::new(&recorded.repository, "remove the worktree", &["worktree", "remove"]);
    // git itself looks once more where nothing differs. What differs is in the archive. One force only: a lock
    // that came in between still holds.
    let is_plain = again.facts.changed == 0 && again.facts.untracked == 0 && again.facts.inner.is_empty();
    let call = if is_plain { call } else { call.arg("--force") };
    call.arg("--").arg(path).limit(LONG_LIMIT).output()?;
    let is_gone = std::fs::symlink_metadata(path).is_err()
        && !list::worktrees(&recorded.repository)?.iter().any(|one| one.path == *path);
    if is_gone { Ok(archive) } else { Err(changed("it is still there after git removed it")) }
}

/// Writes the archive. After an attempt that was cut short the first one stands, unless something but the missing
/// of files is new: then there is another one beside it.
fn write_archive(order: &Order<'_>, seen: &Look) -> Result<Archive, Error> {
    let recorded = order.recorded;
    if let Some(known) = known(order)? {
        let is_same_head = match &seen.head {
            Some(head) => names::is_ancestor(&recorded.repository, head, &known.reference)?,
            None => true,
        };
        if is_same_head && seen.status.lacks_only_files() && seen.facts.precious.is_empty() {
            return Ok(known);
        }
    }
    for attempt in 1..=ARCHIVES_MAX {
        let id = if attempt == 1 { order.id.to_owned() } else { format!("{}.{attempt}", order.id) };
        match archive::write(recorded, seen, &id, order.data_dir, order.now_s) {
            Err(Error::Exists { .. }) => {}
            answer => return answer,
        }
    }
    let why = format!("there are {ARCHIVES_MAX} archives of it already");
    Err(Error::Refused { path: recorded.path.clone(), why })
}

/// Takes back git's entry of a worktree whose directory is gone: only this one, never all that look like it.
fn drop_registration(recorded: &Recorded) -> Result<(), Error> {
    let is_known = list::worktrees(&recorded.repository)?.iter().any(|one| one.path == recorded.path);
    stop::pass()?;
    if is_known {
        let args = ["worktree", "remove", "--"];
        Call::new(&recorded.repository, "drop the worktree's entry", &args).arg(&recorded.path).output()?;
    }
    Ok(())
}

fn remove_branch(
    order: &Order<'_>,
    archive: Option<&Archive>,
) -> Result<(Option<DeletedBranch>, Option<String>), Error> {
    let recorded = order.recorded;
    let Some(branch) = recorded.branch.as_ref().filter(|_| order.with_branch) else {
        return Ok((None, None));
    };
    if names::value_of(&recorded.repository, &format!("refs/heads/{branch}"))?.is_none() {
        return Ok((None, None));
    }
    let keep = format!("{NAMESPACE}{}{OF_BRANCH}", order.id);
    let kept = archive.map(|archive| archive.reference.as_str());
    match names::delete_kept_branch(&recorded.repository, branch, &keep, kept) {
        Ok(deleted) => Ok((Some(deleted), None)),
        Err(Error::Git { said, .. }) => Ok((None, Some(said))),
        Err(error) => Err(error),
    }
}

/// Whether anybody uses the worktree now.
pub fn is_in_use(recorded: &Recorded) -> bool {
    !users(&recorded.path).is_empty()
}
