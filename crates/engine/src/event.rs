//! Everything that can reach the loop.

use std::sync::mpsc::Sender;

use carillon_core::id::RunId;

use crate::main_loop::MainLoop;
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
    /// The loop ends and says so.
    Closed { done: Sender<()> },
}
