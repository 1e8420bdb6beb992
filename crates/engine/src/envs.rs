//! Environments of callers, kept for tasks that wait in line. They may hold secrets, so they stand
//! in files that only the user can read, named by their content: many tasks share one.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::host::Vars;

/// Keeps an environment and answers its name. It is durable when this returns.
pub(crate) fn put(dir: &Path, vars: &Vars) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    for (name, value) in vars {
        for part in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
            bytes.extend_from_slice(part);
        }
    }
    let key = key_of(&bytes);
    let whole = dir.join(&key);
    if std::fs::read(&whole).is_ok_and(|there| there == bytes) {
        return Ok(key);
    }
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(dir)?;
    let part = dir.join(format!("{}.part", uuid::Uuid::new_v4().simple()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    std::fs::rename(&part, &whole)?;
    std::fs::File::open(dir)?.sync_all()?;
    Ok(key)
}

/// Two hashes of the content, as hex. A collision would be noticed by comparing, in `put`.
fn key_of(bytes: &[u8]) -> String {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        bytes.hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", hash(0), hash(1))
}

/// The environment of that name.
pub(crate) fn get(dir: &Path, key: &str) -> std::io::Result<Vars> {
    let bytes = std::fs::read(dir.join(key))?;
    let pairs = bytes.split(|b| *b == 0).filter_map(|pair| {
        let at = pair.iter().position(|b| *b == b'=')?;
        let os = |bytes: &[u8]| std::ffi::OsString::from_vec(bytes.to_vec());
        Some((os(&pair[..at]), os(&pair[at + 1..])))
    });
    Ok(pairs.collect())
}

/// Removes the files that nobody needs any more. Only for a boot: nobody may be putting one.
pub(crate) fn keep_only(dir: &Path, needed: &HashSet<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(|name| needed.contains(name)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_environment_comes_back_as_it_was_and_is_for_the_users_eyes() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("envs");
        let vars: Vars = vec![("A".into(), "1=2\n3".into()), ("B".into(), "".into())];
        let key = put(&dir, &vars).unwrap();
        assert_eq!(put(&dir, &vars).unwrap(), key);
        assert_eq!(get(&dir, &key).unwrap(), vars);
        let mode = std::fs::metadata(dir.join(&key)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        keep_only(&dir, &HashSet::from([key.clone()]));
        assert!(dir.join(&key).exists());
        keep_only(&dir, &HashSet::new());
        assert!(!dir.join(&key).exists());
    }
}
