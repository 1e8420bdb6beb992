//! The shapes of requests and answers. Fields may be added, never renamed: people script them.
//! Times are Unix milliseconds, `null` when there is none.

use carillon_core::agent::AgentState as CoreState;
use carillon_core::run::{self, State};
use carillon_core::{limits, words};
use carillon_engine::requests as engine;
use carillon_engine::settings::{
    self as set, ClipboardWrite as SetClipboard, ExitChoice as SetExit, Theme as SetTheme,
};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::wire_asks::{TurnBrief, Wake};
pub use crate::wire_profiles::{Policy, Profile, ProfileTested, UserPrograms};
use crate::wire_temp::TempUse;
pub use crate::wire_usage::Usage;

/// A git repository that the user opened.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Project {
    /// 32 hex digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Absolute path.
    pub root: String,
    /// What turns of its agents have used, those of removed ones too; none when none of them told.
    #[ts(optional = nullable)]
    pub usage: Option<Usage>,
}

impl From<engine::ProjectView> for Project {
    fn from(view: engine::ProjectView) -> Self {
        let project = view.project;
        let usage = view.usage.map(Usage::from);
        Self { id: project.id.to_string(), name: project.name, root: project.root, usage }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// On its way up.
    Starting,
    /// Live.
    Running,
    /// Over, with a record.
    Ended,
    /// Over, without one.
    Lost,
}

/// One supervised process tree.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Run {
    /// 32 hex digits.
    pub id: String,
    /// Where it stands.
    pub state: RunState,
    /// The exit code of its program.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended its program.
    pub signal: Option<i32>,
    /// Its end in words.
    pub reason: Option<String>,
    /// When its program began.
    #[ts(type = "number | null")]
    pub started_ms: Option<i64>,
    /// When it ended.
    #[ts(type = "number | null")]
    pub ended_ms: Option<i64>,
    /// The process id of its program.
    pub pid: Option<u32>,
    /// Bytes of output so far.
    #[ts(type = "number")]
    pub log_bytes: u64,
}

impl From<carillon_engine::requests::RunRow> for Run {
    fn from(row: carillon_engine::requests::RunRow) -> Self {
        let (state, exit_code, signal) = match &row.state {
            State::Starting => (RunState::Starting, None, None),
            State::Running => (RunState::Running, None, None),
            State::Ended(ending) => (RunState::Ended, ending.exit_code, ending.signal),
            State::Lost(_) => (RunState::Lost, None, None),
        };
        Self {
            id: row.id.to_string(),
            state,
            exit_code,
            signal,
            reason: run::in_words(&row.state),
            started_ms: row.started_ms,
            ended_ms: row.ended_ms,
            pid: row.pid,
            log_bytes: row.log_bytes,
        }
    }
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// No process of it runs.
    Offline,
    /// It waits for somebody to say something.
    Idle,
    /// It is in a turn, or on its way up.
    Working,
    /// It sits on a prompt of its own.
    NeedsAttention,
    /// Its profile has hit a limit.
    Limited,
    /// It could not be started, or died right away.
    Failed,
}

/// What the user looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "AgentMode")]
pub enum Mode {
    /// A program on a terminal of its own.
    Terminal,
    /// Turns without a terminal.
    Headless,
}

/// A named actor in a project.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Agent {
    /// 32 hex digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The id of its project.
    pub project: String,
    /// The id of its profile.
    pub profile: String,
    /// What the user looks at.
    pub mode: Mode,
    /// What it is doing.
    pub state: AgentState,
    /// Ids of what it waits for.
    pub waiting_on: Vec<String>,
    /// Turns and messages that wait for it.
    pub queued: u32,
    /// The turn that it is at.
    pub turn: Option<TurnBrief>,
    /// A wake that did not work yet.
    pub wake: Option<Wake>,
    /// Absolute path of the directory that it works in.
    pub workdir: String,
    /// The session of its own program, once known.
    pub session_id: Option<String>,
    /// Until when a session limit holds.
    #[ts(type = "number | null")]
    pub limited_until_ms: Option<i64>,
    /// Why what stands in line for it does not begin, in words; none when nothing else is in the way.
    #[ts(optional = nullable)]
    pub held_back: Option<String>,
    /// What its turns have used; none when none of them told.
    #[ts(optional = nullable)]
    pub usage: Option<Usage>,
    /// The temp directory of its newest run; none before it was measured, and once it is gone.
    #[ts(optional = nullable)]
    pub temp: Option<TempUse>,
    /// Its newest run.
    pub run: Option<Run>,
}

impl From<engine::AgentView> for Agent {
    fn from(view: engine::AgentView) -> Self {
        Self {
            id: view.agent.id.to_string(),
            name: view.agent.name,
            project: view.agent.project.to_string(),
            profile: view.agent.profile.to_string(),
            mode: match view.agent.mode {
                words::Mode::Terminal => Mode::Terminal,
                words::Mode::Headless => Mode::Headless,
            },
            state: match view.state {
                CoreState::Offline => AgentState::Offline,
                CoreState::Idle => AgentState::Idle,
                CoreState::Working => AgentState::Working,
                CoreState::NeedsAttention => AgentState::NeedsAttention,
                CoreState::Limited => AgentState::Limited,
                CoreState::Failed => AgentState::Failed,
            },
            waiting_on: view.work.waiting_on,
            queued: view.work.queued,
            turn: view.work.turn.map(TurnBrief::from),
            wake: view.work.wakes.reason.map(|reason| Wake {
                attempt: view.work.wakes.failed,
                next_ms: Some(view.work.wakes.not_before_ms)
                    .filter(|_| view.work.wakes.failed < limits::WAKE_ATTEMPTS),
                given_up: view.work.wakes.failed >= limits::WAKE_ATTEMPTS,
                reason,
            }),
            workdir: view.agent.workdir,
            session_id: view.agent.session_id,
            limited_until_ms: view.limited_until_ms,
            held_back: view.work.held_back,
            usage: view.work.usage.map(Usage::from),
            temp: view.temp.map(TempUse::from),
            run: view.run.map(Run::from),
        }
    }
}

/// An agent program that was found on the user's PATH.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Detected {
    /// The adapter that knows it.
    pub adapter: String,
    /// Absolute path.
    pub program: String,
    /// The version that it told.
    pub version: Option<String>,
    /// Why it cannot be used as it is.
    pub problem: Option<String>,
    /// The id of the profile that uses it already.
    pub profile: Option<String>,
}

impl From<engine::DetectedView> for Detected {
    fn from(found: engine::DetectedView) -> Self {
        Self {
            adapter: found.adapter,
            program: found.program.to_string_lossy().into_owned(),
            version: found.version,
            problem: found.problem,
            profile: found.profile.map(|id| id.to_string()),
        }
    }
}

/// How serious a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something works with a flaw.
    Warn,
    /// Something does not work.
    Error,
}

/// Something that the user should know from the start on.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Notice {
    /// How serious it is.
    pub level: Level,
    /// What is the matter.
    pub text: String,
    /// The way out.
    pub hint: Option<String>,
}

/// Who answers.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Info {
    /// The version of Carillon.
    pub version: String,
    /// The engine's process.
    pub pid: u32,
    /// The data directory.
    pub home: String,
    /// The API's socket.
    pub socket: String,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// Whether it was started to show the demo.
    pub demo: bool,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    /// As the desktop says.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// What happens to running agents when Carillon quits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AtExit {
    /// The window asks.
    Ask,
    /// They stop.
    Stop,
    /// They keep running.
    Keep,
}

/// Whether programs may write the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ClipboardWrite {
    /// The window asks each time.
    Ask,
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// What the user has set.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Settings {
    /// Light or dark.
    pub theme: Theme,
    /// Size of the terminal's font, in CSS pixels.
    pub font_size: u8,
    /// What happens to running agents when Carillon quits.
    pub at_exit: AtExit,
    /// Lines of scrollback in a pane.
    pub scrollback: u32,
    /// Whether programs may write the clipboard.
    pub clipboard_write: ClipboardWrite,
}

impl From<set::Settings> for Settings {
    fn from(settings: set::Settings) -> Self {
        Self {
            theme: match settings.theme {
                SetTheme::System => Theme::System,
                SetTheme::Light => Theme::Light,
                SetTheme::Dark => Theme::Dark,
            },
            font_size: settings.font_size,
            at_exit: match settings.at_exit {
                SetExit::Ask => AtExit::Ask,
                SetExit::Stop => AtExit::Stop,
                SetExit::Keep => AtExit::Keep,
            },
            scrollback: settings.scrollback,
            clipboard_write: match settings.clipboard_write {
                SetClipboard::Ask => ClipboardWrite::Ask,
                SetClipboard::Allow => ClipboardWrite::Allow,
                SetClipboard::Deny => ClipboardWrite::Deny,
            },
        }
    }
}

/// How a check of the doctor came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// All is well.
    Ok,
    /// It works, with a flaw.
    Warn,
    /// Something will not work.
    Fail,
}

/// One thing that the doctor looked at.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it came out.
    pub state: CheckState,
    /// What was seen.
    pub detail: String,
    /// The way out.
    pub hint: Option<String>,
}

impl From<engine::Check> for Check {
    fn from(check: engine::Check) -> Self {
        Self {
            name: check.name.to_owned(),
            state: match check.state {
                engine::CheckState::Ok => CheckState::Ok,
                engine::CheckState::Warn => CheckState::Warn,
                engine::CheckState::Fail => CheckState::Fail,
            },
            detail: check.detail,
            hint: check.hint,
        }
    }
}

/// What the doctor says.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[ts(rename = "Doctor")]
pub struct Diagnosis {
    /// Nothing fails.
    pub ok: bool,
    /// All that was looked at.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// From the checks.
    pub fn of(checks: Vec<engine::Check>) -> Self {
        let ok = !checks.iter().any(|check| check.state == engine::CheckState::Fail);
        Self { ok, checks: checks.into_iter().map(Check::from).collect() }
    }
}

/// One change of the ledger.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Change {
    /// Its place in the order.
    #[ts(type = "number")]
    pub seq: u64,
    /// What kind of row.
    #[ts(type = "ChangeTag")]
    pub tag: String,
    /// The id of the row.
    pub id: String,
    /// The project of the row.
    pub project: Option<String>,
}

/// What changed since a place in the log.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Changes {
    /// Pass it as `after` the next time.
    #[ts(type = "number")]
    pub seq: u64,
    /// Fetch all anew.
    pub reset: bool,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

impl From<engine::Changes> for Changes {
    fn from(found: engine::Changes) -> Self {
        let one = |c: engine::Change| Change { seq: c.seq, tag: c.tag, id: c.row, project: c.project };
        Self { seq: found.seq, reset: found.reset, changes: found.changes.into_iter().map(one).collect() }
    }
}

/// The saved layout of a project.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Layout {
    /// The window's own JSON.
    #[ts(type = "unknown")]
    pub layout: serde_json::Value,
}
