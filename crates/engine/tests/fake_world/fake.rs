//! A world that does nothing by itself and writes down what is asked of it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use carillon_core::id::{CallId, RunId, TurnId};
use carillon_core::reconcile::Observed;
use carillon_core::run::{Cause, Ending};
use carillon_core::turn;
use carillon_core::usage::Usage;
use carillon_engine::world::{
    CallState, Facts, LaunchOrder, Quiet, Report, TempPlace, TerminalFacts, TurnOutcome, Unread, World,
};
use carillon_store::runs::RunRow;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

/// Longest that a test waits for anything. Only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What was asked of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The state of the run in the ledger, as a stranger saw it at that moment.
    Launch {
        run: RunId,
        seen: Option<String>,
    },
    Adopt {
        run: RunId,
    },
    Stop {
        run: RunId,
        by: String,
    },
    ClearUp {
        run: RunId,
        temp: Option<PathBuf>,
        strays: bool,
        seen: Option<String>,
    },
    DropDir {
        run: RunId,
        seen: Option<String>,
    },
    LetGo,
    HandOver {
        run: RunId,
        turn: TurnId,
        prompt: String,
    },
    WatchCall {
        call: CallId,
    },
}

/// What the world does when it is asked to start a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLaunch {
    /// Nothing: the test reports.
    Nothing,
    /// The supervisor answers at once.
    Begin,
    /// The program ends at once, with this code.
    End(i32),
    /// The supervisor is gone before it has begun anything.
    NeverBegin,
}

/// What comes of a prompt that is to be typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnHandOver {
    /// It is with the program at once.
    #[default]
    Done,
    /// The terminal is taken after all.
    Postponed,
    /// Nothing is heard of it.
    Silent,
}

#[derive(Default)]
struct Inside {
    asked: Vec<Asked>,
    orders: Vec<LaunchOrder>,
    reports: HashMap<RunId, Report>,
    observed: HashMap<RunId, Result<Observed, String>>,
    outcomes: HashMap<RunId, turn::End>,
    held: HashSet<CallId>,
    terminals: HashMap<RunId, TerminalFacts>,
    on_hand_over: OnHandOver,
    places: u32,
    has_no_place: bool,
    unread: u32,
    connected: bool,
    on_launch: Option<OnLaunch>,
}

/// The world of a test.
pub struct Fake {
    ledger: PathBuf,
    inside: Mutex<Inside>,
    changed: Condvar,
}

impl Fake {
    pub fn new(ledger: PathBuf, on_launch: OnLaunch) -> Arc<Self> {
        let inside = Mutex::new(Inside { on_launch: Some(on_launch), connected: true, ..Inside::default() });
        Arc::new(Self { ledger, inside, changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().expect("no test panicked with it")
    }

    fn note(&self, asked: Asked) {
        self.lock().asked.push(asked);
        self.changed.notify_all();
    }

    /// The state of a run as another connection sees it: what is not committed is not there.
    fn seen(&self, run: &RunId) -> Option<String> {
        let db =
            Connection::open_with_flags(&self.ledger, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the ledger");
        db.query_row("SELECT state FROM runs WHERE id = ?1", [run.as_str()], |row| row.get(0))
            .optional()
            .expect("a read")
    }

    /// All that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.lock().asked.clone()
    }

    /// Forgets what was asked so far.
    pub fn forget(&self) {
        self.lock().asked.clear();
    }

    /// The orders to launch, in their order.
    pub fn orders(&self) -> Vec<LaunchOrder> {
        self.lock().orders.clone()
    }

    /// Waits until enough was asked that fits.
    pub fn wait_for(&self, count: usize, fits: impl Fn(&Asked) -> bool) -> Vec<Asked> {
        let enough = |inside: &mut Inside| inside.asked.iter().filter(|asked| fits(asked)).count() < count;
        let (inside, waited) =
            self.changed.wait_timeout_while(self.lock(), PATIENCE, enough).expect("no panic");
        assert!(!waited.timed_out(), "waited in vain; asked was {:?}", inside.asked);
        inside.asked.iter().filter(|asked| fits(asked)).cloned().collect()
    }

    /// Waits for the launch of the run after so many others.
    pub fn wait_for_launch(&self, before: usize) -> RunId {
        let all = self.wait_for(before + 1, |asked| matches!(asked, Asked::Launch { .. }));
        let Asked::Launch { run, .. } = &all[before] else { unreachable!("only launches were taken") };
        run.clone()
    }

    /// The way back that the loop handed out with a run.
    pub fn report(&self, run: &RunId) -> Report {
        self.lock().reports.get(run).expect("the run was launched or adopted").clone()
    }

    /// What is found from now on when the run is looked at. What nobody set is alive.
    pub fn set_observed(&self, run: &RunId, found: Result<Observed, String>) {
        self.lock().observed.insert(run.clone(), found);
    }

    /// What comes of a launch from now on.
    pub fn set_on_launch(&self, on_launch: OnLaunch) {
        self.lock().on_launch = Some(on_launch);
    }

    /// So many times what a turn has said cannot be read.
    pub fn fail_to_read(&self, times: u32) {
        self.lock().unread = times;
    }

    /// From now on there is no place for a temp directory.
    pub fn take_all_places(&self) {
        self.lock().has_no_place = true;
    }

    /// Whether supervisors can be reached.
    pub fn set_connected(&self, connected: bool) {
        self.lock().connected = connected;
    }

    /// What the program of a headless turn has said at its end. What nobody set is an empty final.
    pub fn set_outcome(&self, run: &RunId, end: turn::End) {
        self.lock().outcomes.insert(run.clone(), end);
    }

    /// Whether the client of a call lives.
    pub fn hold(&self, call: &CallId, held: bool) {
        let mut inside = self.lock();
        if held {
            inside.held.insert(call.clone())
        } else {
            inside.held.remove(call)
        };
    }

    /// What is found of a terminal from now on.
    pub fn set_terminal(&self, run: &RunId, facts: TerminalFacts) {
        self.lock().terminals.insert(run.clone(), facts);
    }

    /// What comes of a hand-over from now on.
    pub fn set_hand_over(&self, on_hand_over: OnHandOver) {
        self.lock().on_hand_over = on_hand_over;
    }

    /// Lets a run end by itself.
    pub fn end(&self, run: &RunId, exit_code: i32) {
        self.set_observed(run, Ok(ended(exit_code)));
        self.report(run).over(run);
    }
}

pub fn ended(exit_code: i32) -> Observed {
    Observed::Ended(Ending { cause: Cause::Ended, exit_code: Some(exit_code), signal: None })
}

pub fn facts() -> Facts {
    Facts { pid: Some(4242), start_time: Some(7), boot_id: Some("boot".to_owned()), ..Facts::default() }
}

impl World for Fake {
    fn launch(&self, order: LaunchOrder, report: Report) {
        let run = order.run.clone();
        let seen = self.seen(&run);
        let mut inside = self.lock();
        inside.reports.insert(run.clone(), report.clone());
        inside.orders.push(order);
        match inside.on_launch {
            Some(OnLaunch::Begin) => report.began(&run, facts()),
            Some(OnLaunch::End(code)) => {
                inside.observed.insert(run.clone(), Ok(ended(code)));
                report.over(&run);
            }
            Some(OnLaunch::NeverBegin) => {
                inside.observed.insert(run.clone(), Ok(Observed::NeverBegan));
                report.over(&run);
            }
            Some(OnLaunch::Nothing) | None => {}
        }
        drop(inside);
        self.note(Asked::Launch { run, seen });
    }

    fn adopt(&self, run: &RunId, report: Report) {
        self.lock().reports.insert(run.clone(), report);
        self.note(Asked::Adopt { run: run.clone() });
    }

    fn temp_place(&self, project_root: &Path) -> Result<TempPlace, String> {
        assert!(project_root.is_dir(), "the place is chosen for a project: {}", project_root.display());
        let mut inside = self.lock();
        if inside.has_no_place {
            return Err("there is no place".to_owned());
        }
        inside.places += 1;
        let name = format!("{:0>8}", inside.places);
        Ok(TempPlace { base: PathBuf::from("/t"), namespace: "abcdef".to_owned(), name })
    }

    fn observe(&self, run: &RunRow) -> Result<(Observed, Facts), String> {
        let found = self.lock().observed.get(&run.id).cloned();
        found.unwrap_or(Ok(Observed::Alive)).map(|observed| (observed, Facts::default()))
    }

    fn stop(&self, run: &RunId, by: &str) -> bool {
        self.note(Asked::Stop { run: run.clone(), by: by.to_owned() });
        self.lock().connected
    }

    fn clear_up(&self, run: &RunId, temp: Option<PathBuf>, strays: bool, report: Report) {
        if temp.is_some() {
            report.temp_buried(run);
        }
        self.note(Asked::ClearUp { run: run.clone(), temp, strays, seen: self.seen(run) });
    }

    fn watch_temp(&self, _: &RunId, _: PathBuf, _: Report) {}

    fn drop_dir(&self, run: &RunId, report: Report) {
        report.dir_dropped(run);
        self.note(Asked::DropDir { run: run.clone(), seen: self.seen(run) });
    }

    fn turn_outcome(
        &self,
        run: &RunId,
        _: &str,
        ending: Option<&Ending>,
        _: i64,
    ) -> Result<TurnOutcome, Unread> {
        let mut inside = self.lock();
        if let Some(left) = inside.unread.checked_sub(1) {
            inside.unread = left;
            return Err(Unread::NotNow("too many open files".to_owned()));
        }
        let end = inside.outcomes.get(run).cloned();
        if ending.is_none() && end.is_none() {
            return Err(Unread::Lost("nobody has seen its end".to_owned()));
        }
        let end = end.unwrap_or(turn::End::Final { text: String::new() });
        Ok(TurnOutcome {
            end,
            session: None,
            session_unknown: false,
            usage: Usage::default(),
            usage_of_session: false,
        })
    }

    fn has_answered(&self, _: &RunId, _: &str) -> bool {
        false
    }

    fn tail_of(&self, run: &RunId, _: u64) -> String {
        format!("tail of {run}")
    }

    fn call_state(&self, call: &CallId) -> CallState {
        if self.lock().held.contains(call) { CallState::Waits } else { CallState::Gone }
    }

    fn watch_call(&self, call: &CallId, _: Report) {
        self.note(Asked::WatchCall { call: call.clone() });
    }

    fn settle_call(&self, _: &CallId) {}

    fn terminal_facts(&self, run: &RunId) -> TerminalFacts {
        self.lock().terminals.get(run).copied().unwrap_or_default()
    }

    fn watch_terminal(&self, _: &RunId, _: Report) {}

    fn hand_over(&self, run: &RunId, turn: &TurnId, prompt: String, report: Report) {
        let on_hand_over = self.lock().on_hand_over;
        match on_hand_over {
            OnHandOver::Done => report.handed_over(turn, Ok(())),
            OnHandOver::Postponed => report.hand_over_postponed(turn),
            OnHandOver::Silent => {}
        }
        self.note(Asked::HandOver { run: run.clone(), turn: turn.clone(), prompt });
    }

    fn was_handed_over(&self, run: &RunId, turn: &TurnId) -> bool {
        let was =
            |asked: &Asked| matches!(asked, Asked::HandOver { run: r, turn: t, .. } if r == run && t == turn);
        self.lock().asked.iter().any(was)
    }

    fn interrupt(&self, _: &RunId, _: &str) {}

    fn quiet(&self, _: &RunId, _: Duration) -> Option<Quiet> {
        None
    }

    fn set_attention(&self, _: &RunId, _: bool) -> bool {
        false
    }

    fn needs_attention(&self, _: &RunId) -> bool {
        false
    }

    fn let_go(&self) {
        self.note(Asked::LetGo);
    }
}
