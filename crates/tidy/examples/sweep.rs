//! Measures emptying a trash of many files against `rm -rf` of the same tree.
//!
//! `cargo run --release -p carillon-tidy --example sweep [FILES] [DIRECTORY]` prints the times of three rounds
//! each, in turn, and the ratio of the best ones.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use carillon_tidy::trash;

const FILES_PER_DIRECTORY: usize = 500;
const ROUNDS: usize = 3;

fn build(root: &Path, files: usize) -> std::io::Result<()> {
    for number in 0..files {
        let dir = root.join(format!("d{}/sub", number / FILES_PER_DIRECTORY));
        if number % FILES_PER_DIRECTORY == 0 {
            std::fs::create_dir_all(&dir)?;
        }
        std::fs::write(dir.join(format!("file-{number}")), b"some text")?;
    }
    // What was written must not go to the disk while the deletion is measured.
    rustix::fs::sync();
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let files = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let place = PathBuf::from(arguments.next().unwrap_or_else(|| "/var/tmp".to_owned()));
    let base = place.join(format!("carillon-sweep-{}", std::process::id()));
    let mut best = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        for (way, best) in best.iter_mut().enumerate() {
            let tree = base.join("tree");
            build(&tree, files)?;
            let begun = Instant::now();
            let took = if way == 0 {
                std::process::Command::new("rm").arg("-rf").arg(&tree).status()?;
                begun.elapsed()
            } else {
                trash::bury(&base, &trash::name("000000"), &tree)?;
                let buried = begun.elapsed();
                let emptied = trash::empty(&base.join(trash::name("000000")), None, &AtomicBool::new(false));
                assert!(emptied.complete, "{emptied:?}");
                println!("  buried in {buried:?}, {} entries, {} bytes", emptied.entries, emptied.bytes);
                begun.elapsed()
            };
            println!("round {round}: {} {took:?}", ["rm -rf", "sweep "][way]);
            *best = took.min(*best);
        }
    }
    std::fs::remove_dir_all(&base)?;
    println!(
        "best: rm -rf {:?}, sweep {:?}, ratio {:.2}",
        best[0],
        best[1],
        best[1].as_secs_f64() / best[0].as_secs_f64()
    );
    Ok(())
}
