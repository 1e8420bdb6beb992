//! AppImages that are made for a test: this crate's program, and an image by mksquashfs behind it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a test waits for what must happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The two ways to run an AppImage.
pub const MODES: [&[&str]; 2] = [&[], &["--appimage-extract-and-run"]];

/// An AppImage in a directory of its own, with a temp directory of its own.
pub struct Made {
    pub folder: tempfile::TempDir,
    pub file: PathBuf,
    pub temp: PathBuf,
    /// What went into the image.
    pub inside: PathBuf,
}

/// The program inside: tells what a test asks for, or waits to be ended.
const APP_RUN: &str = r#"#!/bin/sh
case "$1" in
  env) env -0 ;;
  args) shift; for word in "$@"; do printf '<%s>' "$word"; done ;;
  code) exit "$2" ;;
  wait) echo "$APPDIR"; exec sleep 300 ;;
  linger) echo "$APPDIR"; cd "$APPDIR/usr"; sleep 300 >/dev/null 2>&1 & echo $! ;;
  fds) ls /proc/self/fd | tr '\n' ' ' ;;
  signals) grep SigIgn /proc/$$/status ;;
  cat) cat "$APPDIR/usr/large" | cksum ;;
esac
"#;

pub fn make() -> Made {
    make_named("Some-1.0.AppImage", |_| {})
}

/// Makes an AppImage of that file name; `add` puts more into its image.
pub fn make_named(name: &str, add: impl FnOnce(&Path)) -> Made {
    let folder = tempfile::Builder::new().prefix("ai-").tempdir().expect("a temp directory");
    let (inside, temp) = (folder.path().join("inside"), folder.path().join("temp"));
    fs::create_dir_all(inside.join("usr/bin")).expect("usr/bin");
    fs::create_dir(&temp).expect("temp");
    write(&inside.join("AppRun"), APP_RUN.as_bytes(), 0o755);
    write(&inside.join("usr/bin/tool"), b"#!/bin/sh\n", 0o755);
    write(&inside.join("usr/small"), b"small\n", 0o640);
    write(&inside.join("usr/empty"), b"", 0o644);
    write(&inside.join("usr/large"), &large(), 0o644);
    symlink("usr/bin/tool", inside.join("tool")).expect("a link");
    add(&inside);
    let file = folder.path().join(name);
    pack(&inside, &file);
    Made { folder, file, temp, inside }
}

/// Several blocks that do not repeat, with a hole between them.
pub fn large() -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut bytes: Vec<u8> = (0..700_000).map(|_| next()).collect();
    bytes.extend(std::iter::repeat_n(0, 300_000));
    bytes.extend(std::iter::repeat_n(b'x', 123_457));
    bytes
}

pub fn write(path: &Path, bytes: &[u8], mode: u32) {
    fs::write(path, bytes).expect("written");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its mode");
}

fn pack(inside: &Path, file: &Path) {
    let image = file.with_extension("squashfs");
    let mut pack = Command::new("mksquashfs");
    pack.arg(inside).arg(&image).args([
        "-root-owned",
        "-noappend",
        "-quiet",
        "-no-progress",
        "-comp",
        "zstd",
        "-no-xattrs",
    ]);
    let packed = pack.stdin(Stdio::null()).output().expect("mksquashfs, of the package squashfs-tools");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let mut bytes = fs::read(env!("CARGO_BIN_EXE_appimage-runtime")).expect("the program");
    bytes[8..11].copy_from_slice(b"AI\x02");
    bytes.extend(fs::read(&image).expect("the image"));
    fs::remove_file(&image).expect("removed");
    write(file, &bytes, 0o755);
}

impl Made {
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.file);
        command.args(args).env("TMPDIR", &self.temp).current_dir(self.folder.path());
        for name in [
            "APPIMAGE_EXTRACT_AND_RUN",
            "NO_CLEANUP",
            "TARGET_APPIMAGE",
            "APPDIR",
            "APPIMAGE",
            "OWD",
            "ARGV0",
        ] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it starts")
    }

    /// In that way of running, with these further arguments.
    pub fn run_in(&self, mode: &[&str], args: &[&str]) -> Output {
        self.run(&[mode, args].concat())
    }

    /// Starts it and waits for the line that it prints first.
    pub fn start(&self, args: &[&str]) -> (Child, String) {
        let mut child =
            self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let line = first_line(&mut child);
        (child, line)
    }

    /// What stands in its temp directory.
    pub fn left(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.temp).expect("temp").map(|entry| entry.expect("an entry").path()).collect()
    }

    /// Waits until nothing is left, neither a directory nor a mount nor a process.
    pub fn is_left_clean(&self) {
        wait_until("nothing is left in the temp directory", || self.left().is_empty());
        wait_until("nothing runs any more", || keepers(&self.file).is_empty());
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        assert!(!mounts.contains(&*self.temp.to_string_lossy()), "still mounted: {mounts}");
    }
}

pub fn first_line(child: &mut Child) -> String {
    use std::io::Read;
    let out = child.stdout.as_mut().expect("its output");
    let (mut line, mut byte) = (Vec::new(), [0]);
    while out.read(&mut byte).expect("read") == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("text")
}

/// The processes whose program is that file: the keepers, as what is inside has another.
pub fn keepers(file: &Path) -> Vec<u32> {
    let runs = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == file);
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(runs).collect()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status().expect("kill");
    assert!(sent.success(), "no signal for {pid}");
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
