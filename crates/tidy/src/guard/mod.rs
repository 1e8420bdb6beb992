//! A reaper around any command: names before, names after, and only the difference is acted on.
//!
//! [`Guard::begin`] notes which names there are that match the rules; no directory is read but the ones that
//! the rules name. [`command::run`] runs the command and ends its whole tree. [`Guard::finish`] looks again:
//! what is new is put where it can be fetched back from for a day, in the order directories, husks of worktrees,
//! branches, temp entries. That something is new does not make it ours: what another live process uses, another
//! live guard may have made, or git does not let go stays, with its reason.
//!
//! It needs no engine. The outermost guard of a repository acts; one inside it only runs its command.
//!
//! A guard may be ended in another process than it began in: [`Guard::hand_over`] gives away its record and its
//! lease, [`Guard::resume`] takes the record up again. Between the two somebody holds the lease, or the time at
//! which the command was over has to tell what is the command's.

mod bin;
pub mod command;
mod ending;
mod lease;
mod linux;
mod reap;
mod record;
mod seen;

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use bin::{KEPT_MS, purge};
pub use ending::{AtWork, Ending};
pub use reap::{Hands, RealHands};
pub use seen::Kind;

use crate::git::list::{Repository, repository_of};
use crate::rules::{self, Residue, Rules};
use crate::{Error, linux as system, temp};
use lease::Lease;
use record::Record;
use seen::Seen;

/// The variable that names the repositories that are guarded already, one resolved git common directory a line.
pub const GUARD_VARIABLE: &str = "CARILLON_GUARD";
/// The variable that proves it: for each line of the other one, which process guards, as `pid start-time`, or the
/// directory whose lock somebody holds for as long as it is guarded.
pub const PROCESS_VARIABLE: &str = "CARILLON_GUARD_PROCESS";

/// What is to be guarded.
#[derive(Debug, Clone)]
pub struct Order {
    /// Where the command will run.
    pub dir: PathBuf,
    /// The file with the rules; the `carillon.toml` at the root of the repository when left out.
    pub rules: Option<PathBuf>,
    /// Where temporary files are made.
    pub temp_dir: PathBuf,
    /// The values of [`GUARD_VARIABLE`] and [`PROCESS_VARIABLE`] that we were started with.
    pub outer: (Option<OsString>, Option<OsString>),
}

/// A guard that stands.
#[derive(Debug)]
pub struct Guard {
    record: Record,
    places: seen::Places,
    lease: Lease,
    outer: (Option<OsString>, Option<OsString>),
}

/// What beginning came to.
#[derive(Debug)]
pub enum Begun {
    /// This guard acts.
    Acts(Box<Guard>),
    /// A guard of the same repository stands around us and will act.
    Nested,
}

/// Something new that is not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaped {
    /// What it was.
    pub kind: Kind,
    /// Its name, as [`Report::made`] has it.
    pub name: String,
    /// Where it can be fetched back from for a day: a path, or a reference of git. None for a branch whose commits
    /// are all on other branches.
    pub kept_at: Option<String>,
}

/// Something new that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What it is.
    pub kind: Kind,
    /// Its name, as [`Report::made`] has it.
    pub name: String,
    /// Why it stays.
    pub reason: String,
}

/// What a guard found at its end, and what it did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many matching names there were at the beginning.
    pub baseline: usize,
    /// The new names: relative to the root of the repository, branches as git names them, temp entries by name.
    pub made: Vec<String>,
    /// What of them went. Each was seen to be gone.
    pub reaped: Vec<Reaped>,
    /// What of them stays.
    pub kept: Vec<Kept>,
    /// What could not be looked at, in sentences. Where there is one, nothing is proved.
    pub blind: Vec<String>,
}

impl Order {
    /// An order for a command that runs in `dir`, with all else out of our own environment.
    pub fn from_environment(dir: PathBuf, rules: Option<PathBuf>) -> Order {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let outer = (variable(GUARD_VARIABLE), variable(PROCESS_VARIABLE));
        Order { dir, rules, temp_dir: std::env::temp_dir(), outer }
    }
}

impl Guard {
    /// Looks what there is, unless another guard of the same repository stands around us.
    ///
    /// # Errors
    /// The rules cannot be used, there is no repository, or what there is could not be listed. Then nothing may
    /// be run: a guard that saw nothing before knows nothing afterwards.
    pub fn begin(order: &Order) -> Result<Begun, Error> {
        let repository = repository_of(&order.dir)?;
        if is_guarded(&repository.common_dir, &order.outer) {
            return Ok(Begun::Nested);
        }
        let path = order.rules.clone().unwrap_or_else(|| repository.root.join(rules::FILE_NAME));
        let sections = match rules::read(&path)? {
            None if order.rules.is_some() => {
                return Err(Error::Rules { path, why: "there is no such file".to_owned() });
            }
            sections => sections.unwrap_or_default(),
        };
        Self::begin_in(order, repository, sections.residue)
    }

    /// As [`Guard::begin`], with rules that were read before.
    ///
    /// # Errors
    /// As [`Guard::begin`].
    pub fn begin_with(order: &Order, residue: Residue) -> Result<Begun, Error> {
        let repository = repository_of(&order.dir)?;
        if is_guarded(&repository.common_dir, &order.outer) {
            return Ok(Begun::Nested);
        }
        Self::begin_in(order, repository, residue)
    }

    fn begin_in(order: &Order, repository: Repository, residue: Residue) -> Result<Begun, Error> {
        let places = places_of(&repository, &residue, &order.temp_dir)?;
        // The lease comes first: who sees our names can then also see that we are at work.
        let lease = Lease::take(&repository.common_dir)?;
        let record = Record {
            temp_dir: order.temp_dir.clone(),
            lease: lease.dir().to_path_buf(),
            began: record::born(lease.dir()),
            before: Seen::all(&places)?,
            repository,
            residue,
        };
        lease.publish(&record.to_bytes())?;
        Ok(Begun::Acts(Box::new(Guard { record, places, lease, outer: order.outer.clone() })))
    }

    /// Gives away the record, by which [`Guard::resume`] takes it up again, and the lease, for whoever lives as
    /// long as the command.
    pub fn hand_over(self) -> (Vec<u8>, Option<OwnedFd>) {
        (self.record.to_bytes(), self.lease.hand_over())
    }

    /// Takes up what was handed over; it is to be ended by [`Guard::finish_as`], or dropped when the command never
    /// began.
    ///
    /// # Errors
    /// [`Error::Refused`] when the record is not whole, [`Error::Rules`] when its rules have no meaning.
    pub fn resume(bytes: &[u8]) -> Result<Guard, Error> {
        let why = || "the record of a guard cannot be read".to_owned();
        let record =
            Record::parse(bytes).ok_or_else(|| Error::Refused { path: PathBuf::new(), why: why() })?;
        let places = places_of(&record.repository, &record.residue, &record.temp_dir)?;
        let lease = Lease::of(record.lease.clone());
        Ok(Guard { record, places, lease, outer: (None, None) })
    }

    /// Whether the rules name nothing at all, so that nothing is watched.
    pub fn watches_nothing(&self) -> bool {
        self.places.rules.is_empty()
    }

    /// The variables that tell guards inside of this one, for the command's environment.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let process = OsString::from(own_process());
        self.environment_of(&process)
    }

    /// As [`Guard::environment`], for a guard that is handed over: its lease proves that it lives, not a process.
    pub fn environment_by_lease(&self) -> Vec<(OsString, OsString)> {
        self.environment_of(self.lease.dir().as_os_str())
    }

    fn environment_of(&self, proof: &OsStr) -> Vec<(OsString, OsString)> {
        let add = |list: &Option<OsString>, line: &OsStr| {
            let mut bytes = list.as_ref().map(|list| list.as_bytes().to_vec()).unwrap_or_default();
            if !bytes.is_empty() {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(line.as_bytes());
            OsString::from_vec(bytes)
        };
        vec![
            (GUARD_VARIABLE.into(), add(&self.outer.0, self.record.repository.common_dir.as_os_str())),
            (PROCESS_VARIABLE.into(), add(&self.outer.1, proof)),
        ]
    }

    /// Looks again and acts on the difference. The command and its tree must be over. `now_ms` is the time in
    /// Unix milliseconds; what is put away can be fetched back for [`KEPT_MS`] from then on.
    pub fn finish(self, now_ms: i64) -> Report {
        self.finish_with(now_ms, &RealHands)
    }

    /// As [`Guard::finish`], acting through `hands`.
    pub fn finish_with(self, now_ms: i64, hands: &dyn Hands) -> Report {
        self.finish_as(&Ending::watched(now_ms), hands)
    }

    /// As [`Guard::finish`], with all that is known of the end.
    pub fn finish_as(self, ending: &Ending, hands: &dyn Hands) -> Report {
        let report = reap::reap(&self.record, &self.places, &self.lease, ending, hands);
        let until = Instant::now() + bin::PURGE_TIME;
        let common_dir = &self.record.repository.common_dir;
        bin::purge(common_dir, &self.places.temp_dir, ending.now_ms, Some(until));
        report
    }

    /// The new names, as a report will have them, before anything is done about them.
    pub fn look(&self) -> Vec<String> {
        reap::new_names(&self.places, &self.record.before)
    }
}

impl Report {
    /// What was found, in sentences; none for a clean end.
    pub fn sentences(&self) -> Vec<String> {
        let unseen = self.blind.iter().map(|why| format!("cannot tell what was left: {why}"));
        let reaped = self.reaped.iter().map(|reaped| {
            let at = reaped.kept_at.as_ref().map(|at| format!("; for a day it is in {at}"));
            format!("reaped the {} {}{}", reaped.kind.word(), reaped.name, at.unwrap_or_default())
        });
        let kept = self
            .kept
            .iter()
            .map(|kept| format!("kept the {} {}: {}", kept.kind.word(), kept.name, kept.reason));
        unseen.chain(reaped).chain(kept).collect()
    }
}

fn places_of(repository: &Repository, residue: &Residue, temp_dir: &Path) -> Result<seen::Places, Error> {
    let bad = |why| Error::Rules { path: repository.root.join(rules::FILE_NAME), why };
    Ok(seen::Places::new(repository, Rules::compile(residue).map_err(bad)?, temp_dir))
}

fn own_process() -> String {
    let pid = std::process::id();
    format!("{pid} {}", system::stat(pid).map_or(0, |stat| stat.start_time))
}

/// Whether one of the guards around us guards this repository and is still there. Something that was started
/// inside a guard and outlived it (a terminal multiplexer, say) must not pass for guarded for ever.
fn is_guarded(common_dir: &Path, outer: &(Option<OsString>, Option<OsString>)) -> bool {
    let lines = |list: &Option<OsString>| -> Vec<Vec<u8>> {
        list.as_ref()
            .map(|list| list.as_bytes().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
            .unwrap_or_default()
    };
    let (paths, processes) = (lines(&outer.0), lines(&outer.1));
    paths.iter().enumerate().any(|(place, path)| {
        let path = Path::new(OsStr::from_bytes(path));
        let is_same = path == common_dir || path.canonicalize().is_ok_and(|path| path == common_dir);
        // Whoever says nothing of its process is believed.
        is_same && processes.get(place).is_none_or(|process| is_alive(process))
    })
}

fn is_alive(process: &[u8]) -> bool {
    if process.starts_with(b"/") {
        return temp::lease_is_held(Path::new(OsStr::from_bytes(process))).unwrap_or(false);
    }
    let text = String::from_utf8_lossy(process);
    let parsed =
        text.split_once(' ').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse::<u64>().ok()?)));
    let Some((pid, start)) = parsed else { return true };
    system::stat(pid).is_some_and(|stat: system::Stat| stat.start_time == start)
}
