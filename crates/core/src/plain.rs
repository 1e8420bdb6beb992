//! Text that can be shown anywhere: one that neither moves a cursor nor reorders what stands around it.

/// Whether a character only shows itself: no control character, no mark that changes the direction of
/// text, none that cannot be seen.
pub fn is_plain(c: char) -> bool {
    let hides_or_turns = matches!(c,
        '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_control() && !hides_or_turns
}

/// The text with a blank in place of each control character and without what hides or turns.
pub fn plain(text: &str) -> String {
    let shown = text.chars().filter(|c| is_plain(*c) || c.is_control());
    shown.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_turns_or_hides() {
        assert_eq!(plain("a\u{1b}[31mb\n\u{9b}c"), "a [31mb  c");
        assert_eq!(plain("gnp\u{202e}.exe\u{200b}\u{2066}x"), "gnp.exex");
        assert_eq!(plain("büro 鐘 👩"), "büro 鐘 👩");
    }
}
