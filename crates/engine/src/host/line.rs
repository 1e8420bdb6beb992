//! What the user has typed into a terminal's input line, as far as his keys tell: whether it is empty.
//!
//! No terminal tells what stands in the line of its program, so it is counted from outside. A count
//! that is too high only makes a prompt wait until Enter; one that is too low would mix a prompt into
//! what the user has begun. So whatever is not known counts as text.

/// The count of what stands in the line, and where in a sequence of bytes the keys are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    chars: usize,
    place: Place,
    pasting: bool,
    /// The last character was a backslash: shells and agents alike take Enter after it for a line that
    /// goes on.
    after_backslash: bool,
}

/// What some bytes from the keyboard did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fed {
    /// Text was sent off with Enter.
    pub(crate) sent: bool,
    /// A key was pressed that breaks off what the program does: Esc, or Ctrl+C.
    pub(crate) broke_off: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Text,
    Escape,
    /// After `ESC [`, with what has come since.
    Sequence(Vec<u8>),
    /// After `ESC O`: one byte more.
    Function,
    /// After `ESC ]`, `ESC P` and their like, up to BEL or `ESC \`.
    String,
    StringEscape,
    /// A mouse report of the old kind has so many bytes more.
    Mouse(u8),
}

/// Longest sequence of one key. What is longer is none.
const SEQUENCE_MAX: usize = 32;

impl Line {
    /// With so many characters in it.
    pub(crate) fn with(chars: usize) -> Self {
        Self { chars, ..Self::default() }
    }

    pub(crate) fn chars(&self) -> usize {
        self.chars
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chars == 0
    }

    /// Takes what one press, click or paste sent. `marks_pastes`: the program has asked for brackets
    /// around what is pasted, as programs do in whose line a line feed is text.
    pub(crate) fn feed(&mut self, bytes: &[u8], marks_pastes: bool) -> Fed {
        let mut fed = Fed::default();
        for byte in bytes {
            self.take(*byte, marks_pastes, &mut fed);
        }
        // A sequence comes whole, so this was the key Esc. A long paste may be cut anywhere.
        if self.place == Place::Escape && !self.pasting {
            self.place = Place::Text;
            fed.broke_off = true;
        }
        fed
    }

    fn take(&mut self, byte: u8, marks_pastes: bool, fed: &mut Fed) {
        self.place = match (std::mem::take(&mut self.place), byte) {
            (Place::Text, 0x1b) => Place::Escape,
            (Place::Text, _) => {
                self.take_text(byte, marks_pastes, fed);
                Place::Text
            }
            (Place::Escape, b'[') => Place::Sequence(Vec::new()),
            (Place::Escape, b'O') => Place::Function,
            (Place::Escape, b']' | b'P' | b'X' | b'^' | b'_') if !self.pasting => Place::String,
            // Alt with a key; Alt+Enter is a new line in agents, and nothing is sent off.
            (Place::Escape, _) => Place::Text,
            (Place::Sequence(seen), b'M') if seen.is_empty() => Place::Mouse(3),
            (Place::Sequence(mut seen), byte) => {
                seen.push(byte);
                match byte {
                    0x40..=0x7e => {
                        match seen.as_slice() {
                            b"200~" => self.pasting = true,
                            b"201~" => self.pasting = false,
                            _ => {}
                        }
                        Place::Text
                    }
                    _ if seen.len() >= SEQUENCE_MAX => Place::Text,
                    _ => Place::Sequence(seen),
                }
            }
            (Place::Function, _) => Place::Text,
            (Place::String, 0x07) => Place::Text,
            (Place::String, 0x1b) => Place::StringEscape,
            (Place::String, _) => Place::String,
            (Place::StringEscape, _) => Place::Text,
            (Place::Mouse(1), _) => Place::Text,
            (Place::Mouse(left), _) => Place::Mouse(left - 1),
        };
    }

    fn take_text(&mut self, byte: u8, marks_pastes: bool, fed: &mut Fed) {
        let was_backslash = std::mem::replace(&mut self.after_backslash, byte == b'\\' && !self.pasting);
        match byte {
            _ if self.pasting => self.chars += usize::from(is_start_of_char(byte)),
            b'\n' if marks_pastes => self.chars += 1,
            b'\r' | b'\n' if was_backslash => {}
            b'\r' | b'\n' => {
                fed.sent |= self.chars > 0;
                self.chars = 0;
            }
            0x03 => {
                fed.broke_off = true;
                self.chars = 0;
            }
            0x04 | 0x15 => self.chars = 0,
            0x08 | 0x7f => self.chars = self.chars.saturating_sub(1),
            0x00..=0x1f => {}
            _ => self.chars += usize::from(is_start_of_char(byte)),
        }
    }
}

/// False for what goes on a character of UTF-8.
fn is_start_of_char(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &[&[u8]]) -> Line {
        let mut line = Line::default();
        for key in keys {
            line.feed(key, false);
        }
        line
    }

    #[test]
    fn text_is_counted_and_what_ends_or_deletes_a_line_empties_it() {
        assert_eq!(after(&[b"h", "\u{e4}".as_bytes(), "\u{20ac}".as_bytes()]).chars(), 3);
        for end in [&b"\r"[..], b"\n", b"\x03", b"\x04", b"\x15"] {
            assert!(after(&[b"half", end]).is_empty(), "{end:?}");
        }
        assert!(after(&[b"ab", b"\x7f", b"\x08"]).is_empty());
        assert!(!after(&[b"abc", b"\x7f", b"\x7f"]).is_empty());
        assert!(after(&[b"\x7f", b"\x7f"]).is_empty(), "there is nothing before the beginning");
        assert!(!after(&[b"go\\", b"\r"]).is_empty(), "the line goes on");
        assert!(after(&[b"go\\", b"\r", b"x", b"\r"]).is_empty());
    }

    #[test]
    fn keys_without_text_begin_no_line() {
        let keys: [&[u8]; 12] = [
            b"\x1b[A",
            b"\x1bOB",
            b"\x1b[1;5C",
            b"\x1b[3~",
            b"\x1b[I",
            b"\x1b[O",
            b"\x1b[<0;10;20M",
            b"\x1b[M !!",
            b"\x1b",
            b"\x1bf",
            b"\t",
            b"\x1b]11;rgb:00/00/00\x1b\\",
        ];
        for key in keys {
            assert!(after(&[key]).is_empty(), "{key:?}");
        }
        assert!(after(&keys).is_empty());
        assert_eq!(after(&[b"\x1b[", b"A"]).chars(), 0, "a sequence may come in two parts");
        assert_eq!(after(&[b"\x1b", b"a"]).chars(), 1, "the key Esc and then a letter");
    }

    #[test]
    fn what_is_pasted_stands_in_the_line_with_all_its_lines() {
        assert_eq!(after(&[b"\x1b[200~a\nb\r\x1b[201~"]).chars(), 4);
        assert!(after(&[b"\x1b[200~a\nb\x1b[201~", b"\r"]).is_empty());
        assert_eq!(after(&[b"a\rb\rc"]).chars(), 1, "without brackets each line is sent off");
        let mut line = Line::default();
        line.feed(b"a\n", true);
        assert_eq!(line.chars(), 2, "a line feed is text where pastes are marked");
        assert!(after(&[b"x", b"\x1b\r"]).chars() == 1, "Alt+Enter sends nothing off");
    }

    #[test]
    fn who_sends_off_and_who_breaks_off_is_told() {
        let fed = |keys: &[u8]| Line::with(1).feed(keys, false);
        assert_eq!(fed(b"\r"), Fed { sent: true, broke_off: false });
        assert_eq!(fed(b"\x1b"), Fed { sent: false, broke_off: true });
        assert_eq!(fed(b"\x03"), Fed { sent: false, broke_off: true });
        assert_eq!(fed(b"\x1b[A"), Fed::default());
        assert!(!Line::default().feed(b"\r", false).sent, "nothing was there to be sent");
    }
}
