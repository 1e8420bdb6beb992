//! Watching a run from the outside: one thread that blocks until its supervisor has something to
//! say, feeds the screen model where there is one, and notices the end.

use std::time::{Duration, Instant};

use carillon_core::id::RunId;
use carillon_supervisor::{Control, Event, LogReader};

use crate::host::Host;
use crate::host::outlet::Outlet;
use crate::host::terminal::Terminal;
use crate::world::Report;

/// More than so many bytes within [`PACE_SPAN`] are a flood, of which nobody can see every line.
const FLOOD_BYTES: u64 = 1024 * 1024;
/// See [`FLOOD_BYTES`].
const PACE_SPAN: Duration = Duration::from_millis(50);
/// In a flood the model looks no more often than this: what has gathered meanwhile it can skip, all
/// but the end, and the processor is left to the others. Shorter than what an eye can tell.
const FLOOD_PAUSE: Duration = Duration::from_millis(20);

/// How fast a terminal's output comes.
struct Pace {
    since: Instant,
    bytes: u64,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { since: now, bytes: 0 }
    }

    /// Counts what came and says whether it is a flood.
    fn is_flood(&mut self, bytes: u64, now: Instant) -> bool {
        if now.duration_since(self.since) > PACE_SPAN {
            *self = Self::new(now);
        }
        self.bytes += bytes;
        self.bytes > FLOOD_BYTES
    }
}

impl Host {
    /// Returns when the supervisor has let go. What stands in the log before `history` is not new:
    /// its questions to the terminal were answered or given up.
    pub(crate) fn watch(
        &self,
        run: &RunId,
        mut control: Control,
        outlet: &Outlet,
        terminal: Option<&Terminal>,
        history: u64,
        report: &Report,
    ) {
        let mut told = false;
        let mut pace = Pace::new(Instant::now());
        outlet.begin_at(history);
        if let Some(terminal) = terminal {
            terminal.feed_to(history, history);
        }
        loop {
            if !told {
                told = self.tell_of_the_start(run, report);
            }
            control.wait_output(terminal.map_or(outlet.end().0, Terminal::fed));
            match control.next() {
                Ok(Event::Output { end }) => {
                    // The views first, so that an echo does not wait for the model.
                    outlet.publish(end);
                    if outlet.pulse.goes_on() {
                        report.attention_over(run);
                    }
                    if let Some(terminal) = terminal {
                        let before = terminal.fed();
                        terminal.feed_to(end, history);
                        if pace.is_flood(terminal.fed() - before, Instant::now()) {
                            std::thread::sleep(FLOOD_PAUSE);
                        }
                    }
                }
                Ok(Event::Accepted { id }) => outlet.pulse.answered(id, true),
                Ok(Event::Refused { id }) => outlet.pulse.answered(id, false),
                Ok(Event::Closed) => break,
                Err(error) => {
                    tracing::debug!(%run, %error, "the supervisor's connection broke");
                    break;
                }
            }
        }
        let end = LogReader::open(&outlet.dir).and_then(|log| log.end()).unwrap_or(outlet.end().0);
        outlet.publish(end);
        if let Some(terminal) = terminal {
            terminal.finish(end);
        }
        outlet.finish(end);
    }

    /// Reports the start once the supervisor has recorded the program's process.
    fn tell_of_the_start(&self, run: &RunId, report: &Report) -> bool {
        let Ok(Some(facts)) = self.facts_of_live(run) else { return false };
        report.began(run, facts);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_what_comes_fast_and_not_what_adds_up() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut at = start;
        for _ in 0..100 {
            at += PACE_SPAN + Duration::from_millis(1);
            assert!(!pace.is_flood(FLOOD_BYTES, at), "a redraw now and then");
        }
        assert!(pace.is_flood(1, at));
        assert!(pace.is_flood(FLOOD_BYTES + 1, at + FLOOD_PAUSE), "it goes on");
        assert!(!pace.is_flood(100, at + PACE_SPAN * 2), "it is over");
    }
}
