//! Typing a prompt into a live terminal: whole, as one text, sent off once.
//!
//! Every piece goes to the supervisor under an id made from the turn's. The supervisor journals ids
//! before the program gets anything of it, so after a crash of the engine the same hand-over is made
//! once more and the pieces that had arrived are known: the program sees each of them once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use carillon_core::id::{RunId, TurnId};
use carillon_core::limits;

use crate::host::linux::Input;
use crate::host::outlet::Outlet;
use crate::host::prompt_form::{self, COOKED_LINE_BYTES, Form};
use crate::host::typing::{Mark, lock};
use crate::host::{Host, Terminal};
use crate::seam;
use crate::world::Report;

/// Which turn is typed and in which form, so that a repeat makes the same pieces.
const NOTE: &str = "hand-over";
/// Before anything is typed the program gets to finish its last words.
const QUIET_BEFORE: Duration = Duration::from_millis(100);
/// At most so long.
const QUIET_BEFORE_MAX: Duration = Duration::from_secs(2);
/// Programs take keys that come quickly for a paste, and an Enter within it for a line end. So Enter
/// comes no earlier than this after the last piece was read, when the program has shown it,
const ENTER_AFTER: Duration = Duration::from_millis(200);
/// and has been quiet since for so long.
const ENTER_QUIET: Duration = Duration::from_millis(150);
/// A program that shows nothing gets Enter after this time,
const ENTER_UNSEEN: Duration = Duration::from_millis(500);
/// one that marks pastes, and so draws its own line, only after this: it is slow, and would take Enter for a part of the paste,
const ENTER_UNSEEN_MARKED: Duration = Duration::from_secs(5);
/// and one that never stops to show something after this.
const ENTER_MAX: Duration = Duration::from_secs(2);
/// What it shows may be something else. The end of the paste is looked for on its screen for so long; many show only how
/// long the paste was.
const ECHO_MAX: Duration = Duration::from_secs(1);
/// So many letters of the prompt's end are looked for.
const ECHO_CHARS: usize = 12;
/// One that tells when it begins a turn, has told nothing for so long and shows no question has taken Enter for a line end:
const ENTER_TOLD: Duration = Duration::from_secs(4);
/// it gets Enter again, so often.
const ENTER_REPEATS: u128 = 2;
/// Pauses between two looks whether a piece was read; no event tells it.
const LOOK_MIN: Duration = Duration::from_millis(1);
const LOOK_MAX: Duration = Duration::from_millis(20);

/// Why a prompt was not handed over.
enum NotHanded {
    /// The terminal is taken after all; nothing was typed.
    NotNow,
    /// The run is over, whose end tells what becomes of the turn; or the engine is on its way out, and the
    /// next one goes on with it.
    Gone,
    /// It cannot be done; the reason is a sentence.
    Failed(String),
}

impl Host {
    /// The keys are held before this returns, so that nobody gets in between.
    pub(crate) fn hand_over_in_background(
        self: &Arc<Self>,
        run: &RunId,
        turn: &TurnId,
        prompt: String,
        report: Report,
    ) {
        self.hold_keys(run);
        let (host, run, turn) = (self.clone(), run.clone(), turn.clone());
        let (failed_host, failed_run, failed_turn, failed) =
            (self.clone(), run.clone(), turn.clone(), report.clone());
        let work = move || {
            let handed = host.hand_over_prompt(&run, &turn, &prompt);
            if let Err(NotHanded::Failed(_)) = &handed {
                host.leave_half_a_prompt(&run, &turn);
            }
            host.give_back_keys(&run);
            if handed.is_ok() {
                host.watch_records_in_background(&run, &report);
            }
            match handed {
                Ok(()) => report.handed_over(&turn, Ok(())),
                Err(NotHanded::NotNow) => report.hand_over_postponed(&turn),
                Err(NotHanded::Gone) => return,
                Err(NotHanded::Failed(reason)) => report.handed_over(&turn, Err(reason)),
            }
            report.terminal_changed(&run);
        };
        if let Err(error) = std::thread::Builder::new().name("hand-over".to_owned()).spawn(work) {
            failed_host.give_back_keys(&failed_run);
            failed.handed_over(&failed_turn, Err(format!("the system gives no thread: {error}")));
        }
    }

    /// Whether the prompt of a turn was sent off in this run.
    pub(crate) fn was_sent_off(&self, run: &RunId, turn: &TurnId) -> bool {
        carillon_supervisor::was_accepted(&self.run_dir(run), enter_id(turn)).unwrap_or(false)
    }

    fn hand_over_prompt(&self, run: &RunId, turn: &TurnId, prompt: &str) -> Result<(), NotHanded> {
        let outlet = self.outlet(run).filter(|outlet| outlet.is_live()).ok_or(NotHanded::Gone)?;
        if self.was_sent_off(run, turn) {
            return Ok(());
        }
        let pid = self.facts_of_live(run).ok().flatten().and_then(|facts| facts.pid);
        let input = pid.and_then(Input::of);
        let form = match self.noted_form(run, turn) {
            Some(form) => form,
            None => self.begin_hand_over(run, turn, prompt, &outlet, input.as_ref())?,
        };
        let typed = prompt_form::typed(prompt, form);
        let before = outlet.pulse.quiet().0;
        let terminal = self.terminal(run).map_err(NotHanded::Failed)?;
        let echo = Echo::of(prompt, form, &terminal);
        for (number, range) in (0u128..).zip(prompt_form::pieces(&typed)) {
            give(&outlet, piece_id(turn, number), &typed.as_bytes()[range])?;
            seam::reach("a part of a prompt typed");
            if let Some(input) = &input {
                wait_until_read(input, &outlet)?;
            }
        }
        seam::reach("a prompt typed");
        wait_for_enter(&outlet, before, form, &echo);
        // Who rang before this turn does not ask in it.
        self.attended(run);
        if self.has_mark(run, Mark::Hooks) {
            // From Enter on it is at a turn, also before it says so.
            self.set_mark(run, Mark::Busy, true);
        }
        // A turn that was broken off is over by now, told or not: the end that comes next is this one's.
        self.set_mark(run, Mark::BrokenOff, false);
        let told = {
            let keyboard = self.keyboard(run);
            let mut keys = lock(&keyboard);
            self.note_broken_off(run, &mut keys, false);
            keys.answered = outlet.end().0;
            keys.told
        };
        if let Err(error) = give(&outlet, enter_id(turn), b"\r") {
            self.set_mark(run, Mark::Busy, false);
            return Err(error);
        }
        seam::reach("a prompt sent off");
        self.repeat_enter(run, turn, &outlet, told);
        self.break_off_unwanted(run, &outlet);
        Ok(())
    }

    /// To a line that is empty by now, Enter means nothing.
    fn repeat_enter(&self, run: &RunId, turn: &TurnId, outlet: &Outlet, told: u64) {
        for number in 1..=ENTER_REPEATS {
            let until = Instant::now() + ENTER_TOLD;
            if !self.has_mark(run, Mark::Begins) || self.wait_until_told(run, outlet, told, until) {
                return;
            }
            let answered = lock(&self.keyboard(run)).answered;
            if self.asks_surely(run, answered)
                || give(outlet, enter_id(turn).wrapping_sub(number), b"\r").is_err()
            {
                return;
            }
        }
    }

    /// What is decided once for a turn: that its terminal is free, and the form.
    fn begin_hand_over(
        &self,
        run: &RunId,
        turn: &TurnId,
        prompt: &str,
        outlet: &Outlet,
        input: Option<&Input>,
    ) -> Result<Form, NotHanded> {
        outlet.pulse.wait_until_quiet(QUIET_BEFORE, Instant::now() + QUIET_BEFORE_MAX);
        if lock(&self.keyboard(run)).unwanted.is_some() || !self.is_free_for_holder(run) {
            return Err(NotHanded::NotNow);
        }
        let terminal = self.terminal(run).map_err(NotHanded::Failed)?;
        let form = if terminal.marks_pastes() { Form::Marked } else { Form::Keys };
        let length = prompt_form::typed(prompt, form).len();
        if form == Form::Keys && length > COOKED_LINE_BYTES && input.is_some_and(Input::keeps_lines) {
            return Err(NotHanded::Failed(format!(
                "its program reads lines of at most {COOKED_LINE_BYTES} bytes, and the prompt has {length}"
            )));
        }
        let note = format!("{turn} {}\n", form.word());
        let file = self.run_dir(run).join(NOTE);
        std::fs::write(&file, note)
            .map_err(|e| NotHanded::Failed(format!("{} cannot be written: {e}", file.display())))?;
        Ok(form)
    }

    fn noted_form(&self, run: &RunId, turn: &TurnId) -> Option<Form> {
        let note = std::fs::read_to_string(self.run_dir(run).join(NOTE)).ok()?;
        let (of, word) = note.trim_end().split_once(' ')?;
        if of == turn.as_str() { Form::of_word(word) } else { None }
    }

    /// What was typed of a prompt stands in the line, and nobody but the user can tell how to get rid of it.
    fn leave_half_a_prompt(&self, run: &RunId, turn: &TurnId) {
        if carillon_supervisor::was_accepted(&self.run_dir(run), piece_id(turn, 0)).unwrap_or(true) {
            self.take_line(run);
        }
    }

    /// The ask was over before its prompt was sent off.
    fn break_off_unwanted(&self, run: &RunId, outlet: &Outlet) {
        let keyboard = self.keyboard(run);
        let Some(takes_escape) = lock(&keyboard).unwanted.take() else { return };
        if self.has_mark(run, Mark::Busy) {
            self.set_mark(run, Mark::BrokenOff, true);
        }
        if takes_escape {
            // Pressed at once, Esc could take Enter's place in the program's eyes.
            outlet.pulse.wait_until_quiet(ENTER_QUIET, Instant::now() + ENTER_UNSEEN);
            self.note_broken_off(run, &mut lock(&keyboard), true);
            let _ = self.write(run, b"\x1b");
        }
    }
}

/// Gives the supervisor a piece and waits until it has it.
fn give(outlet: &Outlet, id: u128, bytes: &[u8]) -> Result<(), NotHanded> {
    let sender = outlet.sender().ok_or(NotHanded::Gone)?;
    sender.input(Some(id), bytes).map_err(|_| NotHanded::Gone)?;
    let patience = Duration::from_millis(limits::SUPERVISOR_PATIENCE_MS);
    match outlet.pulse.wait_for_answer(id, patience) {
        Some(true) => Ok(()),
        Some(false) if outlet.pulse.wait_for_end(Instant::now() + patience) => Err(NotHanded::Gone),
        Some(false) => Err(NotHanded::Failed("its supervisor cannot note what is typed".to_owned())),
        None if !outlet.is_live() => Err(NotHanded::Gone),
        None => Err(NotHanded::Failed("its supervisor does not answer".to_owned())),
    }
}

/// Waits until the program has read what was typed. As long as it reads on, however slowly, it is
/// waited for.
fn wait_until_read(input: &Input, outlet: &Outlet) -> Result<(), NotHanded> {
    let patience = Duration::from_millis(limits::TYPING_STALL_MS);
    let (mut least, mut progress, mut pause) = (u64::MAX, Instant::now(), LOOK_MIN);
    loop {
        let unread = match input.unread() {
            None | Some(0) => return Ok(()),
            Some(unread) => unread,
        };
        if unread < least {
            (least, progress) = (unread, Instant::now());
        }
        if !outlet.is_live() {
            return Err(NotHanded::Gone);
        }
        if progress.elapsed() > patience {
            return Err(NotHanded::Failed("its program does not read what is typed".to_owned()));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_MAX);
    }
}

/// The end of a prompt on the screen of its program.
struct Echo<'a> {
    terminal: &'a Terminal,
    end: String,
    /// How often it stood there before the prompt was typed.
    before: usize,
}

impl<'a> Echo<'a> {
    fn of(prompt: &str, form: Form, terminal: &'a Terminal) -> Self {
        let letters = letters_of(prompt);
        let from = letters.char_indices().rev().nth(ECHO_CHARS - 1).map_or(0, |(at, _)| at);
        // Whoever takes the prompt as keys shows each as it comes.
        let end = if form == Form::Marked { letters[from..].to_owned() } else { String::new() };
        let mut echo = Self { terminal, end, before: 0 };
        echo.before = echo.count();
        echo
    }

    fn count(&self) -> usize {
        if self.end.is_empty() { 0 } else { letters_of(&self.terminal.text()).matches(&self.end).count() }
    }

    /// Waits until it has come, or will not.
    fn wait(&self, outlet: &Outlet) {
        let until = Instant::now() + ECHO_MAX;
        while !self.end.is_empty() && outlet.is_live() && Instant::now() < until {
            let (seen, _) = outlet.pulse.quiet();
            if self.count() > self.before {
                return;
            }
            // Output is told of before it is on the screen.
            outlet.pulse.wait_for_output(seen, until.min(Instant::now() + LOOK_MAX));
        }
    }
}

/// A text without what programs change in it when they show it: its lines are broken elsewhere, in frames.
fn letters_of(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Waits for the moment in which Enter is no part of the paste. `before`: the end of the output before
/// the paste.
fn wait_for_enter(outlet: &Outlet, before: u64, form: Form, echo: &Echo<'_>) {
    let read = Instant::now();
    let unseen = if form == Form::Marked { ENTER_UNSEEN_MARKED } else { ENTER_UNSEEN };
    outlet.pulse.wait_for_output(before, read + unseen);
    if outlet.pulse.quiet().0 > before {
        echo.wait(outlet);
        let rest = ENTER_AFTER.saturating_sub(read.elapsed());
        std::thread::sleep(rest);
        outlet.pulse.wait_until_quiet(ENTER_QUIET, read + ENTER_MAX);
    }
}

fn piece_id(turn: &TurnId, number: u128) -> u128 {
    number_of(turn).wrapping_add(number)
}

/// Never a piece's: there are not so many.
fn enter_id(turn: &TurnId) -> u128 {
    number_of(turn).wrapping_sub(1)
}

fn number_of(turn: &TurnId) -> u128 {
    u128::from_str_radix(turn.as_str(), 16).unwrap_or_default()
}
