//! The places of temp directories: chosen before they are made, so that the ledger knows them first.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use carillon_tidy::{base, temp};

use crate::error::Error;
use crate::host::Host;
use crate::world::TempPlace;

/// How long a preflight is trusted by starts that follow each other.
const PREFLIGHT_HOLDS: Duration = Duration::from_secs(2);

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
        self.remember_base(Some(base.path.clone()));
        Ok(self.place(base.path, project_root))
    }

    /// As [`Host::choose_temp`], trusting a preflight of a moment ago: many tasks start at a time.
    pub(crate) fn choose_temp_soon(&self, project_root: &Path) -> Result<TempPlace, String> {
        let known = self.temp_base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some((base, at)) if at.elapsed() < PREFLIGHT_HOLDS => Ok(self.place(base, project_root)),
            _ => self.choose_temp(project_root).map_err(|error| error.to_string()),
        }
    }

    fn remember_base(&self, base: Option<PathBuf>) {
        *self.temp_base.lock().unwrap_or_else(PoisonError::into_inner) =
            base.map(|base| (base, Instant::now()));
    }

    fn place(&self, base: PathBuf, project_root: &Path) -> TempPlace {
        let namespace = temp::namespace(&self.home, project_root);
        TempPlace { base, namespace, name: temp::random_name() }
    }

    pub(crate) fn temp_candidates(&self) -> &[PathBuf] {
        &self.temp_candidates
    }
}
