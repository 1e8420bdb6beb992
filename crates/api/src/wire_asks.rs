//! The shapes of asks and turns. Part of the wire, as [`crate::wire`].

use carillon_core::ask::{self, ChildId};
use carillon_core::turn;
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::wire_usage::Usage;

/// Where an ask stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AskState {
    /// The callee has not finished its turn.
    Open,
    /// The callee has answered; work that it started meanwhile goes on.
    PendingFinal,
    /// Over: the answer is `final`.
    Answered,
    /// Over: it went wrong.
    Failed,
    /// Over: somebody did not want it any more.
    Cancelled,
    /// Over: its time was up.
    TimedOut,
}

impl AskState {
    /// Its word, on the wire and in the ledger.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::PendingFinal => "pending_final",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What is asked of the callee when its final waited for children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AfterChildren {
    /// Nothing: its final is delivered with what became of them.
    #[default]
    Deliver,
    /// One more turn, whose final replaces the first.
    FollowUp,
}

/// How an answer reached its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DeliveredBy {
    /// The waiting call wrote it out.
    Call,
    /// The caller's inbox has it.
    Inbox,
}

/// What an ask that is not over waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// The callee does something else first.
    TurnQueue,
    /// The callee's turn.
    Turn,
    /// The work that the callee started.
    Children,
    /// The callee's second turn.
    FollowUp,
    /// The end of a session limit.
    Limit,
    /// The callee sits on a prompt of its own.
    Attention,
    /// Another turn of the callee's profile, which lets no more run at once.
    Slot,
}

/// What kind of work a child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChildKind {
    /// A background task.
    Task,
    /// An ask of the callee's own.
    Ask,
}

/// Work that the callee started while it served the ask.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct AskChild {
    /// What kind of work it is.
    pub kind: ChildKind,
    /// 32 hex digits.
    pub id: String,
    /// The command, or the prompt of an ask, on one line.
    pub command: String,
    /// The word of its state, of a task or of an ask.
    pub state: String,
    /// The exit code of a task's command.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended a task's command.
    pub signal: Option<i32>,
    /// How long it took, in milliseconds; none while it goes on.
    #[ts(type = "number | null")]
    pub duration_ms: Option<i64>,
    /// The end of its output, or the final of an ask; none while it goes on.
    pub tail: Option<String>,
}

/// A question that waits for one answer.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Ask {
    /// 32 hex digits.
    pub id: String,
    /// The id of its project.
    pub project: String,
    /// The id of the agent that asks; none: the user.
    pub caller: Option<String>,
    /// The name of that agent, also when it was removed.
    pub caller_name: Option<String>,
    /// The id of the agent that is asked; none when it was removed.
    pub callee: Option<String>,
    /// The name of that agent, also when it was removed.
    pub callee_name: String,
    /// The question.
    pub prompt: String,
    /// Where it stands.
    pub state: AskState,
    /// The answer; also one that waits for children.
    #[serde(rename = "final")]
    pub final_text: Option<String>,
    /// Its end in words, when that is not an answer.
    pub reason: Option<String>,
    /// The caller's key: the same one attaches to this ask instead of asking again.
    pub key: Option<String>,
    /// What is asked of the callee when its final waited for children.
    pub after_children: AfterChildren,
    /// The ask that it is a child of.
    pub joined_ask: Option<String>,
    /// Work that the callee started while it served the ask.
    pub children: Vec<AskChild>,
    /// How its answer reached the caller.
    pub delivered: Option<DeliveredBy>,
    /// What it waits for.
    pub waiting_for: Option<WaitingFor>,
    /// When it was accepted.
    #[ts(type = "number")]
    pub created_ms: i64,
    /// When its time is up.
    #[ts(type = "number | null")]
    pub deadline_ms: Option<i64>,
    /// When it was over.
    #[ts(type = "number | null")]
    pub ended_ms: Option<i64>,
}

/// Why a turn is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    /// To answer an ask.
    Ask,
    /// To answer an ask once more, with what became of its children.
    FollowUp,
    /// To read the inbox.
    Wake,
    /// To go on with a turn that was cut short.
    Resume,
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// It waits for the agent.
    Queued,
    /// It is on its way to the agent.
    Starting,
    /// The agent is at it.
    Running,
    /// Over, with a final.
    Final,
    /// Over: it went wrong.
    Failed,
    /// Cut short by us or by a restart of the machine.
    Interrupted,
    /// Cut short by a session limit.
    Limited,
}

/// One prompt to one final.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Turn {
    /// 32 hex digits.
    pub id: String,
    /// The id of the agent.
    pub agent: String,
    /// The ask that it serves.
    pub ask: Option<String>,
    /// Why it is run.
    pub kind: TurnKind,
    /// Where it stands.
    pub state: TurnState,
    /// What the agent is told.
    pub prompt: String,
    /// What it answered.
    #[serde(rename = "final")]
    pub final_text: Option<String>,
    /// Its end in words, when that is not a final.
    pub reason: Option<String>,
    /// The run that carries it.
    pub run: Option<String>,
    /// Ids of the messages that it carries.
    pub messages: Vec<String>,
    /// What it used; none when its program did not tell.
    #[ts(optional = nullable)]
    pub usage: Option<Usage>,
    /// When it was put in line.
    #[ts(type = "number")]
    pub created_ms: i64,
    /// When it was handed to the agent.
    #[ts(type = "number | null")]
    pub started_ms: Option<i64>,
    /// When it was over.
    #[ts(type = "number | null")]
    pub ended_ms: Option<i64>,
}

/// What kind of thing was seen of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TurnEventKind {
    /// Text of the agent.
    Text,
    /// What it thinks.
    Thinking,
    /// A tool that it uses.
    Tool,
    /// Anything else worth a line.
    Note,
}

/// Something that was seen of a turn.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct TurnEvent {
    /// What kind of thing.
    pub kind: TurnEventKind,
    /// The name of a tool.
    pub name: Option<String>,
    /// What it says.
    pub text: String,
}

/// A page of what was seen of a turn.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct TurnEvents {
    /// What was seen, in its order.
    pub events: Vec<TurnEvent>,
    /// Ask for it next, in bytes of the run's output.
    #[ts(type = "number")]
    pub next_offset: u64,
    /// Nothing follows.
    pub over: bool,
}

/// The turn that an agent is at.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct TurnBrief {
    /// 32 hex digits.
    pub id: String,
    /// Why it is run.
    pub kind: TurnKind,
    /// The ask that it serves.
    pub ask: Option<String>,
    /// When it was handed to the agent.
    #[ts(type = "number | null")]
    pub started_ms: Option<i64>,
}

/// A wake that did not work yet.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Wake {
    /// How often it was tried.
    pub attempt: u32,
    /// When it is tried next.
    #[ts(type = "number | null")]
    pub next_ms: Option<i64>,
    /// It is not tried any more, until the agent is started or something new arrives.
    pub given_up: bool,
    /// What went wrong, in words.
    pub reason: String,
}

impl From<(engine::ChildView, Option<String>)> for AskChild {
    fn from((view, tail): (engine::ChildView, Option<String>)) -> Self {
        let (kind, id) = match view.id {
            ChildId::Task(id) => (ChildKind::Task, id.to_string()),
            ChildId::Ask(id) => (ChildKind::Ask, id.to_string()),
        };
        Self {
            kind,
            id,
            command: view.command,
            state: view.state,
            exit_code: view.exit_code,
            signal: view.signal,
            duration_ms: view.duration_ms,
            tail,
        }
    }
}

impl From<engine::AskView> for Ask {
    fn from(view: engine::AskView) -> Self {
        let row = view.row;
        Self {
            id: row.id.to_string(),
            project: row.project.to_string(),
            caller: row.caller.map(|id| id.to_string()),
            caller_name: row.caller_name,
            callee: row.callee.map(|id| id.to_string()),
            callee_name: row.callee_name,
            prompt: row.prompt,
            state: match &row.state {
                ask::State::Open => AskState::Open,
                ask::State::PendingFinal { .. } => AskState::PendingFinal,
                ask::State::Answered { .. } => AskState::Answered,
                ask::State::Failed { .. } => AskState::Failed,
                ask::State::Cancelled { .. } => AskState::Cancelled,
                ask::State::TimedOut { .. } => AskState::TimedOut,
            },
            final_text: engine::final_of(&row.state).map(str::to_owned),
            reason: engine::reason_of(&row.state).map(str::to_owned),
            key: row.key,
            after_children: if row.follow_up { AfterChildren::FollowUp } else { AfterChildren::Deliver },
            joined_ask: row.joined_ask.map(|id| id.to_string()),
            children: view.children.into_iter().map(AskChild::from).collect(),
            delivered: row.delivered.map(|by| match by {
                engine::Delivered::Call => DeliveredBy::Call,
                engine::Delivered::Inbox => DeliveredBy::Inbox,
            }),
            waiting_for: view.waiting_for.map(|what| match what {
                engine::WaitingFor::TurnQueue => WaitingFor::TurnQueue,
                engine::WaitingFor::Turn => WaitingFor::Turn,
                engine::WaitingFor::Children => WaitingFor::Children,
                engine::WaitingFor::FollowUp => WaitingFor::FollowUp,
                engine::WaitingFor::Limit => WaitingFor::Limit,
                engine::WaitingFor::Attention => WaitingFor::Attention,
                engine::WaitingFor::Slot => WaitingFor::Slot,
            }),
            created_ms: row.created_ms,
            deadline_ms: row.deadline_ms,
            ended_ms: row.ended_ms,
        }
    }
}

impl From<engine::TurnKind> for TurnKind {
    fn from(kind: engine::TurnKind) -> Self {
        match kind {
            engine::TurnKind::Ask => Self::Ask,
            engine::TurnKind::FollowUp => Self::FollowUp,
            engine::TurnKind::Wake => Self::Wake,
            engine::TurnKind::Resume => Self::Resume,
        }
    }
}

impl From<engine::TurnView> for Turn {
    fn from(view: engine::TurnView) -> Self {
        let row = view.row;
        let (state, final_text, reason) = match row.state {
            turn::State::Queued => (TurnState::Queued, None, None),
            turn::State::Starting => (TurnState::Starting, None, None),
            turn::State::Running => (TurnState::Running, None, None),
            turn::State::Final { text } => (TurnState::Final, Some(text), None),
            turn::State::Failed { reason } => (TurnState::Failed, None, Some(reason)),
            turn::State::Interrupted { reason, .. } => (TurnState::Interrupted, None, Some(reason)),
            turn::State::Limited { reason, .. } => (TurnState::Limited, None, Some(reason)),
        };
        Self {
            id: row.id.to_string(),
            agent: row.agent.to_string(),
            ask: row.ask.map(|id| id.to_string()),
            kind: row.kind.into(),
            state,
            prompt: row.prompt,
            final_text,
            reason,
            run: row.run.map(|id| id.to_string()),
            messages: view.messages,
            usage: Usage::of_turn(row.usage),
            created_ms: row.created_ms,
            started_ms: row.started_ms,
            ended_ms: row.ended_ms,
        }
    }
}

impl From<engine::TurnRow> for TurnBrief {
    fn from(row: engine::TurnRow) -> Self {
        Self {
            id: row.id.to_string(),
            kind: row.kind.into(),
            ask: row.ask.map(|id| id.to_string()),
            started_ms: row.started_ms,
        }
    }
}

impl From<engine::Seen> for TurnEvent {
    fn from(seen: engine::Seen) -> Self {
        let (kind, name, text) = match seen {
            engine::Seen::Text(text) => (TurnEventKind::Text, None, text),
            engine::Seen::Thinking(text) => (TurnEventKind::Thinking, None, text),
            engine::Seen::Tool { name, detail } => (TurnEventKind::Tool, Some(name), detail),
            engine::Seen::Note(text) => (TurnEventKind::Note, None, text),
        };
        Self { kind, name, text }
    }
}

impl From<engine::EventsPage> for TurnEvents {
    fn from(page: engine::EventsPage) -> Self {
        Self {
            events: page.events.into_iter().map(TurnEvent::from).collect(),
            next_offset: page.next_offset,
            over: page.over,
        }
    }
}
