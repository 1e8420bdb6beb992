//! Everything that can reach the loop.

use std::sync::mpsc::Sender;

use carillon_core::id::{CallId, RunId, TurnId};

use crate::main_loop::MainLoop;
use crate::timers::Timer;
use crate::world::Facts;

/// A piece of work that a request brings along: it computes, commits and acts on the loop's thread.
pub(crate) type Request = Box<dyn FnOnce(&mut MainLoop) + Send>;

pub(crate) enum Event {
    /// Somebody asks for something.
    Requested(Request),
    /// A supervisor answers.
    RunBegan { run: RunId, facts: Facts },
    /// A run could not be started.
    LaunchFailed { run: RunId, message: String },
    /// A supervisor has let go of its run.
    RunOver { run: RunId },
    /// A temp directory is in the trash.
    TempBuried { run: RunId },
    /// A run directory is gone.
    DirDropped { run: RunId },
    /// The client of a waiting call is gone.
    CallGone { call: CallId },
    /// A prompt was typed into a terminal.
    HandedOver { turn: TurnId, result: Result<(), String> },
    /// A terminal was taken when a prompt was to be typed.
    HandOverPostponed { turn: TurnId },
    /// A program that needed attention goes on.
    AttentionOver { run: RunId },
    /// A terminal may have become free.
    TerminalChanged { run: RunId },
    /// A time has come.
    Due(Timer),
    /// The loop ends and says so.
    Closed { done: Sender<()> },
}

impl Event {
    /// The event once more, for when the ledger could not be written. A request is answered with the
    /// failure instead.
    pub(crate) fn again(&self) -> Option<Event> {
        match self {
            Self::Requested(_) | Self::Closed { .. } => None,
            Self::RunBegan { run, facts } => Some(Self::RunBegan { run: run.clone(), facts: facts.clone() }),
            Self::LaunchFailed { run, message } => {
                Some(Self::LaunchFailed { run: run.clone(), message: message.clone() })
            }
            Self::RunOver { run } => Some(Self::RunOver { run: run.clone() }),
            Self::TempBuried { run } => Some(Self::TempBuried { run: run.clone() }),
            Self::DirDropped { run } => Some(Self::DirDropped { run: run.clone() }),
            Self::CallGone { call } => Some(Self::CallGone { call: call.clone() }),
            Self::HandedOver { turn, result } => {
                Some(Self::HandedOver { turn: turn.clone(), result: result.clone() })
            }
            Self::HandOverPostponed { turn } => Some(Self::HandOverPostponed { turn: turn.clone() }),
            Self::AttentionOver { run } => Some(Self::AttentionOver { run: run.clone() }),
            Self::TerminalChanged { run } => Some(Self::TerminalChanged { run: run.clone() }),
            Self::Due(timer) => Some(Self::Due(timer.clone())),
        }
    }

    /// Who waits for the loop's end, when that is what it is about.
    pub(crate) fn into_closed(self) -> Option<Sender<()>> {
        match self {
            Self::Closed { done } => Some(done),
            Self::Requested(_)
            | Self::RunBegan { .. }
            | Self::LaunchFailed { .. }
            | Self::RunOver { .. }
            | Self::TempBuried { .. }
            | Self::DirDropped { .. }
            | Self::CallGone { .. }
            | Self::HandedOver { .. }
            | Self::HandOverPostponed { .. }
            | Self::AttentionOver { .. }
            | Self::TerminalChanged { .. }
            | Self::Due(_) => None,
        }
    }

    /// Whether somebody relies on it also after a power cut. The rest is found again by looking.
    pub(crate) fn is_promise(&self) -> bool {
        match self {
            Self::Requested(_)
            | Self::LaunchFailed { .. }
            | Self::RunOver { .. }
            | Self::CallGone { .. }
            | Self::HandedOver { .. }
            | Self::HandOverPostponed { .. }
            | Self::TerminalChanged { .. }
            | Self::Due(_) => true,
            Self::RunBegan { .. }
            | Self::TempBuried { .. }
            | Self::DirDropped { .. }
            | Self::AttentionOver { .. }
            | Self::Closed { .. } => false,
        }
    }
}
