//! The screen of a run on the disk: a snapshot with its offset, so that a start need not read a
//! long log again, and the screen of an ended run is there at once.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use carillon_supervisor::{Io, RunSpec};

const NAME: &str = "screen";
/// Changes with the format; a file with another is ignored.
const MAGIC: [u8; 8] = *b"CARSCR1\n";
const HEADER_BYTES: usize = 20;

/// A saved screen.
pub(crate) struct Saved {
    /// Offset in the stream up to which it is right.
    pub(crate) offset: u64,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// Bytes that rebuild it in a fresh terminal.
    pub(crate) snapshot: Vec<u8>,
}

/// Replaces the saved screen. It is not made durable: what is lost is read from the log again.
pub(crate) fn save(dir: &Path, saved: &Saved) -> std::io::Result<()> {
    let part = dir.join("screen.part");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&saved.offset.to_le_bytes());
    header.extend_from_slice(&saved.size.0.to_le_bytes());
    header.extend_from_slice(&saved.size.1.to_le_bytes());
    file.write_all(&header)?;
    file.write_all(&saved.snapshot)?;
    std::fs::rename(&part, dir.join(NAME))
}

/// The saved screen, when there is one of this format.
pub(crate) fn load(dir: &Path) -> Option<Saved> {
    let bytes = std::fs::read(dir.join(NAME)).ok()?;
    let (header, snapshot) = bytes.split_at_checked(HEADER_BYTES)?;
    if header[..8] != MAGIC {
        return None;
    }
    let offset = u64::from_le_bytes(header[8..16].try_into().ok()?);
    let cols = u16::from_le_bytes(header[16..18].try_into().ok()?);
    let rows = u16::from_le_bytes(header[18..20].try_into().ok()?);
    Some(Saved { offset, size: (cols, rows), snapshot: snapshot.to_vec() })
}

/// The size that the run was started with.
pub(crate) fn size_at_start(dir: &Path) -> Option<(u16, u16)> {
    let spec: RunSpec = serde_json::from_slice(&std::fs::read(dir.join("spec.json")).ok()?).ok()?;
    match spec.io {
        Io::Pty { cols, rows } => Some((cols, rows)),
        Io::Pipes | Io::Turn => None,
    }
}
