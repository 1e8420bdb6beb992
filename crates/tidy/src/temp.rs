//! The one namespace of temp directories: `<base>/<namespace>/<name>/`, used by every writer and by the sweep.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::Error;

/// Length of a namespace, in characters.
pub const NAMESPACE_LEN: usize = 6;
/// Length of a random name, in characters.
pub const NAME_LEN: usize = 8;

/// How long `create` waits for somebody who is only testing the lease of the new directory.
const LEASE_PATIENCE: Duration = Duration::from_millis(500);

/// How often `create` makes a namespace anew that goes in the same moment.
const CREATE_TRIES: u32 = 1_000;

/// The permission bits of every directory that we make.
pub(crate) const PRIVATE_DIR: Mode = Mode::RWXU;

/// A temp directory of one run, and its lease. The directory counts as in use as long as any process holds the
/// descriptor or a copy of it; dropping this value lets go of our copy and deletes nothing.
#[derive(Debug)]
pub struct TempDir {
    /// Where it is: `<base>/<namespace>/<name>`.
    pub path: PathBuf,
    /// The lease: the open directory with an exclusive flock. It is closed on exec, so hand it on on purpose.
    pub lease: OwnedFd,
}

/// The namespace of a project under one data directory: 6 hex digits of a hash of both paths. The two paths are
/// hashed with their lengths, so that no two different pairs give the same bytes.
pub fn namespace(home: &Path, project_root: &Path) -> String {
    let mut hash = Sha256::new();
    for path in [home, project_root] {
        let bytes = path.as_os_str().as_bytes();
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    hash.finalize().iter().take(NAMESPACE_LEN / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// A name of 8 random characters out of `[a-z0-9]`, from the system's random numbers.
pub fn random_name() -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut rest = uuid::Uuid::new_v4().as_u128();
    (0..NAME_LEN)
        .map(|_| {
            let letter = char::from(ALPHABET[(rest % 36) as usize]);
            rest /= 36;
            letter
        })
        .collect()
}

/// Creates `<base>/<namespace>/<name>` with mode 0700 and takes its lease. The last step is exclusive: whatever
/// has that name already (a directory, a link, a file) is left as it is and reported as [`Error::Exists`].
///
/// # Errors
/// [`Error::BadName`] for a namespace or name that is not one plain entry, [`Error::NotOurs`] when the
/// namespace is a link or another user's, [`Error::Replaced`] when the new directory was moved away at once,
/// else [`Error::Io`].
pub fn create(base: &Path, namespace: &str, name: &str) -> Result<TempDir, Error> {
    check_name(namespace)?;
    check_name(name)?;
    let base_dir = open_dir(base)?;
    let mut tries = 0;
    loop {
        tries += 1;
        match create_in(&base_dir, base, namespace, name) {
            // The last directory in the namespace has just gone, and the namespace with it.
            Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) && tries < CREATE_TRIES => {}
            done => return done,
        }
    }
}

fn create_in(base_dir: &OwnedFd, base: &Path, namespace: &str, name: &str) -> Result<TempDir, Error> {
    let parent_path = base.join(namespace);
    let parent = ensure_private_dir(base_dir, namespace, &parent_path)?;
    let path = parent_path.join(name);
    match rustix::fs::mkdirat(&parent, name, PRIVATE_DIR) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(Error::Exists { path }),
        Err(errno) => return Err(Error::io("create the directory", &path, errno)),
    }
    let lease = open_dir_at(&parent, name, &path)?;
    make_private(&lease, &path)?;
    take_lease(&lease, &path)?;
    // A sweep may have found the directory in the instant before we held the lease. Then the name no longer
    // leads to what we hold, and the caller must not use it.
    let held = rustix::fs::fstat(&lease).map_err(|errno| Error::io("examine", &path, errno))?;
    match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino) => {
            Ok(TempDir { path, lease })
        }
        Ok(_) | Err(Errno::NOENT) => Err(Error::Replaced { path }),
        Err(errno) => Err(Error::io("examine", &path, errno)),
    }
}

/// Makes the temp directory of a live run anew after somebody removed it: empty, with mode 0700, at the very place
/// that the run was told. The lease of the old one is still held by the run's supervisor, which proves its life; the
/// new lease is for the caller to hold for as long as the run lives.
///
/// # Errors
/// [`Error::Exists`] when something is there, which is left as it is; else as [`create`].
pub fn recreate(path: &Path) -> Result<TempDir, Error> {
    let bad = || Error::BadName { name: path.display().to_string() };
    let text = |part: Option<&OsStr>| part.and_then(OsStr::to_str).map(str::to_owned).ok_or_else(bad);
    let parent = path.parent().ok_or_else(bad)?;
    let base = parent.parent().ok_or_else(bad)?;
    match rustix::fs::mkdir(base, PRIVATE_DIR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(Error::io("create the directory", base, errno)),
    }
    create(base, &text(parent.file_name())?, &text(path.file_name())?)
}

/// Takes the lease of a directory whose run is over and whose files somebody still needs: the tasks that an agent
/// started, when the agent has ended. None when it is held by somebody; then it is in good hands.
///
/// # Errors
/// [`Error::NotOurs`] and [`Error::Io`] as for [`lease_is_held`]; [`Error::Replaced`] when it was moved away in
/// this moment.
pub fn take_over(path: &Path) -> Result<Option<TempDir>, Error> {
    let lease = open_dir(path)?;
    match rustix::fs::flock(&lease, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(Error::io("take the lease of", path, errno)),
    }
    let held = rustix::fs::fstat(&lease).map_err(|errno| Error::io("examine", path, errno))?;
    match rustix::fs::lstat(path) {
        Ok(named) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino) => {
            Ok(Some(TempDir { path: path.to_path_buf(), lease }))
        }
        Ok(_) | Err(Errno::NOENT) => Err(Error::Replaced { path: path.to_path_buf() }),
        Err(errno) => Err(Error::io("examine", path, errno)),
    }
}

/// Whether any process holds the lease of this directory. The test takes a shared lock for an instant.
///
/// # Errors
/// [`Error::Io`] when the directory cannot be opened. A directory that is gone is such an error (its kind is
/// `NotFound`): gone is not the same as free.
pub fn lease_is_held(path: &Path) -> Result<bool, Error> {
    let dir = open_dir(path)?;
    match rustix::fs::flock(&dir, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(Error::io("test the lease of", path, errno)),
    }
}

/// Locks the new directory. Only a test of its lease can be in the way, and that takes an instant.
fn take_lease(lease: &OwnedFd, path: &Path) -> Result<(), Error> {
    let give_up = Instant::now() + LEASE_PATIENCE;
    loop {
        match rustix::fs::flock(lease, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Errno::WOULDBLOCK) => return Err(Error::Replaced { path: path.to_path_buf() }),
            Err(errno) => return Err(Error::io("take the lease of", path, errno)),
        }
    }
}

/// Opens the directory `<parent>/<name>`, which is created when it is missing, and makes sure that it is a real
/// directory of ours with mode 0700.
pub(crate) fn ensure_private_dir(parent: impl AsFd, name: &str, path: &Path) -> Result<OwnedFd, Error> {
    match rustix::fs::mkdirat(&parent, name, PRIVATE_DIR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(Error::io("create the directory", path, errno)),
    }
    let dir = open_dir_at(parent, name, path)?;
    make_private(&dir, path)?;
    Ok(dir)
}

/// Gives a directory that is ours the mode 0700. The umask may have taken bits away from a new one, and an
/// older one may have been opened up.
fn make_private(dir: &OwnedFd, path: &Path) -> Result<(), Error> {
    let stat = rustix::fs::fstat(dir).map_err(|errno| Error::io("examine", path, errno))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        let why = format!("it belongs to the user with id {}", stat.st_uid);
        return Err(Error::NotOurs { path: path.to_path_buf(), why });
    }
    if stat.st_mode & 0o777 != PRIVATE_DIR.as_raw_mode() {
        rustix::fs::fchmod(dir, PRIVATE_DIR).map_err(|errno| Error::io("set the mode of", path, errno))?;
    }
    Ok(())
}

/// Opens a directory by its path. The last component must not be a link.
pub(crate) fn open_dir(path: &Path) -> Result<OwnedFd, Error> {
    open_dir_at(rustix::fs::CWD, path, path)
}

/// Opens a directory below another one. The last component must not be a link.
fn open_dir_at(parent: impl AsFd, name: impl AsRef<OsStr>, path: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(parent, name.as_ref(), flags, Mode::empty()) {
        Ok(dir) => Ok(dir),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let why = "it is a link or a file where a real directory is needed".to_owned();
            Err(Error::NotOurs { path: path.to_path_buf(), why })
        }
        Err(errno) => Err(Error::io("open the directory", path, errno)),
    }
}

/// Accepts only what is exactly one directory entry.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    if plain { Ok(()) } else { Err(Error::BadName { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_six_hex_digits_and_depends_on_both_paths() {
        let one = namespace(Path::new("/home/a"), Path::new("/src/b"));
        assert_eq!(one.len(), NAMESPACE_LEN);
        assert!(one.chars().all(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase()), "{one}");
        assert_eq!(one, namespace(Path::new("/home/a"), Path::new("/src/b")), "the same pair, the same name");
        assert_ne!(one, namespace(Path::new("/home/a"), Path::new("/src/c")));
        assert_ne!(one, namespace(Path::new("/home/c"), Path::new("/src/b")));
        // The same bytes, cut at another place.
        assert_ne!(
            namespace(Path::new("/ab"), Path::new("/c")),
            namespace(Path::new("/ab/"), Path::new("c"))
        );
    }

    #[test]
    fn random_names_use_the_whole_alphabet_and_do_not_repeat() {
        let names: Vec<String> = (0..2000).map(|_| random_name()).collect();
        let distinct: std::collections::HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "two of 2000 names were the same");
        assert!(names.iter().all(|name| name.len() == NAME_LEN));
        for place in 0..NAME_LEN {
            let letters: std::collections::HashSet<u8> = names.iter().map(|n| n.as_bytes()[place]).collect();
            assert_eq!(letters.len(), 36, "place {place} does not use all 36 characters");
        }
    }

    #[test]
    fn only_plain_names_are_accepted() {
        for bad in ["", ".", "..", "a/b", "/a", "a\0b"] {
            assert!(matches!(check_name(bad), Err(Error::BadName { .. })), "{bad:?} was accepted");
        }
        for good in ["a", ".trash-ab12cd", "..."] {
            assert!(check_name(good).is_ok(), "{good:?} was refused");
        }
    }
}
