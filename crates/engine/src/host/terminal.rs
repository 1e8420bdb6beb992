//! One terminal: its log by offset, its screen by model, its input.
//!
//! The log is the one copy of the output. A view reads it by offset; a view that is far behind, or
//! new, gets a snapshot of the model instead. The model reads the same log on the run's own thread.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_screen::Screen;
use carillon_supervisor::{LogReader, Read};

use crate::host::outlet::Outlet;

/// A terminal of a run, live or over.
pub struct Terminal {
    outlet: Arc<Outlet>,
    model: Mutex<Model>,
    log: Mutex<LogReader>,
}

struct Model {
    screen: Screen,
    /// Offset in the stream up to which the screen is right.
    fed: u64,
    saved: u64,
}

/// What a view gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The payload replaces what the view shows, at this size; else it is written after it.
    pub snapshot: Option<(u16, u16)>,
    /// Bytes for the terminal.
    pub bytes: Vec<u8>,
    /// Pass it as the next offset.
    pub next_offset: u64,
    /// The run is over and nothing follows `next_offset`.
    pub over: bool,
}

/// One step of reading; small enough that a snapshot never waits long for the model.
const STEP_BYTES: usize = 256 * 1024;
/// When the model is behind by more than this, it reads in steps of this size and skips what plain
/// text cannot change.
const LEAP_BYTES: usize = 4 * 1024 * 1024;
/// In a flood a view gets the screen no more often than this, so that the window has time for its
/// other terminals: drawing one keeps it busy for tens of milliseconds.
const FLOOD_VIEW_PAUSE: Duration = Duration::from_millis(100);

impl Model {
    /// From the saved screen where there is one, else as it was at the start.
    fn restore(dir: &Path, end: u64, size: Option<(u16, u16)>) -> Self {
        if let Some(saved) = super::checkpoint::load(dir).filter(|saved| saved.offset <= end) {
            let (cols, rows) = saved.size;
            let mut screen = Screen::new(rows, cols, limits::SCROLLBACK_LINES);
            screen.feed(&saved.snapshot);
            return Self { screen, fed: saved.offset, saved: saved.offset };
        }
        let (cols, rows) = size.or_else(|| super::checkpoint::size_at_start(dir)).unwrap_or((80, 24));
        Self { screen: Screen::new(rows, cols, limits::SCROLLBACK_LINES), fed: 0, saved: 0 }
    }
}

impl Terminal {
    /// The terminal of a supervisor that answers.
    pub(crate) fn live(
        outlet: Arc<Outlet>,
        size: Option<(u16, u16)>,
    ) -> Result<Self, carillon_supervisor::Error> {
        let log = LogReader::open(&outlet.dir)?;
        let model = Model::restore(&outlet.dir, log.end()?, size);
        Ok(Self { outlet, model: Mutex::new(model), log: Mutex::new(log) })
    }

    /// The terminal of a run that is over, built from its log.
    pub(crate) fn from_log(run: &RunId, dir: &Path) -> Result<Self, carillon_supervisor::Error> {
        let log = LogReader::open(dir)?;
        let end = log.end()?;
        let outlet = Arc::new(Outlet::over(run, dir, end));
        let model = Mutex::new(Model::restore(dir, end, None));
        let this = Self { outlet, model, log: Mutex::new(log) };
        this.feed_to(end, u64::MAX);
        Ok(this)
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> MutexGuard<'_, LogReader> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.outlet.is_live()
    }

    /// Offset up to which the screen is right.
    pub(crate) fn fed(&self) -> u64 {
        self.model().fed
    }

    /// Lets the model read up to `end`. Questions that the program asked the terminal after
    /// `history` are answered here, once, whoever looks.
    pub(crate) fn feed_to(&self, end: u64, history: u64) {
        let mut buf = Vec::new();
        loop {
            let fed = self.fed();
            if fed >= end {
                return;
            }
            let behind = end - fed;
            let step = if behind > limits::TERMINAL_BEHIND_MAX_BYTES { LEAP_BYTES } else { STEP_BYTES };
            buf.resize(usize::try_from(behind).unwrap_or(step).min(step), 0);
            match self.reader().read_at(fed, &mut buf) {
                Ok(Read::Bytes(0) | Read::End) => return,
                Ok(Read::Bytes(n)) => self.feed(&buf[..n], fed, history),
                Ok(Read::Gap { to, .. }) => self.jump(to),
                Err(error) => {
                    tracing::warn!(run = %self.outlet.run, %error, "the log cannot be read");
                    return;
                }
            }
        }
    }

    fn feed(&self, bytes: &[u8], at: u64, history: u64) {
        let replies = {
            let mut model = self.model();
            let replies = if bytes.len() > STEP_BYTES {
                model.screen.skip_to_tail(bytes)
            } else {
                model.screen.feed(bytes)
            };
            model.fed = at + bytes.len() as u64;
            replies
        };
        if at >= history && !replies.is_empty() {
            // A program that has gone meanwhile needs no answer.
            let _ = self.write(&replies);
        }
        if self.fed() - self.model().saved >= limits::CHECKPOINT_EVERY_BYTES {
            self.save_checkpoint();
        }
    }

    /// Goes on behind a gap: the screen begins anew, and the program is asked to repaint.
    fn jump(&self, to: u64) {
        let (rows, cols) = {
            let mut model = self.model();
            let (rows, cols) = model.screen.size();
            model.screen = Screen::new(rows, cols, limits::SCROLLBACK_LINES);
            model.fed = to;
            (rows, cols)
        };
        if let Some(sender) = self.outlet.sender() {
            // Two sizes in a row make a program repaint also when it ignores a size that it knows.
            let _ = sender.resize(cols, rows.saturating_sub(1).max(1));
            let _ = sender.resize(cols, rows);
        }
    }

    /// The supervisor has let go: what is in the log is all there is.
    pub(crate) fn finish(&self, end: u64) {
        self.feed_to(end, u64::MAX);
        self.save_checkpoint();
    }

    /// Types.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let sender = self.outlet.sender().ok_or_else(|| "this terminal has ended".to_owned())?;
        sender.input(None, bytes).map_err(|_| "this terminal has ended".to_owned())
    }

    /// Resizes the program's terminal and the model.
    pub(crate) fn resize(&self, cols: u16, rows: u16) -> Result<(), String> {
        let Some(sender) = self.outlet.sender() else { return Ok(()) };
        let mut model = self.model();
        if model.screen.size() != (rows, cols) {
            model.screen.resize(rows, cols);
            drop(model);
            sender.resize(cols, rows).map_err(|_| "this terminal has ended".to_owned())?;
        }
        Ok(())
    }

    /// Saves the screen with its offset.
    pub(crate) fn save_checkpoint(&self) {
        let (saved, behind) = {
            let model = self.model();
            let (rows, cols) = model.screen.size();
            let snapshot = model.screen.snapshot();
            (
                super::checkpoint::Saved { offset: model.fed, size: (cols, rows), snapshot },
                model.fed - model.saved,
            )
        };
        if behind == 0 && saved.offset > 0 {
            return;
        }
        match super::checkpoint::save(&self.outlet.dir, &saved) {
            Ok(()) => self.model().saved = saved.offset,
            Err(error) => tracing::debug!(run = %self.outlet.run, %error, "the screen could not be saved"),
        }
    }

    /// What follows `offset`, or the screen when there is no offset, waiting up to `wait` for it.
    pub async fn pull(&self, offset: Option<u64>, wait: Duration) -> Result<Pulled, String> {
        let Some(offset) = offset else { return Ok(self.snapshot()) };
        let mut changed = self.outlet.subscribe();
        let wait = wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
        // The time running out is an answer as well: nothing is new.
        let _ = tokio::time::timeout(wait, changed.wait_for(|(end, over)| *over || *end > offset)).await;
        let (end, over) = self.outlet.end();
        if end <= offset {
            return Ok(Pulled { snapshot: None, bytes: Vec::new(), next_offset: offset, over });
        }
        if end - offset > limits::TERMINAL_BEHIND_MAX_BYTES && self.fed() > offset {
            // The screen as it is then, not as it is now: the view loses nothing by the pause.
            let _ = tokio::time::timeout(FLOOD_VIEW_PAUSE, changed.wait_for(|(_, over)| *over)).await;
            return Ok(self.snapshot());
        }
        self.read(offset, end, over)
    }

    fn read(&self, offset: u64, end: u64, over: bool) -> Result<Pulled, String> {
        let most = usize::try_from(end - offset).unwrap_or(usize::MAX).min(limits::TERMINAL_PULL_MAX_BYTES);
        let mut bytes = vec![0; most];
        match self.reader().read_at(offset, &mut bytes).map_err(|e| e.to_string())? {
            Read::Bytes(n) => {
                bytes.truncate(n);
                let next_offset = offset + n as u64;
                Ok(Pulled { snapshot: None, bytes, next_offset, over: over && next_offset >= end })
            }
            Read::Gap { .. } => Ok(self.snapshot()),
            Read::End => Ok(Pulled { snapshot: None, bytes: Vec::new(), next_offset: offset, over }),
        }
    }

    fn snapshot(&self) -> Pulled {
        let model = self.model();
        let (rows, cols) = model.screen.size();
        let (end, over) = self.outlet.end();
        Pulled {
            snapshot: Some((cols, rows)),
            bytes: model.screen.snapshot(),
            next_offset: model.fed,
            over: over && model.fed >= end,
        }
    }

    /// The visible screen as plain text.
    pub fn text(&self) -> String {
        self.model().screen.text()
    }
}
