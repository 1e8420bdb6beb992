//! Looking at a worktree: the facts for the judgement. Nothing is changed, not even git's index.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use carillon_core::judge::{self, Commits, Head, Operation, Place};

use super::list::{self, Registered};
use super::status::{self, Status};
use super::{Call, names, nested, proof};
use crate::repositories;
use crate::rules::matches;
use crate::{Error, in_use};

/// Ignored files with names like these cannot be made again.
const PRECIOUS: [&str; 7] = [".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.local.json"];
/// Most precious files that are named.
const PRECIOUS_MAX: usize = 200;

/// What is recorded of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The main checkout of its repository, resolved.
    pub repository: PathBuf,
    /// Its own path, resolved.
    pub path: PathBuf,
    /// Device and inode of its directory, when it was made here.
    pub identity: Option<(u64, u64)>,
    /// The branch that was made with it.
    pub branch: Option<String>,
    /// The commit that it began from: what was recorded then, not where its base stands today.
    pub base_commit: String,
    /// The branch that its work goes to.
    pub base_branch: Option<String>,
    /// Ignored files that it got a copy of, from its root.
    pub copied: Vec<String>,
    /// The directory above it was made with it.
    pub parent_is_ours: bool,
}

/// What was seen.
#[derive(Debug, Clone)]
pub struct Look {
    /// The facts. `is_ours` is true and `open_work` is 0: both are for the caller to say.
    pub facts: judge::Worktree,
    /// The commit that it stands on.
    pub head: Option<String>,
    /// How many commits its base branch has that it does not have.
    pub behind: u64,
    pub(crate) status: Status,
}

impl Look {
    /// Nothing but files that are not there differs, as after a removal that was cut short.
    pub fn lacks_only_files(&self) -> bool {
        self.status.lacks_only_files()
    }
}

/// Looks at the worktree.
///
/// # Errors
/// What git says when the repository itself cannot be asked. What of the worktree cannot be looked at is a fact.
pub fn look(recorded: &Recorded) -> Result<Look, Error> {
    let repository = list::repository_of(&recorded.repository)?;
    let registered = list::worktrees(&recorded.repository)?;
    let place = place(recorded, &repository.common_dir, &registered)?;
    let own = registered.iter().find(|one| one.path == recorded.path);
    let mut look = Look { facts: nothing(place), head: None, behind: 0, status: Status::default() };
    look.facts.locked = own.and_then(|own| own.locked.clone());
    match place {
        Place::Worktree => inside(recorded, &mut look)?,
        Place::Gone => {}
        // Nothing of what is there is the worktree's.
        Place::Link
        | Place::NotADirectory
        | Place::Other
        | Place::Unregistered
        | Place::MainCheckout
        | Place::InsideGit => return Ok(look),
    }
    look.head = own.and_then(|own| own.head.clone());
    let others: Vec<String> = registered
        .iter()
        .filter(|one| one.path != recorded.path)
        .filter_map(|one| one.head.clone())
        .collect();
    match commits(recorded, own, &others) {
        Ok((commits, behind)) => (look.facts.commits, look.behind) = (commits, behind),
        Err(error) => look.facts.unseen.push(error.to_string()),
    }
    Ok(look)
}

fn nothing(place: Place) -> judge::Worktree {
    judge::Worktree {
        place,
        is_ours: true,
        locked: None,
        users: Vec::new(),
        open_work: 0,
        operation: None,
        unmerged: 0,
        inner: Vec::new(),
        unseen: Vec::new(),
        changed: 0,
        untracked: 0,
        precious: Vec::new(),
        commits: Commits { head: Head::Unborn, own: 0, unpushed: None, only_here: 0, on_base: None },
    }
}

fn place(recorded: &Recorded, common_dir: &Path, registered: &[Registered]) -> Result<Place, Error> {
    let path = &recorded.path;
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::Gone),
        Err(error) => return Err(Error::io("examine", path, error)),
    };
    if meta.is_symlink() {
        return Ok(Place::Link);
    }
    if !meta.is_dir() {
        return Ok(Place::NotADirectory);
    }
    let resolved = path.canonicalize().map_err(|error| Error::io("resolve", path, error))?;
    if registered.first().is_some_and(|main| main.path.starts_with(&resolved)) {
        return Ok(Place::MainCheckout);
    }
    if resolved.starts_with(common_dir) || common_dir.starts_with(&resolved) {
        return Ok(Place::InsideGit);
    }
    let is_same = recorded.identity.is_none_or(|identity| identity == (meta.dev(), meta.ino()));
    if resolved != *path || !is_same {
        return Ok(Place::Other);
    }
    if !registered.iter().any(|one| one.path == resolved) {
        return Ok(Place::Unregistered);
    }
    // Its own way back must lead into the same repository.
    let leads = admin_dir(path).is_some_and(|admin| admin.starts_with(common_dir.join("worktrees")));
    Ok(if leads { Place::Worktree } else { Place::Other })
}

/// What git keeps of one worktree, below the common directory.
pub(crate) fn admin_dir(path: &Path) -> Option<PathBuf> {
    repositories::target(&path.join(".git"))?.canonicalize().ok()
}

fn inside(recorded: &Recorded, look: &mut Look) -> Result<(), Error> {
    let path = &recorded.path;
    let facts = &mut look.facts;
    facts.users = users(path);
    facts.operation = admin_dir(path).and_then(|admin| operation(&admin));
    match status::status(path, None) {
        Ok(status) => look.status = status,
        Err(error) => facts.unseen.push(error.to_string()),
    }
    facts.changed = look.status.changed.len() as u64;
    facts.untracked = look.status.untracked.len() as u64;
    facts.unmerged = look.status.unmerged;
    facts.precious = precious(recorded, &look.status);
    match repositories::find(path, repositories::ENTRIES_MAX) {
        Ok(found) => {
            if !found.is_complete {
                facts.unseen.push("it is too large to be looked through for repositories".to_owned());
            }
            facts.inner = nested::inner(path, &found.gits)?;
        }
        Err(error) => facts.unseen.push(error.to_string()),
    }
    Ok(())
}

/// Processes that use the directory.
pub(crate) fn users(path: &Path) -> Vec<judge::User> {
    let holders = in_use::holders(path, "").into_iter();
    holders
        .map(|holder| judge::User { pid: holder.pid, name: holder.name, how: holder.how.to_string() })
        .collect()
}

/// What git is in the middle of, by the files that it keeps meanwhile (gitrepository-layout(5)).
pub(crate) fn operation(admin: &Path) -> Option<Operation> {
    let signs = [
        ("MERGE_HEAD", Operation::Merge),
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply", Operation::Rebase),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("sequencer", Operation::CherryPick),
        ("BISECT_LOG", Operation::Bisect),
        ("index.lock", Operation::Index),
    ];
    signs.into_iter().find(|(name, _)| admin.join(name).exists()).map(|(_, operation)| operation)
}

/// Ignored files that cannot be made again and are not the same in the main checkout.
fn precious(recorded: &Recorded, status: &Status) -> Vec<String> {
    let patterns: Vec<glob::Pattern> =
        PRECIOUS.iter().filter_map(|name| glob::Pattern::new(name).ok()).collect();
    let mut found: Vec<PathBuf> = status
        .ignored
        .iter()
        .filter(|path| !path.as_os_str().as_encoded_bytes().ends_with(b"/"))
        .filter(|path| path.file_name().is_some_and(|name| patterns.iter().any(|one| matches(one, name))))
        .cloned()
        .collect();
    let is_ignored = |path: &Path| status.ignored.iter().any(|ignored| path.starts_with(ignored));
    let copied = recorded.copied.iter().map(PathBuf::from);
    found.extend(copied.filter(|path| is_ignored(path) && recorded.path.join(path).is_file()));
    found.sort();
    found.dedup();
    found.retain(|path| !is_same_file(&recorded.path.join(path), &recorded.repository.join(path)));
    found.truncate(PRECIOUS_MAX);
    found.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let is_small =
        |path| std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < 16 * 1024 * 1024);
    is_small(one)
        && is_small(other)
        && matches!((std::fs::read(one), std::fs::read(other)), (Ok(a), Ok(b)) if a == b)
}

fn commits(
    recorded: &Recorded,
    own: Option<&Registered>,
    others: &[String],
) -> Result<(Commits, u64), Error> {
    let dir = &recorded.repository;
    let checked_out = own.and_then(|own| own.branch.clone());
    let Some(head) = own.and_then(|own| own.head.clone()) else {
        let head = Head::Unborn;
        return Ok((Commits { head, own: 0, unpushed: None, only_here: 0, on_base: None }, 0));
    };
    let full = |name: &String| format!("refs/heads/{name}");
    let mut own_refs: Vec<String> =
        [&checked_out, &recorded.branch].into_iter().flatten().map(full).collect();
    own_refs.dedup();
    // The branch that was made with it may have been left for another one.
    let made = match &recorded.branch {
        Some(branch) => names::value_of(dir, &full(branch))?,
        None => None,
    };
    let tips: Vec<&str> = [Some(head.as_str()), made.as_deref()].into_iter().flatten().collect();
    let own_refs: Vec<&str> = own_refs.iter().map(String::as_str).collect();
    let count = |args: &[&str]| {
        let args = [&["rev-list", "--count"], args].concat();
        Call::new(dir, "count commits", &args).number()
    };
    let not_base = format!("^{}", recorded.base_commit);
    let own = count(&[&tips[..], &[&not_base]].concat())?;
    let has_remote = !Call::new(dir, "list the remotes", &["remote"]).text()?.is_empty();
    let unpushed = if has_remote {
        Some(count(&[&tips[..], &[&not_base, "--not", "--remotes"]].concat())?)
    } else {
        None
    };
    let only_here = names::own_commits(dir, &tips, &own_refs, others)?;
    let (mut on_base, mut behind) = (None, 0);
    if let Some(base) = &recorded.base_branch
        && let Some(base) = names::value_of(dir, &full(base))?
    {
        behind = count(&[&base, &format!("^{head}")])?;
        if own > 0 {
            on_base = proof::of(dir, &tips, &base)?;
        }
    }
    let head = checked_out.map_or(Head::Detached, Head::Branch);
    Ok((Commits { head, own, unpushed, only_here, on_base }, behind))
}
