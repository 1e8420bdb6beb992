//! Character sets (ISO 2022): only the line drawing set differs from ASCII.

/// A set of 94 characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Charset {
    #[default]
    Ascii,
    /// DEC special graphics.
    Lines,
    /// ASCII with a pound sign.
    British,
}

/// Characters of DEC special graphics from 0x60 to 0x7e.
const LINES: [char; 31] = [
    '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├',
    '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

impl Charset {
    /// The set that a final byte designates. National sets are not known and count as ASCII.
    pub(crate) fn designated(last: u8) -> Charset {
        match last {
            b'0' => Charset::Lines,
            b'A' => Charset::British,
            _ => Charset::Ascii,
        }
    }

    fn designator(self) -> u8 {
        match self {
            Charset::Ascii => b'B',
            Charset::Lines => b'0',
            Charset::British => b'A',
        }
    }

    /// What a byte of printable ASCII means in this set.
    pub(crate) fn map(self, byte: u8) -> char {
        match (self, byte) {
            (Charset::Lines, 0x60..0x7f) => LINES[usize::from(byte - 0x60)],
            (Charset::British, b'#') => '£',
            _ => char::from(byte),
        }
    }
}

/// The four designated sets and which of them is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charsets {
    sets: [Charset; 4],
    active: usize,
}

impl Charsets {
    /// The set in use.
    pub(crate) fn current(self) -> Charset {
        self.sets[self.active]
    }

    pub(crate) fn select(&mut self, active: usize) {
        self.active = active;
    }

    /// Designates a set; the intermediate byte says as which.
    pub(crate) fn designate(&mut self, intermediate: u8, last: u8) {
        let slot = match intermediate {
            b'(' => 0,
            b')' | b'-' => 1,
            b'*' | b'.' => 2,
            b'+' => 3,
            _ => return,
        };
        self.sets[slot] = Charset::designated(last);
    }

    /// Back to ASCII.
    pub(crate) fn reset_first(&mut self) {
        self.active = 0;
        self.sets[0] = Charset::Ascii;
    }

    /// Writes the sequences that lead from `before` to these sets.
    pub(crate) fn write(self, before: Charsets, out: &mut Vec<u8>) {
        for (slot, name) in b"()*+".iter().enumerate() {
            if self.sets[slot] != before.sets[slot] {
                out.extend_from_slice(&[0x1b, *name, self.sets[slot].designator()]);
            }
        }
        if self.active != before.active {
            let shift: [&[u8]; 4] = [b"\x0f", b"\x0e", b"\x1bn", b"\x1bo"];
            out.extend_from_slice(shift[self.active]);
        }
    }
}
