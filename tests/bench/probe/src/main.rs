//! What the bench measures with, where Node would be too coarse: stamps of the monotonic clock, a bare terminal as the reference, the
//! disk's own pace, and the engine's way from a key to its echo.
//!
//! ```text
//! stamp FILE [WAIT_MS]          waits, writes the monotonic clock in nanoseconds to FILE, ends
//! spawn PROGRAM ARG...          prints when it spawned PROGRAM in a bare terminal, in nanoseconds of the same clock
//! read PROGRAM ARG...           runs PROGRAM in a bare terminal, presses Enter once, reads to the end, prints the count of bytes
//! syncs FOLDER                  prints how long two writes with fsync and rename take, in nanoseconds
//! echo SETTINGS                 see `echo.rs`
//! tree FOLDER FILES             makes a tree of so many small files, all of it on the disk when it ends
//! bury BASE FOLDER              renames FOLDER into the trash of BASE and prints how long that took, in nanoseconds
//! ```

mod bare;
mod echo;
mod tree;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The monotonic clock in nanoseconds: the same for all processes, and for Node's `process.hrtime`.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a structure of ours that lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn main() -> Outcome {
    let now = monotonic_ns();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["stamp", file] => write_whole(file.as_ref(), now),
        ["stamp", file, wait_ms] => {
            std::thread::sleep(Duration::from_millis(wait_ms.parse()?));
            write_whole(file.as_ref(), monotonic_ns())
        }
        ["spawn", program @ ..] => {
            println!("{}", bare::spawn(program)?);
            Ok(())
        }
        ["read", program @ ..] => {
            println!("{}", bare::read(program)?);
            Ok(())
        }
        ["syncs", folder] => {
            println!("{}", two_syncs(folder.as_ref())?);
            Ok(())
        }
        ["echo", settings] => echo::run(settings),
        ["tree", folder, files] => tree::make(folder.as_ref(), files.parse()?),
        ["bury", base, folder] => {
            println!("{}", tree::bury(base.as_ref(), folder.as_ref())?);
            Ok(())
        }
        _ => Err("the words are told in tests/bench/probe/src/main.rs".into()),
    }
}

/// By a rename, so that whoever waits for the file finds all of it.
fn write_whole(file: &Path, stamp: u64) -> Outcome {
    let part = file.with_extension("part");
    std::fs::write(&part, stamp.to_string())?;
    Ok(std::fs::rename(part, file)?)
}

/// What making two small files safe takes on this disk: write, fsync, rename, twice. No directory is synced, which the supervisor does
/// besides: the reference is on the strict side.
fn two_syncs(folder: &Path) -> Outcome<u64> {
    let (part, whole) = (folder.join("sync.part"), folder.join("sync"));
    let began = Instant::now();
    for _ in 0..2 {
        let mut file = std::fs::File::create(&part)?;
        file.write_all(&[b'x'; 400])?;
        file.sync_all()?;
        std::fs::rename(&part, &whole)?;
    }
    let took = began.elapsed();
    std::fs::remove_file(whole)?;
    Ok(took.as_nanos() as u64)
}
