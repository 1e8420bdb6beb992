//! That a guard is at work, and what it saw at its beginning: a directory below the git common directory, held by
//! a lock for as long as the guard lives. By it, two guards of one repository tell each other's leavings apart.

use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::record::Record;
use super::seen::{self, Seen};
use crate::Error;
use crate::temp;

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
    dir: PathBuf,
    /// Held for as long as this is open anywhere; none when it is in other hands, or was.
    fd: Option<OwnedFd>,
}

/// Another guard that is at work.
#[derive(Debug)]
pub(super) struct Other(Option<Watched>);

/// What another guard saw at its beginning; none while it is only just beginning.
#[derive(Debug)]
struct Watched {
    before: Seen,
    /// The checkouts that it watches.
    roots: Vec<PathBuf>,
}

impl Other {
    /// Whether its command may have made what we found new in the checkout `root`, or outside of any. Two that
    /// work in different checkouts do not make each other's directories.
    pub(super) fn may_have_made(&self, new: &(seen::Kind, std::ffi::OsString), root: Option<&Path>) -> bool {
        self.0.as_ref().is_none_or(|watched| {
            let is_there = root.is_none_or(|root| watched.roots.iter().any(|own| own == root));
            is_there && !watched.before.0.contains(new)
        })
    }
}

impl Lease {
    /// Takes a lease, after those that dead guards left are cleared away.
    pub(super) fn take(common_dir: &Path) -> Result<Lease, Error> {
        let base = base(common_dir);
        let mut tries = 0;
        loop {
            make_base(&base)?;
            clear_dead(&base.join(GUARDS));
            match temp::create(&base, GUARDS, &temp::random_name()) {
                Ok(made) => return Ok(Lease { dir: made.path, fd: Some(made.lease) }),
                // Another guard that ends or begins may clear away what it finds free or empty.
                Err(error) if tries < TRIES && is_a_race(&error) => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The lease of a guard that began in another process.
    pub(super) fn of(dir: PathBuf) -> Lease {
        Lease { dir, fd: None }
    }

    /// Leaves the lease to whoever holds the descriptor. The directory stays for who ends the guard.
    pub(super) fn hand_over(mut self) -> Option<OwnedFd> {
        self.dir = PathBuf::new();
        self.fd.take()
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes down what there was at the beginning.
    pub(super) fn publish(&self, record: &[u8]) -> Result<(), Error> {
        let path = self.dir.join(SEEN);
        let new = self.dir.join("new");
        std::fs::write(&new, record).map_err(|error| Error::io("write", &new, error))?;
        std::fs::rename(&new, &path).map_err(|error| Error::io("write", &path, error))
    }

    /// The other guards of the repository that are alive now.
    pub(super) fn others(&self, guards: &Path) -> Vec<Other> {
        let entries = std::fs::read_dir(guards).into_iter().flatten().flatten();
        let read = |path: &Path| Record::parse(&std::fs::read(path.join(SEEN)).ok()?);
        entries
            .map(|entry| entry.path())
            .filter(|path| *path != self.dir && temp::lease_is_held(path).unwrap_or(false))
            .map(|path| {
                Other(read(&path).map(|record| {
                    let roots = seen::roots_of(&record.repository);
                    Watched { before: record.before, roots }
                }))
            })
            .collect()
    }
}

/// Makes that place when it is not there. It goes with the last thing in it.
pub(super) fn make_base(base: &Path) -> Result<(), Error> {
    match std::fs::DirBuilder::new().mode(0o700).create(base) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::io("create the directory", base, error)),
    }
}

/// Where the guards of a repository have their leases.
pub(super) fn guards(common_dir: &Path) -> PathBuf {
    base(common_dir).join(GUARDS)
}

fn is_a_race(error: &Error) -> bool {
    matches!(error, Error::Replaced { .. }) || error.kind() == Some(std::io::ErrorKind::NotFound)
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
        if self.dir.as_os_str().is_empty() {
            return;
        }
        remove(&self.dir);
        if let Some(guards) = self.dir.parent() {
            // Neither goes as long as anything is in it.
            let _ = std::fs::remove_dir(guards);
            let _ = guards.parent().map(std::fs::remove_dir);
        }
    }
}
