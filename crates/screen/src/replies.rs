//! Answers to what programs ask the terminal. The model answers, never the view: an answer must be
//! given once, also when no view or more than one is attached, and never when old output is shown
//! again.

use crate::params::Params;
use crate::style::write_number;
use crate::terminal::Terminal;

/// Size of a cell in pixels that is reported, for programs that scale images by it.
const CELL_WIDTH_PX: usize = 8;
const CELL_HEIGHT_PX: usize = 16;

/// A colour as red, green, blue.
pub type Rgb = (u8, u8, u8);

/// The colours that are reported to programs which ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colours {
    pub(crate) foreground: Rgb,
    pub(crate) background: Rgb,
    pub(crate) cursor: Rgb,
}

impl Default for Colours {
    fn default() -> Colours {
        Colours { foreground: (0xd8, 0xd8, 0xd8), background: (0x18, 0x18, 0x18), cursor: (0xd8, 0xd8, 0xd8) }
    }
}

impl Colours {
    fn is_dark(self) -> bool {
        let (r, g, b) = self.background;
        u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114 < 128_000
    }
}

impl Terminal {
    fn reply(&mut self, bytes: &[u8]) {
        self.replies.extend_from_slice(bytes);
    }

    /// `CSI`, `prefix`, numbers, `end`.
    fn reply_numbers(&mut self, prefix: &[u8], numbers: &[usize], end: &[u8]) {
        self.reply(b"\x1b[");
        self.reply(prefix);
        let mut text = Vec::new();
        for number in numbers {
            write_number(&mut text, b';', *number);
        }
        self.reply(text.get(1..).unwrap_or_default());
        self.reply(end);
    }

    /// Answers a control sequence if it is a query, and ignores it otherwise.
    pub(crate) fn query(&mut self, collected: &[u8], params: &Params, last: u8) {
        let first = params.get(0);
        match (collected, last) {
            // A VT220 with ANSI colours.
            (b"", b'c') if first == 0 => self.reply(b"\x1b[?62;22c"),
            // The same as xterm.js, so that programs switch on what they do for it.
            (b">", b'c') if first == 0 => self.reply(b"\x1b[>0;276;0c"),
            (b"=", b'c') if first == 0 => self.reply(b"\x1bP!|00000000\x1b\\"),
            (b"", b'n') if first == 5 => self.reply(b"\x1b[0n"),
            (b"", b'n') if first == 6 => self.report_cursor(b""),
            (b"?", b'n') if first == 6 => self.report_cursor(b"?"),
            (b"?", b'n') if first == 996 => {
                let scheme = if self.colours.is_dark() { 1 } else { 2 };
                self.reply_numbers(b"?", &[997, scheme], b"n");
            }
            (b"$", b'p') => {
                let state = self.mode_state(first, false);
                self.reply_numbers(b"", &[first, state], b"$y");
            }
            (b"?$", b'p') => {
                let state = self.mode_state(first, true);
                self.reply_numbers(b"?", &[first, state], b"$y");
            }
            (b">", b'q') if first == 0 => self.reply(b"\x1bP>|Carillon(0.1)\x1b\\"),
            (b"", b't') => self.report_size(first),
            _ => {}
        }
    }

    fn report_cursor(&mut self, prefix: &[u8]) {
        let top = if self.modes.origin { self.screen().top } else { 0 };
        let (row, col) = (self.y.saturating_sub(top) + 1, self.x.min(self.cols - 1) + 1);
        self.reply_numbers(prefix, &[row, col], b"R");
    }

    fn report_size(&mut self, what: usize) {
        let (rows, cols) = (self.rows, self.cols);
        match what {
            14 => {
                let pixels = [4, rows * CELL_HEIGHT_PX, cols * CELL_WIDTH_PX];
                self.reply_numbers(b"", &pixels, b"t");
            }
            16 => self.reply_numbers(b"", &[6, CELL_HEIGHT_PX, CELL_WIDTH_PX], b"t"),
            18 => self.reply_numbers(b"", &[8, rows, cols], b"t"),
            _ => {}
        }
    }

    /// OSC 10, 11, 12: further values of one command are for the next numbers. Setting colours is
    /// ignored: the theme is the user's.
    pub(crate) fn colour_query(&mut self, id: &str, values: &str, bell: bool) {
        let first: usize = id.parse().unwrap_or(10);
        for (number, value) in (first..=12).zip(values.split(';')) {
            if value != "?" {
                continue;
            }
            let (r, g, b) = match number {
                10 => self.colours.foreground,
                11 => self.colours.background,
                _ => self.colours.cursor,
            };
            let colour = format!("\x1b]{number};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}");
            self.reply(colour.as_bytes());
            // The answer ends the way the question did.
            self.reply(if bell { b"\x07" } else { b"\x1b\\" });
        }
    }

    /// DECRQSS and XTGETTCAP: no setting and no capability is reported.
    pub(crate) fn string_query(&mut self, collected: &[u8], last: u8) {
        match (collected, last) {
            (b"$", b'q') => self.reply(b"\x1bP0$r\x1b\\"),
            (b"+", b'q') => self.reply(b"\x1bP0+r\x1b\\"),
            _ => {}
        }
    }
}
