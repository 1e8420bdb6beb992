//! A model of one terminal: bytes in, snapshots and answers to queries out.
//!
//! Imports nothing of the project. No I/O, no threads, no clock.
//!
//! Invariants:
//! - Any bytes, split anywhere, are fine: no panic, no more memory than the screen, the history
//!   limit and a few kilobytes.
//! - The model reads bytes the way xterm.js does, which shows the snapshots.
//! - A snapshot rebuilds the state in a fresh terminal of the same size, and holds no query and no
//!   access to the clipboard.
//! - Queries are answered here, once, in their order.
//!
//! Reading order: `parser` (bytes to actions), `terminal` (the state, text), `control`, `modes`,
//! `style`, `replies` (what sequences do), `row`, `history`, `buffer` (where text lives),
//! `snapshot`, `skip`.
//!
//! Tests are in `src/tests`: by example, and by random streams against independent paths through
//! the same code (whole against split, snapshot against original, skipped against parsed).

mod buffer;
mod charset;
mod control;
mod history;
mod modes;
mod params;
mod parser;
mod replies;
mod row;
mod skip;
mod snapshot;
mod style;
mod terminal;
#[cfg(test)]
mod tests;
mod width;

pub use replies::Rgb;
pub use width::cell_width;

use parser::Parser;
use replies::Colours;
use terminal::Terminal;

/// The size of a screen is kept within these, in rows and columns. A wide character needs two
/// columns; the upper ends bound the memory.
const MIN_ROWS: u16 = 1;
const MIN_COLS: u16 = 2;
const MAX_ROWS: u16 = 1_000;
const MAX_COLS: u16 = 2_000;

/// One terminal.
#[derive(Clone, Debug)]
pub struct Screen {
    terminal: Terminal,
    parser: Parser,
}

impl Screen {
    /// An empty terminal that keeps `scrollback_lines` rows above its screen. The size is brought
    /// into 1 to 1,000 rows and 2 to 2,000 columns.
    #[must_use]
    pub fn new(rows: u16, cols: u16, scrollback_lines: usize) -> Screen {
        let (rows, cols) = clamped(rows, cols);
        Screen { terminal: Terminal::new(rows, cols, scrollback_lines), parser: Parser::new() }
    }

    /// The colours that are reported to programs which ask: text, background, cursor.
    pub fn set_colours(&mut self, foreground: Rgb, background: Rgb, cursor: Rgb) {
        self.terminal.colours = Colours { foreground, background, cursor };
    }

    /// Takes the next bytes of output. Answers what a terminal would send back for the queries in
    /// them, in their order; whether to send it is the caller's decision.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.parser.feed(bytes, &mut self.terminal);
        std::mem::take(&mut self.terminal.replies)
    }

    /// The same as [`Screen::feed`], and exactly so, but jumps over text which scrolls out of the
    /// history within these bytes. Worth calling with megabytes at once.
    pub fn skip_to_tail(&mut self, bytes: &[u8]) -> Vec<u8> {
        skip::feed(&mut self.terminal, &mut self.parser, bytes, skip::MIN_BYTES);
        std::mem::take(&mut self.terminal.replies)
    }

    /// Takes on another size, within the bounds of [`Screen::new`]. Text on the main screen is
    /// broken anew at the new width, except for the line with the cursor.
    pub fn resize(&mut self, rows: u16, cols: u16) {
        let (rows, cols) = clamped(rows, cols);
        if (rows, cols) != (self.terminal.rows, self.terminal.cols) {
            self.terminal.resize(rows, cols);
        }
    }

    /// Bytes which rebuild this state in a freshly reset terminal of the same size: history, both
    /// screens, cursor, styles, modes, title, and the beginning of a sequence that is still
    /// incomplete, so that the stream can go on right after.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        snapshot::write(&self.terminal, &self.parser, usize::MAX)
    }

    /// A snapshot without any history. It costs whoever draws it no more than the screen does.
    #[must_use]
    pub fn snapshot_of_screen(&self) -> Vec<u8> {
        snapshot::write(&self.terminal, &self.parser, 0)
    }

    /// A snapshot that leaves out the oldest lines of the history, as many as it takes to stay
    /// within `max_bytes`. The screen itself is always whole, even if it alone is longer.
    #[must_use]
    pub fn snapshot_within(&self, max_bytes: usize) -> Vec<u8> {
        let mut lines = self.terminal.main.history.len();
        loop {
            let bytes = snapshot::write(&self.terminal, &self.parser, lines);
            if bytes.len() <= max_bytes || lines == 0 {
                return bytes;
            }
            // In proportion, and a little less so that it ends.
            lines = lines * max_bytes / bytes.len() * 9 / 10;
        }
    }

    /// The rows on the screen as plain text, without blanks at the end of rows and empty rows at
    /// the end.
    #[must_use]
    pub fn text(&self) -> String {
        let rows: Vec<String> = self.terminal.screen().rows.iter().map(row::Row::text).collect();
        let text = rows.join("\n");
        text.trim_end_matches('\n').to_owned()
    }

    /// Rows and columns.
    #[must_use]
    pub fn size(&self) -> (u16, u16) {
        (self.terminal.rows as u16, self.terminal.cols as u16)
    }

    /// The window title that the program set, without control characters.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.terminal.title
    }

    /// Whether the program wants pasted text in brackets.
    #[must_use]
    pub fn bracketed_paste(&self) -> bool {
        self.terminal.modes.bracketed_paste
    }

    /// How often the bell rang since the beginning.
    #[must_use]
    pub fn bells(&self) -> u64 {
        self.terminal.bells
    }
}

fn clamped(rows: u16, cols: u16) -> (usize, usize) {
    let (rows, cols) = (rows.clamp(MIN_ROWS, MAX_ROWS), cols.clamp(MIN_COLS, MAX_COLS));
    (usize::from(rows), usize::from(cols))
}
