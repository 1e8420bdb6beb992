//! One of the two screens of a terminal: its rows, its history, its margins and tab stops.

use std::collections::VecDeque;

use crate::charset::Charsets;
use crate::history::{History, Line};
use crate::row::Row;
use crate::style::Style;

/// What DECSC keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Saved {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) style: Style,
    pub(crate) charsets: Charsets,
}

/// The main or the alternate screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buffer {
    pub(crate) rows: VecDeque<Row>,
    pub(crate) history: History,
    cols: usize,
    /// First and last row of the scroll region.
    pub(crate) top: usize,
    pub(crate) bottom: usize,
    pub(crate) saved: Saved,
    /// The row of the cursor at the time when the other screen came up.
    pub(crate) parked_y: usize,
    pub(crate) tabs: Vec<bool>,
}

impl Buffer {
    /// An empty screen with the given background and at most `history` rows above it.
    pub(crate) fn new(rows: usize, cols: usize, history: usize, style: Style) -> Buffer {
        let mut row = Row::new(cols);
        row.clear(style);
        Buffer {
            rows: VecDeque::from(vec![row; rows]),
            history: History::new(history),
            cols,
            top: 0,
            bottom: rows - 1,
            saved: Saved::default(),
            parked_y: 0,
            tabs: (0..cols).map(is_default_tab).collect(),
        }
    }

    /// Whether the scroll region is the whole screen.
    pub(crate) fn is_region_full(&self) -> bool {
        self.top == 0 && self.bottom == self.rows.len() - 1
    }

    pub(crate) fn has_default_tabs(&self) -> bool {
        self.tabs.iter().enumerate().all(|(col, set)| *set == is_default_tab(col))
    }

    /// Moves the region up by one row. The row that leaves at the top of the screen goes into the
    /// history, also when the region does not reach the bottom.
    pub(crate) fn scroll(&mut self, style: Style, wrapped: bool) {
        if self.top == 0 {
            self.history.push_row(&self.rows[0]);
        }
        if self.is_region_full() {
            // The usual case, without an allocation: the row that leaves comes back empty.
            self.rows.rotate_left(1);
        } else if let Some(row) = self.rows.remove(self.top) {
            self.rows.insert(self.bottom, row);
        }
        let row = &mut self.rows[self.bottom];
        row.clear(style);
        row.wrapped = wrapped;
    }

    /// Opens `count` empty rows at `at` and drops as many at the end of the region.
    pub(crate) fn insert_rows(&mut self, at: usize, count: usize, style: Style) {
        for _ in 0..count.min(self.bottom + 1 - at) {
            if let Some(mut row) = self.rows.remove(self.bottom) {
                row.clear(style);
                self.rows.insert(at, row);
            }
        }
    }

    /// Drops `count` rows at `at` and opens as many at the end of the region.
    pub(crate) fn delete_rows(&mut self, at: usize, count: usize, style: Style) {
        for _ in 0..count.min(self.bottom + 1 - at) {
            if let Some(mut row) = self.rows.remove(at) {
                row.clear(style);
                self.rows.insert(self.bottom, row);
            }
        }
    }

    /// The next tab stop to the right of `x`, or the last column.
    pub(crate) fn next_tab(&self, x: usize) -> usize {
        (x + 1..self.cols).find(|col| self.tabs[*col]).unwrap_or(self.cols - 1)
    }

    /// The next tab stop to the left of `x`, or the first column.
    pub(crate) fn previous_tab(&self, x: usize) -> usize {
        (0..x.min(self.cols)).rev().find(|col| self.tabs[*col]).unwrap_or(0)
    }

    /// Takes on another size; `y` is the row of this screen's cursor and follows its text. Only a
    /// screen with a history reflows: programs on the alternate screen draw anew.
    pub(crate) fn resize(&mut self, rows: usize, cols: usize, y: &mut usize) {
        let before = *y;
        self.resize_rows(rows, y);
        if cols != self.cols {
            if self.history.limit() > 0 {
                self.reflow(cols, y);
            } else {
                self.rows.iter_mut().for_each(|row| row.resize(cols));
            }
            self.tabs.resize(cols, false);
            (self.cols..cols).for_each(|col| self.tabs[col] = is_default_tab(col));
            self.cols = cols;
        }
        // The saved position belongs to the same text as the cursor, more often than not.
        self.saved.y = (self.saved.y + *y).saturating_sub(before).min(rows - 1);
        self.saved.x = self.saved.x.min(cols - 1);
        self.top = 0;
        self.bottom = rows - 1;
    }

    /// A higher screen gets rows back from its history, a lower one gives up the rows below the
    /// cursor first.
    fn resize_rows(&mut self, rows: usize, y: &mut usize) {
        while self.rows.len() < rows {
            let above = if self.rows.len() == *y + 1 { self.history.pop() } else { None };
            if let Some(line) = above {
                self.rows.push_front(line.unpack(self.cols));
                *y += 1;
            } else {
                self.rows.push_back(Row::new(self.cols));
            }
        }
        while self.rows.len() > rows {
            if self.rows.len() > *y + 1 {
                self.rows.pop_back();
            } else if let Some(row) = self.rows.pop_front() {
                self.history.push_row(&row);
                *y -= 1;
            }
        }
    }

    /// Breaks the text anew at `cols` columns. The line with the cursor stays as it is, since its
    /// program redraws it and counts on its rows.
    fn reflow(&mut self, cols: usize, y: &mut usize) {
        let cursor = self.history.len() + *y;
        let screen_rows = self.rows.len();
        let packed = self.history.take().into_iter().map(Piece::Packed);
        let open = std::mem::take(&mut self.rows).into_iter().map(Piece::Open);
        let mut source = packed.chain(open).enumerate().peekable();
        let mut out: VecDeque<Piece> = VecDeque::new();
        let mut new_cursor = 0;
        while let Some((start, first)) = source.next() {
            let mut group = vec![first];
            while let Some((_, piece)) = source.next_if(|(_, piece)| piece.wrapped()) {
                group.push(piece);
            }
            if (start..start + group.len()).contains(&cursor) {
                new_cursor = out.len() + cursor - start;
                out.extend(group);
            } else if group.len() == 1 && group[0].fits(cols) {
                out.extend(group);
            } else {
                rewrap(&group, self.cols, cols, &mut out);
            }
        }
        // Empty rows at the bottom make room for text that now takes more of them.
        while out.len() > screen_rows.max(new_cursor + 1) && out.back().is_some_and(Piece::is_blank) {
            out.pop_back();
        }
        out.truncate(new_cursor + screen_rows);
        let above = out.len().saturating_sub(screen_rows);
        for piece in out.drain(..above) {
            self.history.push(piece.pack(cols));
        }
        self.rows = out.into_iter().map(|piece| piece.open(cols)).collect();
        self.rows.resize(screen_rows, Row::new(cols));
        *y = new_cursor - above;
    }
}

fn is_default_tab(col: usize) -> bool {
    col.is_multiple_of(8)
}

/// A row in the middle of a reflow: the history is unpacked only where it changes.
enum Piece {
    Packed(Line),
    Open(Row),
}

impl Piece {
    fn wrapped(&self) -> bool {
        match self {
            Piece::Packed(line) => line.wrapped,
            Piece::Open(row) => row.wrapped,
        }
    }

    fn fits(&self, cols: usize) -> bool {
        match self {
            Piece::Packed(line) => line.surely_fits(cols),
            Piece::Open(row) => row.text_end() <= cols,
        }
    }

    fn is_blank(&self) -> bool {
        match self {
            Piece::Packed(line) => line.text().is_empty(),
            Piece::Open(row) => row.used() == 0,
        }
    }

    fn open(self, cols: usize) -> Row {
        match self {
            Piece::Packed(line) => line.unpack(cols),
            Piece::Open(mut row) => {
                row.resize(cols);
                row
            }
        }
    }

    fn pack(self, cols: usize) -> Line {
        match self {
            Piece::Packed(line) if line.surely_fits(cols) => line,
            piece => Line::pack(&piece.open(cols)),
        }
    }
}

/// Joins the rows of one line of text, `old` columns wide, and breaks it at `new` columns.
fn rewrap(group: &[Piece], old: usize, new: usize, out: &mut VecDeque<Piece>) {
    let mut rows: Vec<Row> = Vec::with_capacity(group.len());
    for piece in group {
        rows.push(match piece {
            Piece::Packed(line) => line.unpack(old),
            Piece::Open(row) => row.clone(),
        });
    }
    let mut text = Row::new(0);
    for (at, row) in rows.iter().enumerate() {
        let len = match rows.get(at + 1) {
            // A wide character that did not fit left the last cell empty.
            Some(next) if row.cells()[old - 1].is_empty() && next.cells()[0].width == 2 => old - 1,
            Some(_) => old,
            None => row.text_end(),
        };
        text.append(row, len);
    }
    let total = text.cols();
    let mut start = 0;
    loop {
        let mut end = (start + new).min(total);
        if end < total && text.cells()[end].width == 0 {
            end -= 1;
        }
        let mut row = text.part(start, end, new);
        row.wrapped = if start == 0 { rows[0].wrapped } else { true };
        out.push_back(Piece::Open(row));
        start = end;
        if start >= total {
            break;
        }
    }
}
