//! The state as bytes which rebuild it in a fresh terminal.
//!
//! Everything is drawn before any mode is set, since text is drawn under the modes of a fresh
//! terminal. Rows that continue the one above are drawn so that the terminal wraps by itself:
//! then copied text stays in one line and a later change of width can break it anew.

use crate::buffer::Buffer;
use crate::charset::Charsets;
use crate::parser::Parser;
use crate::row::Row;
use crate::style::{Color, Style, write_number};
use crate::terminal::Terminal;

/// Writes a snapshot with at most `history_lines` of history.
pub(crate) fn write(terminal: &Terminal, parser: &Parser, history_lines: usize) -> Vec<u8> {
    let mut pen = Pen { out: Vec::new(), style: Style::PLAIN, charsets: Charsets::default() };
    pen.draw_buffer(&terminal.main, terminal.cols, history_lines);
    pen.settings(&terminal.main, terminal.cols);
    if let Some(alternate) = &terminal.alternate {
        // The screen beneath remembers where the cursor was.
        pen.go_to(0, terminal.main.parked_y);
        pen.out.extend_from_slice(b"\x1b[?47h\x1b[H");
        pen.draw_buffer(alternate, terminal.cols, 0);
        pen.settings(alternate, terminal.cols);
    }
    pen.cursor(terminal);
    pen.set_style(terminal.style);
    pen.set_charsets(terminal.charsets);
    for aside in &terminal.title_stack {
        pen.title(aside);
        pen.out.extend_from_slice(b"\x1b[22;2t");
    }
    if !(terminal.title.is_empty() && terminal.title_stack.is_empty()) {
        pen.title(&terminal.title);
    }
    terminal.modes.write(&mut pen.out);
    parser.write_pending(&mut pen.out);
    pen.out
}

/// Draws, and knows the state of the terminal that is drawn on.
struct Pen {
    out: Vec<u8>,
    style: Style,
    charsets: Charsets,
}

impl Pen {
    fn set_style(&mut self, style: Style) {
        if self.style != style {
            style.write(&mut self.out);
            self.style = style;
        }
    }

    /// New rows take on the background of the moment; make that the default one.
    fn plain_background(&mut self) {
        if self.style.bg != Color::DEFAULT {
            self.set_style(Style::PLAIN);
        }
    }

    fn set_charsets(&mut self, charsets: Charsets) {
        charsets.write(self.charsets, &mut self.out);
        self.charsets = charsets;
    }

    fn sequence(&mut self, number: usize, last: u8) {
        self.out.push(0x1b);
        write_number(&mut self.out, b'[', number);
        self.out.push(last);
    }

    /// Draws all rows from the top, which leaves those that do not fit in the history.
    fn draw_buffer(&mut self, buffer: &Buffer, cols: usize, history_lines: usize) {
        let skipped = buffer.history.len().saturating_sub(history_lines);
        let history = buffer.history.lines().iter().skip(skipped);
        let mut history = history.map(|line| line.unpack(cols)).peekable();
        let mut early = false;
        let mut first = true;
        let top = history.peek().or_else(|| buffer.rows.front());
        // A screen of one row has no place for another above, and nothing can come in between.
        if top.is_some_and(|row| row.wrapped) && buffer.rows.len() > 1 {
            self.continue_what_is_gone(cols);
        }
        while let Some(row) = history.next() {
            let next = history.peek().or_else(|| buffer.rows.front());
            early = self.draw_row(&row, next, !first, early);
            first = false;
        }
        for (y, row) in buffer.rows.iter().enumerate() {
            early = self.draw_row(row, buffer.rows.get(y + 1), !first, early);
            first = false;
        }
        self.set_style(Style::PLAIN);
    }

    /// Makes the first row, still empty, the continuation of one above it that is gone: it counts
    /// again when another row comes in between. Draws over the edge of a row and takes that out.
    fn continue_what_is_gone(&mut self, cols: usize) {
        self.sequence(cols, b'G');
        self.out.extend_from_slice(b"  \x1b[A\x1b[M\x1b[X");
    }

    /// Draws one row and goes on to the next. `early` tells that the row above ended one cell
    /// early because a wide character did not fit, so that only this one wraps; the answer is the
    /// same for the next row.
    fn draw_row(&mut self, row: &Row, next: Option<&Row>, has_above: bool, early: bool) -> bool {
        let cols = row.cols();
        let wraps = next.is_some_and(|next| next.wrapped);
        let mut clear_rest = false;
        if row.wrapped && has_above {
            if early {
                clear_rest = row.cells()[0].style.bg != Color::DEFAULT;
            } else {
                self.plain_background();
                self.out.extend_from_slice(b" \x08");
                if row.cells()[0].is_empty() {
                    self.out.extend_from_slice(b"\x1b[X");
                }
            }
        }
        let next_early = wraps
            && next.is_some_and(|next| {
                let (last, first) = (row.cells()[cols - 1], next.cells()[0]);
                last.is_empty() && first.width == 2 && last.style == first.style
            });
        let end = match (wraps, next_early) {
            (true, true) => cols - 1,
            (true, false) => cols,
            (false, _) => row.used(),
        };
        let mut start = 0;
        if clear_rest {
            start = self.draw_cells(row, 0, 1, false);
            self.set_style(Style::PLAIN);
            self.out.extend_from_slice(b"\x1b[K");
        }
        self.draw_cells(row, start, end, wraps && !next_early);
        if next.is_some() && !wraps {
            self.plain_background();
            self.out.extend_from_slice(b"\r\n");
        }
        next_early
    }

    /// Draws the cells from `start` to `end`. With `fill`, empty cells at the end are drawn as
    /// spaces, because only a character at the right edge makes the terminal wrap. Answers where
    /// it ended.
    fn draw_cells(&mut self, row: &Row, start: usize, end: usize, fill: bool) -> usize {
        let cells = row.cells();
        let mut at = start;
        while at < end {
            let cell = cells[at];
            if !cell.is_empty() {
                if cell.width > 0 {
                    self.set_style(cell.style);
                    self.character(row, at);
                }
                at += 1;
                continue;
            }
            let same = |other: &crate::row::Cell| *other == cell;
            let run = cells[at..end].iter().take_while(|other| same(other)).count();
            let last = at + run == end;
            if (fill && last) || cell.style != cell.style.erased() {
                self.set_style(cell.style);
                self.out.resize(self.out.len() + run, b' ');
            } else {
                if cell.style != Style::PLAIN {
                    self.set_style(cell.style);
                    self.sequence(run, b'X');
                }
                // At the right edge there is nowhere to go, nor a need to.
                if at + run < row.cols() {
                    self.sequence(run, b'C');
                }
            }
            at += run;
        }
        at
    }

    fn character(&mut self, row: &Row, at: usize) {
        let mut utf8 = [0; 4];
        let c = row.cells()[at].ch;
        self.out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
        self.out.extend_from_slice(row.marks(at).as_bytes());
    }

    /// What belongs to one screen besides its rows: saved cursor, tab stops, region.
    fn settings(&mut self, buffer: &Buffer, cols: usize) {
        if !buffer.has_default_tabs() {
            self.out.extend_from_slice(b"\x1b[3g");
            for col in (0..cols).filter(|col| buffer.tabs[*col]) {
                self.sequence(col + 1, b'G');
                self.out.extend_from_slice(b"\x1bH");
            }
        }
        if buffer.saved != Default::default() {
            self.go_to(buffer.saved.x, buffer.saved.y);
            self.set_style(buffer.saved.style);
            self.set_charsets(buffer.saved.charsets);
            self.out.extend_from_slice(b"\x1b7");
            self.set_charsets(Charsets::default());
            self.set_style(Style::PLAIN);
        }
        if !buffer.is_region_full() {
            self.out.push(0x1b);
            write_number(&mut self.out, b'[', buffer.top + 1);
            write_number(&mut self.out, b';', buffer.bottom + 1);
            self.out.push(b'r');
        }
    }

    fn title(&mut self, title: &str) {
        self.out.extend_from_slice(b"\x1b]2;");
        self.out.extend_from_slice(title.as_bytes());
        self.out.extend_from_slice(b"\x1b\\");
    }

    fn go_to(&mut self, x: usize, y: usize) {
        self.out.push(0x1b);
        write_number(&mut self.out, b'[', y + 1);
        write_number(&mut self.out, b';', x + 1);
        self.out.push(b'H');
    }

    /// Puts the cursor where it is, and again beyond the last column if the next character wraps:
    /// the only way there is to draw the last character of the row.
    fn cursor(&mut self, terminal: &Terminal) {
        let screen = terminal.screen();
        let top = if terminal.modes.origin {
            self.out.extend_from_slice(b"\x1b[?6h");
            screen.top
        } else {
            0
        };
        let y = terminal.y - top;
        if terminal.x < terminal.cols {
            self.go_to(terminal.x, y);
            return;
        }
        let row = &screen.rows[terminal.y];
        let mut at = terminal.cols - 1;
        if row.cells()[at].width == 0 {
            at -= 1;
        }
        self.go_to(at, y);
        self.set_style(row.cells()[at].style);
        if row.cells()[at].is_empty() {
            self.out.push(b' ');
        } else {
            self.character(row, at);
        }
    }
}
