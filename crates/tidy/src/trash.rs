//! The trash of a base: trees are renamed into it, which is instant whatever their size, and deleted from there.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::descent::Descent;
use crate::temp::{check_name, ensure_private_dir, open_dir, random_name};
use crate::{Error, linux};

/// What the name of every trash begins with. Nothing outside such a directory is ever deleted.
pub const TRASH_PREFIX: &str = ".trash-";

/// How many entries that stayed are named at most; `Emptied::complete` tells of any number.
pub const REFUSED_MAX: usize = 1000;

/// How often another random name is tried when one is taken.
const NAME_TRIES: usize = 8;
/// How often a trash is made anew that is removed while something is on its way into it.
const GONE_TRIES: usize = 1_000;

/// What emptying did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Bytes on the disk that came free. A file with further hard links frees none.
    pub bytes: u64,
    /// Entries that were removed: files, links, directories and all else.
    pub entries: u64,
    /// What stayed, with the reason; at most [`REFUSED_MAX`]. The directories above it stay as well.
    pub refused: Vec<(PathBuf, String)>,
    /// Whether everything went. False when something was refused, or when time was up or it was cancelled.
    pub complete: bool,
}

/// The name of the trash of a namespace.
pub fn name(namespace: &str) -> String {
    format!("{TRASH_PREFIX}{namespace}")
}

/// Renames `path` to a random name in the trash `<base>/<trash_name>`, which is created when it is missing, and
/// returns where it is now. A link is renamed itself. A directory without the write bit gets it first, since
/// renaming it changes it. What was open stays open, so a tree in use should not be buried.
///
/// # Errors
/// [`Error::BadName`] when `trash_name` is not the name of a trash (see [`name`]), [`Error::OtherFileSystem`]
/// when `path` is not on the file system of the base, [`Error::NotOurs`] when base or trash are links or another
/// user's, else [`Error::Io`]. In each case `path` is where it was.
pub fn bury(base: &Path, trash_name: &str, path: &Path) -> Result<PathBuf, Error> {
    let mut tries = 0;
    loop {
        let buried =
            open(base, trash_name).and_then(|trash| bury_in(base, trash_name, &trash, path, &random_name()));
        match buried {
            Err(Error::Exists { .. }) if tries < NAME_TRIES => tries += 1,
            // Whoever has emptied the trash has removed it under us.
            Err(Error::Io { source, .. })
                if tries < GONE_TRIES
                    && source.kind() == std::io::ErrorKind::NotFound
                    && path.symlink_metadata().is_ok() =>
            {
                tries += 1;
            }
            answer => return answer,
        }
    }
}

/// Opens the trash `<base>/<trash_name>`, which is created when it is missing.
pub(crate) fn open(base: &Path, trash_name: &str) -> Result<OwnedFd, Error> {
    check_name(trash_name)?;
    if !trash_name.starts_with(TRASH_PREFIX) {
        return Err(Error::BadName { name: trash_name.to_owned() });
    }
    ensure_private_dir(open_dir(base)?, trash_name, &base.join(trash_name))
}

/// As [`bury`], under a name of the caller's.
pub(crate) fn bury_as(base: &Path, trash_name: &str, path: &Path, new_name: &str) -> Result<PathBuf, Error> {
    check_name(new_name)?;
    bury_in(base, trash_name, &open(base, trash_name)?, path, new_name)
}

fn bury_in(
    base: &Path,
    trash_name: &str,
    trash: &OwnedFd,
    path: &Path,
    new_name: &str,
) -> Result<PathBuf, Error> {
    let trash_path = base.join(trash_name);
    let bad_name = || Error::BadName { name: path.display().to_string() };
    let (Some(parent_path), Some(entry)) = (path.parent(), path.file_name()) else { return Err(bad_name()) };
    let entry = CString::new(entry.as_bytes()).map_err(|_| bad_name())?;
    let parent_path = if parent_path.as_os_str().is_empty() { Path::new(".") } else { parent_path };
    let parent =
        rustix::fs::open(parent_path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| Error::io("open the directory", parent_path, errno))?;
    let mut may_let_in = true;
    loop {
        match rename(&parent, &entry, trash, new_name) {
            Ok(()) => return Ok(trash_path.join(new_name)),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {
                return Err(Error::Exists { path: trash_path.join(new_name) });
            }
            Err(Errno::XDEV) => {
                return Err(Error::OtherFileSystem { path: path.to_path_buf(), trash: trash_path });
            }
            Err(Errno::ACCESS | Errno::PERM) if may_let_in => {
                may_let_in = false;
                // When this fails, the second attempt reports why the tree cannot be renamed.
                let _ = linux::let_owner_in(&parent, &entry);
            }
            Err(errno) => return Err(Error::io("move into the trash", path, errno)),
        }
    }
}

/// Renames without replacing anything, also on file systems that cannot promise that.
fn rename(parent: &OwnedFd, entry: &CString, trash: &OwnedFd, new_name: &str) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(parent, entry, trash, new_name, RenameFlags::NOREPLACE) {
        // The name is random in a directory of ours alone, so nothing is there that could be replaced.
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(parent, entry, trash, new_name),
        answer => answer,
    }
}

/// Deletes everything in `dir`, which must be a trash or lie in one; `dir` itself stays. One that is not there
/// is empty.
///
/// No link is followed, no other mount is entered, a directory that holds a `.git` stays as it is, and read-only
/// directories get their write bit. What cannot go is in [`Emptied::refused`], and the rest goes. Trees may
/// change meanwhile in any way: each step works on an open directory, never on a path.
///
/// It ends early when `until` has come or `cancel` is set, at the latest after the entry in hand.
pub fn empty(dir: &Path, until: Option<Instant>, cancel: &AtomicBool) -> Emptied {
    empty_with(dir, until, cancel, Repositories::Stay)
}

/// Whether repositories in a trash go with the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repositories {
    /// They stay: nobody has said that they may go.
    Stay,
    /// They go: they were made by a program whose leavings were named beforehand, and nobody wanted them back.
    Go,
}

/// As [`empty`], with a word on repositories.
pub(crate) fn empty_with(
    dir: &Path,
    until: Option<Instant>,
    cancel: &AtomicBool,
    repositories: Repositories,
) -> Emptied {
    let refused = |why: String| Emptied { refused: vec![(dir.to_path_buf(), why)], ..Emptied::default() };
    let opened = match open_dir(dir) {
        Ok(opened) => opened,
        Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => {
            return Emptied { complete: true, ..Emptied::default() };
        }
        Err(error) => return refused(error.to_string()),
    };
    match linux::path_of(&opened) {
        Ok(real) if is_in_a_trash(&real) => {}
        Ok(real) => {
            return refused(format!("{} is not in a trash, so nothing in it is deleted", real.display()));
        }
        Err(error) => return refused(format!("where it is cannot be told: {error}")),
    }
    match Descent::begin(dir, opened, until, cancel, repositories) {
        Ok(descent) => descent.run(),
        Err(why) => refused(why),
    }
}

fn is_in_a_trash(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => name.as_bytes().starts_with(TRASH_PREFIX.as_bytes()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => false,
    })
}
