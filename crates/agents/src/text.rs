//! Text that programs print, made fit to be kept and shown.

use std::fmt::Write as _;

use carillon_core::plain::is_plain;

/// The text without control sequences and characters that hide or turn, with lines and tabs kept, trimmed.
pub(crate) fn cleaned(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let kept: String =
        without_sequences(&text).chars().filter(|c| is_plain(*c) || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

/// The last lines that say something, at most `lines` of them and about `chars_max` characters, as one text.
pub(crate) fn last_words(bytes: &[u8], lines: usize, chars_max: usize) -> String {
    let text = cleaned(bytes);
    let mut last: Vec<&str> =
        text.lines().rev().map(str::trim_end).filter(|line| !line.is_empty()).take(lines).collect();
    last.reverse();
    shortened(&last.join("\n"), chars_max)
}

/// At most `chars_max` characters, from the end of the text.
fn shortened(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let rest: String = text.chars().skip(count - chars_max).collect();
    format!("…{rest}")
}

/// One line of at most `chars_max` characters, from the beginning of the text.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = cleaned(words.join(" ").as_bytes());
    if line.chars().count() <= chars_max {
        return line;
    }
    let mut cut: String = line.chars().take(chars_max).collect();
    let _ = write!(cut, "…");
    cut
}

/// What a terminal would show of the text, more or less: escape sequences are cut out whole, a carriage return before
/// a line's end goes.
fn without_sequences(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => skip_parameters(&mut chars),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                // A sequence of two or three characters; intermediate ones stand between space and `/`.
                Some(' '..='/') => {
                    chars.next();
                }
                Some(_) | None => {}
            },
            '\u{9b}' => skip_parameters(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            _ => shown.push(c),
        }
    }
    shown
}

fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.peek() {
        match c {
            '@'..='~' => {
                chars.next();
                return;
            }
            ' '..='?' => {
                chars.next();
            }
            // Broken off: what follows is text again.
            _ => return,
        }
    }
}

/// Goes to the end of a control string. One that has no end on its line was none.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.peek().copied() {
        if c == '\n' {
            return;
        }
        chars.next();
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_go_and_lines_stay() {
        let raw = b"\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07two\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n\tthree\x1b(B \xff\n\n";
        assert_eq!(cleaned(raw), "red\ntwolink\n\tthree \u{fffd}");
        assert_eq!(cleaned("a\u{9b}31mb\u{202e}c\x1b[".as_bytes()), "abc");
        assert_eq!(cleaned(b"\x1b]0;no end\nnext"), "next");
        assert_eq!(cleaned(b" \n \x1b[0m"), "");
    }

    #[test]
    fn the_last_words_are_few() {
        assert_eq!(last_words(b"a\n\nb\nc\n\n", 2, 100), "b\nc");
        assert_eq!(last_words("ééééé".as_bytes(), 2, 3), "…ééé");
        assert_eq!(last_words(b"", 2, 3), "");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line(" a\n  b\tc ", 10), "a b c");
        assert_eq!(one_line("ééééé", 3), "ééé…");
    }
}
