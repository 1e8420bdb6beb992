//! Durable small files in a run's directory, always by the directory's descriptor.
//!
//! A run directory may be moved into the trash while somebody reads it, and its path may be longer
//! than a socket address allows; a descriptor has neither problem.

use crate::error::Error;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Name of the file that says what to start.
pub(crate) const SPEC: &str = "spec.json";
/// Name of the file that says what was started.
pub(crate) const STARTED: &str = "started.json";
/// Name of the file that says how the run ended.
pub(crate) const EXIT: &str = "exit.json";
/// Name of the file that is a turn's standard input.
pub(crate) const PROMPT: &str = "prompt";
/// Name of the control socket.
pub(crate) const SOCKET: &str = "control.sock";

/// No file of ours is longer; a longer one is refused instead of read into memory.
const FILE_MAX: u64 = 4 << 20;

/// Opens a directory so that no program that is started later inherits it.
pub(crate) fn open_dir(path: &Path) -> Result<OwnedFd, Error> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Error::file("open", path, e))
}

/// Creates or truncates a file with mode 0600 in `dir`.
pub(crate) fn create_file(dir: BorrowedFd<'_>, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(File::from(rustix::fs::openat(dir, name, flags, mode)?))
}

/// How much of a written file must survive a crash of the machine. Each step costs some milliseconds
/// of waiting for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// Nothing: it is of no use to anybody after a crash.
    No,
    /// The new content must be there.
    ContentAndName,
}

/// Writes a file as a whole: no reader ever sees a part of it.
pub(crate) fn write_json<T: Serialize>(
    dir: BorrowedFd<'_>,
    name: &str,
    value: &T,
    durable: Durable,
) -> io::Result<()> {
    write_bytes(dir, name, &serde_json::to_vec(value)?, durable)
}

/// The same for content that is no JSON.
pub(crate) fn write_bytes(dir: BorrowedFd<'_>, name: &str, bytes: &[u8], durable: Durable) -> io::Result<()> {
    let part = format!("{name}.part");
    let mut file = create_file(dir, &part)?;
    file.write_all(bytes)?;
    finish(dir, &file, &part, name, durable)
}

fn finish(dir: BorrowedFd<'_>, file: &File, part: &str, name: &str, durable: Durable) -> io::Result<()> {
    if durable != Durable::No {
        file.sync_all()?;
    }
    rustix::fs::renameat(dir, part, dir, name)?;
    if durable == Durable::ContentAndName {
        rustix::fs::fsync(dir)?;
    }
    Ok(())
}

/// A file whose space on the disk is taken beforehand, so that it can be written when the disk has
/// become full meanwhile.
pub(crate) struct Reserved {
    file: File,
    part: String,
    name: &'static str,
}

impl Reserved {
    /// Takes `bytes` of disk space for the file `name`. Where the file system cannot reserve, the
    /// file is merely opened.
    pub(crate) fn take(dir: BorrowedFd<'_>, name: &'static str, bytes: u64) -> io::Result<Reserved> {
        let part = format!("{name}.part");
        let file = create_file(dir, &part)?;
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(Reserved { file, part, name })
    }

    /// Writes the content durably under the file's own name. May be repeated when it failed.
    pub(crate) fn commit<T: Serialize>(&self, dir: BorrowedFd<'_>, value: &T) -> io::Result<()> {
        let text = serde_json::to_vec(value)?;
        std::os::unix::fs::FileExt::write_all_at(&self.file, &text, 0)?;
        self.file.set_len(text.len() as u64)?;
        finish(dir, &self.file, &self.part, self.name, Durable::ContentAndName)
    }
}

/// Reads a JSON file of a run. Absent is None.
pub(crate) fn read_json<T: DeserializeOwned>(
    dir: BorrowedFd<'_>,
    dir_path: &Path,
    name: &str,
) -> Result<Option<T>, Error> {
    let Some(bytes) = read_file(dir, dir_path, name)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|source| Error::Content { path: dir_path.join(name), source })
}

/// Whether a file is there, readable or not.
pub(crate) fn exists(dir: BorrowedFd<'_>, name: &str) -> bool {
    rustix::fs::statat(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Opens a file of a run for reading, as an open file of its own.
pub(crate) fn open_file(dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::openat(dir, name, flags, Mode::empty())?)
}

fn read_file(dir: BorrowedFd<'_>, dir_path: &Path, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = match rustix::fs::openat(dir.as_fd(), name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(Error::file("open", dir_path.join(name), e)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut bytes).map_err(|e| Error::file("read", dir_path.join(name), e))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_private_and_leaves_no_partial_one() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        write_json(dir.as_fd(), EXIT, &vec![1, 2], Durable::ContentAndName).expect("write");
        let mode = std::fs::metadata(temp.path().join(EXIT)).expect("stat");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        assert!(!temp.path().join("exit.json.part").exists());
        let back: Option<Vec<i32>> = read_json(dir.as_fd(), temp.path(), EXIT).expect("read");
        assert_eq!(back, Some(vec![1, 2]));
    }

    #[test]
    fn absent_is_told_from_unreadable() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let absent: Option<Vec<i32>> = read_json(dir.as_fd(), temp.path(), EXIT).expect("read");
        assert_eq!(absent, None);
        std::fs::write(temp.path().join(EXIT), "{").expect("write");
        let broken = read_json::<Vec<i32>>(dir.as_fd(), temp.path(), EXIT);
        assert!(matches!(broken, Err(Error::Content { path, .. }) if path.ends_with(EXIT)));
    }

    #[test]
    fn a_reserved_file_shrinks_to_its_content() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let reserved = Reserved::take(dir.as_fd(), EXIT, 16384).expect("reserve");
        let part = temp.path().join("exit.json.part");
        assert_eq!(std::fs::metadata(part).expect("stat").len(), 16384);
        reserved.commit(dir.as_fd(), &"short").expect("commit");
        let text = std::fs::read_to_string(temp.path().join(EXIT)).expect("read");
        assert_eq!(text, "\"short\"");
    }
}
