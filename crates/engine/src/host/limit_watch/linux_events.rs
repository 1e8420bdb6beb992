//! What Linux tells of files that are written: inotify(7).

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Room for what is told at once, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;

/// How the end of a run is recorded in its directory.
const EXIT_RECORD: &str = "exit.json";

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Something was written.
    Written,
    /// The turn, or the whole run, is over.
    Over,
}

/// Tells of a run's directory and of files that were added.
pub(super) struct Watch {
    inotify: OwnedFd,
    dir: i32,
    busy: OsString,
}

impl Watch {
    /// `dir`: the run's directory. `busy`: the file in it that goes when the turn is over.
    pub(super) fn new(dir: &Path, busy: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC)?;
        let wanted = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let number = inotify::add_watch(&inotify, dir, wanted)?;
        Ok(Self { inotify, dir: number, busy: busy.file_name().unwrap_or_default().to_owned() })
    }

    /// Tells from now on when this file is written; the same once more changes nothing.
    pub(super) fn add(&self, file: &Path) -> io::Result<()> {
        inotify::add_watch(&self.inotify, file, WatchFlags::MODIFY)?;
        Ok(())
    }

    /// Waits until something happens.
    pub(super) fn wait(&self) -> io::Result<Told> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut told = Told::Written;
        loop {
            match reader.next() {
                Ok(event) => {
                    if self.is_end(event.wd(), event.events(), event.file_name().map(|name| name.to_bytes()))
                    {
                        told = Told::Over;
                    }
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if reader.is_buffer_empty() {
                return Ok(told);
            }
        }
    }

    fn is_end(&self, number: i32, events: ReadFlags, name: Option<&[u8]>) -> bool {
        if number != self.dir {
            return false;
        }
        let name = name.map(OsStr::from_bytes);
        let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
        events.intersects(gone)
            || (events.contains(ReadFlags::DELETE) && name == Some(&self.busy))
            || (events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO)
                && name == Some(OsStr::new(EXIT_RECORD)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_told_and_so_is_the_end_of_the_turn_and_of_the_run() {
        let place = tempfile::tempdir().expect("a directory");
        let (dir, record) = (place.path().join("run"), place.path().join("record"));
        std::fs::create_dir(&dir).expect("a directory");
        let busy = dir.join("busy");
        std::fs::write(&busy, "").and_then(|()| std::fs::write(&record, "")).expect("files");
        let watch = Watch::new(&dir, &busy).expect("a watch");
        watch.add(&record).and_then(|()| watch.add(&record)).expect("it is there");
        std::fs::write(&record, "1").expect("ours");
        assert_eq!(watch.wait().expect("it goes on"), Told::Written);
        std::fs::write(dir.join("log"), "1").expect("ours");
        assert_eq!(watch.wait().expect("it goes on"), Told::Written);
        std::fs::remove_file(&record).and_then(|()| std::fs::remove_file(&busy)).expect("ours");
        let until_over = |watch: &Watch| while watch.wait().expect("it goes on") != Told::Over {};
        until_over(&watch);
        let watch = Watch::new(&dir, &busy).expect("a watch");
        std::fs::write(dir.join("part"), "").expect("ours");
        std::fs::rename(dir.join("part"), dir.join(EXIT_RECORD)).expect("ours");
        until_over(&watch);
        let watch = Watch::new(&dir, &busy).expect("a watch");
        std::fs::remove_dir_all(&dir).expect("ours");
        until_over(&watch);
        assert!(Watch::new(&dir, &busy).is_err());
    }
}
