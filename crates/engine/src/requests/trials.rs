//! Trying the program of a profile, and the programs that the user has chosen for their own work.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use carillon_agents::adapter::Adapter;
use carillon_agents::trial::{self, Ending, Outcome, Stopper};
use carillon_core::id::ProfileId;
use carillon_core::limits;
use carillon_core::words::Profile;

use crate::engine::Engine;
use crate::error::Error;
use crate::host::Vars;
use crate::requests::profiles::resolve;
use crate::secrets;

/// What came of trying a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialView {
    /// How it went, as a sentence without a full stop.
    pub said: String,
    /// The last lines that the program printed.
    pub output: String,
    /// Whether nothing about it looks wrong.
    pub is_well: bool,
}

/// The programs of the user's own environment; what is not set or not there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserPrograms {
    /// `$SHELL`.
    pub shell: Option<PathBuf>,
    /// `$VISUAL`, else `$EDITOR`: its program, then its arguments.
    pub editor: Option<Vec<String>>,
}

/// The trials that are under way. A profile has one at a time.
#[derive(Default)]
pub(crate) struct Trials {
    running: Mutex<HashMap<ProfileId, Running>>,
}

struct Running {
    stopper: Stopper,
    was_stopped: bool,
}

impl Trials {
    fn lock(&self) -> MutexGuard<'_, HashMap<ProfileId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Starts the program of a profile with the variables of the profile, and tells what it said. One that is known to
    /// tell its version without side effects is asked for that, any other is started as its agents would be, with
    /// nothing on its standard input. Takes as long as it runs, within a bound.
    pub fn test_profile(&self, key: &str) -> Result<TrialView, Error> {
        let profile = self.profile(key)?;
        let adapter = Adapter::from_str(&profile.adapter)
            .map_err(|e| Error::failed(e.to_string(), "remove the profile and add it again"))?;
        let program = resolve(&profile.program, &self.inner.host.user_env(), Path::new("/"))?;
        let own = secrets::get(&self.inner.paths.secrets, &profile.id).map_err(|e| {
            Error::failed(format!("its variables cannot be read: {e}"), "set them again, or remove them")
        })?;
        let tells_version = !matches!(adapter, Adapter::Plain | Adapter::Acp);
        let (outcome, was_stopped) = self.with_probe_env(|vars| {
            let mut vars = vars.clone();
            vars.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
            self.try_out(&profile, &program, tells_version, &vars)
        })??;
        if was_stopped {
            return Err(Error::refused("you stopped the test", "test it again when you like"));
        }
        judge(&program, tells_version, outcome)
    }

    /// Ends the test of a profile. Answers whether there was one.
    pub fn stop_profile_test(&self, key: &str) -> Result<bool, Error> {
        let profile = self.profile(key)?;
        let mut running = self.inner.trials.lock();
        Ok(running.get_mut(&profile.id).is_some_and(|trial| {
            trial.was_stopped = true;
            trial.stopper.stop();
            true
        }))
    }

    /// The user's own shell and editor.
    pub fn user_programs(&self) -> UserPrograms {
        programs_of(&self.inner.host.user_env())
    }

    fn try_out(
        &self,
        profile: &Profile,
        program: &Path,
        tells_version: bool,
        vars: &Vars,
    ) -> Result<(Outcome, bool), Error> {
        let failed = |e: std::io::Error| {
            let message = format!("{} could not be started: {e}", program.display());
            Error::failed(message, "check the program and its permissions")
        };
        let (args, limit_ms) = if tells_version {
            (vec!["--version".into()], limits::VERSION_PROBE_MS)
        } else {
            (profile.args.iter().map(OsString::from).collect(), limits::TRIAL_MS)
        };
        let temp = vars.iter().rev().find(|(name, _)| name == "TMPDIR");
        let dir = temp.map_or(Path::new("/"), |(_, dir)| Path::new(dir));
        let trial = {
            let mut running = self.inner.trials.lock();
            if running.contains_key(&profile.id) {
                return Err(Error::refused(
                    "this profile is being tested already",
                    "wait, or stop that test",
                ));
            }
            let trial = trial::begin(program, &args, vars, dir).map_err(failed)?;
            let stopper = trial.stopper().map_err(failed)?;
            running.insert(profile.id.clone(), Running { stopper, was_stopped: false });
            trial
        };
        let outcome = trial.watch(Duration::from_millis(limit_ms));
        let ended = self.inner.trials.lock().remove(&profile.id);
        Ok((outcome.map_err(failed)?, ended.is_some_and(|trial| trial.was_stopped)))
    }
}

/// What the user is told of a trial.
fn judge(program: &Path, tells_version: bool, outcome: Outcome) -> Result<TrialView, Error> {
    let shown = program.display();
    let output = outcome.said;
    let view = |said: String, is_well: bool| Ok(TrialView { said, output: output.clone(), is_well });
    if tells_version {
        return match outcome.version {
            Some(version) => view(format!("{shown} answers: version {version}"), true),
            None => {
                let why = if output.is_empty() {
                    "it said nothing".to_owned()
                } else {
                    format!("it said: {output}")
                };
                let message = format!("{shown} does not tell its version; {why}");
                Err(Error::failed(message, "start it in a terminal to see what it needs"))
            }
        };
    }
    match outcome.ending {
        Ending::Exited(Some(status)) if status.success() => {
            view(format!("{shown} started, and ended with exit code 0"), true)
        }
        Ending::Exited(Some(status)) => match status.code() {
            Some(code) => view(format!("{shown} started, and ended with exit code {code}"), false),
            None => view(format!("{shown} started, and was killed by a signal ({status})"), false),
        },
        Ending::Exited(None) => view(format!("{shown} started, and ended"), false),
        Ending::TimeUp => {
            let seconds = limits::TRIAL_MS / 1_000;
            view(format!("{shown} started, still ran after {seconds} s, and was ended"), true)
        }
        Ending::TooMuch => view(format!("{shown} started, printed without end, and was ended"), false),
    }
}

fn programs_of(vars: &Vars) -> UserPrograms {
    let value = |wanted: &str| {
        let found = vars.iter().rev().find(|(name, _)| name == wanted);
        found.and_then(|(_, value)| value.to_str()).map(str::trim).filter(|value| !value.is_empty())
    };
    let found = |program: &str| resolve(program, vars, Path::new("/")).ok();
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(value).and_then(|line| {
        // As everywhere where these are used, blanks part the program from its arguments.
        let mut words = line.split_whitespace();
        let program = found(words.next()?)?.into_os_string().into_string().ok()?;
        Some(std::iter::once(program).chain(words.map(ToOwned::to_owned)).collect())
    });
    UserPrograms { shell: value("SHELL").and_then(found), editor }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Vars {
        let path = ("PATH", "/usr/bin:/bin");
        pairs.iter().chain([&path]).map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn the_users_programs_are_those_that_are_there() {
        let all = programs_of(&vars(&[("SHELL", "/bin/sh"), ("EDITOR", "cat -n  -s"), ("VISUAL", " ")]));
        assert_eq!(all.shell.as_deref(), Some(Path::new("/bin/sh")));
        let editor = all.editor.expect("an editor");
        assert!(editor[0].ends_with("/cat"), "{editor:?}");
        assert_eq!(editor[1..], ["-n", "-s"]);
        let none = programs_of(&vars(&[("SHELL", "/nowhere/sh"), ("VISUAL", "nowhere-editor")]));
        assert_eq!(none, UserPrograms::default());
    }

    #[test]
    fn a_trial_is_told_as_it_went() {
        let outcome = |ending, version: Option<&str>| Outcome {
            ending,
            said: "words".to_owned(),
            version: version.map(ToOwned::to_owned),
        };
        let told =
            |tells_version, outcome| judge(Path::new("/bin/x"), tells_version, outcome).expect("a view");
        let version = told(true, outcome(Ending::TimeUp, Some("1.2.3")));
        assert_eq!((version.said.as_str(), version.is_well), ("/bin/x answers: version 1.2.3", true));
        let silent = judge(Path::new("/bin/x"), true, outcome(Ending::Exited(None), None));
        assert!(silent.is_err_and(|error| error.to_string().ends_with("it said: words")));
        let runs = told(false, outcome(Ending::TimeUp, None));
        assert_eq!((runs.output.as_str(), runs.is_well), ("words", true));
        assert!(!told(false, outcome(Ending::TooMuch, None)).is_well);
    }
}
