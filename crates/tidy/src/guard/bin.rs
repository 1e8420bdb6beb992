//! Where a guard puts what it reaps, for a day: a trash of its own for each guard that reaped something, named
//! by the time, on the file system of what goes into it.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::lease;
use super::reap::Hands;
use crate::git::Call;
use crate::temp::random_name;
use crate::trash::{self, Repositories, TRASH_PREFIX};
use crate::{Error, git};

/// How long what was reaped can be fetched back, in milliseconds: a day.
pub const KEPT_MS: i64 = 24 * 3_600 * 1_000;
/// How long a guard may spend on deleting what is older, at its end.
pub(super) const PURGE_TIME: Duration = Duration::from_millis(200);

/// What the names of these trashes begin with, after [`TRASH_PREFIX`].
const GUARD: &str = "guard-";
/// What the names of trashes of temp entries end with.
const TEMP: &str = "-temp";
/// Says of each entry of a trash where it was: its name, a space, its path, a zero byte.
const CONTENTS: &str = "contents";
/// The namespace of the references that keep what has commits of its own.
const ARCHIVE: &str = "refs/carillon/archive/";

/// The trashes of one guard. Nothing is made before something goes in.
#[derive(Debug)]
pub(super) struct Bin {
    bases: Vec<PathBuf>,
    /// Time and a random part, which no other guard has.
    mark: String,
}

impl Bin {
    pub(super) fn new(common_dir: &Path, temp_dir: &Path, now_ms: i64) -> Bin {
        let bases = vec![lease::base(common_dir), temp_dir.to_path_buf()];
        Bin { bases, mark: format!("{GUARD}{now_ms}-{}", random_name()) }
    }

    /// The reference that keeps the commits of a branch.
    pub(super) fn archive_ref(&self, branch: &str) -> String {
        format!("{ARCHIVE}{}/{branch}", self.mark)
    }

    /// Renames `path` into the trash in the repository, or, where that is on another file system, into one
    /// beside the temp entries. Returns where it is now.
    pub(super) fn bury(&self, path: &Path, is_temp: bool, hands: &dyn Hands) -> Result<PathBuf, Error> {
        let name = format!("{TRASH_PREFIX}{}{}", self.mark, if is_temp { TEMP } else { "" });
        // Only beside temp entries a trash of ours does not show up among the user's files.
        let bases = if is_temp { &self.bases[..] } else { &self.bases[..1] };
        let mut last = None;
        for base in bases {
            let new_name = random_name();
            // The lease of a guard that is ended elsewhere may have been cleared away, and the place with it.
            if *base == self.bases[0] {
                lease::make_base(base)?;
            }
            drop(trash::open(base, &name)?);
            let dir = base.join(&name);
            note(&dir, &new_name, path)?;
            match hands.bury(base, &name, path, &new_name) {
                Ok(at) => return Ok(at),
                Err(error) => {
                    forget_if_unused(&dir);
                    last = Some(error);
                }
            }
            if !matches!(last, Some(Error::OtherFileSystem { .. })) {
                break;
            }
        }
        Err(last.unwrap_or(Error::BadName { name }))
    }
}

/// Writes down where an entry comes from, before it goes: dying in between leaves a line too many, not an entry
/// that nobody knows.
fn note(dir: &Path, name: &str, from: &Path) -> Result<(), Error> {
    let path = dir.join(CONTENTS);
    let open = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
    let mut line = format!("{name} ").into_bytes();
    line.extend_from_slice(from.as_os_str().as_bytes());
    line.push(0);
    open.and_then(|mut file| file.write_all(&line)).map_err(|error| Error::io("write", &path, error))
}

/// Removes a trash in which nothing but the list is.
fn forget_if_unused(dir: &Path) {
    let is_unused = std::fs::read_dir(dir).is_ok_and(|entries| entries.count() == 1);
    if is_unused && std::fs::remove_file(dir.join(CONTENTS)).is_ok() {
        let _ = std::fs::remove_dir(dir);
    }
}

/// Deletes what guards of this repository put away more than [`KEPT_MS`] before `now_ms`, as far as the time
/// until `until` allows: trees, and references to commits. Returns what could not go, with the reason.
pub fn purge(
    common_dir: &Path,
    temp_dir: &Path,
    now_ms: i64,
    until: Option<Instant>,
) -> Vec<(PathBuf, String)> {
    let mut refused = Vec::new();
    let base = lease::base(common_dir);
    for base in [base.as_path(), temp_dir] {
        for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let mark = name.to_str().and_then(|name| name.strip_prefix(TRASH_PREFIX));
            if mark.is_some_and(|mark| is_over(mark, now_ms)) {
                // A temp entry with a repository in it is still a temp entry that the rules name.
                let is_temp = mark.is_some_and(|mark| mark.ends_with(TEMP));
                let repositories = if is_temp { Repositories::Go } else { Repositories::Stay };
                refused.extend(delete(&entry.path(), until, repositories));
            }
        }
    }
    // Goes only when nothing is in it.
    let _ = std::fs::remove_dir(&base);
    if let Err(error) = forget_commits(common_dir, now_ms) {
        refused.push((common_dir.to_path_buf(), error.to_string()));
    }
    refused
}

/// Whether a mark is one of a guard and its time is over.
fn is_over(mark: &str, now_ms: i64) -> bool {
    let time = mark.strip_prefix(GUARD).and_then(|rest| rest.split(['-', '/']).next());
    time.and_then(|time| time.parse::<i64>().ok()).is_some_and(|time| now_ms.saturating_sub(time) > KEPT_MS)
}

fn delete(dir: &Path, until: Option<Instant>, repositories: Repositories) -> Vec<(PathBuf, String)> {
    // The husk of a worktree keeps the file that once led to its repository. It leads nowhere, as was seen before
    // the husk was reaped, and must not pass for a repository now.
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let leads = entry.path().join(".git");
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && std::fs::symlink_metadata(&leads).is_ok_and(|meta| meta.is_file()) {
            let _ = std::fs::remove_file(leads);
        }
    }
    let emptied = trash::empty_with(dir, until, &AtomicBool::new(false), repositories);
    if emptied.complete {
        let _ = std::fs::remove_dir(dir);
    }
    emptied.refused
}

fn forget_commits(common_dir: &Path, now_ms: i64) -> Result<(), Error> {
    let format = "--format=%(objectname) %(refname)";
    let text = Call::new(common_dir, "list what is kept", &["for-each-ref", format, ARCHIVE]).text()?;
    for (commit, reference) in text.lines().filter_map(|line| line.split_once(' ')) {
        if reference.strip_prefix(ARCHIVE).is_some_and(|mark| is_over(mark, now_ms)) {
            git::names::forget(common_dir, reference, commit)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_guard_put_away_long_ago_is_over() {
        let now = 10 * KEPT_MS;
        assert!(is_over(&format!("guard-{}-abcd", 8 * KEPT_MS), now));
        assert!(is_over(&format!("guard-{}-abcd/a/b", 8 * KEPT_MS), now));
        for mark in ["guard-", "guard-x", "0123456789abcdef", "", &format!("guard-{}-a", now - KEPT_MS)] {
            assert!(!is_over(mark, now), "{mark}");
        }
        // A clock that was set back deletes nothing early.
        assert!(!is_over(&format!("guard-{}-a", 12 * KEPT_MS), now));
    }
}
