use proptest::prelude::*;

use super::{cases, cells, cursor, fed, history, noticeable, piece, size, stream};
use crate::Screen;

/// A fresh screen of the same size that was fed the snapshot.
fn rebuilt(screen: &Screen) -> Screen {
    let (rows, cols) = screen.size();
    let mut other = Screen::new(rows, cols, screen.terminal.main.history.limit());
    let replies = other.feed(&screen.snapshot());
    assert_eq!(replies, b"", "a snapshot holds no query");
    other
}

#[test]
fn history_screen_and_cursor_come_back() {
    let screen = fed("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n\x1b[31mred\x1b[0m\x1b[2;3Hx");
    let other = rebuilt(&screen);
    assert_eq!(history(&other), ["1", "2"]);
    assert_eq!(other.text(), "3\n4 x\n5\n6\nred");
    assert_eq!(cursor(&other), (3, 1));
    assert_eq!(noticeable(&other), noticeable(&screen));
}

#[test]
fn main_screen_is_beneath_the_alternate_one() {
    let screen = fed("shell$ vim\x1b[?1049h\x1b[2J\x1b[Heditor");
    let mut other = rebuilt(&screen);
    assert_eq!(other.text(), "editor");
    other.feed(b"\x1b[?1049l");
    assert_eq!(other.text(), "shell$ vim");
    assert_eq!(cursor(&other), (10, 0));
}

#[test]
fn modes_and_title_come_back() {
    let modes = "\x1b[?1h\x1b=\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b[?25l\x1b[4 q\x1b]2;my title\x07";
    let other = rebuilt(&fed(modes));
    let bytes = other.snapshot();
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    for part in ["\x1b[?1h", "\x1b=", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?2004h", "\x1b[?25l"] {
        assert!(has(part.as_bytes()), "{part:?} is missing");
    }
    assert!(other.bracketed_paste());
    assert_eq!(other.title(), "my title");
}

#[test]
fn titles_put_aside_come_back() {
    let title = |title: &str| format!("\x1b]2;{title}\x07");
    let mut other = rebuilt(&fed(title("shell") + "\x1b[22t" + &title("a;b") + "\x1b[22;2t" + &title("")));
    let mut titles = vec![other.title().to_owned()];
    for _ in 0..3 {
        other.feed(b"\x1b[23t");
        titles.push(other.title().to_owned());
    }
    assert_eq!(titles, ["", "a;b", "shell", "shell"]);
}

#[test]
fn wrapped_lines_stay_one_line() {
    let screen = fed("a line that is longer than twenty columns");
    let mut other = rebuilt(&screen);
    other.feed(b"\r\n");
    other.resize(5, 60);
    assert_eq!(other.text(), "a line that is longer than twenty columns");
}

#[test]
fn pending_wrap_comes_back() {
    let mut other = rebuilt(&fed("12345678901234567890"));
    assert_eq!(cursor(&other), (20, 0));
    other.feed(b"x");
    assert_eq!(cells(&other, 1), "x___________________");
}

#[test]
fn a_row_whose_start_is_gone_still_continues_it() {
    // The row above is dropped, then an empty one comes in its place: xterm.js joins the two.
    let first = |screen: &Screen| screen.terminal.screen().rows[0].wrapped;
    for drop in ["\x1b[S", "\x1b[H\x1b[M", "\n\x1b[3J"] {
        for alternate in ["", "\x1b[?1049h"] {
            let mut screen = Screen::new(2, 10, 8);
            screen.feed(format!("{alternate}\t  aA{drop}").as_bytes());
            let mut other = rebuilt(&screen);
            assert_eq!((first(&screen), first(&other)), (true, true), "{alternate:?} {drop:?}");
            screen.feed(b"\x1b[;H\x1bM");
            other.feed(b"\x1b[;H\x1bM");
            assert_eq!(noticeable(&other), noticeable(&screen), "{alternate:?} {drop:?}");
        }
    }
}

#[test]
fn clipboard_access_leaves_no_trace() {
    for screen in [
        fed("\x1b]52;c;aGVsbG8=\x07\x1b]52;c;?\x07text"),
        fed("\x1b]52;c;aGVsbG8="),
        fed("\x1b]52;c;aGVsbG8=\x1b\\text"),
    ] {
        let bytes = screen.snapshot();
        assert!(!bytes.windows(3).any(|window| window == b"]52"));
        assert!(!bytes.windows(5).any(|window| window == b"aGVsb"));
    }
}

#[test]
fn a_stream_goes_on_in_the_middle_of_a_sequence() {
    let whole = "a\x1b[1;31mb\x1b]2;tï\x07\x1b[2;3Hc—d\x1b(0q\x1bPxyz\x1b\\e\x1b]52;c;aGk=\x07f";
    let bytes = whole.as_bytes();
    for at in 0..=bytes.len() {
        let mut other = rebuilt(&fed(&bytes[..at]));
        other.feed(&bytes[at..]);
        assert_eq!(noticeable(&other), noticeable(&fed(whole)), "split at {at}");
    }
}

#[test]
fn a_limit_costs_the_oldest_history_only() {
    let mut screen = Screen::new(3, 20, 1000);
    for n in 0..1000 {
        screen.feed(format!("line {n}\r\n").as_bytes());
    }
    let bytes = screen.snapshot_within(4000);
    assert!(bytes.len() <= 4000 && bytes.len() > 2000, "{}", bytes.len());
    let mut other = Screen::new(3, 20, 1000);
    other.feed(&bytes);
    assert_eq!(other.text(), screen.text());
    assert_eq!(history(&other).last(), history(&screen).last());
    assert!(screen.snapshot_within(0).len() < 100);
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn rebuilds_any_state(size in size(), bytes in stream(60)) {
        let mut screen = Screen::new(size.0, size.1, 8);
        screen.feed(&bytes);
        let other = rebuilt(&screen);
        prop_assert_eq!(noticeable(&other), noticeable(&screen));
    }

    #[test]
    fn leaves_out_nothing_but_the_history(size in size(), bytes in stream(60)) {
        let mut screen = Screen::new(size.0, size.1, 8);
        screen.feed(&bytes);
        let mut other = Screen::new(size.0, size.1, 8);
        prop_assert_eq!(other.feed(&screen.snapshot_of_screen()), b"");
        prop_assert_eq!(history(&other), Vec::<String>::new());
        screen.terminal.main.history.clear();
        prop_assert_eq!(noticeable(&other), noticeable(&screen));
    }

    #[test]
    fn goes_on_like_the_original(size in size(), before in stream(40), after in stream(20)) {
        let mut screen = Screen::new(size.0, size.1, 8);
        screen.feed(&before);
        let mut other = rebuilt(&screen);
        // Repeating needs the character just printed, which is not part of a snapshot.
        screen.feed(b"\r");
        other.feed(b"\r");
        // A reverse wrap tells empty cells from spaces, which a snapshot does not in all places.
        screen.feed(b"\x1b[?45l");
        other.feed(b"\x1b[?45l");
        let after: Vec<u8> = String::from_utf8_lossy(&after).replace("?45h", "?45l").into_bytes();
        prop_assert_eq!(screen.feed(&after), other.feed(&after));
        prop_assert_eq!(noticeable(&other), noticeable(&screen));
    }

    #[test]
    fn never_writes_a_query(pieces in proptest::collection::vec(piece(), 0..60)) {
        // With each prefix, also the ones that end in the middle of a query.
        let mut screen = Screen::new(4, 9, 5);
        for piece in pieces {
            screen.feed(piece.as_bytes());
            rebuilt(&screen);
        }
    }
}
