//! The guard around the headless turns of a project that wants it: `auto = true` under `[residue]` of its
//! `carillon.toml`.
//!
//! What the guard saw at the beginning is in the run's directory before the agent's program starts, and the run's
//! supervisor holds the guard's lease. So the guard is ended by whichever engine finds the run over: the one that
//! began it, or the one that comes after a crash. The end is told beside the record, and shown with the turn.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use carillon_core::id::RunId;
use carillon_core::plain;
use carillon_supervisor::{self as supervisor, ExitRecord, Observed};
use carillon_tidy::guard::{AtWork, Begun, Ending, Guard, Order, RealHands, Report};
use serde::{Deserialize, Serialize};

use crate::host::{Host, Vars, rules};
use crate::main_loop::now_ms;
use crate::seam;

/// What the guard of a run saw at its beginning.
const RECORD: &str = "guard";
/// What it found at its end.
const FOUND: &str = "guard.json";
/// The record of how a run ended; it is written when all of its processes are over.
const EXIT: &str = "exit.json";
/// File systems tell the time of a birth by a clock that may be one tick late, which takes 10 ms at the most (Linux, HZ=100).
const CLOCK_MS: u64 = 10;

/// Who ends the guard of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Who watched the run to its end; `held`: and has held its lease since its beginning.
    Watcher { held: bool },
    /// Who clears up after runs, and has ended what dead supervisors left.
    ClearUp,
}

/// A guard around a turn that is about to begin.
#[derive(Default)]
pub(crate) struct Around {
    /// Tells guards inside of it.
    pub(crate) env: Vars,
    /// Its lease, held by the run's supervisor and by us.
    pub(crate) lease: Option<OwnedFd>,
}

/// What a guard found, for people.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Found {
    /// The new names, written down before anything is done about them.
    made: Vec<String>,
    /// What became of them, in sentences.
    sentences: Vec<String>,
}

impl Host {
    /// Begins the guard of a turn when its project wants one. Where it cannot, the turn runs all the same, and says
    /// so: an answer is worth more than a clean floor.
    pub(crate) fn begin_guard(&self, project_root: &Path, cwd: &Path, run_dir: &Path) -> Around {
        match self.try_begin_guard(project_root, cwd, run_dir) {
            Ok(around) => around,
            Err(why) => {
                tracing::warn!(why, "a turn runs without its guard");
                let sentences = vec![format!("what this turn leaves behind is not watched: {why}")];
                if let Err(why) = write(run_dir, &Found { sentences, ..Found::default() }) {
                    tracing::warn!(why, "nor can that be told");
                }
                Around::default()
            }
        }
    }

    fn try_begin_guard(&self, project_root: &Path, cwd: &Path, run_dir: &Path) -> Result<Around, String> {
        let residue = rules::of_project(project_root)?.residue;
        if !residue.auto {
            return Ok(Around::default());
        }
        let order =
            Order { dir: cwd.to_path_buf(), rules: None, temp_dir: self.users_temp(), outer: (None, None) };
        let begun = match Guard::begin_with(&order, residue.clone()) {
            // An agent may work in a directory that is in no repository; its project is in one.
            Err(_) if cwd != project_root => {
                Guard::begin_with(&Order { dir: project_root.to_path_buf(), ..order }, residue)
            }
            begun => begun,
        };
        let Begun::Acts(guard) = begun.map_err(|e| e.to_string())? else { return Ok(Around::default()) };
        let env = guard.environment_by_lease();
        let (record, lease) = guard.hand_over();
        let path = run_dir.join(RECORD);
        std::fs::write(&path, record).map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
        seam::reach("guard begun");
        Ok(Around { env, lease })
    }

    /// Where the user's programs make temporary files when nobody tells them another place.
    fn users_temp(&self) -> PathBuf {
        let named = |(name, value): &(OsString, OsString)| {
            (name == "TMPDIR" && !value.is_empty()).then(|| PathBuf::from(value))
        };
        self.user_env().iter().find_map(named).unwrap_or_else(std::env::temp_dir)
    }

    /// Ends the guard of a run that is over, when it has one; a second time finds nothing to do.
    pub(crate) fn finish_guard(&self, run: &RunId, by: By) {
        let dir = self.run_dir(run);
        let Ok(record) = std::fs::read(dir.join(RECORD)) else { return };
        if let Err(why) = self.try_finish_guard(run, &dir, &record, by) {
            tracing::warn!(%run, why, "what a turn left behind could not be told");
        }
    }

    fn try_finish_guard(&self, run: &RunId, dir: &Path, record: &[u8], by: By) -> Result<(), String> {
        let (over, was_watched) = match supervisor::observe(dir).map_err(|e| e.to_string())? {
            Observed::Ended(_) if by == By::Watcher { held: true } => (recorded(dir), true),
            Observed::Ended(record) => (program_ended(&record), false),
            // Its supervisor was killed, at a time that nobody knows, and may have left processes.
            Observed::Lost(_) if by == By::ClearUp => (None, false),
            // Nothing of it ever ran, so nothing that is new is its.
            Observed::NeverBegan => {
                drop(Guard::resume(record));
                return forget(dir);
            }
            Observed::Lost(_) | Observed::Alive { .. } | Observed::Gone => return Ok(()),
        };
        let guard = match Guard::resume(record) {
            Ok(guard) => guard,
            Err(error) => {
                tell(run, dir, Found { sentences: vec![error.to_string()], ..Found::default() })?;
                return forget(dir);
            }
        };
        // An earlier engine may have died in the middle of it: what it had begun to clear away is told, too.
        let new = guard.look();
        let mut before = read(dir).unwrap_or_default().made;
        before.retain(|name| !new.contains(name));
        let made: Vec<String> = before.iter().cloned().chain(new).collect();
        if !made.is_empty() {
            write(dir, &Found { made: made.clone(), ..Found::default() })?;
            seam::reach("guard sees what is new");
        }
        let at_work = if made.is_empty() { Vec::new() } else { AtWork::beside(run.as_str()) };
        let ending = Ending { now_ms: now_ms(), was_watched, over, at_work };
        let report = guard.finish_as(&ending, &RealHands);
        if !made.is_empty() {
            seam::reach("guard reaped");
        }
        let sentences = sentences_of(&before, &report);
        if !sentences.is_empty() {
            tell(run, dir, Found { made, sentences })?;
        }
        forget(dir)
    }

    /// What the guard of a run found, in sentences; none while it is not ended, or when it found nothing.
    pub(crate) fn guard_notes(&self, run: &RunId) -> Vec<String> {
        read(&self.run_dir(run)).map(|found| found.sentences).unwrap_or_default()
    }
}

fn sentences_of(before: &[String], report: &Report) -> Vec<String> {
    let earlier = before.iter().map(|name| format!("reaped {name}, before Carillon was started again"));
    earlier.chain(report.sentences()).map(|sentence| plain::plain(&sentence)).collect()
}

/// When the end of a run was written down: all of its processes were over by then.
fn recorded(dir: &Path) -> Option<SystemTime> {
    std::fs::metadata(dir.join(EXIT)).and_then(|meta| meta.modified()).ok()
}

/// What was made before this time was made while the program of a run was there. Where nobody watched, what came later,
/// until the end was written down, could as well be somebody else's.
fn program_ended(record: &ExitRecord) -> Option<SystemTime> {
    let ended_ms = u64::try_from(record.ended_ms).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ended_ms.checked_sub(CLOCK_MS)?))
}

fn tell(run: &RunId, dir: &Path, found: Found) -> Result<(), String> {
    found.sentences.iter().for_each(|sentence| tracing::info!(%run, sentence, "the guard of a turn"));
    write(dir, &found)
}

fn read(dir: &Path) -> Option<Found> {
    serde_json::from_slice(&std::fs::read(dir.join(FOUND)).ok()?).ok()
}

/// By a rename, so that nobody reads half of it.
fn write(dir: &Path, found: &Found) -> Result<(), String> {
    let (path, new) = (dir.join(FOUND), dir.join("guard.json.new"));
    let bytes = serde_json::to_vec(found).map_err(|e| e.to_string())?;
    std::fs::write(&new, bytes)
        .and_then(|()| std::fs::rename(&new, &path))
        .map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

/// The guard is ended. From here on nothing repeats it.
fn forget(dir: &Path) -> Result<(), String> {
    let path = dir.join(RECORD);
    std::fs::remove_file(&path).map_err(|e| format!("{} cannot be removed: {e}", path.display()))
}
