use proptest::prelude::*;

use super::{cases, cells, cursor, fed, pending, stream};
use crate::{Screen, cell_width};

#[test]
fn characters_survive_every_split() {
    let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
    for text in ["—", family, "\u{10000}", "中", "e\u{301}", "🇩🇪"] {
        let whole = fed(text);
        assert_eq!(whole.text(), text);
        let bytes = text.as_bytes();
        for at in 0..=bytes.len() {
            let mut screen = fed(&bytes[..at]);
            screen.feed(&bytes[at..]);
            assert_eq!(screen.text(), text, "split at {at}");
            assert_eq!(cursor(&screen), cursor(&whole));
        }
        let mut screen = fed("");
        for byte in bytes {
            screen.feed(&[*byte]);
        }
        assert_eq!(screen.text(), text, "byte by byte");
    }
}

#[test]
fn wide_characters_take_two_cells() {
    for text in ["✅", "⌛", "⏳", "中", "한", "🇩🇪", "🚀", "🫠"] {
        let screen = fed(format!("{text}x"));
        assert_eq!(cursor(&screen), (3, 0), "{text}");
        assert_eq!(screen.text(), format!("{text}x"));
    }
    assert_eq!(cell_width('a'), 1);
    assert_eq!(cell_width('\u{301}'), 0);
    assert_eq!(cell_width('\u{7f}'), 0);
    assert_eq!(cells(&fed("中a"), 0), "中<a_________________");
}

#[test]
fn text_wraps_and_scrolls() {
    let mut screen = Screen::new(2, 4, 10);
    screen.feed(b"abcdefghij");
    assert_eq!(screen.text(), "efgh\nij");
    assert_eq!(super::history(&screen), ["abcd"]);
}

#[test]
fn wide_character_that_does_not_fit_goes_to_the_next_row() {
    let mut screen = Screen::new(2, 3, 0);
    screen.feed("ab中".as_bytes());
    assert_eq!((cells(&screen, 0), cells(&screen, 1)), ("ab_".into(), "中<_".into()));
}

#[test]
fn half_of_a_wide_character_never_stays() {
    assert_eq!(cells(&fed("中\x1b[1Gx"), 0), "x___________________");
    assert_eq!(cells(&fed("中\x1b[2Gx"), 0), "_x__________________");
    assert_eq!(cells(&fed("中文\x1b[2G\x1b[P"), 0), "_文<_________________");
    assert_eq!(cells(&fed("中文\x1b[2G\x1b[@"), 0), "___文<_______________");
    assert_eq!(cells(&fed("中文\x1b[2G\x1b[2X"), 0), "____________________");
}

#[test]
fn marks_move_with_their_character() {
    assert_eq!(fed("ae\u{301}b\x1b[1G\x1b[@").text(), " ae\u{301}b");
    assert_eq!(fed("ae\u{301}b\x1b[1G\x1b[P").text(), "e\u{301}b");
    assert_eq!(fed("ae\u{301}b\x1b[2Gx").text(), "axb");
    assert_eq!(fed("ae\u{301}b\x1b[K\x1b[2G\x1b[K").text(), "a");
}

#[test]
fn marks_of_one_cell_are_bounded() {
    let screen = fed(format!("a{}", "\u{301}".repeat(100_000)));
    assert!(screen.text().chars().count() < 20);
}

#[test]
fn line_drawing_characters() {
    assert_eq!(fed("\x1b(0lqk\x1b(Bq").text(), "┌─┐q");
    assert_eq!(fed("\x1b)0\x0eq\x0fq").text(), "─q");
}

#[test]
fn bytes_that_are_no_text_vanish() {
    assert_eq!(fed(b"a\xff\xc3\xc3(\xed\xa0\x80b\xf8\x80c").text(), "a(bc");
}

#[test]
fn links_and_notifications_leave_their_text_only() {
    let screen = fed("\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\ \x1b]9;hello\x07end");
    assert_eq!(screen.text(), "link end");
    assert!(!String::from_utf8_lossy(&screen.snapshot()).contains("example.org"));
}

#[test]
fn repeats_the_character_before() {
    assert_eq!(fed("ab\x1b[3b").text(), "abbbb");
    assert_eq!(fed("a\r\x1b[3b").text(), "a");
    assert_eq!(fed("\x1b[?7l\x1b[20G中\x1b[3b").text(), "");
}

#[test]
fn bells_are_counted_but_not_those_that_end_a_title() {
    let screen = fed("\x07a\x07\x1b]2;t\x07");
    assert_eq!(screen.bells(), 2);
    assert_eq!(screen.title(), "t");
}

#[test]
fn a_title_has_a_bound() {
    assert_eq!(fed(format!("\x1b]2;{}\x07", "t".repeat(5000))).title().len(), 256);
    // Longer than any string that is kept: read to its end, and text goes on after it.
    let screen = fed(format!("\x1b]2;{}\x07rest", "t".repeat(1_000_000)));
    assert_eq!((screen.title(), screen.text()), ("", "rest".to_owned()));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_split_is_the_same_as_none(bytes in stream(50), cuts in proptest::collection::vec(0usize..400, 0..8)) {
        let mut whole = Screen::new(4, 11, 6);
        let replies = whole.feed(&bytes);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut split = Screen::new(4, 11, 6);
        let mut split_replies = Vec::new();
        for pair in cuts.windows(2) {
            split_replies.extend(split.feed(&bytes[pair[0]..pair[1]]));
        }
        prop_assert_eq!(split_replies, replies);
        prop_assert_eq!(&split.terminal, &whole.terminal);
        prop_assert_eq!(pending(&split), pending(&whole));
    }
}
