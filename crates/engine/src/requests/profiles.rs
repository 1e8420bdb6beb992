//! Profiles: adding, detecting, removing.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use carillon_agents::adapter::Adapter;
use carillon_agents::{detect, find as programs};
use carillon_core::id::ProfileId;
use carillon_core::words::{Policy, Profile};
use carillon_core::{limits, name};
use carillon_store::profiles;

use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::now_ms;
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
        let vars = self.inner.host.user_env();
        let program = resolve(&new.program, &vars, Path::new("/"))?;
        let version = known_version(adapter, &program, &vars);
        let policy = match adapter {
            Adapter::Plain => Policy::Allow,
            // These have an approval mode of their own, which a background command must not bypass.
            Adapter::Claude | Adapter::Codex | Adapter::Gemini | Adapter::Opencode | Adapter::Acp => {
                Policy::Ask
            }
        };
        let profile = Profile {
            id: ProfileId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            name: new.name,
            adapter: adapter.to_string(),
            program: new.program,
            args: new.args,
            env: new.env,
            version,
            policy,
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
        let vars = self.inner.host.user_env();
        let known = self.profiles()?;
        let found = detect::detect(&vars);
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

fn profile_of<'a>(known: &'a [Profile], found: &detect::Detected) -> Option<&'a Profile> {
    let adapter = found.adapter.to_string();
    let bare = found.program.file_name().map(|name| name.to_string_lossy().into_owned());
    known.iter().find(|p| {
        p.adapter == adapter && (Path::new(&p.program) == found.program || Some(&p.program) == bare.as_ref())
    })
}

/// Finds a program as the user's shell would.
pub(crate) fn resolve(program: &str, vars: &crate::host::Vars, cwd: &Path) -> Result<PathBuf, Error> {
    let path =
        vars.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    programs::resolve_program(program, &path, cwd)
        .map_err(|e| Error::failed(e.to_string(), "install it, give its full path, or check its permissions"))
}

/// Only programs that are known to answer `--version` without side effects are asked for it.
fn known_version(adapter: Adapter, program: &Path, vars: &crate::host::Vars) -> Option<String> {
    match adapter {
        Adapter::Acp | Adapter::Plain => None,
        Adapter::Claude | Adapter::Codex | Adapter::Gemini | Adapter::Opencode => {
            detect::version_of(program, vars, Duration::from_millis(limits::VERSION_PROBE_MS))
        }
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
