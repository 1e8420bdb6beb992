//! The state of the terminal and what text and single controls do to it.

use crate::buffer::{Buffer, Saved};
use crate::charset::{Charset, Charsets};
use crate::modes::Modes;
use crate::params::Params;
use crate::parser::Actions;
use crate::replies::Colours;
use crate::style::Style;
use crate::width::cell_width;

/// Longest window title in characters.
const MAX_TITLE_CHARS: usize = 256;
/// Titles that can be put aside.
const MAX_TITLE_STACK: usize = 10;

/// Everything that the bytes so far have led to, except for the parser's place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terminal {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) main: Buffer,
    /// The alternate screen, while it is in use.
    pub(crate) alternate: Option<Buffer>,
    /// The column of the cursor; equal to `cols` after a character in the last column, from where
    /// the next one wraps.
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) style: Style,
    pub(crate) charsets: Charsets,
    pub(crate) modes: Modes,
    pub(crate) title: String,
    /// Titles put aside, the latest last.
    pub(crate) title_stack: Vec<String>,
    pub(crate) colours: Colours,
    /// Answers to queries that were not handed out yet.
    pub(crate) replies: Vec<u8>,
    pub(crate) bells: u64,
    /// Cells of the character just printed; 0 when something else came after it.
    last_width: usize,
}

impl Terminal {
    pub(crate) fn new(rows: usize, cols: usize, history: usize) -> Terminal {
        Terminal {
            rows,
            cols,
            main: Buffer::new(rows, cols, history, Style::PLAIN),
            alternate: None,
            x: 0,
            y: 0,
            style: Style::PLAIN,
            charsets: Charsets::default(),
            modes: Modes::default(),
            title: String::new(),
            title_stack: Vec::new(),
            colours: Colours::default(),
            replies: Vec::new(),
            bells: 0,
            last_width: 0,
        }
    }

    /// The screen in use.
    pub(crate) fn screen(&self) -> &Buffer {
        self.alternate.as_ref().unwrap_or(&self.main)
    }

    /// The screen in use.
    pub(crate) fn screen_mut(&mut self) -> &mut Buffer {
        self.alternate.as_mut().unwrap_or(&mut self.main)
    }

    pub(crate) fn resize(&mut self, rows: usize, cols: usize) {
        match &mut self.alternate {
            Some(alternate) => {
                alternate.resize(rows, cols, &mut self.y);
                let mut parked = self.main.parked_y;
                self.main.resize(rows, cols, &mut parked);
                self.main.parked_y = parked;
            }
            None => self.main.resize(rows, cols, &mut self.y),
        }
        self.rows = rows;
        self.cols = cols;
        self.x = self.x.min(cols - 1);
        self.last_width = 0;
    }

    pub(crate) fn enter_alternate(&mut self) {
        if self.alternate.is_none() {
            self.main.parked_y = self.y;
            self.alternate = Some(Buffer::new(self.rows, self.cols, 0, self.style.erased()));
        }
    }

    pub(crate) fn leave_alternate(&mut self) {
        self.alternate = None;
        if self.modes.origin {
            // The region of the main screen may be another one.
            self.y = self.y.clamp(self.main.top, self.main.bottom);
        }
    }

    pub(crate) fn save_cursor(&mut self) {
        let saved =
            Saved { x: self.x.min(self.cols - 1), y: self.y, style: self.style, charsets: self.charsets };
        self.screen_mut().saved = saved;
    }

    pub(crate) fn restore_cursor(&mut self) {
        let saved = self.screen().saved.clone();
        self.x = saved.x;
        self.y = saved.y;
        self.style = saved.style;
        self.charsets = saved.charsets;
        self.restrict_cursor();
    }

    /// Everything as at the start, except for what belongs to the outside: size, title, colours.
    fn reset(&mut self) {
        let fresh = Terminal::new(self.rows, self.cols, self.main.history.limit());
        *self = Terminal {
            title: std::mem::take(&mut self.title),
            title_stack: std::mem::take(&mut self.title_stack),
            replies: std::mem::take(&mut self.replies),
            colours: self.colours,
            bells: self.bells,
            ..fresh
        };
    }

    /// DECSTR.
    pub(crate) fn soft_reset(&mut self) {
        self.modes.soft_reset();
        self.style = Style::PLAIN;
        self.charsets = Charsets::default();
        let bottom = self.rows - 1;
        let screen = self.screen_mut();
        screen.top = 0;
        screen.bottom = bottom;
        screen.saved = Saved::default();
    }

    pub(crate) fn set_title(&mut self, title: &str) {
        self.title = title.chars().take(MAX_TITLE_CHARS).filter(|c| !c.is_control()).collect();
    }

    pub(crate) fn push_title(&mut self) {
        if self.title_stack.len() == MAX_TITLE_STACK {
            self.title_stack.remove(0);
        }
        self.title_stack.push(self.title.clone());
    }

    pub(crate) fn pop_title(&mut self) {
        if let Some(title) = self.title_stack.pop() {
            self.title = title;
        }
    }

    // Cursor

    /// Brings the cursor out of the pending wrap and into the margins that apply.
    pub(crate) fn restrict_cursor(&mut self) {
        let (top, bottom) = (self.screen().top, self.screen().bottom);
        self.x = self.x.min(self.cols - 1);
        self.y = if self.modes.origin { self.y.clamp(top, bottom) } else { self.y.min(self.rows - 1) };
    }

    /// Goes to a position that counts from the region's top in origin mode.
    pub(crate) fn move_to(&mut self, x: usize, y: usize) {
        self.x = x;
        self.y = if self.modes.origin { y.saturating_add(self.screen().top) } else { y };
        self.restrict_cursor();
    }

    pub(crate) fn line_feed(&mut self) {
        if self.modes.new_line {
            self.x = 0;
        }
        self.x = self.x.min(self.cols - 1);
        if self.y == self.screen().bottom {
            self.scroll(false);
        } else if self.y + 1 < self.rows {
            self.y += 1;
            let y = self.y;
            self.screen_mut().rows[y].wrapped = false;
        }
    }

    /// IND: a line feed that keeps the continuation mark of the row it goes to.
    pub(crate) fn index(&mut self) {
        self.restrict_cursor();
        if self.y == self.screen().bottom {
            self.scroll(false);
        } else {
            self.y = (self.y + 1).min(self.rows - 1);
        }
        self.restrict_cursor();
    }

    fn reverse_index(&mut self) {
        self.restrict_cursor();
        let (style, y) = (self.style.erased(), self.y);
        if y == self.screen().top {
            self.screen_mut().insert_rows(y, 1, style);
        } else {
            self.y = y.saturating_sub(1);
            self.restrict_cursor();
        }
    }

    fn scroll(&mut self, wrapped: bool) {
        let style = self.style.erased();
        self.screen_mut().scroll(style, wrapped);
    }

    fn back_space(&mut self) {
        let in_region = self.y > self.screen().top && self.y <= self.screen().bottom;
        if !self.modes.reverse_wrap {
            self.restrict_cursor();
            self.x = self.x.saturating_sub(1);
        } else if self.x > 0 {
            self.x -= 1;
        } else if in_region && self.screen().rows[self.y].wrapped {
            // Undoes a soft wrap: back to the last cell of the row above.
            let (y, last) = (self.y, self.cols - 1);
            let screen = self.screen_mut();
            screen.rows[y].wrapped = false;
            let early = screen.rows[y - 1].cells()[last].is_empty();
            self.y -= 1;
            self.x = last - usize::from(early);
        }
        self.restrict_cursor();
    }

    // Text

    /// Goes to the next row, as a character that does not fit makes the cursor do.
    fn wrap(&mut self) {
        self.x = 0;
        if self.y == self.screen().bottom {
            self.scroll(true);
        } else {
            self.y = (self.y + 1).min(self.rows - 1);
            let y = self.y;
            self.screen_mut().rows[y].wrapped = true;
        }
    }

    fn print_char(&mut self, c: char) {
        let width = cell_width(c);
        let (cols, style, y) = (self.cols, self.style, self.y);
        if width == 0 {
            let x = self.x;
            self.screen_mut().rows[y].join(x, c);
            return;
        }
        if self.x + width > cols {
            if self.modes.wrap {
                let x = self.x;
                self.screen_mut().rows[y].erase(x, cols, style);
                self.wrap();
            } else if width == 2 {
                // There is no place for it, and no next row to go to.
                self.x = cols - 1;
                return;
            } else {
                self.x = cols - 1;
            }
        }
        let (x, y, insert) = (self.x, self.y, self.modes.insert);
        let row = &mut self.screen_mut().rows[y];
        if insert {
            row.insert(x, width, style);
        }
        row.put(x, c, width, style);
        self.x += width;
        self.last_width = width;
    }

    /// The fast way for text: whole stretches of a row at a time.
    fn print_plain(&mut self, mut run: &[u8]) {
        let (cols, style) = (self.cols, self.style);
        while !run.is_empty() {
            if self.x >= cols {
                self.wrap();
            }
            let count = run.len().min(cols - self.x);
            let (now, rest) = run.split_at(count);
            let (x, y) = (self.x, self.y);
            self.screen_mut().rows[y].put_ascii(x, now, style);
            self.x += count;
            run = rest;
        }
        self.last_width = 1;
    }

    /// REP: the character before the cursor again, `count` times.
    pub(crate) fn repeat(&mut self, count: usize) {
        if self.last_width == 0 || self.x < self.last_width {
            return;
        }
        let row = &self.screen().rows[self.y];
        let at = self.x - self.last_width;
        let (c, marks) = (row.cells()[at].ch, row.marks(at).to_owned());
        if c == '\0' {
            // A character that found no place was the last one.
            return;
        }
        // More than a screen of it is no use to anybody.
        for _ in 0..count.min(self.rows * self.cols) {
            self.print_char(c);
            marks.chars().for_each(|mark| self.print_char(mark));
        }
    }

    /// DECALN: the screen full of E.
    fn fill_screen(&mut self) {
        let style = self.style;
        let line = vec![b'E'; self.cols];
        for row in &mut self.screen_mut().rows {
            row.clear(Style::PLAIN);
            row.put_ascii(0, &line, style);
        }
        self.move_to(0, 0);
    }
}

impl Actions for Terminal {
    fn print_ascii(&mut self, run: &[u8]) {
        let set = self.charsets.current();
        if set == Charset::Ascii && self.modes.wrap && !self.modes.insert {
            self.print_plain(run);
        } else {
            run.iter().for_each(|byte| self.print_char(set.map(*byte)));
        }
    }

    fn print(&mut self, c: char) {
        self.print_char(c);
    }

    fn execute(&mut self, control: u8) {
        self.last_width = 0;
        match control {
            0x07 => self.bells += 1,
            0x08 => self.back_space(),
            0x09 if self.x < self.cols => self.x = self.screen().next_tab(self.x),
            0x0a..=0x0c => self.line_feed(),
            0x0d => self.x = 0,
            0x0e => self.charsets.select(1),
            0x0f => self.charsets.select(0),
            0x84 => self.index(),
            0x85 => self.next_line(),
            0x88 => self.set_tab(),
            _ => {}
        }
    }

    fn escape(&mut self, collected: &[u8], last: u8) {
        self.last_width = 0;
        match (collected, last) {
            (b"", b'7') => self.save_cursor(),
            (b"", b'8') => self.restore_cursor(),
            (b"", b'D') => self.index(),
            (b"", b'E') => self.next_line(),
            (b"", b'H') => self.set_tab(),
            (b"", b'M') => self.reverse_index(),
            (b"", b'=') => self.modes.app_keypad = true,
            (b"", b'>') => self.modes.app_keypad = false,
            (b"", b'c') => self.reset(),
            (b"", b'n' | b'}') => self.charsets.select(2),
            (b"", b'o' | b'|') => self.charsets.select(3),
            (b"", b'~') => self.charsets.select(1),
            (b"%", b'@' | b'G') => self.charsets.reset_first(),
            (b"#", b'8') => self.fill_screen(),
            ([intermediate], _) => self.charsets.designate(*intermediate, last),
            _ => {}
        }
    }

    fn csi(&mut self, collected: &[u8], params: &Params, last: u8) {
        self.control(collected, params, last);
        self.last_width = 0;
    }

    fn osc(&mut self, text: &str, bell: bool) {
        self.last_width = 0;
        let (id, rest) = text.split_once(';').unwrap_or((text, ""));
        match id {
            "0" | "2" => self.set_title(rest),
            "10" | "11" | "12" => self.colour_query(id, rest, bell),
            // Clipboard access, links, notifications and the like leave no trace in the model.
            _ => {}
        }
    }

    fn dcs(&mut self, collected: &[u8], last: u8, _text: &str) {
        self.last_width = 0;
        self.string_query(collected, last);
    }
}

impl Terminal {
    fn next_line(&mut self) {
        self.x = 0;
        self.index();
    }

    fn set_tab(&mut self) {
        let x = self.x;
        if let Some(tab) = self.screen_mut().tabs.get_mut(x) {
            *tab = true;
        }
    }
}
