//! The loop: takes an event, lets `core` decide, commits, acts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::config::Paths;
use crate::error::Error;
use crate::event::Event;
use crate::newest::Newest;
use crate::queue::Lent;
use crate::seam;
use crate::temps::TempUses;
use crate::timers::{Timer, Timers};
use crate::vain_starts::VainStarts;
use crate::wanted::{Want, Wanted};
use crate::world::{Facts, Report, TempPlace, World};
use carillon_core::id::{AgentId, RunId};
use carillon_core::limits;
use carillon_core::reconcile::Observed;
use carillon_core::run;
use carillon_store::runs::RunRow;
use carillon_store::{Store, changes, runs};

/// What the loop's thread owns.
pub struct MainLoop {
    pub(crate) store: Store,
    world: Arc<dyn World>,
    pub(crate) paths: Paths,
    report: Report,
    /// False once the shutdown has begun: nothing new starts.
    pub(crate) accepting: bool,
    /// False until a boot knows which asks are over: before that no turn begins.
    pub(crate) turns_may_begin: bool,
    /// Tasks that wait for another one and take no slot meanwhile.
    pub(crate) lent: Lent,
    /// What is to be done at a stated time.
    pub(crate) timers: Timers,
    /// Agents that go on later after a limit, and when, in Unix milliseconds.
    pub(crate) resting: HashMap<AgentId, i64>,
    /// Runs that are over and whose temp directory tasks have inherited. A boot finds them anew.
    pub(crate) inherited: HashSet<RunId>,
    /// How much room temp directories take.
    pub(crate) temp_uses: Arc<TempUses>,
    /// When old tasks were looked for last.
    pub(crate) retired: Instant,
    /// Runs whose turn has said something that could not be read, with how often that was tried.
    pub(crate) unread: HashMap<RunId, u32>,
    /// Runs whose directory is being removed.
    pub(crate) dropping: HashSet<RunId>,
    /// What is to be looked after before the next commit.
    pub(crate) wanted: Wanted,
    /// Starts of which nothing ever began.
    pub(crate) vain_starts: VainStarts,
    /// What in this batch a crash would be telling about; see [`crate::seam`].
    pub(crate) marks: Vec<&'static str>,
    /// What is done when the batch is committed.
    later: Vec<Later>,
    /// The newest change, for everybody who waits for one.
    newest: Arc<Newest>,
    since_trim: u64,
}

/// Something to do to the world.
type Act = Box<dyn FnOnce(&dyn World, &Report) + Send>;

/// What waits for a commit.
enum Later {
    /// An act on the world. It is done only when the commit worked.
    Act(Act),
    /// An answer. It is told whether the commit worked.
    Answer(Box<dyn FnOnce(Result<(), String>) + Send>),
}

/// Most events that share one commit.
const BATCH: usize = 64;
/// Pause before the reports of the world are taken up again when the ledger could not be written.
const RETRY: Duration = Duration::from_secs(1);

impl MainLoop {
    pub(crate) fn new(
        store: Store,
        world: Arc<dyn World>,
        paths: Paths,
        events: Sender<Event>,
    ) -> Result<(Self, Arc<Newest>), Error> {
        let since_trim = store.read(changes::newest)?;
        let newest = Arc::new(Newest::new(since_trim));
        let report = Report(events);
        let this = Self {
            store,
            world,
            paths,
            report,
            accepting: true,
            turns_may_begin: false,
            lent: Lent::new(),
            timers: Timers::default(),
            resting: HashMap::new(),
            inherited: HashSet::new(),
            temp_uses: Arc::default(),
            retired: Instant::now(),
            unread: HashMap::new(),
            dropping: HashSet::new(),
            wanted: Wanted::default(),
            vain_starts: VainStarts::default(),
            marks: Vec::new(),
            later: Vec::new(),
            newest: newest.clone(),
            since_trim,
        };
        Ok((this, newest))
    }

    /// Runs until it is told to close. Events that came while the last commit was on its way share
    /// the next one.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        let mut closed = None;
        while closed.is_none() {
            let rest = if self.wanted.is_empty() { self.timers.rest(now_ms()) } else { Some(Duration::ZERO) };
            let first = match rest {
                Some(rest) => events.recv_timeout(rest),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let mut batch: Vec<Event> = self.timers.take(now_ms()).into_iter().map(Event::Due).collect();
            match first {
                Ok(first) => batch.push(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            batch.extend(events.try_iter().take(BATCH.saturating_sub(batch.len())));
            if !batch.is_empty() || !self.wanted.is_empty() {
                closed = self.run_batch(batch);
            }
        }
        if let Err(error) = self.store.checkpoint() {
            tracing::warn!(%error, "the ledger could not be checkpointed; the next start does it");
        }
        drop(self);
        if let Some(done) = closed {
            let _ = done.send(());
        }
    }

    /// Computes, commits, acts: for all events of a batch together. Answers the sender that waits
    /// for the end, when the batch holds one.
    fn run_batch(&mut self, batch: Vec<Event>) -> Option<Sender<()>> {
        let durable = batch.iter().any(Event::is_promise) || !self.wanted.is_empty();
        if let Err(error) = self.store.begin_batch(durable) {
            // Outside a batch each write would stand alone, without the act that belongs to it. So
            // nothing is done: who asked hears that nobody answers, the world's reports come again.
            let again = batch.iter().filter_map(Event::again).collect();
            let closed = batch.into_iter().find_map(Event::into_closed);
            self.finish_batch(Err(error), again);
            return closed;
        }
        let (mut closed, mut spent) = (None, false);
        let (mut taken, mut failed) = (Vec::new(), Vec::new());
        let (mut line, mut wants) = (VecDeque::from(batch), 0..BATCH);
        // A bounded share of what is to be looked after: the rest has the next batch, which comes at once.
        while let Some(event) =
            line.pop_front().or_else(|| wants.next().and_then(|_| self.wanted.next()).map(Event::Wanted))
        {
            let (event, tries) = event.unpacked();
            spent |= matches!(event, Event::TempBuried { .. } | Event::DirDropped { .. });
            let again = event.again();
            let about = event.about();
            match event {
                Event::Closed { done } => closed = Some(done),
                event => match self.wholly(|this| this.take(event)) {
                    Ok(()) => taken.extend(again),
                    Err(error) => failed.extend(failed_again(again, tries.saturating_add(1), &about, &error)),
                },
            }
        }
        if spent {
            self.forget_spent();
        }
        let marks = std::mem::take(&mut self.marks);
        marks.iter().for_each(|mark| seam::reach(&format!("before the commit: {mark}")));
        let committed = self.store.commit_batch();
        marks.iter().for_each(|mark| seam::reach(&format!("after the commit: {mark}")));
        if committed.is_err() {
            failed.extend(taken);
        }
        self.finish_batch(committed, failed);
        closed
    }

    /// One event. What it could not do wholly is taken back by who calls.
    fn take(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Requested(work) => work(self),
            Event::RunBegan { run, facts } => {
                self.marks.push("run began");
                self.advance(&run, run::Event::Began, &facts)?;
            }
            Event::LaunchFailed { run, message } => {
                self.advance(&run, run::Event::LaunchFailed { message }, &Facts::default())?;
            }
            Event::RunOver { run } => {
                self.marks.push("run over");
                self.run_over(&run)?;
            }
            Event::TempBuried { run } => {
                self.marks.push("temp buried");
                self.temp_buried(&run)?;
            }
            Event::DirDropped { run } => {
                self.dropping.remove(&run);
                self.store.write(|tx| runs::set_dir_dropped(tx, &run))?;
            }
            Event::TempMeasured { run, taken } => self.temp_measured(&run, taken)?,
            Event::CallGone { call } => self.call_gone(&call)?,
            Event::HandedOver { turn, result } => self.handed_over(&turn, result)?,
            Event::HandOverPostponed { turn } => self.hand_over_postponed(&turn)?,
            Event::AttentionOver { run } => self.attention_changed(&run)?,
            Event::TerminalChanged { run } => self.terminal_changed(&run)?,
            Event::Due(Timer::Deadline(ask)) => self.deadline(&ask)?,
            Event::Due(Timer::Attention(run)) => self.look_for_questions(&run)?,
            Event::Due(Timer::Wake(agent)) => self.next_turn(&agent),
            Event::Due(Timer::Slots(project)) => self.fill_slots(&project),
            Event::Due(Timer::Limit(profile)) => self.limit_due(&profile)?,
            Event::Due(Timer::LimitPassed(profile)) => self.limit_passed(&profile)?,
            Event::Due(Timer::Approval(approval)) => self.approval_due(&approval)?,
            Event::Wanted(Want::Turn(agent)) => self.look_after(&agent)?,
            Event::Wanted(Want::Slot(project)) => self.fill_slot(&project)?,
            // Unpacked, and kept for the end of the batch, by who calls.
            Event::Again { .. } | Event::Closed { .. } => {}
        }
        Ok(())
    }

    /// Does something wholly or not at all: when it fails nothing stands of what it wrote, and nothing is
    /// done of what that had led to. Who asked is answered all the same.
    pub(crate) fn wholly<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let before = self.later.len();
        self.store.begin_part()?;
        let done = work(self).and_then(|value| {
            self.store.keep_part()?;
            Ok(value)
        });
        if done.is_err() {
            let since = self.later.split_off(before);
            self.later.extend(since.into_iter().filter(|later| matches!(later, Later::Answer(_))));
            // What is asked for twice is harmless; what is not asked for would stay.
            self.dropping.clear();
            if let Err(error) = self.store.undo_part() {
                tracing::error!(%error, "what failed cannot be taken back; nothing of the batch will stand");
            }
        }
        done
    }

    pub(crate) fn finish_batch(&mut self, committed: Result<(), carillon_store::Error>, again: Vec<Event>) {
        match &committed {
            Ok(()) => self.announce(),
            Err(error) => {
                tracing::error!(%error, "the ledger cannot be written; what the world reported is taken up again");
                self.dropping.clear();
            }
        }
        if !again.is_empty() {
            self.repeat_later(again);
        }
        let committed = committed.map_err(|error| error.to_string());
        let mut answers = Vec::new();
        for later in std::mem::take(&mut self.later) {
            match later {
                Later::Act(act) if committed.is_ok() => act(&*self.world, &self.report),
                Later::Act(_) => {}
                Later::Answer(answer) => answers.push(answer),
            }
        }
        // Last: what somebody asked for is on its way when he hears of it.
        answers.into_iter().for_each(|answer| answer(committed.clone()));
    }

    /// Takes events up again after a pause, which is longer the more often they have failed.
    fn repeat_later(&self, again: Vec<Event>) {
        let tries = again.iter().map(|event| if let Event::Again { tries, .. } = event { *tries } else { 0 });
        let pause = RETRY * 2u32.pow(tries.max().unwrap_or(0).saturating_sub(1).min(5));
        let report = self.report.clone();
        let retry = move || {
            std::thread::sleep(pause);
            again.into_iter().for_each(|event| report.send(event));
        };
        if std::thread::Builder::new().name("retry".to_owned()).spawn(retry).is_err() {
            tracing::error!("no thread for it; the next start does it");
        }
    }

    /// Acts on the world once what led to it is committed.
    pub(crate) fn act_later(&mut self, act: impl FnOnce(&dyn World, &Report) + Send + 'static) {
        self.later.push(Later::Act(Box::new(act)));
    }

    /// Answers once what is answered is committed.
    pub(crate) fn answer_later(&mut self, answer: impl FnOnce(Result<(), String>) + Send + 'static) {
        self.later.push(Later::Answer(Box::new(answer)));
    }

    /// The world, for what is only looked at.
    pub(crate) fn world(&self) -> &dyn World {
        &*self.world
    }

    /// A place for a new temp directory of a project.
    pub(crate) fn temp_place(&self, project_root: &std::path::Path) -> Result<TempPlace, String> {
        self.world.temp_place(project_root)
    }

    /// Looks what is there of a run.
    pub(crate) fn observe(&self, row: &RunRow) -> Result<(Observed, Facts), String> {
        self.world.observe(row)
    }

    /// Tells everybody who waits that there is something new.
    pub(crate) fn announce(&mut self) {
        let Ok(newest) = self.store.read(changes::newest) else { return };
        if self.newest.has_ones() {
            let known = self.newest.get();
            match self.store.read(|db| changes::after(db, known, limits::CHANGES_BATCH)) {
                Ok(Some(new)) if new.len() < limits::CHANGES_BATCH => {
                    self.newest.tell(new.iter().map(|change| change.row.as_str()));
                }
                Ok(_) | Err(_) => self.newest.tell_all(),
            }
        }
        self.newest.set(newest);
        if newest - self.since_trim >= limits::CHANGES_KEPT / 10 {
            self.since_trim = newest;
            self.commit("trimming the change log", |tx| changes::trim(tx, limits::CHANGES_KEPT).map(drop));
        }
    }

    fn forget_spent(&mut self) {
        self.commit("forgetting spent runs", |tx| runs::forget_spent(tx).map(drop));
    }

    /// A write whose failure costs nothing but a repeat at the next boot.
    fn commit(
        &mut self,
        what: &str,
        work: impl Fn(&carillon_store::db::Db) -> Result<(), carillon_store::db::SqlError>,
    ) {
        if let Err(error) = self.store.write(work) {
            tracing::warn!(%error, "{what} failed");
        }
    }
}

/// What failed is taken up again, for as long as it takes: who waits for the end of a run must not wait for the next start.
fn failed_again(again: Option<Event>, tries: u32, about: &str, error: &Error) -> Option<Event> {
    match again {
        Some(event) => {
            if tries < limits::EVENT_TRIES {
                tracing::warn!(%error, about, tries, "it could not be written down; it is taken up again");
            } else {
                tracing::error!(%error, about, tries, "it still cannot be written down; it is taken up again");
            }
            Some(event.after(tries))
        }
        None => {
            tracing::warn!(%error, about, "it could not be done");
            None
        }
    }
}

/// Now, in Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::host::Host;
    use std::sync::mpsc;

    #[test]
    fn the_end_of_a_run_is_never_given_up() {
        let run = RunId::parse("0123456789abcdef0123456789abcdef").expect("an id");
        let error = Error::failed("the disk is full", "make room");
        for tries in [1, limits::EVENT_TRIES, 10_000] {
            let again = failed_again(Some(Event::RunOver { run: run.clone() }), tries, "it", &error);
            assert!(matches!(again, Some(Event::Again { tries: found, .. }) if found == tries));
        }
    }

    /// What the ledger cannot begin must not be done outside a transaction, where its writes would stand
    /// without the acts that belong to them.
    #[test]
    fn nothing_is_done_of_a_batch_that_cannot_be_begun_and_the_worlds_reports_come_again() {
        let temp = tempfile::tempdir().expect("a directory");
        let config = Config::of_test(temp.path());
        let store = Store::open(&temp.path().join("carillon.db"), 0).expect("a ledger").store;
        let (events, reported) = mpsc::channel();
        let world = Arc::new(Arc::new(Host::new(&config)));
        let (mut this, _newest) = MainLoop::new(store, world, config.paths(), events).expect("a loop");
        // A transaction that is open already: the next one is refused, and not because of others.
        this.store.read(|db| db.execute_batch("BEGIN")).expect("begin");

        let run = RunId::parse("0123456789abcdef0123456789abcdef").expect("an id");
        let request = |done: mpsc::Sender<()>| {
            Event::Requested(Box::new(move |_| {
                let _ = done.send(());
            }))
        };
        let (done, answer) = mpsc::channel();
        let (closing, closed) = mpsc::channel();
        let batch = vec![Event::RunOver { run: run.clone() }, request(done), Event::Closed { done: closing }];
        let told = this.run_batch(batch).expect("who waits for the end is not forgotten");
        assert_eq!(answer.recv(), Err(mpsc::RecvError), "who asked hears that nobody answers");
        told.send(()).expect("the one who waits");
        closed.recv().expect("the word");
        match reported.recv_timeout(Duration::from_secs(20)) {
            Ok(Event::RunOver { run: again }) => assert_eq!(again, run),
            Ok(_) => panic!("something else was reported"),
            Err(error) => panic!("the report does not come again: {error}"),
        }
        assert!(reported.try_recv().is_err(), "and nothing else comes");

        this.store.read(|db| db.execute_batch("ROLLBACK")).expect("rollback");
        let (done, answer) = mpsc::channel();
        assert!(this.run_batch(vec![request(done)]).is_none());
        assert_eq!(answer.recv(), Ok(()), "and then it goes on");
    }
}
