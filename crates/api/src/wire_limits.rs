//! The shapes of session limits and approvals. Part of the wire, as [`crate::wire`].

use carillon_core::plain;
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A session limit that holds for all agents of a profile.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Limit {
    /// The id of the profile.
    pub profile: String,
    /// Its name.
    pub profile_name: String,
    /// What the agent's program said.
    pub reason: String,
    /// The end that was told; none: unknown.
    #[ts(type = "number | null")]
    pub until_ms: Option<i64>,
    /// When an agent tries next; none when the user wants all to wait.
    #[ts(type = "number | null")]
    pub resume_ms: Option<i64>,
    /// An agent tries now.
    pub trying: bool,
    /// The user wants all to wait until he says otherwise.
    pub held: bool,
    /// Since when it holds.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Names of the agents that have something to do.
    pub waiting: Vec<String>,
}

impl From<engine::LimitView> for Limit {
    fn from(view: engine::LimitView) -> Self {
        let limited = view.limited;
        Self {
            profile: view.profile.id.to_string(),
            profile_name: view.profile.name,
            reason: limited.reason,
            until_ms: limited.until_ms,
            resume_ms: Some(limited.resume_ms).filter(|_| !limited.held),
            trying: limited.probe.is_some(),
            held: limited.held,
            since_ms: limited.since_ms,
            waiting: view.waiting,
        }
    }
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// The user has not said anything yet.
    Pending,
    /// The command may run.
    Approved,
    /// It may not.
    Denied,
    /// Nobody said anything in time, or the task is over.
    Expired,
}

/// A command of an agent that waits for the user's word.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Approval {
    /// 32 hex digits.
    pub id: String,
    /// The id of its task.
    pub task: String,
    /// The id of the agent that wants it.
    pub agent: Option<String>,
    /// The name of that agent.
    pub agent_name: Option<String>,
    /// The id of the project.
    pub project: String,
    /// Program and arguments, exactly.
    pub command: Vec<String>,
    /// The command on one line, without control characters.
    pub shown: String,
    /// Absolute path of the directory that it would run in.
    pub cwd: String,
    /// Where it stands.
    pub state: ApprovalState,
    /// When it was asked for.
    #[ts(type = "number")]
    pub created_ms: i64,
    /// When it expires.
    #[ts(type = "number")]
    pub until_ms: i64,
}

impl From<engine::ApprovalView> for Approval {
    fn from(view: engine::ApprovalView) -> Self {
        let task = view.task.task;
        Self {
            id: view.row.id.to_string(),
            task: task.id.to_string(),
            agent: view.row.agent.map(|id| id.to_string()),
            agent_name: view.agent.map(|agent| agent.name),
            project: task.project.to_string(),
            shown: plain::plain(&task.command.join(" ")),
            command: task.command,
            cwd: task.cwd,
            state: match view.row.state {
                engine::ApprovalState::Pending => ApprovalState::Pending,
                engine::ApprovalState::Approved => ApprovalState::Approved,
                engine::ApprovalState::Denied => ApprovalState::Denied,
                engine::ApprovalState::Expired => ApprovalState::Expired,
            },
            created_ms: view.row.created_ms,
            until_ms: view.row.until_ms,
        }
    }
}
