//! Terminals of agents as places where turns are begun: who types, and what the program tells of
//! itself.
//!
//! What has to survive the engine stands as small files in the run's directory: `typing` (how much the
//! user has in his line), `busy` (the program is at a turn), `hooks` (it tells when a turn ends),
//! `begins` (and when one begins), `awaited` (it will tell when it is up), `escaped` (somebody asked it by a key to break
//! off the turn that it is at), `records` (its limits stand in its records alone), `broken-off` (the turn that ends next is one that nobody wants any more).

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carillon_core::id::RunId;
use carillon_core::limits;

use crate::host::Host;
use crate::host::line::{Fed, Line};
use crate::host::outlet::Outlet;

/// A mark in a run's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The program is at a turn.
    Busy,
    /// The program tells when a turn ends.
    Hooks,
    /// The program tells when a turn begins, too.
    Begins,
    /// The program was started so that it will tell when it is up.
    Awaited,
    /// Its user, or we for him, asked it by a key to break off the turn that it is at.
    Escaped,
    /// The program tells nobody of its limits but its own records.
    Records,
    /// The turn that ends next is not wanted any more: its end is no other turn's.
    BrokenOff,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Hooks => "hooks",
            Self::Begins => "begins",
            Self::Awaited => "awaited",
            Self::Escaped => "escaped",
            Self::Records => "records",
            Self::BrokenOff => "broken-off",
        }
    }
}

const TYPING: &str = "typing";

/// The keyboard of a terminal: what the user has in his line, and whether it is his turn to type.
#[derive(Default)]
pub(crate) struct Keyboard {
    pub(crate) line: Line,
    /// When he sent something off or answered, until the program has told what it makes of it.
    pub(crate) sent: Option<Instant>,
    /// When the program was asked to break off, until it has told that its turn is over.
    pub(crate) broke_off: Option<Instant>,
    /// How often the program has told that it has begun or ended something.
    pub(crate) told: u64,
    /// End of the log when a key was pressed last that answers questions: what asks now came later.
    pub(crate) answered: u64,
    /// The conversation in which the program told that it has begun a turn, until it tells that the turn is over.
    conversation: Option<String>,
    /// What he typed while a prompt is being typed; it comes after that.
    held: Option<Vec<u8>>,
    /// What is being typed is not wanted any more; whether its program takes Esc.
    pub(crate) unwanted: Option<bool>,
    /// Rings when the program has told something, when what is typed is not wanted any more, and when the run is over.
    changed: Arc<Condvar>,
}

/// What came of what the user typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    /// What waits for the terminal may be able to go on, now or soon.
    pub(crate) may_be_free: bool,
    /// The program waited for somebody to look at it.
    pub(crate) attended: bool,
}

impl Host {
    pub(crate) fn mark_file(&self, run: &RunId, mark: Mark) -> PathBuf {
        self.run_dir(run).join(mark.name())
    }

    pub(crate) fn has_mark(&self, run: &RunId, mark: Mark) -> bool {
        self.mark_file(run, mark).exists()
    }

    pub(crate) fn set_mark(&self, run: &RunId, mark: Mark, on: bool) {
        let file = self.mark_file(run, mark);
        let done = match on {
            true => std::fs::File::create(&file).map(drop),
            false => std::fs::remove_file(&file),
        };
        note(&file, done);
    }

    /// The keyboard of a run; what was in the line when an earlier engine ended is still there.
    pub(crate) fn keyboard(&self, run: &RunId) -> Arc<Mutex<Keyboard>> {
        let mut all = self.keyboards();
        let made = || {
            let text = std::fs::read_to_string(self.run_dir(run).join(TYPING)).unwrap_or_default();
            let chars = text.trim().parse().unwrap_or(usize::from(!text.is_empty()));
            let broke_off = self.has_mark(run, Mark::Escaped).then(Instant::now);
            Arc::new(Mutex::new(Keyboard { line: Line::with(chars), broke_off, ..Keyboard::default() }))
        };
        all.entry(run.clone()).or_insert_with(made).clone()
    }

    /// The conversation that the program is at work in, where it told so to this engine.
    pub(crate) fn conversation(&self, run: &RunId) -> Option<String> {
        lock(&self.keyboard(run)).conversation.clone()
    }

    pub(crate) fn set_conversation(&self, run: &RunId, conversation: Option<String>) {
        lock(&self.keyboard(run)).conversation = conversation;
    }

    fn note_line(&self, run: &RunId, before: usize, now: usize) {
        let file = self.run_dir(run).join(TYPING);
        match (before, now) {
            _ if before == now => {}
            (_, 0) => note(&file, std::fs::remove_file(&file)),
            _ => note(&file, std::fs::write(&file, now.to_string())),
        }
    }

    /// The user types, or something that acts for him. While a prompt is being typed his keys wait:
    /// they would land in the middle of it.
    pub(crate) fn type_for_user(&self, run: &RunId, bytes: &[u8]) -> Result<Typed, String> {
        if !self.outlet(run).is_some_and(|outlet| outlet.is_live()) {
            return Err("this terminal has ended".to_owned());
        }
        let terminal = self.terminal(run)?;
        let keyboard = self.keyboard(run);
        let mut keys = lock(&keyboard);
        if let Some(held) = &mut keys.held {
            if held.len() + bytes.len() > limits::TERMINAL_WRITE_MAX_BYTES {
                return Err("the terminal is taken by a prompt that is long on its way".to_owned());
            }
            held.extend_from_slice(bytes);
            return Ok(Typed::default());
        }
        let typed = self.note_keys(run, &mut keys, bytes, terminal.marks_pastes());
        // Sending may have to wait for the program, and who looks at the line must not.
        drop(keys);
        self.write(run, bytes)?;
        Ok(typed)
    }

    fn note_keys(&self, run: &RunId, keys: &mut Keyboard, bytes: &[u8], marks_pastes: bool) -> Typed {
        let before = keys.line.chars();
        let attended = self.attended(run);
        // A single key often answers a question, and stands in no line.
        let is_text = bytes.first().is_some_and(|byte| *byte != 0x1b);
        let is_answer = is_text && before == 0 && (attended || self.asks_surely(run, keys.answered));
        if is_text && let Some(outlet) = self.outlets().get(run) {
            keys.answered = outlet.end().0;
        }
        let fed = match is_answer {
            true => Fed::default(),
            false => keys.line.feed(bytes, marks_pastes),
        };
        self.note_line(run, before, keys.line.chars());
        let now = Instant::now();
        if fed.sent || is_answer {
            keys.sent = Some(now);
        }
        if fed.broke_off && self.has_mark(run, Mark::Busy) {
            self.note_broken_off(run, keys, true);
        }
        let may_be_free = (before > 0 && keys.line.is_empty()) || fed.broke_off || is_answer;
        Typed { may_be_free, attended }
    }

    /// From now on the user's keys wait for [`Host::give_back_keys`].
    pub(crate) fn hold_keys(&self, run: &RunId) {
        let keyboard = self.keyboard(run);
        let mut keys = lock(&keyboard);
        keys.held.get_or_insert_default();
        keys.unwanted = None;
    }

    /// Types what the user typed meanwhile, in its order.
    pub(crate) fn give_back_keys(&self, run: &RunId) {
        let keyboard = self.keyboard(run);
        loop {
            let mut keys = lock(&keyboard);
            let Some(held) = keys.held.take().filter(|held| !held.is_empty()) else { return };
            let marks_pastes = self.terminal(run).is_ok_and(|terminal| terminal.marks_pastes());
            self.note_keys(run, &mut keys, &held, marks_pastes);
            keys.held = Some(Vec::new());
            drop(keys);
            if self.write(run, &held).is_err() {
                // The run is over, and so is everything that was typed.
                lock(&keyboard).held = None;
                return;
            }
        }
    }

    /// Something stands in the line that is not the user's and that he has to take away.
    pub(crate) fn take_line(&self, run: &RunId) {
        let keyboard = self.keyboard(run);
        let mut keys = lock(&keyboard);
        let before = std::mem::replace(&mut keys.line, Line::with(1)).chars();
        self.note_line(run, before, 1);
    }

    /// The program told that it has begun or ended something: what the user sent off has arrived.
    pub(crate) fn heard_of(&self, run: &RunId) {
        let keyboard = self.keyboard(run);
        let mut keys = lock(&keyboard);
        keys.sent = None;
        keys.told += 1;
        keys.changed.notify_all();
        self.note_broken_off(run, &mut keys, false);
    }

    /// Whether the program of a live run tells something more than it had told `before`, until `until`. Ends early, as
    /// if it had, when nobody waits for that any more.
    pub(crate) fn wait_until_told(&self, run: &RunId, outlet: &Outlet, before: u64, until: Instant) -> bool {
        let keyboard = self.keyboard(run);
        let mut keys = lock(&keyboard);
        let changed = keys.changed.clone();
        loop {
            if keys.told != before || keys.unwanted.is_some() || !outlet.is_live() {
                return true;
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            keys = changed.wait_timeout(keys, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The run is over: nobody waits for words of its program.
    pub(crate) fn drop_keyboard(&self, run: &RunId) {
        let keyboard = self.keyboards().remove(run);
        if let Some(keyboard) = keyboard {
            lock(&keyboard).changed.notify_all();
        }
    }

    /// A key asked the program to break off what it is at, or it has told what it makes of that.
    pub(crate) fn note_broken_off(&self, run: &RunId, keys: &mut Keyboard, asked: bool) {
        if asked != keys.broke_off.is_some() {
            self.set_mark(run, Mark::Escaped, asked);
        }
        keys.broke_off = asked.then(Instant::now);
    }

    /// Whether somebody asked the program to break off, and it has told nothing since.
    pub(crate) fn was_broken_off(&self, run: &RunId) -> bool {
        lock(&self.keyboard(run)).broke_off.is_some()
    }

    /// Asks the program to break off what it is at, where its kind of program does that on Esc. Ctrl+C
    /// would end some of them. What is being typed for it at this moment is sent off first: half a
    /// prompt cannot be taken back.
    pub(crate) fn break_off(&self, run: &RunId, takes_escape: bool) {
        let keyboard = self.keyboard(run);
        let mut keys = lock(&keyboard);
        if keys.held.is_some() {
            keys.unwanted = Some(takes_escape);
            keys.changed.notify_all();
            return;
        }
        if self.has_mark(run, Mark::Busy) {
            self.set_mark(run, Mark::BrokenOff, true);
        }
        if takes_escape {
            self.note_broken_off(run, &mut keys, true);
            drop(keys);
            if let Err(message) = self.write(run, b"\x1b") {
                tracing::debug!(%run, message, "nothing to break off");
            }
        }
    }

    /// How long a prompt of the user's may be on its way before the program tells of it.
    pub(crate) const SENT_MAX: Duration = Duration::from_millis(1_000);
}

impl Keyboard {
    /// The line is the user's, or a prompt that is being typed has it.
    pub(crate) fn is_taken(&self) -> bool {
        self.held.is_some() || !self.line.is_empty()
    }
}

pub(crate) fn lock(keyboard: &Mutex<Keyboard>) -> MutexGuard<'_, Keyboard> {
    keyboard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(file: &std::path::Path, done: std::io::Result<()>) {
    if let Err(error) = done
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, file = %file.display(), "a mark of a terminal cannot be kept");
    }
}
