//! Tests of the crate as a whole. What they share: random streams, and states to compare.

mod control;
mod replies;
mod resize;
mod robust;
mod skip;
mod snapshot;
mod text;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use crate::Screen;
use crate::buffer::Buffer;
use crate::row::Row;

/// A screen of 5 rows and 20 columns with 10 lines of history that was fed `bytes`.
fn fed(bytes: impl AsRef<[u8]>) -> Screen {
    let mut screen = Screen::new(5, 20, 10);
    screen.feed(bytes.as_ref());
    screen
}

/// Cells of one row as text, `_` for empty cells and `<` for second halves.
fn cells(screen: &Screen, row: usize) -> String {
    let cells = screen.terminal.screen().rows[row].cells();
    let show = |cell: &crate::row::Cell| match (cell.ch, cell.width) {
        ('\0', 0) => '<',
        ('\0', _) => '_',
        (c, _) => c,
    };
    cells.iter().map(show).collect()
}

/// Cursor column and row.
fn cursor(screen: &Screen) -> (usize, usize) {
    (screen.terminal.x, screen.terminal.y)
}

/// The text of the history, a line each.
fn history(screen: &Screen) -> Vec<String> {
    screen.terminal.main.history.lines().iter().map(|line| line.text().to_owned()).collect()
}

/// What can be seen of a row: empty cells look like spaces.
fn look(row: &Row, ignore_wrap: bool) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for (col, cell) in row.cells().iter().enumerate() {
        let c = if cell.is_empty() { ' ' } else { cell.ch };
        let _ = write!(out, "{c:?}{}{:?}{:?}|", cell.width, row.marks(col), cell.style);
    }
    let _ = write!(out, "{}", row.wrapped && !ignore_wrap);
    out
}

fn look_at_buffer(buffer: &Buffer, cols: usize) -> Vec<String> {
    let history = buffer.history.lines().iter().map(|line| line.unpack(cols));
    let rows = history.chain(buffer.rows.iter().cloned());
    let mut out: Vec<String> =
        // Whether the very first row continues one that is gone shows when a row comes in between,
        // for which one row has no place.
        rows.enumerate().map(|(at, row)| look(&row, at == 0 && buffer.rows.len() == 1)).collect();
    out.push(format!("{} {} {:?} {:?}", buffer.top, buffer.bottom, buffer.saved, buffer.tabs));
    out
}

/// The beginning of a sequence or character that is still incomplete.
fn pending(screen: &Screen) -> Vec<u8> {
    let mut bytes = Vec::new();
    screen.parser.write_pending(&mut bytes);
    bytes
}

/// All that a program or a user can notice of the state, in lines to compare.
fn noticeable(screen: &Screen) -> Vec<String> {
    let t = &screen.terminal;
    let mut out = look_at_buffer(&t.main, t.cols);
    if let Some(alternate) = &t.alternate {
        out.push(format!("alternate over {}", t.main.parked_y));
        out.extend(look_at_buffer(alternate, t.cols));
    }
    out.push(format!("{} {} {:?} {:?}", t.x, t.y, t.style, t.charsets));
    out.push(format!("{:?} {:?} {:?}", t.modes, t.title, t.title_stack));
    out
}

/// Settings of a property test. A failure is to become a test by example, not a file of seeds. Runs
/// are alike unless `PROPTEST_RNG_SEED` says otherwise; `PROPTEST_CASES` makes them longer.
fn cases(cases: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { cases };
    let rng_seed = match given.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed => fixed,
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..given }
}

/// Pieces of output: text of all widths, and every kind of sequence, mostly well formed.
fn piece() -> impl Strategy<Value = String> {
    let number = || select(vec!["", "0", "1", "2", "3", "5", "7", "99"]);
    prop_oneof![
        8 => "[ -~]{1,12}",
        3 => select(vec!["中", "文字", "😀", "👩\u{200d}👩\u{200d}👧", "🇩🇪", "e\u{301}", "✅", "\u{10000}", "é—·"])
            .prop_map(str::to_owned),
        4 => select(vec!["\r\n", "\r", "\n", "\x08", "\t", "\x07", "\x0b", "\x0e", "\x0f"])
            .prop_map(str::to_owned),
        4 => vec(select(vec!["", "0", "1", "2", "3", "4", "4:3", "5", "7", "8", "9", "21", "22",
            "24", "27", "31", "42", "48;5;200", "38;2;1;2;3", "38:2::9:8:7", "58;5;3", "59", "53",
            "97", "104", "39", "49"]), 0..4)
            .prop_map(|codes| format!("\x1b[{}m", codes.join(";"))),
        8 => (number(), select("ABCDEFG`aedHfJKLMPSTX@ZIbg".chars().collect::<Vec<_>>()))
            .prop_map(|(n, c)| format!("\x1b[{n}{c}")),
        3 => (number(), number(), select(vec!['H', 'r', 'f']))
            .prop_map(|(a, b, c)| format!("\x1b[{a};{b}{c}")),
        3 => (select(vec![1, 6, 7, 12, 25, 45, 47, 1000, 1002, 1003, 1004, 1006, 1047, 1048, 1049,
            2004, 2026]), select(vec!['h', 'l'])).prop_map(|(n, c)| format!("\x1b[?{n}{c}")),
        2 => select(vec!["\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bH", "\x1bM", "\x1b=", "\x1b>",
            "\x1b(0", "\x1b(B", "\x1b)0", "\x1bn", "\x1b#8", "\x1b[4h", "\x1b[4l", "\x1b[20h",
            "\x1b[20l", "\x1b[!p", "\x1b[2 q", "\x1b[2'}", "\x1b[ @", "\x1b[3 A", "\x1b[3J"])
            .prop_map(str::to_owned),
        1 => select(vec!["\x1b]2;title é\x07", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://x\x1b\\",
            "\x1b[22t", "\x1b[23t", "\x1bPabc\x1b\\", "\x1b_x\x1b\\", "\x1b]0;", "\x1b[3", "\x1b",
            "\x1bP+q", "\x1b]10;?\x07", "\x1b[6n", "\x1b[c"]).prop_map(str::to_owned),
    ]
}

/// A random stream of terminal output.
fn stream(pieces: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..pieces).prop_map(|pieces| pieces.concat().into_bytes())
}

/// Small sizes, where edges are near.
fn size() -> impl Strategy<Value = (u16, u16)> {
    (1u16..7, 2u16..14)
}
