//! The rules of a project for its tasks and its temp directories: `[tasks]` and `[temp]` of its `carillon.toml`, with
//! the bounds and defaults of what it leaves out.

use std::path::Path;

use carillon_core::residue::Caps;
use carillon_core::{limits, quantity};

use crate::error::Error;
use crate::host::rules::{self, Tasks, Temp};

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
    read(root, |sections| judge(sections.tasks))
}

/// Reads how much room the temp directories of the project with this root may take.
pub(crate) fn for_temp(root: &Path) -> Result<Caps, Error> {
    read(root, |sections| caps(sections.temp))
}

fn read<T>(root: &Path, judge: impl Fn(rules::Sections) -> Result<T, String>) -> Result<T, Error> {
    let found = rules::of_project(root).and_then(|sections| {
        judge(sections)
            .map_err(|why| format!("{} cannot be used: {why}", root.join(rules::FILE_NAME).display()))
    });
    found.map_err(|why| Error::failed(why, "correct the file, or remove the line"))
}

/// A lower cap at the top takes the warning down with it.
fn caps(temp: Temp) -> Result<Caps, String> {
    let bytes = |key, text: Option<String>, usual| match text {
        None => Ok(usual),
        Some(text) => quantity::bytes(&text).map_err(|e| format!("temp.{key}: {e}")),
    };
    let mut caps = Caps::default();
    caps.max.bytes = bytes("max", temp.max, caps.max.bytes)?;
    caps.warn.bytes = bytes("warn", temp.warn, caps.warn.bytes)?.min(caps.max.bytes);
    caps.max.inodes = temp.max_files.unwrap_or(caps.max.inodes);
    caps.warn.inodes = temp.warn_files.unwrap_or(caps.warn.inodes).min(caps.max.inodes);
    if !(1..limits::TEMP_COUNT_MAX).contains(&caps.max.inodes) || caps.warn.inodes == 0 {
        return Err(format!(
            "temp.max_files and warn_files must be between 1 and {}",
            limits::TEMP_COUNT_MAX - 1
        ));
    }
    Ok(caps)
}

fn judge(tasks: Tasks) -> Result<TaskRules, String> {
    let mut rules = TaskRules::default();
    if let Some(concurrent) = tasks.concurrent {
        if !(1..=limits::TASKS_PER_PROJECT_MAX).contains(&concurrent) {
            return Err(format!("tasks.concurrent must be between 1 and {}", limits::TASKS_PER_PROJECT_MAX));
        }
        rules.concurrent = concurrent;
    }
    if let Some(timeout) = tasks.timeout {
        let timeout_ms = quantity::duration_ms(&timeout).map_err(|e| format!("tasks.timeout: {e}"))?;
        rules.timeout_ms = Some(timeout_ms.min(limits::TASK_TIMEOUT_MAX_MS));
    }
    if let Some(log_max) = tasks.log_max {
        let bytes = quantity::bytes(&log_max).map_err(|e| format!("tasks.log_max: {e}"))?;
        rules.log_max = bytes.max(limits::TASK_LOG_MIN_BYTES);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TaskRules, String> {
        judge(rules::parse(text)?.tasks)
    }

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

    #[test]
    fn a_project_says_how_much_room_temp_may_take() {
        let parse = |text: &str| caps(rules::parse(&format!("[temp]\n{text}"))?.temp);
        assert_eq!(parse(""), Ok(Caps::default()));
        let own = parse("warn = \"1MiB\"\nmax = \"2MiB\"\nwarn_files = 10\nmax_files = 20").unwrap();
        assert_eq!((own.warn.bytes, own.max.bytes), (1 << 20, 2 << 20));
        assert_eq!((own.warn.inodes, own.max.inodes), (10, 20));
        let low = parse("max = \"1KiB\"\nmax_files = 5").unwrap();
        assert_eq!(low.warn, low.max, "nobody is warned only after the end");
        for (bad, named) in
            [("max = \"much\"", "temp.max"), ("max_files = 0", "max_files"), ("warn_files = 0", "warn_files")]
        {
            let why = parse(bad).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }
}
