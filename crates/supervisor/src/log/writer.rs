//! The writing half of the log, used by the supervisor alone.

use super::{Stem, TAIL_SEGMENTS};
use crate::spec::{ERRORS_MAX, LOG_MAX_FLOOR};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// After a write failed, so long passes before the next one is tried.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Appends to a run's log and keeps it under its cap.
///
/// It cannot fail once it is made: what the disk refuses is counted and dropped, because a program
/// must never block or die because its log cannot be written.
pub struct LogWriter {
    dir: OwnedFd,
    stem: Stem,
    shape: Shape,
    cap: u64,
    /// The file that is being written; None after a failure, until the next try.
    current: Option<Piece>,
    /// The starts of the whole segments that are kept, the oldest first.
    segments: VecDeque<u64>,
    stream_end: u64,
    readable_end: u64,
    truncated: bool,
    retry_at: Option<Instant>,
}

/// What stays of a stream that is longer than the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Its head and its tail.
    HeadAndTail,
    /// Its beginning, in one piece.
    Whole,
}

struct Piece {
    start: u64,
    file: OwnedFd,
    len: u64,
    limit: u64,
}

impl LogWriter {
    /// Begins an empty log with a cap of `log_max` bytes (at least [`LOG_MAX_FLOOR`]) in `dir`.
    ///
    /// # Errors
    /// What the system said when the first file could not be made, or was there already.
    pub fn create(dir: BorrowedFd<'_>, log_max: u64) -> io::Result<LogWriter> {
        LogWriter::begin(dir, Stem::Output, Shape::HeadAndTail, log_max)
    }

    /// Begins an empty log that keeps the beginning of its stream in one piece, without any gap, up to
    /// the cap of `log_max` bytes (at least [`LOG_MAX_FLOOR`]).
    ///
    /// # Errors
    /// As [`LogWriter::create`].
    pub fn create_whole(dir: BorrowedFd<'_>, log_max: u64) -> io::Result<LogWriter> {
        LogWriter::begin(dir, Stem::Output, Shape::Whole, log_max)
    }

    /// Begins the empty log of what a turn writes to standard error, with a cap of [`ERRORS_MAX`].
    ///
    /// # Errors
    /// As [`LogWriter::create`].
    pub fn create_errors(dir: BorrowedFd<'_>) -> io::Result<LogWriter> {
        LogWriter::begin(dir, Stem::Errors, Shape::HeadAndTail, ERRORS_MAX)
    }

    fn begin(dir: BorrowedFd<'_>, stem: Stem, shape: Shape, cap: u64) -> io::Result<LogWriter> {
        let mut writer = LogWriter {
            dir: rustix::io::fcntl_dupfd_cloexec(dir, 3)?,
            stem,
            shape,
            cap: cap.max(LOG_MAX_FLOOR),
            current: None,
            segments: VecDeque::new(),
            stream_end: 0,
            readable_end: 0,
            truncated: false,
            retry_at: None,
        };
        writer.current = Some(writer.open(0)?);
        Ok(writer)
    }

    /// The cap in bytes.
    pub fn cap(&self) -> u64 {
        self.cap
    }

    /// How many bytes were appended so far, kept or not.
    pub fn stream_end(&self) -> u64 {
        self.stream_end
    }

    /// The offset behind the last byte that a reader can get.
    pub fn readable_end(&self) -> u64 {
        self.readable_end
    }

    /// Whether some of the appended bytes are not, or no longer, in the log.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Whether more was appended than the cap allows.
    pub fn is_past_cap(&self) -> bool {
        self.stream_end > self.cap
    }

    /// Whether nothing may be missing from the middle of this log.
    pub(crate) fn is_whole(&self) -> bool {
        self.shape == Shape::Whole
    }

    /// Appends bytes to the stream.
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let n = match self.write_some(bytes) {
                Ok(n) => n,
                Err(_) => {
                    self.give_up_for_now();
                    self.stream_end += bytes.len() as u64;
                    return;
                }
            };
            bytes = &bytes[n..];
            self.stream_end += n as u64;
            self.readable_end = self.stream_end;
        }
    }

    /// Forgets the pause after a failed write.
    #[cfg(test)]
    pub(crate) fn retry_now(&mut self) {
        self.retry_at = None;
    }

    /// Gives the space of the tail back, so that the exit record can be written on a full disk.
    pub(crate) fn drop_tail(&mut self) {
        self.truncated |= !self.segments.is_empty();
        while let Some(oldest) = self.segments.pop_front() {
            self.remove(oldest);
        }
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(at) = self.retry_at {
            if Instant::now() < at {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.retry_at = None;
        }
        let full = self.current.as_ref().is_none_or(|p| p.len >= p.limit);
        if full {
            if self.is_whole() {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.rotate()?;
        }
        let Some(piece) = self.current.as_mut() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let room = usize::try_from(piece.limit - piece.len).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        loop {
            match rustix::io::write(&piece.file, part) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    piece.len += n as u64;
                    return Ok(n);
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Begins the next segment at the present end of the stream and lets the oldest go.
    fn rotate(&mut self) -> io::Result<()> {
        if let Some(done) = self.current.take()
            && done.start > 0
        {
            self.segments.push_back(done.start);
        }
        while self.segments.len() > TAIL_SEGMENTS
            && let Some(oldest) = self.segments.pop_front()
        {
            self.remove(oldest);
            self.truncated = true;
        }
        self.current = Some(self.open(self.stream_end)?);
        Ok(())
    }

    fn open(&self, start: u64) -> io::Result<Piece> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.dir, self.stem.piece_name(start), flags, mode)?;
        let limit = match self.shape {
            Shape::Whole => self.cap,
            Shape::HeadAndTail if start == 0 => self.cap / 2,
            Shape::HeadAndTail => self.cap / 8,
        };
        Ok(Piece { start, file, len: 0, limit })
    }

    /// Bytes are about to be lost, so what comes later can no longer stand in the same file.
    fn give_up_for_now(&mut self) {
        self.truncated = true;
        self.retry_at.get_or_insert(Instant::now() + RETRY_AFTER);
        match self.current.take() {
            Some(piece) if piece.len == 0 && piece.start > 0 => self.remove(piece.start),
            Some(piece) if piece.start > 0 => self.segments.push_back(piece.start),
            _ => {}
        }
    }

    /// Removing can only fail if somebody else removed the file, which is what we want.
    fn remove(&self, start: u64) {
        let _ = rustix::fs::unlinkat(&self.dir, self.stem.piece_name(start), AtFlags::empty());
    }
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter")
            .field("stream_end", &self.stream_end)
            .field("pieces", &self.stem.list(self.dir.as_fd()).unwrap_or_default())
            .finish_non_exhaustive()
    }
}
