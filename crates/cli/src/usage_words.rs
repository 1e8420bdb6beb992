//! What turns have used, on one line: "12.3k in, 850 out, $0.0412".

use serde_json::Value;

/// The words for a `usage` of an answer; none when nobody told anything.
pub(crate) fn used(usage: &Value) -> Option<String> {
    let count = |field: &str| usage.get(field).and_then(Value::as_u64);
    let tokens = [("input_tokens", "in"), ("output_tokens", "out")]
        .into_iter()
        .filter_map(|(field, word)| Some(format!("{} {word}", short(count(field)?))));
    let price = count("cost_micro_usd").map(|micro| {
        // Turns that told no price cost something as well.
        let is_least = count("priced_turns") < count("turns");
        format!("{}{}", if is_least { "at least " } else { "" }, dollars(micro))
    });
    let all: Vec<String> = tokens.chain(price).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Puts the words for the usage of each row beside it, for a table.
pub(crate) fn with_used(mut list: Value) -> Value {
    for row in list.as_array_mut().into_iter().flatten() {
        row["used"] = used(&row["usage"]).map_or(Value::Null, Value::String);
    }
    list
}

fn short(count: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| count >= *unit) {
        Some((unit, letter)) => {
            let tenths = u128::from(count) * 10 / u128::from(unit);
            match tenths {
                0..1_000 => format!("{}.{}{letter}", tenths / 10, tenths % 10),
                _ => format!("{}{letter}", tenths / 10),
            }
        }
        None => count.to_string(),
    }
}

fn dollars(micro: u64) -> String {
    match micro {
        0..1_000_000 => format!("$0.{:04}", micro / 100),
        _ => format!("${}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_used_is_one_line_and_unknown_is_no_zero() {
        let all = json!({"turns": 2, "priced_turns": 2, "input_tokens": 12_345, "output_tokens": 850,
            "cost_micro_usd": 41_250});
        assert_eq!(used(&all).as_deref(), Some("12.3k in, 850 out, $0.0412"));
        let some = json!({"turns": 2, "priced_turns": 1, "input_tokens": null, "output_tokens": 0,
            "cost_micro_usd": 2_345_678});
        assert_eq!(used(&some).as_deref(), Some("0 out, at least $2.34"));
        assert_eq!(used(&Value::Null), None);
        assert_eq!(with_used(json!([{"usage": null}]))[0]["used"], Value::Null);
    }

    #[test]
    fn counts_are_short_at_every_size() {
        let counts = [0, 999, 1_000, 99_999, 100_000, 1_234_567, 9_007_199_254_740_991];
        assert_eq!(counts.map(short), ["0", "999", "1.0k", "99.9k", "100k", "1.2M", "9007199G"]);
    }
}
