//! Modes that programs switch on and off.

use crate::params::Params;
use crate::style::write_number;
use crate::terminal::Terminal;

/// Which mouse events the program wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mouse {
    #[default]
    Off,
    /// Presses only (9).
    Press,
    /// Presses and releases (1000).
    Buttons,
    /// Also motion with a button down (1002).
    Drag,
    /// All motion (1003).
    All,
}

/// How mouse events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MouseFormat {
    #[default]
    Bytes,
    /// 1006.
    Sgr,
    /// 1016.
    SgrPixels,
}

/// The modes; the default is the state after a reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) app_cursor: bool,
    pub(crate) app_keypad: bool,
    pub(crate) origin: bool,
    pub(crate) wrap: bool,
    pub(crate) reverse_wrap: bool,
    pub(crate) insert: bool,
    pub(crate) new_line: bool,
    pub(crate) cursor_hidden: bool,
    cursor_blinks: bool,
    /// DECSCUSR; 0 is what the user chose.
    pub(crate) cursor_shape: u8,
    pub(crate) bracketed_paste: bool,
    focus: bool,
    synchronized: bool,
    mouse: Mouse,
    mouse_format: MouseFormat,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            app_cursor: false,
            app_keypad: false,
            origin: false,
            wrap: true,
            reverse_wrap: false,
            insert: false,
            new_line: false,
            cursor_hidden: false,
            cursor_blinks: false,
            cursor_shape: 0,
            bracketed_paste: false,
            focus: false,
            synchronized: false,
            mouse: Mouse::Off,
            mouse_format: MouseFormat::Bytes,
        }
    }
}

impl Modes {
    /// DECSTR leaves the mouse, the line feed and the blinking alone, as xterm.js does.
    pub(crate) fn soft_reset(&mut self) {
        *self = Modes {
            new_line: self.new_line,
            cursor_blinks: self.cursor_blinks,
            mouse: self.mouse,
            mouse_format: self.mouse_format,
            ..Modes::default()
        };
    }

    /// The switches of the private modes that are no more than a switch.
    fn private(&mut self, mode: usize) -> Option<&mut bool> {
        Some(match mode {
            1 => &mut self.app_cursor,
            6 => &mut self.origin,
            7 => &mut self.wrap,
            12 => &mut self.cursor_blinks,
            45 => &mut self.reverse_wrap,
            66 => &mut self.app_keypad,
            1004 => &mut self.focus,
            2004 => &mut self.bracketed_paste,
            2026 => &mut self.synchronized,
            _ => return None,
        })
    }

    fn mouse_number(&self) -> usize {
        match self.mouse {
            Mouse::Off => 0,
            Mouse::Press => 9,
            Mouse::Buttons => 1000,
            Mouse::Drag => 1002,
            Mouse::All => 1003,
        }
    }

    fn mouse_format_number(&self) -> usize {
        match self.mouse_format {
            MouseFormat::Bytes => 0,
            MouseFormat::Sgr => 1006,
            MouseFormat::SgrPixels => 1016,
        }
    }

    /// Writes the sequences that lead from a reset to these modes. Origin mode is not among them,
    /// since it moves the cursor.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let private = [
            (self.app_cursor, 1),
            (self.cursor_blinks, 12),
            (self.reverse_wrap, 45),
            (self.focus, 1004),
            (self.bracketed_paste, 2004),
            (self.mouse != Mouse::Off, self.mouse_number()),
            (self.mouse_format != MouseFormat::Bytes, self.mouse_format_number()),
            (self.synchronized, 2026),
        ];
        for (_, mode) in private.iter().filter(|(on, _)| *on) {
            out.extend_from_slice(b"\x1b[");
            write_number(out, b'?', *mode);
            out.push(b'h');
        }
        let others: [(bool, &[u8]); 5] = [
            (self.app_keypad, b"\x1b="),
            (self.insert, b"\x1b[4h"),
            (self.new_line, b"\x1b[20h"),
            (!self.wrap, b"\x1b[?7l"),
            (self.cursor_hidden, b"\x1b[?25l"),
        ];
        for (_, sequence) in others.iter().filter(|(on, _)| *on) {
            out.extend_from_slice(sequence);
        }
        if self.cursor_shape != 0 {
            out.push(0x1b);
            write_number(out, b'[', usize::from(self.cursor_shape));
            out.extend_from_slice(b" q");
        }
    }
}

impl Terminal {
    /// SM and RM.
    pub(crate) fn set_ansi_modes(&mut self, params: &Params, on: bool) {
        for at in 0..params.len() {
            match params.get(at) {
                4 => self.modes.insert = on,
                20 => self.modes.new_line = on,
                _ => {}
            }
        }
    }

    /// DECSET and DECRST.
    pub(crate) fn set_private_modes(&mut self, params: &Params, on: bool) {
        for at in 0..params.len() {
            let mode = params.get(at);
            if let Some(switch) = self.modes.private(mode) {
                *switch = on;
            }
            match mode {
                2 if on => self.charsets = Default::default(),
                6 => self.move_to(0, 0),
                25 => self.modes.cursor_hidden = !on,
                9 | 1000 | 1002 | 1003 => self.set_mouse(mode, on),
                1006 if on => self.modes.mouse_format = MouseFormat::Sgr,
                1016 if on => self.modes.mouse_format = MouseFormat::SgrPixels,
                1006 | 1016 => self.modes.mouse_format = MouseFormat::Bytes,
                47 | 1047 | 1048 | 1049 => self.switch_screen(mode, on),
                _ => {}
            }
        }
    }

    fn set_mouse(&mut self, mode: usize, on: bool) {
        self.modes.mouse = match mode {
            _ if !on => Mouse::Off,
            9 => Mouse::Press,
            1000 => Mouse::Buttons,
            1002 => Mouse::Drag,
            _ => Mouse::All,
        };
    }

    /// 47 and 1047 switch the screen, 1048 keeps the cursor, 1049 does both.
    fn switch_screen(&mut self, mode: usize, on: bool) {
        let (cursor, screen) = (mode >= 1048, mode != 1048);
        if cursor && on {
            self.save_cursor();
        }
        if screen && on {
            self.enter_alternate();
        } else if screen {
            self.leave_alternate();
        }
        if cursor && !on {
            self.restore_cursor();
        }
    }

    /// The answer of DECRQM: 1 set, 2 reset, 3 and 4 the same for good, 0 unknown.
    pub(crate) fn mode_state(&mut self, mode: usize, private: bool) -> usize {
        let state = |on: bool| if on { 1 } else { 2 };
        if !private {
            return match mode {
                2 => 4,
                4 => state(self.modes.insert),
                12 => 3,
                20 => state(self.modes.new_line),
                _ => 0,
            };
        }
        if let Some(on) = self.modes.private(mode) {
            return state(*on);
        }
        match mode {
            8 => 3,
            67 | 1005 | 1015 => 4,
            25 => state(!self.modes.cursor_hidden),
            9 | 1000 | 1002 | 1003 => state(self.modes.mouse_number() == mode),
            1006 | 1016 => state(self.modes.mouse_format_number() == mode),
            47 | 1047 | 1049 => state(self.alternate.is_some()),
            1048 => 1,
            _ => 0,
        }
    }
}
