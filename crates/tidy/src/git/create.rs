//! Making a worktree, so that whatever dies in between, the next start knows what of it is ours.
//!
//! The journal entry is on the disk before anything is made. It names the directory before it exists (by a random
//! name) and knows it by its inode before it gets its own name. So a directory that only looks like an aborted
//! creation is never taken for one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use super::look::{self, Recorded};
use super::status::status;
use super::{Call, LONG_LIMIT, list, names};
use crate::Error;
use crate::temp::{check_name, random_name};

/// What git writes into the lock of a worktree that it is just making.
const INITIALIZING: &str = "initializing";

/// What the name of a file begins with that is being written.
const UNWRITTEN: &str = ".new-";

/// A worktree that is to be made.
#[derive(Debug, Clone)]
pub struct Order {
    /// Names the journal entry: one plain file name.
    pub id: String,
    /// A checkout of the repository.
    pub repository: PathBuf,
    /// Where it is to be. At most the directory right above it is made as well.
    pub path: PathBuf,
    /// A new branch for it; none for a detached head.
    pub branch: Option<String>,
    /// What it begins from: a branch or any revision.
    pub base: String,
}

/// One entry of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    repository: PathBuf,
    path: PathBuf,
    stage: PathBuf,
    branch: Option<String>,
    base_commit: String,
    parent_is_ours: bool,
    identity: Option<(u64, u64)>,
}

/// What became of a creation that was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// git had finished it.
    Complete(Recorded),
    /// Nothing of it is there, or what was there is cleared away.
    Nothing,
    /// A git, or a hook of it, is still at work. Look again later.
    InProgress {
        /// The process.
        pid: u32,
    },
    /// Something is there that is not provably ours, or holds files. It stays, and so does the journal entry.
    LeftAlone {
        /// Why.
        why: String,
    },
}

/// Makes a worktree. The journal entry stays until [`close`]: close it when the ledger knows that it is made.
///
/// # Errors
/// [`Error::BadRef`] for a bad branch or base, [`Error::Exists`] when the place is taken, [`Error::Refused`] for a
/// place in `.git`, else what git says. Then nothing is left of it, or the journal entry tells of it.
pub fn create(order: &Order, journal: &Path) -> Result<Recorded, Error> {
    check_name(&order.id)?;
    let repository = list::repository_of(&order.repository)?;
    if let Some(branch) = &order.branch {
        names::check_branch(&repository.root, branch)?;
        if names::value_of(&repository.root, &format!("refs/heads/{branch}"))?.is_some() {
            let why = "there is a branch of this name".to_owned();
            return Err(Error::BadRef { name: branch.clone(), why });
        }
    }
    let no_commit = || Error::BadRef { name: order.base.clone(), why: "it leads to no commit".to_owned() };
    let base_commit = names::commit_of(&repository.root, &order.base)?.ok_or_else(no_commit)?;
    let (path, parent_is_ours) = prepare(&order.path, &repository.common_dir)?;
    let stage = path.with_file_name(format!(".carillon-{}", random_name()));
    let branch = order.branch.clone();
    let mut entry = Entry {
        repository: repository.root.clone(),
        path,
        stage,
        branch,
        base_commit,
        parent_is_ours,
        identity: None,
    };
    write(journal, &order.id, &entry)?;
    let line = line_of(&repository.common_dir);
    let turn = line.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make(journal, &order.id, &mut entry);
    drop(turn);
    if made.is_err() && matches!(settle_entry(&entry), Ok(Settled::Nothing)) {
        close(journal, &order.id)?;
    }
    made?;
    let base_branch = names::value_of(&repository.root, &format!("refs/heads/{}", order.base))?;
    let base_branch = base_branch.map(|_| order.base.clone());
    Ok(Recorded { base_branch, ..entry.recorded() })
}

/// Where creations in one repository wait for each other: git (2.47) fails to read a worktree that another git is just
/// making, with "failed to read .git/worktrees/NAME/commondir".
fn line_of(common_dir: &Path) -> Arc<Mutex<()>> {
    static LINES: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> = LazyLock::new(Mutex::default);
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.retain(|_, line| Arc::strong_count(line) > 1);
    lines.entry(common_dir.to_owned()).or_default().clone()
}

impl Entry {
    fn recorded(&self) -> Recorded {
        Recorded {
            repository: self.repository.clone(),
            path: self.path.clone(),
            identity: self.identity,
            branch: self.branch.clone(),
            base_commit: self.base_commit.clone(),
            base_branch: None,
            copied: Vec::new(),
            parent_is_ours: self.parent_is_ours,
        }
    }
}

/// The resolved path of a place that is free, and whether the directory above it was made for it.
pub(crate) fn prepare(path: &Path, common_dir: &Path) -> Result<(PathBuf, bool), Error> {
    let bad = || Error::BadName { name: path.display().to_string() };
    let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
        return Err(bad());
    };
    let is_new = match std::fs::create_dir(parent) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(Error::io("create the directory", parent, error)),
    };
    let path = parent.canonicalize().map_err(|error| Error::io("resolve", parent, error))?.join(name);
    let free = match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("examine", &path, error)),
        Ok(_) => Err(Error::Exists { path: path.clone() }),
    };
    let outside = if path.starts_with(common_dir) {
        Err(Error::Refused { path: path.clone(), why: "it is inside of .git".to_owned() })
    } else {
        Ok(())
    };
    if let Err(error) = free.and(outside) {
        if is_new {
            // Only an empty one goes.
            let _ = std::fs::remove_dir(parent);
        }
        return Err(error);
    }
    Ok((path, is_new))
}

fn make(journal: &Path, id: &str, entry: &mut Entry) -> Result<(), Error> {
    let (stage, path) = (&entry.stage, &entry.path);
    std::fs::create_dir(stage).map_err(|error| Error::io("create the directory", stage, error))?;
    let meta = std::fs::symlink_metadata(stage).map_err(|error| Error::io("examine", stage, error))?;
    entry.identity = Some((meta.dev(), meta.ino()));
    write(journal, id, entry)?;
    renameat_with(CWD, stage, CWD, path, RenameFlags::NOREPLACE).map_err(|errno| match errno {
        rustix::io::Errno::EXIST => Error::Exists { path: path.clone() },
        errno => Error::io("rename to", path, errno),
    })?;
    let mut call = Call::new(&entry.repository, "add the worktree", &["worktree", "add", "--quiet"]);
    call = match &entry.branch {
        Some(branch) => call.arg("--no-track").arg("-b").arg(branch),
        None => call.arg("--detach"),
    };
    call.arg("--").arg(path).arg(&entry.base_commit).limit(LONG_LIMIT).output()?;
    let is_known = list::worktrees(&entry.repository)?.iter().any(|one| one.path == *path);
    if is_known {
        return Ok(());
    }
    let said = "git does not know it afterwards".to_owned();
    Err(Error::Git { operation: "add the worktree", dir: entry.repository.clone(), said })
}

/// The ids of the creations that are in the journal. To be asked at a start, before anything is made: an entry
/// that was not even written to its end is removed here, since nothing was made for it.
pub fn unfinished(journal: &Path) -> Vec<String> {
    for entry in std::fs::read_dir(journal).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(UNWRITTEN.as_bytes()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let entries = std::fs::read_dir(journal).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
        .collect();
    ids.sort();
    ids
}

/// Takes a creation out of the journal. One that is not there is fine.
///
/// # Errors
/// [`Error::Io`].
pub fn close(journal: &Path, id: &str) -> Result<(), Error> {
    let path = journal.join(format!("{id}.json"));
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("remove", &path, error)),
    }
}

/// Looks what a creation left that was cut short, and clears away what is provably its own and holds nothing but
/// what the checkout put there. The entry is closed when nothing is left.
///
/// # Errors
/// [`Error::Io`] when the entry cannot be read, else what git says.
pub fn settle(journal: &Path, id: &str) -> Result<Settled, Error> {
    let path = journal.join(format!("{id}.json"));
    let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
    let entry: Entry = serde_json::from_slice(&bytes).map_err(|error| Error::io("read", &path, error))?;
    let settled = settle_entry(&entry)?;
    if settled == Settled::Nothing {
        close(journal, id)?;
    }
    Ok(settled)
}

/// What a creation left that is still in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Husk {
    /// The checkout that it was made from.
    pub repository: PathBuf,
    /// Where it was to be.
    pub path: PathBuf,
    /// Something is there.
    pub is_there: bool,
    /// What is there is what was made, and nothing that only stands in its place.
    pub is_the_same: bool,
    /// git knows it, and had finished it.
    pub is_complete: bool,
    /// There is anything but directories and the `.git` file of a worktree in it.
    pub has_files: bool,
    /// Processes that use it.
    pub users: Vec<carillon_core::judge::User>,
}

/// Looks what a creation left, and changes nothing. See [`settle`] for what clears it away.
///
/// # Errors
/// As [`settle`].
pub fn peek(journal: &Path, id: &str) -> Result<Husk, Error> {
    let path = journal.join(format!("{id}.json"));
    let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
    let entry: Entry = serde_json::from_slice(&bytes).map_err(|error| Error::io("read", &path, error))?;
    let meta = std::fs::symlink_metadata(&entry.path).ok();
    let is_dir = meta.as_ref().is_some_and(std::fs::Metadata::is_dir);
    let is_the_same = meta.as_ref().is_some_and(|meta| entry.identity == Some((meta.dev(), meta.ino())));
    let own = match entry.repository.is_dir() {
        true => list::worktrees(&entry.repository)?.into_iter().find(|one| one.path == entry.path),
        false => None,
    };
    Ok(Husk {
        is_there: meta.is_some(),
        is_the_same: is_dir && is_the_same,
        is_complete: own.is_some_and(|own| own.locked.as_deref() != Some(INITIALIZING) && own.head.is_some()),
        has_files: is_dir && has_files(&entry.path)?,
        users: if is_dir { look::users(&entry.path) } else { Vec::new() },
        repository: entry.repository,
        path: entry.path,
    })
}

fn settle_entry(entry: &Entry) -> Result<Settled, Error> {
    if !entry.repository.is_dir() {
        return Ok(Settled::Nothing);
    }
    // Only an empty directory goes, and one of this name is nobody else's.
    let _ = std::fs::remove_dir(&entry.stage);
    let registered = list::worktrees(&entry.repository)?;
    let own = registered.iter().find(|one| one.path == entry.path);
    let meta = std::fs::symlink_metadata(&entry.path).ok();
    let Some(meta) = meta else {
        if own.is_some() {
            drop_entry(entry)?;
        }
        return cleared(entry);
    };
    if let Some(user) = look::users(&entry.path).first() {
        return Ok(Settled::InProgress { pid: user.pid });
    }
    let alone = |why: &str| Ok(Settled::LeftAlone { why: why.to_owned() });
    if !meta.is_dir() || entry.identity != Some((meta.dev(), meta.ino())) {
        return alone("what is there is not what was made");
    }
    let has_files = has_files(&entry.path)?;
    match own {
        None if has_files => return alone("there are files in it, and git does not know it"),
        None => clear_husk(&entry.path)?,
        Some(own) if own.locked.as_deref() != Some(INITIALIZING) && own.head.is_some() => {
            return Ok(Settled::Complete(entry.recorded()));
        }
        Some(_) if has_files && !is_only_a_checkout(entry)? => {
            return alone("it is not complete, and there are files in it that the checkout did not make");
        }
        Some(_) if has_files => drop_entry(entry)?,
        // git may have died before its way back was written, and would not remove what it cannot enter.
        Some(_) => {
            clear_husk(&entry.path)?;
            drop_entry(entry)?;
        }
    }
    cleared(entry)
}

/// Takes back the branch and the directory above, if they are as they were made.
fn cleared(entry: &Entry) -> Result<Settled, Error> {
    if let Some(branch) = &entry.branch {
        let full = format!("refs/heads/{branch}");
        let is_used =
            list::worktrees(&entry.repository)?.iter().any(|one| one.branch.as_ref() == Some(branch));
        if !is_used && names::value_of(&entry.repository, &full)?.as_deref() == Some(&entry.base_commit) {
            names::forget(&entry.repository, &full, &entry.base_commit)?;
        }
    }
    if entry.parent_is_ours {
        // Only an empty one goes.
        let _ = entry.path.parent().map(std::fs::remove_dir);
    }
    Ok(Settled::Nothing)
}

/// Has git remove what it began itself and had not finished.
fn drop_entry(entry: &Entry) -> Result<(), Error> {
    let call =
        |args: &[&str]| Call::new(&entry.repository, "remove the unfinished worktree", args).arg(&entry.path);
    // Not locked is as good as unlocked.
    let _ = call(&["worktree", "unlock", "--"]).answer()?;
    call(&["worktree", "remove", "--force", "--"]).limit(LONG_LIMIT).output()?;
    Ok(())
}

/// Whether there is anything but directories and the `.git` file of a worktree.
fn has_files(path: &Path) -> Result<bool, Error> {
    let failed = |error| Error::io("look through", path, error);
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_dir = entry.file_type().map_err(failed)?.is_dir();
        let is_empty_dir = is_dir && !has_files(&entry.path())?;
        if !is_empty_dir && entry.file_name() != ".git" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a directory without files, by calls that refuse to remove anything else.
fn clear_husk(path: &Path) -> Result<(), Error> {
    let failed = |error| Error::io("remove", path, error);
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            clear_husk(&entry.path())?;
        } else {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    std::fs::remove_dir(path).map_err(failed)
}

/// Whether every file there is just as the commit has it. The index of an unfinished checkout is of no use, so
/// one is made for the question.
fn is_only_a_checkout(entry: &Entry) -> Result<bool, Error> {
    let Some(admin) = look::admin_dir(&entry.path) else { return Ok(false) };
    let index = admin.join(format!("carillon-{}", random_name()));
    let read = Call::new(&entry.path, "read the commit", &["read-tree", &entry.base_commit]);
    let answer = read.env("GIT_INDEX_FILE", &index).output().and_then(|_| status(&entry.path, Some(&index)));
    let _ = std::fs::remove_file(&index);
    let status = answer?;
    Ok(status.lacks_only_files() && status.ignored.is_empty())
}

/// Writes an entry so that it is whole or not there, and on the disk.
fn write(journal: &Path, id: &str, entry: &Entry) -> Result<(), Error> {
    let text = serde_json::to_vec(entry).map_err(|error| Error::io("write", journal, error))?;
    write_durably(&journal.join(format!("{id}.json")), &text)
}

/// Replaces the file at `path`, mode 0600. Its directory is made when it is missing.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: io::Error| Error::io("write", path, error);
    let dir = path.parent().unwrap_or(Path::new("."));
    make_private_dir(dir)?;
    let bad = || Error::BadName { name: path.display().to_string() };
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).ok_or_else(bad)?;
    // Always the same name, so that an attempt that died is overwritten by the next one.
    let new = dir.join(format!("{UNWRITTEN}{name}"));
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
    let written = file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    let renamed = written.and_then(|()| std::fs::rename(&new, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    renamed.map_err(failed)?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)
}

/// A directory of ours in the data directory.
pub(crate) fn make_private_dir(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| Error::io("create the directory", dir, error))
}
