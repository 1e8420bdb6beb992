//! The reading half of the log: any number of readers, while it is written and after.

use super::Stem;
use crate::error::Error;
use crate::files;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A file can vanish between listing and opening. Each time the next one is as likely to be there;
/// after so many misses in a row the reader is too slow for the writer and says so.
const TRIES: usize = 16;

/// Reads the log of a run by stream offset.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    dir: OwnedFd,
    stem: Stem,
    /// The file of the last successful read; it stays readable when the writer removes it.
    current: Option<(u64, OwnedFd)>,
}

/// The answer to one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// So many bytes, at least one, are in the buffer.
    Bytes(usize),
    /// The bytes of this range are not kept; reading goes on at `to`.
    Gap {
        /// The offset that was asked for.
        from: u64,
        /// The next offset at which there are bytes.
        to: u64,
    },
    /// There is nothing at this offset, yet.
    End,
}

impl LogReader {
    /// Opens the log of the run in `run_dir`; it may still be missing or empty.
    ///
    /// # Errors
    /// [`Error::File`] when the directory cannot be opened.
    pub fn open(run_dir: &Path) -> Result<LogReader, Error> {
        LogReader::open_stem(run_dir, Stem::Output)
    }

    /// Opens the log of what a turn writes to standard error. A run that keeps output and errors
    /// together has none, which reads as an empty one.
    ///
    /// # Errors
    /// [`Error::File`] when the directory cannot be opened.
    pub fn open_errors(run_dir: &Path) -> Result<LogReader, Error> {
        LogReader::open_stem(run_dir, Stem::Errors)
    }

    fn open_stem(run_dir: &Path, stem: Stem) -> Result<LogReader, Error> {
        Ok(LogReader { path: run_dir.to_owned(), dir: files::open_dir(run_dir)?, stem, current: None })
    }

    /// The offset behind the last byte that can be read at this moment.
    ///
    /// # Errors
    /// [`Error::File`] when the directory cannot be read.
    pub fn end(&self) -> Result<u64, Error> {
        for _ in 0..TRIES {
            let Some(last) = self.pieces()?.pop() else {
                return Ok(0);
            };
            match rustix::fs::statat(&self.dir, self.stem.piece_name(last), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => return Ok(last + u64::try_from(stat.st_size).unwrap_or(0)),
                Err(Errno::NOENT) => {}
                Err(e) => return Err(self.error("stat", last, e)),
            }
        }
        Err(self.error("stat", 0, Errno::STALE))
    }

    /// Reads what stands at `offset` into `buf`, at most up to the end of one file.
    ///
    /// # Errors
    /// [`Error::File`] when a file of the log cannot be read.
    pub fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<Read, Error> {
        if buf.is_empty() {
            return Ok(Read::End);
        }
        if let Some((start, file)) = &self.current
            && *start <= offset
        {
            let n = pread(file, offset - start, buf).map_err(|e| self.error("read", *start, e))?;
            if n > 0 {
                return Ok(Read::Bytes(n));
            }
        }
        for _ in 0..TRIES {
            // Listed before it is read: a later piece begins only when the one before is complete.
            let starts = self.pieces()?;
            let next = starts.iter().copied().find(|s| *s > offset);
            if let Some(start) = starts.iter().copied().rev().find(|s| *s <= offset) {
                let Some(file) = self.open_piece(start)? else {
                    continue;
                };
                let n = pread(&file, offset - start, buf).map_err(|e| self.error("read", start, e))?;
                if n > 0 {
                    self.current = Some((start, file));
                    return Ok(Read::Bytes(n));
                }
            }
            return Ok(match next {
                Some(to) => Read::Gap { from: offset, to },
                None => Read::End,
            });
        }
        Err(self.error("open", offset, Errno::STALE))
    }

    fn pieces(&self) -> Result<Vec<u64>, Error> {
        self.stem.list(self.dir.as_fd()).map_err(|e| Error::file("list", &self.path, e))
    }

    /// None when the file has just been removed.
    fn open_piece(&self, start: u64) -> Result<Option<OwnedFd>, Error> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.dir, self.stem.piece_name(start), flags, Mode::empty()) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.error("open", start, e)),
        }
    }

    fn error(&self, operation: &'static str, start: u64, source: Errno) -> Error {
        Error::file(operation, self.path.join(self.stem.piece_name(start)), source)
    }
}

fn pread(file: &OwnedFd, at: u64, buf: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::pread(file, &mut *buf, at) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
