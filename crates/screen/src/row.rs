//! One row of the visible screen: cells that can be written, moved and erased.

use crate::style::Style;
use crate::width::cell_width;

/// Zero-width characters kept per cell. Text needs a handful; without a bound, one cell could
/// take any amount of memory.
const MAX_MARKS: usize = 16;

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The character; NUL where nothing was written since the last erase.
    pub(crate) ch: char,
    pub(crate) style: Style,
    /// 1, 2 for the first half of a wide character, 0 for its second half.
    pub(crate) width: u8,
    /// Whether zero-width characters follow, to be found in the row.
    marked: bool,
}

impl Cell {
    /// An empty cell.
    pub(crate) const fn erased(style: Style) -> Cell {
        Cell { ch: '\0', style, width: 1, marked: false }
    }

    /// A cell with a character, the first half of one if it is wide.
    pub(crate) fn of(ch: char, width: usize, style: Style) -> Cell {
        Cell { ch, style, width: width as u8, marked: false }
    }

    fn trail(style: Style) -> Cell {
        Cell { ch: '\0', style, width: 0, marked: false }
    }

    /// Whether zero-width characters follow.
    pub(crate) fn is_marked(self) -> bool {
        self.marked
    }

    /// Whether nothing stands here (the second half of a wide character is not nothing).
    pub(crate) fn is_empty(self) -> bool {
        self.ch == '\0' && self.width == 1
    }
}

/// A row. Wide characters always stand whole: an operation that cuts one erases the other half.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    cells: Vec<Cell>,
    /// Cells from here on are empty and of the default style: most rows are short, and most work
    /// on rows can stop here.
    used: usize,
    /// Whether this row is the continuation of the one above it.
    pub(crate) wrapped: bool,
    /// Zero-width characters by column.
    marks: Vec<(usize, String)>,
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        let sorted = |row: &Row| {
            let mut marks = row.marks.clone();
            marks.sort();
            marks
        };
        self.cells == other.cells && self.wrapped == other.wrapped && sorted(self) == sorted(other)
    }
}

const BLANK: Cell = Cell::erased(Style::PLAIN);

impl Row {
    pub(crate) fn new(cols: usize) -> Row {
        Row { cells: vec![BLANK; cols], used: 0, wrapped: false, marks: Vec::new() }
    }

    pub(crate) fn cols(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// A column from which on all is blank.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// The zero-width characters of the cell at `col`.
    pub(crate) fn marks(&self, col: usize) -> &str {
        if !self.cells[col].marked {
            return "";
        }
        self.marks.iter().rev().find(|(c, _)| *c == col).map_or("", |(_, m)| m)
    }

    /// Makes the row blank, in the given style.
    pub(crate) fn clear(&mut self, style: Style) {
        let cols = self.cells.len();
        self.fill(0, cols, style);
        self.wrapped = false;
    }

    /// Columns up to the last one with text.
    pub(crate) fn text_end(&self) -> usize {
        self.cells[..self.used].iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1)
    }

    /// Erases `start..end` without a look at wide characters.
    fn fill(&mut self, start: usize, end: usize, style: Style) {
        let cell = Cell::erased(style);
        if cell == BLANK {
            let stop = end.min(self.used);
            if start < stop {
                self.cells[start..stop].fill(cell);
            }
            if end >= self.used {
                self.used = self.used.min(start);
            }
        } else if start < end {
            self.cells[start..end].fill(cell);
            self.used = self.used.max(end);
        }
        if !self.marks.is_empty() {
            self.marks.retain(|(c, _)| !(start..end).contains(c));
        }
    }

    /// Erases what is left of wide characters that a change at `at` would cut in two.
    fn split_at(&mut self, at: usize, style: Style) {
        if at > 0 && at < self.used && self.cells[at].width == 0 {
            self.fill(at - 1, at + 1, style);
        }
    }

    /// Erases `start..end`; columns beyond the row do no harm.
    pub(crate) fn erase(&mut self, start: usize, end: usize, style: Style) {
        let end = end.min(self.cells.len());
        if start < end {
            self.split_at(start, style);
            self.split_at(end, style);
            self.fill(start, end, style);
        }
    }

    /// Writes printable ASCII from `start` on; it has to fit.
    pub(crate) fn put_ascii(&mut self, start: usize, run: &[u8], style: Style) {
        let end = start + run.len();
        self.split_at(start, style);
        self.split_at(end, style);
        if !self.marks.is_empty() {
            self.fill(start, end, style);
        }
        for (cell, byte) in self.cells[start..end].iter_mut().zip(run) {
            *cell = Cell { ch: char::from(*byte), style, width: 1, marked: false };
        }
        self.used = self.used.max(end);
    }

    /// Writes a character of one or two cells; it has to fit.
    pub(crate) fn put(&mut self, col: usize, c: char, width: usize, style: Style) {
        self.split_at(col, style);
        self.split_at(col + width, style);
        if !self.marks.is_empty() {
            self.fill(col, col + width, style);
        }
        self.cells[col] = Cell::of(c, width, style);
        if width == 2 {
            self.cells[col + 1] = Cell::trail(style);
        }
        self.used = self.used.max(col + width);
    }

    /// Adds a zero-width character to the character that ends before `col`.
    pub(crate) fn join(&mut self, col: usize, mark: char) {
        let Some(mut at) = col.checked_sub(1) else { return };
        if self.cells[at].width == 0 {
            at -= 1;
        }
        if self.cells[at].is_empty() {
            self.cells[at].ch = ' ';
            self.used = self.used.max(at + 1);
        }
        if !self.cells[at].marked {
            self.cells[at].marked = true;
            self.marks.push((at, String::new()));
        }
        let found = self.marks.iter_mut().rev().find(|(c, _)| *c == at);
        if let Some((_, text)) = found.filter(|(_, text)| text.chars().count() < MAX_MARKS) {
            text.push(mark);
        }
    }

    /// Moves the cells from `col` on to the right by `count` and erases the gap.
    pub(crate) fn insert(&mut self, col: usize, count: usize, style: Style) {
        let cols = self.cells.len();
        let count = count.min(cols - col);
        self.split_at(col, style);
        // The character that would be cut by the right edge goes as a whole.
        self.split_at(cols - count, style);
        self.shift(col, col + count, cols - count - col);
        self.used = if self.used > col { (self.used + count).min(cols) } else { self.used };
        self.fill(col, col + count, style);
    }

    /// Takes `count` cells out at `col`, moves the rest to the left and erases at the right edge.
    pub(crate) fn delete(&mut self, col: usize, count: usize, style: Style) {
        let cols = self.cells.len();
        let count = count.min(cols - col);
        self.split_at(col, style);
        self.split_at(col + count, style);
        self.fill(col, col + count, style);
        self.shift(col + count, col, cols - count - col);
        self.used = cols;
        self.fill(cols - count, cols, style);
        self.trim_used();
    }

    /// Copies `len` cells and their marks from one place to another, which keeps nothing.
    fn shift(&mut self, from: usize, to: usize, len: usize) {
        self.cells.copy_within(from..from + len, to);
        if self.marks.is_empty() {
            return;
        }
        let (source, target) = (from..from + len, to..to + len);
        self.marks.retain(|(c, _)| source.contains(c) || !target.contains(c));
        for (c, _) in &mut self.marks {
            if source.contains(c) {
                *c = *c + to - from;
            }
        }
    }

    /// Where the part that is not blank ends, exactly: `used` may be late after some erasing.
    pub(crate) fn tight_used(&self) -> usize {
        self.cells[..self.used].iter().rposition(|cell| *cell != BLANK).map_or(0, |at| at + 1)
    }

    fn trim_used(&mut self) {
        self.used = self.tight_used();
    }

    /// Cuts or extends the row.
    pub(crate) fn resize(&mut self, cols: usize) {
        if cols < self.cells.len() {
            self.split_at(cols, Style::default());
            self.marks.retain(|(c, _)| *c < cols);
            self.used = self.used.min(cols);
        }
        self.cells.resize(cols, BLANK);
        self.trim_used();
    }

    /// Adds a copy of the first `len` cells of another row at the end.
    pub(crate) fn append(&mut self, other: &Row, len: usize) {
        let base = self.cells.len();
        self.cells.extend_from_slice(&other.cells[..len]);
        let marks = other.marks.iter().filter(|(c, _)| *c < len);
        self.marks.extend(marks.map(|(c, m)| (c + base, m.clone())));
        self.used = self.cells.len();
        self.trim_used();
    }

    /// A copy of the cells `start..end` as a row of `cols` columns.
    pub(crate) fn part(&self, start: usize, end: usize, cols: usize) -> Row {
        let mut row = Row::new(0);
        row.cells.extend_from_slice(&self.cells[start..end]);
        let marks = self.marks.iter().filter(|(c, _)| (start..end).contains(c));
        row.marks = marks.map(|(c, m)| (c - start, m.clone())).collect();
        row.used = row.cells.len();
        row.resize(cols);
        row
    }

    /// The text, without the blanks at its end.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (col, cell) in self.cells[..self.used].iter().enumerate() {
            if cell.width > 0 {
                text.push(if cell.ch == '\0' { ' ' } else { cell.ch });
                text.push_str(self.marks(col));
            }
        }
        text.truncate(text.trim_end_matches(' ').len());
        text
    }

    /// Writes a text of known styles from the start of an empty row: how history comes back.
    pub(crate) fn load(&mut self, text: &str, mut style_of: impl FnMut(usize) -> Style) {
        let mut col = 0;
        for c in text.chars() {
            let width = cell_width(c);
            if width == 0 {
                self.join(col, c);
            } else if col + width <= self.cells.len() {
                self.put(col, c, width, style_of(col));
                col += width;
            }
        }
    }
}
