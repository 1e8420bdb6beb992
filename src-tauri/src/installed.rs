//! The `carillon` binary outside the AppImage: copied into the data directory, so that no process of a run holds the mount and no path
//! that an agent was told of ends with it.
//!
//! `bin/<version>/carillon` is the copy, `bin/carillon` a link to the version in use. The link is what everybody is told of. A copy is
//! made by any start; the link moves, and old versions go, only under the engine's lock: a newer AppImage that finds an older Carillon
//! running changes nothing for that one.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The name of the binary.
const CARILLON: &str = "carillon";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The copies in one data directory.
#[derive(Debug, Clone)]
pub struct Installed {
    bin: PathBuf,
}

impl Installed {
    /// Copies `binary` into the data directory, where it is not there yet, byte for byte, and makes the link where there is none.
    ///
    /// # Errors
    /// What the file system says.
    pub fn put(home: &Path, binary: &Path) -> io::Result<Installed> {
        let installed = Installed { bin: home.join("bin") };
        DirBuilder::new().recursive(true).mode(0o700).create(installed.bin.join(VERSION))?;
        let _turn = installed.take_turn()?;
        let copy = installed.copy();
        if !is_same(binary, &copy) {
            // One at a time writes here, so what a killed one left is simply written over.
            let part = copy.with_extension("part");
            fs::copy(binary, &part)?;
            fs::set_permissions(&part, Permissions::from_mode(0o755))?;
            File::open(&part)?.sync_all()?;
            fs::rename(&part, &copy)?;
        }
        if !installed.link().exists() {
            installed.point()?;
        }
        Ok(installed)
    }

    /// The copy of this version.
    pub fn copy(&self) -> PathBuf {
        self.bin.join(VERSION).join(CARILLON)
    }

    /// The path that stays the same from version to version.
    pub fn link(&self) -> PathBuf {
        self.bin.join(CARILLON)
    }

    /// Points the link at this version and takes other versions away; processes that run from one of those go on. Call it under the
    /// engine's lock.
    ///
    /// # Errors
    /// What the file system says.
    pub fn settle(&self) -> io::Result<()> {
        let _turn = self.take_turn()?;
        if fs::read_link(self.link()).ok() != Some(target()) {
            self.point()?;
        }
        for entry in fs::read_dir(&self.bin)? {
            let entry = entry?;
            // Only what we have made: a directory with the binary, or its part, in it.
            let is_ours = |name: &str| entry.path().join(name).is_file();
            let is_version = entry.file_type()?.is_dir() && (is_ours(CARILLON) || is_ours("carillon.part"));
            if is_version && entry.file_name() != VERSION {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn point(&self) -> io::Result<()> {
        let next = self.bin.join("carillon.next");
        match fs::remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        symlink(target(), &next)?;
        fs::rename(&next, self.link())
    }

    /// Waits until nobody else copies or cleans here. Whoever has the turn needs some milliseconds.
    fn take_turn(&self) -> io::Result<File> {
        let folder = File::open(&self.bin)?;
        // SAFETY: the descriptor is open; the call takes no pointer.
        match unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX) } {
            0 => Ok(folder),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Relative, so that the data directory can be moved.
fn target() -> PathBuf {
    Path::new(VERSION).join(CARILLON)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| fs::metadata(path).map(|of| of.len()).ok();
    length(one).is_some()
        && length(one) == length(other)
        && fs::metadata(other).is_ok_and(|of| of.permissions().mode() & 0o111 == 0o111)
        && fs::read(one).ok() == fs::read(other).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (home, binary) = (folder.path().join("home"), folder.path().join("carillon"));
        fs::write(&binary, "first").expect("a binary");
        (folder, home, binary)
    }

    #[test]
    fn the_copy_is_whole_and_private_and_the_link_leads_to_it() {
        let (_folder, home, binary) = stage();
        let installed = Installed::put(&home, &binary).expect("copied");
        assert_eq!(fs::read(installed.link()).expect("the link's target"), b"first");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&home), mode(&installed.copy())), (0o700, 0o755));
        let elsewhere = home.with_extension("moved");
        fs::rename(&home, &elsewhere).expect("moved");
        assert!(elsewhere.join("bin/carillon").exists(), "the link is relative");
    }

    #[test]
    fn a_copy_that_is_there_stays_and_one_that_differs_is_replaced_whole() {
        use std::os::unix::fs::MetadataExt;
        let (_folder, home, binary) = stage();
        let number = |of: &Installed| fs::metadata(of.copy()).expect("the copy").ino();
        let first = number(&Installed::put(&home, &binary).expect("copied"));
        fs::write(home.join("bin").join(VERSION).join("carillon.part"), "cut sh")
            .expect("what a killed one left");
        assert_eq!(number(&Installed::put(&home, &binary).expect("copied")), first);
        fs::write(&binary, "other").expect("a binary");
        // Whoever runs the one before keeps it: it is another file.
        let running = File::open(home.join("bin/carillon")).expect("open");
        let second = Installed::put(&home, &binary).expect("copied");
        assert_ne!(number(&second), first);
        assert_eq!(io::read_to_string(running).expect("read"), "first");
        assert_eq!(fs::read(second.copy()).expect("read"), b"other");
    }

    #[test]
    fn another_version_is_left_alone_until_the_engine_is_ours() {
        let (_folder, home, binary) = stage();
        let (bin, old) = (home.join("bin"), home.join("bin/0.0.1"));
        fs::create_dir_all(&old).expect("a folder");
        fs::write(old.join("carillon"), "old").expect("a binary");
        fs::create_dir(bin.join("mine")).expect("a stranger's folder");
        symlink("0.0.1/carillon", bin.join("carillon")).expect("a link");
        let installed = Installed::put(&home, &binary).expect("copied");
        assert_eq!(fs::read(installed.link()).expect("read"), b"old", "an older Carillon may be running");
        installed.settle().expect("settled");
        assert_eq!(fs::read(installed.link()).expect("read"), b"first");
        assert!(!old.exists() && bin.join("mine").exists());
        fs::remove_dir_all(bin.join(VERSION)).expect("removed by somebody");
        let again = Installed::put(&home, &binary).expect("copied");
        assert_eq!(fs::read(again.link()).expect("read"), b"first");
    }
}
