//! Names of branches and revisions, and what they lead to.

use std::path::Path;

use super::{Answer, Call};
use crate::Error;

/// Longest name of a branch, in bytes: its reference and lock file have to fit into a file name.
const NAME_MAX: usize = 240;

/// Accepts only what git takes for the name of a branch, and nothing that looks like an option.
///
/// # Errors
/// [`Error::BadRef`], or [`Error::NoGit`].
pub fn check_branch(dir: &Path, name: &str) -> Result<(), Error> {
    let bad = |why: &str| Err(Error::BadRef { name: name.to_owned(), why: why.to_owned() });
    if name.starts_with('-') {
        return bad("it begins with -");
    }
    if name == "HEAD" || name.is_empty() || name.len() > NAME_MAX {
        return bad("a branch cannot be called so");
    }
    // Not with --branch, which would read `@{-1}` as the branch before this one.
    let full = format!("refs/heads/{name}");
    let is_good = Call::new(dir, "check a name", &["check-ref-format", &full]).holds()?;
    if is_good { Ok(()) } else { bad("git does not take it (see git-check-ref-format)") }
}

/// Accepts what may stand for a commit and cannot be taken for an option or a range.
pub(crate) fn check_revision(name: &str) -> Result<(), Error> {
    let bad = |why: &str| Err(Error::BadRef { name: name.to_owned(), why: why.to_owned() });
    if name.is_empty() || name.starts_with('-') || name.starts_with('^') {
        return bad("it is empty or begins with - or ^");
    }
    let is_plain = |letter: char| !letter.is_whitespace() && !letter.is_control();
    if name.contains("..") || name.len() > NAME_MAX || !name.chars().all(is_plain) {
        return bad("it holds .. or a space, or is too long");
    }
    Ok(())
}

/// The commit that a revision leads to, as its full hash; none when there is none.
///
/// # Errors
/// [`Error::BadRef`] for what is no revision, else what git says.
pub fn commit_of(dir: &Path, revision: &str) -> Result<Option<String>, Error> {
    check_revision(revision)?;
    let wanted = format!("{revision}^{{commit}}");
    let call = Call::new(
        dir,
        "look up a revision",
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted],
    );
    let answer = call.answer()?;
    match answer.status.code() {
        Some(0) => Ok(Some(String::from_utf8_lossy(&answer.out).trim().to_owned())),
        Some(1 | 128) => Ok(None),
        _ => Err(call.refused(&answer)),
    }
}

/// What a full reference name points to; none when there is no such reference.
pub(crate) fn value_of(dir: &Path, full: &str) -> Result<Option<String>, Error> {
    let call =
        Call::new(dir, "read a reference", &["rev-parse", "--verify", "--quiet", "--end-of-options", full]);
    let answer = call.answer()?;
    Ok(answer.status.success().then(|| String::from_utf8_lossy(&answer.out).trim().to_owned()))
}

/// What became of a branch that was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedBranch {
    /// The commit that it pointed to.
    pub tip: String,
    /// The reference that keeps its commits, when it had some of its own.
    pub archive_ref: Option<String>,
}

/// Deletes a branch as git does, after its commits are kept under `archive_ref` if nothing else leads to them.
/// git refuses a branch that is checked out anywhere, and then nothing has changed.
///
/// # Errors
/// [`Error::Git`] with git's reason; [`Error::BadRef`] for what is no branch.
pub fn delete_branch(dir: &Path, name: &str, archive_ref: &str) -> Result<DeletedBranch, Error> {
    delete_kept_branch(dir, name, archive_ref, None)
}

/// As [`delete_branch`], when a commit that is kept already, `kept`, may lead to all of the branch.
pub(crate) fn delete_kept_branch(
    dir: &Path,
    name: &str,
    archive_ref: &str,
    kept: Option<&str>,
) -> Result<DeletedBranch, Error> {
    check_branch(dir, name)?;
    let full = format!("refs/heads/{name}");
    let Some(tip) = value_of(dir, &full)? else {
        let said = format!("there is no branch {name:?}");
        return Err(Error::Git { operation: "delete the branch", dir: dir.to_path_buf(), said });
    };
    let is_kept = match kept {
        Some(kept) => is_ancestor(dir, &tip, kept)?,
        None => false,
    };
    let has_own = !is_kept && own_commits(dir, &[&tip], &[&full], &[])? > 0;
    if has_own {
        keep(dir, archive_ref, &tip)?;
    }
    let call = Call::new(dir, "delete the branch", &["branch", "-D", "--", name]);
    let answer = call.answer()?;
    if !answer.status.success() || value_of(dir, &full)?.is_some() {
        if has_own {
            forget(dir, archive_ref, &tip)?;
        }
        return Err(call.refused(&answer));
    }
    if let Some(moved) = moved_tip(dir, &answer, &tip)? {
        // Somebody committed between our look and git's: the archive follows.
        Call::new(dir, "keep commits", &["update-ref", archive_ref, &moved]).output()?;
        return Ok(DeletedBranch { tip: moved, archive_ref: Some(archive_ref.to_owned()) });
    }
    Ok(DeletedBranch { tip, archive_ref: has_own.then(|| archive_ref.to_owned()) })
}

/// The commit that git says the branch had when it went, if it is another than `tip`.
fn moved_tip(dir: &Path, answer: &Answer, tip: &str) -> Result<Option<String>, Error> {
    let out = String::from_utf8_lossy(&answer.out);
    let was = out.rsplit_once("(was ").and_then(|(_, rest)| rest.split_once(')')).map(|(was, _)| was);
    match was {
        Some(was) if !tip.starts_with(was) => commit_of(dir, was),
        Some(_) | None => Ok(None),
    }
}

/// How many commits these tips lead to that no branch, tag or remote branch leads to, apart from the references
/// `own`, and none of the commits `others`. Stashes and our own archives do not count as keeping a commit.
pub(crate) fn own_commits(dir: &Path, tips: &[&str], own: &[&str], others: &[String]) -> Result<u64, Error> {
    let mut call = Call::new(dir, "count commits", &["rev-list", "--count"]);
    for tip in tips {
        call = call.arg(tip);
    }
    call = call.arg("--not");
    for other in others {
        call = call.arg(other);
    }
    for own in own {
        call = call.arg(format!("--exclude={own}"));
    }
    for kind in ["refs/heads/", "refs/tags/", "refs/remotes/"] {
        call = call.arg(format!("--glob={kind}"));
    }
    call.number()
}

/// Whether `commit` is `of` itself or lies before it.
pub(crate) fn is_ancestor(dir: &Path, commit: &str, of: &str) -> Result<bool, Error> {
    Call::new(dir, "compare commits", &["merge-base", "--is-ancestor", commit, of]).holds()
}

/// Makes `reference` lead to `commit`; it must be new.
pub(crate) fn keep(dir: &Path, reference: &str, commit: &str) -> Result<(), Error> {
    let zero = "0".repeat(commit.len());
    Call::new(dir, "keep commits", &["-c", "core.fsync=all", "update-ref", reference, commit, &zero])
        .output()?;
    Ok(())
}

/// Takes a reference away if it still leads to `commit`.
pub(crate) fn forget(dir: &Path, reference: &str, commit: &str) -> Result<(), Error> {
    Call::new(dir, "drop a reference", &["update-ref", "-d", reference, commit]).output()?;
    Ok(())
}
