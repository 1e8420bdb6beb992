//! What only Linux offers. Another system gets a folder of its own with the same functions.

pub(crate) mod cgroup;
pub(crate) mod process;
pub(crate) mod signals;
pub(crate) mod spawn;

use rustix::io::Errno;
use std::io;
use std::os::fd::RawFd;

/// Makes this process the one to which every orphaned descendant comes back.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Closes every descriptor above standard error except these, whatever the parent let through.
pub(crate) fn close_all_except(keep: &[RawFd]) -> io::Result<()> {
    let open: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in open.into_iter().filter(|fd| *fd > 2 && !keep.contains(fd)) {
        // SAFETY: the caller runs before any other code owns a descriptor. The one through which
        // the folder was read is closed already, for which the call answers a harmless error.
        unsafe { libc::close(fd) };
    }
    Ok(())
}

/// Lets the next exec close every descriptor above standard error. Safe between fork and exec.
///
/// All of ours are marked for that anyway, so a system that does not know the call loses nothing.
pub(crate) fn close_all_on_exec() {
    // SAFETY: the call touches no memory and closes nothing yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Gives back the pages of code that the start needed and the wait does not. They are those of files,
/// never written, so what is needed again comes back from the page cache by itself.
///
/// Only mappings that can be executed are touched: a read-only one may hold what the loader has
/// relocated, which would be lost.
pub(crate) fn forget_code_of_the_start() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let code = maps.lines().filter(|line| line.contains(" r-xp ") && line.contains(" /"));
    for range in code.filter_map(|line| line.split(' ').next()?.split_once('-')) {
        let (Ok(start), Ok(end)) = (usize::from_str_radix(range.0, 16), usize::from_str_radix(range.1, 16))
        else {
            continue;
        };
        // SAFETY: the range is one whole mapping of a file, private, executable and not writable, so
        // each of its pages reads the same when it is mapped again.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

/// Waits until one of the descriptors is ready, at most `timeout_ms` (negative: without end).
/// A signal is no event of its own: it arrives through its descriptor.
pub(crate) fn poll(fds: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<()> {
    let count = libc::nfds_t::try_from(fds.len()).unwrap_or(libc::nfds_t::MAX);
    // SAFETY: the pointer and the length describe the slice, which lives through the call.
    let ready = unsafe { libc::poll(fds.as_mut_ptr(), count, timeout_ms) };
    if ready >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {
            fds.iter_mut().for_each(|fd| fd.revents = 0);
            Ok(())
        }
        e => Err(e),
    }
}
