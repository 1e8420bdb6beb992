//! The values of a profile's variables. They may be secrets, so they never stand in the ledger: one
//! file per profile, for the user's eyes only, replaced as a whole.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use carillon_core::id::ProfileId;

fn path(dir: &Path, profile: &ProfileId) -> PathBuf {
    dir.join(format!("{profile}.json"))
}

/// Keeps the values of a profile; without any, none are kept any more.
pub(crate) fn put(dir: &Path, profile: &ProfileId, env: &[(String, String)]) -> std::io::Result<()> {
    if env.is_empty() {
        return forget(dir, profile);
    }
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(dir)?;
    let whole = path(dir, profile);
    let part = whole.with_extension("part");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(&serde_json::to_vec(env).map_err(std::io::Error::other)?)?;
    file.sync_all()?;
    std::fs::rename(&part, &whole)?;
    std::fs::File::open(dir)?.sync_all()
}

/// The values of a profile, none when it has none.
pub(crate) fn get(dir: &Path, profile: &ProfileId) -> std::io::Result<Vec<(String, String)>> {
    match std::fs::read(path(dir, profile)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(std::io::Error::other),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Forgets the values of a profile.
pub(crate) fn forget(dir: &Path, profile: &ProfileId) -> std::io::Result<()> {
    match std::fs::remove_file(path(dir, profile)) {
        Ok(()) => std::fs::File::open(dir)?.sync_all(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
