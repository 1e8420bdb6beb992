//! Everything that can reach the loop.

use std::sync::mpsc::Sender;

use carillon_core::id::{CallId, RunId, TurnId};
use carillon_core::residue::Use;

use crate::main_loop::MainLoop;
use crate::timers::Timer;
use crate::wanted::Want;
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
    /// The temp directory of a run was measured.
    TempMeasured { run: RunId, taken: Use },
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
    /// Something is to be looked after.
    Wanted(Want),
    /// The same once more, since it failed so often.
    Again { event: Box<Event>, tries: u32 },
    /// The loop ends and says so.
    Closed { done: Sender<()> },
}

impl Event {
    /// The event once more, for when the ledger could not be written. A request is answered with the
    /// failure instead.
    pub(crate) fn again(&self) -> Option<Event> {
        match self {
            // The next measurement comes anyway.
            Self::Requested(_) | Self::Closed { .. } | Self::TempMeasured { .. } => None,
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
            Self::Wanted(want) => Some(Self::Wanted(want.clone())),
            Self::Again { event, tries } => {
                event.again().map(|event| Self::Again { event: Box::new(event), tries: *tries })
            }
        }
    }

    /// The event itself, and how often it has failed.
    pub(crate) fn unpacked(self) -> (Self, u32) {
        match self {
            Self::Again { event, tries } => (*event, tries),
            event => (event, 0),
        }
    }

    /// The event once more after one more failure.
    pub(crate) fn after(self, tries: u32) -> Self {
        let (event, _) = self.unpacked();
        Self::Again { event: Box::new(event), tries }
    }

    /// What it is about, for the log.
    pub(crate) fn about(&self) -> String {
        match self {
            Self::Requested(_) => "a request".to_owned(),
            Self::RunBegan { run, .. } => format!("the beginning of run {run}"),
            Self::LaunchFailed { run, .. } => format!("the failed start of run {run}"),
            Self::RunOver { run } => format!("the end of run {run}"),
            Self::TempBuried { run } => format!("the buried temp directory of run {run}"),
            Self::DirDropped { run } => format!("the dropped directory of run {run}"),
            Self::TempMeasured { run, .. } => format!("the size of the temp directory of run {run}"),
            Self::CallGone { call } => format!("the end of call {call}"),
            Self::HandedOver { turn, .. } => format!("the hand-over of turn {turn}"),
            Self::HandOverPostponed { turn } => format!("the postponed hand-over of turn {turn}"),
            Self::AttentionOver { run } => format!("the answered question of run {run}"),
            Self::TerminalChanged { run } => format!("the changed terminal of run {run}"),
            Self::Due(timer) => format!("the time of {timer:?}"),
            Self::Wanted(want) => format!("{want:?}"),
            Self::Again { event, .. } => event.about(),
            Self::Closed { .. } => "the end of the loop".to_owned(),
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
            | Self::TempMeasured { .. }
            | Self::CallGone { .. }
            | Self::HandedOver { .. }
            | Self::HandOverPostponed { .. }
            | Self::AttentionOver { .. }
            | Self::TerminalChanged { .. }
            | Self::Due(_)
            | Self::Wanted(_)
            | Self::Again { .. } => None,
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
            | Self::Due(_)
            | Self::Wanted(_) => true,
            Self::Again { event, .. } => event.is_promise(),
            Self::RunBegan { .. }
            | Self::TempBuried { .. }
            | Self::DirDropped { .. }
            | Self::TempMeasured { .. }
            | Self::AttentionOver { .. }
            | Self::Closed { .. } => false,
        }
    }
}
