//! Bytes to actions: UTF-8 and the escape sequence grammar of the VT500, in the dialect of xterm.js,
//! so that the model and the view never read the same bytes differently.
//!
//! The parser keeps its place between calls: every split of the input gives the same actions.

use crate::params::Params;

/// Longest string (OSC, DCS) that is kept; a longer one is read to its end and ignored.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// Longest control sequence that is kept; a longer one is read to its end and ignored.
const MAX_SEQUENCE_BYTES: usize = 256;

/// What the parser found. The one implementation is the terminal.
pub(crate) trait Actions {
    /// Printable ASCII, 0x20 to 0x7e.
    fn print_ascii(&mut self, run: &[u8]);
    /// A character beyond ASCII that is no control.
    fn print(&mut self, c: char);
    /// A control of C0 (below 0x20) or C1 (0x80 to 0x9f).
    fn execute(&mut self, control: u8);
    /// `ESC`, intermediates, final byte.
    fn escape(&mut self, collected: &[u8], last: u8);
    /// `CSI`, prefix and intermediates, numbers, final byte.
    fn csi(&mut self, collected: &[u8], params: &Params, last: u8);
    /// An operating system command; `bell` tells that BEL ended it.
    fn osc(&mut self, text: &str, bell: bool);
    /// A device control string with its prefix, intermediates and final byte.
    fn dcs(&mut self, collected: &[u8], last: u8, text: &str);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    EscapeIntermediate,
    CsiEntry,
    CsiParam,
    CsiIntermediate,
    CsiIgnore,
    /// SOS, PM and APC strings: read to their end and ignored.
    Ignored,
    Osc,
    DcsEntry,
    DcsParam,
    DcsIntermediate,
    DcsIgnore,
    DcsText,
}

/// The place in the grammar, between any two bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parser {
    state: State,
    utf8: Utf8,
    params: Params,
    /// Prefix and intermediates; three or more make a sequence nobody knows.
    collected: Vec<u8>,
    /// The bytes of the control sequence after its introducer.
    sequence: Vec<u8>,
    /// The payload of a string.
    text: String,
    text_overflow: bool,
    dcs_last: u8,
}

impl Parser {
    pub(crate) fn new() -> Parser {
        Parser {
            state: State::Ground,
            utf8: Utf8::default(),
            params: Params::new(),
            collected: Vec::new(),
            sequence: Vec::new(),
            text: String::new(),
            text_overflow: false,
            dcs_last: 0,
        }
    }

    /// Whether the next byte starts something new.
    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Ground && self.utf8.missing == 0
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8], to: &mut impl Actions) {
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte >= 0x80 || self.utf8.missing > 0 {
                match self.utf8.push(byte) {
                    Step::Char(c) => self.beyond_ascii(c, to),
                    Step::Taken => {}
                    Step::Again => continue,
                }
                at += 1;
            } else if self.state == State::Ground && (0x20..0x7f).contains(&byte) {
                let end = bytes[at..]
                    .iter()
                    .position(|b| !(0x20..0x7f).contains(b))
                    .map_or(bytes.len(), |n| at + n);
                to.print_ascii(&bytes[at..end]);
                at = end;
            } else {
                self.ascii(byte, to);
                at += 1;
            }
        }
    }

    fn ascii(&mut self, byte: u8, to: &mut impl Actions) {
        match byte {
            0x1b => {
                self.end_string(true, false, to);
                self.begin(State::Escape);
            }
            0x18 | 0x1a => {
                self.end_string(false, false, to);
                to.execute(byte);
                self.state = State::Ground;
            }
            0x00..0x20 => match self.state {
                State::Osc if byte == 0x07 => {
                    self.end_string(true, true, to);
                    self.state = State::Ground;
                }
                State::Osc
                | State::Ignored
                | State::DcsEntry
                | State::DcsParam
                | State::DcsIntermediate
                | State::DcsIgnore => {}
                State::DcsText => self.put(char::from(byte)),
                _ => to.execute(byte),
            },
            0x7f => {
                if self.state == State::Osc {
                    self.put('\x7f');
                }
            }
            _ => self.printable(byte, to),
        }
    }

    /// A byte of 0x20 to 0x7e outside the ground state, where runs are printed at once.
    fn printable(&mut self, byte: u8, to: &mut impl Actions) {
        match self.state {
            State::Escape | State::EscapeIntermediate => self.in_escape(byte, to),
            State::CsiEntry | State::CsiParam | State::CsiIntermediate | State::CsiIgnore => {
                self.in_csi(byte, to);
            }
            State::Osc | State::DcsText => self.put(char::from(byte)),
            State::DcsEntry | State::DcsParam | State::DcsIntermediate => self.in_dcs(byte),
            State::Ground | State::Ignored | State::DcsIgnore => {}
        }
    }

    fn in_escape(&mut self, byte: u8, to: &mut impl Actions) {
        match (self.state, byte) {
            (_, 0x20..0x30) => {
                self.collect(byte);
                self.state = State::EscapeIntermediate;
            }
            (State::Escape, b'[') => self.begin(State::CsiEntry),
            (State::Escape, b']') => self.begin(State::Osc),
            (State::Escape, b'P') => self.begin(State::DcsEntry),
            (State::Escape, b'X' | b'^' | b'_') => self.begin(State::Ignored),
            _ => {
                self.state = State::Ground;
                to.escape(&self.collected, byte);
            }
        }
    }

    fn in_csi(&mut self, byte: u8, to: &mut impl Actions) {
        if byte >= 0x40 {
            let known = self.state != State::CsiIgnore && self.collected.len() <= 2;
            self.state = State::Ground;
            if known {
                to.csi(&self.collected, &self.params, byte);
            }
            return;
        }
        if self.sequence.len() == MAX_SEQUENCE_BYTES {
            self.state = State::CsiIgnore;
            return;
        }
        self.sequence.push(byte);
        self.state = match (self.state, byte) {
            (State::CsiIgnore, _) => State::CsiIgnore,
            (_, 0x20..0x30) => {
                self.collect(byte);
                State::CsiIntermediate
            }
            (State::CsiIntermediate, _) => State::CsiIgnore,
            (_, 0x30..0x3c) => {
                self.params.push(byte);
                State::CsiParam
            }
            (State::CsiEntry, _) => {
                self.collect(byte);
                State::CsiParam
            }
            _ => State::CsiIgnore,
        };
    }

    fn in_dcs(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (_, 0x40..) => {
                self.dcs_last = byte;
                State::DcsText
            }
            (_, 0x20..0x30) => {
                self.collect(byte);
                State::DcsIntermediate
            }
            (State::DcsIntermediate, _) => State::DcsIgnore,
            (_, 0x30..0x3c) => State::DcsParam,
            (State::DcsEntry, _) => {
                self.collect(byte);
                State::DcsParam
            }
            _ => State::DcsIgnore,
        };
    }

    fn beyond_ascii(&mut self, c: char, to: &mut impl Actions) {
        if ('\u{80}'..'\u{a0}').contains(&c) {
            self.c1(c as u8, to);
            return;
        }
        match self.state {
            State::Ground => to.print(c),
            State::Osc | State::DcsText => self.put(c),
            State::CsiIgnore | State::DcsIgnore | State::Ignored => {}
            _ => self.state = State::Ground,
        }
    }

    /// The controls of C1, which are real controls as code points (never as single bytes: those
    /// are not UTF-8).
    fn c1(&mut self, control: u8, to: &mut impl Actions) {
        match control {
            0x90 => self.begin(State::DcsEntry),
            0x98 | 0x9e | 0x9f => self.begin(State::Ignored),
            0x9b => self.begin(State::CsiEntry),
            0x9c => {
                self.end_string(true, false, to);
                self.state = State::Ground;
            }
            0x9d => self.begin(State::Osc),
            _ => {
                to.execute(control);
                self.state = State::Ground;
            }
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.params.clear();
        self.collected.clear();
        self.sequence.clear();
        self.text.clear();
        self.text_overflow = false;
    }

    fn collect(&mut self, byte: u8) {
        // A third one already makes the sequence unknown, more need no room.
        if self.collected.len() < 3 {
            self.collected.push(byte);
        }
    }

    fn put(&mut self, c: char) {
        if self.text.len() + c.len_utf8() > MAX_TEXT_BYTES {
            self.text_overflow = true;
        } else if !self.text_overflow {
            self.text.push(c);
        }
    }

    /// Hands out the string that ends here, if one does and it was not cancelled.
    fn end_string(&mut self, complete: bool, bell: bool, to: &mut impl Actions) {
        if !complete || self.text_overflow {
            return;
        }
        match self.state {
            State::Osc => to.osc(&self.text, bell),
            State::DcsText if self.collected.len() <= 2 => {
                to.dcs(&self.collected, self.dcs_last, &self.text);
            }
            _ => {}
        }
    }

    /// Bytes that bring a fresh parser to this place, so that a stream can go on in another
    /// terminal in the middle of a sequence. A string whose rest is of no use to that terminal is
    /// replaced by one that it ignores; clipboard writes and queries are among those.
    pub(crate) fn write_pending(&self, out: &mut Vec<u8>) {
        match self.state {
            State::Ground => {}
            State::Escape | State::EscapeIntermediate => {
                out.push(0x1b);
                out.extend_from_slice(&self.collected);
            }
            State::CsiIgnore => out.extend_from_slice(b"\x1b[0<"),
            State::CsiEntry | State::CsiParam | State::CsiIntermediate => {
                out.extend_from_slice(b"\x1b[");
                out.extend_from_slice(&self.sequence);
            }
            State::Osc => {
                let title = ["0;", "1;", "2;"].iter().any(|id| self.text.starts_with(id));
                if (title || self.text.len() < 2) && !self.text_overflow {
                    out.extend_from_slice(b"\x1b]");
                    out.extend_from_slice(self.text.as_bytes());
                } else {
                    out.extend_from_slice(b"\x1b]9999;");
                }
            }
            State::Ignored
            | State::DcsEntry
            | State::DcsParam
            | State::DcsIntermediate
            | State::DcsIgnore
            | State::DcsText => out.extend_from_slice(b"\x1b_"),
        }
        out.extend_from_slice(&self.utf8.bytes[..self.utf8.len]);
    }
}

/// A decoder that takes one byte at a time. Bytes that are no UTF-8 vanish, as in xterm.js.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Utf8 {
    bytes: [u8; 4],
    len: usize,
    missing: usize,
}

enum Step {
    Char(char),
    Taken,
    /// The byte ended a broken sequence and is to be looked at afresh.
    Again,
}

impl Utf8 {
    fn push(&mut self, byte: u8) -> Step {
        if self.missing == 0 {
            self.missing = match byte {
                0xc0..0xe0 => 1,
                0xe0..0xf0 => 2,
                0xf0..0xf8 => 3,
                _ => return Step::Taken,
            };
            self.bytes[0] = byte;
            self.len = 1;
            return Step::Taken;
        }
        if byte & 0xc0 != 0x80 {
            *self = Utf8::default();
            return Step::Again;
        }
        self.bytes[self.len] = byte;
        self.len += 1;
        self.missing -= 1;
        if self.missing > 0 {
            return Step::Taken;
        }
        let decoded = std::str::from_utf8(&self.bytes[..self.len]).ok().and_then(|s| s.chars().next());
        *self = Utf8::default();
        // A byte order mark is no text.
        decoded.filter(|c| *c != '\u{feff}').map_or(Step::Taken, Step::Char)
    }
}
