//! Names that people give to agents and profiles.

use std::fmt;

use crate::limits::NAME_MAX_CHARS;

/// What is wrong with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadName {
    /// Nothing is left of it without blanks.
    Empty,
    /// Longer than [`NAME_MAX_CHARS`]; holds its length in characters.
    TooLong(usize),
    /// Starts with a dash, so that a command line would take it for a flag.
    LeadingDash,
    /// Holds a character that is no letter, digit, dash, dot or underscore.
    Character(char),
    /// Looks like an id or the start of one, so that `show NAME` would be ambiguous.
    LooksLikeId,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a name is needed"),
            Self::TooLong(chars) => {
                write!(f, "the name has {chars} characters, at most {NAME_MAX_CHARS} are allowed")
            }
            Self::LeadingDash => write!(f, "a name cannot start with a dash"),
            Self::Character(c) => {
                write!(f, "{c:?} cannot be in a name: use letters, digits, '-', '_' and '.'")
            }
            Self::LooksLikeId => write!(f, "a name of 8 or more hex digits could be taken for an id"),
        }
    }
}

impl std::error::Error for BadName {}

/// Says whether `name` can stand on a command line and in a path.
pub fn check(name: &str) -> Result<(), BadName> {
    if name.trim().is_empty() {
        return Err(BadName::Empty);
    }
    let chars = name.chars().count();
    if chars > NAME_MAX_CHARS {
        return Err(BadName::TooLong(chars));
    }
    if name.starts_with('-') {
        return Err(BadName::LeadingDash);
    }
    if let Some(c) = name.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))) {
        return Err(BadName::Character(c));
    }
    if chars >= 8 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(BadName::LooksLikeId);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_a_command_line() {
        for good in ["ada", "claude-1", "büro", "v1.2_x", "face"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        assert_eq!(check(" "), Err(BadName::Empty));
        assert_eq!(check("-x"), Err(BadName::LeadingDash));
        assert_eq!(check("a/b"), Err(BadName::Character('/')));
        assert_eq!(check("a\u{1b}b"), Err(BadName::Character('\u{1b}')));
        assert_eq!(check("deadbeef01"), Err(BadName::LooksLikeId));
        assert_eq!(check(&"x".repeat(65)), Err(BadName::TooLong(65)));
    }
}
