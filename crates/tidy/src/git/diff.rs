//! What was done in a worktree since it was made, to be read.

use std::path::PathBuf;

use super::look::Recorded;
use super::status::status;
use super::{Call, fields, path_from};
use crate::Error;

/// Most bytes of a difference that are shown.
pub const TEXT_MAX: usize = 4 * 1024 * 1024;
/// Most files that are listed.
pub const FILES_MAX: usize = 5_000;

/// A difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// As `git diff` prints it; any bytes.
    pub text: Vec<u8>,
    /// There is more than [`TEXT_MAX`] bytes or [`FILES_MAX`] files.
    pub is_cut: bool,
    /// The files in it.
    pub files: Vec<File>,
    /// Files that git does not know, and that are not in the text.
    pub untracked: Vec<PathBuf>,
}

/// A file of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// From the root of the worktree.
    pub path: PathBuf,
    /// Lines that were added; none for a file that is no text.
    pub added: Option<u64>,
    /// Lines that were taken away; none for a file that is no text.
    pub deleted: Option<u64>,
}

/// The difference of the worktree as it is now, with what is not committed, from the commit that it began from.
///
/// # Errors
/// What git says.
pub fn diff(recorded: &Recorded) -> Result<Diff, Error> {
    let dir = &recorded.path;
    let call = |more: &[&str]| {
        // No program that the repository's settings name takes part in it.
        let args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
        let end = [recorded.base_commit.as_str(), "--"];
        Call::new(dir, "compare", &[&args[..], more, &end[..]].concat())
    };
    let whole = call(&[]).output_max(TEXT_MAX);
    let answer = whole.answer()?;
    if !answer.is_cut && !answer.status.success() {
        return Err(whole.refused(&answer));
    }
    let numbers = call(&["--numstat", "-z", "--no-renames"]).output()?;
    let mut files: Vec<File> = fields(&numbers).filter_map(file).collect();
    let mut untracked = status(dir, None)?.untracked;
    let is_cut = answer.is_cut || files.len() > FILES_MAX || untracked.len() > FILES_MAX;
    files.truncate(FILES_MAX);
    untracked.truncate(FILES_MAX);
    Ok(Diff { text: answer.out, is_cut, files, untracked })
}

/// "added TAB deleted TAB path", with "-" for a file that is no text.
fn file(line: &[u8]) -> Option<File> {
    let mut parts = line.splitn(3, |byte| *byte == b'\t');
    let mut number = || std::str::from_utf8(parts.next()?).ok().map(|text| text.parse().ok());
    let (added, deleted) = (number()?, number()?);
    Some(File { path: path_from(parts.next()?), added, deleted })
}
