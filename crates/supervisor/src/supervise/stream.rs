//! One stream of a program's output: where it comes from and the log that keeps it.

use crate::log::LogWriter;
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Output, or errors where they are kept apart.
pub(super) struct Stream {
    /// None when it is at its end.
    source: Option<OwnedFd>,
    pub(super) log: LogWriter,
}

impl Stream {
    pub(super) fn new(source: OwnedFd, log: LogWriter) -> Stream {
        Stream { source: Some(source), log }
    }

    /// Whether somebody may still write to it.
    pub(super) fn is_open(&self) -> bool {
        self.source.is_some()
    }

    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// What to poll; negative when it is at its end.
    pub(super) fn poll_fd(&self) -> RawFd {
        self.source.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Moves a portion into the log, as much as `buffer` holds at most, and says how long it was.
    pub(super) fn pump(&mut self, buffer: &mut [u8]) -> usize {
        let Some(source) = &self.source else {
            return 0;
        };
        let mut filled = 0;
        let mut at_end = false;
        while filled < buffer.len() {
            match rustix::io::read(source, &mut buffer[filled..]) {
                Ok(0) => at_end = true,
                Ok(n) => {
                    filled += n;
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {}
                // A terminal that nobody has open any more answers EIO, which is its end.
                Err(_) => at_end = true,
            }
            break;
        }
        if at_end {
            self.source = None;
        }
        self.log.append(&buffer[..filled]);
        filled
    }
}
