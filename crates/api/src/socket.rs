//! Paths of sockets that are longer than the 107 bytes that the kernel takes.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The longest path that fits into `sockaddr_un` with its closing zero (unix(7)).
const SOCKET_PATH_MAX_BYTES: usize = 107;

/// Runs `work` with a path to `socket` that is short enough: a long one is reached through an open
/// descriptor of its directory, which the path names only while `work` runs.
pub(crate) fn with_short_path<T>(
    socket: &Path,
    work: impl FnOnce(&Path) -> std::io::Result<T>,
) -> std::io::Result<T> {
    if socket.as_os_str().len() <= SOCKET_PATH_MAX_BYTES {
        return work(socket);
    }
    let bad = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "the socket's path has no directory");
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else { return Err(bad()) };
    let dir = std::fs::File::open(dir)?;
    let short: PathBuf = ["/proc/self/fd", &dir.as_raw_fd().to_string()].iter().collect();
    work(&short.join(name))
}
