//! Control sequences (CSI): cursor, erasing, inserting, scrolling. Modes, styles and queries have
//! files of their own.

use crate::params::Params;
use crate::terminal::Terminal;

impl Terminal {
    /// Carries out one control sequence.
    pub(crate) fn control(&mut self, collected: &[u8], params: &Params, last: u8) {
        match (collected, last) {
            (b"", b'A'..=b'I' | b'Z' | b'`' | b'a' | b'd' | b'e' | b'f') => {
                self.cursor_control(params, last);
            }
            (b"" | b"?", b'J') => self.erase_display(params.get(0)),
            (b"" | b"?", b'K') => self.erase_line(params.get(0)),
            (b"", b'@' | b'P' | b'X') => self.change_cells(params.count(0), last),
            (b"", b'L' | b'M') => self.change_rows(params.count(0), last),
            (b"", b'S' | b'T') => self.scroll_region(params.count(0), last),
            (b" ", b'@' | b'A') | (b"'", b'}' | b'~') => self.change_columns(params.count(0), last),
            (b"", b'b') => self.repeat(params.count(0)),
            (b"", b'g') => self.clear_tabs(params.get(0)),
            (b"", b'h') => self.set_ansi_modes(params, true),
            (b"", b'l') => self.set_ansi_modes(params, false),
            (b"?", b'h') => self.set_private_modes(params, true),
            (b"?", b'l') => self.set_private_modes(params, false),
            (b"", b'm') => self.style.apply(params),
            (b"!", b'p') => self.soft_reset(),
            (b" ", b'q') if params.get(0) <= 6 => self.modes.cursor_shape = params.get(0) as u8,
            (b"", b'r') => self.set_region(params),
            (b"", b's') => self.save_cursor(),
            (b"", b'u') => self.restore_cursor(),
            (b"", b't') if matches!(params.get(0), 22 | 23) => self.keep_title(params),
            _ => self.query(collected, params, last),
        }
    }

    fn cursor_control(&mut self, params: &Params, last: u8) {
        let count = params.count(0);
        match last {
            b'A' => self.move_up(count),
            b'B' => self.move_down(count),
            b'C' | b'a' => self.move_sideways(count as isize),
            b'D' => self.move_sideways(-(count as isize)),
            b'E' => {
                self.move_down(count);
                self.x = 0;
            }
            b'F' => {
                self.move_up(count);
                self.x = 0;
            }
            b'G' | b'`' => {
                self.x = count - 1;
                self.restrict_cursor();
            }
            b'H' | b'f' => self.move_to(params.count(1) - 1, count - 1),
            b'd' => {
                let x = self.x;
                self.move_to(x, count - 1);
            }
            b'e' => {
                self.restrict_cursor();
                self.y += count;
                self.restrict_cursor();
            }
            b'I' if self.x < self.cols => {
                for _ in 0..count.min(self.cols) {
                    self.x = self.screen().next_tab(self.x);
                }
            }
            b'Z' if self.x < self.cols => {
                for _ in 0..count.min(self.cols) {
                    self.x = self.screen().previous_tab(self.x);
                }
            }
            _ => {}
        }
    }

    /// Up, not beyond the region when the cursor is in it.
    fn move_up(&mut self, count: usize) {
        self.restrict_cursor();
        let top = self.screen().top;
        let room = if self.y >= top { self.y - top } else { self.y };
        self.y -= count.min(room);
        self.restrict_cursor();
    }

    /// Down, not beyond the region when the cursor is in it.
    fn move_down(&mut self, count: usize) {
        self.restrict_cursor();
        let bottom = self.screen().bottom;
        let room = if self.y <= bottom { bottom - self.y } else { self.rows - 1 - self.y };
        self.y += count.min(room);
        self.restrict_cursor();
    }

    fn move_sideways(&mut self, count: isize) {
        self.restrict_cursor();
        self.x = self.x.saturating_add_signed(count);
        self.restrict_cursor();
    }

    fn erase_display(&mut self, what: usize) {
        let (x, y, cols, style) = (self.x, self.y, self.cols, self.style.erased());
        let screen = self.screen_mut();
        match what {
            0 => {
                screen.rows[y].erase(x, cols, style);
                if x == 0 {
                    screen.rows[y].wrapped = false;
                }
                screen.rows.iter_mut().skip(y + 1).for_each(|row| row.clear(style));
            }
            1 => {
                screen.rows[y].erase(0, x + 1, style);
                screen.rows[y].wrapped = false;
                if x + 1 >= cols
                    && let Some(next) = screen.rows.get_mut(y + 1)
                {
                    next.wrapped = false;
                }
                screen.rows.iter_mut().take(y).for_each(|row| row.clear(style));
            }
            2 => screen.rows.iter_mut().for_each(|row| row.clear(style)),
            3 => screen.history.clear(),
            _ => {}
        }
    }

    fn erase_line(&mut self, what: usize) {
        let (x, cols, style) = (self.x, self.cols, self.style.erased());
        let (start, end) = match what {
            0 => (x, cols),
            1 => (0, x + 1),
            2 => (0, cols),
            _ => return,
        };
        let y = self.y;
        let row = &mut self.screen_mut().rows[y];
        row.erase(start, end, style);
        if what != 1 && start == 0 {
            row.wrapped = false;
        }
    }

    /// ICH, DCH, ECH.
    fn change_cells(&mut self, count: usize, last: u8) {
        self.restrict_cursor();
        let (x, y, style) = (self.x, self.y, self.style.erased());
        let row = &mut self.screen_mut().rows[y];
        match last {
            b'@' => row.insert(x, count, style),
            b'P' => row.delete(x, count, style),
            _ => row.erase(x, x + count, style),
        }
    }

    /// IL, DL.
    fn change_rows(&mut self, count: usize, last: u8) {
        self.restrict_cursor();
        let (y, style) = (self.y, self.style.erased());
        let screen = self.screen_mut();
        if (screen.top..=screen.bottom).contains(&y) {
            if last == b'L' {
                screen.insert_rows(y, count, style);
            } else {
                screen.delete_rows(y, count, style);
            }
            self.x = 0;
        }
    }

    /// SU, SD: what leaves at the top is gone, as in xterm.js.
    fn scroll_region(&mut self, count: usize, last: u8) {
        let style = self.style.erased();
        let screen = self.screen_mut();
        let top = screen.top;
        if last == b'S' {
            screen.delete_rows(top, count, style);
        } else {
            screen.insert_rows(top, count, Default::default());
        }
    }

    /// SL, SR, DECIC, DECDC.
    fn change_columns(&mut self, count: usize, last: u8) {
        let (y, style) = (self.y, self.style.erased());
        let x = if matches!(last, b'}' | b'~') { self.x.min(self.cols - 1) } else { 0 };
        let screen = self.screen_mut();
        let (top, bottom) = (screen.top, screen.bottom);
        if !(top..=bottom).contains(&y) {
            return;
        }
        for row in screen.rows.range_mut(top..=bottom) {
            if matches!(last, b'A' | b'}') {
                row.insert(x, count, style);
            } else {
                row.delete(x, count, style);
            }
            row.wrapped = false;
        }
    }

    fn clear_tabs(&mut self, what: usize) {
        let x = self.x;
        let tabs = &mut self.screen_mut().tabs;
        match what {
            0 if x < tabs.len() => tabs[x] = false,
            3 => tabs.fill(false),
            _ => {}
        }
    }

    /// DECSTBM.
    fn set_region(&mut self, params: &Params) {
        let top = params.count(0);
        let bottom = match params.get(1) {
            0 => self.rows,
            bottom => bottom.min(self.rows),
        };
        if bottom > top {
            let screen = self.screen_mut();
            screen.top = top - 1;
            screen.bottom = bottom - 1;
            self.move_to(0, 0);
        }
    }

    /// XTWINOPS 22 and 23.
    fn keep_title(&mut self, params: &Params) {
        if matches!(params.get(1), 0 | 2) {
            if params.get(0) == 22 {
                self.push_title();
            } else {
                self.pop_title();
            }
        }
    }
}
