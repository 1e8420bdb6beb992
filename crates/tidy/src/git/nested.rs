//! Repositories inside of a worktree: submodules, and clones that somebody made there.

use std::path::{Path, PathBuf};

use carillon_core::judge::Inner;

use super::{Call, fields, look, path_from};
use crate::Error;

/// How deep the directories of submodules are looked through that have no checkout.
const DEPTH_MAX: usize = 6;

/// What there is of each of these `.git`, apart from the worktree's own.
pub(super) fn inner(top: &Path, gits: &[PathBuf]) -> Result<Vec<Inner>, Error> {
    let dirs: Vec<&Path> = gits.iter().filter_map(|git| git.parent()).filter(|dir| *dir != top).collect();
    let mut found = Vec::new();
    let submodules = if dirs.is_empty() { Vec::new() } else { submodules(top)? };
    let mut known = Vec::new();
    for dir in dirs {
        let path = dir.strip_prefix(top).unwrap_or(dir).to_path_buf();
        known.extend(look::admin_dir(dir));
        found.push(Inner {
            is_submodule: submodules.contains(&path),
            has_own_work: has_changes(dir) || has_commits(dir),
            path: path.to_string_lossy().into_owned(),
        });
    }
    // A submodule that was taken out of the checkout still has its commits.
    if let Some(admin) = look::admin_dir(top) {
        let modules = admin.join("modules");
        for dir in git_dirs(&modules, DEPTH_MAX).into_iter().filter(|dir| !known.contains(dir)) {
            let path = dir.strip_prefix(&modules).unwrap_or(&dir).to_string_lossy().into_owned();
            found.push(Inner { path, is_submodule: true, has_own_work: has_commits(&dir) });
        }
    }
    Ok(found)
}

fn submodules(top: &Path) -> Result<Vec<PathBuf>, Error> {
    let out = Call::new(top, "list the submodules", &["ls-files", "--stage", "-z"]).output()?;
    let path_of = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'\t')?;
        line.starts_with(b"160000 ").then(|| path_from(&line[at + 1..]))
    };
    Ok(fields(&out).filter_map(path_of).collect())
}

/// Whether anything in the checkout is not committed. What cannot be told counts as work.
fn has_changes(dir: &Path) -> bool {
    let args = ["status", "--porcelain", "-z", "--untracked-files=all"];
    Call::new(dir, "look at the repository", &args).output().map_or(true, |out| !out.is_empty())
}

/// Whether it has commits, a stash among them, that no remote branch has.
fn has_commits(dir: &Path) -> bool {
    let args = ["rev-list", "--count", "--all", "--not", "--remotes"];
    Call::new(dir, "count commits", &args).number().map_or(true, |count| count > 0)
}

/// The repositories at or below a directory of submodules.
fn git_dirs(dir: &Path, depth: usize) -> Vec<PathBuf> {
    if dir.join("HEAD").is_file() && dir.join("objects").is_dir() {
        let mut found = vec![dir.to_path_buf()];
        if depth > 0 {
            found.extend(git_dirs(&dir.join("modules"), depth - 1));
        }
        return found;
    }
    if depth == 0 {
        return Vec::new();
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .flat_map(|entry| git_dirs(&entry.path(), depth - 1))
        .collect()
}
