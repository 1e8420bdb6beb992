//! How a cell looks: colours and attributes, and their escape sequences (SGR).

use crate::params::Params;

/// A colour of a cell, packed, since cells are compared all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Color(u32);

impl Color {
    /// What the theme says.
    pub(crate) const DEFAULT: Color = Color(0);

    /// An entry of the palette of 256.
    fn indexed(entry: u8) -> Color {
        Color(1 << 24 | u32::from(entry))
    }

    fn rgb(red: u8, green: u8, blue: u8) -> Color {
        Color(u32::from_be_bytes([2, red, green, blue]))
    }
}

/// The look of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) fg: Color,
    pub(crate) bg: Color,
    /// The colour of the underline; the text's own when it is the default.
    pub(crate) line: Color,
    /// The bits below, and the kind of underline (0 to 5) above them.
    flags: u16,
}

const BOLD: u16 = 1;
const DIM: u16 = 1 << 1;
const ITALIC: u16 = 1 << 2;
const BLINK: u16 = 1 << 3;
const INVERSE: u16 = 1 << 4;
const HIDDEN: u16 = 1 << 5;
const STRUCK: u16 = 1 << 6;
const OVERLINED: u16 = 1 << 7;
const UNDERLINE_SHIFT: u16 = 8;
const UNDERLINE_MASK: u16 = 7 << UNDERLINE_SHIFT;

/// SGR numbers of the simple flags.
const FLAG_CODES: [(u16, u8); 8] =
    [(BOLD, 1), (DIM, 2), (ITALIC, 3), (BLINK, 5), (INVERSE, 7), (HIDDEN, 8), (STRUCK, 9), (OVERLINED, 53)];

impl Style {
    /// The default look.
    pub(crate) const PLAIN: Style =
        Style { fg: Color::DEFAULT, bg: Color::DEFAULT, line: Color::DEFAULT, flags: 0 };

    /// What erasing leaves behind: the background alone.
    pub(crate) fn erased(self) -> Style {
        Style { bg: self.bg, ..Style::default() }
    }

    /// Takes over the changes of one SGR sequence.
    pub(crate) fn apply(&mut self, params: &Params) {
        let mut at = 0;
        while at < params.len() {
            match params.get(at) {
                38 | 48 | 58 => at += self.apply_color(params, at),
                4 => self.set_underline(params.subs(at).first().copied().unwrap_or(1)),
                code => self.apply_code(code),
            }
            at += 1;
        }
    }

    fn apply_code(&mut self, code: usize) {
        match code {
            0 => *self = Style::default(),
            21 => self.set_underline(2),
            22 => self.flags &= !(BOLD | DIM),
            23 => self.flags &= !ITALIC,
            24 => self.set_underline(0),
            25 => self.flags &= !BLINK,
            27 => self.flags &= !INVERSE,
            28 => self.flags &= !HIDDEN,
            29 => self.flags &= !STRUCK,
            55 => self.flags &= !OVERLINED,
            30..=37 => self.fg = Color::indexed((code - 30) as u8),
            39 => self.fg = Color::DEFAULT,
            40..=47 => self.bg = Color::indexed((code - 40) as u8),
            49 => self.bg = Color::DEFAULT,
            59 => self.line = Color::DEFAULT,
            90..=97 => self.fg = Color::indexed((code - 82) as u8),
            100..=107 => self.bg = Color::indexed((code - 92) as u8),
            _ => {
                if let Some((flag, _)) = FLAG_CODES.iter().find(|(_, c)| usize::from(*c) == code) {
                    self.flags |= flag;
                }
            }
        }
    }

    fn set_underline(&mut self, kind: i32) {
        let kind = if (0..=5).contains(&kind) { kind as u16 } else { 1 };
        self.flags = (self.flags & !UNDERLINE_MASK) | (kind << UNDERLINE_SHIFT);
    }

    /// Reads `38;5;n`, `38;2;r;g;b`, `38:5:n`, `38:2:r:g:b` and `38:2:space:r:g:b` (also 48 and
    /// 58), and says how many further parameters it took.
    fn apply_color(&mut self, params: &Params, at: usize) -> usize {
        let subs = params.subs(at);
        let byte = |value: i32| (value.max(0) & 0xff) as u8;
        let after = |offset: usize| (params.get(at + offset) & 0xff) as u8;
        let (color, taken) = if let Some((mode, values)) = subs.split_first() {
            let value = |index: usize| byte(values.get(index).copied().unwrap_or(0));
            // With four values the first names a colour space, which nobody uses.
            let skip = usize::from(values.len() > 3);
            let color = match mode {
                5 => Some(Color::indexed(value(0))),
                2 => Some(Color::rgb(value(skip), value(skip + 1), value(skip + 2))),
                _ => None,
            };
            (color, 0)
        } else {
            match params.get(at + 1) {
                5 => (Some(Color::indexed(after(2))), 2),
                2 => (Some(Color::rgb(after(2), after(3), after(4))), 4),
                _ => (None, 5),
            }
        };
        if let Some(color) = color {
            match params.get(at) {
                38 => self.fg = color,
                48 => self.bg = color,
                _ => self.line = color,
            }
        }
        taken
    }

    /// Writes the sequence that sets this style whatever was set before.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[0");
        for (flag, code) in FLAG_CODES {
            if self.flags & flag != 0 {
                write_number(out, b';', usize::from(code));
            }
        }
        match (self.flags & UNDERLINE_MASK) >> UNDERLINE_SHIFT {
            0 => {}
            1 => out.extend_from_slice(b";4"),
            kind => {
                out.extend_from_slice(b";4");
                write_number(out, b':', usize::from(kind));
            }
        }
        write_color(out, self.fg, Some(30), 38);
        write_color(out, self.bg, Some(40), 48);
        // There is no short form for the colour of the underline.
        write_color(out, self.line, None, 58);
        out.push(b'm');
    }
}

/// Writes a colour; `short` is the code of the first of the eight basic ones, if there is any.
fn write_color(out: &mut Vec<u8>, color: Color, short: Option<usize>, long: usize) {
    let [kind, red, green, blue] = color.0.to_be_bytes();
    match (kind, blue, short) {
        (0, ..) => {}
        (1, 0..8, Some(short)) => write_number(out, b';', short + usize::from(blue)),
        // The bright ones are 52 further: 90 and 100.
        (1, 8..16, Some(short)) => write_number(out, b';', short + 52 + usize::from(blue)),
        (1, ..) => {
            write_number(out, b';', long);
            out.extend_from_slice(b";5");
            write_number(out, b';', usize::from(blue));
        }
        _ => {
            write_number(out, b';', long);
            out.extend_from_slice(b";2");
            for value in [red, green, blue] {
                write_number(out, b';', usize::from(value));
            }
        }
    }
}

/// Writes `before` and then the number in decimal digits.
pub(crate) fn write_number(out: &mut Vec<u8>, before: u8, number: usize) {
    out.push(before);
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
