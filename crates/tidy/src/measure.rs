//! How much room a tree takes.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The room that a tree takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Bytes on the disk. A file with several names in the tree counts once.
    pub bytes: u64,
    /// Files, directories and all else, with the top.
    pub entries: u64,
    /// Whether all of it was looked at: not when the bound was reached, when it was cancelled, or when a directory
    /// could not be read.
    pub is_complete: bool,
}

/// Measures the tree at `top` without following links and without leaving its file system, looking at no more
/// than `entries_max` entries. A top that is not there takes no room. What comes and goes meanwhile may be counted
/// or not.
pub fn measure(top: &Path, entries_max: u64, cancel: &AtomicBool) -> Measured {
    let mut measured = Measured { is_complete: true, ..Measured::default() };
    let Ok(meta) = std::fs::symlink_metadata(top) else { return measured };
    let device = meta.dev();
    measured.entries = 1;
    measured.bytes = meta.blocks() * 512;
    let mut linked = HashSet::new();
    let mut open = if meta.is_dir() { vec![top.to_path_buf()] } else { Vec::new() };
    while let Some(dir) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            measured.is_complete &= !dir.exists();
            continue;
        };
        for entry in entries.flatten() {
            if measured.entries >= entries_max || cancel.load(Ordering::Relaxed) {
                measured.is_complete = false;
                return measured;
            }
            let Ok(meta) = entry.metadata() else { continue };
            if meta.dev() != device {
                continue;
            }
            measured.entries += 1;
            if meta.is_dir() || meta.nlink() == 1 || linked.insert(meta.ino()) {
                measured.bytes += meta.blocks() * 512;
            }
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    measured
}
