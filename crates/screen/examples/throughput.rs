//! How fast the model reads floods of output, and what snapshots cost.
//!
//! `cargo run --release -p carillon-screen --example throughput`

use std::time::{Duration, Instant};

use carillon_screen::Screen;

const FLOOD_BYTES: usize = 64 << 20;
const CHUNK_BYTES: usize = 64 << 10;

fn flood(line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FLOOD_BYTES + 256);
    let mut number = 0;
    while bytes.len() < FLOOD_BYTES {
        bytes.extend_from_slice(line(number).as_bytes());
        number += 1;
    }
    bytes
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

fn measure(name: &str, bytes: &[u8], history: usize) {
    let mb = bytes.len() as f64 / 1e6;
    let mut fed = Screen::new(40, 120, history);
    let ((), feeding) = timed(|| {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            fed.feed(chunk);
        }
    });
    let mut skipped = Screen::new(40, 120, history);
    let (_, skipping) = timed(|| skipped.skip_to_tail(bytes));
    let (snapshot, taking) = timed(|| fed.snapshot());
    assert_eq!(snapshot, skipped.snapshot(), "skipping is exact");
    println!(
        "{name:<7} {history:>6} lines  feed {:>5.0} MB/s  skip {:>6.1} ms ({:>6.0} MB/s)  snapshot {:>5} KB in {:?}",
        mb / feeding.as_secs_f64(),
        skipping.as_secs_f64() * 1e3,
        mb / skipping.as_secs_f64(),
        snapshot.len() / 1024,
        taking,
    );
}

fn main() {
    let text = |n| format!("line {n:07} the quick brown fox jumps over the lazy dog and runs along\r\n");
    let floods = [
        ("text", flood(text)),
        ("yes", flood(|_| "y\r\n".to_owned())),
        (
            "styled",
            flood(|n| format!("\x1b[32mline\x1b[0m {n:07} \x1b[1;38;5;99mthe quick\x1b[m brown fox\r\n")),
        ),
        ("wide", flood(|n| format!("{n} 终端模型读取输出 — größer ✅ fertig\r\n"))),
    ];
    for history in [2_000, 10_000] {
        for (name, bytes) in &floods {
            measure(name, bytes, history);
        }
    }
}
