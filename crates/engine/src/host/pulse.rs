//! What a run has said last, for who waits for it: answers of its supervisor to what was typed, and
//! how long its program has been quiet.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// See the module.
pub(crate) struct Pulse {
    inside: Mutex<Inside>,
    changed: Condvar,
}

struct Inside {
    /// When the program wrote last; when it was found, until then.
    spoke: Instant,
    /// End of its log in bytes.
    end: u64,
    /// Whether the supervisor accepted the input with this id.
    answers: HashMap<u128, bool>,
    over: bool,
    /// Somebody should look at it; what comes before this time belongs to that.
    attention: Option<Instant>,
}

impl Inside {
    /// How long to wait until the program has been quiet for so long, at most until then; none when there is nothing
    /// to wait for.
    fn rest(&self, quiet: Duration, until: Instant, now: Instant) -> Option<Duration> {
        let due = (self.spoke + quiet).min(until);
        (!self.over && now < due).then(|| due - now)
    }
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self::new_at(Instant::now())
    }

    fn new_at(now: Instant) -> Self {
        let inside = Inside { spoke: now, end: 0, answers: HashMap::new(), over: false, attention: None };
        Self { inside: Mutex::new(inside), changed: Condvar::new() }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is output up to here, which is not new.
    pub(crate) fn begin_at(&self, end: u64) {
        self.inside().end = end;
    }

    /// The program wrote.
    pub(crate) fn spoke(&self, end: u64) {
        self.spoke_at(end, Instant::now());
    }

    fn spoke_at(&self, end: u64, now: Instant) {
        let mut inside = self.inside();
        if end > inside.end {
            inside.end = end;
            inside.spoke = now;
            self.changed.notify_all();
        }
    }

    /// The supervisor said whether it accepted an input.
    pub(crate) fn answered(&self, id: u128, accepted: bool) {
        self.inside().answers.insert(id, accepted);
        self.changed.notify_all();
    }

    /// Nothing will be said any more.
    pub(crate) fn finish(&self) {
        self.inside().over = true;
        self.changed.notify_all();
    }

    /// End of the log in bytes, and how long the program has been quiet.
    pub(crate) fn quiet(&self) -> (u64, Duration) {
        self.quiet_at(Instant::now())
    }

    fn quiet_at(&self, now: Instant) -> (u64, Duration) {
        let inside = self.inside();
        (inside.end, now.saturating_duration_since(inside.spoke))
    }

    /// Waits until the program has been quiet for so long, at most until then; false when the run is
    /// over before that.
    pub(crate) fn wait_until_quiet(&self, quiet: Duration, until: Instant) -> bool {
        let mut inside = self.inside();
        loop {
            match inside.rest(quiet, until, Instant::now()) {
                Some(rest) => inside = self.wait(inside, rest),
                None => return !inside.over,
            }
        }
    }

    /// Waits for output beyond `end`, at most until then.
    pub(crate) fn wait_for_output(&self, end: u64, until: Instant) {
        let mut inside = self.inside();
        loop {
            let now = Instant::now();
            if inside.over || inside.end > end || now >= until {
                return;
            }
            inside = self.wait(inside, until - now);
        }
    }

    /// Waits for the end of the run; false when it goes on until then.
    pub(crate) fn wait_for_end(&self, until: Instant) -> bool {
        let mut inside = self.inside();
        loop {
            let now = Instant::now();
            if inside.over || now >= until {
                return inside.over;
            }
            inside = self.wait(inside, until - now);
        }
    }

    /// Waits for the supervisor's answer to an input; `None` when there is none in time.
    pub(crate) fn wait_for_answer(&self, id: u128, patience: Duration) -> Option<bool> {
        let until = Instant::now() + patience;
        let mut inside = self.inside();
        loop {
            let now = Instant::now();
            if let Some(accepted) = inside.answers.remove(&id) {
                return Some(accepted);
            }
            if inside.over || now >= until {
                return None;
            }
            inside = self.wait(inside, until - now);
        }
    }

    fn wait<'a>(&self, inside: MutexGuard<'a, Inside>, most: Duration) -> MutexGuard<'a, Inside> {
        let waited = self.changed.wait_timeout(inside, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn needs_attention(&self) -> bool {
        self.inside().attention.is_some()
    }

    /// Somebody should look at the program, which may go on drawing for so long; true when that is new.
    pub(crate) fn call_for_attention(&self, drawing: Duration) -> bool {
        self.inside().attention.replace(Instant::now() + drawing).is_none()
    }

    /// Somebody does something about it; true when it was needed.
    pub(crate) fn attend(&self) -> bool {
        self.inside().attention.take().is_some()
    }

    /// The program says something; true when that means that it needs nobody any more.
    pub(crate) fn goes_on(&self) -> bool {
        let mut inside = self.inside();
        inside.attention.take_if(|drawn| Instant::now() >= *drawn).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn quiet_begins_anew_with_each_word() {
        let start = Instant::now();
        let pulse = Pulse::new_at(start);
        let rest = |now| pulse.inside().rest(SHORT, start + LONG, now);
        let mut now = start;
        for end in 1..=5 {
            now += SHORT / 4;
            pulse.spoke_at(end, now);
            assert_eq!(rest(now), Some(SHORT), "each word is a reason to wait anew");
        }
        assert_eq!(rest(now + SHORT / 4), Some(SHORT * 3 / 4));
        assert_eq!((rest(now + SHORT), pulse.quiet_at(now + SHORT)), (None, (5, SHORT)));
        pulse.spoke_at(5, now + SHORT);
        assert_eq!(rest(now + SHORT), None, "what is not new is no word");
        pulse.spoke_at(6, start + LONG - SHORT / 2);
        assert_eq!(rest(start + LONG - SHORT / 4), Some(SHORT / 4), "at most until then");
        assert!(pulse.wait_until_quiet(Duration::ZERO, Instant::now() + LONG));
    }

    #[test]
    fn an_answer_is_heard_once_and_an_end_frees_who_waits() {
        let pulse = Arc::new(Pulse::new());
        pulse.answered(7, true);
        assert_eq!(pulse.wait_for_answer(7, LONG), Some(true));
        assert_eq!(pulse.wait_for_answer(7, Duration::ZERO), None);
        let ender = pulse.clone();
        let ended = std::thread::spawn(move || ender.finish());
        assert!(!pulse.wait_for_end(Instant::now()) || ended.is_finished());
        assert_eq!(pulse.wait_for_answer(8, LONG), None);
        assert!(pulse.wait_for_end(Instant::now() + LONG));
        assert!(!pulse.wait_until_quiet(LONG, Instant::now() + LONG));
        ended.join().expect("the ender");
    }

    #[test]
    fn attention_changes_once() {
        let pulse = Pulse::new();
        assert!(pulse.call_for_attention(LONG) && !pulse.call_for_attention(LONG));
        assert!(!pulse.goes_on() && pulse.needs_attention(), "it is still drawing its question");
        assert!(pulse.attend() && !pulse.attend() && !pulse.needs_attention());
        assert!(pulse.call_for_attention(Duration::ZERO) && pulse.goes_on() && !pulse.goes_on());
    }
}
