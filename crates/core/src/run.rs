//! The machine of one run: a supervised process tree.
//!
//! `Starting → Running → Ended | Lost`, or straight from `Starting` to either. The first terminal
//! state wins and never changes.

/// Who stops a run whose temp directory takes more room than it may.
pub const TEMP_FULL: &str = "temp_full";

/// How a run came to its end, as its supervisor recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The leader ended by itself.
    Ended,
    /// Its time was up.
    TimedOut,
    /// Somebody asked for it.
    Stopped {
        /// Who: `user`, `app_exit`, `agent_removed`, `temp_full`.
        by: String,
    },
    /// The system ended the supervisor (a logout, a shutdown).
    SystemStop,
    /// It wrote more than a turn may; what is there is the beginning.
    OutputTooLarge,
    /// It was recorded, but nothing of it was ever started.
    NeverBegan,
    /// The program could not be started; nothing ran.
    SpawnFailed {
        /// A sentence that names the program and the way out.
        message: String,
    },
}

/// The facts of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How it came to it.
    pub cause: Cause,
    /// The exit code of the leader, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the leader, when one did.
    pub signal: Option<i32>,
}

/// Why nothing is known of the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWhy {
    /// The machine has been started anew since.
    Rebooted,
    /// Its supervisor is gone without a record.
    SupervisorGone,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Recorded; its supervisor has not said yet that the program runs.
    Starting,
    /// Its supervisor is at work.
    Running,
    /// Over, with a record.
    Ended(Ending),
    /// Over, without a record.
    Lost(LostWhy),
}

impl State {
    /// Whether nothing can change any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Starting | Self::Running => false,
            Self::Ended(_) | Self::Lost(_) => true,
        }
    }
}

/// What happened to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its supervisor answers.
    Began,
    /// It left an exit record.
    RecordFound(Ending),
    /// It could not be started; no supervisor ran.
    LaunchFailed {
        /// A sentence that names the program and the way out.
        message: String,
    },
    /// Its lease is free and nothing of it was ever started.
    NeverBegan,
    /// Its lease is free and there is no exit record.
    Vanished(LostWhy),
}

/// What has to be done after the new state is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Move its temp directory into the trash.
    BuryTemp,
    /// End what still carries its marker.
    EndStrays,
    /// Drop older run directories of the same owner.
    DropOldRuns,
}

/// An event that the state has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The run is over; its first terminal state stands.
    AlreadyOver,
    /// It was known to run already.
    AlreadyRunning,
    /// A run that began cannot fail to launch.
    AlreadyBegan,
}

/// Takes one step.
pub fn step(state: &State, event: Event) -> Result<(State, Vec<Effect>), Rejected> {
    match state {
        State::Starting => match event {
            Event::Began => Ok((State::Running, vec![Effect::DropOldRuns])),
            Event::RecordFound(ending) => Ok(end_at_once(ending)),
            Event::LaunchFailed { message } => Ok(end_at_once(Ending {
                cause: Cause::SpawnFailed { message },
                exit_code: None,
                signal: None,
            })),
            Event::NeverBegan => {
                Ok(end_at_once(Ending { cause: Cause::NeverBegan, exit_code: None, signal: None }))
            }
            Event::Vanished(why) => Ok(lose(why)),
        },
        State::Running => match event {
            Event::Began => Err(Rejected::AlreadyRunning),
            Event::RecordFound(ending) => Ok(end(ending)),
            Event::LaunchFailed { .. } | Event::NeverBegan => Err(Rejected::AlreadyBegan),
            Event::Vanished(why) => Ok(lose(why)),
        },
        State::Ended(_) | State::Lost(_) => match event {
            Event::Began
            | Event::RecordFound(_)
            | Event::LaunchFailed { .. }
            | Event::NeverBegan
            | Event::Vanished(_) => Err(Rejected::AlreadyOver),
        },
    }
}

/// A run that was over before it was known to have begun makes older ones superfluous all the same.
fn end_at_once(ending: Ending) -> (State, Vec<Effect>) {
    (State::Ended(ending), vec![Effect::BuryTemp, Effect::DropOldRuns])
}

fn end(ending: Ending) -> (State, Vec<Effect>) {
    (State::Ended(ending), vec![Effect::BuryTemp])
}

/// After a reboot no process of the run can live, and a pid that looks like one is a stranger's.
fn lose(why: LostWhy) -> (State, Vec<Effect>) {
    let effects = match why {
        LostWhy::Rebooted => vec![Effect::BuryTemp],
        LostWhy::SupervisorGone => vec![Effect::EndStrays, Effect::BuryTemp],
    };
    (State::Lost(why), effects)
}

/// The end of a run in words for people, `None` while it goes on.
pub fn in_words(state: &State) -> Option<String> {
    let ending = match state {
        State::Starting | State::Running => return None,
        State::Lost(LostWhy::Rebooted) => return Some("lost: the machine was restarted".to_owned()),
        State::Lost(LostWhy::SupervisorGone) => {
            return Some("lost: its supervisor left no record of the end".to_owned());
        }
        State::Ended(ending) => ending,
    };
    Some(match &ending.cause {
        Cause::Ended => exit_in_words(ending),
        Cause::TimedOut => "timed out".to_owned(),
        Cause::Stopped { by } => match by.as_str() {
            "user" => "stopped by you".to_owned(),
            "app_exit" => "stopped when Carillon quit".to_owned(),
            "agent_removed" => "stopped because the agent was removed".to_owned(),
            "ask_over" => "stopped because its ask was over".to_owned(),
            TEMP_FULL => "stopped because its temp directory took more room than it may".to_owned(),
            other => format!("stopped by {other}"),
        },
        Cause::SystemStop => "stopped by the system".to_owned(),
        Cause::OutputTooLarge => "stopped because its output was too large".to_owned(),
        Cause::NeverBegan => "never began: Carillon ended before it could start it".to_owned(),
        Cause::SpawnFailed { message } => message.clone(),
    })
}

fn exit_in_words(ending: &Ending) -> String {
    match (ending.exit_code, ending.signal) {
        (Some(code), _) => format!("exited {code}"),
        (None, Some(signal)) => format!("killed by signal {signal} ({})", signal_name(signal)),
        (None, None) => "ended".to_owned(),
    }
}

/// The name of a signal by its number on Linux (signal(7), x86 and ARM).
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => "signal",
    }
}
