//! The machine of one attempt of a background task.
//!
//! `AwaitingApproval → Queued → Starting → Running → Succeeded | Failed | TimedOut | Cancelled | Lost`. Being terminal
//! belongs to the attempt: its first terminal state stands. A retry is a new attempt, which begins
//! in `Queued` and is made only when the one before is over. A cancel of a live attempt is a
//! recorded request that the supervisor honours; what the supervisor then records decides.

use crate::run::{self, Cause, LostWhy};

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its command exited with this code, which is not 0.
    Exit(i32),
    /// This signal ended its command.
    Signal(i32),
    /// Its command could not be started.
    NotStarted {
        /// A sentence that names the command and the way out.
        message: String,
    },
    /// The system ended its supervisor (a logout, a shutdown).
    SystemStop,
}

/// Where an attempt stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for the user's word.
    AwaitingApproval,
    /// It waits for a free slot.
    Queued,
    /// It has a slot and its supervisor is on its way up.
    Starting,
    /// Its command runs.
    Running,
    /// Its command exited with 0.
    Succeeded,
    /// It went wrong.
    Failed(Failure),
    /// Its time was up.
    TimedOut,
    /// Somebody did not want it any more.
    Cancelled {
        /// Who: `user`, `app_exit`, or the name of an agent.
        by: String,
    },
    /// Nothing is known of its end.
    Lost(LostWhy),
}

impl State {
    /// Whether nothing can change any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::AwaitingApproval | Self::Queued | Self::Starting | Self::Running => false,
            Self::Succeeded | Self::Failed(_) | Self::TimedOut | Self::Cancelled { .. } | Self::Lost(_) => {
                true
            }
        }
    }

    /// Whether it takes a slot.
    pub fn holds_slot(&self) -> bool {
        match self {
            Self::Starting | Self::Running => true,
            Self::AwaitingApproval
            | Self::Queued
            | Self::Succeeded
            | Self::Failed(_)
            | Self::TimedOut
            | Self::Cancelled { .. }
            | Self::Lost(_) => false,
        }
    }
}

/// What happened to an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The user lets it run.
    Approved,
    /// It got a slot.
    Claimed,
    /// Its supervisor answers.
    Began,
    /// Its run is over, in this state.
    RunOver(run::State),
    /// Somebody does not want it any more.
    CancelRequested {
        /// Who.
        by: String,
    },
}

/// What has to be done after the new state is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start the run that was recorded with the claim.
    Launch,
    /// Ask the supervisor to end the run.
    StopRun,
    /// The owner's message of the end is recorded with the state; tell who waits.
    TellOwner,
    /// A slot is free: the next one in line may have it.
    FillSlots,
}

/// An event that the state has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It waits for the user's word.
    NotApproved,
    /// It needs no word of the user's any more.
    AlreadyApproved,
    /// The attempt is over; its first terminal state stands.
    AlreadyOver,
    /// It has a slot already.
    AlreadyClaimed,
    /// It was known to run already.
    AlreadyRunning,
    /// It has no run that could begin or end.
    NoRun,
    /// Its run is not over yet.
    NotOver,
}

/// Takes one step.
pub fn step(state: &State, event: Event) -> Result<(State, Vec<Effect>), Rejected> {
    match state {
        State::AwaitingApproval => match event {
            Event::Approved => Ok((State::Queued, vec![Effect::FillSlots])),
            Event::CancelRequested { by } => Ok((State::Cancelled { by }, vec![Effect::TellOwner])),
            Event::Claimed | Event::Began | Event::RunOver(_) => Err(Rejected::NotApproved),
        },
        State::Queued => match event {
            Event::Approved => Err(Rejected::AlreadyApproved),
            Event::Claimed => Ok((State::Starting, vec![Effect::Launch])),
            Event::CancelRequested { by } => Ok((State::Cancelled { by }, vec![Effect::TellOwner])),
            Event::Began | Event::RunOver(_) => Err(Rejected::NoRun),
        },
        State::Starting => match event {
            Event::Approved => Err(Rejected::AlreadyApproved),
            Event::Claimed => Err(Rejected::AlreadyClaimed),
            Event::Began => Ok((State::Running, vec![])),
            Event::RunOver(run) => over(&run, false),
            // The state stays: what the supervisor records decides, and it may have ended meanwhile.
            Event::CancelRequested { .. } => Ok((State::Starting, vec![Effect::StopRun])),
        },
        State::Running => match event {
            Event::Approved => Err(Rejected::AlreadyApproved),
            Event::Claimed => Err(Rejected::AlreadyClaimed),
            Event::Began => Err(Rejected::AlreadyRunning),
            Event::RunOver(run) => over(&run, true),
            Event::CancelRequested { .. } => Ok((State::Running, vec![Effect::StopRun])),
        },
        State::Succeeded | State::Failed(_) | State::TimedOut | State::Cancelled { .. } | State::Lost(_) => {
            match event {
                Event::Approved
                | Event::Claimed
                | Event::Began
                | Event::RunOver(_)
                | Event::CancelRequested { .. } => Err(Rejected::AlreadyOver),
            }
        }
    }
}

/// `began` says that its command was known to run: then it is never put in line again by itself.
fn over(run: &run::State, began: bool) -> Result<(State, Vec<Effect>), Rejected> {
    let state = match run {
        run::State::Starting | run::State::Running => return Err(Rejected::NotOver),
        run::State::Lost(why) => State::Lost(*why),
        run::State::Ended(ending) => match &ending.cause {
            Cause::Ended => match (ending.exit_code, ending.signal) {
                (Some(0), _) => State::Succeeded,
                (Some(code), _) => State::Failed(Failure::Exit(code)),
                (None, Some(signal)) => State::Failed(Failure::Signal(signal)),
                (None, None) => State::Lost(LostWhy::SupervisorGone),
            },
            Cause::TimedOut => State::TimedOut,
            Cause::Stopped { by } => State::Cancelled { by: by.clone() },
            Cause::SystemStop => State::Failed(Failure::SystemStop),
            // Only turns are ended for that, so a task that claims it is at least no success.
            Cause::OutputTooLarge => State::Failed(match (ending.exit_code, ending.signal) {
                (None, Some(signal)) => Failure::Signal(signal),
                (code, _) => Failure::Exit(code.unwrap_or(1)),
            }),
            // Nothing of it was started, so it may wait again without being a second attempt.
            Cause::NeverBegan if began => State::Lost(LostWhy::SupervisorGone),
            Cause::NeverBegan => return Ok((State::Queued, vec![Effect::FillSlots])),
            Cause::SpawnFailed { message } => State::Failed(Failure::NotStarted { message: message.clone() }),
        },
    };
    Ok((state, vec![Effect::TellOwner, Effect::FillSlots]))
}

/// The end of an attempt in words for people, `None` while it goes on.
pub fn in_words(state: &State) -> Option<String> {
    Some(match state {
        State::AwaitingApproval | State::Queued | State::Starting | State::Running => return None,
        State::Succeeded => "succeeded".to_owned(),
        State::Failed(Failure::Exit(code)) => format!("exited {code}"),
        State::Failed(Failure::Signal(signal)) => {
            format!("killed by signal {signal} ({})", run::signal_name(*signal))
        }
        State::Failed(Failure::NotStarted { message }) => message.clone(),
        State::Failed(Failure::SystemStop) => "stopped by the system".to_owned(),
        State::TimedOut => "timed out".to_owned(),
        State::Cancelled { by } => match by.as_str() {
            "user" => "cancelled by you".to_owned(),
            "app_exit" => "cancelled when Carillon quit".to_owned(),
            run::TEMP_FULL => "cancelled because its temp directory took more room than it may".to_owned(),
            "denied" => "not run: you did not approve it".to_owned(),
            "approval_expired" => "not run: nobody approved it in time".to_owned(),
            "ask_over" => "cancelled because the ask that it belongs to is over".to_owned(),
            other => format!("cancelled by {other}"),
        },
        State::Lost(LostWhy::Rebooted) => "lost: the machine was restarted".to_owned(),
        State::Lost(LostWhy::SupervisorGone) => "lost: its supervisor left no record of the end".to_owned(),
    })
}
