use super::{cells, cursor, fed, history};
use crate::Screen;

#[test]
fn cursor_stops_at_the_margins() {
    assert_eq!(cursor(&fed("\x1b[99;99H")), (19, 4));
    assert_eq!(cursor(&fed("\x1b[99A\x1b[99D")), (0, 0));
    assert_eq!(cursor(&fed("\x1b[2;4r\x1b[3H\x1b[99B")), (0, 3));
    assert_eq!(cursor(&fed("\x1b[2;4r\x1b[3H\x1b[99A")), (0, 1));
    assert_eq!(cursor(&fed("\x1b[2;4r\x1b[5H\x1b[99A")), (0, 1));
    assert_eq!(cursor(&fed("\x1b[2;4r\x1b[1H\x1b[99A")), (0, 0));
    assert_eq!(cursor(&fed("\x1b[2;4r\x1b[?6h\x1b[99H")), (0, 3));
}

#[test]
fn erasing_takes_on_the_background() {
    let screen = fed("abc\x1b[41m\x1b[2G\x1b[K");
    let row = &screen.terminal.screen().rows[0];
    assert_eq!(cells(&screen, 0), "a___________________");
    assert_eq!(row.cells()[5].style, screen.terminal.style.erased());
    assert_ne!(row.cells()[5].style, row.cells()[0].style);
}

#[test]
fn erases_parts_of_the_screen() {
    let text = "1\r\n2\r\n3\r\n4\x1b[2;2H";
    assert_eq!(fed(format!("{text}\x1b[J")).text(), "1\n2");
    assert_eq!(fed(format!("{text}\x1b[1J")).text(), "\n\n3\n4");
    assert_eq!(fed(format!("{text}\x1b[2J")).text(), "");
    assert_eq!(fed(format!("{text}\x1b[1K")).text(), "1\n\n3\n4");
    let screen = fed("1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[3J");
    assert_eq!((history(&screen).len(), screen.text()), (0, "2\n3\n4\n5\n6".to_owned()));
}

#[test]
fn rows_move_within_the_region() {
    let text = "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[2H";
    assert_eq!(fed(format!("{text}\x1b[L")).text(), "1\n\n2\n3\n5");
    assert_eq!(fed(format!("{text}\x1b[M")).text(), "1\n3\n4\n\n5");
    assert_eq!(fed(format!("{text}\x1b[99M")).text(), "1\n\n\n\n5");
    assert_eq!(fed(format!("{text}\x1b[S")).text(), "1\n3\n4\n\n5");
    assert_eq!(fed(format!("{text}\x1b[T")).text(), "1\n\n2\n3\n5");
    assert_eq!(fed(format!("{text}\x1bM")).text(), "1\n\n2\n3\n5");
    assert_eq!(fed(format!("{text}\x1b[4H\n")).text(), "1\n3\n4\n\n5");
    // Outside the region nothing moves.
    assert_eq!(fed(format!("{text}\x1b[5H\x1b[L\n\n")).text(), "1\n2\n3\n4\n5");
}

#[test]
fn only_rows_from_the_top_enter_the_history() {
    assert_eq!(history(&fed("1\r\n2\r\n3\x1b[1;3r\x1b[3H\n\n")), ["1", "2"]);
    assert_eq!(history(&fed("1\r\n2\r\n3\x1b[2;3r\x1b[3H\n\n")), Vec::<String>::new());
    assert_eq!(history(&fed("\x1b[?1049h1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7")), Vec::<String>::new());
}

#[test]
fn tabs() {
    assert_eq!(fed("a\tb\tc").text(), "a       b       c");
    assert_eq!(fed("\x1b[3g\x1b[4G\x1bH\ra\tb").text(), "a  b");
    assert_eq!(cursor(&fed("\x1b[12G\x1b[Z")), (8, 0));
    assert_eq!(cursor(&fed("\x1b[99I")), (19, 0));
}

#[test]
fn insert_and_wrap_modes() {
    assert_eq!(fed("abc\r\x1b[4hxy").text(), "xyabc");
    let screen = fed("\x1b[?7l123456789012345678901234");
    assert_eq!((screen.text().as_str(), cursor(&screen)), ("12345678901234567894", (20, 0)));
}

#[test]
fn saved_cursor_has_position_style_and_charset() {
    let screen = fed("\x1b[2;3H\x1b[1m\x1b(0\x1b7\x1b[H\x1b[m\x1b(B\x1b8q");
    assert_eq!(screen.text(), "\n  ─");
    assert_ne!(screen.terminal.style, Default::default());
}

#[test]
fn alternate_screen_gives_the_main_one_back() {
    let mut screen = fed("main\x1b[?1049h\x1b[Halt");
    assert_eq!(screen.text(), "alt");
    screen.feed(b"\x1b[?1049l!");
    assert_eq!(screen.text(), "main!");
    screen.feed(b"\x1b[?1049h");
    assert_eq!(screen.text(), "", "each time it is empty");
}

#[test]
fn reset_keeps_the_size() {
    let mut screen = Screen::new(3, 7, 5);
    screen.feed(b"1\r\n2\r\n3\r\n4\x1b[?2004h\x1b[?1049hx\x1bc");
    assert_eq!((screen.size(), screen.text()), ((3, 7), String::new()));
    assert!(!screen.bracketed_paste());
    assert_eq!(history(&screen).len(), 0);
}

#[test]
fn size_requests_of_the_program_are_ignored() {
    assert_eq!(fed("\x1b[8;50;200t\x1b[?3h").size(), (5, 20));
}

#[test]
fn styles_are_read_and_written() {
    for codes in [
        "1;2;3;5;7;8;9;53",
        "4:3",
        "21",
        "31;42",
        "97;104",
        "38;5;7;48;5;200",
        "58;5;3;4",
        "38;2;1;2;3",
        "48:2::1:2:3",
        "38:5:9",
    ] {
        let first = fed(format!("\x1b[{codes}m")).terminal.style;
        assert_ne!(first, Default::default(), "{codes}");
        let mut bytes = Vec::new();
        first.write(&mut bytes);
        assert_eq!(fed(&bytes).terminal.style, first, "{codes}");
        assert_eq!(fed(format!("\x1b[{codes}m\x1b[m")).terminal.style, Default::default());
    }
    let three = fed("\x1b[38;2;1;2;3m").terminal.style;
    assert_eq!(fed("\x1b[38:2:1:2:3m").terminal.style, three);
    assert_eq!(fed("\x1b[38:2::1:2:3m").terminal.style, three);
    assert_eq!(
        fed("\x1b[1;3;4;7;9;31;42;58;5;1m\x1b[22;23;24;27;29;39;49;59m").terminal.style,
        Default::default()
    );
}
