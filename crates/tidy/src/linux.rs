//! What only Linux can tell: the table of processes in /proc, and which file systems live in memory.
//!
//! Every function here reads what may vanish at any moment; a process that ended meanwhile is simply not there.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};

/// File systems that keep their files in memory: tmpfs, ramfs, hugetlbfs (values of `f_type`).
const IN_MEMORY_TYPES: [u32; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

/// Whether the files of this directory are kept in memory: a file system that lives there, or one on a RAM disk.
pub(crate) fn lies_in_memory(dir: impl AsFd) -> io::Result<bool> {
    let file_system = rustix::fs::fstatfs(&dir)?;
    // The type of this number differs between architectures, and only its low 32 bits mean anything.
    if IN_MEMORY_TYPES.contains(&(file_system.f_type as u32)) {
        return Ok(true);
    }
    let device = rustix::fs::fstat(&dir)?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A device without an entry (a network file system, for example) is no RAM disk.
    let Ok(block) = fs::read_link(format!("/sys/dev/block/{major}:{minor}")) else { return Ok(false) };
    let name = block.file_name().map(OsStr::as_bytes).unwrap_or_default();
    Ok(name.starts_with(b"ram") || name.starts_with(b"zram"))
}

/// Where an open file is now, without any link in the path.
pub(crate) fn path_of(file: impl AsFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// Lets the owner read, write and enter the directory `<parent>/<name>`, also one that cannot be opened for
/// reading. A link of that name is not followed. It goes over /proc, since no call changes the mode of what is
/// opened for its path alone.
pub(crate) fn let_owner_in(parent: impl AsFd, name: &CStr) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&dir)?.st_mode) | Mode::RWXU;
    rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_raw_fd()), mode)
}

/// Which directory an open one is, and on which mount. Bind mounts of one file system differ in the last field
/// alone, which is 0 on systems that cannot tell (before Linux 5.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
    pub(crate) mount: u64,
}

/// The identity of an open directory, and the bytes that it takes up on the disk.
pub(crate) fn identify(dir: impl AsFd) -> rustix::io::Result<(Identity, u64)> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = rustix::fs::statx(dir, c"", AtFlags::EMPTY_PATH, mask)?;
    let knows_mount = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID);
    let identity = Identity {
        device: (stat.stx_dev_major, stat.stx_dev_minor),
        inode: stat.stx_ino,
        mount: if knows_mount { stat.stx_mnt_id } else { 0 },
    };
    Ok((identity, stat.stx_blocks * 512))
}

/// What `/proc/<pid>/stat` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The short name of the program.
    pub(crate) name: String,
    /// Its parent.
    pub(crate) parent: u32,
    /// When it started, in clock ticks since boot. Together with the pid it names one process for ever.
    pub(crate) start_time: u64,
}

/// All processes that there are.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// One process, or nothing when it is gone.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let open = bytes.iter().position(|byte| *byte == b'(')?;
    let close = bytes.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(bytes.get(open + 1..close)?).into_owned();
    let fields = fields_after_name(bytes)?;
    // The parent is field 4 of the whole line, the start time field 22.
    Some(Stat { name, parent: fields.get(1)?.parse().ok()?, start_time: fields.get(19)?.parse().ok()? })
}

/// The fields from the third one on, which is the state. The second one is the name of the program, which may
/// hold spaces, parentheses and any byte, so the rest begins after the last `)`.
fn fields_after_name(stat: &[u8]) -> Option<Vec<&str>> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace().collect())
}

/// How often the environment of a process is asked for that may just be becoming another program, and the pause
/// in between.
const EXEC_TRIES: u32 = 20;
const EXEC_PAUSE: Duration = Duration::from_millis(1);

/// The environment that a process was started with, as `NAME=value` entries. Empty when we may not read it.
///
/// In the middle of `exec` a process of a run looks like any other: its environment is empty, or cannot be read
/// even by its owner. So an answer like that counts only when the program is in place and was the same before.
pub(crate) fn environment(pid: u32) -> Vec<Vec<u8>> {
    let mut program_before = Program::Loading;
    for _ in 0..EXEC_TRIES {
        match read_at_once(&format!("/proc/{pid}/environ")) {
            Ok(bytes) if !bytes.is_empty() => {
                return bytes
                    .split(|byte| *byte == 0)
                    .filter(|part| !part.is_empty())
                    .map(<[u8]>::to_vec)
                    .collect();
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_of_our_user(pid) => {}
            Err(_) => break,
        }
        let program = program_of(pid);
        if program == Program::None || (program == program_before && program != Program::Loading) {
            break;
        }
        program_before = program;
        std::thread::sleep(EXEC_PAUSE);
    }
    Vec::new()
}

/// Which program a process has in its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// It has no memory: a thread of the kernel, or it has ended.
    None,
    /// The memory is there and the program is not in it yet.
    Loading,
    /// The program begins at this address.
    At(u64),
}

fn program_of(pid: u32) -> Program {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = fields_after_name(&stat).unwrap_or_default();
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // Field 23 is the size of its memory, field 26 where its program begins (1 for those who may not know).
    match (number(23), number(26)) {
        (0, _) => Program::None,
        (_, 0 | 1) => Program::Loading,
        (_, start) => Program::At(start),
    }
}

fn is_of_our_user(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut uids =
        status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default().split_whitespace();
    uids.next() == Some(rustix::process::getuid().as_raw().to_string().as_str())
}

/// Reads a file in one call with room for all of it. The environment of a process that becomes another program
/// between two calls would end where the first one did.
fn read_at_once(path: &str) -> io::Result<Vec<u8>> {
    let mut room = 64 * 1024;
    loop {
        let mut bytes = vec![0; room];
        let length = fs::File::open(path)?.read(&mut bytes)?;
        if length < room {
            bytes.truncate(length);
            return Ok(bytes);
        }
        room *= 2;
    }
}

/// The value of one variable in such an environment. As `getenv` does, the first entry counts.
pub(crate) fn variable<'a>(environment: &'a [Vec<u8>], name: &str) -> Option<&'a OsStr> {
    environment.iter().find_map(|entry| {
        let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsStr::from_bytes(value))
    })
}

/// The working directory of a process.
pub(crate) fn working_directory(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// What a process has open: its descriptors, its program, its root and everything that it has mapped. Sockets
/// that are bound to a path are given with that path, for which `sockets` is [`bound_sockets`].
pub(crate) fn open_files(pid: u32, sockets: &[(OsString, PathBuf)]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) {
        for target in entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()) {
            let socket = sockets.iter().find(|(link, _)| link == target.as_os_str());
            found.push(socket.map_or(target, |(_, path)| path.clone()));
        }
    }
    for link in ["exe", "root"] {
        found.extend(fs::read_link(format!("/proc/{pid}/{link}")));
    }
    if let Ok(maps) = fs::read(format!("/proc/{pid}/maps")) {
        found.extend(mapped_files(&maps));
    }
    found
}

/// The files in `/proc/<pid>/maps`. A path is the sixth field and may hold spaces; newlines in it are escaped.
fn mapped_files(maps: &[u8]) -> HashSet<PathBuf> {
    let path_of = |line: &[u8]| {
        let start = line.iter().position(|byte| *byte == b'/')?;
        Some(PathBuf::from(OsString::from_vec(line.get(start..)?.to_vec())))
    };
    maps.split(|byte| *byte == b'\n').filter_map(path_of).collect()
}

/// The sockets that are bound to a path at or under `root`: the link that a descriptor of one shows, and the path.
pub(crate) fn bound_sockets(root: &Path) -> Vec<(OsString, PathBuf)> {
    let Ok(table) = fs::read("/proc/net/unix") else { return Vec::new() };
    let socket_of = |line: &[u8]| {
        let start = line.iter().position(|byte| *byte == b'/')?;
        let path = PathBuf::from(OsString::from_vec(line.get(start..)?.to_vec()));
        let inode = std::str::from_utf8(line.get(..start)?).ok()?.split_ascii_whitespace().nth(6)?;
        path.starts_with(root).then(|| (OsString::from(format!("socket:[{inode}]")), path))
    };
    table.split(|byte| *byte == b'\n').filter_map(socket_of).collect()
}

/// Ourselves and everything above us, up to the first process.
pub(crate) fn ourselves_and_ancestors() -> HashSet<u32> {
    let mut found = HashSet::new();
    let mut pid = std::process::id();
    // A pid that is met again ends the walk, so that a table that changes meanwhile cannot keep us here.
    while pid > 0 && found.insert(pid) {
        pid = stat(pid).map_or(0, |stat| stat.parent);
    }
    found
}

/// Has a program begin without blocked signals, whatever this thread has blocked: the standard library hands the
/// mask on.
pub(crate) fn unblock_signals(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let unblock = || {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is filled before it is used, and both calls may be made between fork and exec.
        let code = unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
        };
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
    };
    if has_blocked_signals() {
        // SAFETY: the closure makes two system calls and allocates nothing.
        unsafe { command.pre_exec(unblock) };
    }
}

fn has_blocked_signals() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or_default();
    mask.trim().bytes().any(|digit| digit != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_parentheses_and_spaces_is_read_whole() {
        let line = b"42 (a) R 1 (b \xff) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2 3\n";
        let stat = parse_stat(line).expect("the line is well formed");
        assert_eq!((stat.parent, stat.start_time), (7, 9876));
        assert!(stat.name.starts_with("a) R 1 (b "), "{}", stat.name);
        assert_eq!(parse_stat(b"42 (cut"), None);
        assert_eq!(parse_stat(b"42 (cut) S 7 42"), None);
    }

    #[test]
    fn mapped_paths_may_hold_spaces() {
        let maps =
            b"7f0-7f1 r--p 00000000 08:01 12   /tmp/a b/lib.so\n7f1-7f2 rw-p 00000000 00:00 0 [heap]\n";
        assert_eq!(mapped_files(maps), HashSet::from([PathBuf::from("/tmp/a b/lib.so")]));
    }

    #[test]
    fn the_first_of_two_equal_names_counts_and_a_prefix_is_not_the_name() {
        let entries = [b"AB=1".to_vec(), b"A=2".to_vec(), b"A=3".to_vec(), b"C".to_vec()];
        assert_eq!(variable(&entries, "A"), Some(OsStr::new("2")));
        assert_eq!(variable(&entries, "C"), None);
    }

    #[test]
    fn our_own_ancestors_are_found_up_to_the_first_process() {
        let found = ourselves_and_ancestors();
        assert!(found.contains(&std::process::id()));
        assert!(found.contains(&std::os::unix::process::parent_id()));
    }
}
