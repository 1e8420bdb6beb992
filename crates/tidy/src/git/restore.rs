//! Bringing a worktree back from its archive.
//!
//! It is built beside its place under a name of its own and moved there as the last step, so a restore that was
//! cut short is built anew, and what is in the place is never touched.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::archive::{About, NAMESPACE, OF_BRANCH, tar_path};
use super::look::{Recorded, admin_dir};
use super::{Call, LONG_LIMIT, create, fields, list, names, path_from};
use crate::Error;

/// Files are read from git in portions of at most so many bytes; a larger one comes alone.
const PORTION: u64 = 16 * 1024 * 1024;

/// Says, beside what git keeps of a worktree, from which archive it was built.
const BUILT_FROM: &str = "carillon-built-from";

/// A worktree that is back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What is to be recorded of it from now on.
    pub recorded: Recorded,
    /// What is not as it was, in sentences.
    pub notes: Vec<String>,
}

/// Brings back what `reference` keeps to where it was, `recorded.path`. The archive stays.
///
/// # Errors
/// [`Error::Exists`] when anything is there, [`Error::Refused`] when there is no such archive or it cannot be
/// read, else what git or the system says. Then nothing is left of the attempt but what the next one clears away.
pub fn restore(recorded: &Recorded, reference: &str, data_dir: &Path) -> Result<Restored, Error> {
    let repository = list::repository_of(&recorded.repository)?;
    let refused = |why: &str| Error::Refused { path: PathBuf::from(reference), why: why.to_owned() };
    let id = reference.strip_prefix(NAMESPACE).ok_or_else(|| refused("it is no archive"))?;
    let about = if is_of_branch(id) {
        of_branch(recorded, reference)?.ok_or_else(|| refused("it is not there"))?
    } else {
        let about =
            object(&recorded.repository, reference, "about")?.ok_or_else(|| refused("it is not there"))?;
        serde_json::from_slice(&about).map_err(|error| refused(&error.to_string()))?
    };
    let (path, parent_is_ours) = if is_back(recorded, reference)? {
        // An attempt before this one came as far as that, and nobody heard of it.
        (recorded.path.clone(), false)
    } else {
        let (path, parent_is_ours) = create::prepare(&recorded.path, &repository.common_dir)?;
        let stage = path.with_file_name(stage_name(id));
        let result = build(recorded, reference, &about, &stage, &tar_path(data_dir, id))
            .and_then(|()| put_in_place(recorded, &stage, &path));
        if let Err(error) = result {
            // What was built comes out of the archive, which is still there.
            let _ = clear(&recorded.repository, &stage);
            if parent_is_ours {
                let _ = path.parent().map(std::fs::remove_dir);
            }
            return Err(error);
        }
        (path, parent_is_ours)
    };
    let mut notes = about.not_kept.iter().map(|(path, why)| format!("{path} is not back: {why}")).collect();
    attach_branch(&path, &about, &mut notes)?;
    let meta = std::fs::symlink_metadata(&path).map_err(|error| Error::io("examine", &path, error))?;
    let identity = Some((meta.dev(), meta.ino()));
    let parent_is_ours = parent_is_ours || recorded.parent_is_ours;
    Ok(Restored { recorded: Recorded { path, identity, parent_is_ours, ..recorded.clone() }, notes })
}

/// Whether a reference leads to the commits of a branch, and not to an archive. The names in such a commit are the
/// user's, whatever they are called.
fn is_of_branch(id: &str) -> bool {
    id.contains(OF_BRANCH)
}

/// What there is to say of a branch whose worktree somebody else had taken away: nothing else was left to keep.
fn of_branch(recorded: &Recorded, reference: &str) -> Result<Option<About>, Error> {
    let Some(head) = names::commit_of(&recorded.repository, reference)? else { return Ok(None) };
    let lost = "its directory had been taken away, so there are only its commits".to_owned();
    Ok(Some(About {
        version: 1,
        path: recorded.path.display().to_string(),
        head,
        branch: recorded.branch.clone(),
        base_commit: recorded.base_commit.clone(),
        has_tar: false,
        not_kept: vec![("what was not committed".to_owned(), lost)],
    }))
}

/// Clears away what a restore of this archive left that was cut short, at a start. True when there was something.
/// A restore that nobody heard of but that was complete stays: asked for again, it is found.
///
/// # Errors
/// What git says.
pub fn clear_unfinished(recorded: &Recorded, reference: &str) -> Result<bool, Error> {
    let Some(id) = reference.strip_prefix(NAMESPACE) else { return Ok(false) };
    let stage = recorded.path.with_file_name(stage_name(id));
    if std::fs::symlink_metadata(&stage).is_err() {
        return Ok(false);
    }
    clear(&recorded.repository, &stage)?;
    // An empty one is left where git died before it knew it.
    let _ = std::fs::remove_dir(&stage);
    if recorded.parent_is_ours {
        let _ = stage.parent().map(std::fs::remove_dir);
    }
    Ok(true)
}

fn stage_name(id: &str) -> String {
    format!(".carillon-restore-{id}")
}

/// Whether the worktree in the place is what a restore of just this archive built.
fn is_back(recorded: &Recorded, reference: &str) -> Result<bool, Error> {
    let is_known = list::worktrees(&recorded.repository)?.iter().any(|one| one.path == recorded.path);
    let built_from =
        admin_dir(&recorded.path).and_then(|admin| std::fs::read_to_string(admin.join(BUILT_FROM)).ok());
    Ok(is_known && built_from.as_deref() == Some(reference))
}

fn call(dir: &Path, args: &[&str]) -> Call {
    Call::new(dir, "restore the worktree", args).limit(LONG_LIMIT)
}

fn object(dir: &Path, reference: &str, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let object = format!("{reference}:{name}");
    let answer = call(dir, &["cat-file", "blob", &object]).answer()?;
    Ok(answer.status.success().then_some(answer.out))
}

/// Removes what an attempt before left under this name, which is ours alone.
fn clear(repository: &Path, stage: &Path) -> Result<(), Error> {
    let is_known = list::worktrees(repository)?.iter().any(|one| one.path == *stage);
    if is_known {
        // It has no changes but those that the archive has. A lock is that of a git that died while it made it.
        let _ = call(repository, &["worktree", "unlock", "--"]).arg(stage).answer()?;
        call(repository, &["worktree", "remove", "--force", "--"]).arg(stage).output()?;
    }
    Ok(())
}

fn build(recorded: &Recorded, reference: &str, about: &About, stage: &Path, tar: &Path) -> Result<(), Error> {
    let repository = &recorded.repository;
    clear(repository, stage)?;
    let add = call(repository, &["worktree", "add", "--quiet", "--no-checkout", "--detach", "--"]);
    add.arg(stage).arg(&about.head).output()?;
    let admin = admin_dir(stage).ok_or_else(|| Error::Refused {
        path: stage.to_path_buf(),
        why: "it leads to no repository".to_owned(),
    })?;
    let is_of_branch = reference.strip_prefix(NAMESPACE).is_some_and(is_of_branch);
    if is_of_branch {
        call(stage, &["read-tree", &about.head]).output()?;
    } else {
        restore_index(stage, reference, &admin.join("index"))?;
    }
    call(stage, &["checkout-index", "--all", "--quiet"]).output()?;
    if !is_of_branch {
        restore_changes(recorded, reference, about, stage, tar)?;
    }
    let built_from = admin.join(BUILT_FROM);
    std::fs::write(&built_from, reference).map_err(|error| Error::io("write", &built_from, error))?;
    // The times in the index are those of other files; what is still the same shows by this.
    call(stage, &["update-index", "-q", "--refresh"]).answer()?;
    Ok(())
}

/// What was not as a checkout of the index gives it.
fn restore_changes(
    recorded: &Recorded,
    reference: &str,
    about: &About,
    stage: &Path,
    tar: &Path,
) -> Result<(), Error> {
    let repository = &recorded.repository;
    let deleted = object(repository, reference, "deleted")?.unwrap_or_default();
    for path in fields(&deleted).map(path_from) {
        // The checkout has just made it, unless it was told not to.
        let _ = std::fs::remove_file(stage.join(path));
    }
    let modes = object(repository, reference, "modes")?.unwrap_or_default();
    restore_files(stage, reference)?;
    restore_modes(stage, &modes)?;
    if about.has_tar {
        let failed = |error| Error::io("unpack", tar, error);
        let file = std::fs::File::open(tar).map_err(failed)?;
        let mut tar = tar::Archive::new(file);
        tar.set_preserve_permissions(true);
        tar.set_preserve_mtime(true);
        tar.unpack(stage).map_err(failed)?;
    }
    Ok(())
}

/// The index as it was, or, where it depended on a file that is gone, one with the same content.
fn restore_index(stage: &Path, reference: &str, index: &Path) -> Result<(), Error> {
    if let Some(bytes) = object(stage, reference, "index")? {
        std::fs::write(index, bytes).map_err(|error| Error::io("write", index, error))?;
        if call(stage, &["ls-files", "--stage", "-z"]).answer()?.status.success() {
            return Ok(());
        }
        std::fs::remove_file(index).map_err(|error| Error::io("remove", index, error))?;
    }
    call(stage, &["read-tree", &format!("{reference}:index-tree")]).output()?;
    Ok(())
}

/// One file of an archive.
struct Kept {
    is_link: bool,
    name: String,
    bytes: u64,
    path: PathBuf,
}

fn restore_files(stage: &Path, reference: &str) -> Result<(), Error> {
    let tree = format!("{reference}:files");
    let out = call(stage, &["ls-tree", "-r", "-z", "--long", "--full-tree", &tree]).output()?;
    let mut portion: Vec<Kept> = Vec::new();
    for kept in fields(&out).filter_map(parse) {
        if !portion.is_empty() && portion.iter().map(|one| one.bytes).sum::<u64>() + kept.bytes > PORTION {
            restore_portion(stage, &portion)?;
            portion.clear();
        }
        portion.push(kept);
    }
    restore_portion(stage, &portion)
}

/// "mode type name size TAB path", the size padded.
fn parse(line: &[u8]) -> Option<Kept> {
    let at = line.iter().position(|byte| *byte == b'\t')?;
    let text = std::str::from_utf8(&line[..at]).ok()?;
    let mut words = text.split_ascii_whitespace();
    let (mode, _, name, bytes) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some(Kept {
        is_link: mode == "120000",
        name: name.to_owned(),
        bytes: bytes.parse().ok()?,
        path: path_from(&line[at + 1..]),
    })
}

fn restore_portion(stage: &Path, portion: &[Kept]) -> Result<(), Error> {
    if portion.is_empty() {
        return Ok(());
    }
    let input: String = portion.iter().map(|kept| format!("{}\n", kept.name)).collect();
    let room = portion.iter().map(|kept| kept.bytes + 256).sum::<u64>();
    let batch = call(stage, &["cat-file", "--batch"]).input(input.into_bytes());
    let out = batch.output_max(usize::try_from(room).unwrap_or(usize::MAX)).output()?;
    let mut rest = &out[..];
    for kept in portion {
        let bad = || Error::Refused { path: kept.path.clone(), why: "the archive has lost it".to_owned() };
        let head = rest.iter().position(|byte| *byte == b'\n').ok_or_else(bad)?;
        let size = usize::try_from(kept.bytes).map_err(|_| bad())?;
        let bytes = rest.get(head + 1..head + 1 + size).ok_or_else(bad)?;
        rest = rest.get(head + 2 + size..).ok_or_else(bad)?;
        put(&stage.join(&kept.path), bytes, kept.is_link)?;
    }
    Ok(())
}

/// Puts a file or a link where the checkout may have put another one.
fn put(path: &Path, bytes: &[u8], is_link: bool) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    match std::fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    if is_link {
        return std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(bytes), path).map_err(failed);
    }
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(failed)
}

fn restore_modes(stage: &Path, modes: &[u8]) -> Result<(), Error> {
    for line in fields(modes) {
        let Some(at) = line.iter().position(|byte| *byte == b' ') else { continue };
        let mode = std::str::from_utf8(&line[..at]).ok().and_then(|text| u32::from_str_radix(text, 8).ok());
        let path = stage.join(path_from(&line[at + 1..]));
        if let Some(mode) = mode {
            let set = std::fs::set_permissions(&path, Permissions::from_mode(mode));
            set.map_err(|error| Error::io("set the mode of", &path, error))?;
        }
    }
    Ok(())
}

fn put_in_place(recorded: &Recorded, stage: &Path, path: &Path) -> Result<(), Error> {
    // git moves into a directory that is there; nothing may be there.
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(Error::Exists { path: path.to_path_buf() });
    }
    call(&recorded.repository, &["worktree", "move", "--"]).arg(stage).arg(path).output()?;
    Ok(())
}

/// Puts the worktree on its branch again, if that still is, or can be, where it was.
fn attach_branch(path: &Path, about: &About, notes: &mut Vec<String>) -> Result<(), Error> {
    let Some(branch) = &about.branch else { return Ok(()) };
    let full = format!("refs/heads/{branch}");
    let on_it: Vec<PathBuf> = list::worktrees(path)?
        .into_iter()
        .filter(|one| one.branch.as_ref() == Some(branch))
        .map(|one| one.path)
        .collect();
    if on_it.iter().any(|one| one == path) {
        return Ok(());
    }
    let is_used = !on_it.is_empty();
    match names::value_of(path, &full)? {
        None => names::keep(path, &full, &about.head)?,
        Some(tip) if tip == about.head && !is_used => {}
        Some(_) => {
            notes.push(format!("the branch {branch} has moved on or is in use, so it is on no branch"));
            return Ok(());
        }
    }
    call(path, &["symbolic-ref", "-m", "carillon: restore", "HEAD", &full]).output()?;
    Ok(())
}
