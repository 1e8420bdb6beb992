use super::fed;
use crate::Screen;

/// What a fresh screen answers.
fn answer(bytes: &str) -> String {
    String::from_utf8(Screen::new(24, 80, 0).feed(bytes.as_bytes())).expect("answers are ASCII")
}

#[test]
fn device_attributes() {
    assert_eq!(answer("\x1b[c"), "\x1b[?62;22c");
    assert_eq!(answer("\x1b[0c"), "\x1b[?62;22c");
    assert_eq!(answer("\x1b[>c"), "\x1b[>0;276;0c");
    assert_eq!(answer("\x1b[=c"), "\x1bP!|00000000\x1b\\");
    assert_eq!(answer("\x1b[1c"), "");
    assert_eq!(answer("\x1b[>q"), "\x1bP>|Carillon(0.1)\x1b\\");
    assert_eq!(answer("\x1b[>0q"), "\x1bP>|Carillon(0.1)\x1b\\");
}

#[test]
fn status_and_cursor() {
    assert_eq!(answer("\x1b[5n"), "\x1b[0n");
    assert_eq!(answer("\x1b[6n"), "\x1b[1;1R");
    assert_eq!(answer("ab\r\n中\x1b[6n"), "\x1b[2;3R");
    assert_eq!(answer("\x1b[7;9H\x1b[?6n"), "\x1b[?7;9R");
    // In the last column, with the next character about to wrap.
    assert_eq!(answer("\x1b[1;80Hx\x1b[6n"), "\x1b[1;80R");
    // Origin mode counts from the top of the region.
    assert_eq!(answer("\x1b[5;10r\x1b[?6h\x1b[2;3H\x1b[6n"), "\x1b[2;3R");
}

#[test]
fn modes() {
    assert_eq!(answer("\x1b[?2004$p"), "\x1b[?2004;2$y");
    assert_eq!(answer("\x1b[?2004h\x1b[?2004$p"), "\x1b[?2004;1$y");
    assert_eq!(answer("\x1b[?7$p\x1b[?25$p"), "\x1b[?7;1$y\x1b[?25;1$y");
    assert_eq!(answer("\x1b[?1049h\x1b[?1049$p"), "\x1b[?1049;1$y");
    assert_eq!(answer("\x1b[?1002h\x1b[?1002$p\x1b[?1003$p"), "\x1b[?1002;1$y\x1b[?1003;2$y");
    assert_eq!(answer("\x1b[?2026$p"), "\x1b[?2026;2$y");
    assert_eq!(answer("\x1b[?31337$p"), "\x1b[?31337;0$y");
    assert_eq!(answer("\x1b[4h\x1b[4$p\x1b[99$p"), "\x1b[4;1$y\x1b[99;0$y");
}

#[test]
fn colours() {
    let mut screen = fed("");
    screen.set_colours((1, 2, 3), (0xff, 0xff, 0xee), (4, 5, 6));
    assert_eq!(screen.feed(b"\x1b]10;?\x07"), b"\x1b]10;rgb:0101/0202/0303\x07");
    assert_eq!(screen.feed(b"\x1b]11;?\x1b\\"), b"\x1b]11;rgb:ffff/ffff/eeee\x1b\\");
    assert_eq!(screen.feed(b"\x1b]12;?\x1b\\"), b"\x1b]12;rgb:0404/0505/0606\x1b\\");
    let both = b"\x1b]10;rgb:0101/0202/0303\x07\x1b]11;rgb:ffff/ffff/eeee\x07";
    assert_eq!(screen.feed(b"\x1b]10;?;?\x07"), both);
    assert_eq!(screen.feed(b"\x1b[?996n"), b"\x1b[?997;2n");
    assert_eq!(screen.feed(b"\x1b]11;#000000\x07\x1b]11;?\x07"), b"\x1b]11;rgb:ffff/ffff/eeee\x07");
}

#[test]
fn sizes() {
    assert_eq!(answer("\x1b[18t"), "\x1b[8;24;80t");
    assert_eq!(answer("\x1b[14t"), "\x1b[4;384;640t");
    assert_eq!(answer("\x1b[16t"), "\x1b[6;16;8t");
    // A title is text that the program chose; it never comes back as input.
    assert_eq!(answer("\x1b]2;rm -rf\x07\x1b[21t\x1b[20t"), "");
}

#[test]
fn keyboard_and_strings() {
    assert_eq!(answer("\x1b[?u"), "", "no answer says that the kitty keyboard protocol is not spoken");
    assert_eq!(answer("\x1bP$qm\x1b\\"), "\x1bP0$r\x1b\\");
    assert_eq!(answer("\x1bP+q544e\x1b\\"), "\x1bP0+r\x1b\\");
    assert_eq!(answer("\x1bP$qm\x18"), "");
}

#[test]
fn clipboard_is_not_readable() {
    assert_eq!(answer("\x1b]52;c;?\x07\x1b]52;p;?\x1b\\"), "");
}

#[test]
fn answers_keep_their_order_over_any_split() {
    let questions = "\x1b[5n\x1b]11;?\x07\x1b[6n\x1bP$qm\x1b\\\x1b[c\x1b[?u";
    let whole = answer(questions);
    assert!(whole.starts_with("\x1b[0n\x1b]11;rgb:") && whole.ends_with("\x1b[?62;22c"));
    for at in 0..questions.len() {
        let mut screen = Screen::new(24, 80, 0);
        let mut answers = screen.feed(&questions.as_bytes()[..at]);
        answers.extend(screen.feed(&questions.as_bytes()[at..]));
        assert_eq!(String::from_utf8_lossy(&answers), whole);
    }
}
