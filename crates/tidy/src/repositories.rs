//! Repositories inside of other trees, found without following links and without going into them.

use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// How many entries are looked at before a tree counts as too large.
pub const ENTRIES_MAX: usize = 500_000;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Every `.git`, file or directory, at or below the top.
    pub gits: Vec<PathBuf>,
    /// Whether all of the tree was looked at.
    pub is_complete: bool,
}

/// Looks for every `.git` in the tree `top`. A directory that has one is a repository, and nothing further in it
/// is looked at, except at the top itself.
///
/// # Errors
/// [`Error::Io`] when a directory cannot be read: what is in it is then unknown.
pub fn find(top: &Path, entries_max: usize) -> Result<Found, Error> {
    let mut found = Found { gits: Vec::new(), is_complete: true };
    let mut open = vec![top.to_path_buf()];
    let mut count = 0;
    while let Some(dir) = open.pop() {
        let failed = |error: io::Error| Error::io("look through", &dir, error);
        let git = dir.join(".git");
        if std::fs::symlink_metadata(&git).is_ok() {
            found.gits.push(git);
            if dir != top {
                continue;
            }
        }
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            // It went while we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            count += 1;
            if count > entries_max {
                found.is_complete = false;
                return Ok(found);
            }
            if entry.file_name() != ".git" && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// Whether this `.git` is a repository, or a file that leads to one that is there.
pub(crate) fn leads_somewhere(git: &Path) -> bool {
    match target(git) {
        Some(target) => target.exists(),
        // A directory, or a file that we do not understand.
        None => true,
    }
}

/// Whether this `.git` file leads to something that is there and not below `top`.
pub(crate) fn leads_out_of(git: &Path, top: &Path) -> bool {
    let Some(target) = target(git) else { return true };
    let top = top.canonicalize().unwrap_or_else(|_| top.to_path_buf());
    target.canonicalize().is_ok_and(|target| !target.starts_with(top))
}

/// Where a `.git` file leads (gitrepository-layout(5)); none for a directory or anything else.
pub(crate) fn target(git: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let meta = std::fs::symlink_metadata(git).ok()?;
    if !meta.is_file() || meta.len() > 64 * 1024 {
        return None;
    }
    let bytes = std::fs::read(git).ok()?;
    let path = bytes.strip_prefix(b"gitdir: ")?;
    let path = path.strip_suffix(b"\n").unwrap_or(path);
    Some(git.parent()?.join(std::ffi::OsStr::from_bytes(path)))
}
