//! Durations and sizes as people write them: `90s`, `1h30m`, `64MiB`.

use std::fmt;

/// A text that is no quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAQuantity {
    /// What was written.
    pub text: String,
    /// How it could be written.
    pub like: &'static str,
}

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot be read; write it like {}", self.text, self.like)
    }
}

impl std::error::Error for NotAQuantity {}

/// Reads a duration in milliseconds. A number without a unit counts seconds. Never zero.
pub fn duration_ms(text: &str) -> Result<u64, NotAQuantity> {
    let bad = || NotAQuantity { text: text.to_owned(), like: "90s, 15m or 1h30m" };
    let unit_ms = |unit: &str| match unit {
        "ms" => Some(1.0),
        "s" | "" => Some(1_000.0),
        "m" | "min" => Some(60_000.0),
        "h" => Some(3_600_000.0),
        "d" => Some(86_400_000.0),
        _ => None,
    };
    let total = sum(text, unit_ms).ok_or_else(bad)?;
    if total < 1.0 { Err(bad()) } else { Ok(total as u64) }
}

/// Reads a size in bytes. A number without a unit counts bytes; KB is 1000 and KiB is 1024. Never
/// zero.
pub fn bytes(text: &str) -> Result<u64, NotAQuantity> {
    let bad = || NotAQuantity { text: text.to_owned(), like: "4096, 500KB or 64MiB" };
    let unit_bytes = |unit: &str| match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1.0),
        "k" | "kb" => Some(1e3),
        "m" | "mb" => Some(1e6),
        "g" | "gb" => Some(1e9),
        "kib" => Some(1_024.0),
        "mib" => Some(1_048_576.0),
        "gib" => Some(1_073_741_824.0),
        _ => None,
    };
    let total = sum(text, unit_bytes).ok_or_else(bad)?;
    if total < 1.0 { Err(bad()) } else { Ok(total as u64) }
}

/// Adds up pieces of a number and a unit; none when a piece is neither.
fn sum(text: &str, factor: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        total += number * factor(&rest[..letters])?;
        rest = rest[letters..].trim_start();
    }
    (total < 9e15).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_as_people_write_them() {
        assert_eq!(duration_ms("90s"), Ok(90_000));
        assert_eq!(duration_ms("1h30m"), Ok(5_400_000));
        assert_eq!(duration_ms("2"), Ok(2_000));
        assert_eq!(duration_ms("0.5s"), Ok(500));
        assert_eq!(duration_ms("250ms"), Ok(250));
        assert_eq!(bytes("64MiB"), Ok(64 << 20));
        assert_eq!(bytes("5 MB"), Ok(5_000_000));
        assert_eq!(bytes("4096"), Ok(4096));
        for bad in ["", "s", "3 weeks", "-1s", "1..2s", "0", "1e9s", "99999999999d", "ü"] {
            assert!(duration_ms(bad).is_err(), "{bad}");
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
