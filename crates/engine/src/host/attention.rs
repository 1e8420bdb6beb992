//! Whether a program sits on a question of its own, which somebody has to answer.

use std::time::Duration;

use carillon_core::id::RunId;
use carillon_supervisor::LogReader;

use crate::host::typing::lock;
use crate::host::{Host, Terminal};
use crate::world::Quiet;

/// What the last words of a program look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Like a question that is answered with a key.
    Surely,
    /// Like something that waits for words.
    Maybe,
    /// Like neither.
    No,
}

/// Words, in small letters, that stand in the questions of programs and hardly anywhere else.
const SURE: &[&str] = &[
    "[y/n]",
    "(y/n)",
    "[yes/no]",
    "(yes/no)",
    "(yes/no/[fingerprint])",
    "do you trust",
    "do you want to proceed",
    "do you want to continue",
    "press enter",
    "enter to confirm",
    "enter to continue",
    "press any key",
    "password:",
    "passphrase",
    "username for",
    "waiting for approval",
    "waiting for permission",
    "allow this",
    "allow command",
    "allow execution",
];
/// A program that told that it asks draws its question within this time.
const DRAWING: Duration = Duration::from_millis(1_500);
/// So many lines at the end are read: a dialog has a few below its question.
const LAST_LINES: usize = 12;
/// So many bytes of a log are read for them.
const TAIL_BYTES: u64 = 4 * 1024;
/// So many bytes of what a terminal has shown: a screen is drawn with some ten thousand.
const SHOWN_BYTES: u64 = 64 * 1024;

/// Judges the end of a screen or an output.
pub(crate) fn asks(text: &str) -> Asks {
    let lines: Vec<String> = text
        .lines()
        .rev()
        .map(|line| line.trim_matches(|c: char| !c.is_ascii_graphic()).to_lowercase())
        .filter(|line| !line.is_empty())
        .take(LAST_LINES)
        .collect();
    let Some(last) = lines.first() else { return Asks::No };
    if lines.iter().any(|line| SURE.iter().any(|words| line.contains(words))) {
        return Asks::Surely;
    }
    if last.ends_with('?') || last.ends_with(':') { Asks::Maybe } else { Asks::No }
}

/// The whole screen first, because it is at hand: mostly there is no question on it.
fn asks_since(terminal: &Terminal, answered: u64) -> Asks {
    match asks(&terminal.text()) {
        Asks::No => Asks::No,
        Asks::Maybe | Asks::Surely => asks(&terminal.text_since(answered, SHOWN_BYTES)),
    }
}

impl Host {
    /// How long the program of a live run has said nothing, and whether its last words look like a
    /// question; the words are only looked at when it has been quiet for `at_least`.
    pub(crate) fn quiet_of(&self, run: &RunId, at_least: Duration) -> Option<Quiet> {
        let outlet = self.outlets().get(run).cloned().filter(|outlet| outlet.is_live())?;
        let (_, quiet) = outlet.pulse.quiet();
        let for_ms = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
        if quiet < at_least {
            return Some(Quiet { for_ms, asks: false });
        }
        let terminal = self.terminals().get(run).cloned();
        let asks = match terminal {
            Some(terminal) => {
                let answered = lock(&self.keyboard(run)).answered;
                terminal.rang_since_looked() || asks_since(&terminal, answered) != Asks::No
            }
            None => self.asks_without_terminal(run),
        };
        Some(Quiet { for_ms, asks })
    }

    /// Whether the screen of a run asks for a key, by what was shown after this offset.
    pub(crate) fn asks_surely(&self, run: &RunId, answered: u64) -> bool {
        let terminal = self.terminals().get(run).cloned();
        terminal.is_some_and(|terminal| asks_since(&terminal, answered) == Asks::Surely)
    }

    /// Questions go to either output. One behind which the line has ended is none that waits for words.
    fn asks_without_terminal(&self, run: &RunId) -> bool {
        let dir = self.run_dir(run);
        let logs = [LogReader::open(&dir), LogReader::open_errors(&dir)];
        logs.into_iter().flatten().any(|mut log| {
            let end = log.end().unwrap_or(0);
            let bytes = super::turns::read_from(&mut log, end.saturating_sub(TAIL_BYTES)).unwrap_or_default();
            match asks(&String::from_utf8_lossy(&bytes)) {
                Asks::Surely => true,
                Asks::Maybe => bytes.ends_with(b"?\n") || bytes.last().is_some_and(|last| *last != b'\n'),
                Asks::No => false,
            }
        })
    }

    /// Whether somebody should look at the program of a run.
    pub(crate) fn is_attention_needed(&self, run: &RunId) -> bool {
        self.outlets().get(run).is_some_and(|outlet| outlet.pulse.needs_attention())
    }

    /// Somebody should look at it; true when that is new.
    pub(crate) fn need_attention(&self, run: &RunId, told: bool) -> bool {
        let outlet = self.outlets().get(run).cloned().filter(|outlet| outlet.is_live());
        let drawing = if told { DRAWING } else { Duration::ZERO };
        outlet.is_some_and(|outlet| outlet.pulse.call_for_attention(drawing))
    }

    /// Somebody does something about it; true when it was needed.
    pub(crate) fn attended(&self, run: &RunId) -> bool {
        if let Some(terminal) = self.terminals().get(run) {
            terminal.rang_since_looked();
        }
        self.outlets().get(run).is_some_and(|outlet| outlet.pulse.attend())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_programs_are_known_and_other_ends_are_not() {
        for text in [
            "Do you trust the files in this folder?\n\n  1. Yes\n  2. No\n",
            "Overwrite? [y/N] ",
            "│ Proceed (Y/n) │\n╰────╯",
            "Password: ",
            "Enter passphrase for key '/home/u/.ssh/id': ",
            "Done.\nPress Enter to continue...",
        ] {
            assert_eq!(asks(text), Asks::Surely, "{text:?}");
        }
        for text in ["Which branch?", "name:", "Shall I go on? │\n────"] {
            assert_eq!(asks(text), Asks::Maybe, "{text:?}");
        }
        for text in ["", "\n\n", "$ ", "user@host:~$ ", "› ", "12 passed", "Do you see? Yes."] {
            assert_eq!(asks(text), Asks::No, "{text:?}");
        }
        let long_ago = format!("[y/n]\n{}", "line\n".repeat(LAST_LINES));
        assert_eq!(asks(&long_ago), Asks::No);
    }
}
