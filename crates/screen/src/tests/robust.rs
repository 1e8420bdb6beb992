use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{cases, fed, history};
use crate::Screen;

/// Bytes that lean towards what parsers trip over.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        proptest::sample::select(b"\x1b\x1b\x1b[[];:?>!$ \"'0123456789999mhlHJKLMPSTXrbc".to_vec()),
        proptest::sample::select(b"\r\n\t\x08\x0e\x18\xe4\xb8\xad\xf0\x9f\x98\x80\xcc\x81\xc2\x9b".to_vec()),
    ];
    vec(byte, 0..600)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_bytes_at_any_size(
        steps in vec((bytes(), any::<bool>(), 0u16..6, 0u16..6), 1..5),
        limit in 0usize..5,
    ) {
        let mut screen = Screen::new(1, 1, limit);
        for (bytes, resize, rows, cols) in steps {
            screen.feed(&bytes);
            screen.skip_to_tail(&bytes);
            let _ = (screen.snapshot(), screen.text());
            if resize {
                screen.resize(rows, cols);
            }
        }
    }
}

#[test]
fn short_sequences_with_huge_numbers_are_cheap() {
    let started = Instant::now();
    let mut screen = Screen::new(40, 120, 1000);
    for last in "@ABCDEFGHILMPSTXZ`abdegrm".chars() {
        for _ in 0..100 {
            screen.feed(format!("x\x1b[99999999999{last}").as_bytes());
        }
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn strings_without_an_end_take_no_memory() {
    for start in ["\x1b]2;", "\x1bP", "\x1b_", "\x1b[", "\x1b[1;", "\x1b#", "\x1b]"] {
        let mut screen = fed(start);
        let piece = match start {
            "\x1b[" | "\x1b[1;" => "1;".repeat(50_000),
            "\x1b#" => "#".repeat(100_000),
            _ => "a".repeat(100_000),
        };
        for _ in 0..10 {
            screen.feed(piece.as_bytes());
        }
        assert!(screen.snapshot().len() < 20_000, "{start:?}");
        screen.feed(b"\x18ok");
        assert!(screen.text().ends_with("ok"), "{start:?}");
    }
}

#[test]
fn history_has_its_bound() {
    let mut screen = Screen::new(3, 10, 100);
    for n in 0..1000 {
        screen.feed(format!("{n}\r\n").as_bytes());
    }
    let lines = history(&screen);
    assert_eq!((lines.len(), lines[0].as_str(), lines[99].as_str()), (100, "898", "997"));
}
