//! Prints the widths of all characters that do not take one cell, as JSON: `[first, last, width]`
//! for each stretch. A view that counts by this table agrees with the model.
//!
//! `cargo run -p carillon-screen --example widths`

use carillon_screen::cell_width;

fn main() {
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
    println!("[{}]", rows.join(","));
}
