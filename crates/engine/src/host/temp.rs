//! The places of temp directories: chosen before they are made, so that the ledger knows them first.

use std::path::{Path, PathBuf};

use carillon_tidy::{base, temp};

use crate::error::Error;
use crate::host::Host;
use crate::world::TempPlace;

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
}
