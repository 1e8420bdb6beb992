//! Rows that left the screen, packed: most of a terminal's memory, so each takes its text and the
//! changes of style in it rather than whole cells.

use std::collections::VecDeque;

use crate::row::Row;
use crate::style::Style;

/// One packed row. Cells where nothing was written are spaces from here on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    text: Box<str>,
    /// Where each run of one style starts; none when all of it is plain.
    runs: Box<[(u16, Style)]>,
    /// Whether this line is the continuation of the one above it.
    pub(crate) wrapped: bool,
}

impl Line {
    /// Packs a row.
    pub(crate) fn pack(row: &Row) -> Line {
        let used = row.tight_used();
        let mut text = String::with_capacity(used);
        let mut runs: Vec<(u16, Style)> = Vec::new();
        let mut style = Style::PLAIN;
        for (col, cell) in row.cells()[..used].iter().enumerate() {
            if cell.width == 0 {
                continue;
            }
            if cell.style != style {
                style = cell.style;
                runs.push((col as u16, style));
            }
            match cell.ch {
                '\0' => text.push(' '),
                c => text.push(c),
            }
            if cell.is_marked() {
                text.push_str(row.marks(col));
            }
        }
        Line { text: text.into_boxed_str(), runs: runs.into_boxed_slice(), wrapped: row.wrapped }
    }

    /// The cells of the line as a row of `cols` columns.
    pub(crate) fn unpack(&self, cols: usize) -> Row {
        let mut row = Row::new(cols);
        let mut next = 0;
        let mut style = Style::PLAIN;
        row.load(&self.text, |col| {
            while next < self.runs.len() && usize::from(self.runs[next].0) <= col {
                style = self.runs[next].1;
                next += 1;
            }
            style
        });
        row.wrapped = self.wrapped;
        row
    }

    /// Whether the line surely fits into `cols` columns: a byte is never more than one.
    pub(crate) fn surely_fits(&self, cols: usize) -> bool {
        self.text.len() <= cols
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The rows above the screen, the newest last, at most `limit` of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct History {
    lines: VecDeque<Line>,
    limit: usize,
}

impl History {
    pub(crate) fn new(limit: usize) -> History {
        History { lines: VecDeque::new(), limit }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn lines(&self) -> &VecDeque<Line> {
        &self.lines
    }

    pub(crate) fn push(&mut self, line: Line) {
        if self.lines.len() >= self.limit {
            self.lines.pop_front();
        }
        if self.limit > 0 {
            self.lines.push_back(line);
        }
    }

    /// Takes a row that leaves the screen.
    pub(crate) fn push_row(&mut self, row: &Row) {
        if self.limit > 0 {
            self.push(Line::pack(row));
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Line> {
        self.lines.pop_back()
    }

    /// Takes all lines out.
    pub(crate) fn take(&mut self) -> VecDeque<Line> {
        std::mem::take(&mut self.lines)
    }

    pub(crate) fn clear(&mut self) {
        self.lines = VecDeque::new();
    }
}
