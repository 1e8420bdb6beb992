use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{cases, pending, piece, stream};
use crate::{Screen, skip};

/// Asserts that skipping ends in the very state of parsing everything.
fn same(before: &[u8], flood: &[u8]) -> Result<(), TestCaseError> {
    let mut parsed = Screen::new(3, 8, 5);
    parsed.feed(before);
    let mut skipped = parsed.clone();
    let replies = parsed.feed(flood);
    skip::feed(&mut skipped.terminal, &mut skipped.parser, flood, 32);
    prop_assert_eq!(std::mem::take(&mut skipped.terminal.replies), replies);
    prop_assert_eq!(&skipped.terminal, &parsed.terminal);
    prop_assert_eq!(pending(&skipped), pending(&parsed));
    Ok(())
}

/// A line of plain output, now and then with something in it that is not plain.
fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        6 => "[a-z ]{0,14}",
        2 => "\x1b\\[(3[0-7]|1|48;5;9|)m[a-z]{0,5}(\x1b\\[0?m)?",
        1 => select(vec!["中文", "e\u{301}é·", "\x07\t\x08", "\u{85}", "\u{9b}3A", "\x0e", "\r", "\x18"])
            .prop_map(str::to_owned),
        1 => piece(),
    ];
    (text, select(vec!["\r\n", "\r\n", "\r\n", "\r\n", "\n"])).prop_map(|(text, end)| text + end)
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn is_exact_after_anything(before in stream(20), lines in vec(line(), 0..120)) {
        same(&before, lines.concat().as_bytes())?;
    }

    #[test]
    fn is_exact_for_plain_floods(
        before in stream(6),
        lines in vec("(\x1b\\[(3[0-7]|4[0-7]|1|0|)m)?[a-z\u{7}é]{0,14}\r?\n", 20..80),
    ) {
        same(&before, lines.concat().as_bytes())?;
    }

    #[test]
    fn is_exact_for_any_bytes(before in stream(6), bytes in vec(any::<u8>(), 0..2000)) {
        same(&before, &bytes)?;
    }
}

#[test]
fn is_exact_with_the_limits_of_everyday() {
    let mut flood = String::new();
    for n in 0..30_000 {
        flood += &format!("\x1b[3{}mline {n}\x07\x1b[0m of some length\r\n", n % 8);
    }
    flood += "\x1b[7mand a prompt";
    let mut parsed = Screen::new(40, 120, 2000);
    let mut skipped = parsed.clone();
    parsed.feed(flood.as_bytes());
    skipped.skip_to_tail(flood.as_bytes());
    assert_eq!(skipped.bells(), 30_000);
    assert!(skipped.terminal == parsed.terminal);
}
