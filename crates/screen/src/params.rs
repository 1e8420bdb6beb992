//! The numbers of a control sequence: `4`, `38;5;1`, `4:3`.

/// Numbers kept per sequence; the rest is read and forgotten, as xterm.js does.
const MAX: usize = 32;
/// The largest value a number can reach.
const MAX_VALUE: i32 = 65_535;

/// Parameters with their colon-separated sub-parameters. A missing parameter is 0, a missing
/// sub-parameter is -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    values: [i32; MAX],
    len: usize,
    subs: [i32; MAX],
    sub_len: usize,
    /// For every parameter, where its sub-parameters end in `subs`.
    sub_ends: [u8; MAX],
    /// Whether digits now belong to a sub-parameter.
    in_sub: bool,
    full: bool,
    sub_full: bool,
}

impl Params {
    /// One parameter that is 0: what a sequence without numbers means.
    pub(crate) fn new() -> Params {
        Params {
            values: [0; MAX],
            len: 1,
            subs: [-1; MAX],
            sub_len: 0,
            sub_ends: [0; MAX],
            in_sub: false,
            full: false,
            sub_full: false,
        }
    }

    /// Starts over for the next sequence.
    pub(crate) fn clear(&mut self) {
        self.values[0] = 0;
        self.sub_ends[0] = 0;
        self.len = 1;
        self.sub_len = 0;
        self.in_sub = false;
        self.full = false;
        self.sub_full = false;
    }

    /// Takes one of `0`-`9`, `:`, `;`.
    pub(crate) fn push(&mut self, byte: u8) {
        match byte {
            b';' => self.next_value(),
            b':' => self.next_sub(),
            _ => self.digit(i32::from(byte - b'0')),
        }
    }

    fn next_value(&mut self) {
        self.in_sub = false;
        if self.len == MAX {
            self.full = true;
            return;
        }
        self.values[self.len] = 0;
        self.sub_ends[self.len] = self.sub_len as u8;
        self.len += 1;
    }

    fn next_sub(&mut self) {
        self.in_sub = true;
        if self.full || self.sub_len == MAX {
            self.sub_full = true;
            return;
        }
        self.subs[self.sub_len] = -1;
        self.sub_len += 1;
        self.sub_ends[self.len - 1] = self.sub_len as u8;
    }

    fn digit(&mut self, digit: i32) {
        if self.full || (self.in_sub && self.sub_full) {
            return;
        }
        let slot =
            if self.in_sub { &mut self.subs[self.sub_len - 1] } else { &mut self.values[self.len - 1] };
        *slot = ((*slot).max(0) * 10 + digit).min(MAX_VALUE);
    }

    /// How many parameters there are, at least one.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The parameter at `index`, 0 when it is missing.
    pub(crate) fn get(&self, index: usize) -> usize {
        if index < self.len { self.values[index] as usize } else { 0 }
    }

    /// The parameter at `index` as a count: 0 and missing mean 1.
    pub(crate) fn count(&self, index: usize) -> usize {
        self.get(index).max(1)
    }

    /// The sub-parameters of the parameter at `index`.
    pub(crate) fn subs(&self, index: usize) -> &[i32] {
        if index >= self.len {
            return &[];
        }
        let start = if index == 0 { 0 } else { usize::from(self.sub_ends[index - 1]) };
        &self.subs[start..usize::from(self.sub_ends[index]).max(start)]
    }
}
