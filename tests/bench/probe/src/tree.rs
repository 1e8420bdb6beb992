//! Trees of many small files, as programs leave them in their temp directories.

use std::path::Path;
use std::time::Instant;

use crate::Outcome;

const FILES_PER_FOLDER: usize = 500;

pub fn make(folder: &Path, files: usize) -> Outcome {
    for number in 0..files {
        let below = folder.join(format!("d{}/sub", number / FILES_PER_FOLDER));
        if number % FILES_PER_FOLDER == 0 {
            std::fs::create_dir_all(&below)?;
        }
        std::fs::write(below.join(format!("file-{number}")), b"some text")?;
    }
    // What was written must not go to the disk while something is measured.
    // SAFETY: sync(2) takes nothing and touches no memory.
    unsafe { libc::sync() };
    Ok(())
}

pub fn bury(base: &Path, folder: &Path) -> Outcome<u64> {
    let began = Instant::now();
    carillon_tidy::trash::bury(base, &carillon_tidy::trash::name("000000"), folder)?;
    Ok(began.elapsed().as_nanos() as u64)
}
