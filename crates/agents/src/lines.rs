//! A stream of JSON lines, read as it comes and with a bound on the length of a line.

use carillon_core::limits::EVENT_LINE_MAX_BYTES;
use serde_json::Value;

/// Splits what comes into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: Vec<u8>,
    /// The line that is open is longer than the bound: the rest of it is passed over.
    is_too_long: bool,
}

impl Lines {
    /// Hands each line that is complete now to `take`, without its end. A line that is too long is left out.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (piece, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            self.push(piece);
            if !std::mem::take(&mut self.is_too_long) {
                take(self.open.strip_suffix(b"\r").unwrap_or(&self.open));
            }
            self.open.clear();
        }
        self.push(rest);
    }

    fn push(&mut self, piece: &[u8]) {
        if self.is_too_long || self.open.len() + piece.len() > EVENT_LINE_MAX_BYTES {
            self.is_too_long = true;
            self.open = Vec::new();
        } else {
            self.open.extend_from_slice(piece);
        }
    }
}

/// The events of a whole output: each line that is a JSON object. What a program prints between them is passed over.
pub(crate) fn events(out: &[u8]) -> impl Iterator<Item = Value> + '_ {
    out.split(|byte| *byte == b'\n').filter_map(event)
}

/// The event of one line, when it is one.
pub(crate) fn event(line: &[u8]) -> Option<Value> {
    let line = line.trim_ascii();
    if !line.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(line).ok()
}

/// The text of a field, by its path; empty when there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number of a field, by its path; zero when there is none.
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The number of a field, by its path, when there is one.
pub(crate) fn counted(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Two counts together: unknown only where both are.
pub(crate) fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.map(|one| one.saturating_add(other.unwrap_or(0))).or(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.feed(piece, |line| found.push(line.to_vec()));
        }
        found
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let all = b"one\r\n\ntwo\nopen";
        let expected = [b"one".to_vec(), Vec::new(), b"two".to_vec()];
        for at in 0..=all.len() {
            let (a, b) = all.split_at(at);
            assert_eq!(split(&[a, b]), expected, "cut at {at}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_read() {
        let long = vec![b'x'; EVENT_LINE_MAX_BYTES];
        assert_eq!(split(&[&long, b"\nb\n"]).len(), 2);
        assert_eq!(split(&[&long, b"xy", b"z\nb\n"]), [b"b".to_vec()]);
    }

    #[test]
    fn only_objects_are_events() {
        let found: Vec<Value> = events(b"warn\n{\"a\":1}\n[1]\n {\"a\":2}\r\n{broken\n{\"a\":3}").collect();
        assert_eq!(found.iter().map(|event| count(event, "/a")).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
