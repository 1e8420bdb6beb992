//! That a guard is at work, and what it saw at its beginning: a directory below the git common directory, held by
//! a lock for as long as the guard lives. By it, two guards of one repository tell each other's leavings apart.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::seen::{Kind, Seen};
use crate::Error;
use crate::temp::{self, TempDir};

/// The directory of the guards among what a guard keeps in a repository.
const GUARDS: &str = "guards";
/// The file with what a guard saw.
const SEEN: &str = "seen";
/// How often another name is tried.
const TRIES: usize = 3;

/// Where the guards of one user keep what is theirs in a repository: below the git common directory, where no
/// checkout shows it and it lies on the file system of most of what is put away.
pub(super) fn base(common_dir: &Path) -> PathBuf {
    common_dir.join(format!("carillon-guard-{}", rustix::process::geteuid().as_raw()))
}

/// The lease of one guard. It is let go, and its directory removed, when this value is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    dir: TempDir,
}

/// Another guard that is at work.
#[derive(Debug)]
pub(super) struct Other {
    /// What it saw at its beginning; none while it is only just beginning.
    pub(super) before: Option<Seen>,
}

impl Lease {
    /// Takes a lease, after those that dead guards left are cleared away.
    pub(super) fn take(common_dir: &Path) -> Result<Lease, Error> {
        let base = base(common_dir);
        let mut tries = 0;
        loop {
            match std::fs::DirBuilder::new().mode(0o700).create(&base) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create the directory", &base, error)),
            }
            clear_dead(&base.join(GUARDS));
            match temp::create(&base, GUARDS, &temp::random_name()) {
                Ok(dir) => return Ok(Lease { dir }),
                // Another guard that ends or begins may clear away what it finds free or empty.
                Err(error) if tries < TRIES && is_a_race(&error) => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes down what there was at the beginning.
    pub(super) fn publish(&self, seen: &Seen) -> Result<(), Error> {
        let path = self.dir.path.join(SEEN);
        let new = self.dir.path.join("new");
        let mut bytes = Vec::new();
        for (kind, name) in &seen.0 {
            bytes.extend_from_slice(kind.word().as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
        }
        std::fs::write(&new, bytes).map_err(|error| Error::io("write", &new, error))?;
        std::fs::rename(&new, &path).map_err(|error| Error::io("write", &path, error))
    }

    /// The other guards of the repository that are alive now.
    pub(super) fn others(&self) -> Vec<Other> {
        let guards = self.dir.path.parent().unwrap_or(&self.dir.path);
        let entries = std::fs::read_dir(guards).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| *path != self.dir.path && temp::lease_is_held(path).unwrap_or(false))
            .map(|path| Other { before: std::fs::read(path.join(SEEN)).ok().as_deref().and_then(parse) })
            .collect()
    }
}

fn is_a_race(error: &Error) -> bool {
    matches!(error, Error::Replaced { .. }) || error.kind() == Some(std::io::ErrorKind::NotFound)
}

fn parse(bytes: &[u8]) -> Option<Seen> {
    let mut seen = Seen::default();
    for line in bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let at = line.iter().position(|byte| *byte == b' ')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.word().as_bytes() == &line[..at])?;
        seen.0.insert((kind, OsString::from_vec(line[at + 1..].to_vec())));
    }
    Some(seen)
}

/// Removes what guards left that were killed: exactly their files, and directories only when they are empty.
fn clear_dead(guards: &Path) {
    for entry in std::fs::read_dir(guards).into_iter().flatten().flatten() {
        if temp::lease_is_held(&entry.path()).is_ok_and(|held| !held) {
            remove(&entry.path());
        }
    }
}

/// Each of these may be gone, or be in use by another guard, which is as good.
fn remove(dir: &Path) {
    for file in [SEEN, "new"] {
        let _ = std::fs::remove_file(dir.join(file));
    }
    let _ = std::fs::remove_dir(dir);
}

impl Drop for Lease {
    fn drop(&mut self) {
        remove(&self.dir.path);
        if let Some(guards) = self.dir.path.parent() {
            // Neither goes as long as anything is in it.
            let _ = std::fs::remove_dir(guards);
            let _ = guards.parent().map(std::fs::remove_dir);
        }
    }
}
