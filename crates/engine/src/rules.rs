//! A project's own rules: `carillon.toml` at its root. All of it is optional; an unknown key is
//! refused by name, so that a typing error never passes for a rule.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use carillon_core::{limits, quantity};
use serde::Deserialize;

use crate::error::Error;

/// The name of the file.
const NAME: &str = "carillon.toml";
/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// What the file may say. The sections that other parts read stand here as well, so that a valid file
/// is never refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sections {
    tasks: Tasks,
    #[serde(rename = "residue")]
    _residue: Residue,
    #[serde(rename = "workdirs")]
    _workdirs: Workdirs,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tasks {
    concurrent: Option<u32>,
    timeout: Option<String>,
    log_max: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Residue {
    #[serde(rename = "directories")]
    _directories: Vec<String>,
    #[serde(rename = "branches")]
    _branches: Vec<String>,
    #[serde(rename = "worktree_roots")]
    _worktree_roots: Vec<String>,
    #[serde(rename = "temp")]
    _temp: Vec<String>,
    #[serde(rename = "auto")]
    _auto: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Workdirs {
    #[serde(rename = "copy")]
    _copy: Vec<String>,
    #[serde(rename = "setup")]
    _setup: Vec<String>,
    #[serde(rename = "base")]
    _base: Option<String>,
}

/// The rules for tasks, with the defaults of what the file leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskRules {
    /// Tasks that run at a time.
    pub(crate) concurrent: u32,
    /// Time-out of a task that has none of its own, in milliseconds.
    pub(crate) timeout_ms: Option<u64>,
    /// Cap of a log, in bytes.
    pub(crate) log_max: u64,
}

impl Default for TaskRules {
    fn default() -> Self {
        Self { concurrent: limits::TASKS_PER_PROJECT, timeout_ms: None, log_max: limits::TASK_LOG_MAX_BYTES }
    }
}

impl TaskRules {
    /// Slots that one owner may take.
    pub(crate) fn per_owner(&self) -> u32 {
        (self.concurrent * limits::TASKS_PER_OWNER_PERCENT / 100).max(1)
    }
}

/// Reads the rules for tasks of the project with this root.
pub(crate) fn for_tasks(root: &Path) -> Result<TaskRules, Error> {
    let path = root.join(NAME);
    let bad = |why: String| {
        Error::failed(
            format!("{} cannot be used: {why}", path.display()),
            "correct the file, or remove the line",
        )
    };
    match read(&path) {
        Ok(Some(text)) => parse(&text).map_err(bad),
        Ok(None) => Ok(TaskRules::default()),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// The text of a regular file of bounded size; none when there is no file. A pipe in its place makes
/// nobody wait.
fn read(path: &Path) -> std::io::Result<Option<String>> {
    let opened =
        File::options().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path);
    let file = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(Some(text))
}

fn parse(text: &str) -> Result<TaskRules, String> {
    let file: Sections = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
    let mut rules = TaskRules::default();
    if let Some(concurrent) = file.tasks.concurrent {
        if !(1..=limits::TASKS_PER_PROJECT_MAX).contains(&concurrent) {
            return Err(format!("tasks.concurrent must be between 1 and {}", limits::TASKS_PER_PROJECT_MAX));
        }
        rules.concurrent = concurrent;
    }
    if let Some(timeout) = file.tasks.timeout {
        let timeout_ms = quantity::duration_ms(&timeout).map_err(|e| format!("tasks.timeout: {e}"))?;
        rules.timeout_ms = Some(timeout_ms.min(limits::TASK_TIMEOUT_MAX_MS));
    }
    if let Some(log_max) = file.tasks.log_max {
        let bytes = quantity::bytes(&log_max).map_err(|e| format!("tasks.log_max: {e}"))?;
        rules.log_max = bytes.max(limits::TASK_LOG_MIN_BYTES);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_its_default_and_what_is_unknown_is_named() {
        assert_eq!(parse(""), Ok(TaskRules::default()));
        let rules = parse("[tasks]\nconcurrent = 2\ntimeout = \"2h\"\nlog_max = \"1MiB\"\n").unwrap();
        assert_eq!(rules, TaskRules { concurrent: 2, timeout_ms: Some(7_200_000), log_max: 1 << 20 });
        assert_eq!((rules.per_owner(), TaskRules::default().per_owner()), (1, 6));
        let whole = "[residue]\ndirectories = [\"t-*\"]\nauto = true\n[workdirs]\ncopy = [\".env\"]\nbase = \"main\"\n";
        assert!(parse(whole).is_ok());
        for (text, named) in [
            ("[tasks]\nconcurent = 2", "concurent"),
            ("[task]\n", "task"),
            ("[tasks]\nconcurrent = 0", "concurrent"),
            ("[tasks]\ntimeout = \"soon\"", "soon"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }
}
