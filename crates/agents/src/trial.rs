//! Trying a program: it is started as a person would start it, but without a terminal and with its standard input at
//! its end, and what it says is kept. Nothing of it is left when the trial is over.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::bounded::{self, Pause, Running};
use crate::{Vars, child_env, detect, text};

/// How much of what a program prints is read, in bytes.
const OUTPUT_MAX: usize = 256 * 1024;

/// How much of it is kept, in characters: the end, since that is where a failure is explained.
const SAID_MAX: usize = 2_000;

/// The same in lines.
const SAID_LINES_MAX: usize = 40;

/// A program that is being tried.
pub struct Trial {
    running: Running,
}

/// Ends a trial from another thread.
pub struct Stopper {
    leader: OwnedFd,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself; none when the system did not tell how.
    Exited(Option<ExitStatus>),
    /// It still ran when its time was up, and was killed.
    TimeUp,
    /// It printed without end, and was killed.
    TooMuch,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// The last lines of what it printed, first those of its standard output, without control sequences.
    pub said: String,
    /// The version that it told, when it told one.
    pub version: Option<String>,
}

/// Starts `program` with `args` in `dir`. Its environment is `vars` after `child_env::clean`.
pub fn begin(program: &Path, args: &[OsString], vars: &Vars, dir: &Path) -> io::Result<Trial> {
    let vars = child_env::clean(vars);
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(vars.iter().map(|(name, value)| (name, value))).current_dir(dir);
    Ok(Trial { running: bounded::start(&mut command, true)? })
}

impl Trial {
    /// The way to end it before its time is up.
    pub fn stopper(&self) -> io::Result<Stopper> {
        // The program was not reaped yet, so the number is still its own.
        Ok(Stopper { leader: pidfd_open(self.running.session(), PidfdFlags::empty())? })
    }

    /// Waits for its end, at most `limit` long. Whatever is left of its session is killed then.
    pub fn watch(mut self, limit: Duration) -> io::Result<Outcome> {
        let pause = self.running.read(Instant::now() + limit, OUTPUT_MAX)?;
        let mut said = text::last_words(&self.running.output, SAID_LINES_MAX, SAID_MAX);
        let errors = text::last_words(&self.running.errors, SAID_LINES_MAX, SAID_MAX);
        if !said.is_empty() && !errors.is_empty() {
            said.push('\n');
        }
        said.push_str(&errors);
        let version = detect::version_in(&self.running.output, &self.running.errors);
        let ending = match pause {
            Pause::Ended => Ending::Exited(self.running.end()),
            Pause::TimeUp => Ending::TimeUp,
            Pause::TooMuch => Ending::TooMuch,
        };
        Ok(Outcome { ending, said, version })
    }
}

impl Stopper {
    /// Kills the program; the rest of its session goes when its end was seen. One that has ended by itself is no error.
    pub fn stop(&self) {
        let _ = pidfd_send_signal(&self.leader, Signal::KILL);
    }
}
