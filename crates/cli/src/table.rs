//! Rows for people to read.

use serde_json::Value;

use crate::outcome::text;

/// Longest text in a cell, in characters.
const CELL_MAX_CHARS: usize = 60;

/// A heading and the field that stands under it.
pub(crate) type Column<'a> = (&'a str, &'a str);

/// Lays out the rows of a list, or says that there are none.
pub(crate) fn rows(list: &Value, columns: &[Column<'_>], none: &str) -> String {
    let rows = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        return format!("{none}\n");
    }
    let mut lines = vec![columns.iter().map(|(heading, _)| (*heading).to_owned()).collect::<Vec<_>>()];
    for row in rows {
        lines.push(columns.iter().map(|(_, field)| cell(row, field)).collect());
    }
    let width = |index: usize| lines.iter().map(|line| line[index].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// An id is cut to the part that people type.
fn cell(row: &Value, field: &str) -> String {
    match row.get(field) {
        Some(Value::String(_)) if field == "id" => text(row, field).chars().take(8).collect(),
        Some(Value::String(_)) | None | Some(Value::Null) => shortened(&text(row, field)),
        Some(other) => other.to_string(),
    }
}

/// A long text would push the other columns out of sight; `--json` and `show` have it whole.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= CELL_MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(CELL_MAX_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn columns_line_up_and_control_characters_stay_out() {
        let list = json!([{"id": "0123456789", "name": "a\u{1b}[31m"}, {"id": "x", "name": null}]);
        let table = super::rows(&list, &[("ID", "id"), ("NAME", "name")], "nothing");
        assert_eq!(table, "ID        NAME\n01234567  a [31m\nx         -\n");
        assert_eq!(super::rows(&json!([]), &[("ID", "id")], "nothing"), "nothing\n");
    }
}
