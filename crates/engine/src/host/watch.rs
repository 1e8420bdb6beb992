//! Watching a run from the outside: one thread that blocks until its supervisor has something to
//! say, feeds the screen model and notices the end.

use std::sync::Arc;

use carillon_core::id::RunId;
use carillon_supervisor::{Control, Event};

use crate::host::Host;
use crate::host::terminal::Terminal;
use crate::world::Report;

impl Host {
    /// Returns when the supervisor has let go.
    pub(crate) fn watch(
        &self,
        run: &RunId,
        mut control: Control,
        terminal: &Arc<Terminal>,
        history: u64,
        report: &Report,
    ) {
        let mut told = false;
        // Output that is already there counts as new: nothing was read yet.
        terminal.publish(history);
        terminal.feed_to(history, history);
        loop {
            if !told {
                told = self.tell_of_the_start(run, report);
            }
            control.wait_output(terminal.fed());
            match control.next() {
                Ok(Event::Output { end }) => {
                    terminal.publish(end);
                    terminal.feed_to(end, history);
                }
                Ok(Event::Accepted { .. } | Event::Refused { .. }) => {}
                Ok(Event::Closed) => break,
                Err(error) => {
                    tracing::debug!(%run, %error, "the supervisor's connection broke");
                    break;
                }
            }
        }
        terminal.finish(history);
    }

    /// Reports the start once the supervisor has recorded the program's process.
    fn tell_of_the_start(&self, run: &RunId, report: &Report) -> bool {
        let Ok(Some(facts)) = self.facts_of_live(run) else { return false };
        report.began(run, facts);
        true
    }
}
