//! Watching over the temp directories of runs while somebody needs them. One that is removed from outside is made
//! anew at once, at the place that the run was told; each is measured now and then, behind everything else.
//!
//! A directory is forgotten here before it is buried, under the same lock under which it would be made anew. So
//! nothing is made in the place of one that is on its way into the trash.

mod linux;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_core::residue::Use;
use carillon_tidy::measure::measure;
use carillon_tidy::temp::{self, TempDir};

use crate::host::linux::stand_back;
use crate::seam;
use crate::world::Report;
use linux::Notifier;

/// How often in a row a directory is made anew that somebody keeps removing.
const TRIES: u32 = 3;

/// The temp directories that are watched over.
#[derive(Default)]
pub(crate) struct TempWatch {
    dirs: Mutex<Dirs>,
    changed: Condvar,
    /// What is being measured is to be broken off.
    cancelled: AtomicBool,
}

#[derive(Default)]
struct Dirs {
    by_run: HashMap<RunId, Dir>,
    /// Tells what goes; none where the system gives none, and then only the next measurement finds it.
    notifier: Option<Arc<Notifier>>,
    is_noticing: bool,
    is_measuring: bool,
    is_stopped: bool,
}

struct Dir {
    path: PathBuf,
    /// Held by us when the supervisor that held it first is gone, or when we have made the directory anew.
    lease: Option<TempDir>,
    report: Report,
}

/// The pause between two measurements. A debug build takes another one from its environment, for tests.
fn pause() -> Duration {
    let told = std::env::var("CARILLON_TEMP_WATCH_MS").ok().filter(|_| cfg!(debug_assertions));
    Duration::from_millis(told.and_then(|ms| ms.parse().ok()).unwrap_or(limits::TEMP_WATCH_MS))
}

impl TempWatch {
    fn dirs(&self) -> MutexGuard<'_, Dirs> {
        self.dirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches over the directory of a run from now on. One that is watched already is looked at once more: its
    /// lease may have come free.
    pub(crate) fn add(self: &Arc<Self>, run: &RunId, path: PathBuf, report: Report) {
        let mut dirs = self.dirs();
        if dirs.is_stopped {
            return;
        }
        self.notice(&mut dirs);
        self.measure_in_background(&mut dirs);
        let notifier = dirs.notifier.clone();
        let dir = dirs.by_run.entry(run.clone()).or_insert_with(|| Dir { path, lease: None, report });
        // Before it is looked at: what goes after this is told.
        heed(notifier.as_deref(), &dir.path);
        look_after(run, dir, notifier.as_deref());
    }

    /// Lets a directory go, and its lease with it.
    pub(crate) fn forget(&self, run: &RunId) {
        self.dirs().by_run.remove(run);
    }

    /// The engine is on its way out: nothing is made or measured any more, and every lease is let go.
    pub(crate) fn stop(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        let mut dirs = self.dirs();
        dirs.is_stopped = true;
        dirs.by_run.clear();
        if let Some(notifier) = dirs.notifier.take() {
            notifier.stop();
        }
        self.changed.notify_all();
    }

    /// Starts the thread that is told what goes.
    fn notice(self: &Arc<Self>, dirs: &mut Dirs) {
        if std::mem::replace(&mut dirs.is_noticing, true) {
            return;
        }
        let begun = Notifier::new().map(Arc::new).and_then(|notifier| {
            let (this, told) = (self.clone(), notifier.clone());
            std::thread::Builder::new().name("temp-gone".to_owned()).spawn(move || this.heed_all(&told))?;
            Ok(notifier)
        });
        match begun {
            Ok(notifier) => dirs.notifier = Some(notifier),
            Err(error) => {
                tracing::warn!(%error, "a temp directory that somebody removes is made anew only after a while");
            }
        }
    }

    fn heed_all(&self, notifier: &Notifier) {
        while let Some(gone) = notifier.wait() {
            let mut dirs = self.dirs();
            let concerned = |path: &Path| gone.iter().any(|one| one.concerns(path));
            for (run, dir) in dirs.by_run.iter_mut().filter(|(_, dir)| concerned(&dir.path)) {
                look_after(run, dir, Some(notifier));
            }
        }
    }

    /// Starts the thread that measures; it ends when there was nothing to measure.
    fn measure_in_background(self: &Arc<Self>, dirs: &mut Dirs) {
        if std::mem::replace(&mut dirs.is_measuring, true) {
            return;
        }
        let this = self.clone();
        let spawned =
            std::thread::Builder::new().name("temp-size".to_owned()).spawn(move || this.measure_all());
        if let Err(error) = spawned {
            dirs.is_measuring = false;
            tracing::warn!(%error, "no thread to measure temp directories; the next run tries again");
        }
    }

    fn measure_all(&self) {
        stand_back();
        let mut rest = pause();
        while let Some(present) = self.rest(rest) {
            let began = Instant::now();
            for (run, path) in present {
                self.look_again(&run);
                let measured = measure(&path, limits::TEMP_COUNT_MAX, &self.cancelled);
                let taken = Use { bytes: measured.bytes, inodes: measured.entries };
                let dirs = self.dirs();
                // A run that was forgotten meanwhile is nobody's business any more.
                if let Some(dir) = dirs.by_run.get(&run) {
                    dir.report.temp_measured(&run, taken);
                }
            }
            // A large tree costs a small share of one processor, however large it is.
            rest = pause().max(began.elapsed() * limits::TEMP_WATCH_REST);
        }
    }

    /// Rests, and answers what is there then; none ends the thread.
    fn rest(&self, pause: Duration) -> Option<Vec<(RunId, PathBuf)>> {
        let rested = self.changed.wait_timeout_while(self.dirs(), pause, |dirs| !dirs.is_stopped);
        let (mut dirs, _) = rested.unwrap_or_else(PoisonError::into_inner);
        if dirs.by_run.is_empty() {
            dirs.is_measuring = false;
            return None;
        }
        Some(dirs.by_run.iter().map(|(run, dir)| (run.clone(), dir.path.clone())).collect())
    }

    /// What nobody told of is found here.
    fn look_again(&self, run: &RunId) {
        let mut dirs = self.dirs();
        let notifier = dirs.notifier.clone();
        if let Some(dir) = dirs.by_run.get_mut(run) {
            look_after(run, dir, notifier.as_deref());
        }
    }
}

fn heed(notifier: Option<&Notifier>, path: &Path) {
    let Some(notifier) = notifier else { return };
    // What is above it may go, too: the directory of its project, and the base.
    for dir in path.ancestors().skip(1).take(2) {
        if let Err(error) = notifier.watch(dir) {
            tracing::debug!(%error, dir = %dir.display(), "nobody tells what goes there");
        }
    }
}

/// Makes a directory anew that is gone, and takes a lease that nobody holds.
fn look_after(run: &RunId, dir: &mut Dir, notifier: Option<&Notifier>) {
    for _ in 0..TRIES {
        match std::fs::symlink_metadata(&dir.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) | Err(_) => break,
        }
        match temp::recreate(&dir.path) {
            Ok(made) => {
                tracing::warn!(%run, path = %dir.path.display(), "somebody removed the temp directory of a run; it was made anew");
                dir.lease = Some(made);
                seam::reach("temp directory made anew");
            }
            Err(error) => {
                tracing::warn!(%run, %error, "the temp directory of a run is gone and cannot be made anew");
                return;
            }
        }
        // What is above it may be new as well.
        heed(notifier, &dir.path);
    }
    if dir.lease.is_none() {
        match temp::take_over(&dir.path) {
            Ok(lease) => dir.lease = lease,
            Err(error) => tracing::debug!(%run, %error, "the lease of a temp directory cannot be taken"),
        }
    }
}
