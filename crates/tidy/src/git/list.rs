//! The worktrees and branches of a repository, and where it is.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::{Call, path_from};
use crate::Error;

/// Where a repository is, with all links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The root of the checkout that was asked about.
    pub root: PathBuf,
    /// What all worktrees of the repository share: objects, branches, settings.
    pub common_dir: PathBuf,
}

/// A worktree that git knows of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registered {
    /// Its path, resolved as far as it is there.
    pub path: PathBuf,
    /// The commit that it stands on; none when its branch has no commit yet.
    pub head: Option<String>,
    /// The branch that it has checked out, without `refs/heads/`.
    pub branch: Option<String>,
    /// Somebody locked it: the reason, which may be empty.
    pub locked: Option<String>,
    /// Its directory is not there any more: git's reason.
    pub prunable: Option<String>,
}

/// The repository that the directory `dir` lies in.
///
/// # Errors
/// [`Error::Git`] when it lies in none, or in the inside of one.
pub fn repository_of(dir: &Path) -> Result<Repository, Error> {
    let ask = |what: &[&str]| {
        let args = [&["rev-parse", "--path-format=absolute"], what].concat();
        Call::new(dir, "find the repository", &args)
    };
    let resolve = |path: PathBuf| path.canonicalize().map_err(|error| Error::io("resolve", &path, error));
    let (root, common_dir) = ("--show-toplevel", "--git-common-dir");
    // Both in one answer, unless there is a line feed in one of the paths.
    let both = ask(&[root, common_dir]).output()?;
    let mut lines = both.strip_suffix(b"\n").unwrap_or(&both).split(|byte| *byte == b'\n');
    if let (Some(root), Some(common_dir), None) = (lines.next(), lines.next(), lines.next()) {
        return Ok(Repository {
            root: resolve(path_from(root))?,
            common_dir: resolve(path_from(common_dir))?,
        });
    }
    Ok(Repository { root: resolve(ask(&[root]).path()?)?, common_dir: resolve(ask(&[common_dir]).path()?)? })
}

/// All worktrees of the repository, the main one first.
///
/// # Errors
/// What git says.
pub fn worktrees(dir: &Path) -> Result<Vec<Registered>, Error> {
    let out = Call::new(dir, "list the worktrees", &["worktree", "list", "--porcelain", "-z"]).output()?;
    Ok(parse(&out))
}

fn parse(out: &[u8]) -> Vec<Registered> {
    let mut found: Vec<Registered> = Vec::new();
    for line in super::fields(out) {
        let split = line.iter().position(|byte| *byte == b' ');
        let (word, rest) = split.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let text = || String::from_utf8_lossy(rest).into_owned();
        if word == b"worktree" {
            let path = path_from(rest);
            let path = path.canonicalize().unwrap_or(path);
            found.push(Registered { path, ..Registered::default() });
        }
        let Some(last) = found.last_mut() else { continue };
        match word {
            b"HEAD" if !rest.iter().all(|byte| *byte == b'0') => last.head = Some(text()),
            b"branch" => last.branch = Some(text().trim_start_matches("refs/heads/").to_owned()),
            b"locked" => last.locked = Some(text()),
            b"prunable" => last.prunable = Some(text()),
            // The rest ("bare", "detached" and what later versions add) tells nothing that is asked here.
            _ => {}
        }
    }
    found
}

/// The names of all branches at or below these prefixes, without `refs/heads/`. No prefix means all.
///
/// Where references are files, their names are read without opening each: for ten thousand branches git itself
/// takes many times as long (gitrepository-layout(5) has the format). A name that is no branch any more does no
/// harm: whatever is done to one is done by git.
pub(crate) fn branches(repository: &Repository, prefixes: &[String]) -> Result<Vec<String>, Error> {
    let common = &repository.common_dir;
    let heads = common.join("refs/heads");
    if common.join("reftable").exists() || !heads.is_dir() {
        return branches_by_git(&repository.root, prefixes);
    }
    let mut found = BTreeSet::new();
    let all = [String::new()];
    let tops = if prefixes.is_empty() { &all } else { prefixes };
    for top in tops {
        loose(&heads, top, &mut found)?;
    }
    let packed = common.join("packed-refs");
    let bytes = match std::fs::read(&packed) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io("read", &packed, error)),
    };
    // "hash SP name"; other lines are comments and what annotated tags lead to.
    let text = String::from_utf8_lossy(&bytes);
    let names = text.lines().filter_map(|line| line.split_once(' ')?.1.strip_prefix("refs/heads/"));
    let is_below = |name: &str, top: &String| {
        top.is_empty()
            || name.strip_prefix(top.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    found.extend(names.filter(|name| tops.iter().any(|top| is_below(name, top))).map(str::to_owned));
    Ok(found.into_iter().collect())
}

/// The names of the files at or below `heads/top`, without the locks of a git that is at work.
fn loose(heads: &Path, top: &str, found: &mut BTreeSet<String>) -> Result<(), Error> {
    let dir = heads.join(top);
    let failed = |error| Error::io("list", &dir, error);
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        // A prefix may be a branch itself, and a directory may go with its last branch.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            found.insert(top.to_owned());
            return Ok(());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let file_name = entry.file_name();
        let file_name = file_name.to_string_lossy();
        let name = if top.is_empty() { file_name.into_owned() } else { format!("{top}/{file_name}") };
        if entry.file_type().map_err(failed)?.is_dir() {
            loose(heads, &name, found)?;
        } else if !name.ends_with(".lock") {
            found.insert(name);
        }
    }
    Ok(())
}

fn branches_by_git(dir: &Path, prefixes: &[String]) -> Result<Vec<String>, Error> {
    let mut call = Call::new(dir, "list the branches", &["for-each-ref", "--format=%(refname)"]);
    if prefixes.is_empty() {
        call = call.arg("refs/heads");
    }
    for prefix in prefixes {
        call = call.arg(format!("refs/heads/{prefix}"));
    }
    let text = call.text()?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("refs/heads/")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_with_all_its_marks() {
        let out = b"worktree /nowhere/a b\0HEAD 12ab\0branch refs/heads/x/y\0\0worktree /nowhere/c\0HEAD \
                    000000\0detached\0locked some reason\0prunable gone\0\0";
        let found = parse(out);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].path, Path::new("/nowhere/a b"));
        assert_eq!((found[0].head.as_deref(), found[0].branch.as_deref()), (Some("12ab"), Some("x/y")));
        assert_eq!((found[1].head.as_deref(), found[1].locked.as_deref()), (None, Some("some reason")));
        assert_eq!(found[1].prunable.as_deref(), Some("gone"));
    }
}
