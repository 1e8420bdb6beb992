//! Words about signals and other processes. All that fork do so before any thread exists.

use crate::hang;
use crate::output::print;
use std::time::Duration;

/// Makes a child process that gets ready and then does `work` for ever; returns its pid when it is
/// ready, so that what the next word does cannot overtake it.
fn in_child(get_ready: impl FnOnce(), work: impl FnOnce()) -> libc::pid_t {
    let mut ends = [0; 2];
    // SAFETY: the array has room for both ends. This program has one thread, so the child may do
    // anything.
    match unsafe { (libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), libc::fork()).1 } {
        0 => {
            get_ready();
            // SAFETY: one byte is there to be written.
            unsafe { libc::write(ends[1], b"r".as_ptr().cast(), 1) };
            close(&ends);
            work();
            hang()
        }
        pid => {
            close(&ends[1..]);
            let mut byte = 0u8;
            // SAFETY: room for one byte.
            unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) };
            close(&ends[..1]);
            pid
        }
    }
}

fn close(descriptors: &[libc::c_int]) {
    for fd in descriptors {
        // SAFETY: nothing else in this program owns them.
        unsafe { libc::close(*fd) };
    }
}

fn close_output() {
    close(&[0, 1, 2]);
}

fn new_session() {
    // SAFETY: a plain system call.
    unsafe { libc::setsid() };
}

fn rename(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        // SAFETY: the name ends with a zero byte and is copied.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }
}

pub(crate) fn ignore(signal: libc::c_int) {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

fn ignore_politeness() {
    ignore(libc::SIGHUP);
    ignore(libc::SIGTERM);
}

pub(crate) fn kill_self(signal: usize) {
    // SAFETY: a plain system call.
    unsafe { libc::raise(i32::try_from(signal).unwrap_or(libc::SIGKILL)) };
}

pub(crate) fn segfault() {
    // SAFETY: none; writing there is the point.
    unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
}

/// A daemon in a session of its own that has closed everything.
pub(crate) fn leave_daemon(name: Option<&str>) {
    let get_ready = || {
        new_session();
        close_output();
        if let Some(name) = name {
            rename(name);
        }
    };
    in_child(get_ready, || ());
}

/// The classic daemon: a child makes a session and dies, the grandchild goes on.
pub(crate) fn leave_double_forked() {
    let get_ready = || {
        new_session();
        in_child(close_output, || ());
    };
    let pid = in_child(get_ready, || std::process::exit(0));
    // SAFETY: waits for the child that was just made.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

pub(crate) fn leave_sleeper() {
    in_child(close_output, || ());
}

/// A child in our own session under another name.
pub(crate) fn leave_named_child(name: &str) {
    let get_ready = || {
        close_output();
        rename(name);
    };
    in_child(get_ready, || ());
}

/// A child that keeps standard output open and is deaf to a hang-up.
pub(crate) fn leave_output_holder() {
    in_child(|| ignore(libc::SIGHUP), || ());
}

/// A helper that burns CPU as soon as its standard input is at its end, deaf to everything polite.
pub(crate) fn leave_spinner() {
    in_child(ignore_politeness, spin_on_eof);
}

/// A process that hands over to a child of its own and exits, again and again, deaf to everything
/// polite: whoever looks at it sees a pid that is gone a moment later.
pub(crate) fn leave_hopper() {
    let get_ready = || {
        ignore_politeness();
        new_session();
        close_output();
    };
    in_child(get_ready, || {
        loop {
            // SAFETY: this program has one thread, so parent and child may do anything.
            if unsafe { libc::fork() } > 0 {
                // SAFETY: ends this process at once.
                unsafe { libc::_exit(0) };
            }
        }
    });
}

/// A child that is stopped; returns when it is.
pub(crate) fn leave_stopped_child() {
    let pid = in_child(close_output, || {
        kill_self(usize::try_from(libc::SIGSTOP).unwrap_or(19));
    });
    // SAFETY: waits for the child that was just made.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WUNTRACED) };
}

/// A worker in a session of its own that makes a file some time later.
pub(crate) fn leave_late_writer(file: &str, after_ms: u64) {
    let get_ready = || {
        new_session();
        ignore(libc::SIGHUP);
    };
    in_child(get_ready, || {
        std::thread::sleep(Duration::from_millis(after_ms));
        drop(std::fs::File::create(file));
    });
}

/// Many children, all deaf to everything polite.
pub(crate) fn fork_storm(count: usize) {
    for _ in 0..count {
        let get_ready = || {
            ignore_politeness();
            close_output();
        };
        in_child(get_ready, || ());
    }
}

/// Reads its input; at the end of it spins instead of ending.
pub(crate) fn spin_on_eof() {
    let mut buf = [0u8; 256];
    loop {
        // SAFETY: the buffer has the given length.
        unsafe { libc::read(0, buf.as_mut_ptr().cast(), buf.len()) };
    }
}

/// Prints the lines of blocked and ignored signals that it inherited.
pub(crate) fn print_signals() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|l| l.starts_with("SigBlk") || l.starts_with("SigIgn")) {
        print(line);
    }
}

/// Prints its process, group and session.
pub(crate) fn print_ids() {
    // SAFETY: plain system calls about ourselves.
    let (pid, group, session) = unsafe { (libc::getpid(), libc::getpgrp(), libc::getsid(0)) };
    print(&format!("pid {pid} group {group} session {session}"));
}

/// Prints its open descriptors, one a line, but for the one that the listing itself needs.
pub(crate) fn print_descriptors() {
    let Ok(listing) = std::fs::read_dir("/proc/self/fd") else {
        return print("no /proc");
    };
    let mut seen = Vec::new();
    for entry in listing.flatten() {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        if !target.ends_with("fd") {
            seen.push(format!("{} {}", entry.file_name().to_string_lossy(), target.display()));
        }
    }
    seen.sort();
    seen.iter().for_each(|line| print(&format!("fd {line}")));
}
