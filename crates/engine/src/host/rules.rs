//! A project's own rules, as its `carillon.toml` says them.

use std::path::Path;

#[cfg(test)]
pub(crate) use carillon_tidy::rules::parse;
pub(crate) use carillon_tidy::rules::{FILE_NAME, Sections, Tasks, Temp};

/// The rules of the project with this root; those of an empty file when it has none. The error is a sentence that
/// names the file.
pub(crate) fn of_project(root: &Path) -> Result<Sections, String> {
    let found = carillon_tidy::rules::read(&root.join(FILE_NAME)).map_err(|e| e.to_string())?;
    Ok(found.unwrap_or_default())
}
