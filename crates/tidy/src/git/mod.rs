//! git, by its own command line.
//!
//! Each call is one process with a bound on its time and output. Arguments never go through a shell, the
//! variables by which git is told of another repository are not inherited, and nothing that git would leave
//! running (a file system monitor, a background collection of garbage) is started.
//!
//! Reading order: this file (one call), [`names`] and [`list`] (what there is), [`look`] with `nested` and
//! `proof` and [`branch`] (facts for the judgement), [`create`], [`merge`] and [`diff`], then [`archive`], [`remove`] and
//! [`restore`]. [`stop`] is how a merge or a removal is stopped.

pub mod archive;
pub mod branch;
pub mod create;
pub mod diff;
pub mod list;
pub mod look;
pub mod merge;
pub mod names;
mod nested;
mod proof;
pub mod remove;
pub mod restore;
mod status;
pub mod stop;
mod talk;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::Error;

/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a call may take that writes many files or runs hooks of the user's.
pub(crate) const LONG_LIMIT: Duration = Duration::from_secs(600);
/// Most bytes of output of one call.
const OUTPUT_MAX: usize = 64 * 1024 * 1024;
/// Most characters of git's own words in a reason.
const SAID_MAX: usize = 600;

/// Settings for each call, whatever the user's are: nothing that stays behind is started, and no look at a
/// repository runs a program that its configuration names.
const SETTINGS: [&str; 5] = [
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "core.quotePath=false",
];

/// One call of git.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    dir: PathBuf,
    operation: &'static str,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    input: Option<Vec<u8>>,
    limit: Duration,
    output_max: usize,
}

/// What a call left.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    /// There was more output than the bound, and git was ended when it was reached.
    pub(crate) is_cut: bool,
}

impl Call {
    /// A call in the directory `dir`. `operation` completes "git cannot ...".
    pub(crate) fn new<A: AsRef<OsStr>>(dir: &Path, operation: &'static str, args: &[A]) -> Self {
        Self {
            dir: dir.to_path_buf(),
            operation,
            args: args.iter().map(|arg| arg.as_ref().to_os_string()).collect(),
            env: Vec::new(),
            input: None,
            limit: LIMIT,
            output_max: OUTPUT_MAX,
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_os_string());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_os_string()));
        self
    }

    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn output_max(mut self, bytes: usize) -> Self {
        self.output_max = bytes;
        self
    }

    /// Runs it and returns whatever it answered.
    ///
    /// # Errors
    /// [`Error::NoGit`], [`Error::GitTimeout`] and [`Error::Stopped`]. An exit code that is not 0 is no error here.
    pub(crate) fn answer(&self) -> Result<Answer, Error> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        // No look at a repository writes its index, and nobody is asked for a password.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.arg("-C").arg(&self.dir);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(&self.args);
        let stop = stop::current()?;
        let bounds = talk::Bounds {
            limit: self.limit,
            output_max: self.output_max,
            bell: stop.as_ref().map(|stop| stop.bell()),
        };
        talk::talk(command, self.input.as_deref(), &bounds).map_err(|failure| match failure {
            talk::Failure::Stopped => Error::Stopped,
            talk::Failure::NotStarted(source) => Error::NoGit { source },
            talk::Failure::Io(source) => Error::io("talk to git in", &self.dir, source),
            talk::Failure::TimeIsUp => Error::GitTimeout {
                operation: self.operation,
                dir: self.dir.clone(),
                limit_s: self.limit.as_secs(),
            },
        })
    }

    /// Runs it and returns its output; it must succeed, and write no more than its bound.
    pub(crate) fn output(&self) -> Result<Vec<u8>, Error> {
        let answer = self.answer()?;
        if answer.is_cut {
            let (operation, dir, bytes) = (self.operation, self.dir.clone(), self.output_max);
            return Err(Error::GitOutput { operation, dir, bytes });
        }
        if answer.status.success() { Ok(answer.out) } else { Err(self.refused(&answer)) }
    }

    /// As [`Call::output`], as text without the line feed at its end.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let out = self.output()?;
        let text = String::from_utf8_lossy(&out);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// As [`Call::output`], as a path.
    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        let out = self.output()?;
        Ok(PathBuf::from(OsStr::from_bytes(out.strip_suffix(b"\n").unwrap_or(&out))))
    }

    /// As [`Call::text`], as a number.
    pub(crate) fn number(&self) -> Result<u64, Error> {
        let text = self.text()?;
        text.trim().parse().map_err(|_| Error::Git {
            operation: self.operation,
            dir: self.dir.clone(),
            said: format!("{text:?} is no number"),
        })
    }

    /// Whether it succeeds: exit code 0 or 1 are answers, all else is an error.
    pub(crate) fn holds(&self) -> Result<bool, Error> {
        let answer = self.answer()?;
        match answer.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(self.refused(&answer)),
        }
    }

    pub(crate) fn refused(&self, answer: &Answer) -> Error {
        Error::Git { operation: self.operation, dir: self.dir.clone(), said: said(&answer.err) }
    }
}

/// git's reason as one line: without its hints and without the word in front.
pub(crate) fn said(err: &[u8]) -> String {
    let text = String::from_utf8_lossy(err);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let words: Vec<&str> = lines
        .map(|line| line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")).unwrap_or(line))
        .collect();
    let mut said: String = words.join("; ").chars().take(SAID_MAX).collect();
    if said.is_empty() {
        said = "it gave no reason".to_owned();
    }
    said
}

/// The fields of an output of `-z`.
pub(crate) fn fields(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

/// A path out of bytes that git printed.
pub(crate) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn a_reason_is_one_line_without_hints() {
        let err = b"error: cannot delete branch 'a' used by worktree at '/w'\nhint: do this\n\nfatal: stop\n";
        assert_eq!(said(err), "cannot delete branch 'a' used by worktree at '/w'; stop");
        assert_eq!(said(b""), "it gave no reason");
    }
}
