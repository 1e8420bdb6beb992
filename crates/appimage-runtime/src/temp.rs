//! Directories in the temp directory: made under a random name, held by a lease, and swept when the lease proves to be free.
//!
//! The lease is a flock on the directory itself, taken by whoever makes it and handed to the keeper. Held = somebody is
//! responsible. Free = the keeper was killed; the next start of an AppImage of that name then takes away what is left, unless a
//! process still runs from it.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, StatVfsMountFlags};

use crate::error::Error;
use crate::mount;

/// Where a system without TMPDIR puts what is temporary; the second is rarely in memory.
const PLACES: [&str; 2] = ["/tmp", "/var/tmp"];
/// The longest name that is taken over from the file, in bytes.
const STEM_MAX: usize = 16;
/// Left free beside what is extracted, in bytes: the program inside wants to write, too.
const SPARE: u64 = 32 << 20;
/// Somebody may sweep a directory between its making and its lease; more often than this in a row is no accident.
const TRIES: usize = 8;

/// What a directory is for; each kind has names of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Something is mounted on it.
    Mount,
    /// It holds what was extracted for a run.
    Extracted,
}

impl Purpose {
    fn prefix(self, stem: &str) -> String {
        match self {
            Purpose::Mount => format!(".mount_{stem}-"),
            Purpose::Extracted => format!(".appimage_{stem}-"),
        }
    }
}

/// A directory of ours, while its lease is held.
pub struct Leased {
    /// Where it is.
    pub path: PathBuf,
    /// The lease: a flock on the directory.
    #[expect(dead_code, reason = "it is held, not read")]
    pub lease: OwnedFd,
}

/// The part of the AppImage's name that its temp directories carry: what stands before a version.
pub fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem: String = name.chars().take_while(char::is_ascii_alphanumeric).take(STEM_MAX).collect();
    if stem.is_empty() { "app".to_owned() } else { stem }
}

/// Makes a directory for a mount, after sweeping old ones.
///
/// # Errors
/// [`Error::File`] when none can be made.
pub fn create_for_mount(stem: &str) -> Result<Leased, Error> {
    let base = chosen().unwrap_or_else(|| PLACES[0].into());
    sweep(&base, Purpose::Mount, stem);
    create(&base, &Purpose::Mount.prefix(stem))
}

/// Makes a directory that has room for `bytes`, after sweeping old ones.
///
/// # Errors
/// [`Error::NoRoom`] with what was tried.
pub fn create_for_extraction(stem: &str, bytes: u64) -> Result<Leased, Error> {
    places().iter().for_each(|place| sweep(place, Purpose::Extracted, stem));
    create(&roomy(bytes)?, &Purpose::Extracted.prefix(stem))
}

/// Makes a directory that nobody takes away, for `NO_CLEANUP`.
///
/// # Errors
/// As [`create_for_extraction`].
pub fn create_kept(stem: &str, bytes: u64) -> Result<PathBuf, Error> {
    make(&roomy(bytes)?, &format!("{stem}-extracted-"))
}

fn chosen() -> Option<PathBuf> {
    let named = std::env::var_os("TMPDIR").filter(|value| !value.is_empty())?;
    std::path::absolute(named).ok()
}

/// The user's own choice is the only one.
fn places() -> Vec<PathBuf> {
    chosen().map_or_else(|| PLACES.iter().map(PathBuf::from).collect(), |chosen| vec![chosen])
}

/// The first place that has room and runs programs.
fn roomy(bytes: u64) -> Result<PathBuf, Error> {
    let mut tried = Vec::new();
    for place in places() {
        match rustix::fs::statvfs(&place) {
            Err(error) => tried.push((place, format!("cannot be used ({error})"))),
            Ok(of) if of.f_flag.contains(StatVfsMountFlags::NOEXEC) => {
                tried.push((place, "does not run programs (noexec)".to_owned()));
            }
            Ok(of) if of.f_bavail.saturating_mul(of.f_frsize) < bytes + SPARE => {
                let free = of.f_bavail.saturating_mul(of.f_frsize) >> 20;
                tried.push((
                    place,
                    format!("has {free} MiB free of the {} MiB needed", (bytes + SPARE) >> 20),
                ));
            }
            Ok(_) => return Ok(place),
        }
    }
    Err(Error::NoRoom { tried })
}

fn make(base: &Path, prefix: &str) -> Result<PathBuf, Error> {
    let failed = |source: io::Error| Error::file("make a directory in", base, source);
    let template = base.join(format!("{prefix}XXXXXX")).into_os_string().into_vec();
    let mut name = CString::new(template).map_err(|error| failed(error.into()))?.into_bytes_with_nul();
    // SAFETY: the name ends with a zero byte and six X before it, which the call replaces in place.
    if unsafe { libc::mkdtemp(name.as_mut_ptr().cast()) }.is_null() {
        return Err(failed(io::Error::last_os_error()));
    }
    name.pop();
    Ok(PathBuf::from(OsString::from_vec(name)))
}

fn create(base: &Path, prefix: &str) -> Result<Leased, Error> {
    let mut last = None;
    for _ in 0..TRIES {
        let path = make(base, prefix)?;
        match lease(&path) {
            Ok(lease) if is_at(&path, &lease) => return Ok(Leased { path, lease }),
            Ok(_) => {}
            Err(error) => last = Some(error),
        }
        // Somebody else's sweep came in between: it has the directory now, or it is gone.
        let _ = std::fs::remove_dir(&path);
    }
    Err(Error::file("lease a directory in", base, last.unwrap_or_else(|| io::ErrorKind::WouldBlock.into())))
}

fn lease(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Whether what is open still stands at that path.
fn is_at(path: &Path, open: &OwnedFd) -> bool {
    let same = |one: &Metadata, other: &Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
    let open = open.try_clone().map(File::from).and_then(|open| open.metadata());
    open.is_ok_and(|open| std::fs::symlink_metadata(path).is_ok_and(|there| same(&open, &there)))
}

/// Takes away what killed keepers have left. What cannot go is left for another time.
fn sweep(base: &Path, purpose: Purpose, stem: &str) {
    let prefix = purpose.prefix(stem);
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            sweep_one(&entry.path(), purpose);
        }
    }
}

fn sweep_one(path: &Path, purpose: Purpose) {
    match std::fs::symlink_metadata(path) {
        // The mount of a keeper that is no more: the system says so of every access.
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
            mount::detach(path);
            let _ = std::fs::remove_dir(path);
        }
        Ok(there) if there.is_dir() && there.uid() == rustix::process::getuid().as_raw() => {
            // The lease is held until the directory is gone, so that nobody else begins with it.
            let Ok(_lease) = lease(path) else { return };
            match purpose {
                // A mount that is alive answers, and its directory cannot be removed.
                Purpose::Mount => drop(std::fs::remove_dir(path)),
                Purpose::Extracted if !is_in_use(path) => drop(std::fs::remove_dir_all(path)),
                Purpose::Extracted => {}
            }
        }
        Ok(_) | Err(_) => {}
    }
}

/// Whether a process runs a program of that directory or stands in it.
fn is_in_use(path: &Path) -> bool {
    let is_process = |name: &OsStr| name.as_bytes().iter().all(u8::is_ascii_digit);
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_process(&entry.file_name()))
        .any(|process| {
            ["exe", "cwd"].iter().any(|link| {
                std::fs::read_link(process.path().join(link)).is_ok_and(|to| to.starts_with(path))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_named_after_the_program_and_not_its_version() {
        assert_eq!(stem(Path::new("/a b/Carillon-0.1.0-x86_64.AppImage")), "Carillon");
        assert_eq!(stem(Path::new("/x/.AppImage")), "app");
        assert_eq!(stem(Path::new("/")), "app");
        assert_eq!(stem(Path::new("averyveryverylongname.AppImage")).len(), STEM_MAX);
    }

    #[test]
    fn only_what_nobody_holds_and_nobody_runs_from_is_swept() {
        let base = tempfile::tempdir().expect("a temp directory");
        let of = |purpose: Purpose| create(base.path(), &purpose.prefix("Some")).expect("a directory");
        let (held, free) = (of(Purpose::Extracted), of(Purpose::Extracted));
        let (held_mount, free_mount) = (of(Purpose::Mount), of(Purpose::Mount));
        let used = of(Purpose::Extracted);
        let strangers = make(base.path(), ".appimage_Other-").expect("a directory");
        for path in [&free.path, &used.path, &held.path] {
            std::fs::write(path.join("AppRun"), "").expect("a file");
        }
        // The lease goes with what holds it.
        let let_go = |of: Leased| of.path.clone();
        let (free, free_mount, used) = (let_go(free), let_go(free_mount), let_go(used));
        let mut user =
            std::process::Command::new("sleep").arg("60").current_dir(&used).spawn().expect("sleep");
        for purpose in [Purpose::Mount, Purpose::Extracted] {
            sweep(base.path(), purpose, "Some");
        }
        user.kill().and_then(|()| user.wait()).expect("the end of sleep");
        let is_there = |path: &Path| path.exists();
        assert!(
            is_there(&held.path) && is_there(&held_mount.path) && is_there(&strangers) && is_there(&used)
        );
        assert!(!is_there(&free) && !is_there(&free_mount));
        sweep(base.path(), Purpose::Extracted, "Some");
        assert!(!is_there(&used), "nobody stands in it any more");
    }
}
