//! Proofs that the content of commits is on another branch, also when the commits themselves are not: after a
//! squash or a rebase.

use std::path::Path;

use carillon_core::judge::Proof;

use super::{Call, names};
use crate::Error;

/// Most commits that are compared by their changes.
const COMMITS_MAX: u64 = 500;

/// The weakest of the proofs for all the tips; none when one of them has none.
pub(super) fn of(dir: &Path, tips: &[&str], base: &str) -> Result<Option<Proof>, Error> {
    let mut weakest = None;
    for tip in tips {
        match of_one(dir, tip, base)? {
            Some(proof) if weakest.is_none() || proof != Proof::Merged => weakest = Some(proof),
            Some(_) => {}
            None => return Ok(None),
        }
    }
    Ok(weakest)
}

fn of_one(dir: &Path, tip: &str, base: &str) -> Result<Option<Proof>, Error> {
    if names::is_ancestor(dir, tip, base)? {
        return Ok(Some(Proof::Merged));
    }
    if merging_changes_nothing(dir, tip, base)? {
        return Ok(Some(Proof::SameTree));
    }
    Ok(has_same_patches(dir, tip, base)?.then_some(Proof::SamePatches))
}

/// Whether a merge of `tip` would leave every file of `base` as it is.
fn merging_changes_nothing(dir: &Path, tip: &str, base: &str) -> Result<bool, Error> {
    let merged = Call::new(dir, "try a merge", &["merge-tree", "--write-tree", "--no-messages", base, tip])
        .answer()?;
    // A conflict is an answer as well: then it would change something.
    if !merged.status.success() {
        return Ok(false);
    }
    let tree = names::value_of(dir, &format!("{base}^{{tree}}"))?;
    Ok(tree.is_some_and(|tree| String::from_utf8_lossy(&merged.out).trim() == tree))
}

/// Whether each commit of `tip`, or all of them as one, has its change on `base`.
fn has_same_patches(dir: &Path, tip: &str, base: &str) -> Result<bool, Error> {
    let answer = Call::new(dir, "find a common commit", &["merge-base", base, tip]).answer()?;
    if !answer.status.success() {
        return Ok(false);
    }
    let fork = String::from_utf8_lossy(&answer.out).trim().to_owned();
    let count = |from: &str, to: &str| {
        Call::new(dir, "count commits", &["rev-list", "--count", to, &format!("^{from}")]).number()
    };
    if count(&fork, tip)? > COMMITS_MAX || count(&fork, base)? > COMMITS_MAX {
        return Ok(false);
    }
    let cherry = Call::new(dir, "compare changes", &["cherry", base, tip]).text()?;
    if !cherry.is_empty() && cherry.lines().all(|line| line.starts_with('-')) {
        // Merges are not among those, and may hold changes of their own.
        let merges =
            Call::new(dir, "count merges", &["rev-list", "--count", "--merges", tip, &format!("^{base}")]);
        return Ok(merges.number()? == 0);
    }
    let plain = ["--no-ext-diff", "--no-textconv", "--no-color"];
    let whole =
        Call::new(dir, "compare changes", &[&["diff-tree", "-p"], &plain[..], &[&fork, tip]].concat());
    let range = format!("{fork}..{base}");
    let each =
        Call::new(dir, "compare changes", &[&["log", "-p", "--no-merges"], &plain[..], &[&range]].concat());
    let Some(whole) = patch_ids(dir, &whole)?.into_iter().next() else { return Ok(false) };
    Ok(patch_ids(dir, &each)?.contains(&whole))
}

fn patch_ids(dir: &Path, diff: &Call) -> Result<Vec<String>, Error> {
    let text = match diff.output() {
        Ok(text) => text,
        // What is too much to compare proves nothing.
        Err(Error::GitOutput { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let ids = Call::new(dir, "compare changes", &["patch-id", "--stable"]).input(text).text()?;
    Ok(ids.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}
