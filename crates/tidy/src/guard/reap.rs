//! Acting on the difference: what is new and nobody else's goes, and is then seen to be gone.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::bin::Bin;
use super::ending::Ending;
use super::lease::{self, Lease, Other};
use super::record::Record;
use super::seen::{Kind, Places, Seen};
use super::{Kept, Reaped, Report};
use crate::git::list::{self, Registered};
use crate::git::names::{self, DeletedBranch};
use crate::in_use::{self, Holder, Subject};
use crate::{Error, repositories, temp, trash};

/// How a guard acts. A report never believes them: what they say is gone is looked for.
pub trait Hands {
    /// Renames `path` to `<base>/<trash>/<name>` and returns that place.
    ///
    /// # Errors
    /// As [`trash::bury`].
    fn bury(&self, base: &Path, trash: &str, path: &Path, name: &str) -> Result<PathBuf, Error>;

    /// Deletes a branch, after its own commits are kept under `archive_ref`.
    ///
    /// # Errors
    /// As [`names::delete_branch`].
    fn delete_branch(&self, dir: &Path, name: &str, archive_ref: &str) -> Result<DeletedBranch, Error>;
}

/// The hands that do what they are told.
#[derive(Debug)]
pub struct RealHands;

impl Hands for RealHands {
    fn bury(&self, base: &Path, trash: &str, path: &Path, name: &str) -> Result<PathBuf, Error> {
        trash::bury_as(base, trash, path, name)
    }

    fn delete_branch(&self, dir: &Path, name: &str, archive_ref: &str) -> Result<DeletedBranch, Error> {
        names::delete_branch(dir, name, archive_ref)
    }
}

/// One new name.
struct New {
    kind: Kind,
    name: OsString,
    holders: Vec<Holder>,
}

/// What is asked of every new name.
struct Reaper<'a> {
    record: &'a Record,
    ending: &'a Ending,
    places: &'a Places,
    others: Vec<Other>,
    /// The worktrees that git knows of, as they were after the last directory went; none if git cannot tell.
    registered: Option<Vec<Registered>>,
    bin: Bin,
    hands: &'a dyn Hands,
}

/// The names that are new, as people know them.
pub(super) fn new_names(places: &Places, before: &Seen) -> Vec<String> {
    let new = difference(places, before, &mut Vec::new());
    new.iter().map(|(kind, name)| places.shown(*kind, name)).collect()
}

pub(super) fn reap(
    record: &Record,
    places: &Places,
    lease: &Lease,
    ending: &Ending,
    hands: &dyn Hands,
) -> Report {
    let mut report = Report { baseline: record.before.0.len(), ..Report::default() };
    let new = difference(places, &record.before, &mut report.blind);
    if new.is_empty() {
        return report;
    }
    let common_dir = &record.repository.common_dir;
    let bin = Bin::new(common_dir, &places.temp_dir, ending.now_ms);
    // The names were read first: a guard that begins after that has none of them as its own.
    let others = lease.others(&lease::guards(common_dir));
    let mut reaper = Reaper { record, ending, places, others, registered: None, bin, hands };
    let mut has_read_worktrees = None;
    for new in with_holders(places, new) {
        // Read again for husks: what went before may have changed what git knows. With hundreds of worktrees it takes
        // long, and the kinds after that have no need of it: git itself looks after branches, and a worktree among
        // temp entries is known by its own file.
        let is_read = match new.kind {
            Kind::Directory | Kind::Husk => has_read_worktrees == Some(new.kind),
            Kind::Branch | Kind::Temp => has_read_worktrees.is_some(),
        };
        if !is_read {
            has_read_worktrees = Some(new.kind);
            reaper.registered = list::worktrees(&record.repository.root).ok();
        }
        let (kind, name) = (new.kind, places.shown(new.kind, &new.name));
        report.made.push(name.clone());
        match reaper.take(&new) {
            Ok(kept_at) => report.reaped.push(Reaped { kind, name, kept_at }),
            Err(reason) => report.kept.push(Kept { kind, name, reason }),
        }
    }
    report
}

/// What is there now and was not there before, in the order in which it is acted on.
fn difference(places: &Places, before: &Seen, blind: &mut Vec<String>) -> BTreeSet<(Kind, OsString)> {
    let mut new = BTreeSet::new();
    for kind in Kind::ALL {
        match places.list(kind) {
            Ok(names) => {
                new.extend(names.into_iter().map(|name| (kind, name)).filter(|one| !before.0.contains(one)))
            }
            Err(error) => blind.push(error.to_string()),
        }
    }
    // What lies where worktrees are made is judged as a husk, also when a pattern for directories names it.
    let husks: Vec<OsString> =
        new.iter().filter(|(kind, _)| *kind == Kind::Husk).map(|(_, name)| name.clone()).collect();
    for name in husks {
        new.remove(&(Kind::Directory, name));
    }
    new
}

/// Looks once at all processes, for all new paths.
fn with_holders(places: &Places, new: BTreeSet<(Kind, OsString)>) -> Vec<New> {
    let paths: Vec<&Path> = new.iter().filter_map(|(kind, name)| places.path(*kind, name)).collect();
    let subjects: Vec<Subject<'_>> = paths.iter().map(|path| Subject { path, run: "" }).collect();
    let mut holders =
        if subjects.is_empty() { Vec::new() } else { in_use::holders_of(&subjects) }.into_iter();
    new.iter()
        .map(|(kind, name)| {
            let has_path = places.path(*kind, name).is_some();
            let holders = if has_path { holders.next().unwrap_or_default() } else { Vec::new() };
            New { kind: *kind, name: name.clone(), holders }
        })
        .collect()
}

impl Reaper<'_> {
    /// Takes one new thing away. Returns where it can be fetched back from, or why it stays.
    fn take(&self, new: &New) -> Result<Option<String>, String> {
        let key = (new.kind, new.name.clone());
        let root = self.places.root_of(new.kind, &new.name);
        if self.others.iter().any(|other| other.may_have_made(&key, root)) {
            return Err(
                "another guard of this repository is at work, and its command may have made it".to_owned()
            );
        }
        self.check_other_runs(root)?;
        match self.places.path(new.kind, &new.name) {
            Some(path) => self.take_path(new, path),
            None => self.take_branch(&new.name),
        }
    }

    /// No other run works in the checkout `root`; for what lies in none, in any checkout of the repository.
    fn check_other_runs(&self, root: Option<&Path>) -> Result<(), String> {
        let registered = self.registered.iter().flatten().map(|worktree| worktree.path.as_path());
        let all: Vec<&Path> = self.places.roots.iter().map(PathBuf::as_path).chain(registered).collect();
        let innermost = |dir: &Path| {
            all.iter().filter(|root| dir.starts_with(root)).max_by_key(|root| root.as_os_str().len())
        };
        let is_there =
            |dir: &Path| innermost(dir).is_some_and(|there| root.is_none_or(|root| *there == root));
        match self.ending.at_work.iter().find(|process| is_there(&process.dir)) {
            Some(other) => Err(format!(
                "another run is at work in this repository, and may have made it: pid {} ({})",
                other.pid, other.name
            )),
            None => Ok(()),
        }
    }

    /// It was made while the command ran, as far as its file system can tell. What was there before and was only
    /// moved here is not the command's; what came after its end neither.
    fn check_time(&self, meta: &std::fs::Metadata) -> Result<(), String> {
        let born = meta.created().ok();
        let is_same_system = std::fs::metadata(&self.record.repository.common_dir)
            .is_ok_and(|common| common.dev() == meta.dev());
        if let (Some(born), Some(began), true) = (born, self.record.began, is_same_system)
            && born < began
        {
            return Err("it was there before under another name".to_owned());
        }
        self.check_over(born)
    }

    /// As far as a time is known: it is not later than the end.
    fn check_over(&self, made: Option<std::time::SystemTime>) -> Result<(), String> {
        match (self.ending.over, made) {
            (Some(over), Some(made)) if made > over => Err("it came only after the end".to_owned()),
            (Some(_), Some(_)) => Ok(()),
            (_, _) if self.ending.was_watched => Ok(()),
            (None, _) => Err("nobody knows when the end was, so it may have come after it".to_owned()),
            (Some(_), None) => Err("nobody can tell whether it came before the end".to_owned()),
        }
    }

    fn take_path(&self, new: &New, path: &Path) -> Result<Option<String>, String> {
        if let Some(holder) = new.holders.first() {
            return Err(format!("in use by pid {} ({}): {}", holder.pid, holder.name, holder.how));
        }
        let meta = match std::fs::symlink_metadata(path) {
            Ok(meta) => meta,
            // It went by itself meanwhile, which is as good.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(format!("it belongs to the user with id {}", meta.uid()));
        }
        self.check_time(&meta)?;
        self.check_worktrees(path)?;
        if meta.is_dir() {
            match temp::lease_is_held(path) {
                Ok(true) => return Err("a live run holds its lease".to_owned()),
                Ok(false) => {}
                Err(error) => return Err(error.to_string()),
            }
            check_repositories(new.kind, path)?;
        }
        let at =
            self.bin.bury(path, new.kind == Kind::Temp, self.hands).map_err(|error| error.to_string())?;
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Some(at.to_string_lossy().into_owned()))
            }
            _ => Err("it is still there after it was put away".to_owned()),
        }
    }

    /// No worktree that git knows of is here or below. A link counts as what it leads to.
    fn check_worktrees(&self, path: &Path) -> Result<(), String> {
        let Some(registered) = &self.registered else {
            return Err("git cannot tell which worktrees there are".to_owned());
        };
        let resolved = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if registered.iter().any(|worktree| worktree.path == resolved) {
            return Err("it is a worktree that git knows of".to_owned());
        }
        if registered.iter().any(|worktree| worktree.path.starts_with(&resolved)) {
            return Err("a worktree that git knows of lies in it".to_owned());
        }
        Ok(())
    }

    fn take_branch(&self, name: &OsStr) -> Result<Option<String>, String> {
        let name = name.to_str().ok_or("its name is no text")?;
        let repository = &self.record.repository;
        if !self.ending.was_watched {
            // A branch with a file of its own was there when that was written; the list of packed ones tells nothing.
            let file = repository.common_dir.join("refs/heads").join(name);
            self.check_over(std::fs::metadata(file).and_then(|meta| meta.modified()).ok())?;
        }
        let archive_ref = self.bin.archive_ref(name);
        let root = &repository.root;
        let deleted = self.hands.delete_branch(root, name, &archive_ref).map_err(|error| match error {
            // Only git's own words: what it was to do is said by the report.
            Error::Git { said, .. } => said,
            other => other.to_string(),
        })?;
        match names::value_of(root, &format!("refs/heads/{name}")) {
            Ok(None) => Ok(deleted.archive_ref),
            Ok(Some(_)) => Err("it is still there after it was deleted".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A repository may hold work that is nowhere else. What was left of a worktree whose registration is gone, and
/// what a program made for a moment among temp entries, is none.
fn check_repositories(kind: Kind, path: &Path) -> Result<(), String> {
    let found = repositories::find(path, repositories::ENTRIES_MAX).map_err(|error| error.to_string())?;
    if !found.is_complete {
        return Err("it is too large to be looked through for repositories".to_owned());
    }
    let is_in_the_way = |git: &&PathBuf| match kind {
        Kind::Directory | Kind::Branch => true,
        Kind::Husk => git.parent() != Some(path) || repositories::leads_somewhere(git),
        Kind::Temp => !git.is_dir() && repositories::leads_out_of(git, path),
    };
    match found.gits.iter().find(is_in_the_way) {
        Some(git) => Err(format!("there is a git repository or worktree in it ({})", git.display())),
        None => Ok(()),
    }
}
