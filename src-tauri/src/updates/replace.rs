//! Putting a new file in the place of the old one, so that whoever starts it gets one of the two, whole, whatever happens meanwhile.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Replaces `file` by `bytes`, with its permissions. Processes that run from it keep what they have open.
///
/// # Errors
/// What the file system says; the file is then as it was.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let file = fs::canonicalize(file)?;
    let part = part_of(&file);
    let mut open = take(&part)?;
    let written = open
        .set_len(0)
        .and_then(|()| open.write_all(bytes))
        .and_then(|()| open.set_permissions(fs::metadata(&file)?.permissions()))
        .and_then(|()| open.sync_all())
        .and_then(|()| fs::rename(&part, &file));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written?;
    // The rename itself is on the disk as well before anybody is told of it.
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Takes away what a killed one has left beside `file`.
pub fn tidy(file: &Path) {
    let Ok(file) = fs::canonicalize(file) else { return };
    let part = part_of(&file);
    // Somebody who is at it holds the lock.
    if File::open(&part).is_ok_and(|open| open.try_lock().is_ok() && is_at(&part, &open)) {
        let _ = fs::remove_file(&part);
    }
}

/// Beside the file, because only a rename within one file system is whole.
fn part_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.part"))
}

/// Opens the part for us alone.
fn take(part: &Path) -> io::Result<File> {
    let open = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(part)?;
    let busy =
        || io::Error::new(io::ErrorKind::ResourceBusy, "another Carillon is updating this file just now");
    match open.try_lock() {
        // Between our opening and our lock, another one may have put this very file in its place: it is nobody's part any more.
        Ok(()) if is_at(part, &open) => Ok(open),
        Ok(()) | Err(TryLockError::WouldBlock) => Err(busy()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether what is open still stands at that path.
fn is_at(path: &Path, open: &File) -> bool {
    let same =
        |one: &fs::Metadata, other: &fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
    open.metadata().is_ok_and(|open| fs::symlink_metadata(path).is_ok_and(|there| same(&open, &there)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn stage() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("My App.AppImage");
        fs::write(&file, "first").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).expect("its mode");
        (folder, file)
    }

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).expect("a folder").count()
    }

    #[test]
    fn the_file_is_new_and_whoever_has_it_open_keeps_the_old_one() {
        let (folder, file) = stage();
        let open = File::open(&file).expect("open");
        let link = folder.path().join("link");
        symlink(&file, &link).expect("a link");
        replace(&link, b"second").expect("replaced");
        assert_eq!(fs::read(&file).expect("read"), b"second");
        assert_eq!(io::read_to_string(open).expect("read"), "first");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o750);
        assert!(link.symlink_metadata().is_ok_and(|link| link.is_symlink()));
        assert_eq!(entries(folder.path()), 2, "nothing else is left");
    }

    #[test]
    fn what_a_killed_one_left_is_written_over_or_taken_away() {
        let (folder, file) = stage();
        fs::write(part_of(&file), "a longer text than the new file").expect("a part");
        replace(&file, b"second").expect("replaced");
        assert_eq!(fs::read(&file).expect("read"), b"second");
        fs::write(part_of(&file), "half").expect("a part");
        tidy(&file);
        assert_eq!(entries(folder.path()), 1);
    }

    #[test]
    fn two_at_once_do_not_mix() {
        let (folder, file) = stage();
        let other = take(&part_of(&file)).expect("taken");
        assert!(replace(&file, b"second").is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy));
        tidy(&file);
        assert_eq!(entries(folder.path()), 2, "the other one's part stays");
        assert_eq!(fs::read(&file).expect("read"), b"first");
        fs::rename(part_of(&file), &file).expect("the other one is done");
        assert!(!is_at(&part_of(&file), &other), "and what it had locked is no part any more");
    }

    #[test]
    fn what_cannot_be_replaced_stays_as_it_was() {
        let (folder, file) = stage();
        // A directory in the way of the part: no right to write is no hindrance for root.
        fs::create_dir(part_of(&file)).expect("a folder");
        assert!(replace(&file, b"second").is_err());
        assert_eq!(fs::read(&file).expect("read"), b"first");
        assert_eq!(entries(folder.path()), 2);
    }
}
