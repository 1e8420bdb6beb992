//! The temp directories of runs: chosen before they are made, renamed into the trash when their
//! run is over and nobody uses them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use carillon_core::id::RunId;
use carillon_tidy::{base, in_use, temp, trash};

use crate::error::Error;
use crate::host::Host;
use crate::recover::SWEEP_CANCELLED;
use crate::world::{Report, TempPlace};

impl Host {
    /// A place for a new temp directory, on the first base that passes its preflight now.
    pub(crate) fn choose_temp(&self, project_root: &Path) -> Result<TempPlace, Error> {
        let base = base::choose(&self.temp_candidates).map_err(|refusals| {
            let why: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            Error::failed(
                format!("there is no place for temporary files: {}", why.join("; ")),
                "free some space, or set XDG_CACHE_HOME to a directory on a disk",
            )
        })?;
        for warning in &base.warnings {
            tracing::debug!(warning, "the temp base has a flaw");
        }
        Ok(TempPlace {
            base: base.path,
            namespace: temp::namespace(&self.home, project_root),
            name: temp::random_name(),
        })
    }

    pub(crate) fn temp_candidates(&self) -> &[PathBuf] {
        &self.temp_candidates
    }

    /// Buries on a thread of its own: looking for users of a directory reads all of `/proc`.
    pub(crate) fn bury_in_background(self: &Arc<Self>, run: RunId, path: PathBuf, report: Report) {
        *self.burials.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let host = self.clone();
        let bury = move || {
            if host.bury(&run, &path) {
                report.temp_buried(&run);
            }
            *host.burials.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            host.burials.1.notify_all();
            host.empty_trash(None);
        };
        if let Err(error) = std::thread::Builder::new().name("bury".to_owned()).spawn(bury) {
            *self.burials.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            tracing::warn!(%error, "no thread to bury a temp directory; the next start does it");
        }
    }

    /// Renames a temp directory into the trash; true when it is out of its place.
    fn bury(&self, run: &RunId, path: &Path) -> bool {
        let Some(base) = path.parent().and_then(Path::parent) else { return false };
        match temp::lease_is_held(path) {
            Ok(true) => return false,
            Ok(false) => {}
            // Never made, or removed by somebody else: there is nothing to bury.
            Err(_) if !path.exists() => return true,
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "a temp directory cannot be looked at; it stays");
                return false;
            }
        }
        let holders = in_use::holders(path, run.as_str());
        if let Some(holder) = holders.first() {
            tracing::info!(path = %path.display(), pid = holder.pid, name = holder.name, "a temp directory is in use; it stays");
            return false;
        }
        match trash::bury(base, &self.trash_name, path) {
            Ok(_) => {
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

    /// Waits until nothing is on its way into the trash.
    pub(crate) fn wait_for_burials(&self, until: Instant) {
        let count = self.burials.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = until.saturating_duration_since(Instant::now());
        let _ = self.burials.1.wait_timeout_while(count, limit, |count| *count > 0);
    }

    /// Deletes what is in the trash, until `until`.
    pub(crate) fn empty_trash(&self, until: Option<Instant>) {
        for base in &self.temp_candidates {
            let dir = base.join(&self.trash_name);
            if !dir.is_dir() {
                continue;
            }
            let emptied = trash::empty(&dir, until, &SWEEP_CANCELLED);
            for (path, why) in &emptied.refused {
                tracing::warn!(path = %path.display(), why, "something in the trash cannot go");
            }
            if emptied.complete {
                let _ = std::fs::remove_dir(&dir);
            }
        }
    }
}
