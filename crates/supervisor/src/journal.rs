//! The journal of inputs: the file `accepted` in a run's directory, one id in hex per line.
//!
//! An engine that died between handing an input over and noting it asks here, also after the run's
//! end, whether the program got it. It is a file and not a set in memory, so it costs the supervisor
//! nothing, and it is not synced: if the machine dies, the program that got the input died, too.

use crate::error::Error;
use crate::files;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

const NAME: &str = "accepted";

/// Length of a line in bytes: 32 hex digits and the line feed.
const LINE: usize = 33;

/// Whether the supervisor of the run in `run_dir` has accepted the input with this id.
///
/// # Errors
/// [`Error::File`] when the directory or the journal cannot be read.
pub fn was_accepted(run_dir: &Path, id: u128) -> Result<bool, Error> {
    let dir = files::open_dir(run_dir)?;
    contains(dir.as_fd(), id).map_err(|e| Error::file("read", run_dir.join(NAME), e))
}

/// Whether the journal holds this id.
pub(crate) fn contains(dir: BorrowedFd<'_>, id: u128) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = match rustix::fs::openat(dir, NAME, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(false),
        Err(e) => return Err(e.into()),
    };
    let wanted = line(id);
    let mut buf = [0u8; LINE * 64];
    let mut filled = 0;
    loop {
        let n = file.read(&mut buf[filled..])?;
        filled += n;
        let whole = filled - filled % LINE;
        if buf[..whole].chunks_exact(LINE).any(|l| l == wanted) {
            return Ok(true);
        }
        if n == 0 {
            return Ok(false);
        }
        buf.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

/// Notes an id. One write call, so that a line is there as a whole or not at all.
pub(crate) fn append(dir: BorrowedFd<'_>, id: u128) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, NAME, flags, Mode::RUSR | Mode::WUSR)?;
    File::from(file).write_all(&line(id))
}

fn line(id: u128) -> [u8; LINE] {
    let mut out = [b'\n'; LINE];
    for (i, byte) in out.iter_mut().take(LINE - 1).enumerate() {
        let nibble = (id >> (124 - 4 * i)) & 0xf;
        *byte = b"0123456789abcdef"[nibble as usize];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_noted_id_is_found_and_no_other() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = files::open_dir(temp.path()).expect("open");
        assert!(!was_accepted(temp.path(), 0).expect("read"));
        let ids: Vec<u128> = (0..500u128).map(|n| n * 0x0123_4567_89ab_cdef_0123).collect();
        for id in &ids {
            append(dir.as_fd(), *id).expect("append");
        }
        for id in &ids {
            assert!(was_accepted(temp.path(), *id).expect("read"), "{id:x}");
            assert!(!was_accepted(temp.path(), id + 1).expect("read"));
        }
    }
}
