//! Watching a run from the outside: one thread that blocks until its supervisor has something to
//! say, feeds the screen model where there is one, and notices the end.

use carillon_core::id::RunId;
use carillon_supervisor::{Control, Event, LogReader};

use crate::host::Host;
use crate::host::outlet::Outlet;
use crate::host::terminal::Terminal;
use crate::world::Report;

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
        outlet.publish(history);
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
                    if let Some(terminal) = terminal {
                        terminal.feed_to(end, history);
                    }
                }
                Ok(Event::Accepted { .. } | Event::Refused { .. }) => {}
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
