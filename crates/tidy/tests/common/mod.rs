//! What several test files need: places on real file systems, small mounts, and running a test as another user.
#![allow(dead_code, reason = "each test file uses another part")]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user `nobody`.
pub const NOBODY: u32 = 65534;

/// A short directory on a disk, gone at the end of the test. The test run may say where it is to be.
pub fn on_disk() -> tempfile::TempDir {
    let place = std::env::var_os("CARILLON_TEST_DISK").unwrap_or_else(|| "/var/tmp".into());
    tempfile::Builder::new().prefix("ct").rand_bytes(6).tempdir_in(place).expect("a directory on a disk")
}

pub fn mode_of(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).expect("it is there").mode() & 0o7777
}

pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("the mode");
}

pub fn mkdir(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

pub fn write(path: PathBuf, text: &str) -> PathBuf {
    std::fs::write(&path, text).expect("a file");
    path
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says that a part of a test cannot be run here, and why. Such a test proves nothing: `npm test` does not count it as
/// passed, and tells how many there were.
pub fn not_run(why: &str) {
    println!("{why}: this part was not run");
    let Some(list) = std::env::var_os("CARILLON_TEST_NOT_RUN") else { return };
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let mut list = std::fs::File::options().create(true).append(true).open(list).expect("the list");
    std::io::Write::write_all(&mut list, format!("{name}: {why}\n").as_bytes()).expect("the list");
}

/// A mount that is taken away at the end.
pub struct Mount {
    path: CString,
}

impl Mount {
    /// Mounts a tmpfs with these options. Nothing, with a word about it, when that is not possible here.
    pub fn tmpfs(at: &Path, flags: libc::c_ulong, options: &str) -> Option<Mount> {
        Mount::new(Path::new("carillon-test"), at, "tmpfs", flags, options)
    }

    /// Mounts a small disk of `mib` MiB, made with these words for mkfs.ext4 besides the usual ones; its image lies
    /// beside `at`. Nothing, with a word about it, when that is not possible here.
    pub fn disk(at: &Path, mib: u64, words: &[&str], options: &str) -> Option<Mount> {
        let image = at.with_extension("img");
        std::fs::File::create(&image).and_then(|file| file.set_len(mib << 20)).expect("an image");
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let done =
            |command: &mut Command| command.env("PATH", &path).output().is_ok_and(|o| o.status.success());
        let is_made = done(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).args(words).arg(&image));
        let options = format!("loop,{options}");
        if is_made && done(Command::new("mount").args(["-o", &options]).arg(&image).arg(at)) {
            return Some(Mount { path: CString::new(at.as_os_str().as_bytes()).expect("no zero byte") });
        }
        not_run(&format!("no small disk can be mounted at {}", at.display()));
        None
    }

    /// Shows `source` at `at` as well.
    pub fn bind(source: &Path, at: &Path) -> Option<Mount> {
        Mount::new(source, at, "none", libc::MS_BIND, "")
    }

    fn new(source: &Path, at: &Path, kind: &str, flags: libc::c_ulong, options: &str) -> Option<Mount> {
        let text = |bytes: &[u8]| CString::new(bytes).expect("no zero byte");
        let (source, path) = (text(source.as_os_str().as_bytes()), text(at.as_os_str().as_bytes()));
        let (kind, options) = (text(kind.as_bytes()), text(options.as_bytes()));
        // SAFETY: all arguments are texts that live for the call.
        let code = unsafe {
            libc::mount(source.as_ptr(), path.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast())
        };
        if code == 0 {
            return Some(Mount { path });
        }
        not_run(&format!("nothing can be mounted at {}", at.display()));
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: the path is a text that lives for the call.
        unsafe { libc::umount2(self.path.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Runs `test` as a user who may not do everything. As root, this test program runs itself once more as nobody
/// with the name of the test; else it runs here.
pub fn as_nobody(name: &str, test: impl FnOnce()) {
    if !is_root() {
        return test();
    }
    let program = std::env::current_exe().expect("this program");
    let run = Command::new(program).args(["--exact", name, "--nocapture"]).uid(NOBODY).gid(NOBODY).output();
    match run {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "as nobody: {text}{}", String::from_utf8_lossy(&output.stderr));
            assert!(text.contains("1 passed"), "the test was not found as nobody: {text}");
        }
        Err(error) => not_run(&format!("nobody may not run this program ({error})")),
    }
}

/// Everything below a directory: kinds, modes, link targets and contents.
pub fn picture(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let metadata = std::fs::symlink_metadata(&path).expect("it is there");
        let content = if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
            "directory".to_owned()
        } else if metadata.is_symlink() {
            format!("link to {}", std::fs::read_link(&path).expect("a link").display())
        } else {
            String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned()
        };
        found.insert(path, format!("{:o} {content}", metadata.mode()));
    }
    found
}
