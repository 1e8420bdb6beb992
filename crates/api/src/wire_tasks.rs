//! The shapes of tasks and messages. Part of the wire, as [`crate::wire`].

use carillon_core::message;
use carillon_core::task::{self, Failure, State};
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::wire_temp::TempUse;

/// Where a task stands: its latest attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Waiting for the user's word.
    AwaitingApproval,
    /// In line for a slot.
    Queued,
    /// On its way up.
    Starting,
    /// Its command runs.
    Running,
    /// Its command exited with 0.
    Succeeded,
    /// It went wrong.
    Failed,
    /// Its time was up.
    TimedOut,
    /// Somebody did not want it any more.
    Cancelled,
    /// Nothing is known of its end.
    Lost,
}

impl TaskState {
    /// Its word, on the wire and in the ledger.
    pub fn word(self) -> &'static str {
        match self {
            Self::AwaitingApproval => "awaiting_approval",
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }
}

/// A background command.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Task {
    /// 32 hex digits.
    pub id: String,
    /// The id of its project.
    pub project: String,
    /// The id of the agent that hears of its end.
    pub owner: Option<String>,
    /// A name for people.
    pub title: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Absolute path of the directory that it runs in.
    pub cwd: String,
    /// Where its latest attempt stands.
    pub state: TaskState,
    /// The exit code of its command.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended its command.
    pub signal: Option<i32>,
    /// Its end in words.
    pub reason: Option<String>,
    /// The how-manieth attempt it is, from 1.
    pub attempt: u32,
    /// The ask that it is joined to.
    pub joined_ask: Option<String>,
    /// Bytes of output so far.
    #[ts(type = "number")]
    pub log_bytes: u64,
    /// Some of the output is not kept.
    pub log_truncated: bool,
    /// A descendant still held the output when its command had ended and the drain was over.
    pub output_held: bool,
    /// Processes of it that are still there, in words.
    pub left_over: Vec<String>,
    /// Whether it has a terminal.
    pub tty: bool,
    /// The temp directory of its run; none before it was measured, and once it is over.
    #[ts(optional = nullable)]
    pub temp: Option<TempUse>,
    /// When it was accepted.
    #[ts(type = "number")]
    pub created_ms: i64,
    /// When its command began.
    #[ts(type = "number | null")]
    pub started_ms: Option<i64>,
    /// When it was over.
    #[ts(type = "number | null")]
    pub ended_ms: Option<i64>,
}

impl From<engine::TaskView> for Task {
    fn from(view: engine::TaskView) -> Self {
        let (task, attempt) = (view.row.task, view.attempt);
        let (state, exit_code, signal) = match &attempt.state {
            State::AwaitingApproval => (TaskState::AwaitingApproval, None, None),
            State::Queued => (TaskState::Queued, None, None),
            State::Starting => (TaskState::Starting, None, None),
            State::Running => (TaskState::Running, None, None),
            State::Succeeded => (TaskState::Succeeded, Some(0), None),
            State::Failed(Failure::Exit(code)) => (TaskState::Failed, Some(*code), None),
            State::Failed(Failure::Signal(signal)) => (TaskState::Failed, None, Some(*signal)),
            State::Failed(Failure::NotStarted { .. } | Failure::SystemStop) => {
                (TaskState::Failed, None, None)
            }
            State::TimedOut => (TaskState::TimedOut, None, None),
            State::Cancelled { .. } => (TaskState::Cancelled, None, None),
            State::Lost(_) => (TaskState::Lost, None, None),
        };
        Self {
            id: task.id.to_string(),
            project: task.project.to_string(),
            owner: task.owner.map(|id| id.to_string()),
            title: task.title,
            command: task.command,
            cwd: task.cwd,
            state,
            exit_code,
            signal,
            reason: task::in_words(&attempt.state),
            attempt: attempt.number,
            joined_ask: view.row.joined_ask.map(|id| id.to_string()),
            log_bytes: attempt.log_bytes,
            log_truncated: attempt.log_truncated,
            output_held: attempt.output_held,
            left_over: attempt.left_over,
            tty: task.tty,
            temp: view.temp.map(TempUse::from),
            created_ms: view.row.created_ms,
            started_ms: attempt.started_ms,
            ended_ms: attempt.ended_ms,
        }
    }
}

/// A page of a task's output.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct TaskOutput {
    /// Where it begins, in bytes of the stream.
    #[ts(type = "number")]
    pub offset: u64,
    /// Ask for it next.
    #[ts(type = "number")]
    pub next_offset: u64,
    /// Bytes of the stream so far.
    #[ts(type = "number")]
    pub total: u64,
    /// Something between what was asked for and `offset` is not kept.
    pub truncated: bool,
    /// Nothing follows `next_offset`.
    pub over: bool,
    /// The output as text; control sequences are still in it.
    pub text: String,
    /// The output as it is, in base64, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub data: Option<String>,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// A task of the agent is over.
    TaskEnded,
    /// An ask of the agent is over.
    AskAnswered,
    /// The agent is asked.
    AskReceived,
    /// A note of another agent or of the user.
    Note,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// It waits.
    Pending,
    /// A turn that carries it is under way.
    Claimed,
    /// The agent has it.
    Delivered,
    /// It will never be delivered.
    Undeliverable,
}

/// A durable note to an agent.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Message {
    /// 32 hex digits.
    pub id: String,
    /// The id of the agent.
    pub agent: String,
    /// What it is about.
    pub kind: MessageKind,
    /// Where it stands.
    pub state: MessageState,
    /// It may have been handed over before.
    pub repeated: bool,
    /// The id of its task or ask.
    pub about: Option<String>,
    /// What it says.
    pub text: String,
    /// When it was written.
    #[ts(type = "number")]
    pub created_ms: i64,
}

impl From<engine::MessageRow> for Message {
    fn from(row: engine::MessageRow) -> Self {
        Self {
            id: row.id.to_string(),
            agent: row.agent.to_string(),
            kind: match row.kind {
                engine::MessageKind::TaskEnded => MessageKind::TaskEnded,
                engine::MessageKind::AskAnswered => MessageKind::AskAnswered,
                engine::MessageKind::AskReceived => MessageKind::AskReceived,
                engine::MessageKind::Note => MessageKind::Note,
            },
            state: match row.state {
                message::State::Pending => MessageState::Pending,
                message::State::Claimed { .. } => MessageState::Claimed,
                message::State::Delivered { .. } => MessageState::Delivered,
                message::State::Undeliverable { .. } => MessageState::Undeliverable,
            },
            repeated: row.repeated,
            about: row.about,
            text: row.text,
            created_ms: row.created_ms,
        }
    }
}
