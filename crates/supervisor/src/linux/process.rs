//! Reading `/proc` and signalling processes that were proved to be the ones that were meant.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::fs;
use std::io::Read;

/// One process, as `/proc/<pid>/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// The state letter: R, S, D, T, Z, ...
    pub(crate) state: u8,
    /// Clock ticks since boot. Together with the pid it names one process of this boot.
    pub(crate) start_time: u64,
}

impl Process {
    /// A dead process only waits for its parent; it does nothing and cannot be signalled.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// A stopped process sees no signal but KILL until it is continued.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// The id of this boot; empty if the system does not say.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The process with this pid, if there is one.
pub(crate) fn read(pid: u32) -> Option<Process> {
    // Enough for the fields up to the start time: a name has at most 64 bytes even escaped.
    let mut buf = [0u8; 1024];
    let mut file = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
    let n = file.read(&mut buf).ok()?;
    parse(pid, &buf[..n])
}

fn parse(pid: u32, stat: &[u8]) -> Option<Process> {
    // The name stands in parentheses and may contain any byte, parentheses too.
    let behind_name = stat.iter().rposition(|b| *b == b')')? + 1;
    let rest = std::str::from_utf8(&stat[behind_name..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, session, state, start_time })
}

/// All descendants of `ancestor`, each after its parent. Dead ones are among them, because a dead
/// parent may have living children.
pub(crate) fn descendants(ancestor: u32) -> Vec<Process> {
    let Ok(dir) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = dir.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut all: Vec<Process> = pids.filter_map(read).collect();
    all.sort_unstable_by_key(|p| p.parent);
    let children_of = |parent: u32| {
        let first = all.partition_point(|p| p.parent < parent);
        all[first..].iter().take_while(move |p| p.parent == parent)
    };
    let mut tree: Vec<Process> = children_of(ancestor).copied().collect();
    let mut next = 0;
    // A snapshot of a changing table could in theory hold a ring; nobody is listed twice.
    while next < tree.len() && tree.len() <= all.len() {
        let parent = tree[next].pid;
        tree.extend(children_of(parent).copied());
        next += 1;
    }
    tree
}

/// Reads the pids of this thread's direct children into `pids`. As long as they are not waited for,
/// these pids cannot come to mean other processes.
pub(crate) fn direct_children(pids: &mut Vec<u32>) {
    pids.clear();
    if let Ok(text) = fs::read_to_string("/proc/thread-self/children") {
        pids.extend(text.split_ascii_whitespace().filter_map(|p| p.parse::<u32>().ok()));
    }
}

/// The short name of a process, as `ps` shows it; empty if it is gone.
pub(crate) fn name(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// The arguments of a process, at most the first 16 KiB of them.
pub(crate) fn arguments(pid: u32) -> Vec<String> {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(format!("/proc/{pid}/cmdline")) {
        // What could be read before an error is still true.
        let _ = file.take(16 << 10).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// The number of the user whom a process belongs to.
pub(crate) fn owner(pid: u32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(format!("/proc/{pid}")).ok().map(|m| m.uid())
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It was delivered to exactly the process that was meant.
    Delivered,
    /// That process is gone.
    Gone,
    /// The system does not let us; it belongs to somebody else by now.
    Refused,
}

/// Sends a signal to the process that was seen as `target`, and to no other: the process descriptor
/// is opened first and the identity proved after, so a pid that was given to another process in the
/// meantime is noticed. Never signals process 1, ourselves or a group.
pub(crate) fn send(target: &Process, signal: Signal) -> Sent {
    if target.pid <= 1 || target.pid == std::process::id() {
        return Sent::Refused;
    }
    let Some(pid) = i32::try_from(target.pid).ok().and_then(Pid::from_raw) else {
        return Sent::Gone;
    };
    let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty());
    let is_the_same = read(target.pid).is_some_and(|p| p.start_time == target.start_time);
    if !is_the_same {
        return Sent::Gone;
    }
    let sent = match descriptor {
        Ok(fd) => rustix::process::pidfd_send_signal(&fd, signal),
        // Sandboxes that do not know process descriptors yet. The proof is then a moment old.
        Err(Errno::NOSYS | Errno::PERM) => rustix::process::kill_process(pid, signal),
        Err(e) => Err(e),
    };
    match sent {
        Ok(()) => Sent::Delivered,
        Err(Errno::SRCH) => Sent::Gone,
        Err(_) => Sent::Refused,
    }
}

/// Kills a direct child that was not waited for yet, so that its pid is still its own.
pub(crate) fn kill_direct_child(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw)
        && pid.as_raw_nonzero().get() > 1
    {
        // It may have died by itself, or belong to another user; the next look at the tree tells.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = b"42 (a) b (c) S 7 42 43 34816 42 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let expected = Process { pid: 42, parent: 7, session: 43, state: b'S', start_time: 987_654 };
        assert_eq!(parse(42, stat), Some(expected));
        assert_eq!(parse(42, b"42 (a"), None);
        assert_eq!(parse(42, b"42 (a) S"), None);
    }

    #[test]
    fn process_one_and_we_ourselves_are_refused_whatever_the_caller_believes() {
        for pid in [0, 1, std::process::id()] {
            let mut target = read(std::process::id()).expect("own stat");
            target.pid = pid;
            assert_eq!(send(&target, Signal::CONT), Sent::Refused);
        }
    }

    #[test]
    fn a_reused_pid_is_not_signalled() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let mut target = read(child.id()).expect("stat");
        target.start_time += 1;
        assert_eq!(send(&target, Signal::KILL), Sent::Gone);
        assert_eq!(child.try_wait().expect("wait"), None);
        target.start_time -= 1;
        assert_eq!(send(&target, Signal::KILL), Sent::Delivered);
        child.wait().expect("wait");
        assert_eq!(send(&target, Signal::KILL), Sent::Gone);
    }

    #[test]
    fn grandchildren_are_found_behind_their_parents() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sh");
        let mut line = String::new();
        let out = child.stdout.take().expect("stdout");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("pid");
        let grandchild: u32 = line.trim().parse().expect("pid");
        let tree = descendants(std::process::id());
        let place = |pid| tree.iter().position(|p| p.pid == pid);
        assert!(place(child.id()).expect("child") < place(grandchild).expect("grandchild"));
        for p in tree.iter().rev() {
            send(p, Signal::KILL);
        }
        child.wait().expect("wait");
    }
}
