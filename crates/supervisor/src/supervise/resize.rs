//! Sizes of the terminal: only the latest counts, and not every one of a storm is applied.

use rustix::termios::Winsize;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The shortest time between two changes. Dragging a window edge for a second then costs the program
/// a dozen redraws, and the last size is at most this late.
pub(super) const PAUSE: Duration = Duration::from_millis(80);

/// Decides when a size is applied.
#[derive(Debug, Default)]
pub(super) struct Resizer {
    wanted: Option<(u16, u16)>,
    not_before: Option<Instant>,
}

impl Resizer {
    /// Wants a size of (columns, rows); one without any cells is no size.
    pub(super) fn want(&mut self, cols: u16, rows: u16) {
        if cols > 0 && rows > 0 {
            self.wanted = Some((cols, rows));
        }
    }

    /// When something is to be done; None: nothing is wanted.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.wanted.map(|_| self.not_before.unwrap_or(now))
    }

    /// The size to apply at this moment, if any.
    pub(super) fn take(&mut self, now: Instant) -> Option<(u16, u16)> {
        if self.due(now)? > now {
            return None;
        }
        self.not_before = Some(now + PAUSE);
        self.wanted.take()
    }
}

/// Tells the terminal its size; the kernel signals the program if it differs from the last.
pub(super) fn apply(terminal: BorrowedFd<'_>, (cols, rows): (u16, u16)) {
    let size = Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    // It fails only for a terminal that nobody has any more.
    let _ = rustix::termios::tcsetwinsize(terminal, size);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_thinned_out_and_its_last_size_wins() {
        let start = Instant::now();
        let mut resizer = Resizer::default();
        let mut applied = Vec::new();
        for step in 0..100u16 {
            let now = start + Duration::from_millis(u64::from(step) * 10);
            resizer.want(80 + step, 24);
            applied.extend(resizer.take(now));
        }
        let due = resizer.due(start).expect("the last one is still wanted");
        assert!(due <= start + Duration::from_millis(990) + PAUSE);
        applied.extend(resizer.take(due));
        assert!(applied.len() <= 15, "{} changes", applied.len());
        assert_eq!(applied.first(), Some(&(80, 24)));
        assert_eq!(applied.last(), Some(&(179, 24)));
        assert_eq!(resizer.due(due), None);
    }

    #[test]
    fn a_size_without_cells_is_ignored() {
        let mut resizer = Resizer::default();
        for (cols, rows) in [(0, 0), (0, 24), (80, 0)] {
            resizer.want(cols, rows);
            assert_eq!(resizer.take(Instant::now()), None);
        }
    }
}
