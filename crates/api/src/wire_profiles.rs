//! The shapes of profiles. Part of the wire, as [`crate::wire`].

use carillon_core::words;
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What an agent may run in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Nothing.
    Never,
    /// What the user approves.
    Ask,
    /// Anything.
    Allow,
}

impl From<Policy> for words::Policy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Never => Self::Never,
            Policy::Ask => Self::Ask,
            Policy::Allow => Self::Allow,
        }
    }
}

/// How to start one kind of agent. The values of its variables are never told.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Profile {
    /// 32 hex digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `claude`, `codex`, `gemini`, `opencode`, `acp` or `plain`.
    #[ts(type = "AdapterName")]
    pub adapter: String,
    /// A path, or a name on the user's PATH.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Names of its own variables.
    pub env_names: Vec<String>,
    /// The version that its program told.
    pub version: Option<String>,
    /// What its agents may run in the background.
    pub policy: Policy,
    /// Beginnings of commands that need no approval.
    pub allow_prefixes: Vec<String>,
    /// Most headless turns of its agents that run at once; none: any number.
    #[ts(optional = nullable)]
    pub concurrency: Option<u32>,
    /// Until when a session limit holds.
    #[ts(type = "number | null")]
    pub limited_until_ms: Option<i64>,
}

impl From<words::Profile> for Profile {
    fn from(profile: words::Profile) -> Self {
        Self {
            id: profile.id.to_string(),
            name: profile.name,
            adapter: profile.adapter,
            program: profile.program,
            args: profile.args,
            env_names: profile.env.into_iter().map(|(name, _)| name).collect(),
            version: profile.version,
            policy: match profile.policy {
                words::Policy::Never => Policy::Never,
                words::Policy::Ask => Policy::Ask,
                words::Policy::Allow => Policy::Allow,
            },
            allow_prefixes: profile.allow_prefixes,
            concurrency: profile.concurrency,
            limited_until_ms: None,
        }
    }
}

/// What came of testing a profile.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct ProfileTested {
    /// How it went, as a sentence without a full stop.
    pub said: String,
    /// The last lines that its program printed.
    pub output: String,
    /// Whether nothing about it looks wrong.
    pub is_well: bool,
}

impl From<engine::TrialView> for ProfileTested {
    fn from(trial: engine::TrialView) -> Self {
        Self { said: trial.said, output: trial.output, is_well: trial.is_well }
    }
}

/// The programs that the user's own environment names; what is not set or not there is null.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct UserPrograms {
    /// The absolute path of `$SHELL`.
    pub shell: Option<String>,
    /// `$VISUAL`, else `$EDITOR`: the absolute path of its program, then its arguments.
    pub editor: Option<Vec<String>>,
}

impl From<engine::UserPrograms> for UserPrograms {
    fn from(programs: engine::UserPrograms) -> Self {
        let shell = programs.shell.and_then(|shell| shell.into_os_string().into_string().ok());
        Self { shell, editor: programs.editor }
    }
}
