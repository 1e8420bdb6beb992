//! The queue of input between the control socket and the program's terminal.

use crate::protocol::INPUT_MAX;
use std::os::fd::BorrowedFd;

/// Bytes that the program has not read yet. No more requests are taken from a connection while the
/// queue is full, so it holds at most one request more than its bound.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    bytes: Vec<u8>,
    written: usize,
}

impl InputQueue {
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.written < INPUT_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == self.written
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.written);
        self.written = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes as much as the terminal takes. What it refuses for good is the end of the program.
    pub(super) fn write_to(&mut self, terminal: BorrowedFd<'_>) {
        while !self.is_empty() {
            match rustix::io::write(terminal, &self.bytes[self.written..]) {
                Ok(n) if n > 0 => self.written += n,
                _ => return,
            }
        }
        // A large paste must not stay in memory for the rest of the run.
        *self = InputQueue::default();
    }

    /// Forgets everything; nobody is left to read it.
    pub(super) fn clear(&mut self) {
        *self = InputQueue::default();
    }
}
