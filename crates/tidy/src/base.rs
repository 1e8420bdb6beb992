//! Where temp directories may live: the preflight of a temp base.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatVfsMountFlags};

use crate::linux;
use crate::temp::{NAME_LEN, NAMESPACE_LEN, PRIVATE_DIR, random_name};

/// Below this many free bytes a base is refused.
pub const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// Below this many free inodes a base is refused, where the file system counts inodes at all.
pub const FREE_INODES_MIN: u64 = 1024;
/// The longest name of a socket that agents put into their temp directory, in bytes.
pub const SOCKET_NAME_MAX: usize = 45;
/// The longest path of a socket that the system accepts, in bytes.
pub const SOCKET_PATH_MAX: usize = 107;
/// The longest path of a base, in bytes: base, `/namespace/name/` and a socket's name fit into a socket's path.
pub const BASE_LEN_MAX: usize = SOCKET_PATH_MAX - SOCKET_NAME_MAX - (NAMESPACE_LEN + NAME_LEN + 3);

/// How much the write probe writes, in bytes: more than one block, so that a full disk or quota shows.
const PROBE_BYTES: usize = 64 * 1024;

/// A base that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Its path, with the links in its parents resolved.
    pub path: PathBuf,
    /// What the user should know: which candidates were refused before it, and that it lies in memory.
    pub warnings: Vec<String>,
}

/// A candidate that did not pass. `Display` is a full sentence with the way out.
#[derive(Debug)]
pub struct Refusal {
    /// The candidate as it was given.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: RefusalReason,
}

/// What is wrong with a candidate.
#[derive(Debug)]
pub enum RefusalReason {
    /// The path does not begin at the root.
    NotAbsolute,
    /// It could not be created, or not be examined.
    Unusable(io::Error),
    /// It is a symbolic link, whose target somebody could change.
    Link,
    /// It is there and is no directory.
    NotADirectory,
    /// It belongs to another user.
    Foreign {
        /// The owner's user id.
        uid: u32,
    },
    /// Others may enter it, or we may not.
    OpenMode {
        /// Its permission bits.
        mode: u32,
    },
    /// A directory above it can be written by everybody and is not sticky, so anybody could swap the base.
    OpenParent {
        /// The directory above it.
        parent: PathBuf,
    },
    /// The write probe failed; the error names the cause (disk full, quota, read-only).
    NotWritable(io::Error),
    /// Its file system is mounted noexec.
    NoExec,
    /// Fewer free bytes than [`FREE_BYTES_MIN`].
    FewBytes {
        /// Free bytes for us.
        free: u64,
    },
    /// Fewer free inodes than [`FREE_INODES_MIN`].
    FewInodes {
        /// Free inodes for us.
        free: u64,
    },
    /// Longer than [`BASE_LEN_MAX`].
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "Temp directories cannot be put into {path}: ")?;
        match &self.why {
            RefusalReason::NotAbsolute => {
                write!(f, "the path is not absolute. Give a path that begins with /.")
            }
            RefusalReason::Unusable(error) => write!(
                f,
                "it cannot be created or opened ({error}). Create it with mode 0700, or choose another place with \
                 CARILLON_HOME."
            ),
            RefusalReason::Link => {
                write!(f, "it is a symbolic link. Remove the link, or make it a real directory.")
            }
            RefusalReason::NotADirectory => write!(f, "there is a file of this name. Move it away."),
            RefusalReason::Foreign { uid } => write!(
                f,
                "it belongs to the user with id {uid}, not to you. Have it removed, or choose another place with \
                 CARILLON_HOME."
            ),
            RefusalReason::OpenMode { mode } => {
                write!(f, "its mode is {mode:04o}, not 0700. If it is yours, run: chmod 0700 '{path}'.")
            }
            RefusalReason::OpenParent { parent } => write!(
                f,
                "everybody may rename what is in {}. Take the write bit for others away, or set its sticky bit.",
                parent.display()
            ),
            RefusalReason::NotWritable(error) => {
                write!(f, "a test file could not be written ({error}). Make room there, or make it writable.")
            }
            RefusalReason::NoExec => write!(
                f,
                "its file system is mounted noexec, so programs and native libraries in it would not start. Choose a \
                 place on another file system with CARILLON_HOME or XDG_CACHE_HOME."
            ),
            RefusalReason::FewBytes { free } => write!(
                f,
                "only {} MiB are free there, and {} MiB are needed. Make room there.",
                free / (1024 * 1024),
                FREE_BYTES_MIN / (1024 * 1024)
            ),
            RefusalReason::FewInodes { free } => write!(
                f,
                "only {free} more files fit there, and room for {FREE_INODES_MIN} is needed. Remove files there."
            ),
            RefusalReason::TooLong { bytes } => write!(
                f,
                "the path has {bytes} bytes, and with more than {BASE_LEN_MAX} the sockets of agents would not fit. \
                 Choose a shorter place with CARILLON_HOME."
            ),
        }
    }
}

/// The candidates in their order. With `home_override` (the value of CARILLON_HOME): its `t`; else
/// `carillon/t` in the user's cache directory. Then the per-user directories in /var/tmp and /tmp.
///
/// Reads XDG_CACHE_HOME and HOME. Values that are not absolute do not count, as the XDG specification says.
pub fn candidates(home_override: Option<&Path>) -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let uid = rustix::process::geteuid().as_raw();
    candidates_from(home_override, variable("XDG_CACHE_HOME"), variable("HOME"), uid)
}

fn candidates_from(
    home_override: Option<&Path>,
    cache: Option<PathBuf>,
    home: Option<PathBuf>,
    uid: u32,
) -> Vec<PathBuf> {
    let absolute = |path: Option<PathBuf>| path.filter(|path| path.is_absolute());
    let first = match home_override {
        Some(home) => Some(std::path::absolute(home).unwrap_or_else(|_| home.to_path_buf()).join("t")),
        None => absolute(cache)
            .or_else(|| absolute(home).map(|home| home.join(".cache")))
            .map(|cache| cache.join("carillon").join("t")),
    };
    let shared = ["/var/tmp", "/tmp"].map(|tmp| PathBuf::from(tmp).join(format!("carillon-{uid}")));
    first.into_iter().chain(shared).collect()
}

/// Takes the first candidate that passes the preflight. One in memory (tmpfs, a RAM disk) is taken only when no
/// candidate on a disk passes. What was created for a candidate that is not taken is removed again.
///
/// # Errors
/// No candidate passed: one refusal for each, in their order (none, if there was no candidate).
pub fn choose(candidates: &[PathBuf]) -> Result<Base, Vec<Refusal>> {
    let mut refusals = Vec::new();
    let mut in_memory: Option<(usize, Passed)> = None;
    for candidate in candidates {
        match examine(candidate) {
            Ok(passed) if passed.in_memory => {
                if in_memory.is_none() {
                    in_memory = Some((refusals.len(), passed));
                } else {
                    passed.made.undo();
                }
            }
            Ok(passed) => {
                let mut warnings: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
                if let Some((place, unused)) = in_memory {
                    warnings.insert(place, in_memory_text(&unused.path, "was passed over"));
                    unused.made.undo();
                }
                return Ok(Base { path: passed.path, warnings });
            }
            Err(why) => refusals.push(Refusal { path: candidate.clone(), why }),
        }
    }
    let Some((_, passed)) = in_memory else { return Err(refusals) };
    let mut warnings: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    warnings.push(in_memory_text(&passed.path, "is used, since no candidate on a disk passed"));
    Ok(Base { path: passed.path, warnings })
}

/// Whether what lies in this directory lies in memory. False when it cannot be told.
pub fn is_in_memory(dir: &Path) -> bool {
    std::fs::File::open(dir).is_ok_and(|dir| linux::lies_in_memory(&dir).unwrap_or(false))
}

fn in_memory_text(path: &Path, what: &str) -> String {
    format!("{} lies in memory, where temp files of agents eat RAM; it {what}.", path.display())
}

struct Passed {
    path: PathBuf,
    in_memory: bool,
    made: Made,
}

/// The directories that we created for a candidate, outermost first.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    /// Removes them again as far as they are empty, so that looking at a candidate leaves nothing behind.
    fn undo(&self) {
        for dir in self.0.iter().rev() {
            // One that is not empty is in use by somebody else by now, and stays.
            if std::fs::remove_dir(dir).is_err() {
                return;
            }
        }
    }
}

/// The preflight of one candidate. Whatever was created for one that does not pass is removed again.
fn examine(candidate: &Path) -> Result<Passed, RefusalReason> {
    let mut made = Made::default();
    match examine_created(candidate, &mut made) {
        Ok((path, in_memory)) => Ok(Passed { path, in_memory, made }),
        Err(why) => {
            made.undo();
            Err(why)
        }
    }
}

fn examine_created(candidate: &Path, made: &mut Made) -> Result<(PathBuf, bool), RefusalReason> {
    let (Some(parent), Some(name), true) =
        (candidate.parent(), candidate.file_name(), candidate.is_absolute())
    else {
        return Err(RefusalReason::NotAbsolute);
    };
    // The length is checked first, so that nothing is created for a path that can never serve.
    if candidate.as_os_str().len() > BASE_LEN_MAX && parent.canonicalize().is_err() {
        return Err(RefusalReason::TooLong { bytes: candidate.as_os_str().len() });
    }
    create_parents(parent, made).map_err(RefusalReason::Unusable)?;
    let parent = parent.canonicalize().map_err(RefusalReason::Unusable)?;
    let path = parent.join(name);
    let bytes = path.as_os_str().as_bytes().len();
    if bytes > BASE_LEN_MAX {
        return Err(RefusalReason::TooLong { bytes });
    }
    check_parents(&parent)?;
    let dir = open_base(&path, made)?;
    probe_writing(&dir).map_err(RefusalReason::NotWritable)?;
    check_file_system(&dir)?;
    Ok((path, linux::lies_in_memory(&dir).map_err(RefusalReason::Unusable)?))
}

/// Creates what is missing above the base, for us alone.
fn create_parents(parent: &Path, made: &mut Made) -> io::Result<()> {
    let missing: Vec<&Path> = parent.ancestors().take_while(|dir| !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        match std::fs::DirBuilder::new().mode(PRIVATE_DIR.as_raw_mode()).create(dir) {
            Ok(()) => {
                made.0.push(dir.to_path_buf());
                // The umask may have taken bits away that we need ourselves.
                rustix::fs::chmod(dir, PRIVATE_DIR)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nobody else may be able to put something else in the place of the base.
fn check_parents(parent: &Path) -> Result<(), RefusalReason> {
    for dir in parent.ancestors() {
        let mode = std::fs::symlink_metadata(dir).map_err(RefusalReason::Unusable)?.mode();
        let open_to_all = mode & 0o002 != 0 && mode & 0o1000 == 0;
        if open_to_all {
            return Err(RefusalReason::OpenParent { parent: dir.to_path_buf() });
        }
    }
    Ok(())
}

/// Opens the base, creating it with mode 0700 where it is missing, and checks what was there before.
fn open_base(path: &Path, made: &mut Made) -> Result<OwnedFd, RefusalReason> {
    let unusable = |errno: rustix::io::Errno| RefusalReason::Unusable(errno.into());
    let is_new = match rustix::fs::mkdir(path, PRIVATE_DIR) {
        Ok(()) => true,
        Err(rustix::io::Errno::EXIST) => false,
        Err(errno) => return Err(unusable(errno)),
    };
    if is_new {
        made.0.push(path.to_path_buf());
    }
    let found = std::fs::symlink_metadata(path).map_err(RefusalReason::Unusable)?;
    if found.is_symlink() {
        return Err(RefusalReason::Link);
    }
    if !found.is_dir() {
        return Err(RefusalReason::NotADirectory);
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(RefusalReason::Foreign { uid: found.uid() });
    }
    let mode = found.mode() & 0o777;
    if !is_new && mode != PRIVATE_DIR.as_raw_mode() {
        return Err(RefusalReason::OpenMode { mode });
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if is_new {
        // The umask may have taken bits away that we need ourselves; then the directory cannot even be opened.
        rustix::fs::chmod(path, PRIVATE_DIR).map_err(unusable)?;
    }
    let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(unusable)?;
    let opened = rustix::fs::fstat(&dir).map_err(unusable)?;
    // What was judged above must be what is open now.
    if opened.st_ino != found.ino() || opened.st_dev != found.dev() {
        return Err(RefusalReason::Link);
    }
    Ok(dir)
}

/// Writes a test file through to the file system.
fn probe_writing(dir: &OwnedFd) -> io::Result<()> {
    let name = format!(".probe-{}", random_name());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
    let mut file = File::from(file);
    // The name goes first, so that not even being killed in mid-probe leaves a file behind.
    rustix::fs::unlinkat(dir, name.as_str(), AtFlags::empty())?;
    // Only a synced write shows a full disk or quota on file systems that allocate late.
    file.write_all(&[0xa5; PROBE_BYTES])?;
    file.sync_all()
}

/// Programs must start from it, and there must be room.
fn check_file_system(dir: impl AsFd) -> Result<(), RefusalReason> {
    let stat = rustix::fs::fstatvfs(dir).map_err(|errno| RefusalReason::Unusable(errno.into()))?;
    if stat.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(RefusalReason::NoExec);
    }
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free < FREE_BYTES_MIN {
        return Err(RefusalReason::FewBytes { free });
    }
    // Some file systems have no fixed number of inodes and report none at all.
    if stat.f_files > 0 && stat.f_favail < FREE_INODES_MIN {
        return Err(RefusalReason::FewInodes { free: stat.f_favail });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_data_directory_of_its_own_brings_its_own_base() {
        let found =
            candidates_from(Some(Path::new("/data")), Some("/cache".into()), Some("/home/u".into()), 7);
        assert_eq!(found, paths(&["/data/t", "/var/tmp/carillon-7", "/tmp/carillon-7"]));
    }

    #[test]
    fn the_cache_directory_comes_from_xdg_or_home_and_must_be_absolute() {
        let shared = ["/var/tmp/carillon-7", "/tmp/carillon-7"];
        let with = |first: &str| paths(&[first, shared[0], shared[1]]);
        assert_eq!(
            candidates_from(None, Some("/c".into()), Some("/home/u".into()), 7),
            with("/c/carillon/t"),
            "XDG_CACHE_HOME counts first"
        );
        assert_eq!(candidates_from(None, None, Some("/home/u".into()), 7), with("/home/u/.cache/carillon/t"));
        assert_eq!(
            candidates_from(None, Some("cache".into()), Some("/home/u".into()), 7),
            with("/home/u/.cache/carillon/t"),
            "a relative XDG_CACHE_HOME is as good as none"
        );
        assert_eq!(candidates_from(None, Some("".into()), None, 7), paths(&shared));
    }

    #[test]
    fn the_longest_base_leaves_room_for_a_socket() {
        let base = "b".repeat(BASE_LEN_MAX);
        let socket = format!("{base}/xxxxxx/xxxxxxxx/{}", "s".repeat(SOCKET_NAME_MAX));
        assert_eq!(socket.len(), SOCKET_PATH_MAX);
    }
}
