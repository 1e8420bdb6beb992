//! Profiles: adding, detecting, removing.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use carillon_agents::adapter::Adapter;
use carillon_agents::{detect, find as programs};
use carillon_core::id::ProfileId;
use carillon_core::words::{Policy, Profile};
use carillon_core::{limits, name};
use carillon_store::{agents, profiles};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::Vars;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::find::find;
use crate::secrets;

/// A profile to add.
#[derive(Clone, Debug)]
pub struct NewProfile {
    /// Its name, unique.
    pub name: String,
    /// The adapter's word.
    pub adapter: String,
    /// A path, or a name on the user's PATH.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Variables of its own, which may be secrets.
    pub env: Vec<(String, String)>,
    /// What its agents may run in the background; else what its adapter asks for.
    pub policy: Option<Policy>,
    /// Beginnings of commands that need no approval.
    pub allow_prefixes: Vec<String>,
    /// Most headless turns of its agents that run at once; none: any number.
    pub concurrency: Option<u32>,
}

/// What is changed of a profile; what is left out stays.
#[derive(Clone, Debug, Default)]
pub struct ProfileChange {
    /// A path, or a name on the user's PATH.
    pub program: Option<String>,
    /// Arguments.
    pub args: Option<Vec<String>>,
    /// Variables by name; none takes one away, all others stay.
    pub env: Vec<(String, Option<String>)>,
    /// What its agents may run in the background.
    pub policy: Option<Policy>,
    /// Beginnings of commands that need no approval.
    pub allow_prefixes: Option<Vec<String>>,
    /// Most headless turns of its agents that run at once; zero takes the bound away.
    pub concurrency: Option<u32>,
}

/// An agent CLI that was found on the user's PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedView {
    /// The adapter's word.
    pub adapter: String,
    /// Its path.
    pub program: PathBuf,
    /// The version that it told.
    pub version: Option<String>,
    /// Why it cannot be used as it is.
    pub problem: Option<String>,
    /// The profile that uses it already.
    pub profile: Option<ProfileId>,
}

impl Engine {
    /// All profiles; their variables come without values.
    pub fn profiles(&self) -> Result<Vec<Profile>, Error> {
        self.read(profiles::list)
    }

    /// The profile that `key` names.
    pub fn profile(&self, key: &str) -> Result<Profile, Error> {
        find(self.profiles()?, key)
    }

    /// Adds a profile. Its program must be there and executable.
    pub fn add_profile(&self, new: NewProfile) -> Result<Profile, Error> {
        name::check(&new.name).map_err(|e| Error::invalid(e.to_string(), "choose another name"))?;
        let adapter = Adapter::from_str(&new.adapter).map_err(|_| {
            let message = format!("there is no adapter {:?}", new.adapter);
            Error::invalid(message, "use claude, codex, gemini, opencode, acp or plain")
        })?;
        check_env(&new.env)?;
        let program = resolve(&new.program, &self.inner.host.user_env(), Path::new("/"))?;
        let version = self.with_probe_env(|vars| known_version(adapter, &program, vars))?;
        check_prefixes(&new.allow_prefixes)?;
        check_concurrency(new.concurrency)?;
        let policy = new.policy.unwrap_or(match adapter {
            Adapter::Plain => Policy::Allow,
            // These have an approval mode of their own, which a background command must not bypass.
            Adapter::Claude | Adapter::Codex | Adapter::Gemini | Adapter::Opencode | Adapter::Acp => {
                Policy::Ask
            }
        });
        let profile = Profile {
            id: ProfileId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            name: new.name,
            adapter: adapter.to_string(),
            program: new.program,
            args: new.args,
            env: new.env,
            version,
            policy,
            allow_prefixes: new.allow_prefixes,
            concurrency: new.concurrency,
        };
        self.request_blocking(move |inner| {
            if inner.store.read(profiles::list)?.iter().any(|p| p.name == profile.name) {
                let message = format!("there is a profile {:?} already", profile.name);
                return Err(Error::refused(message, "choose another name, or remove that one first"));
            }
            secrets::put(&inner.paths.secrets, &profile.id, &profile.env).map_err(|e| {
                Error::failed(format!("the variables cannot be kept: {e}"), "check the data directory")
            })?;
            inner.store.write(|tx| profiles::insert(tx, &profile, now_ms()))?;
            Ok(profile)
        })
    }

    /// Changes a profile. What runs already goes on as it was begun.
    pub fn change_profile(&self, key: &str, change: ProfileChange) -> Result<Profile, Error> {
        let known = self.profile(key)?;
        let version = match &change.program {
            None => None,
            Some(program) => {
                let program = resolve(program, &self.inner.host.user_env(), Path::new("/"))?;
                let adapter = Adapter::from_str(&known.adapter).ok();
                self.with_probe_env(|vars| adapter.and_then(|a| known_version(a, &program, vars)))?
            }
        };
        self.request_blocking(move |inner| inner.change_profile(&known.id, change, version))
    }

    /// Removes a profile that no agent uses.
    pub fn remove_profile(&self, key: &str) -> Result<(), Error> {
        let profile = self.profile(key)?;
        self.request_blocking(move |inner| {
            let agents = inner.store.read(carillon_store::agents::list)?;
            if let Some(agent) = agents.iter().find(|agent| agent.profile == profile.id) {
                let message = format!("agent {:?} uses the profile {:?}", agent.name, profile.name);
                return Err(Error::refused(message, "remove its agents first"));
            }
            inner.store.write(|tx| profiles::delete(tx, &profile.id))?;
            secrets::forget(&inner.paths.secrets, &profile.id).map_err(|e| {
                Error::failed(format!("its variables could not be removed: {e}"), "remove them by hand")
            })
        })
    }

    /// The agent CLIs on the user's PATH, with their versions. Takes as long as they take to tell.
    pub fn detect_profiles(&self) -> Result<Vec<DetectedView>, Error> {
        let known = self.profiles()?;
        let found = self.with_probe_env(|vars| detect::detect(vars))?;
        Ok(found
            .into_iter()
            .map(|one| DetectedView {
                profile: profile_of(&known, &one).map(|p| p.id.clone()),
                adapter: one.adapter.to_string(),
                program: one.program,
                version: one.version,
                problem: one.problem,
            })
            .collect())
    }
}

impl MainLoop {
    /// On the loop, so that of two changes at once none is lost.
    fn change_profile(
        &mut self,
        id: &ProfileId,
        change: ProfileChange,
        version: Option<String>,
    ) -> Result<Profile, Error> {
        let mut profile = find(self.store.read(profiles::list)?, id.as_str())?;
        if let Some(program) = change.program {
            (profile.program, profile.version) = (program, version);
        }
        profile.args = change.args.unwrap_or(profile.args);
        profile.policy = change.policy.unwrap_or(profile.policy);
        profile.allow_prefixes = change.allow_prefixes.unwrap_or(profile.allow_prefixes);
        check_prefixes(&profile.allow_prefixes)?;
        profile.concurrency = match change.concurrency {
            Some(0) => None,
            given => given.or(profile.concurrency),
        };
        check_concurrency(profile.concurrency)?;
        let own = secrets::get(&self.paths.secrets, &profile.id);
        let mut env = own.map_err(|e| {
            Error::failed(format!("its variables cannot be read: {e}"), "remove the profile and add it again")
        })?;
        for (name, value) in change.env {
            env.retain(|(known, _)| *known != name);
            env.extend(value.map(|value| (name, value)));
        }
        check_env(&env)?;
        profile.env = env;
        secrets::put(&self.paths.secrets, &profile.id, &profile.env).map_err(|e| {
            Error::failed(format!("the variables cannot be kept: {e}"), "check the data directory")
        })?;
        self.store.write(|tx| {
            profiles::update(tx, &profile)?;
            // Whether they wait for a slot is read from it.
            agents::note_all_of(tx, &profile.id)
        })?;
        // More turns may run at once now.
        self.fill_line(&profile.id)?;
        Ok(profile)
    }
}

impl Engine {
    /// Runs `probe` with the user's environment and a temp directory of ours, which goes afterwards:
    /// some agent programs leave files there when they are only asked for their version.
    pub(crate) fn with_probe_env<T>(&self, probe: impl FnOnce(&Vars) -> T) -> Result<T, Error> {
        // One for each probe, since several may go on at a time; a start removes what a crash left.
        let dir = &self.inner.paths.probe.join(uuid::Uuid::new_v4().simple().to_string());
        let failed = |e: std::io::Error| {
            Error::failed(format!("{} cannot be made: {e}", dir.display()), "check the data directory")
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        let mut vars = Vars::clone(&self.inner.host.user_env());
        vars.retain(|(name, _)| !["TMPDIR", "TMP", "TEMP"].iter().any(|temp| name == temp));
        vars.extend(["TMPDIR", "TMP", "TEMP"].map(|name| (name.into(), dir.clone().into_os_string())));
        let found = probe(&vars);
        let _ = std::fs::remove_dir_all(dir);
        Ok(found)
    }
}

fn profile_of<'a>(known: &'a [Profile], found: &detect::Detected) -> Option<&'a Profile> {
    let adapter = found.adapter.to_string();
    let bare = found.program.file_name().map(|name| name.to_string_lossy().into_owned());
    known.iter().find(|p| {
        p.adapter == adapter && (Path::new(&p.program) == found.program || Some(&p.program) == bare.as_ref())
    })
}

/// Finds a program as the user's shell would.
pub(crate) fn resolve(program: &str, vars: &Vars, cwd: &Path) -> Result<PathBuf, Error> {
    let path =
        vars.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    programs::resolve_program(program, &path, cwd)
        .map_err(|e| Error::failed(e.to_string(), "install it, give its full path, or check its permissions"))
}

/// Only programs that are known to answer `--version` without side effects are asked for it.
fn known_version(adapter: Adapter, program: &Path, vars: &Vars) -> Option<String> {
    match adapter {
        Adapter::Acp | Adapter::Plain => None,
        Adapter::Claude | Adapter::Codex | Adapter::Gemini | Adapter::Opencode => {
            detect::version_of(program, vars, Duration::from_millis(limits::VERSION_PROBE_MS))
        }
    }
}

fn check_prefixes(prefixes: &[String]) -> Result<(), Error> {
    if prefixes.len() > limits::PREFIXES_MAX {
        let message = format!("at most {} beginnings of commands can be allowed", limits::PREFIXES_MAX);
        return Err(Error::invalid(message, "use the policy `allow` instead"));
    }
    match prefixes.iter().find(|prefix| prefix.trim().is_empty()) {
        Some(_) => Err(Error::invalid("an allowed beginning is empty", "write the words, like `npm test`")),
        None => Ok(()),
    }
}

fn check_concurrency(turns: Option<u32>) -> Result<(), Error> {
    match turns {
        Some(turns) if !(1..=limits::PROFILE_TURNS_MAX).contains(&turns) => {
            let message = format!("a profile cannot let {turns} turns run at once");
            let hint = format!("give 1 to {}, or leave it out for no bound", limits::PROFILE_TURNS_MAX);
            Err(Error::invalid(message, &hint))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_env(env: &[(String, String)]) -> Result<(), Error> {
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Error::invalid(format!("{name:?} cannot be a variable"), "write it as NAME=VALUE"));
        }
        if name.starts_with("CARILLON_") {
            return Err(Error::invalid(format!("{name} is set by Carillon itself"), "leave it out"));
        }
    }
    Ok(())
}
