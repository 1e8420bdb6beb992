//! An event for "something was made in this directory", by inotify(7), sockets behind long paths, and
//! what keeps the process small.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::inotify;
use tokio::io::unix::AsyncFd;

/// Has the memory of large messages go back to the system as soon as they are done with: glibc's
/// allocator keeps it once it has seen one such block freed, unless it is told a size (mallopt(3)).
pub(super) fn give_large_blocks_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) only sets a number, and nothing else runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    }
}

/// A block of so many bytes has pages of its own.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK_BYTES: libc::c_int = 128 * 1024;

/// Watches a directory for files that are made in it or moved into it.
pub(super) struct DirectoryWatch {
    events: AsyncFd<OwnedFd>,
}

impl DirectoryWatch {
    /// Begins to watch. None when the directory is not there or the kernel has no watch to spare: then
    /// one has to look again after a while.
    pub(super) fn begin(dir: &Path) -> Option<Self> {
        let fd = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
        let made = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::ONLYDIR;
        inotify::add_watch(&fd, dir, made).ok()?;
        // SAFETY: the descriptor is owned by what is registered, and by nobody else, until that is dropped.
        let events = unsafe { AsyncFd::register(fd) }.ok()?;
        Some(Self { events })
    }

    /// Waits until something was made in it since the last time.
    pub(super) async fn changed(&self) -> std::io::Result<()> {
        let mut ready = self.events.readable().await?;
        let mut events = [MaybeUninit::uninit(); 4096];
        // What it is does not matter: who asked looks for itself.
        while rustix::io::read(ready.get_inner(), &mut events[..]).is_ok_and(|(read, _)| !read.is_empty()) {}
        ready.clear_ready();
        Ok(())
    }
}

/// Connects to a socket. A path of more than the 107 bytes that unix(7) allows is reached through an
/// open descriptor of its directory.
pub(super) fn connect_by_path(socket: &Path) -> std::io::Result<UnixStream> {
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return UnixStream::connect(socket);
    };
    if socket.as_os_str().len() <= SOCKET_PATH_MAX_BYTES {
        return UnixStream::connect(socket);
    }
    let dir = std::fs::File::open(dir)?;
    UnixStream::connect(Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name))
}

/// The longest path that fits into `sockaddr_un` with its closing zero (unix(7)).
const SOCKET_PATH_MAX_BYTES: usize = 107;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_new_file_is_an_event() {
        let dir = tempfile::tempdir().expect("a directory");
        let watch = DirectoryWatch::begin(dir.path()).expect("a watch");
        std::fs::write(dir.path().join("x"), "").expect("a file");
        tokio::time::timeout(std::time::Duration::from_secs(10), watch.changed())
            .await
            .expect("in time")
            .expect("an event");
        assert!(DirectoryWatch::begin(&dir.path().join("nowhere")).is_none());
    }
}
