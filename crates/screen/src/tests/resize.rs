use proptest::collection::vec;
use proptest::prelude::*;

use super::{cases, cursor, fed, history, stream};
use crate::Screen;

#[test]
fn lines_break_anew() {
    let mut screen = fed("a line of more than twenty columns\r\nshort\r\n$ ");
    assert_eq!(screen.text(), "a line of more than \ntwenty columns\nshort\n$".replace(" \n", "\n"));
    screen.resize(5, 40);
    assert_eq!(screen.text(), "a line of more than twenty columns\nshort\n$");
    assert_eq!(cursor(&screen), (2, 2));
    screen.resize(5, 10);
    assert_eq!(screen.text(), "more than\ntwenty col\numns\nshort\n$");
    assert_eq!(history(&screen), ["a line of "]);
    screen.resize(5, 40);
    assert_eq!(screen.text(), "a line of more than twenty columns\nshort\n$");
}

#[test]
fn wide_characters_break_whole() {
    let mut screen = Screen::new(5, 6, 10);
    screen.feed("中文字\r\n".as_bytes());
    screen.resize(5, 5);
    assert_eq!(screen.text(), "中文\n字");
    screen.resize(5, 6);
    assert_eq!(screen.text(), "中文字");
}

#[test]
fn rows_come_back_from_the_history() {
    let mut screen = fed("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7");
    screen.resize(7, 20);
    assert_eq!((screen.text().as_str(), cursor(&screen)), ("1\n2\n3\n4\n5\n6\n7", (1, 6)));
    screen.resize(2, 20);
    assert_eq!((screen.text().as_str(), cursor(&screen)), ("6\n7", (1, 1)));
    assert_eq!(history(&screen), ["1", "2", "3", "4", "5"]);
}

#[test]
fn empty_rows_below_the_cursor_go_first() {
    let mut screen = fed("1\r\n2");
    screen.resize(2, 20);
    assert_eq!((screen.text().as_str(), history(&screen).len()), ("1\n2", 0));
    screen.resize(5, 20);
    assert_eq!((screen.text().as_str(), cursor(&screen)), ("1\n2", (1, 1)));
}

#[test]
fn main_screen_resizes_under_the_alternate_one() {
    let mut screen = fed("1\r\n2\r\n3\r\n4\r\n$ vi\x1b[?1049h\x1b[H");
    screen.resize(3, 10);
    screen.resize(6, 30);
    screen.feed(b"\x1b[?1049l");
    assert_eq!(screen.text(), "1\n2\n3\n4\n$ vi");
    assert_eq!(cursor(&screen), (4, 4));
}

#[test]
fn sizes_are_clamped() {
    let mut screen = fed("text");
    screen.resize(0, 0);
    assert_eq!(screen.size(), (1, 2));
    screen.feed("中a中\r\n中".as_bytes());
    screen.resize(u16::MAX, u16::MAX);
    assert_eq!(screen.size(), (1_000, 2_000));
    assert_eq!(Screen::new(0, 1, 0).size(), (1, 2));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn output_and_sizes_in_any_order(steps in vec((stream(12), 0u16..9, 0u16..12), 1..8), limit in 0usize..12) {
        let mut screen = Screen::new(5, 10, limit);
        for (bytes, rows, cols) in steps {
            screen.feed(&bytes);
            screen.resize(rows, cols);
            check(&screen);
            let mut other = Screen::new(rows, cols, limit);
            other.feed(&screen.snapshot());
            prop_assert_eq!(super::noticeable(&other), super::noticeable(&screen));
        }
    }

    #[test]
    fn growing_and_shrinking_keeps_the_text(lines in vec("[a-z]{1,30}", 1..8), cols in 2u16..60) {
        let mut screen = Screen::new(4, 20, 1000);
        screen.feed((lines.join("\r\n") + "\r\n").as_bytes());
        screen.resize(4, cols);
        screen.resize(4, 80);
        let text = history(&screen).join("\n") + "\n" + &screen.text();
        prop_assert_eq!(text.trim(), lines.join("\n"));
    }
}

/// What holds after anything.
fn check(screen: &Screen) {
    let t = &screen.terminal;
    for buffer in [Some(&t.main), t.alternate.as_ref()].into_iter().flatten() {
        assert_eq!(buffer.rows.len(), t.rows);
        assert_eq!(buffer.tabs.len(), t.cols);
        assert!(buffer.rows.iter().all(|row| row.cols() == t.cols));
        assert!(buffer.history.len() <= buffer.history.limit());
        assert!(buffer.bottom < t.rows && buffer.top <= buffer.bottom);
        for row in &buffer.rows {
            for (col, cell) in row.cells().iter().enumerate() {
                let next = row.cells().get(col + 1);
                assert_eq!(cell.width == 2, next.is_some_and(|next| next.width == 0));
                assert!(col < row.used() || *cell == crate::row::Cell::erased(Default::default()));
            }
        }
    }
    assert!(t.y < t.rows && t.x <= t.cols);
}
