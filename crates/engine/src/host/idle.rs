//! Whether the program of a terminal is free for a turn, and who hears when it has become so.
//!
//! A program that tells of its turns is believed. Of any other it is judged from outside, and every
//! doubt means that it is not free: a prompt in the middle of its work could cancel it, and an Enter
//! into a question of its own would answer that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use carillon_core::id::RunId;
use carillon_core::limits;

use crate::host::typing::{Mark, lock};
use crate::host::{Host, linux};
use crate::main_loop::now_ms;
use crate::world::{Report, TerminalFacts};

/// Output within this time means that the program is at something.
const QUIET: Duration = Duration::from_millis(300);
/// A program that was asked to break off and is quiet for so long has done so, whether or not it tells.
const BROKEN_OFF: Duration = Duration::from_millis(2_000);
/// A program that tells nothing is up after this time, in milliseconds.
const UP_AFTER_MS: i64 = 3_000;
/// Pause between two looks at what no event tells: the shell that takes its terminal back.
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait for an event before everything is looked at anew.
const LOOK_MAX: Duration = Duration::from_millis(1_000);
/// As long as a question stands there, something that asks no more is output.
const QUESTION_MAX: Duration = Duration::from_secs(60);

/// Why a terminal is not free, with what will change that.
enum Taken {
    /// It is free.
    Free,
    /// There is no program, or its supervisor is not connected: the loop hears of either.
    Gone,
    /// The user has begun a line, a prompt is being typed, or the program is at a turn and will tell:
    /// each comes with an event of its own.
    UntilTold,
    /// Until this time, unless something happens.
    Until(Instant),
    /// Until one of these processes has ended.
    Processes(Vec<u32>),
    /// Until the program says something else.
    UntilOutput(u64),
}

impl Host {
    pub(crate) fn facts_of_terminal(&self, run: &RunId) -> TerminalFacts {
        let typing = lock(&self.keyboard(run)).is_taken();
        let busy = !typing && !matches!(self.taken(run, true), Taken::Free);
        let broken_off = self.was_broken_off(run);
        TerminalFacts {
            typing,
            busy,
            tells_ends: self.has_mark(run, Mark::Hooks),
            // Free after it was broken off, it is at nothing, although it has not told so.
            at_turn: self.has_mark(run, Mark::Busy) && (busy || !broken_off),
            broken_off,
        }
    }

    /// Whether a prompt could be typed at this moment by who holds the keys.
    pub(crate) fn is_free_for_holder(&self, run: &RunId) -> bool {
        let is_empty = lock(&self.keyboard(run)).line.is_empty();
        is_empty && matches!(self.taken(run, false), Taken::Free)
    }

    fn taken(&self, run: &RunId, by_holder: bool) -> Taken {
        // Looked up without waiting: the loop asks.
        let Some(outlet) = self.outlets().get(run).cloned().filter(|outlet| outlet.is_live()) else {
            return Taken::Gone;
        };
        let (end, quiet) = outlet.pulse.quiet();
        let now = Instant::now();
        let broke_off = {
            let keyboard = self.keyboard(run);
            let keys = lock(&keyboard);
            if by_holder && keys.is_taken() {
                return Taken::UntilTold;
            }
            match keys.sent {
                Some(sent) if sent.elapsed() < Self::SENT_MAX => return Taken::Until(sent + Self::SENT_MAX),
                Some(_) | None => {}
            }
            keys.broke_off
        };
        match (self.has_mark(run, Mark::Busy), broke_off) {
            (false, _) => {}
            (true, None) => return Taken::UntilTold,
            (true, Some(at)) => {
                let free = (at + BROKEN_OFF).max(now - quiet + BROKEN_OFF);
                if now < free {
                    return Taken::Until(free);
                }
            }
        }
        match self.has_mark(run, Mark::Begins) {
            true => Taken::Free,
            false => self.taken_by_itself(run, now, end, quiet),
        }
    }

    /// Of a program that does not tell when it begins something.
    fn taken_by_itself(&self, run: &RunId, now: Instant, end: u64, quiet: Duration) -> Taken {
        let Ok(Some(leader)) = self.facts_of_live(run) else { return Taken::Until(now + LOOK) };
        let (Some(pid), Some(started_ms)) = (leader.pid, leader.started_ms) else {
            return Taken::Until(now + LOOK);
        };
        let up_after_ms = match self.has_mark(run, Mark::Awaited) {
            true => limits::TERMINAL_READY_MS,
            false => UP_AFTER_MS,
        };
        let missing_ms = (started_ms + up_after_ms - now_ms()).min(up_after_ms);
        if let Ok(missing_ms @ 1..) = u64::try_from(missing_ms) {
            return Taken::Until(now + Duration::from_millis(missing_ms));
        }
        if quiet < QUIET {
            return Taken::Until(now + (QUIET - quiet));
        }
        let Some(stat) = linux::stat(pid) else { return Taken::Until(now + LOOK) };
        if let Ok(foreground @ 1..) = u32::try_from(stat.foreground)
            && stat.foreground != stat.group
        {
            return Taken::Processes(vec![foreground]);
        }
        let mut children = linux::children(pid);
        // Ours serves the program for as long as it lives.
        children.retain(|pid| linux::name(*pid).is_none_or(|name| name != "carillon"));
        if !children.is_empty() {
            return Taken::Processes(children);
        }
        let answered = lock(&self.keyboard(run)).answered;
        if self.asks_surely(run, answered) { Taken::UntilOutput(end) } else { Taken::Free }
    }

    /// Reports once the terminal of a run may have become free, by what no request tells.
    pub(crate) fn watch_terminal_in_background(self: &Arc<Self>, run: &RunId, report: Report) {
        {
            let mut watched = self.watched_terminals();
            if let Some(again) = watched.get_mut(run) {
                *again = true;
                return;
            }
            watched.insert(run.clone(), false);
        }
        let (host, watched) = (self.clone(), run.clone());
        let work = move || host.watch_until_free(&watched, &report);
        if let Err(error) = std::thread::Builder::new().name("free".to_owned()).spawn(work) {
            self.watched_terminals().remove(run);
            tracing::error!(%run, %error, "no thread to wait for a terminal; what waits for it goes on with its next event");
        }
    }

    fn watch_until_free(&self, run: &RunId, report: &Report) {
        // An adopted run is connected on a thread of its own.
        drop(self.outlet(run));
        loop {
            match self.taken(run, true) {
                Taken::Free => {
                    self.watched_terminals().remove(run);
                    report.terminal_changed(run);
                    return;
                }
                Taken::Gone | Taken::UntilTold => {
                    let mut watched = self.watched_terminals();
                    // Who asked once more meanwhile may have seen another state than this.
                    match watched.get_mut(run) {
                        Some(again) if *again => *again = false,
                        Some(_) | None => {
                            watched.remove(run);
                            return;
                        }
                    }
                }
                Taken::Until(at) => self.wait_for_time(at),
                Taken::Processes(pids) => {
                    linux::wait_for_an_end(&pids, LOOK_MAX);
                    std::thread::sleep(LOOK);
                }
                Taken::UntilOutput(end) => {
                    let outlet = self.outlets().get(run).cloned();
                    if let Some(outlet) = outlet {
                        outlet.pulse.wait_for_output(end, Instant::now() + QUESTION_MAX);
                    }
                }
            }
        }
    }

    /// A hook may come earlier, so nothing is waited for in one piece.
    fn wait_for_time(&self, at: Instant) {
        let rest = at.saturating_duration_since(Instant::now());
        std::thread::sleep(rest.min(LOOK_MAX).max(Duration::from_millis(1)));
    }
}
