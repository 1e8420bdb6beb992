//! Telling whether a log (`-wal`) belongs to the file beside it.
//!
//! SQLite lays a log over whatever file has its name. When a backup is put back while the log of
//! another time still lies there (a crash leaves one), the result is a mixture that may even pass an
//! integrity check. So each commit carries the file's epoch (`user_version`, on page 1), and each time
//! that the log is begun anew the epoch is another: the log is the file's own when the epoch of the
//! file is one of those in the log.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Sizes of the log's header and of the header of each page in it (SQLite's file format, 4.1 and 4.2).
const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// Where page 1 holds `user_version`, big-endian.
const EPOCH_AT: usize = 60;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What lies beside the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    /// Nothing that SQLite would lay over the file, or the file's own log.
    Sound,
    /// The log of another time or of another file.
    Stale,
    /// A log, but no file, or an empty one: SQLite would delete it.
    Orphan,
}

/// Looks at the files before SQLite touches them. Must not be called while this process has the file
/// open: closing any descriptor of it gives up SQLite's locks.
pub(crate) fn look(path: &Path, log: &Path) -> io::Result<Log> {
    let log = match File::open(log) {
        Ok(log) => log,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Log::Sound),
        Err(error) => return Err(error),
    };
    if log.metadata()?.len() <= (LOG_HEADER_BYTES + FRAME_HEADER_BYTES) as u64 {
        return Ok(Log::Sound);
    }
    let mut page = [0; EPOCH_AT + 4];
    match File::open(path).and_then(|mut file| file.read_exact(&mut page)) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
            return Ok(Log::Orphan);
        }
        Err(error) => return Err(error),
    }
    // Whether a file without its first bytes can be saved by its log is for SQLite to say.
    if !page.starts_with(MAGIC) {
        return Ok(Log::Sound);
    }
    let epoch = word(&page, EPOCH_AT);
    let epochs = epochs_in(io::BufReader::with_capacity(1 << 16, log))?;
    Ok(if epochs.is_empty() || epochs.contains(&epoch) { Log::Sound } else { Log::Stale })
}

/// The epochs of the commits in a log, in their order, without repetition of neighbours.
fn epochs_in(mut log: impl Read) -> io::Result<Vec<u32>> {
    let (mut epochs, mut pending) = (Vec::new(), None);
    let mut header = [0; LOG_HEADER_BYTES];
    log.read_exact(&mut header)?;
    let mut page = vec![0; word(&header, 8) as usize];
    if page.len() < EPOCH_AT + 4 || page.len() > 1 << 16 {
        return Ok(epochs);
    }
    let mut frame = [0; FRAME_HEADER_BYTES];
    // A frame with another salt is left over from before the log was begun anew.
    while read_whole(&mut log, &mut frame)?
        && frame[8..16] == header[16..24]
        && read_whole(&mut log, &mut page)?
    {
        if word(&frame, 0) == 1 {
            pending = Some(word(&page, EPOCH_AT));
        }
        // The last page of a commit tells the size of the file.
        if word(&frame, 4) != 0
            && let Some(epoch) = pending.take()
            && epochs.last() != Some(&epoch)
        {
            epochs.push(epoch);
        }
    }
    Ok(epochs)
}

/// False when the log ends before `bytes` are full.
fn read_whole(log: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The epoch of a life that begins now on a file of the epoch `last`: most likely one that no backup
/// of the file has.
pub(crate) fn first_epoch(last: u32, now_ms: i64) -> u32 {
    let seed = now_ms.unsigned_abs() ^ u64::from(last) << 32;
    // The finaliser of SplitMix64.
    let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 33) as u32
}

/// The epoch after the log was begun anew.
pub(crate) fn next_epoch(last: u32) -> u32 {
    // `user_version` is signed; it never needs its sign here.
    last.wrapping_add(1) & 0x7fff_ffff
}
