//! The form in which a prompt is typed: bytes that a program takes for one text, whatever is in it.

use std::ops::Range;

/// How the program of a terminal takes what is pasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Between brackets (mode 2004): it keeps line ends apart from Enter.
    Marked,
    /// As keys. A line end would be Enter, and a tab would complete a word.
    Keys,
}

impl Form {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Marked => "marked",
            Self::Keys => "keys",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        [Self::Marked, Self::Keys].into_iter().find(|form| form.word() == word)
    }
}

/// Most bytes that are typed at once; the next ones follow when these were read. A terminal holds
/// 4,096 bytes that nobody has read yet.
pub(crate) const PIECE_BYTES: usize = 2_048;
/// Longest line that a program can be given that leaves the line to the terminal, in bytes: Linux
/// keeps 4,096 with the line end and drops what follows.
pub(crate) const COOKED_LINE_BYTES: usize = 4_095;

const PASTE_BEGIN: &str = "\x1b[200~";
const PASTE_END: &str = "\x1b[201~";

/// The bytes of a prompt without the Enter that sends it off.
///
/// Control characters become their pictures (␛ for the escape), so that no text can end the paste
/// before its end or press a key. Line ends are line feeds between brackets; as keys they become a
/// space each, since to a program without brackets every line end is Enter and would send off a
/// fragment. Line ends at the end are left out.
pub(crate) fn typed(prompt: &str, form: Form) -> String {
    let text = prompt.trim_end_matches(['\r', '\n']);
    let mut out = String::with_capacity(text.len() + PASTE_BEGIN.len() + PASTE_END.len());
    if form == Form::Marked {
        out.push_str(PASTE_BEGIN);
    }
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, form) {
            ('\r', _) if chars.peek() == Some(&'\n') => {}
            ('\r' | '\n', Form::Marked) => out.push('\n'),
            ('\t', Form::Marked) => out.push('\t'),
            ('\r' | '\n' | '\t', Form::Keys) => out.push(' '),
            _ => out.push(harmless(c)),
        }
    }
    if form == Form::Marked {
        out.push_str(PASTE_END);
    }
    out
}

fn harmless(c: char) -> char {
    match u32::from(c) {
        // Unicode has a picture of each, in the same order.
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        // Of these there are no pictures; U+009B begins a sequence as `ESC [` does.
        0x80..=0x9f => '\u{fffd}',
        _ => c,
    }
}

/// Where to cut: pieces of at most [`PIECE_BYTES`], each of whole characters, none with a part of a
/// bracket.
pub(crate) fn pieces(typed: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while from < typed.len() {
        let mut to = (from + PIECE_BYTES).min(typed.len());
        // A bracket is no longer than this, so it never stands in two pieces.
        if to < typed.len() && typed.len() - to < PASTE_END.len() {
            to = typed.len() - PASTE_END.len();
        }
        while !typed.is_char_boundary(to) {
            to -= 1;
        }
        out.push(from..to);
        from = to;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_brackets_a_text_stays_as_it_is() {
        let text = "one\n\n\ttwo \u{20ac}\nthree";
        assert_eq!(typed(text, Form::Marked), format!("\x1b[200~{text}\x1b[201~"));
        assert_eq!(typed("a\r\nb\rc\r\n\n", Form::Marked), "\x1b[200~a\nb\nc\x1b[201~");
    }

    #[test]
    fn as_keys_it_is_one_line() {
        assert_eq!(typed("a\nb\r\nc\td\n", Form::Keys), "a b c d");
    }

    #[test]
    fn nothing_in_a_text_ends_its_paste_or_presses_a_key() {
        for end in ["\x1b[201~", "\u{9b}201~", "\x1b\x1b[201~", "\x03", "\x7f", "\x1b"] {
            for form in [Form::Marked, Form::Keys] {
                let bytes = typed(&format!("rm{end}\rx"), form);
                let inner = bytes.trim_start_matches(PASTE_BEGIN).trim_end_matches(PASTE_END);
                let keys: Vec<char> = inner.chars().filter(|c| c.is_control() && *c != '\n').collect();
                assert!(keys.is_empty(), "{end:?} {form:?}: {inner:?}");
                assert_eq!(bytes.matches('\x1b').count(), if form == Form::Marked { 2 } else { 0 });
            }
        }
        assert_eq!(typed("\x1b[201~", Form::Keys), "\u{241b}[201~");
    }

    #[test]
    fn pieces_are_short_whole_and_all() {
        for length in [0, 1, PIECE_BYTES - 7, PIECE_BYTES - 3, PIECE_BYTES, PIECE_BYTES + 1, 9_999, 102_400] {
            for unit in ["x", "\u{20ac}", "\u{1f514}"] {
                let text = typed(&unit.repeat(length / unit.len()), Form::Marked);
                let all = pieces(&text);
                let joined: String = all.iter().map(|range| &text[range.clone()]).collect();
                assert_eq!(joined, text);
                assert!(all.iter().all(|range| !range.is_empty() && range.len() <= PIECE_BYTES));
                assert!(text[all.last().expect("the brackets").clone()].ends_with(PASTE_END));
            }
        }
    }

    #[test]
    fn a_form_is_read_as_it_was_written() {
        for form in [Form::Marked, Form::Keys] {
            assert_eq!(Form::of_word(form.word()), Some(form));
        }
        assert_eq!(Form::of_word("other"), None);
    }
}
