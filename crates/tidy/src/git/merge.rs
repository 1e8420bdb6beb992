//! Bringing the work of a worktree to its base branch.
//!
//! The result is made out of objects alone, without touching any checkout, so a conflict leaves nothing half
//! done, and neither does dying at any line. Only then the branch moves, from exactly the commit that was looked
//! at; where a checkout has it, git brings that along or refuses.

use std::path::Path;

use super::list;
use super::look::Recorded;
use super::status::status;
use super::{Call, LONG_LIMIT, fields, names, stop};
use crate::Error;

/// Most commits that are replayed one by one.
const REPLAY_MAX: u64 = 1_000;

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The branch is moved forward where that is enough, else a merge commit is made.
    Merge,
    /// All changes become one commit.
    Squash,
    /// Each commit is made anew on the base branch. Merges among them are left out.
    Rebase,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The base branch has it now.
    Done {
        /// The commit that the base branch stands on.
        commit: String,
        /// The commit that it stood on before.
        was: String,
    },
    /// The base branch had all of it already.
    NothingToDo,
    /// These files would conflict. Nothing was changed.
    Conflicts(Vec<String>),
}

/// Brings the commits of the worktree to the branch `into`. `message` is for the commit that a merge or a squash
/// makes. Hooks are not run and commits are not signed, apart from what git does when it brings a checkout along.
///
/// # Errors
/// [`Error::Refused`] when something in the worktree is not committed, [`Error::BadRef`] when there is no such
/// branch, [`Error::Stopped`] when that was asked for in time, else what git says: then nothing was changed.
pub fn merge(recorded: &Recorded, into: &str, how: How, message: &str) -> Result<Outcome, Error> {
    let dir = &recorded.repository;
    names::check_branch(dir, into)?;
    let status = status(&recorded.path, None)?;
    let open = status.changed.len()
        + status.untracked.len()
        + usize::try_from(status.unmerged).unwrap_or(usize::MAX);
    if open > 0 {
        let why = format!("{open} of its files are not committed");
        return Err(Error::Refused { path: recorded.path.clone(), why });
    }
    let target = format!("refs/heads/{into}");
    let none = || Error::BadRef { name: into.to_owned(), why: "there is no such branch".to_owned() };
    let was = names::value_of(dir, &target)?.ok_or_else(none)?;
    let Some(head) = names::commit_of(&recorded.path, "HEAD")? else { return Ok(Outcome::NothingToDo) };
    if names::is_ancestor(dir, &head, &was)? {
        return Ok(Outcome::NothingToDo);
    }
    let made = match how {
        How::Merge if names::is_ancestor(dir, &was, &head)? => Made::Commit(head),
        How::Merge => join(dir, &was, &head, &[&was, &head], message)?,
        How::Squash => join(dir, &was, &head, &[&was], message)?,
        How::Rebase => replay(dir, &was, &head)?,
    };
    match made {
        Made::Conflicts(files) => Ok(Outcome::Conflicts(files)),
        Made::Commit(commit) if commit == was => Ok(Outcome::NothingToDo),
        Made::Commit(commit) => {
            stop::pass()?;
            publish(dir, into, &was, &commit)?;
            Ok(Outcome::Done { commit, was })
        }
    }
}

enum Made {
    Commit(String),
    Conflicts(Vec<String>),
}

/// One commit with the merged content; the first parent itself when there is nothing new in it.
fn join(dir: &Path, ours: &str, theirs: &str, parents: &[&str], message: &str) -> Result<Made, Error> {
    let tree = match merged_tree(dir, ours, theirs, None)? {
        Tree::Clean(tree) => tree,
        Tree::Conflicts(files) => return Ok(Made::Conflicts(files)),
    };
    if parents.len() == 1 && names::value_of(dir, &format!("{ours}^{{tree}}"))?.as_deref() == Some(&tree) {
        return Ok(Made::Commit(ours.to_owned()));
    }
    Ok(Made::Commit(commit(dir, &tree, parents, message.as_bytes().to_vec(), &[])?))
}

enum Tree {
    Clean(String),
    Conflicts(Vec<String>),
}

fn merged_tree(dir: &Path, ours: &str, theirs: &str, base: Option<&str>) -> Result<Tree, Error> {
    let mut call =
        Call::new(dir, "merge", &["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z"]);
    if let Some(base) = base {
        call = call.arg(format!("--merge-base={base}"));
    }
    let call = call.arg(ours).arg(theirs).limit(LONG_LIMIT);
    let answer = call.answer()?;
    let mut found = fields(&answer.out).map(|field| String::from_utf8_lossy(field).trim().to_owned());
    match (answer.status.code(), found.next()) {
        (Some(0), Some(tree)) => Ok(Tree::Clean(tree)),
        (Some(1), Some(_)) => Ok(Tree::Conflicts(found.collect())),
        _ => Err(call.refused(&answer)),
    }
}

fn commit(
    dir: &Path,
    tree: &str,
    parents: &[&str],
    message: Vec<u8>,
    env: &[(&str, String)],
) -> Result<String, Error> {
    let mut call = Call::new(dir, "commit", &["commit-tree", tree, "-F", "-"]).input(message);
    for parent in parents {
        call = call.arg("-p").arg(parent);
    }
    for (name, value) in env {
        call = call.env(name, value);
    }
    call.text()
}

/// Each commit of `head` that `onto` does not have, made anew on it.
fn replay(dir: &Path, onto: &str, head: &str) -> Result<Made, Error> {
    let range = [head.to_owned(), format!("^{onto}")];
    let count = Call::new(dir, "count commits", &["rev-list", "--count", &range[0], &range[1]]).number()?;
    if count > REPLAY_MAX {
        let said = format!("{count} commits are more than the {REPLAY_MAX} that are replayed");
        return Err(Error::Git { operation: "rebase", dir: dir.to_path_buf(), said });
    }
    let args = ["rev-list", "--reverse", "--topo-order", "--no-merges", &range[0], &range[1]];
    let list = Call::new(dir, "list commits", &args).text()?;
    let mut tip = onto.to_owned();
    for one in list.lines() {
        let parent = names::value_of(dir, &format!("{one}^"))?;
        let Some(parent) = parent else {
            let said = "a commit without a parent cannot be replayed".to_owned();
            return Err(Error::Git { operation: "rebase", dir: dir.to_path_buf(), said });
        };
        let tree = match merged_tree(dir, &tip, one, Some(&parent))? {
            Tree::Clean(tree) => tree,
            Tree::Conflicts(files) => return Ok(Made::Conflicts(files)),
        };
        // The base branch has this change already.
        if names::value_of(dir, &format!("{tip}^{{tree}}"))?.as_deref() == Some(&tree) {
            continue;
        }
        tip = again(dir, one, &tree, &tip)?;
    }
    Ok(Made::Commit(tip))
}

/// The commit `one` with another tree and parent, by its author and with its message.
fn again(dir: &Path, one: &str, tree: &str, parent: &str) -> Result<String, Error> {
    let show = |format: &str| {
        let format = format!("--format={format}");
        Call::new(dir, "read a commit", &["show", "-s", "--date=raw", "--no-show-signature", &format, one])
            .text()
    };
    let author = show("%an%n%ae%n%ad")?;
    let mut lines = author.lines().map(str::to_owned);
    let mut next = || lines.next().unwrap_or_default();
    let env = [("GIT_AUTHOR_NAME", next()), ("GIT_AUTHOR_EMAIL", next()), ("GIT_AUTHOR_DATE", next())];
    commit(dir, tree, &[parent], show("%B")?.into_bytes(), &env)
}

/// Moves the branch, and the checkout that has it.
fn publish(dir: &Path, branch: &str, was: &str, commit: &str) -> Result<(), Error> {
    let target = format!("refs/heads/{branch}");
    let checkout = list::worktrees(dir)?.into_iter().find(|one| one.branch.as_deref() == Some(branch));
    let call = match &checkout {
        // git refuses here, before it changes anything, when files of the user's are in the way.
        Some(checkout) => {
            let args = ["merge", "--ff-only", "--no-autostash", "--quiet", commit];
            Call::new(&checkout.path, "bring the checkout along", &args).limit(LONG_LIMIT)
        }
        None => {
            Call::new(dir, "move the branch", &["update-ref", "-m", "carillon: merge", &target, commit, was])
        }
    };
    call.output()?;
    if names::value_of(dir, &target)?.as_deref() == Some(commit) {
        return Ok(());
    }
    let said = "another commit is there now".to_owned();
    Err(Error::Git { operation: "move the branch", dir: dir.to_path_buf(), said })
}
