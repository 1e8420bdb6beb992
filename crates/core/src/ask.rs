//! The machine of an ask: a question to an agent that ends in one answer or one clear failure.
//!
//! `Open → PendingFinal → Answered`, or `Failed | Cancelled | TimedOut` from either. The callee's
//! final answers at once when no child is open. Else it is kept, and the children are judged then
//! and at each child's end. What has to be done is not an event's consequence but owed by a state
//! ([`due`]), so a crash between a commit and its act loses nothing: the next boot asks again.

use crate::id::{AgentId, AskId, TaskId};

/// What is asked of the callee when its final waited for children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterChildren {
    /// Nothing: its final is delivered with what became of them.
    Deliver,
    /// One more turn, whose final replaces the first.
    FollowUp,
}

/// Work that the callee started while it served the ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChildId {
    /// A background task.
    Task(TaskId),
    /// An ask of the callee's own.
    Ask(AskId),
}

/// How a child came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChildEnd {
    /// Well.
    Succeeded,
    /// It went wrong.
    Failed,
    /// Somebody did not want it any more.
    Cancelled,
    /// Its time was up.
    TimedOut,
    /// Nothing is known of its end.
    Lost,
}

/// A child as the ask sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Child {
    /// Which one.
    pub id: ChildId,
    /// How it ended; none while it goes on. Of a task, that of its latest attempt.
    pub end: Option<ChildEnd>,
    /// Its bad end does not count: the callee has seen it, or wanted it.
    pub excused: bool,
    /// Its name and its end in words, for the reason of the ask.
    pub words: String,
}

/// Where an ask stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The callee has not given a final yet.
    Open,
    /// The callee has; children go on, or its follow-up turn.
    PendingFinal {
        /// The final so far.
        text: String,
        /// Whether the one follow-up turn was reserved.
        followed: bool,
    },
    /// Over, with the answer.
    Answered {
        /// The final.
        text: String,
    },
    /// Over: it went wrong.
    Failed {
        /// Why, as a sentence.
        reason: String,
        /// A final that was there but is not a success.
        text: Option<String>,
    },
    /// Over: it, or a child of it, is not wanted any more.
    Cancelled {
        /// Why, as a sentence.
        reason: String,
        /// A final that was there but is not a success.
        text: Option<String>,
    },
    /// Over: its time, or that of a child, was up.
    TimedOut {
        /// Why, as a sentence.
        reason: String,
        /// A final that was there but is not a success.
        text: Option<String>,
    },
}

impl State {
    /// Whether nothing can change any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Open | Self::PendingFinal { .. } => false,
            Self::Answered { .. } | Self::Failed { .. } | Self::Cancelled { .. } | Self::TimedOut { .. } => {
                true
            }
        }
    }
}

/// An ask with everything that decides about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ask {
    /// Where it stands.
    pub state: State,
    /// What is asked of the callee when its final waited.
    pub follow_up: bool,
    /// Its children, in the order of their beginning.
    pub children: Vec<Child>,
    /// Whether a turn of it waits, runs, or is to be resumed.
    pub has_turn: bool,
    /// Whether the answer has reached its caller.
    pub delivered: bool,
}

/// How a turn that served the ask ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TurnEnd {
    /// With a final.
    Final(String),
    /// Well, but without a word.
    NoAnswer,
    /// Badly.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
}

/// What happened to an ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its turn is over. `children` hold what is known by now.
    TurnOver(TurnEnd),
    /// A child was added, ended, was tried again or was seen by the callee.
    ChildrenChanged,
    /// Somebody does not want it any more.
    CancelRequested {
        /// Who: `user`, or the name of an agent.
        by: String,
    },
    /// Its time is up.
    DeadlinePassed,
    /// Its caller or its callee was removed.
    AgentRemoved {
        /// Which, in words.
        who: String,
    },
}

/// What a state owes the world. Doing it twice is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Put the follow-up turn in line, in the transaction of the state.
    ReserveFollowUp,
    /// End the turn that serves it, or take it out of the line.
    EndTurn,
    /// Cancel the children that still go on.
    CancelChildren,
    /// See that the answer reaches the caller.
    Deliver,
}

/// An event that the state has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejected {
    /// The ask is over; its first terminal state stands. Something of it has changed, so ask [`due`] what it
    /// owes: a turn of it may stand in line again.
    AlreadyOver,
    /// No turn of it was under way.
    NoTurn,
}

/// Takes one step.
pub fn step(ask: &Ask, event: Event) -> Result<(State, Vec<Effect>), Rejected> {
    // Whether its row was written already or not: a turn that is over need not be ended.
    let has_turn = ask.has_turn && !matches!(event, Event::TurnOver(_));
    let state = match &ask.state {
        State::Open => match event {
            Event::TurnOver(end) => over_without(end, None).unwrap_or_else(|text| judge(ask, text, true)),
            Event::ChildrenChanged => State::Open,
            Event::CancelRequested { by } => cancelled(&by, None),
            Event::DeadlinePassed => timed_out(None),
            Event::AgentRemoved { who } => removed(&who, None),
        },
        State::PendingFinal { text, followed } => match event {
            Event::TurnOver(_) if !followed => return Err(Rejected::NoTurn),
            Event::TurnOver(end) => {
                over_without(end, Some(text)).unwrap_or_else(|text| judge(ask, text, true))
            }
            // The callee is at its follow-up turn and may still see to it.
            Event::ChildrenChanged if ask.has_turn => ask.state.clone(),
            Event::ChildrenChanged => judge(ask, text.clone(), false),
            Event::CancelRequested { by } => cancelled(&by, Some(text)),
            Event::DeadlinePassed => timed_out(Some(text)),
            Event::AgentRemoved { who } => removed(&who, Some(text)),
        },
        State::Answered { .. } | State::Failed { .. } | State::Cancelled { .. } | State::TimedOut { .. } => {
            match event {
                Event::TurnOver(_)
                | Event::ChildrenChanged
                | Event::CancelRequested { .. }
                | Event::DeadlinePassed
                | Event::AgentRemoved { .. } => return Err(Rejected::AlreadyOver),
            }
        }
    };
    let mut after = Ask { state, has_turn, ..ask.clone() };
    let mut effects = Vec::new();
    if reserves(&ask.state, &after.state) {
        effects.push(Effect::ReserveFollowUp);
        after.has_turn = true;
    }
    effects.extend(due(&after));
    Ok((after.state, effects))
}

/// What is still to be done for an ask that stands like this; for a boot, and after each step.
pub fn due(ask: &Ask) -> Vec<Effect> {
    if !ask.state.is_terminal() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    if ask.has_turn {
        effects.push(Effect::EndTurn);
    }
    if ask.children.iter().any(|child| child.end.is_none()) {
        effects.push(Effect::CancelChildren);
    }
    if !ask.delivered {
        effects.push(Effect::Deliver);
    }
    effects
}

/// Whether the step is the one that reserves the follow-up turn.
fn reserves(before: &State, after: &State) -> bool {
    matches!(before, State::PendingFinal { followed: false, .. })
        && matches!(after, State::PendingFinal { followed: true, .. })
}

/// The end that a turn without a final means; `Err` gives the final back. `first`: the final that
/// waited while the agent was at its follow-up turn.
fn over_without(end: TurnEnd, first: Option<&String>) -> Result<State, String> {
    let reason = match end {
        TurnEnd::Final(text) => return Err(text),
        TurnEnd::NoAnswer => "the agent ended its turn without an answer".to_owned(),
        TurnEnd::Failed { reason } => reason,
    };
    Ok(State::Failed { reason, text: first.cloned() })
}

/// Judges a final by the children. `fresh`: the callee has given it just now.
fn judge(ask: &Ask, text: String, fresh: bool) -> State {
    let followed = matches!(ask.state, State::PendingFinal { followed: true, .. });
    for child in ask.children.iter().filter(|child| !child.excused) {
        let text = Some(text.clone());
        let reason = child.words.clone();
        match child.end {
            None | Some(ChildEnd::Succeeded) => {}
            Some(ChildEnd::Failed | ChildEnd::Lost) => return State::Failed { reason, text },
            Some(ChildEnd::Cancelled) => return State::Cancelled { reason, text },
            Some(ChildEnd::TimedOut) => return State::TimedOut { reason, text },
        }
    }
    if ask.children.iter().any(|child| child.end.is_none()) {
        return State::PendingFinal { text, followed };
    }
    // A final that waited for nobody was given in the knowledge of all children.
    if ask.follow_up && !followed && !fresh {
        return State::PendingFinal { text, followed: true };
    }
    State::Answered { text }
}

fn cancelled(by: &str, text: Option<&String>) -> State {
    let reason = match by {
        "user" => "cancelled by you".to_owned(),
        other => format!("cancelled by {other}"),
    };
    State::Cancelled { reason, text: text.cloned() }
}

fn timed_out(text: Option<&String>) -> State {
    State::TimedOut { reason: "its time was up".to_owned(), text: text.cloned() }
}

fn removed(who: &str, text: Option<&String>) -> State {
    State::Failed { reason: format!("{who} was removed"), text: text.cloned() }
}

/// An ask that is not over: who waits on whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Who waits.
    pub caller: AgentId,
    /// On whom.
    pub callee: AgentId,
}

/// The agents through which `callee` already waits for `caller`, from the callee on to the caller;
/// `None` when an ask of the caller to the callee closes no circle.
pub fn circle(caller: &AgentId, callee: &AgentId, open: &[Edge]) -> Option<Vec<AgentId>> {
    let mut paths = vec![vec![callee.clone()]];
    let mut seen = std::collections::HashSet::from([callee.clone()]);
    while let Some(path) = paths.pop() {
        let last = path.last()?;
        if last == caller {
            return Some(path);
        }
        for edge in open.iter().filter(|edge| edge.caller == *last) {
            if seen.insert(edge.callee.clone()) {
                let mut longer = path.clone();
                longer.push(edge.callee.clone());
                paths.push(longer);
            }
        }
    }
    None
}

/// The way of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A call waits for it and says when it has written it out.
    Call,
    /// Nobody waits: it goes into the caller's inbox.
    Inbox,
    /// The user asked, and looks when he likes.
    Keep,
}

/// Decides the way of an answer that has not been delivered: `calls` tells of each waiting call
/// whether its client lives.
pub fn route(caller_is_agent: bool, calls: &[bool]) -> Route {
    match (calls.iter().any(|lives| *lives), caller_is_agent) {
        (true, _) => Route::Call,
        (false, true) => Route::Inbox,
        (false, false) => Route::Keep,
    }
}
