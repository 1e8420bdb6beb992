//! The things that the user names: projects, profiles, agents.

use crate::id::{AgentId, ProfileId, ProjectId, TaskId};

/// A git repository that the user opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its identity.
    pub id: ProjectId,
    /// The last part of its path, made unique.
    pub name: String,
    /// Absolute path of its top directory.
    pub root: String,
}

/// What an agent may run in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nothing.
    Never,
    /// What the user approves.
    Ask,
    /// Anything.
    Allow,
}

/// How to start one kind of agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its identity.
    pub id: ProfileId,
    /// Its name, unique.
    pub name: String,
    /// The adapter's word: `claude`, `codex`, `gemini`, `opencode`, `acp` or `plain`.
    pub adapter: String,
    /// A path, or a name to look up on the user's PATH.
    pub program: String,
    /// Arguments that come before what the adapter adds.
    pub args: Vec<String>,
    /// Variables of its own.
    pub env: Vec<(String, String)>,
    /// The version that its program told when it was last asked.
    pub version: Option<String>,
    /// What its agents may run in the background.
    pub policy: Policy,
    /// Beginnings of commands that need no approval.
    pub allow_prefixes: Vec<String>,
    /// Most headless turns of its agents that run at once; none: any number.
    pub concurrency: Option<u32>,
}

/// What the user looks at when he looks at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A program on a terminal of its own.
    Terminal,
    /// Turns without a terminal.
    Headless,
}

/// A named actor in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its identity.
    pub id: AgentId,
    /// Its name, unique within the project.
    pub name: String,
    /// Where it belongs.
    pub project: ProjectId,
    /// How it is started.
    pub profile: ProfileId,
    /// What the user looks at.
    pub mode: Mode,
    /// What it is told to be; may be empty.
    pub role: String,
    /// Absolute path of the directory that it works in.
    pub workdir: String,
    /// True after the user stopped it: then nothing but the user starts it.
    pub stopped_by_user: bool,
    /// The session of its own program, once known.
    pub session_id: Option<String>,
}

/// A background command: what to run, for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its identity; made by who asks for it, so that a repeated request makes nothing new.
    pub id: TaskId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The agent that hears of its end; none when the user started it, or when the agent was removed.
    pub owner: Option<AgentId>,
    /// A name for people.
    pub title: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Absolute path of the directory that it runs in.
    pub cwd: String,
    /// Whether it gets a terminal.
    pub tty: bool,
    /// Whether it stays out of the ask that its owner serves.
    pub detached: bool,
    /// Time after which it is ended, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Cap of its log, in bytes.
    pub log_max: u64,
}
