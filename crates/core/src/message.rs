//! The machine of a message: a durable note to an agent.
//!
//! `Pending → Claimed → Delivered`, or `Undeliverable`. A claim whose turn came to nothing returns.

use crate::id::TurnId;

/// Where a message stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits.
    Pending,
    /// A turn carries it.
    Claimed {
        /// Which.
        turn: TurnId,
    },
    /// The agent has it.
    Delivered {
        /// The turn that carried it; none when it reached the agent with something else.
        turn: Option<TurnId>,
    },
    /// It will never be delivered.
    Undeliverable {
        /// Why, as a sentence.
        why: String,
    },
}

impl State {
    /// Whether nothing can change any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Pending | Self::Claimed { .. } => false,
            Self::Delivered { .. } | Self::Undeliverable { .. } => true,
        }
    }
}

/// What happened to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A turn takes it along.
    Claimed {
        /// Which.
        turn: TurnId,
    },
    /// Its turn has ended, and the agent had it.
    TurnOver,
    /// Its turn came to nothing. `handed_over`: the agent may have seen it all the same.
    TurnFailed {
        /// Whether the agent may have seen it.
        handed_over: bool,
    },
    /// It is part of something else that the agent gets.
    Carried,
    /// Its agent was removed, or what it was about is gone.
    Withdrawn {
        /// Why, as a sentence.
        why: String,
    },
}

/// An event that the state has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It is over with it.
    AlreadyOver,
    /// Another turn carries it.
    AlreadyClaimed,
    /// No turn carries it.
    NotClaimed,
}

/// Takes one step. The flag of the answer says that a later hand-over is a repeat.
pub fn step(state: &State, event: Event) -> Result<(State, bool), Rejected> {
    match state {
        State::Pending => match event {
            Event::Claimed { turn } => Ok((State::Claimed { turn }, false)),
            Event::Carried => Ok((State::Delivered { turn: None }, false)),
            Event::Withdrawn { why } => Ok((State::Undeliverable { why }, false)),
            Event::TurnOver | Event::TurnFailed { .. } => Err(Rejected::NotClaimed),
        },
        State::Claimed { turn } => match event {
            Event::Claimed { .. } | Event::Carried => Err(Rejected::AlreadyClaimed),
            Event::TurnOver => Ok((State::Delivered { turn: Some(turn.clone()) }, false)),
            Event::TurnFailed { handed_over } => Ok((State::Pending, handed_over)),
            Event::Withdrawn { why } => Ok((State::Undeliverable { why }, false)),
        },
        State::Delivered { .. } | State::Undeliverable { .. } => match event {
            Event::Claimed { .. }
            | Event::TurnOver
            | Event::TurnFailed { .. }
            | Event::Carried
            | Event::Withdrawn { .. } => Err(Rejected::AlreadyOver),
        },
    }
}
