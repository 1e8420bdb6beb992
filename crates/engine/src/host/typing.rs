//! Terminals of agents as places where turns are begun: who types, whether the program is free, and
//! how a prompt gets in.
//!
//! What has to survive the engine stands as empty files in the run's directory: `typing` (the user
//! has begun a line), `busy` (the program is at a turn of its own), `hooks` (it tells when a turn
//! ends).

use std::path::PathBuf;
use std::sync::Arc;

use carillon_core::id::{RunId, TurnId};

use crate::host::Host;
use crate::world::{Report, TerminalFacts};

/// A mark in a run's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The user has begun a line.
    Typing,
    /// The program is at a turn of its own.
    Busy,
    /// The program tells when a turn ends.
    Hooks,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Typing => "typing",
            Self::Busy => "busy",
            Self::Hooks => "hooks",
        }
    }
}

impl Host {
    fn mark_file(&self, run: &RunId, mark: Mark) -> PathBuf {
        self.run_dir(run).join(mark.name())
    }

    pub(crate) fn has_mark(&self, run: &RunId, mark: Mark) -> bool {
        self.mark_file(run, mark).exists()
    }

    pub(crate) fn set_mark(&self, run: &RunId, mark: Mark, on: bool) {
        let file = self.mark_file(run, mark);
        let done = match on {
            true => std::fs::File::create(&file).map(drop),
            false => std::fs::remove_file(&file),
        };
        if let Err(error) = done
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, file = %file.display(), "a mark of a terminal cannot be kept");
        }
    }

    pub(crate) fn facts_of_terminal(&self, run: &RunId) -> TerminalFacts {
        TerminalFacts {
            typing: self.has_mark(run, Mark::Typing),
            busy: self.has_mark(run, Mark::Busy),
            tells_ends: self.has_mark(run, Mark::Hooks),
        }
    }

    /// What the user has typed decides whether his line is empty; true when it has become so.
    pub(crate) fn note_typed(&self, run: &RunId, bytes: &[u8]) -> bool {
        // Enter, Ctrl+C, Ctrl+U and Ctrl+D leave an empty line; anything else that is not a key
        // without text begins one.
        let Some(last) = bytes.last() else { return false };
        let empties = matches!(last, b'\r' | b'\n' | 0x03 | 0x04 | 0x15);
        let is_key = bytes.first() == Some(&0x1b) && bytes.len() < 16;
        let was_typing = self.has_mark(run, Mark::Typing);
        if is_key || was_typing != empties {
            return false;
        }
        self.set_mark(run, Mark::Typing, !empties);
        empties
    }

    pub(crate) fn type_prompt(self: &Arc<Self>, run: &RunId, turn: &TurnId, prompt: String, report: Report) {
        let (host, run, id) = (self.clone(), run.clone(), turn.clone());
        let failed = report.clone();
        let kept = id.clone();
        let work = move || report.handed_over(&id, host.paste(&run, &prompt));
        if let Err(error) = std::thread::Builder::new().name("hand-over".to_owned()).spawn(work) {
            failed.handed_over(&kept, Err(format!("the system gives no thread: {error}")));
        }
    }

    fn paste(&self, run: &RunId, prompt: &str) -> Result<(), String> {
        self.write(run, prompt.as_bytes())?;
        self.write(run, b"\r")
    }
}
