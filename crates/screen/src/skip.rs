//! Floods: output of which only the end can still be seen need not be parsed as a whole.
//!
//! Exact, not approximate: after enough line feeds at the bottom of a full-screen region, every
//! row and all of the history come from what follows, so all that earlier text leaves behind is
//! the style that its last SGR sequences set, and its bells.

use memchr::{memchr, memchr_iter, memchr2, memrchr, memrchr_iter};

use crate::parser::Parser;
use crate::terminal::Terminal;

/// Shorter input is parsed as a whole: the search would cost as much.
pub(crate) const MIN_BYTES: usize = 16 * 1024;
/// Parsed at a time where nothing can be skipped.
const STEP_BYTES: usize = 1024;
/// Longest SGR sequence that is recognised; the parser keeps longer ones than this.
const MAX_SGR_BYTES: usize = 128;

/// Feeds `bytes`, leaving out what cannot matter, while at least `min_bytes` are left.
pub(crate) fn feed(terminal: &mut Terminal, parser: &mut Parser, bytes: &[u8], min_bytes: usize) {
    let mut rest = bytes;
    while rest.len() >= min_bytes {
        let mut done = 0;
        if may_skip(terminal, parser) {
            done = plain_len(rest);
            if let Some(tail) = tail_start(&rest[..done], lines_needed(terminal)) {
                let skipped = &rest[..tail];
                terminal.bells += memchr_iter(0x07, skipped).count() as u64;
                parser.feed(&last_styles(skipped), terminal);
                parser.feed(&rest[tail..done], terminal);
            } else {
                parser.feed(&rest[..done], terminal);
            }
        }
        let step = (done + STEP_BYTES).min(rest.len());
        parser.feed(&rest[done..step], terminal);
        rest = &rest[step..];
    }
    parser.feed(rest, terminal);
}

/// Whether line feeds scroll rows out of sight, whatever stands between them.
fn may_skip(terminal: &Terminal, parser: &Parser) -> bool {
    parser.is_idle()
        && terminal.screen().is_region_full()
        && !terminal.modes.insert
        // A backspace could go up a row.
        && !terminal.modes.reverse_wrap
}

/// Line feeds after which nothing is left of what was there before: from the top row to the
/// bottom, then every row of the screen into the history, then out of it.
fn lines_needed(terminal: &Terminal) -> usize {
    2 * terminal.rows + terminal.screen().history.limit() + 1
}

/// The length of the longest start of `bytes` that is nothing but text, controls which stay on the
/// row or go down, and whole SGR sequences.
fn plain_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let escape = memchr(0x1b, &bytes[at..]).map_or(bytes.len(), |n| at + n);
        if let Some(stop) = first_special(&bytes[at..escape]) {
            return at + stop;
        }
        match sgr_len(&bytes[escape..]) {
            Some(len) => at = escape + len,
            None => return escape,
        }
    }
}

/// Where a segment without escapes has a shift to another character set or a control of C1 (as
/// UTF-8: 0xc2 and then 0x80 to 0x9f).
fn first_special(segment: &[u8]) -> Option<usize> {
    let shift = memchr2(0x0e, 0x0f, segment);
    let segment = &segment[..shift.unwrap_or(segment.len())];
    memchr_iter(0xc2, segment)
        .find(|at| segment.get(at + 1).is_none_or(|next| (0x80..0xa0).contains(next)))
        .or(shift)
}

/// The length of the SGR sequence that `bytes` start with.
fn sgr_len(bytes: &[u8]) -> Option<usize> {
    let numbers = bytes.strip_prefix(b"\x1b[")?;
    let len =
        numbers.iter().take(MAX_SGR_BYTES).position(|byte| !matches!(byte, b'0'..=b'9' | b':' | b';'))?;
    (numbers[len] == b'm').then_some(len + 3)
}

/// The last place from which at least `lines` line feeds follow and where the column is known,
/// which is at a carriage return.
fn tail_start(bytes: &[u8], lines: usize) -> Option<usize> {
    let feed = memrchr_iter(b'\n', bytes).nth(lines)?;
    memrchr(b'\r', &bytes[..feed]).filter(|at| *at > 0)
}

/// The SGR sequences of `skipped` from the last complete reset on, without the text between them.
fn last_styles(skipped: &[u8]) -> Vec<u8> {
    let mut sequences = Vec::new();
    for at in memrchr_iter(0x1b, skipped) {
        let sequence = &skipped[at..at + sgr_len(&skipped[at..]).unwrap_or(0)];
        sequences.push(sequence);
        if matches!(sequence, b"\x1b[m" | b"\x1b[0m") {
            break;
        }
    }
    sequences.reverse();
    sequences.concat()
}
