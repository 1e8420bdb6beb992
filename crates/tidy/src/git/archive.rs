//! Keeping what a worktree holds, so that it can be brought back byte for byte: one commit below
//! `refs/carillon/archive/`, and a tar in the data directory for what must never get into git.
//!
//! The commit's tree has `about` (what it is of), `index` (the index as it was, as bytes), `index-tree`, `files`
//! (every file whose bytes are not what a checkout of the index would give, without any filter), `modes` and
//! `deleted`. Its parents are the commits that the worktree led to, so none of them can be collected.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::look::{self, Look, Recorded};
use super::{Call, LONG_LIMIT, create, fields, names, path_from, stop};
use crate::Error;

/// Where archives are kept in a repository.
pub const NAMESPACE: &str = "refs/carillon/archive/";
/// What follows the id in the reference that keeps the commits of a branch, and nothing else.
pub(crate) const OF_BRANCH: &str = ".branch";
/// Most things that could not be kept that are named.
const NOT_KEPT_MAX: usize = 1_000;

/// An archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The reference that brings it back.
    pub reference: String,
    /// The tar with the ignored files that cannot be made again, where there are any.
    pub tar: Option<PathBuf>,
    /// What could not be kept, with the reason.
    pub not_kept: Vec<(PathBuf, String)>,
}

/// What `about` says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) version: u32,
    pub(crate) path: String,
    /// The commit that it stood on.
    pub(crate) head: String,
    /// The branch that it stood on.
    pub(crate) branch: Option<String>,
    pub(crate) base_commit: String,
    /// A tar belongs to it.
    pub(crate) has_tar: bool,
    pub(crate) not_kept: Vec<(String, String)>,
}

/// The tar of an archive.
pub(crate) fn tar_path(data_dir: &Path, id: &str) -> PathBuf {
    data_dir.join("archives").join(format!("{id}.tar"))
}

/// Writes the archive `id` of a worktree that was just looked at. `now_s` is the time in Unix seconds.
///
/// When this fails, nothing of the worktree may be removed. What was written until then leads nowhere and is
/// collected by git, and a tar without its reference is overwritten by the next attempt.
///
/// # Errors
/// [`Error::Exists`] when there is an archive of this id, else what git or the system says.
pub fn write(
    recorded: &Recorded,
    look: &Look,
    id: &str,
    data_dir: &Path,
    now_s: i64,
) -> Result<Archive, Error> {
    crate::temp::check_name(id)?;
    let dir = &recorded.path;
    let reference = format!("{NAMESPACE}{id}");
    if names::value_of(&recorded.repository, &reference)?.is_some() {
        return Err(Error::Exists { path: PathBuf::from(reference) });
    }
    let no_head = || Error::Refused { path: dir.clone(), why: "it stands on no commit".to_owned() };
    let head = look.head.clone().ok_or_else(no_head)?;
    let lost = || Error::Refused { path: dir.clone(), why: "it leads to no repository".to_owned() };
    let admin = look::admin_dir(dir).ok_or_else(lost)?;
    // Beside what git keeps of the worktree, so that it goes with that, whatever dies here.
    let scratch = admin.join("carillon-archive");
    create::make_private_dir(&scratch)?;
    clear(&scratch);
    let kept = Keeper { dir, admin: &admin, scratch: &scratch }.keep(look);
    clear(&scratch);
    let _ = std::fs::remove_dir(&scratch);
    let mut kept = kept?;
    // A copy that is as its original is made again by whoever made it.
    kept.not_kept.retain(|(path, _)| !recorded.copied.iter().any(|copied| Path::new(copied) == path));
    let tar = write_tar(dir, &look.facts.precious, &tar_path(data_dir, id))?;
    let kept_by = || -> Result<(), Error> {
        let about = About {
            version: 1,
            path: dir.display().to_string(),
            head: head.clone(),
            branch: branch_of(look),
            base_commit: recorded.base_commit.clone(),
            has_tar: tar.is_some(),
            not_kept: in_words(&kept.not_kept),
        };
        let commit = seal(recorded, &kept, &about, now_s)?;
        sync(&recorded.repository)?;
        stop::pass()?;
        names::keep(&recorded.repository, &reference, &commit)
    };
    match kept_by() {
        Ok(()) => {}
        // Nothing leads to it, and nobody is about to try again.
        Err(Error::Stopped) => {
            let _ = tar.map(std::fs::remove_file);
            return Err(Error::Stopped);
        }
        Err(error) => return Err(error),
    }
    Ok(Archive { reference, tar, not_kept: kept.not_kept })
}

fn in_words(not_kept: &[(PathBuf, String)]) -> Vec<(String, String)> {
    not_kept.iter().map(|(path, why)| (path.display().to_string(), why.clone())).collect()
}

/// Removes what an attempt made here: two indexes, and the locks that git puts beside them.
fn clear(scratch: &Path) {
    for name in ["index", "index.lock", "files", "files.lock"] {
        let _ = std::fs::remove_file(scratch.join(name));
    }
}

fn branch_of(look: &Look) -> Option<String> {
    match &look.facts.commits.head {
        carillon_core::judge::Head::Branch(name) => Some(name.clone()),
        carillon_core::judge::Head::Detached | carillon_core::judge::Head::Unborn => None,
    }
}

/// Everything that was written is on the disk before something leads to it.
fn sync(repository: &Path) -> Result<(), Error> {
    let common = super::list::repository_of(repository)?.common_dir;
    let file = std::fs::File::open(&common).map_err(|error| Error::io("open", &common, error))?;
    rustix::fs::syncfs(&file).map_err(|errno| Error::io("sync", &common, errno))
}

/// What was kept of the files: names of objects, and lists.
#[derive(Debug, Default)]
struct Kept {
    index: Option<String>,
    index_tree: String,
    files_tree: String,
    modes: Vec<u8>,
    deleted: Vec<u8>,
    not_kept: Vec<(PathBuf, String)>,
}

struct Keeper<'a> {
    dir: &'a Path,
    admin: &'a Path,
    scratch: &'a Path,
}

impl Keeper<'_> {
    fn call(&self, args: &[&str]) -> Call {
        Call::new(self.dir, "write the archive", args).limit(LONG_LIMIT)
    }

    fn keep(&self, look: &Look) -> Result<Kept, Error> {
        let mut kept = Kept::default();
        self.keep_index(&self.admin.join("index"), &mut kept)?;
        let mut paths: Vec<PathBuf> = look.status.untracked.clone();
        for changed in &look.status.changed {
            if changed.is_submodule {
                let why = "a submodule is not kept; its commits are elsewhere".to_owned();
                kept.not_kept.push((changed.path.clone(), why));
            } else if changed.in_worktree == b'D' {
                push_path(&mut kept.deleted, &changed.path);
            } else if changed.in_worktree != b'.' {
                paths.push(changed.path.clone());
            }
        }
        paths.extend(self.differing_bytes()?);
        paths.sort();
        paths.dedup();
        self.keep_files(&paths, &mut kept)?;
        for ignored in &look.status.ignored {
            let name = ignored.to_string_lossy().into_owned();
            if !look.facts.precious.contains(&name) && kept.not_kept.len() < NOT_KEPT_MAX {
                kept.not_kept.push((ignored.clone(), "it is ignored, and can be made again".to_owned()));
            }
        }
        Ok(kept)
    }

    fn keep_index(&self, index: &Path, kept: &mut Kept) -> Result<(), Error> {
        let copy = self.scratch.join("index");
        match std::fs::copy(index, &copy) {
            Ok(_) => {
                let name = self.call(&["hash-object", "-w", "--no-filters", "--"]).arg(&copy).text()?;
                kept.index = Some(name);
            }
            // Nothing was ever added: an index that is not there is empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", index, error)),
        }
        kept.index_tree = self.call(&["write-tree"]).env("GIT_INDEX_FILE", &copy).text()?;
        Ok(())
    }

    /// Tracked files that git takes for unchanged and whose bytes are still not those of the index: a filter or
    /// an end-of-line rule is in between, or git was told not to look.
    fn differing_bytes(&self) -> Result<Vec<PathBuf>, Error> {
        let out = self.call(&["ls-files", "--stage", "-z"]).output()?;
        let mut asked = Vec::new();
        let mut found = Vec::new();
        for line in fields(&out) {
            let Some(at) = line.iter().position(|byte| *byte == b'\t') else { continue };
            let path = path_from(&line[at + 1..]);
            let oid = String::from_utf8_lossy(&line[..at]).split(' ').nth(1).unwrap_or_default().to_owned();
            let is_file = std::fs::symlink_metadata(self.dir.join(&path)).is_ok_and(|meta| meta.is_file());
            if !line.starts_with(b"100") || !is_file {
                continue;
            }
            if is_easy(&path) { asked.push((path, oid)) } else { found.push(path) }
        }
        let paths: Vec<&Path> = asked.iter().map(|(path, _)| path.as_path()).collect();
        let names = self.hash(&paths, false)?;
        let differs = asked.iter().zip(&names).filter(|((_, oid), name)| oid != *name);
        found.extend(differs.map(|((path, _), _)| path.clone()));
        Ok(found)
    }

    /// The names that the bytes of these files have as objects; with `write` they are written.
    fn hash(&self, paths: &[&Path], write: bool) -> Result<Vec<String>, Error> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(b'\n');
        }
        let mut args = vec!["hash-object", "--no-filters", "--stdin-paths"];
        if write {
            args.push("-w");
        }
        let text = self.call(&args).input(input).text()?;
        let names: Vec<String> = text.lines().map(str::to_owned).collect();
        if names.len() == paths.len() {
            return Ok(names);
        }
        let said = format!("{} files gave {} names", paths.len(), names.len());
        Err(Error::Git { operation: "write the archive", dir: self.dir.to_path_buf(), said })
    }

    fn keep_files(&self, paths: &[PathBuf], kept: &mut Kept) -> Result<(), Error> {
        let mut lines = Vec::new();
        let mut easy = Vec::new();
        for path in paths {
            let full = self.dir.join(path);
            let meta = std::fs::symlink_metadata(&full).map_err(|error| Error::io("read", &full, error))?;
            if meta.is_symlink() {
                let target = std::fs::read_link(&full).map_err(|error| Error::io("read", &full, error))?;
                let bytes = target.as_os_str().as_bytes().to_vec();
                let name = self.call(&["hash-object", "-w", "--stdin"]).input(bytes).text()?;
                push_line(&mut lines, "120000", &name, path);
            } else if !meta.is_file() {
                kept.not_kept.push((path.clone(), "it is neither a file nor a link".to_owned()));
            } else {
                kept.modes.extend_from_slice(format!("{:o} ", meta.mode() & 0o7777).as_bytes());
                push_path(&mut kept.modes, path);
                if is_easy(path) {
                    easy.push(path.as_path());
                } else {
                    let name = self.call(&["hash-object", "-w", "--no-filters", "--"]).arg(&full).text()?;
                    push_line(&mut lines, "100644", &name, path);
                }
            }
        }
        for (path, name) in easy.iter().zip(self.hash(&easy, true)?) {
            push_line(&mut lines, "100644", &name, path);
        }
        let index = self.scratch.join("files");
        let add = self.call(&["update-index", "-z", "--add", "--index-info"]).env("GIT_INDEX_FILE", &index);
        if !lines.is_empty() {
            add.input(lines).output()?;
        }
        kept.files_tree = self.call(&["write-tree"]).env("GIT_INDEX_FILE", &index).text()?;
        Ok(())
    }
}

/// Whether a path can stand on a line of its own: git takes a quote at the beginning as one.
fn is_easy(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    !bytes.contains(&b'\n') && !bytes.starts_with(b"\"")
}

fn push_path(list: &mut Vec<u8>, path: &Path) {
    list.extend_from_slice(path.as_os_str().as_bytes());
    list.push(0);
}

fn push_line(lines: &mut Vec<u8>, mode: &str, name: &str, path: &Path) {
    lines.extend_from_slice(format!("{mode} {name}\t").as_bytes());
    push_path(lines, path);
}

/// Makes the commit. It is by us, whoever the user is, and not signed.
fn seal(recorded: &Recorded, kept: &Kept, about: &About, now_s: i64) -> Result<String, Error> {
    let dir = &recorded.repository;
    let call = |args: &[&str]| Call::new(dir, "write the archive", args);
    let blob = |bytes: Vec<u8>| call(&["hash-object", "-w", "--no-filters", "--stdin"]).input(bytes).text();
    let about = serde_json::to_vec(about)
        .map_err(|error| Error::io("write the archive of", &recorded.path, error))?;
    let mut tree = Vec::new();
    let mut add = |kind: &str, name: &str, object: &str| {
        let mode = if kind == "tree" { "040000" } else { "100644" };
        tree.extend_from_slice(format!("{mode} {kind} {object}\t{name}\0").as_bytes());
    };
    add("blob", "about", &blob(about)?);
    add("blob", "deleted", &blob(kept.deleted.clone())?);
    add("tree", "files", &kept.files_tree);
    if let Some(index) = &kept.index {
        add("blob", "index", index);
    }
    add("tree", "index-tree", &kept.index_tree);
    add("blob", "modes", &blob(kept.modes.clone())?);
    let tree = call(&["mktree", "-z"]).input(tree).text()?;
    let message = format!("Archive of the workdir {}\n", recorded.path.display());
    let mut commit = call(&["commit-tree", &tree, "-F", "-"]).input(message.into_bytes());
    for parent in parents(recorded)? {
        commit = commit.arg("-p").arg(parent);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        commit = commit
            .env(&format!("GIT_{who}_NAME"), "Carillon")
            .env(&format!("GIT_{who}_EMAIL"), "carillon@localhost")
            .env(&format!("GIT_{who}_DATE"), format!("{now_s} +0000"));
    }
    commit.text()
}

/// The commit that it stands on first, then the tip of the branch that was made with it, if that is another.
fn parents(recorded: &Recorded) -> Result<Vec<String>, Error> {
    let mut parents: Vec<String> = names::commit_of(&recorded.path, "HEAD")?.into_iter().collect();
    if let Some(branch) = &recorded.branch {
        parents.extend(names::value_of(&recorded.repository, &format!("refs/heads/{branch}"))?);
    }
    parents.dedup();
    Ok(parents)
}

/// Packs these files, mode 0600; none for no files.
fn write_tar(dir: &Path, files: &[String], path: &Path) -> Result<Option<PathBuf>, Error> {
    if files.is_empty() {
        return Ok(None);
    }
    let failed = |error| Error::io("write", path, error);
    let mut tar = tar::Builder::new(Vec::new());
    tar.follow_symlinks(false);
    for file in files {
        tar.append_path_with_name(dir.join(file), file).map_err(failed)?;
    }
    create::write_durably(path, &tar.into_inner().map_err(failed)?)?;
    Ok(Some(path.to_path_buf()))
}

/// A hash over everything by which a change of the kept files would show: which there are, their sizes, inodes
/// and times.
pub(crate) fn fingerprint(dir: &Path, look: &Look) -> Result<[u8; 32], Error> {
    let mut hash = Sha256::new();
    let tracked = Call::new(dir, "list the files", &["ls-files", "-z"]).output()?;
    hash.update(look.head.as_deref().unwrap_or_default());
    hash.update(format!("{:?}", look.status));
    let precious = look.facts.precious.iter().map(PathBuf::from);
    for path in fields(&tracked).map(path_from).chain(look.status.untracked.iter().cloned()).chain(precious) {
        hash.update(path.as_os_str().as_bytes());
        match std::fs::symlink_metadata(dir.join(&path)) {
            Ok(meta) => {
                let mode = meta.permissions().mode();
                let times = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
                hash.update(format!(" {} {mode} {} {times:?}\0", meta.ino(), meta.len()));
            }
            Err(_) => hash.update(b" gone\0"),
        }
    }
    Ok(hash.finalize().into())
}

/// The archives of a repository: each reference and the time of its commit, in Unix seconds.
///
/// # Errors
/// What git says.
pub fn list(repository: &Path) -> Result<Vec<(String, i64)>, Error> {
    let format = "--format=%(committerdate:unix) %(refname)";
    let text = Call::new(repository, "list the archives", &["for-each-ref", format, NAMESPACE]).text()?;
    let parse = |line: &str| {
        let (time, reference) = line.split_once(' ')?;
        Some((reference.to_owned(), time.parse().ok()?))
    };
    Ok(text.lines().filter_map(parse).collect())
}

/// What a reference below [`NAMESPACE`] keeps that is nowhere else, in words: commits that no branch, tag or remote
/// branch leads to, files that are in no commit, a tar. Empty when giving it up would lose nothing.
///
/// # Errors
/// What git says, [`Error::Refused`] when there is no such reference.
pub fn own(repository: &Path, reference: &str, data_dir: &Path) -> Result<Vec<String>, Error> {
    let refused = |why: &str| Error::Refused { path: PathBuf::from(reference), why: why.to_owned() };
    let id = reference.strip_prefix(NAMESPACE).ok_or_else(|| refused("it is no archive"))?;
    let tip = names::value_of(repository, reference)?.ok_or_else(|| refused("it is not there"))?;
    let call = |args: &[&str]| Call::new(repository, "look at the archive", args);
    let is_of_branch = id.contains(OF_BRANCH) || id.contains('/');
    let mut own = Vec::new();
    let tips: Vec<String> = if is_of_branch {
        vec![tip]
    } else {
        let head = names::value_of(repository, &format!("{reference}^1^{{tree}}"))?;
        let index = names::value_of(repository, &format!("{reference}:index-tree"))?;
        let files = call(&["ls-tree", "-z", &format!("{reference}:files")]).output()?;
        let deleted = call(&["cat-file", "blob", &format!("{reference}:deleted")]).output()?;
        if head != index || !files.is_empty() || !deleted.is_empty() {
            own.push("files that were not committed".to_owned());
        }
        call(&["rev-parse", &format!("{reference}^@")]).text()?.lines().map(str::to_owned).collect()
    };
    let tips: Vec<&str> = tips.iter().map(String::as_str).collect();
    let commits = if tips.is_empty() { 0 } else { names::own_commits(repository, &tips, &[], &[])? };
    if commits > 0 {
        let s = if commits == 1 { "" } else { "s" };
        own.push(format!("{commits} commit{s} on no branch"));
    }
    if !is_of_branch && tar_path(data_dir, id).exists() {
        own.push("ignored files that cannot be made again".to_owned());
    }
    Ok(own)
}

/// Gives up an archive: its reference and its tar. One that is not there is fine.
///
/// # Errors
/// [`Error::BadName`] for what is no archive, else what git or the system says.
pub fn forget(repository: &Path, reference: &str, data_dir: &Path) -> Result<(), Error> {
    let id =
        reference.strip_prefix(NAMESPACE).ok_or_else(|| Error::BadName { name: reference.to_owned() })?;
    if let Some(commit) = names::value_of(repository, reference)? {
        names::forget(repository, reference, &commit)?;
    }
    if crate::temp::check_name(id).is_err() {
        return Ok(());
    }
    let tar = tar_path(data_dir, id);
    match std::fs::remove_file(&tar) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("remove", &tar, error)),
    }
}
