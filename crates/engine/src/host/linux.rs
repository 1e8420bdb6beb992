//! What Linux tells of programs and their terminals: proc(5), and a terminal's queue of input; and how a
//! thread stands back behind others.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};
use rustix::termios::LocalModes;

/// What `/proc/<pid>/stat` tells of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// It has ended and waits for its parent.
    pub(crate) is_zombie: bool,
    /// The process that it is a child of.
    pub(crate) parent: u32,
    /// When it began, in clock ticks since the boot.
    pub(crate) start_time: u64,
    /// Its process group.
    pub(crate) group: i32,
    /// The device of its controlling terminal; 0 when it has none.
    terminal: u64,
    /// The process group in the foreground of that terminal; -1 when there is none.
    pub(crate) foreground: i32,
}

pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name in the second field may hold anything, so the fields are counted from its end.
    let rest: Vec<&str> = text.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    Some(Stat {
        is_zombie: matches!(*rest.first()?, "Z" | "X"),
        parent: rest.get(1)?.parse().ok()?,
        start_time: rest.get(19)?.parse().ok()?,
        group: rest.get(2)?.parse().ok()?,
        terminal: u64::from(rest.get(4)?.parse::<i32>().ok()? as u32),
        foreground: rest.get(5)?.parse().ok()?,
    })
}

/// Children of a process that live, of all its threads.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut all = Vec::new();
    for thread in threads.flatten() {
        let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    all.retain(|pid| stat(*pid).is_some_and(|stat| !stat.is_zombie));
    all
}

/// The name of a process, as `ps` shows it.
pub(crate) fn name(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

/// Waits until one of these processes has ended; at most `patience`.
pub(crate) fn wait_for_an_end(pids: &[u32], patience: Duration) {
    let open = |pid: &u32| {
        let pid = Pid::from_raw(i32::try_from(*pid).ok()?)?;
        rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
    };
    let handles: Vec<OwnedFd> = pids.iter().filter_map(open).collect();
    if handles.len() < pids.len() {
        // One of them has ended already.
        return;
    }
    let mut polled: Vec<PollFd<'_>> = handles.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let timeout = Timespec::try_from(patience).ok();
    // Whatever it says, who asked looks again.
    let _ = rustix::event::poll(&mut polled, timeout.as_ref());
}

/// A variable of the environment that a process was started with.
pub(crate) fn variable(pid: u32, name: &str) -> Option<OsString> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut all = environment.split(|byte| *byte == 0);
    let value = all.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(OsString::from_vec(value.to_vec()))
}

/// How long a process has been there that began at this time, in clock ticks since the boot.
pub(crate) fn age_ms(start_time: u64) -> Option<i64> {
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime_ms = (uptime.split(' ').next()?.parse::<f64>().ok()? * 1_000.0) as i64;
    // SAFETY: sysconf(3) touches no memory of ours.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let began_ms = start_time.checked_mul(1_000)?.checked_div(u64::try_from(ticks_per_second).ok()?)?;
    Some((uptime_ms - i64::try_from(began_ms).ok()?).max(0))
}

/// Lets this thread, and what it starts, read and write only when nobody else does, and compute after the
/// others. Where the system does not let us, it stays as it was.
pub(crate) fn stand_back() {
    /// From the kernel's uapi header linux/ioprio.h: the class that gets what is left, and for whom it is said.
    const IDLE: libc::c_int = 3 << 13;
    const WHO_PROCESS: libc::c_int = 1;
    // SAFETY: ioprio_set(2) reads its three numbers and touches no memory; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, IDLE) };
    let _ = rustix::process::nice(10);
}

/// The program's side of its terminal, opened for a look.
pub(crate) struct Input(File);

impl Input {
    /// Opens the controlling terminal of a process. It is reached through a descriptor of the process,
    /// because the name under /dev may be another file system's; it becomes nobody's controlling
    /// terminal by this.
    pub(crate) fn of(pid: u32) -> Option<Input> {
        let terminal = stat(pid)?.terminal;
        let descriptors = [0, 1, 2].map(|n| PathBuf::from(format!("/proc/{pid}/fd/{n}")));
        let path = descriptors.into_iter().find(|path| {
            terminal != 0 && std::fs::metadata(path).is_ok_and(|meta| device(meta.rdev()) == terminal)
        })?;
        let flags = rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).ok()?;
        Some(Input(OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?))
    }

    /// Bytes that the program has not read yet; what stands in a line without its end does not count
    /// while the terminal keeps the line.
    pub(crate) fn unread(&self) -> Option<u64> {
        // What was written a moment ago may be on its way through the kernel; poll waits for it.
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        rustix::event::poll(&mut polled, Some(&Timespec::default())).ok()?;
        rustix::io::ioctl_fionread(&self.0).ok()
    }

    /// Whether the terminal keeps each line until Enter, instead of giving the program every key.
    pub(crate) fn keeps_lines(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.0);
        modes.is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
    }
}

/// A device number in the form of `/proc/<pid>/stat`, which is the kernel's own.
fn device(rdev: u64) -> u64 {
    let (major, minor) = (u64::from(rustix::fs::major(rdev)), u64::from(rustix::fs::minor(rdev)));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_with_blanks_and_brackets_shifts_no_field() {
        let text = "7 (a ) b) S 5 7 7 34817 9 4194304 107 0 0 0 1 2 0 0 20 0 1 0 4711 0";
        let expected =
            Stat { is_zombie: false, parent: 5, start_time: 4711, group: 7, terminal: 34817, foreground: 9 };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("7 (x"), None);
        assert_eq!(device(rustix::fs::makedev(136, 1)), 34817);
        assert_eq!(device(rustix::fs::makedev(136, 300)), 0x0010_882c);
    }

    #[test]
    fn a_thread_that_stands_back_waits_for_the_disk_and_no_other_does() {
        // SAFETY: ioprio_get(2) takes two numbers and touches no memory; 0 is the calling thread.
        let class = || unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) } >> 13;
        let nice = || rustix::process::getpriority_process(None).expect("a priority");
        let before = (class(), nice());
        let behind = std::thread::spawn(move || {
            stand_back();
            (class(), nice())
        });
        assert_eq!(behind.join().expect("the thread"), (3, (before.1 + 10).min(19)));
        assert_eq!((class(), nice()), before);
    }

    #[test]
    fn what_a_process_was_started_with_is_read() {
        let mut cat = Command::new("cat");
        let mut child = cat.env_clear().env("A", "1=2").stdin(Stdio::piped()).spawn().expect("cat");
        let until = std::time::Instant::now() + Duration::from_secs(20);
        // Until its exec the environment is ours.
        while variable(child.id(), "PATH").is_some() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(variable(child.id(), "A"), Some("1=2".into()));
        assert_eq!(variable(child.id(), "B"), None);
        let began = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("its stat");
        let began: u64 = began.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
        assert!(age_ms(began).expect("an age") < 60_000);
        drop(child.stdin.take());
        child.wait().expect("its end");
    }

    #[test]
    fn a_child_is_seen_until_it_has_ended() {
        let us = std::process::id();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
        assert!(children(us).contains(&child.id()));
        drop(child.stdin.take());
        wait_for_an_end(&[child.id()], Duration::from_secs(20));
        assert!(!children(us).contains(&child.id()), "one that waits for its parent does not live");
        child.wait().expect("its end");
        wait_for_an_end(&[child.id()], Duration::from_secs(20));
    }
}
