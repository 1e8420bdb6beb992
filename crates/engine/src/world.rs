//! The port through which the loop acts: everything that is neither `core` nor the ledger.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use carillon_core::id::{CallId, RunId, TurnId};
use carillon_core::reconcile::Observed;
use carillon_core::residue::Use;
use carillon_core::run::Ending;
use carillon_core::turn;
use carillon_core::usage::Usage;
use carillon_core::words::{Agent, Profile};
use carillon_store::runs::RunRow;

use crate::event::Event;

/// What to start.
#[derive(Clone, Debug)]
pub struct LaunchOrder {
    /// The run, whose row is committed.
    pub run: RunId,
    /// What to start.
    pub what: What,
    /// The directory to work in.
    pub cwd: PathBuf,
    /// What its environment begins with.
    pub base_env: BaseEnv,
    /// The `CARILLON_*` variables that say who and where it is.
    pub ours: Vec<(&'static str, String)>,
    /// Variables of its profile.
    pub own_env: Vec<(String, String)>,
    /// How it is connected.
    pub io: OrderIo,
    /// Time after which it is ended, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Cap of its log, in bytes.
    pub log_max: u64,
    /// Its temp directory, as `base`, `namespace`, `name`; made now, exclusively.
    pub temp: TempPlace,
    /// The root of the project whose rules say whether it is guarded; none for what never is.
    pub guarded: Option<PathBuf>,
}

/// What a run starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// These words: the program and its arguments.
    Command(Vec<String>),
    /// An agent. Its words, and what else its program needs, are found when it is started.
    Agent(AgentOrder),
}

/// How an agent is started: in its own interface, or for one headless turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOrder {
    /// The adapter's word.
    pub adapter: String,
    /// A path, or a name on the user's PATH.
    pub program: String,
    /// Arguments of the profile.
    pub args: Vec<String>,
    /// What it is told to be; may be empty.
    pub role: String,
    /// The prompt of a headless turn.
    pub prompt: String,
    /// The session to go on with.
    pub session: Option<String>,
    /// The id for a new session.
    pub new_session: String,
}

impl AgentOrder {
    /// The order for an agent; without a prompt for its terminal.
    pub(crate) fn of(agent: &Agent, profile: &Profile, prompt: String) -> Self {
        Self {
            adapter: profile.adapter.clone(),
            program: profile.program.clone(),
            args: profile.args.clone(),
            role: agent.role.clone(),
            prompt,
            session: agent.session_id.clone(),
            new_session: uuid::Uuid::new_v4().to_string(),
        }
    }
}

/// What the environment of a program begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseEnv {
    /// The user's own, from a login shell.
    User,
    /// The one that was kept under this name.
    Kept(String),
}

/// How a program is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderIo {
    /// To a terminal of this size.
    Terminal {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// To pipes: nothing to read, both outputs into one log.
    Pipes,
    /// To a prompt on its standard input; output and errors apart.
    Turn,
}

/// The place of a temp directory, chosen before it is made so that the ledger knows it first.
#[derive(Clone, Debug)]
pub struct TempPlace {
    /// The base that passed its preflight.
    pub base: PathBuf,
    /// Six hex digits of the data directory and the project.
    pub namespace: String,
    /// Eight random characters.
    pub name: String,
}

impl TempPlace {
    /// The directory.
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.namespace).join(&self.name)
    }
}

/// Facts of a run's leader, from its supervisor's own record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Process id.
    pub pid: Option<u32>,
    /// Start time in clock ticks since the boot.
    pub start_time: Option<u64>,
    /// The boot under which it began.
    pub boot_id: Option<String>,
    /// When it began, in Unix milliseconds.
    pub started_ms: Option<i64>,
    /// When it ended, in Unix milliseconds.
    pub ended_ms: Option<i64>,
    /// Bytes of its output so far.
    pub log_bytes: u64,
    /// Whether some of them are not kept.
    pub log_truncated: bool,
    /// A descendant still held the output when the drain was over.
    pub output_held: bool,
    /// Processes that are still there, in words.
    pub left_over: Vec<String>,
}

/// What came of a headless turn, as its program told.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    /// How it ended.
    pub end: turn::End,
    /// The session of the agent's program, where it told one.
    pub session: Option<String>,
    /// The session that it was told to go on with is not known to it.
    pub session_unknown: bool,
    /// What it used, as far as it told.
    pub usage: Usage,
    /// The usage counts the whole session so far, not this turn alone.
    pub usage_of_session: bool,
}

/// Why it is not known what a turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It could not be read just now; it may be in a moment.
    NotNow(String),
    /// It will never be known.
    Lost(String),
}

/// What is known of the client of a waiting call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It lives, and waits.
    Waits,
    /// It is gone, and had written the answer out.
    Written,
    /// It is gone.
    Gone,
}

/// What is known of an agent's terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalFacts {
    /// The user has typed half a line.
    pub typing: bool,
    /// Its program is at something that we did not ask for.
    pub busy: bool,
    /// Its program tells when a turn of its ends.
    pub tells_ends: bool,
    /// Its program has told that it is at a turn, ours or the user's.
    pub at_turn: bool,
    /// It was asked by a key to break off a turn, and has told nothing since.
    pub broken_off: bool,
}

/// How long a program has said nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quiet {
    /// In milliseconds.
    pub for_ms: u64,
    /// Its last words look like a question, or it has rung the bell.
    pub asks: bool,
}

/// The way back: what the world tells the loop.
#[derive(Clone)]
pub struct Report(pub(crate) Sender<Event>);

impl Report {
    /// The supervisor answers.
    pub fn began(&self, run: &RunId, facts: Facts) {
        self.send(Event::RunBegan { run: run.clone(), facts });
    }

    /// Nothing was started.
    pub fn launch_failed(&self, run: &RunId, message: String) {
        self.send(Event::LaunchFailed { run: run.clone(), message });
    }

    /// The supervisor has let go: look what it left.
    pub fn over(&self, run: &RunId) {
        self.send(Event::RunOver { run: run.clone() });
    }

    /// The temp directory is in the trash, or was not there.
    pub fn temp_buried(&self, run: &RunId) {
        self.send(Event::TempBuried { run: run.clone() });
    }

    /// The temp directory of a run was measured.
    pub fn temp_measured(&self, run: &RunId, taken: Use) {
        self.send(Event::TempMeasured { run: run.clone(), taken });
    }

    /// The run directory is gone.
    pub fn dir_dropped(&self, run: &RunId) {
        self.send(Event::DirDropped { run: run.clone() });
    }

    /// The client of a waiting call is gone, or says that it waits no more.
    pub fn call_gone(&self, call: &CallId) {
        self.send(Event::CallGone { call: call.clone() });
    }

    /// The prompt of a turn is with the program of a terminal, or why not.
    pub fn handed_over(&self, turn: &TurnId, result: Result<(), String>) {
        self.send(Event::HandedOver { turn: turn.clone(), result });
    }

    /// The terminal was taken after all: nothing of the turn was typed.
    pub fn hand_over_postponed(&self, turn: &TurnId) {
        self.send(Event::HandOverPostponed { turn: turn.clone() });
    }

    /// The program of a run that needed attention goes on.
    pub fn attention_over(&self, run: &RunId) {
        self.send(Event::AttentionOver { run: run.clone() });
    }

    /// What decides whether a terminal is free for a turn may have changed.
    pub fn terminal_changed(&self, run: &RunId) {
        self.send(Event::TerminalChanged { run: run.clone() });
    }

    /// A loop that has ended needs no more reports: the next boot observes for itself.
    pub(crate) fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// The world. Every act is idempotent and returns at once; what takes time runs on threads of the
/// world's own and comes back as a report.
pub trait World: Send + Sync + 'static {
    /// Starts a run and watches over it.
    fn launch(&self, order: LaunchOrder, report: Report);
    /// Goes on watching a run that an earlier engine started.
    fn adopt(&self, run: &RunId, report: Report);
    /// A place for a new temp directory of a project, or why there is none.
    fn temp_place(&self, project_root: &std::path::Path) -> Result<TempPlace, String>;
    /// Looks what is there of a run.
    fn observe(&self, run: &RunRow) -> Result<(Observed, Facts), String>;
    /// Asks a run to end; false when its supervisor is not connected.
    fn stop(&self, run: &RunId, by: &str) -> bool;
    /// Clears up after a run that is over: ends the `strays` that still carry its marker when its
    /// supervisor is gone, then renames its temp directory into the trash unless that is in use.
    fn clear_up(&self, run: &RunId, temp: Option<PathBuf>, strays: bool, report: Report);
    /// Watches over the temp directory of a run until it is cleared up: makes it anew when it is removed from
    /// outside, holds its lease when nobody else does, and reports now and then how much room it takes.
    fn watch_temp(&self, run: &RunId, temp: PathBuf, report: Report);
    /// Removes the directory of a run that is over.
    fn drop_dir(&self, run: &RunId, report: Report);
    /// What came of a headless turn whose run has ended by itself; read from what the run left.
    fn turn_outcome(
        &self,
        run: &RunId,
        adapter: &str,
        ending: Option<&Ending>,
        ended_ms: i64,
    ) -> Result<TurnOutcome, Unread>;
    /// Whether the agent has said, thought or done anything in a headless turn so far, which may go on; what its program
    /// says of itself does not count. Also false when that cannot be read.
    fn has_answered(&self, run: &RunId, adapter: &str) -> bool;
    /// The end of a run's output, as plain text; empty when nothing is kept.
    fn tail_of(&self, run: &RunId, most_bytes: u64) -> String;
    /// What is known of the client of a waiting call.
    fn call_state(&self, call: &CallId) -> CallState;
    /// Reports once the client of a waiting call is gone.
    fn watch_call(&self, call: &CallId, report: Report);
    /// Nobody waits any more: removes what a waiting call left.
    fn settle_call(&self, call: &CallId);
    /// What is known of the terminal of a live run.
    fn terminal_facts(&self, run: &RunId) -> TerminalFacts;
    /// Reports once the terminal of a run may have become free. Asked for while a turn waits for it.
    fn watch_terminal(&self, run: &RunId, report: Report);
    /// Types the prompt of a turn into the terminal of a run and reports. The same once more types what
    /// had not arrived, and no more.
    fn hand_over(&self, run: &RunId, turn: &TurnId, prompt: String, report: Report);
    /// Whether the prompt of a turn was sent off in the terminal of a run, also one that is over.
    fn was_handed_over(&self, run: &RunId, turn: &TurnId) -> bool;
    /// Asks the program of a terminal to break off what it does, where its kind takes that.
    fn interrupt(&self, run: &RunId, adapter: &str);
    /// How long the program of a live run has said nothing; what it said last is looked at when that
    /// is `at_least` so long. `None` when it is not there.
    fn quiet(&self, run: &RunId, at_least: Duration) -> Option<Quiet>;
    /// Somebody should look at the program of a run, until it says more or somebody types; true when
    /// that is new. `told`: the program said so itself, and is about to draw its question.
    fn set_attention(&self, run: &RunId, told: bool) -> bool;
    /// Whether somebody should look at the program of a run.
    fn needs_attention(&self, run: &RunId) -> bool;
    /// Lets go of all supervisors without a word to them.
    fn let_go(&self);
}
