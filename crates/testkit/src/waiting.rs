//! Waiting for what a test expects, with a bound.

use std::time::{Duration, Instant};

/// The longest that any wait of a test takes before it fails. Only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Looks again and again until `look` finds something, and panics with `what` when the patience is
/// over. For what no descriptor or child tells by itself; where an event exists, wait for that.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
