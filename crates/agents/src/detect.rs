//! Which agent CLIs are installed, and in which version.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::bounded::{self, Pause};
use crate::find::{FindError, resolve_program};
use crate::{Adapter, Vars, child_env};

/// How long a program may take to tell its version.
pub const LIMIT: Duration = Duration::from_secs(10);

/// How much a program may print when it is asked for its version, in bytes.
const OUTPUT_MAX: usize = 256 * 1024;

/// The longest piece of a program's own words that is put into a message, in characters.
const WORDS_MAX: usize = 200;

/// An agent CLI that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// Which one.
    pub adapter: Adapter,
    /// Its program.
    pub program: PathBuf,
    /// Its version, when it told one.
    pub version: Option<String>,
    /// What is wrong with it, as a sentence for the user.
    pub problem: Option<String>,
}

/// Looks for the known agent CLIs on the PATH of `vars` and asks each for its version, all at the same time and
/// at most [`LIMIT`] long. What is not installed is not in the answer; what is there and cannot be started is,
/// with its problem. The programs run with `vars` (after `child_env::clean`), so `vars` should name a temp
/// directory that is managed.
pub fn detect(vars: &[(OsString, OsString)]) -> Vec<Detected> {
    detect_within(vars, LIMIT)
}

/// [`detect`] with another limit.
pub fn detect_within(vars: &[(OsString, OsString)], limit: Duration) -> Vec<Detected> {
    let vars = child_env::clean(vars);
    let path =
        vars.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    std::thread::scope(|scope| {
        let asked: Vec<_> = Adapter::ALL
            .into_iter()
            .filter_map(|adapter| Some((adapter, find(adapter.usual_program()?, &path)?)))
            .map(|(adapter, found)| match found {
                Ok(program) => {
                    let (vars, asked) = (&vars, program.clone());
                    let answer = scope.spawn(move || ask_version(&asked, vars, limit));
                    (adapter, program, Ok(answer))
                }
                Err((program, problem)) => (adapter, program, Err(problem)),
            })
            .collect();
        let answer_of = |(adapter, program, asked)| {
            let (version, problem) = match asked {
                Ok(answer) => std::thread::ScopedJoinHandle::join(answer)
                    .unwrap_or_else(|_| (None, Some("asking it for its version failed".to_owned()))),
                Err(problem) => (None, Some(problem)),
            };
            Detected { adapter, program, version, problem }
        };
        asked.into_iter().map(answer_of).collect()
    })
}

/// Asks one program for its version, at most `limit` long; none when it does not tell.
pub fn version_of(program: &Path, vars: &[(OsString, OsString)], limit: Duration) -> Option<String> {
    ask_version(program, &child_env::clean(vars), limit).0
}

/// The program on the PATH, or the one that is there and cannot be started with the reason. Nothing when there
/// is none.
fn find(program: &str, path: &OsStr) -> Option<Result<PathBuf, (PathBuf, String)>> {
    let error = match resolve_program(program, path, Path::new("/")) {
        Ok(found) => return Some(Ok(found)),
        Err(error) => error,
    };
    let text = error.to_string();
    match error {
        FindError::NotExecutable { path, .. } | FindError::NoInterpreter { path, .. } => {
            Some(Err((path, text)))
        }
        // A directory of this name is no program that somebody meant to install.
        FindError::IsDirectory { .. }
        | FindError::Empty
        | FindError::NotOnPath { .. }
        | FindError::NotFound { .. }
        | FindError::Unreadable { .. } => None,
    }
}

/// Runs `program --version` and returns the version and the problem.
fn ask_version(program: &Path, vars: &Vars, limit: Duration) -> (Option<String>, Option<String>) {
    let shown = program.display();
    let until = Instant::now() + limit;
    let mut command = Command::new(program);
    command.arg("--version").env_clear().envs(vars.iter().map(|(name, value)| (name, value)));
    let home = vars.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    command.current_dir(home.filter(|home| home.is_dir()).unwrap_or(Path::new("/")));
    let mut running = match bounded::start(&mut command, true) {
        Ok(running) => running,
        Err(error) => return (None, Some(format!("{shown} could not be started: {error}"))),
    };
    let pause = running.read(until, OUTPUT_MAX);
    let version = version_in(&running.output, &running.errors);
    let words = last_words(&running.errors).or_else(|| last_words(&running.output));
    let problem = match pause {
        Ok(Pause::Ended) => {
            let status = running.hang_up();
            return match (version, status) {
                (Some(version), _) => (Some(version), None),
                (None, Some(status)) if !status.success() => {
                    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
                    (None, Some(format!("{shown} --version failed ({status}){words}")))
                }
                (None, _) => (None, Some(format!("{shown} --version printed no version"))),
            };
        }
        Ok(Pause::TimeUp) => format!("{shown} --version did not end within {limit:?} and was stopped"),
        Ok(Pause::TooMuch) => format!("{shown} --version printed without end and was stopped"),
        Err(error) => format!("{shown} --version could not be read: {error}"),
    };
    running.kill();
    (version, Some(problem))
}

/// The version in what a program printed: on its standard output, else on its standard error.
pub(crate) fn version_in(output: &[u8], errors: &[u8]) -> Option<String> {
    first_version(output).or_else(|| first_version(errors))
}

/// The first thing that looks like x.y.z, with a suffix such as `-beta.1`. Four numbers are an address.
fn first_version(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let mut previous = None;
    for (start, c) in text.char_indices() {
        let begins = c.is_ascii_digit() && !previous.is_some_and(|p: char| p.is_ascii_digit() || p == '.');
        previous = Some(c);
        if !begins {
            continue;
        }
        let word = text[start..].split(|c| !is_part(c)).next().unwrap_or_default();
        let numbers_end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let (numbers, suffix) = word.split_at(numbers_end);
        let numbers = numbers.trim_end_matches('.');
        let is_version = numbers.split('.').count() == 3 && numbers.split('.').all(|part| !part.is_empty());
        if is_version {
            let suffix = if suffix.starts_with(['-', '+']) { suffix } else { "" };
            return Some(format!("{numbers}{}", suffix.trim_end_matches(['.', '-', '+'])));
        }
    }
    None
}

/// The last line that says anything, without control characters.
fn last_words(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().filter(|c| !c.is_control()).take(WORDS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thing_that_looks_like_a_version_counts() {
        let cases: [(&str, Option<&str>); 14] = [
            ("2.1.332 (Claude Code)\n", Some("2.1.332")),
            ("codex-cli 0.171.0\n", Some("0.171.0")),
            ("v1.18.33", Some("1.18.33")),
            ("\u{1b}[1m0.61.0\u{1b}[0m\n", Some("0.61.0")),
            ("1.2.3-beta.1 built today", Some("1.2.3-beta.1")),
            ("1.2.3.\n", Some("1.2.3")),
            ("listening on 127.0.0.1\n3.4.5\n", Some("3.4.5")),
            ("12 warnings at 10:32:07, 2026.11\n7.8.9", Some("7.8.9")),
            ("\u{fffd}noise 1.2\n", None),
            ("1..2.3", None),
            ("", None),
            ("10.20.30x", Some("10.20.30")),
            ("release-4.5.6", Some("4.5.6")),
            ("1.2.3+abc", Some("1.2.3+abc")),
        ];
        for (text, version) in cases {
            assert_eq!(first_version(text.as_bytes()).as_deref(), version, "{text:?}");
        }
    }

    #[test]
    fn the_last_words_are_one_clean_bounded_line() {
        assert_eq!(last_words(b"one\n\x1b[31mtwo\r\n \n"), Some("[31mtwo".to_owned()));
        assert_eq!(last_words(b" \n"), None);
        assert_eq!(last_words("x".repeat(1000).as_bytes()).map(|words| words.len()), Some(WORDS_MAX));
    }
}
