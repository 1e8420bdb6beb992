//! The machine of a turn: one prompt to one final, run by an agent.
//!
//! `Queued → Starting → Running → Final | Failed | Interrupted | Limited`. A turn stands in line
//! from the commit that makes it necessary, so there is no moment with nothing to be done next.

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for the agent.
    Queued,
    /// It is on its way to the agent.
    Starting,
    /// The agent is at it.
    Running,
    /// Over. The text is empty when the agent had nothing to say.
    Final {
        /// What it answered.
        text: String,
    },
    /// Over: it went wrong.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
    /// Cut short by us, by the user or by a restart of the machine.
    Interrupted {
        /// Why, as a sentence.
        reason: String,
        /// Whether it is to be gone on with, where the agent's program can.
        resume: bool,
    },
    /// Cut short by a session limit.
    Limited {
        /// Why, as a sentence.
        reason: String,
        /// When the limit ends, in Unix milliseconds, where that is known.
        until_ms: Option<i64>,
    },
}

impl State {
    /// Whether nothing can change any more.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Queued | Self::Starting | Self::Running => false,
            Self::Final { .. } | Self::Failed { .. } | Self::Interrupted { .. } | Self::Limited { .. } => {
                true
            }
        }
    }

    /// Whether the agent is taken by it.
    pub fn is_live(&self) -> bool {
        match self {
            Self::Starting | Self::Running => true,
            Self::Queued
            | Self::Final { .. }
            | Self::Failed { .. }
            | Self::Interrupted { .. }
            | Self::Limited { .. } => false,
        }
    }
}

/// How a turn came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The agent answered, maybe with nothing.
    Final {
        /// What it answered.
        text: String,
    },
    /// It went wrong.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
    /// It was cut short.
    Interrupted {
        /// Why, as a sentence.
        reason: String,
        /// Whether it is to be gone on with.
        resume: bool,
    },
    /// A session limit.
    Limited {
        /// Why, as a sentence.
        reason: String,
        /// When the limit ends, in Unix milliseconds.
        until_ms: Option<i64>,
    },
}

/// What happened to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The agent was free for it.
    Claimed,
    /// The prompt is with the agent.
    Began,
    /// Nothing of it was ever started.
    NeverBegan,
    /// It is over.
    Over(End),
    /// It is not needed any more.
    Dropped {
        /// Why, as a sentence.
        reason: String,
    },
}

/// An event that the state has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It is over; its first end stands.
    AlreadyOver,
    /// It was claimed already.
    AlreadyClaimed,
    /// It was known to run already.
    AlreadyRunning,
    /// It waits in line and can neither begin nor end.
    NotClaimed,
}

/// What has to be done after the new state is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Hand the prompt to the agent.
    HandOver,
    /// End what carries it.
    Stop,
    /// The agent is free for what waits.
    NextTurn,
}

/// Takes one step.
pub fn step(state: &State, event: Event) -> Result<(State, Vec<Effect>), Rejected> {
    match state {
        State::Queued => match event {
            Event::Claimed => Ok((State::Starting, vec![Effect::HandOver])),
            Event::Dropped { reason } => Ok((State::Interrupted { reason, resume: false }, vec![])),
            Event::Began | Event::NeverBegan | Event::Over(_) => Err(Rejected::NotClaimed),
        },
        State::Starting => match event {
            Event::Claimed => Err(Rejected::AlreadyClaimed),
            Event::Began => Ok((State::Running, vec![])),
            // Nothing of it ran, so it may wait again without being a second turn.
            Event::NeverBegan => Ok((State::Queued, vec![Effect::NextTurn])),
            Event::Over(end) => Ok((over(end), vec![Effect::NextTurn])),
            // What its end is then tells the record of what carries it.
            Event::Dropped { .. } => Ok((State::Starting, vec![Effect::Stop])),
        },
        State::Running => match event {
            Event::Claimed => Err(Rejected::AlreadyClaimed),
            Event::Began => Err(Rejected::AlreadyRunning),
            // It was known to run: nothing of it is ever begun again by itself.
            Event::NeverBegan => Ok((
                State::Interrupted { reason: "nothing is known of its end".to_owned(), resume: false },
                vec![Effect::NextTurn],
            )),
            Event::Over(end) => Ok((over(end), vec![Effect::NextTurn])),
            Event::Dropped { .. } => Ok((State::Running, vec![Effect::Stop])),
        },
        State::Final { .. } | State::Failed { .. } | State::Interrupted { .. } | State::Limited { .. } => {
            match event {
                Event::Claimed
                | Event::Began
                | Event::NeverBegan
                | Event::Over(_)
                | Event::Dropped { .. } => Err(Rejected::AlreadyOver),
            }
        }
    }
}

fn over(end: End) -> State {
    match end {
        End::Final { text } => State::Final { text },
        End::Failed { reason } => State::Failed { reason },
        End::Interrupted { reason, resume } => State::Interrupted { reason, resume },
        End::Limited { reason, until_ms } => State::Limited { reason, until_ms },
    }
}
