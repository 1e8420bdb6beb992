//! One terminal: its log by offset, its screen by model, its input.
//!
//! The log is the one copy of the output. A view reads it by offset; a view that is far behind, or
//! new, gets a snapshot of the model instead. The model reads the same log on the run's own thread.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// The offset up to which a view was last given the screen alone.
    screen_only: AtomicU64,
    /// Rings of the bell that somebody was told of.
    rings_told: AtomicU64,
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
    /// The snapshot has none of the lines above the screen, because output comes faster than anybody
    /// could read it. A view that wants them attaches anew when that has passed.
    pub screen_only: bool,
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
/// other terminals.
const FLOOD_VIEW_PAUSE: Duration = Duration::from_millis(100);
/// When more than so many bytes come during [`FLOOD_VIEW_PAUSE`], the flood goes on. The view then gets
/// the screen alone: drawing the lines above it as well would keep the window busy for some fifty
/// milliseconds, for lines that are overtaken by the next snapshot.
const FLOOD_VIEW_BYTES: u64 = 128 * 1024;
/// No offset of a view.
const NOWHERE: u64 = u64::MAX;

impl Pulled {
    /// What follows what the view has.
    fn bytes(bytes: Vec<u8>, next_offset: u64, over: bool) -> Self {
        Self { snapshot: None, screen_only: false, bytes, next_offset, over }
    }
}

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
        Ok(Self::of(outlet, model, log))
    }

    /// The terminal of a run that is over, built from its log.
    pub(crate) fn from_log(run: &RunId, dir: &Path) -> Result<Self, carillon_supervisor::Error> {
        let log = LogReader::open(dir)?;
        let end = log.end()?;
        let outlet = Arc::new(Outlet::over(run, dir, end));
        let this = Self::of(outlet, Model::restore(dir, end, None), log);
        this.feed_to(end, u64::MAX);
        Ok(this)
    }

    fn of(outlet: Arc<Outlet>, model: Model, log: LogReader) -> Self {
        let screen_only = AtomicU64::new(NOWHERE);
        let rings_told = AtomicU64::new(model.screen.bells());
        Self { outlet, model: Mutex::new(model), log: Mutex::new(log), screen_only, rings_told }
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
        let Some(offset) = offset else { return Ok(self.snapshot(false)) };
        let mut changed = self.outlet.subscribe();
        let wait = wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
        // The time running out is an answer as well: nothing is new.
        let _ = tokio::time::timeout(wait, changed.wait_for(|(end, over)| *over || *end > offset)).await;
        let (end, over) = self.outlet.end();
        if end <= offset {
            return Ok(Pulled::bytes(Vec::new(), offset, over));
        }
        // Bytes cost a view several times as much to draw as a screen. One that has the screen alone has no
        // lines that they could follow, so it gets screens until the flood has passed, and then everything.
        let in_flood = self.screen_only.load(Ordering::Relaxed) == offset;
        if !in_flood && end - offset <= limits::TERMINAL_BEHIND_MAX_BYTES {
            return self.read(offset, end, over);
        }
        // The screen as it is then, not as it is now: the view loses nothing by the pause.
        let _ = tokio::time::timeout(FLOOD_VIEW_PAUSE, changed.wait_for(|(_, over)| *over)).await;
        let (later, over) = self.outlet.end();
        if self.fed() > offset {
            return Ok(self.snapshot(!over && later - end > FLOOD_VIEW_BYTES));
        }
        // The view is ahead of the model, so there is no newer screen.
        self.read(offset, later, over)
    }

    fn read(&self, offset: u64, end: u64, over: bool) -> Result<Pulled, String> {
        let most = usize::try_from(end - offset).unwrap_or(usize::MAX).min(limits::TERMINAL_PULL_MAX_BYTES);
        let mut bytes = vec![0; most];
        match self.reader().read_at(offset, &mut bytes).map_err(|e| e.to_string())? {
            Read::Bytes(n) => {
                bytes.truncate(n);
                let next_offset = offset + n as u64;
                Ok(Pulled::bytes(bytes, next_offset, over && next_offset >= end))
            }
            Read::Gap { .. } => Ok(self.snapshot(false)),
            Read::End => Ok(Pulled::bytes(Vec::new(), offset, over)),
        }
    }

    fn snapshot(&self, screen_only: bool) -> Pulled {
        let model = self.model();
        let (rows, cols) = model.screen.size();
        let (end, over) = self.outlet.end();
        if screen_only {
            self.screen_only.store(model.fed, Ordering::Relaxed);
        }
        Pulled {
            snapshot: Some((cols, rows)),
            screen_only,
            bytes: if screen_only { model.screen.snapshot_of_screen() } else { model.screen.snapshot() },
            next_offset: model.fed,
            over: over && model.fed >= end,
        }
    }

    /// The visible screen as plain text.
    pub fn text(&self) -> String {
        self.model().screen.text()
    }

    /// What the program has shown since this offset, as plain text; of more than `most` bytes the end.
    pub(crate) fn text_since(&self, offset: u64, most: u64) -> String {
        let (rows, cols) = self.model().screen.size();
        let mut screen = Screen::new(rows, cols, 0);
        let mut log = self.reader();
        let from = offset.max(log.end().unwrap_or(offset).saturating_sub(most));
        let shown = super::turns::read_from(&mut log, from).unwrap_or_default();
        drop(log);
        screen.feed(&shown);
        screen.text()
    }

    /// Whether the program wants brackets around what is pasted.
    pub(crate) fn marks_pastes(&self) -> bool {
        self.model().screen.bracketed_paste()
    }

    /// Whether the bell rang since this was asked last.
    pub(crate) fn rang_since_looked(&self) -> bool {
        let rings = self.model().screen.bells();
        self.rings_told.swap(rings, Ordering::Relaxed) < rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carillon_supervisor::log::LogWriter;
    use std::os::fd::AsFd;
    use tokio::time::{Instant, sleep};

    /// More than a view may be behind.
    const BEHIND: u64 = limits::TERMINAL_BEHIND_MAX_BYTES + 4096;

    /// A terminal whose log is written by the test.
    struct Flooded {
        terminal: Terminal,
        log: Mutex<LogWriter>,
        _temp: tempfile::TempDir,
    }

    impl Flooded {
        /// After so many bytes, which the model has seen.
        fn after(bytes: u64) -> Self {
            let temp = tempfile::tempdir().expect("temp");
            let dir = std::fs::File::open(temp.path()).expect("open");
            let log = LogWriter::create(dir.as_fd(), limits::TERMINAL_LOG_MAX_BYTES).expect("log");
            let run = RunId::parse("0123456789abcdef0123456789abcdef").expect("an id");
            let outlet = Arc::new(Outlet::unconnected(&run, temp.path()));
            let terminal = Terminal::live(outlet, Some((80, 24))).expect("terminal");
            let this = Self { terminal, log: Mutex::new(log), _temp: temp };
            this.write(bytes);
            this.terminal.feed_to(this.end(), 0);
            this
        }

        /// The program writes numbered lines.
        fn write(&self, bytes: u64) {
            let until = self.end() + bytes;
            let mut log = self.log.lock().expect("log");
            while log.stream_end() < until {
                let line = format!("line {:010}\r\n", log.stream_end());
                log.append(line.as_bytes());
            }
            self.terminal.outlet.publish(log.stream_end());
        }

        fn end(&self) -> u64 {
            self.terminal.outlet.end().0
        }

        async fn pull(&self, offset: Option<u64>) -> Pulled {
            self.terminal.pull(offset, Duration::from_secs(1)).await.expect("pull")
        }

        /// What the terminal of a view shows after this, which must be a snapshot.
        fn drawn(&self, pulled: &Pulled) -> (String, usize) {
            let (cols, rows) = pulled.snapshot.expect("a snapshot");
            let mut view = Screen::new(rows, cols, limits::SCROLLBACK_LINES);
            view.feed(&pulled.bytes);
            (view.text(), view.snapshot().len())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_flood_a_view_gets_the_screen_alone_and_no_more_often_than_it_can_draw() {
        let flooded = Flooded::after(BEHIND);
        let mut offset = 0;
        let mut seen = 0;
        for _ in 0..5 {
            let began = Instant::now();
            let go_on = async {
                sleep(FLOOD_VIEW_PAUSE / 2).await;
                flooded.write(BEHIND);
                flooded.terminal.feed_to(flooded.end(), 0);
            };
            let (pulled, ()) = tokio::join!(flooded.pull(Some(offset)), go_on);
            assert_eq!(began.elapsed(), FLOOD_VIEW_PAUSE);
            assert!(pulled.screen_only && !pulled.over);
            assert_eq!(pulled.next_offset, flooded.end(), "the screen at the end of the pause");
            assert_eq!(flooded.drawn(&pulled).0, flooded.terminal.text());
            assert!(pulled.bytes.len() < 2048, "{} bytes", pulled.bytes.len());
            seen = pulled.next_offset;
            offset = seen - BEHIND;
        }
        // It has passed, and who attaches anew gets the lines above, too.
        let nothing = flooded.pull(Some(seen)).await;
        assert_eq!((nothing.snapshot, nothing.next_offset), (None, seen));
        let all = flooded.pull(None).await;
        assert!(!all.screen_only);
        assert!(flooded.drawn(&all).1 > limits::SCROLLBACK_LINES * 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_view_that_has_the_screen_alone_gets_no_bytes_but_everything_when_the_flood_has_passed() {
        let flooded = Flooded::after(BEHIND);
        let write = async |bytes: u64| {
            sleep(FLOOD_VIEW_PAUSE / 2).await;
            flooded.write(bytes);
            flooded.terminal.feed_to(flooded.end(), 0);
        };
        let (first, ()) = tokio::join!(flooded.pull(Some(0)), write(BEHIND));
        assert!(first.screen_only);
        // It comes in bursts, each of them less than a view may be behind.
        let bursts = async {
            write(BEHIND / 2).await;
            write(BEHIND / 4).await;
        };
        let (second, ()) = tokio::join!(flooded.pull(Some(first.next_offset)), bursts);
        assert!(second.screen_only, "{} bytes", second.bytes.len());
        let (last, ()) = tokio::join!(flooded.pull(Some(second.next_offset)), write(100));
        assert!(last.snapshot.is_some() && !last.screen_only);
        assert!(flooded.drawn(&last).1 > limits::SCROLLBACK_LINES * 10);
        // And now it has lines that can be followed.
        let (bytes, ()) = tokio::join!(flooded.pull(Some(last.next_offset)), write(100));
        assert_eq!(bytes.snapshot, None);
        assert!(!bytes.bytes.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_view_that_is_behind_what_has_come_to_rest_gets_everything_at_once() {
        let flooded = Flooded::after(BEHIND);
        let trickle = async {
            sleep(FLOOD_VIEW_PAUSE / 2).await;
            flooded.write(FLOOD_VIEW_BYTES / 2);
        };
        let (pulled, ()) = tokio::join!(flooded.pull(Some(0)), trickle);
        assert!(!pulled.screen_only);
        assert!(flooded.drawn(&pulled).1 > limits::SCROLLBACK_LINES * 10);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_run_is_not_kept_waiting_by_the_pause() {
        let flooded = Flooded::after(BEHIND);
        let began = Instant::now();
        let finish = async {
            sleep(FLOOD_VIEW_PAUSE / 4).await;
            flooded.write(BEHIND);
            flooded.terminal.finish(flooded.end());
            flooded.terminal.outlet.finish(flooded.end());
        };
        let (pulled, ()) = tokio::join!(flooded.pull(Some(0)), finish);
        assert_eq!(began.elapsed(), FLOOD_VIEW_PAUSE / 4);
        assert!(pulled.over && !pulled.screen_only);
        assert!(flooded.drawn(&pulled).1 > limits::SCROLLBACK_LINES * 10);
    }

    /// As after a snapshot from a model that has not read on since.
    #[tokio::test(start_paused = true)]
    async fn a_model_that_is_as_far_as_the_view_gets_the_pause_to_read_on() {
        let flooded = Flooded::after(0);
        flooded.write(BEHIND);
        let late = async {
            sleep(FLOOD_VIEW_PAUSE / 2).await;
            flooded.terminal.feed_to(flooded.end(), 0);
        };
        let (pulled, ()) = tokio::join!(flooded.pull(Some(0)), late);
        assert!(pulled.snapshot.is_some(), "a megabyte of bytes would be drawn for much longer");
        // One that does not read at all must not keep the view from its bytes.
        let end = flooded.end();
        flooded.write(BEHIND);
        let pulled = flooded.pull(Some(end)).await;
        assert_eq!((pulled.snapshot, pulled.bytes.is_empty()), (None, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_view_that_keeps_up_gets_its_bytes_without_a_pause() {
        let flooded = Flooded::after(BEHIND);
        let began = Instant::now();
        let pulled = flooded.pull(Some(flooded.end() - 100)).await;
        assert_eq!((pulled.snapshot, pulled.bytes.len()), (None, 100));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
