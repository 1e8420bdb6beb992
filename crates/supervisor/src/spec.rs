//! The shapes of the files in a run's directory: `spec.json`, `started.json` and `exit.json`.
//!
//! A supervisor may be older or newer than the engine that reads its files, so unknown fields are
//! ignored and fields are only ever added, with a default.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The smallest log cap in bytes; a smaller [`RunSpec::log_max`] is raised to it.
pub const LOG_MAX_FLOOR: u64 = 4096;

/// Cap of what is kept of a turn's standard error, in bytes. Past it the head stays and the oldest part
/// of the tail goes.
pub const ERRORS_MAX: u64 = 256 << 10;

/// At most so many processes are named in each list of an [`ExitRecord`], so that the record stays
/// small after a fork bomb.
pub const NOTES_MAX: usize = 100;

/// What to start (`spec.json`). The environment is not part of it: it never stands in a file, the
/// supervisor hands its own on to the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The run's id, 32 lower-case hex digits.
    pub run: String,
    /// Program and arguments. A program without a slash is looked up in the environment's PATH; a
    /// relative path counts from `cwd`.
    pub argv: Vec<String>,
    /// The program's working directory, absolute.
    pub cwd: PathBuf,
    /// What the program's standard input, output and error are.
    pub io: Io,
    /// The tree is ended so many milliseconds after the program's start, by a clock that does not
    /// count the time in which the machine sleeps. None: never.
    pub timeout_ms: Option<u64>,
    /// How patient the end is.
    #[serde(default)]
    pub grace: Grace,
    /// Cap of the log in bytes. Past it the head stays and the oldest part of the tail goes; a turn is
    /// ended instead.
    pub log_max: u64,
    /// Names of shared daemons of the user's. A descendant of such a name that has left the run's
    /// session is left alone, with all its children, and reported in [`ExitRecord::left`].
    #[serde(default)]
    pub keep: Vec<String>,
}

/// What the program's standard input, output and error are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Io {
    /// A terminal of its own, of this size to begin with.
    Pty {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Standard input at its end, output and error merged into the one log, no terminal.
    Pipes,
    /// One question and its answer, without a terminal: standard input is the file that
    /// [`LeasedRun::write_prompt`](crate::LeasedRun::write_prompt) wrote, output is the log, and errors
    /// have a log of their own with the cap [`ERRORS_MAX`]. Output is never cut in the middle: a turn
    /// that writes more than [`RunSpec::log_max`] is ended with [`Cause::OutputTooLarge`].
    Turn,
}

/// How long the end of a tree waits, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    /// From HUP to TERM.
    pub hup_ms: u64,
    /// From TERM to KILL.
    pub term_ms: u64,
    /// From the program's end to the moment when output that a descendant still holds open is no
    /// longer waited for.
    pub drain_ms: u64,
}

impl Default for Grace {
    fn default() -> Grace {
        Grace { hup_ms: 500, term_ms: 2000, drain_ms: 1000 }
    }
}

/// What was started (`started.json`). Written before the program's exec without pid and start time,
/// and again right after with both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The run's id.
    pub run: String,
    /// The program's process id.
    pub pid: Option<u32>,
    /// The program's start time in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    pub start_time: Option<u64>,
    /// The boot in which pid and start times mean something.
    pub boot_id: String,
    /// The supervisor's process id.
    pub supervisor_pid: u32,
    /// The supervisor's start time in clock ticks since boot.
    pub supervisor_start_time: u64,
    /// When the start was recorded, in Unix milliseconds.
    pub started_ms: i64,
    /// The run's cgroup, where the system lets us make one. It is there from the program's start until
    /// shortly before the exit record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
}

/// How a run ended (`exit.json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// The run's id.
    pub run: String,
    /// Why the run ended. The first cause wins: a program that exits by itself while a stop is under
    /// way was stopped, and a stop that comes after its exit changes nothing.
    pub cause: Cause,
    /// The program's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The number of the signal that killed the program, if one did.
    pub signal: Option<i32>,
    /// When the program was started, in Unix milliseconds.
    pub started_ms: i64,
    /// When the program ended, in Unix milliseconds.
    pub ended_ms: i64,
    /// How long the program ran, in milliseconds of the monotonic clock.
    pub duration_ms: u64,
    /// How many bytes the program and its descendants wrote, kept or not.
    pub log_bytes: u64,
    /// Some of these bytes are not in the log: the cap was passed, or the disk was full. What is there
    /// of a turn's output is then its beginning, without a gap, even if the cause is another one than
    /// [`Cause::OutputTooLarge`].
    pub log_truncated: bool,
    /// When the wait for the rest of the output was over, a descendant still held it open, so that
    /// some of what it wrote may be missing.
    pub output_held: bool,
    /// How many bytes a turn wrote to standard error, kept or not.
    #[serde(default)]
    pub errors_bytes: u64,
    /// Some of these bytes are not in the log of errors.
    #[serde(default)]
    pub errors_truncated: bool,
    /// Descendants that had to be ended, at most [`NOTES_MAX`].
    pub ended: Vec<ProcessNote>,
    /// Descendants that live on, at most [`NOTES_MAX`]: on the keep list, or out of our power.
    pub left: Vec<ProcessNote>,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// The program ended by itself, or something that is not ours killed it.
    Ended,
    /// The time-out of its spec passed.
    TimedOut,
    /// Somebody asked for it over the control socket.
    Stopped {
        /// Who asked, in the asker's words.
        by: String,
    },
    /// The supervisor got a TERM signal, as at the machine's shutdown.
    SystemStop,
    /// It wrote more than a turn may. The exit code is 0 if the program was done by the time this was
    /// noticed.
    OutputTooLarge,
    /// The program was never executed.
    SpawnFailed {
        /// What was to be started and why it could not be.
        message: String,
    },
}

/// A process that the supervisor ended or left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessNote {
    /// Its process id.
    pub pid: u32,
    /// Its short name, as `ps` shows it.
    pub name: String,
    /// How it was ended or why it was left, in words.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in the run directories of users must stay readable.
    #[test]
    fn files_of_earlier_versions_still_read() {
        let record: ExitRecord = serde_json::from_str(
            r#"{"run":"r","cause":{"kind":"stopped","by":"user"},"exit_code":null,"signal":15,"started_ms":1,
                "ended_ms":2,"duration_ms":1,"log_bytes":3,"log_truncated":false,"output_held":true,
                "ended":[{"pid":7,"name":"sleep","reason":"ended by HUP"}],"left":[]}"#,
        )
        .expect("a record without the fields of turns");
        assert_eq!((record.errors_bytes, record.errors_truncated), (0, false));
        assert_eq!(record.cause, Cause::Stopped { by: "user".into() });
        let spec: RunSpec = serde_json::from_str(
            r#"{"run":"r","argv":["true"],"cwd":"/","io":{"kind":"pipes"},"timeout_ms":null,"log_max":4096}"#,
        )
        .expect("a spec without the fields that came later");
        assert_eq!((spec.io, spec.grace), (Io::Pipes, Grace::default()));
    }

    #[test]
    fn the_words_of_turns_are_what_other_versions_will_read() {
        assert_eq!(serde_json::to_string(&Io::Turn).expect("json"), r#"{"kind":"turn"}"#);
        let cause = serde_json::to_string(&Cause::OutputTooLarge).expect("json");
        assert_eq!(cause, r#"{"kind":"output_too_large"}"#);
    }
}
