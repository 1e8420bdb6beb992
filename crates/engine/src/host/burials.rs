//! Clearing up after runs: strays are ended, temp directories are renamed into the trash when nobody
//! uses them, the trash is emptied. One thread does it, while there is something to do: looking for
//! users of a directory reads all of `/proc`, and the end of a run must not wait for that.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use carillon_core::id::RunId;
use carillon_tidy::in_use::{self, Subject};
use carillon_tidy::{temp, trash};

use crate::host::Host;
use crate::seam;
use crate::world::Report;

/// What is left of one run.
pub(crate) struct Burial {
    pub(crate) run: RunId,
    /// Its temp directory.
    pub(crate) temp: Option<PathBuf>,
    /// Its supervisor is gone and may have left processes.
    pub(crate) strays: bool,
    pub(crate) report: Report,
}

/// What waits to be cleared up.
#[derive(Default)]
pub(crate) struct Burials {
    queue: Mutex<Queue>,
    idle: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Burial>,
    has_worker: bool,
}

impl Burials {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next ones; none ends the worker.
    fn take(&self) -> Vec<Burial> {
        let mut queue = self.queue();
        if queue.waiting.is_empty() {
            queue.has_worker = false;
            self.idle.notify_all();
        }
        std::mem::take(&mut queue.waiting)
    }
}

impl Host {
    /// Hands a burial to the worker.
    pub(crate) fn bury_in_background(self: &Arc<Self>, burial: Burial) {
        let mut queue = self.burials.queue();
        queue.waiting.push(burial);
        if std::mem::replace(&mut queue.has_worker, true) {
            return;
        }
        let host = self.clone();
        if let Err(error) = std::thread::Builder::new().name("bury".to_owned()).spawn(move || host.bury_all())
        {
            queue.has_worker = false;
            tracing::warn!(%error, "no thread to bury temp directories; the next start does it");
        }
    }

    fn bury_all(&self) {
        loop {
            let burials = self.burials.take();
            if burials.is_empty() {
                return;
            }
            for burial in burials.iter().filter(|burial| burial.strays) {
                self.end_strays_of(&burial.run);
            }
            self.bury_batch(&burials);
            self.empty_trash(None);
        }
    }

    /// Renames temp directories into the trash, as far as nobody uses them. The processes of the
    /// machine are looked at once for all.
    fn bury_batch(&self, burials: &[Burial]) {
        let mut there = Vec::new();
        for burial in burials {
            match burial.temp.as_deref().map(free_to_go) {
                None | Some(Place::Empty) => burial.report.temp_buried(&burial.run),
                Some(Place::Taken) => {}
                Some(Place::Free) => there.extend(burial.temp.as_deref().map(|path| (burial, path))),
            }
        }
        let subjects: Vec<Subject<'_>> =
            there.iter().map(|(burial, path)| Subject { path, run: burial.run.as_str() }).collect();
        let holders = if subjects.is_empty() { Vec::new() } else { in_use::holders_of(&subjects) };
        for ((burial, path), holders) in there.into_iter().zip(holders) {
            if let Some(holder) = holders.first() {
                tracing::info!(path = %path.display(), pid = holder.pid, name = holder.name, "a temp directory is in use; it stays");
            } else if self.bury(path) {
                burial.report.temp_buried(&burial.run);
            }
        }
    }

    /// Renames a temp directory into the trash; true when it is out of its place.
    fn bury(&self, path: &Path) -> bool {
        let Some(base) = path.parent().and_then(Path::parent) else { return false };
        match trash::bury(base, &self.trash_name, path) {
            Ok(_) => {
                seam::reach("temp directory in the trash");
                // The project's directory goes with its last entry.
                let _ = path.parent().map(std::fs::remove_dir);
                true
            }
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "a temp directory stays; the next start tries again");
                false
            }
        }
    }

    /// Waits until nothing waits to be cleared up. The worker leaves deleting to the caller.
    pub(crate) fn wait_for_burials(&self, until: Instant) {
        self.sweep_cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
        let queue = self.burials.queue();
        let limit = until.saturating_duration_since(Instant::now());
        let _ = self.burials.idle.wait_timeout_while(queue, limit, |queue| queue.has_worker);
        self.sweep_cancelled.store(false, std::sync::atomic::Ordering::Relaxed);
    }

    /// Deletes what is in the trash, until `until`.
    pub(crate) fn empty_trash(&self, until: Option<Instant>) {
        for base in &self.temp_candidates {
            let dir = base.join(&self.trash_name);
            if !dir.is_dir() {
                continue;
            }
            let emptied = trash::empty(&dir, until, &self.sweep_cancelled);
            for (path, why) in &emptied.refused {
                tracing::warn!(path = %path.display(), why, "something in the trash cannot go");
            }
            if emptied.complete {
                let _ = std::fs::remove_dir(&dir);
            }
        }
    }
}

/// Whether the place of a temp directory can be cleared, as far as its lease tells.
enum Place {
    /// Never made, or removed by somebody else: there is nothing to bury.
    Empty,
    /// Its run lives, or it cannot be looked at.
    Taken,
    /// Its lease is free.
    Free,
}

fn free_to_go(path: &Path) -> Place {
    // A link that a program has put in the place of its directory: the link was ours to lose, what it
    // points to is not.
    if std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return if std::fs::remove_file(path).is_ok() { Place::Empty } else { Place::Taken };
    }
    match temp::lease_is_held(path) {
        Ok(true) => Place::Taken,
        Ok(false) => Place::Free,
        Err(_) if std::fs::symlink_metadata(path).is_err() => Place::Empty,
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "a temp directory cannot be looked at; it stays");
            Place::Taken
        }
    }
}
