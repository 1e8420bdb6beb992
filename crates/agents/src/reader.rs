//! What a turn shows while it runs.

use carillon_core::plain::is_plain;

use crate::lines::{self, Lines};
use crate::turn::Seen;
use crate::{Adapter, acp, claude, codex, gemini, opencode, text};

/// Reads the standard output of a turn as it comes. It keeps no more than one open line.
#[derive(Debug)]
pub struct Reader {
    adapter: Adapter,
    lines: Lines,
}

impl Reader {
    /// A reader that stands at the beginning of the output.
    pub fn new(adapter: Adapter) -> Reader {
        Reader { adapter, lines: Lines::default() }
    }

    /// What `bytes`, the next ones of the output, add to see. Texts hold no control characters but line ends and tabs.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Seen> {
        let mut all = Vec::new();
        let adapter = self.adapter;
        self.lines.feed(bytes, |line| all.extend(seen(adapter, line)));
        all.into_iter().map(shown).collect()
    }
}

fn seen(adapter: Adapter, line: &[u8]) -> Vec<Seen> {
    let of_event = match adapter {
        Adapter::Claude => claude::seen,
        Adapter::Codex => codex::seen,
        Adapter::Gemini => gemini::seen,
        Adapter::Opencode => opencode::seen,
        Adapter::Acp => acp::seen,
        Adapter::Plain => return vec![Seen::Text(text::cleaned(line) + "\n")],
    };
    lines::event(line).map(|event| of_event(&event)).unwrap_or_default()
}

/// Models write control characters, too.
fn shown(seen: Seen) -> Seen {
    let clean = |text: String| text.chars().filter(|c| is_plain(*c) || matches!(c, '\n' | '\t')).collect();
    match seen {
        Seen::Text(text) => Seen::Text(clean(text)),
        Seen::Thinking(text) => Seen::Thinking(clean(text)),
        Seen::Tool { name, detail } => Seen::Tool { name: clean(name), detail: clean(detail) },
        Seen::Note(text) => Seen::Note(clean(text)),
    }
}
