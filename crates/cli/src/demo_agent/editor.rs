//! The input line of the demo agent. The terminal's own line editing holds at most 4095 bytes
//! (termios(3), canonical mode) and knows no pastes, so the bytes are read as they come: a pasted
//! block, however long, and what is typed around it are one prompt, and Enter submits it.

use std::io::{Read, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A prompt, submitted with Enter.
    Prompt(String),
    /// The input is over.
    End,
}

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Reads prompts from the terminal; gives the terminal back as it was.
pub(super) struct Editor {
    was: Termios,
    line: Line,
    /// Bytes that were read and not looked at yet.
    ahead: std::collections::VecDeque<u8>,
}

impl Editor {
    pub(super) fn open() -> std::io::Result<Self> {
        let was = tcgetattr(std::io::stdin())?;
        let mut raw = was.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { was, line: Line::default(), ahead: Default::default() })
    }

    /// Reads until a prompt is submitted, and shows what is typed.
    pub(super) fn read(&mut self, out: &mut impl Write) -> std::io::Result<Typed> {
        loop {
            let mut shown = Vec::new();
            while let Some(byte) = self.ahead.pop_front() {
                if let Some(typed) = self.line.take(byte, &mut shown) {
                    out.write_all(&shown)?;
                    out.flush()?;
                    return Ok(typed);
                }
            }
            out.write_all(&shown)?;
            out.flush()?;
            let mut bytes = [0; 4096];
            match std::io::stdin().lock().read(&mut bytes) {
                Ok(0) => return Ok(Typed::End),
                Ok(read) => self.ahead.extend(&bytes[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.was);
    }
}

/// The line so far.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    is_pasting: bool,
    /// An escape sequence that is not complete yet.
    escape: Vec<u8>,
}

impl Line {
    /// Takes a byte; what the terminal should show for it goes to `shown`.
    fn take(&mut self, byte: u8, shown: &mut Vec<u8>) -> Option<Typed> {
        if !self.escape.is_empty() || byte == 0x1b {
            self.take_of_escape(byte, shown);
            return None;
        }
        if self.is_pasting {
            let byte = if byte == b'\r' { b'\n' } else { byte };
            self.text.push(byte);
            shown.push(byte);
            return None;
        }
        match byte {
            b'\r' | b'\n' => {
                shown.push(b'\n');
                let text = String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned();
                return Some(Typed::Prompt(text));
            }
            0x04 if self.text.is_empty() => return Some(Typed::End),
            0x7f | 0x08 => {
                let text = String::from_utf8_lossy(&self.text);
                if let Some((at, _)) = text.char_indices().next_back() {
                    self.text.truncate(at);
                    shown.extend_from_slice(b"\x08 \x08");
                }
            }
            // Ctrl+U takes the whole line back.
            0x15 => {
                self.text.clear();
                shown.extend_from_slice(b"\r\x1b[K");
            }
            0..0x20 if byte != b'\t' => {}
            _ => {
                self.text.push(byte);
                shown.push(byte);
            }
        }
        None
    }

    /// Sequences but the two around a paste mean nothing here. Inside a paste they are text.
    fn take_of_escape(&mut self, byte: u8, shown: &mut Vec<u8>) {
        if byte == 0x1b && !self.escape.is_empty() {
            // A new one begins before the last has ended.
            let broken = std::mem::take(&mut self.escape);
            if self.is_pasting {
                self.text.extend(broken);
            }
        }
        self.escape.push(byte);
        let awaited = if self.is_pasting { PASTE_END } else { PASTE_BEGIN };
        if self.escape == awaited {
            self.is_pasting = !self.is_pasting;
            self.escape.clear();
        } else if !awaited.starts_with(&self.escape) {
            let escape = std::mem::take(&mut self.escape);
            if self.is_pasting {
                shown.extend(escape.iter().filter(|byte| **byte != 0x1b));
                self.text.extend(escape);
            } else if !is_complete(&escape) {
                self.escape = escape;
            }
        }
    }
}

/// Whether a sequence that begins with an escape has its final byte.
fn is_complete(escape: &[u8]) -> bool {
    match escape {
        [_] => false,
        [_, b'[', rest @ ..] => rest.last().is_some_and(|last| (0x40..0x7f).contains(last)),
        [_, b'O', rest @ ..] => !rest.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Vec<Typed> {
        let (mut line, mut shown) = (Line::default(), Vec::new());
        bytes.iter().filter_map(|byte| line.take(*byte, &mut shown)).collect()
    }

    fn prompts(bytes: &[u8]) -> Vec<String> {
        typed(bytes)
            .into_iter()
            .map(|typed| match typed {
                Typed::Prompt(text) => text,
                Typed::End => "(end)".to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_pasted_block_is_one_prompt() {
        assert_eq!(prompts(b"\x1b[200~say a\nsay b\x1b[201~\r"), ["say a\nsay b"]);
        assert_eq!(prompts(b"x\x1b[200~1\r2\x1b[201~y\rnext\r"), ["x1\n2y", "next"]);
        // What only looks like an end, and another escape, are part of what was pasted.
        assert_eq!(prompts(b"\x1b[200~a\x1b\x1b[20\x1b[201~\r"), ["a\x1b\x1b[20"]);
        assert_eq!(prompts(b"\x1b[200~a\x1b[201b\x1b[31mc\x1b[201~\r"), ["a\x1b[201b\x1b[31mc"]);
    }

    #[test]
    fn the_usual_keys_work() {
        assert_eq!(prompts("hä\x7f\x7fallo\r".as_bytes()), ["allo"]);
        assert_eq!(prompts(b"gone\x15stays\r"), ["stays"]);
        assert_eq!(prompts(b"a\x1b[A\x1b[3~\x1bOPb\r"), ["ab"]);
        assert_eq!(prompts(b"a\x04b\r\x04"), ["ab", "(end)"]);
    }
}
