//! The loop: takes an event, lets `core` decide, commits, acts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::config::Paths;
use crate::error::Error;
use crate::event::Event;
use crate::newest::Newest;
use crate::queue::Lent;
use crate::seam;
use crate::timers::{Timer, Timers};
use crate::world::{Facts, Report, TempPlace, World};
use carillon_core::id::{AgentId, RunId};
use carillon_core::limits;
use carillon_core::reconcile::Observed;
use carillon_core::run::{self, Effect, State};
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
    /// When old tasks were looked for last.
    pub(crate) retired: Instant,
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
            retired: Instant::now(),
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
            let first = match self.timers.rest(now_ms()) {
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
            if !batch.is_empty() {
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
        let mut closed = None;
        let mut spent = false;
        let again: Vec<Event> = batch.iter().filter_map(Event::again).collect();
        let durable = batch.iter().any(Event::is_promise);
        if let Err(error) = self.store.begin_batch(durable) {
            // Outside a batch each write would stand alone, without the act that belongs to it. So
            // nothing is done: who asked hears that nobody answers, the world's reports come again.
            closed = batch.into_iter().find_map(Event::into_closed);
            self.finish_batch(Err(error), again);
            return closed;
        }
        for event in batch {
            match event {
                Event::Requested(work) => work(self),
                Event::RunBegan { run, facts } => {
                    self.marks.push("run began");
                    self.advance(&run, run::Event::Began, &facts);
                }
                Event::LaunchFailed { run, message } => {
                    self.advance(&run, run::Event::LaunchFailed { message }, &Facts::default());
                }
                Event::RunOver { run } => {
                    self.marks.push("run over");
                    self.run_over(&run);
                }
                Event::TempBuried { run } => {
                    self.marks.push("temp buried");
                    self.commit("noting a buried temp directory", |tx| runs::set_temp_buried(tx, &run));
                    spent = true;
                }
                Event::DirDropped { run } => {
                    self.commit("noting a dropped run directory", |tx| runs::set_dir_dropped(tx, &run));
                    spent = true;
                }
                Event::CallGone { call } => self.call_gone(&call),
                Event::HandedOver { turn, result } => self.handed_over(&turn, result),
                Event::HandOverPostponed { turn } => self.hand_over_postponed(&turn),
                Event::AttentionOver { run } => self.attention_changed(&run),
                Event::TerminalChanged { run } => self.terminal_changed(&run),
                Event::Due(Timer::Deadline(ask)) => self.deadline(&ask),
                Event::Due(Timer::Attention(run)) => self.look_for_questions(&run),
                Event::Due(Timer::Wake(agent)) => self.next_turn(&agent),
                Event::Due(Timer::Limit(profile)) => self.limit_due(&profile),
                Event::Due(Timer::LimitPassed(profile)) => self.limit_passed(&profile),
                Event::Due(Timer::Approval(approval)) => self.approval_due(&approval),
                Event::Closed { done } => closed = Some(done),
            }
        }
        if spent {
            self.forget_spent();
        }
        let marks = std::mem::take(&mut self.marks);
        marks.iter().for_each(|mark| seam::reach(&format!("before the commit: {mark}")));
        let committed = self.store.commit_batch();
        marks.iter().for_each(|mark| seam::reach(&format!("after the commit: {mark}")));
        self.finish_batch(committed, again);
        closed
    }

    pub(crate) fn finish_batch(&mut self, committed: Result<(), carillon_store::Error>, again: Vec<Event>) {
        if let Err(error) = &committed {
            tracing::error!(%error, "the ledger cannot be written; what the world reported is taken up again");
            let report = self.report.clone();
            let retry = move || {
                std::thread::sleep(RETRY);
                again.into_iter().for_each(|event| report.send(event));
            };
            if std::thread::Builder::new().name("retry".to_owned()).spawn(retry).is_err() {
                tracing::error!("no thread for it; the next start does it");
            }
        } else {
            self.announce();
        }
        let committed = committed.map_err(|error| error.to_string());
        for later in std::mem::take(&mut self.later) {
            match later {
                Later::Act(act) if committed.is_ok() => act(&*self.world, &self.report),
                Later::Act(_) => {}
                Later::Answer(answer) => answer(committed.clone()),
            }
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
        self.newest.set(newest);
        if newest - self.since_trim >= limits::CHANGES_KEPT / 10 {
            self.since_trim = newest;
            self.commit("trimming the change log", |tx| changes::trim(tx, limits::CHANGES_KEPT).map(drop));
        }
    }

    /// The supervisor has let go: its lease is free, so what it left is final.
    fn run_over(&mut self, run: &RunId) {
        let Ok(Some(row)) = self.store.read(|db| runs::get(db, run)) else { return };
        if let Err(message) = self.reconcile(&row) {
            tracing::error!(%run, message, "the end of a run could not be read; the next start tries again");
        }
    }

    /// Compute, commit, act: one step of one run.
    pub(crate) fn advance(&mut self, run: &RunId, event: run::Event, facts: &Facts) {
        let row = match self.store.read(|db| runs::get(db, run)) {
            Ok(Some(row)) => row,
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%error, %run, "a run cannot be read");
                return;
            }
        };
        match run::step(&row.state, event) {
            Ok((state, effects)) => {
                let row = with_facts(row, facts);
                if self.commit_state(&row, &state, facts) {
                    self.advance_attempt(&row, &state, facts);
                    self.advance_turn(&row, &state, facts);
                    self.act(&row, &effects);
                }
            }
            Err(rejected) => tracing::debug!(%run, ?rejected, "an event came late"),
        }
    }

    /// Writes the edge; false when another had been first, or when the ledger refused.
    fn commit_state(&mut self, row: &RunRow, state: &State, facts: &Facts) -> bool {
        let now = now_ms();
        let ended = facts.ended_ms.unwrap_or(now);
        let done = self.store.write(|tx| match state {
            State::Starting => Ok(false),
            State::Running => runs::set_running(tx, row),
            State::Ended(ending) => runs::set_ended(tx, row, ending, ended),
            State::Lost(why) => runs::set_lost(tx, row, *why, now),
        });
        match done {
            Ok(done) => done,
            Err(error) => {
                tracing::error!(%error, run = %row.id, "the state of a run could not be written; the next start repeats it");
                false
            }
        }
    }

    fn act(&mut self, row: &RunRow, effects: &[Effect]) {
        let strays = effects.contains(&Effect::EndStrays);
        for effect in effects {
            match effect {
                Effect::BuryTemp => self.clear_up(row, strays),
                // Done with the burial, which has to wait for it.
                Effect::EndStrays => {}
                Effect::DropOldRuns => self.drop_old_runs(row),
            }
        }
    }

    /// Has what a run left outside its directory cleared up.
    pub(crate) fn clear_up(&mut self, row: &RunRow, strays: bool) {
        let temp = row.temp_path.as_ref().filter(|_| row.temp_held).map(Into::into);
        if temp.is_some() || strays {
            let run = row.id.clone();
            self.act_later(move |world, report| world.clear_up(&run, temp, strays, report.clone()));
        }
    }

    pub(crate) fn drop_dir(&mut self, run: &RunId) {
        let run = run.clone();
        self.act_later(move |world, report| world.drop_dir(&run, report.clone()));
    }

    /// Keeps the newest directories of an agent: that of the present run and of the one before it.
    fn drop_old_runs(&mut self, row: &RunRow) {
        let Some(agent) = &row.agent else { return };
        let Ok(kept) = self.store.read(|db| runs::with_dir_of(db, agent)) else { return };
        for old in kept.iter().skip(self.runs_kept(agent)).filter(|run| run.state.is_terminal()) {
            self.drop_dir(&old.id);
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

/// Lays what the supervisor recorded over what the ledger knew.
fn with_facts(mut row: RunRow, facts: &Facts) -> RunRow {
    row.pid = facts.pid.or(row.pid);
    row.start_time = facts.start_time.or(row.start_time);
    row.boot_id = facts.boot_id.clone().or(row.boot_id);
    row.started_ms = facts.started_ms.or(row.started_ms);
    row.log_bytes = facts.log_bytes.max(row.log_bytes);
    row
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

    /// What the ledger cannot begin must not be done outside a transaction, where its writes would stand
    /// without the acts that belong to them.
    #[test]
    fn nothing_is_done_of_a_batch_that_cannot_be_begun_and_the_worlds_reports_come_again() {
        let temp = tempfile::tempdir().expect("a directory");
        let config = Config {
            home: temp.path().to_owned(),
            home_is_chosen: true,
            carillon_binary: "/no/such/carillon".into(),
            from_terminal: true,
        };
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
