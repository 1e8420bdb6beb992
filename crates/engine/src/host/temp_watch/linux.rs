//! What Linux tells of entries that go from a directory: inotify(7).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

/// Room for what is told at once, in bytes. What does not fit comes with the next reading.
const BUFFER_BYTES: usize = 16 * 1024;

/// Something that is not in its place any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gone {
    /// This entry, with all that is below it.
    Entry(PathBuf),
    /// This directory, with all its entries.
    Directory(PathBuf),
    /// The system lost count: it may be anything.
    Anything,
}

impl Gone {
    pub(super) fn concerns(&self, path: &Path) -> bool {
        match self {
            Gone::Entry(gone) | Gone::Directory(gone) => path.starts_with(gone),
            Gone::Anything => true,
        }
    }
}

/// Tells what goes from the directories that it was given.
pub(super) struct Notifier {
    inotify: OwnedFd,
    /// The directories by the numbers that the system gave them.
    watched: Mutex<HashMap<i32, PathBuf>>,
    /// Nobody waits any more once its other end is closed.
    stopped: OwnedFd,
    stop: Mutex<Option<OwnedFd>>,
}

impl Notifier {
    pub(super) fn new() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let (stopped, stop) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { inotify, watched: Mutex::default(), stopped, stop: Mutex::new(Some(stop)) })
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<i32, PathBuf>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what goes from this directory from now on; the same once more changes nothing.
    pub(super) fn watch(&self, dir: &Path) -> io::Result<()> {
        let wanted = WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let mut watched = self.watched();
        let number = inotify::add_watch(&self.inotify, dir, wanted)?;
        watched.insert(number, dir.to_path_buf());
        Ok(())
    }

    /// Ends the waiting for ever.
    pub(super) fn stop(&self) {
        drop(self.stop.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits until something goes; none when it was stopped.
    pub(super) fn wait(&self) -> Option<Vec<Gone>> {
        loop {
            let mut polled =
                [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&self.stopped, PollFlags::empty())];
            match rustix::event::poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
            if !polled[1].revents().is_empty() {
                return None;
            }
            let gone = self.read();
            if !gone.is_empty() {
                return Some(gone);
            }
        }
    }

    fn read(&self) -> Vec<Gone> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut gone = Vec::new();
        while let Ok(event) = reader.next() {
            let mut watched = self.watched();
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                gone.push(Gone::Anything);
                continue;
            }
            let Some(dir) = watched.get(&event.wd()).cloned() else { continue };
            if event.events().contains(ReadFlags::IGNORED) {
                // The number will be another directory's.
                watched.remove(&event.wd());
            } else if let Some(name) = event.file_name() {
                gone.push(Gone::Entry(dir.join(OsStr::from_bytes(name.to_bytes()))));
            } else {
                gone.push(Gone::Directory(dir));
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_is_told_and_a_stop_ends_the_waiting() {
        let place = tempfile::tempdir().expect("a directory");
        let (dir, other) = (place.path().join("d"), place.path().join("o"));
        for one in [&dir, &other] {
            std::fs::create_dir(one).expect("a directory");
        }
        let notifier = Notifier::new().expect("a notifier");
        assert!(notifier.watch(&place.path().join("none")).is_err());
        notifier.watch(&dir).expect("it is there");
        notifier.watch(&dir).expect("once more");
        for name in ["removed", "moved"] {
            std::fs::create_dir(dir.join(name)).expect("a directory");
        }
        std::fs::remove_dir(dir.join("removed")).expect("ours");
        std::fs::rename(dir.join("moved"), other.join("moved")).expect("ours");
        std::fs::remove_dir(&dir).expect("ours");
        let mut gone = Vec::new();
        while !gone.contains(&Gone::Directory(dir.clone())) {
            gone.extend(notifier.wait().expect("it goes on"));
        }
        let told = |name: &str| gone.contains(&Gone::Entry(dir.join(name)));
        assert!(told("removed") && told("moved"), "{gone:?}");
        assert!(
            gone.iter()
                .all(|one| one.concerns(&dir.join("removed")) || *one == Gone::Entry(dir.join("moved")))
        );
        std::fs::create_dir(&dir).expect("a directory");
        notifier.watch(&dir).expect("the new one");
        std::fs::rename(&dir, other.join("d")).expect("ours");
        assert_eq!(notifier.wait(), Some(vec![Gone::Directory(dir)]));
        notifier.stop();
        assert_eq!(notifier.wait(), None);
    }
}
