//! Deleting a tree that may change while it is deleted.
//!
//! Each step works on an open directory and one name in it, never on a path, and opens without following links.
//! So whatever is swapped in the meantime, only what hangs below the directory that we hold is removed. The
//! depth is not bounded by the stack or by the number of descriptors: of a very deep tree only the last levels
//! are kept open, and the way back up is checked by identity.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::linux::{self, Identity};
use crate::trash::{Emptied, REFUSED_MAX, Repositories};

/// How many levels are kept open besides the top. The usual limit is 1024 descriptors for a whole process.
const OPEN_LEVELS: usize = 64;
/// How often a directory is read again because it was not empty after all its entries had gone.
const PASSES_MAX: u32 = 8;
/// How often one name is tried when it changes between a directory and something else under our hands.
const SWAPS_MAX: u32 = 16;

const OTHER_MOUNT: &str = "another file system is mounted there";
const REPOSITORY: &str = "it holds a git repository or worktree (.git)";
const MOVED: &str = "it was moved while it was being deleted";
const GROWING: &str = "files keep appearing in it";
const SWAPPED: &str = "it keeps changing between a directory and something else";

/// One deletion, from its top directory down. The top itself stays.
pub(crate) struct Descent<'a> {
    top: &'a Path,
    /// The way from the top to the present directory. The top and the last [`OPEN_LEVELS`] are open.
    levels: Vec<Level>,
    boundary: Identity,
    until: Option<Instant>,
    cancel: &'a AtomicBool,
    repositories: Repositories,
    emptied: Emptied,
    refused_any: bool,
}

/// A directory on the way down.
struct Level {
    /// Its name in the level above.
    name: CString,
    /// The open directory; nothing for one that is far above the present level.
    dir: Option<Dir>,
    identity: Identity,
    /// What the directory itself takes up on the disk.
    bytes: u64,
    /// Entries that stay, so that they are not tried again.
    kept: HashSet<CString>,
    /// Whether an entry went since reading began. Then reading may have skipped another one.
    has_changed: bool,
    passes: u32,
}

/// What became of one entry.
enum Step {
    /// It was removed, and so many bytes came free.
    Removed(u64),
    /// Somebody else was quicker.
    Gone,
    /// It is a directory, to be emptied first.
    Down(Level),
    /// It stays, for this reason.
    Stays(String),
}

impl<'a> Descent<'a> {
    /// Begins at the open directory `opened`, of which `top` is the path for messages. Fails with the reason
    /// when nothing in it may be deleted.
    pub(crate) fn begin(
        top: &'a Path,
        opened: OwnedFd,
        until: Option<Instant>,
        cancel: &'a AtomicBool,
        repositories: Repositories,
    ) -> Result<Descent<'a>, String> {
        let judged = Level::judge(CString::default(), opened, None, repositories);
        let level = match judged.map_err(|errno| errno.to_string())? {
            Step::Down(level) => level,
            Step::Stays(why) => return Err(why),
            Step::Removed(_) | Step::Gone => return Err(MOVED.to_owned()),
        };
        let boundary = level.identity;
        let levels = vec![level];
        let emptied = Emptied::default();
        Ok(Descent { top, levels, boundary, until, cancel, repositories, emptied, refused_any: false })
    }

    /// Deletes until all is gone or it has to stop.
    pub(crate) fn run(mut self) -> Emptied {
        while !self.must_stop() {
            let Some(level) = self.levels.last_mut() else {
                self.emptied.complete = !self.refused_any;
                break;
            };
            match level.next_entry() {
                Some(Ok((name, _)))
                    if name.as_c_str() == c".git" && self.repositories == Repositories::Stay =>
                {
                    self.give_level_up(REPOSITORY);
                }
                Some(Ok((name, kind))) => self.remove(name, kind),
                Some(Err(errno)) => self.give_level_up(&format!("it cannot be read: {errno}")),
                None => self.leave(),
            }
        }
        self.emptied
    }

    fn must_stop(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Removes one entry of the present level, or goes down into it.
    fn remove(&mut self, name: CString, kind: FileType) {
        let Some(level) = self.levels.last_mut() else { return };
        match level.remove(&name, kind, self.boundary, self.repositories) {
            Step::Removed(bytes) => {
                level.has_changed = true;
                self.count(bytes);
            }
            Step::Gone => {}
            Step::Down(below) => self.go_down(below),
            Step::Stays(why) => {
                let path = self.present_path().join(OsStr::from_bytes(name.to_bytes()));
                self.refuse(path, why);
                self.keep(name);
            }
        }
    }

    fn go_down(&mut self, level: Level) {
        self.levels.push(level);
        // The top stays open for ever: it is where everything can be picked up again.
        if let Some(far) = self.levels.len().checked_sub(OPEN_LEVELS + 1).filter(|far| *far > 0) {
            self.levels[far].dir = None;
        }
    }

    /// All entries of the present level were tried: removes it and goes up.
    fn leave(&mut self) {
        if self.levels.len() <= 1 {
            return self.finish();
        }
        if self.levels.last().is_some_and(|level| !level.kept.is_empty()) {
            return self.go_up(true);
        }
        if !self.reopen_parent() {
            return self.give_up_moved();
        }
        let [.., parent, level] = self.levels.as_mut_slice() else { return };
        match parent.remove_empty(&level.name) {
            Ok(()) => {
                let bytes = level.bytes;
                parent.has_changed = true;
                self.count(bytes);
                self.go_up(false);
            }
            Err(Errno::NOENT) => self.go_up(false),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                level.has_changed = true;
                if !level.read_again() {
                    self.give_level_up(GROWING);
                }
            }
            // Something else was put in its place, which is an entry like any other.
            Err(Errno::NOTDIR) => {
                let name = level.name.clone();
                self.go_up(false);
                self.remove(name, FileType::Unknown);
            }
            Err(errno) => self.give_level_up(&errno.to_string()),
        }
    }

    /// All entries of the top were tried. It stays, so nobody but a further reading tells whether it is empty.
    fn finish(&mut self) {
        let Some(top) = self.levels.last_mut() else { return };
        if top.read_again() {
            return;
        }
        if top.has_changed {
            self.refuse(self.top.to_path_buf(), GROWING.to_owned());
        }
        self.levels.clear();
    }

    /// The present level stays as it is, for this reason.
    fn give_level_up(&mut self, why: &str) {
        self.refuse(self.present_path(), why.to_owned());
        if self.levels.len() > 1 && !self.reopen_parent() {
            return self.give_up_moved();
        }
        self.go_up(true);
    }

    /// Steps back to the level above, which is open by now or is opened here.
    fn go_up(&mut self, keep: bool) {
        if self.levels.len() > 1 && !self.reopen_parent() {
            return self.give_up_moved();
        }
        let Some(level) = self.levels.pop() else { return };
        if keep && !self.levels.is_empty() {
            self.keep(level.name);
        }
    }

    /// Makes sure that the level above the present one is open. False when the way back up leads elsewhere.
    fn reopen_parent(&mut self) -> bool {
        let [.., parent, level] = self.levels.as_mut_slice() else { return false };
        if parent.dir.is_some() {
            return true;
        }
        let Some(dir) = &level.dir else { return false };
        let reopened = dir.fd().and_then(|fd| {
            let above = rustix::fs::openat(fd, c"..", OPEN_DIR, Mode::empty())?;
            let (identity, _) = linux::identify(&above)?;
            if identity == parent.identity { Dir::new(above) } else { Err(Errno::STALE) }
        });
        parent.dir = reopened.ok();
        parent.dir.is_some()
    }

    /// The tree was moved in mid-way, so the levels between here and the next open one are out of reach.
    fn give_up_moved(&mut self) {
        self.refuse(self.present_path(), MOVED.to_owned());
        let mut name = self.levels.pop().map(|level| level.name);
        while self.levels.last().is_some_and(|level| level.dir.is_none()) {
            name = self.levels.pop().map(|level| level.name);
        }
        if let Some(name) = name {
            self.keep(name);
        }
    }

    fn keep(&mut self, name: CString) {
        if let Some(level) = self.levels.last_mut() {
            level.kept.insert(name);
        }
    }

    fn count(&mut self, bytes: u64) {
        self.emptied.entries += 1;
        self.emptied.bytes += bytes;
    }

    fn refuse(&mut self, path: PathBuf, why: String) {
        self.refused_any = true;
        if self.emptied.refused.len() < REFUSED_MAX {
            self.emptied.refused.push((path, why));
        }
    }

    fn present_path(&self) -> PathBuf {
        let names = self.levels.iter().skip(1).map(|level| OsStr::from_bytes(level.name.to_bytes()));
        std::iter::once(self.top.as_os_str()).chain(names).collect()
    }
}

const OPEN_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Level {
    /// Looks at a directory that was just opened: may it be emptied? With a `boundary`, only on its mount.
    fn judge(
        name: CString,
        opened: OwnedFd,
        boundary: Option<Identity>,
        repositories: Repositories,
    ) -> rustix::io::Result<Step> {
        let (identity, bytes) = linux::identify(&opened)?;
        if boundary.is_some_and(|top| (top.device, top.mount) != (identity.device, identity.mount)) {
            return Ok(Step::Stays(OTHER_MOUNT.to_owned()));
        }
        let mut git = rustix::fs::statat(&opened, c".git", AtFlags::SYMLINK_NOFOLLOW);
        if matches!(git, Err(Errno::ACCESS)) && add_owner_bits(&opened) {
            git = rustix::fs::statat(&opened, c".git", AtFlags::SYMLINK_NOFOLLOW);
        }
        match git {
            Ok(_) if repositories == Repositories::Stay => return Ok(Step::Stays(REPOSITORY.to_owned())),
            Ok(_) | Err(Errno::NOENT) => {}
            // Where it cannot be told whether there is a repository, nothing is touched.
            Err(errno) => return Err(errno),
        }
        let dir = Some(Dir::new(opened)?);
        let kept = HashSet::new();
        Ok(Step::Down(Level { name, dir, identity, bytes, kept, has_changed: false, passes: 0 }))
    }

    /// The next entry that is still to be removed.
    fn next_entry(&mut self) -> Option<rustix::io::Result<(CString, FileType)>> {
        loop {
            let entry = match self.dir.as_mut()?.read()? {
                Ok(entry) => entry,
                // What somebody else has removed has no entries either.
                Err(Errno::NOENT) => return None,
                Err(errno) => return Some(Err(errno)),
            };
            let name = entry.file_name();
            if name != c"." && name != c".." && !self.kept.contains(name) {
                return Some(Ok((name.to_owned(), entry.file_type())));
            }
        }
    }

    /// Begins again to read when something changed while reading, a bounded number of times.
    fn read_again(&mut self) -> bool {
        let Some(dir) = self.dir.as_mut().filter(|_| self.has_changed && self.passes < PASSES_MAX) else {
            return false;
        };
        dir.rewind();
        self.passes += 1;
        self.has_changed = false;
        true
    }

    /// Removes one entry, or opens it when it is a directory. Its kind is only a first guess: what the system
    /// answers decides, since the entry may be another one by now.
    fn remove(
        &mut self,
        name: &CStr,
        kind: FileType,
        boundary: Identity,
        repositories: Repositories,
    ) -> Step {
        let mut as_directory = kind == FileType::Directory;
        let mut may_let_in = true;
        for _ in 0..SWAPS_MAX {
            let answer =
                if as_directory { self.enter(name, boundary, repositories) } else { self.unlink(name) };
            match answer {
                Ok(step) => return step,
                Err(Errno::NOENT) => return Step::Gone,
                Err(Errno::NOTDIR | Errno::LOOP) if as_directory => as_directory = false,
                Err(Errno::ISDIR) if !as_directory => as_directory = true,
                Err(Errno::ACCESS | Errno::PERM) if self.let_owner_in() => {}
                Err(Errno::ACCESS) if as_directory && may_let_in => {
                    may_let_in = false;
                    // When this fails, the next attempt to enter says why.
                    let _ = self.fd().and_then(|fd| linux::let_owner_in(fd, name));
                }
                Err(errno) => return Step::Stays(errno.to_string()),
            }
        }
        Step::Stays(SWAPPED.to_owned())
    }

    fn enter(&self, name: &CStr, boundary: Identity, repositories: Repositories) -> rustix::io::Result<Step> {
        let opened = rustix::fs::openat(self.fd()?, name, OPEN_DIR, Mode::empty())?;
        Level::judge(name.to_owned(), opened, Some(boundary), repositories)
    }

    fn unlink(&self, name: &CStr) -> rustix::io::Result<Step> {
        let fd = self.fd()?;
        let mask = StatxFlags::BLOCKS | StatxFlags::NLINK;
        let stat = rustix::fs::statx(fd, name, AtFlags::SYMLINK_NOFOLLOW, mask)?;
        rustix::fs::unlinkat(fd, name, AtFlags::empty())?;
        // A file with further hard links keeps its blocks.
        Ok(Step::Removed(if stat.stx_nlink == 1 { stat.stx_blocks * 512 } else { 0 }))
    }

    /// Removes the directory `name`, which should be empty by now.
    fn remove_empty(&self, name: &CStr) -> rustix::io::Result<()> {
        let remove = || rustix::fs::unlinkat(self.fd()?, name, AtFlags::REMOVEDIR);
        match remove() {
            Err(Errno::ACCESS | Errno::PERM) if self.let_owner_in() => remove(),
            answer => answer,
        }
    }

    /// Adds the bits that removing an entry needs. False when they were there already or cannot be had.
    fn let_owner_in(&self) -> bool {
        self.fd().is_ok_and(add_owner_bits)
    }

    fn fd(&self) -> rustix::io::Result<std::os::fd::BorrowedFd<'_>> {
        // Only the present level and the one above it are worked on, and both are open.
        self.dir.as_ref().ok_or(Errno::BADF)?.fd()
    }
}

/// Lets the owner read, write and enter an open directory. False when nothing could be changed.
fn add_owner_bits(dir: impl std::os::fd::AsFd) -> bool {
    let Ok(stat) = rustix::fs::fstat(&dir) else { return false };
    let mode = Mode::from_raw_mode(stat.st_mode);
    !mode.contains(Mode::RWXU) && rustix::fs::fchmod(&dir, mode | Mode::RWXU).is_ok()
}
