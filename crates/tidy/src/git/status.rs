//! What differs in a worktree, as git's status tells it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Call, fields, path_from};
use crate::Error;

/// What differs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// Tracked files that differ from the last commit.
    pub(crate) changed: Vec<Changed>,
    /// Files that git does not know.
    pub(crate) untracked: Vec<PathBuf>,
    /// What is ignored; whole directories are named once, with a `/` at their end.
    pub(crate) ignored: Vec<PathBuf>,
    /// Files with conflicts.
    pub(crate) unmerged: u64,
}

/// A tracked file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: PathBuf,
    /// How the file differs from the index: `.` not at all, `D` it is gone.
    pub(crate) in_worktree: u8,
    /// How the index differs from the last commit: `.` not at all.
    pub(crate) in_index: u8,
    pub(crate) is_submodule: bool,
}

impl Status {
    /// Nothing but files that are not there differs, as after a checkout or a removal that was cut short.
    pub(crate) fn lacks_only_files(&self) -> bool {
        let is_gone = |one: &Changed| one.in_worktree == b'D' && one.in_index == b'.';
        self.unmerged == 0 && self.untracked.is_empty() && self.changed.iter().all(is_gone)
    }
}

/// Asks git in the worktree at `dir`. With `index`, against this index instead of its own.
pub(crate) fn status(dir: &Path, index: Option<&Path>) -> Result<Status, Error> {
    let args = [
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=all",
        "--ignored=matching",
        "--ignore-submodules=dirty",
        "--no-renames",
    ];
    let mut call = Call::new(dir, "look at the worktree", &args).limit(super::LONG_LIMIT);
    if let Some(index) = index {
        call = call.env("GIT_INDEX_FILE", index);
    }
    Ok(parse(&call.output()?))
}

fn parse(out: &[u8]) -> Status {
    let mut status = Status::default();
    for line in fields(out) {
        match line.first() {
            // "1 XY sub mH mI mW hH hI path"
            Some(b'1') => {
                let mut parts = line.splitn(9, |byte| *byte == b' ');
                let (Some(xy), Some(sub), Some(path)) = (parts.nth(1), parts.next(), parts.nth(5)) else {
                    continue;
                };
                status.changed.push(Changed {
                    path: path_from(path),
                    in_index: xy.first().copied().unwrap_or(b'.'),
                    in_worktree: xy.get(1).copied().unwrap_or(b'.'),
                    is_submodule: sub.first() == Some(&b'S'),
                });
            }
            Some(b'u') => status.unmerged += 1,
            // A directory here is a repository of its own, which is judged as such.
            Some(b'?') if !line.ends_with(b"/") => status.untracked.push(path_from(&line[2..])),
            Some(b'!') => status.ignored.push(PathBuf::from(OsStr::from_bytes(&line[2..]))),
            // Headers, and renames, which were not asked for.
            _ => {}
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_with_spaces_in_paths() {
        let out =
            b"1 .M N... 100644 100644 100644 a b sub dir/a b\x001 D. S.C. 1 2 3 4 5 gone\x00u UU x\x00? new \
                    one\x00? nested/\x00! target/\x00! .env\x00";
        let status = parse(out);
        assert_eq!(status.changed.len(), 2);
        assert_eq!(status.changed[0].path, Path::new("sub dir/a b"));
        assert_eq!((status.changed[0].in_index, status.changed[0].in_worktree), (b'.', b'M'));
        assert!(status.changed[1].is_submodule && status.changed[1].in_index == b'D');
        assert_eq!((status.unmerged, status.untracked), (1, vec![PathBuf::from("new one")]));
        assert_eq!(status.ignored, [PathBuf::from("target/"), PathBuf::from(".env")]);
    }
}
