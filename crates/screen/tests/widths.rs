//! The window counts cells by the model's own table. With `CARILLON_BINDINGS=write` the file is
//! written; without, the test says whether it is as it should be.

use std::path::Path;

use carillon_screen::cell_width;

/// `[first, last, width]` for each stretch of characters that do not take one cell.
fn table() -> String {
    let mut stretches: Vec<(u32, u32, usize)> = Vec::new();
    // Surrogates are no characters; any width will do for them.
    for code in 0x20..=0x10ffff {
        let width = char::from_u32(code).map_or(1, cell_width);
        match stretches.last_mut() {
            Some((_, last, same)) if *same == width => *last = code,
            _ => stretches.push((code, code, width)),
        }
    }
    let rows: Vec<String> = stretches
        .iter()
        .filter(|(_, _, width)| *width != 1)
        .map(|(first, last, width)| format!("[{first},{last},{width}]"))
        .collect();
    format!("[{}]\n", rows.join(","))
}

#[test]
fn the_windows_widths_are_those_of_the_model() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/generated/widths.json");
    let wanted = table();
    if std::env::var_os("CARILLON_BINDINGS").is_some_and(|value| value == "write") {
        std::fs::write(&path, &wanted).expect("the generated file can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is stale: run `npm run bindings`", path.display());
}
