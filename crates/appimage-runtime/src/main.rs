//! The start-up stub of an AppImage (type 2): the file's first bytes are this program, a squashfs image follows.
//!
//! It mounts the image with FUSE, or extracts it where it cannot, and then becomes the program inside: same process, same signals,
//! same exit code. A small process of its own, the *keeper*, waits for that process to end and takes the mount or the directory away.
//!
//! Imports nothing of ours. Invariants: whatever it makes in the temp directory has a lease (a flock) and goes when its process has
//! ended, however that was; what a killed keeper left goes at the next start, when its lease proves to be free; standard output has
//! nothing but what an `--appimage-*` option asks for; the program inside inherits from us no descriptor, no ignored signal and no variable
//! besides APPDIR, APPIMAGE, ARGV0 and OWD.
//!
//! Read in this order: `request`, `image`, `extract`, `mount`, `temp`, `keeper`. The tests are in `tests/`, on real files.
#![warn(missing_docs)]

mod error;
mod extract;
mod image;
mod keeper;
mod mount;
mod request;
mod temp;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use error::Error;
use image::Image;
use request::Request;

/// The program inside could not be started.
const NOT_STARTED: i32 = 127;
/// The AppImage was asked for something that it does not know.
const WRONG_USE: i32 = 2;
/// What was asked for could not be done.
const FAILED: i32 = 1;

fn main() {
    // A damaged image can contradict itself in ways that its reader takes for a fault of its own.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(run));
    std::process::exit(match outcome {
        Ok(Ok(())) => 0,
        Ok(Err((code, error))) => {
            eprintln!("AppImage: {error}");
            code
        }
        Err(_) => {
            eprintln!("AppImage: this file is damaged: its image contradicts itself");
            NOT_STARTED
        }
    })
}

/// This AppImage, as it was started.
struct Started {
    /// Its path, resolved.
    file: PathBuf,
    /// The word that it was started with.
    argv0: OsString,
}

impl Started {
    fn open(&self) -> Result<Image, Error> {
        Image::open(&self.file)
    }
}

fn run() -> Result<(), (i32, Error)> {
    let mut words = std::env::args_os();
    let argv0 = words.next().unwrap_or_default();
    let request = request::read(words.collect(), std::env::var_os("APPIMAGE_EXTRACT_AND_RUN").as_deref())
        .map_err(|error| (WRONG_USE, error))?;
    let file = own_file().map_err(|error| (NOT_STARTED, error))?;
    let started = Started { file, argv0 };
    match request {
        Request::Run(args) => run_mounted(&started, &args).map_err(|error| (NOT_STARTED, error)),
        Request::ExtractAndRun(args) => {
            let image = started.open().map_err(|error| (NOT_STARTED, error))?;
            run_extracted(&started, &image, &args).map_err(|error| (NOT_STARTED, error))
        }
        other => answer(&started, other).map_err(|error| (FAILED, error)),
    }
}

/// What does not start the program inside.
fn answer(started: &Started, request: Request) -> Result<(), Error> {
    match request {
        Request::Extract(pattern) => {
            let here = Path::new("squashfs-root");
            extract::extract(&started.open()?, here, pattern.as_deref())?;
            println!("{}", here.display());
        }
        Request::Mount => hold_mounted(started)?,
        Request::Offset => println!("{}", image::offset(&started.file)?),
        Request::Version => println!("carillon-appimage-runtime {}", env!("CARGO_PKG_VERSION")),
        // Both are empty in an AppImage that is updated by the user and signed beside the file.
        Request::UpdateInformation | Request::Signature => println!(),
        Request::Help => println!("{}", request::HELP),
        Request::Run(_) | Request::ExtractAndRun(_) => {}
    }
    Ok(())
}

fn own_file() -> Result<PathBuf, Error> {
    match std::env::var_os("TARGET_APPIMAGE").filter(|named| !named.is_empty()) {
        Some(named) => {
            std::fs::canonicalize(&named).map_err(|source| Error::file("find", Path::new(&named), source))
        }
        None => {
            let own = Path::new("/proc/self/exe");
            std::fs::read_link(own).map_err(|source| Error::file("read", own, source))
        }
    }
}

fn run_mounted(started: &Started, args: &[OsString]) -> Result<(), Error> {
    let stem = temp::stem(&started.file);
    let image = started.open()?;
    match keeper::mount(image, &stem) {
        Ok(mounted) => become_program(started, &mounted, args),
        Err(why) => {
            // Containers and hardened systems have no FUSE; that is no reason not to start.
            eprintln!("AppImage: {why}; extracting instead, which takes longer");
            run_extracted(started, &started.open()?, args)
        }
    }
}

fn run_extracted(started: &Started, image: &Image, args: &[OsString]) -> Result<(), Error> {
    let stem = temp::stem(&started.file);
    let is_kept = std::env::var_os("NO_CLEANUP").is_some_and(|value| !value.is_empty() && value != "0");
    let folder = if is_kept {
        temp::create_kept(&stem, image.extracted_bytes())?
    } else {
        keeper::folder(&stem, image.extracted_bytes())?
    };
    extract::extract(image, &folder, None)?;
    become_program(started, &folder, args)
}

/// Mounts, says where, and waits to be ended.
fn hold_mounted(started: &Started) -> Result<(), Error> {
    let mounted = keeper::mount(started.open()?, &temp::stem(&started.file))?;
    println!("{}", mounted.display());
    loop {
        // SAFETY: pause takes nothing and only waits for a signal.
        unsafe { libc::pause() };
    }
}

/// Replaces this process by the program inside. Comes back only when that failed.
fn become_program(started: &Started, app_dir: &Path, args: &[OsString]) -> Result<(), Error> {
    let entry = app_dir.join("AppRun");
    let mut program = std::process::Command::new(&entry);
    program.args(args);
    program.env("APPDIR", app_dir).env("APPIMAGE", &started.file).env("ARGV0", &started.argv0);
    match std::env::current_dir() {
        Ok(here) => program.env("OWD", here),
        Err(_) => program.env_remove("OWD"),
    };
    let target = std::fs::read_link(&entry).map_or_else(|_| entry.clone(), |target| app_dir.join(target));
    // Toolkits name their windows after this word.
    program.arg0(OsStr::new(&target));
    Err(Error::file("start", &entry, program.exec()))
}
