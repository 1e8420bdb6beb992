//! Text of agents and programs, made fit for a terminal and for a model: lines and tabs stay, nothing
//! in it moves a cursor, changes a colour, turns the direction or hides.

use std::borrow::Cow;

use carillon_core::plain::is_plain;

/// The text without control sequences and invisible characters. A carriage return ends a line.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let stays = |c: char| is_plain(c) || c == '\n' || c == '\t';
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    // Sequences go whole; what is left of broken ones, and the characters of the upper control range,
    // go one by one.
    let text = anstream::adapter::strip_str(text).to_string().replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(text.chars().filter(|c| stays(*c)).collect())
}

/// At most `max` bytes from the beginning, cut between characters.
pub(crate) fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// At most `max` bytes from the end, cut between characters.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_terminal_is_left() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\r\nb\rc\td"), "ared\nb\nc\td");
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{1b}]52;c;aGk=\u{1b}\\y"), "xy");
        assert_eq!(clean("a\u{9b}31m\u{85}b\u{202e}c\u{200b}d\0"), "a31mbcd");
        assert!(matches!(clean("büro 鐘\n\tx"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!((head("äbc", 1), head("äbc", 2), head("äbc", 9)), ("", "ä", "äbc"));
        assert_eq!((tail("abü", 1), tail("abü", 2), tail("abü", 9)), ("", "ü", "abü"));
    }
}
