//! The input line.

/// What came of some bytes.
pub(crate) enum Seen {
    /// A prompt was sent off.
    Sent(String),
    /// A key that is no text.
    Key(&'static str),
}

pub(crate) struct Line {
    marks: bool,
    pasting: bool,
    text: Vec<u8>,
    escape: Vec<u8>,
}

impl Line {
    pub(crate) fn new(marks: bool) -> Self {
        Self { marks, pasting: false, text: Vec::new(), escape: Vec::new() }
    }

    /// The Enter that sent this off was a line end.
    pub(crate) fn put_back(&mut self, text: &str) {
        self.text.splice(..0, format!("{text}\n").into_bytes());
    }

    /// Takes what one read brought; in a burst Enter is a line end.
    pub(crate) fn take(&mut self, bytes: &[u8], is_burst: bool) -> Vec<Seen> {
        let mut seen = Vec::new();
        for byte in bytes {
            match byte {
                _ if !self.escape.is_empty() || *byte == 0x1b => self.escaped(*byte),
                b'\r' | b'\n' if self.pasting || is_burst => self.text.push(b'\n'),
                b'\r' | b'\n' => {
                    let text = std::mem::take(&mut self.text);
                    seen.push(Seen::Sent(String::from_utf8_lossy(&text).into_owned()));
                }
                0x03 => seen.push(Seen::Key("ctrl-c")),
                0x15 => self.text.clear(),
                0x7f => drop(self.text.pop()),
                _ => self.text.push(*byte),
            }
        }
        if self.escape == [0x1b] {
            self.escape.clear();
            seen.push(Seen::Key("esc"));
        }
        seen
    }

    fn escaped(&mut self, byte: u8) {
        self.escape.push(byte);
        if self.marks && (self.escape == b"\x1b[200~" || self.escape == b"\x1b[201~") {
            self.pasting = self.escape == b"\x1b[200~";
            self.escape.clear();
        } else if self.escape.len() > 2 && byte.is_ascii_alphabetic() || byte == b'~' {
            // Whatever else it is, it is none of ours; a mark that nobody asked for is text.
            let escape = std::mem::take(&mut self.escape);
            if escape.ends_with(b"~") {
                self.text.extend(escape);
            }
        }
    }
}
