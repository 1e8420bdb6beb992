//! Looking at a branch that outlived its worktree: the facts for the judgement.

use std::path::Path;

use carillon_core::judge::Proof;

use super::{list, names, proof};
use crate::Error;

/// What was seen of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The commit that it leads to.
    pub tip: String,
    /// The worktree that has it checked out.
    pub checked_out: Option<String>,
    /// How many of its commits no other branch, tag or remote branch has.
    pub only_here: u64,
    /// Whether the base branch has their content.
    pub on_base: Option<Proof>,
}

/// The names of the branches below `prefix` (a path without a slash at its end), as git prints them.
///
/// # Errors
/// What git or the system says.
pub fn below(repository: &Path, prefix: &str) -> Result<Vec<String>, Error> {
    list::branches(&list::repository_of(repository)?, &[prefix.to_owned()])
}

/// Looks at one branch; none when there is none of this name. `base_branch` is where its work goes.
///
/// # Errors
/// [`Error::BadRef`] for what cannot be a branch, else what git says.
pub fn look(repository: &Path, name: &str, base_branch: Option<&str>) -> Result<Option<Seen>, Error> {
    names::check_branch(repository, name)?;
    let full = format!("refs/heads/{name}");
    let Some(tip) = names::value_of(repository, &full)? else { return Ok(None) };
    let checkout = list::worktrees(repository)?.into_iter().find(|one| one.branch.as_deref() == Some(name));
    let only_here = names::own_commits(repository, &[&tip], &[&full], &[])?;
    let base = match base_branch {
        Some(base) if only_here > 0 => names::value_of(repository, &format!("refs/heads/{base}"))?,
        Some(_) | None => None,
    };
    let on_base = match base {
        Some(base) => proof::of(repository, &[&tip], &base)?,
        None => None,
    };
    let checked_out = checkout.map(|one| one.path.display().to_string());
    Ok(Some(Seen { tip, checked_out, only_here, on_base }))
}
