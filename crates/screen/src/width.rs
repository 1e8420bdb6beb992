//! How many cells a character takes.

use unicode_width::UnicodeWidthChar;

/// Cells that `c` takes in the terminal: 0 (it joins the character before it), 1 or 2.
///
/// Widths are given by code point, as almost all terminals and programs count them: a flag is two
/// regional indicators of one cell each, an emoji sequence is the sum of its parts. The view has
/// to count the same way, or the cursor of the program and of the view drift apart.
#[must_use]
pub fn cell_width(c: char) -> usize {
    if matches!(c, ' '..='~') { 1 } else { c.width().unwrap_or(0).min(2) }
}
