//! Clearing up after runs: strays are ended, temp directories are renamed into the trash when nobody
//! uses them, the trash is emptied. One thread renames, while there is something to do: looking for
//! users of a directory reads all of `/proc`, and the end of a run must not wait for that. Another one
//! deletes, behind everything else: however much there is, the next directory is renamed at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_tidy::in_use::{self, Subject};
use carillon_tidy::{temp, trash};

use crate::host::guard::By;
use crate::host::{Host, linux};
use crate::seam;
use crate::world::Report;

/// What is left of one run.
pub(crate) struct Burial {
    pub(crate) run: RunId,
    /// Its temp directory.
    pub(crate) temp: Option<PathBuf>,
    /// Its supervisor is gone and may have left processes.
    pub(crate) strays: bool,
    /// Its directory, of which nothing is needed any more.
    pub(crate) dir: Option<PathBuf>,
    pub(crate) report: Report,
}

/// One whose directory somebody still used, most often a process of its run that is just ending.
struct Late {
    burial: Burial,
    users: Vec<u32>,
    /// It is tried again until then, and after that by the next sweep.
    until: Instant,
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
    /// Something was put into the trash since it was emptied last.
    is_fuller: bool,
    is_emptying: bool,
}

impl Burials {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next ones; none ends the worker, unless it `goes_on` with others.
    fn take(&self, goes_on: bool) -> Vec<Burial> {
        let mut queue = self.queue();
        if queue.waiting.is_empty() && !goes_on {
            queue.has_worker = false;
            self.idle.notify_all();
        }
        std::mem::take(&mut queue.waiting)
    }

    /// Whether the trash is to be emptied once more; if not, its worker ends.
    fn go_on_emptying(&self, is_cancelled: bool) -> bool {
        let mut queue = self.queue();
        let goes_on = std::mem::take(&mut queue.is_fuller) && !is_cancelled;
        if !goes_on {
            queue.is_emptying = false;
            self.idle.notify_all();
        }
        goes_on
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

    fn bury_all(self: &Arc<Self>) {
        let mut late: Vec<Late> = Vec::new();
        loop {
            let burials = self.burials.take(!late.is_empty());
            if burials.is_empty() && late.is_empty() {
                return;
            }
            for burial in burials.iter().filter(|burial| burial.strays) {
                self.end_strays_of(&burial.run);
            }
            // Of a run that nobody watched to its end.
            for burial in &burials {
                self.finish_guard(&burial.run, By::ClearUp);
            }
            for burial in &burials {
                if let Some(dir) = &burial.dir {
                    remove_dir(burial, dir);
                }
            }
            if burials.is_empty() {
                wait_for_any(&late);
            }
            let until = Instant::now() + patience();
            let new = burials.into_iter().map(|burial| Late { burial, users: Vec::new(), until });
            late = self.bury_batch(late.into_iter().chain(new).collect());
            let is_over = |one: &Late| one.until < Instant::now();
            late.retain(|one| !self.sweep_cancelled.load(Ordering::Relaxed) && !is_over(one));
            self.empty_trash_in_background();
        }
    }

    fn empty_trash_in_background(self: &Arc<Self>) {
        let mut queue = self.burials.queue();
        queue.is_fuller = true;
        if std::mem::replace(&mut queue.is_emptying, true) {
            return;
        }
        let host = self.clone();
        let work = move || {
            linux::stand_back();
            while host.burials.go_on_emptying(host.sweep_cancelled.load(Ordering::Relaxed)) {
                host.empty_trash(None);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("empty".to_owned()).spawn(work) {
            queue.is_emptying = false;
            tracing::warn!(%error, "no thread to empty the trash; the next sweep does it");
        }
    }

    /// Renames temp directories into the trash, as far as nobody uses them; answers those that somebody does. The
    /// processes of the machine are looked at once for all.
    fn bury_batch(&self, all: Vec<Late>) -> Vec<Late> {
        let (mut there, mut used) = (Vec::new(), Vec::new());
        for one in all {
            match one.burial.temp.as_deref().map(free_to_go) {
                // It was for its strays alone.
                None => {}
                Some(Place::Empty) => one.burial.report.temp_buried(&one.burial.run),
                Some(Place::Taken) => used.push(Late { users: Vec::new(), ..one }),
                Some(Place::Free) => there.push(one),
            }
        }
        let subject = |one: &'_ Late| {
            let path = one.burial.temp.clone().unwrap_or_default();
            (path, one.burial.run.clone())
        };
        let named: Vec<(PathBuf, RunId)> = there.iter().map(subject).collect();
        let subjects: Vec<Subject<'_>> =
            named.iter().map(|(path, run)| Subject { path, run: run.as_str() }).collect();
        let holders = if subjects.is_empty() { Vec::new() } else { in_use::holders_of(&subjects) };
        for ((one, (path, _)), holders) in there.into_iter().zip(&named).zip(holders) {
            if let Some(holder) = holders.first() {
                tracing::info!(path = %path.display(), pid = holder.pid, name = holder.name, "a temp directory is in use; it stays");
                used.push(Late { users: holders.iter().map(|holder| holder.pid).collect(), ..one });
            } else if self.bury(path) {
                one.burial.report.temp_buried(&one.burial.run);
            }
        }
        used
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

    /// Waits until nothing waits to be cleared up. Deleting is left to the caller.
    pub(crate) fn wait_for_burials(&self, until: Instant) {
        self.sweep_cancelled.store(true, Ordering::Relaxed);
        let queue = self.burials.queue();
        let limit = until.saturating_duration_since(Instant::now());
        let is_busy = |queue: &mut Queue| queue.has_worker || queue.is_emptying;
        let _ = self.burials.idle.wait_timeout_while(queue, limit, is_busy);
        self.sweep_cancelled.store(false, Ordering::Relaxed);
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

fn remove_dir(burial: &Burial, dir: &Path) {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, dir = %dir.display(), "a run directory stays; the next sweep tries again");
        }
        Ok(()) | Err(_) => burial.report.dir_dropped(&burial.run),
    }
}

/// How long a directory is tried again that somebody uses. A debug build takes another time from its environment,
/// for tests.
fn patience() -> Duration {
    let told = std::env::var("CARILLON_BURIAL_PATIENCE_MS").ok().filter(|_| cfg!(debug_assertions));
    Duration::from_millis(told.and_then(|ms| ms.parse().ok()).unwrap_or(limits::BURIAL_PATIENCE_MS))
}

/// Waits a moment for the end of any process that uses one of them.
fn wait_for_any(late: &[Late]) {
    let users: Vec<u32> = late.iter().flat_map(|one| one.users.iter().copied()).collect();
    let pause = Duration::from_millis(limits::BURIAL_PAUSE_MS);
    // Who holds a lease is not known.
    if users.is_empty() { std::thread::sleep(pause) } else { linux::wait_for_an_end(&users, pause) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::event::Event;
    use crate::world::World;
    use std::sync::mpsc;

    #[test]
    fn the_directory_of_a_run_is_removed_behind_the_back_of_who_asks() {
        let temp = tempfile::tempdir().expect("a directory");
        let config = Config::of_test(temp.path());
        let host = Arc::new(Host::new(&config));
        let run = RunId::from_random([7; 16]);
        let dir = host.run_dir(&run);
        std::fs::create_dir_all(dir.join("log")).expect("a run directory");
        let (events, reported) = mpsc::channel();
        // As if the worker were at something else.
        host.burials.queue().has_worker = true;
        host.drop_dir(&run, Report(events));
        assert!(dir.is_dir() && reported.try_recv().is_err());
        host.bury_all();
        assert!(!dir.exists());
        assert!(matches!(reported.try_recv(), Ok(Event::DirDropped { run: gone }) if gone == run));
    }
}
