//! Sweeps of trees that somebody changes under our hands. Whatever is swapped, nothing outside may be touched.

mod common;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use carillon_tidy::temp;
use carillon_tidy::trash::{bury, empty};
use common::{mkdir, on_disk, picture, write};
use rustix::fs::{CWD, RenameFlags, renameat_with};

const ROUNDS: usize = 1000;
/// How often the moment has to be hit before a race counts as tried.
const HITS: u32 = 15;

/// A directory in memory where there is one: there the races are run most often in the shortest time.
fn quick_place() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("ct").tempdir_in("/dev/shm").unwrap_or_else(|_| on_disk())
}

/// How many directories and links there are to swap. Between reading their names and coming to one of them the
/// sweep has all the others to do, which makes the moment long enough to be hit.
const PAIRS: usize = 6;

/// Swaps directories and links of these names until it is told to stop. Returns how often that worked.
fn flip(pairs: &[(PathBuf, PathBuf)], stop: &AtomicBool) -> usize {
    let mut flips = 0;
    while !stop.load(Ordering::Relaxed) {
        for (one, other) in pairs {
            flips += usize::from(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok());
        }
    }
    flips
}

#[test]
fn a_directory_that_is_swapped_for_a_link_leads_nowhere() {
    let place = quick_place();
    let victim = mkdir(place.path().join("victim"));
    for sub in ["sub", "other"] {
        write(mkdir(victim.join(sub)).join("precious"), "text");
    }
    let before = picture(&victim);
    let trash = mkdir(place.path().join(".trash-ab12cd"));
    let tree = trash.join("tree");
    let pairs: Vec<(PathBuf, PathBuf)> =
        (0..PAIRS).map(|pair| (tree.join(format!("d{pair}")), tree.join(format!("l{pair}")))).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flipper = scope.spawn(|| flip(&pairs, &stop));
        for round in 0..ROUNDS {
            mkdir(tree.clone());
            for (directory, link) in &pairs {
                // Either may be a link by now, which leads to the same names: nothing is created in the victim.
                let _ = std::fs::create_dir(directory);
                let _ = std::fs::create_dir(directory.join("sub"));
                let _ = symlink(&victim, link);
            }
            let emptied = empty(&trash, None, &AtomicBool::new(false));
            let after = picture(&victim);
            if after != before {
                stop.store(true, Ordering::Relaxed);
                panic!("round {round}: the victim was touched: {after:?}, {emptied:?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(flipper.join().expect("no panic") > ROUNDS, "hardly anything was swapped");
    });
}

#[test]
fn a_tree_that_is_moved_away_in_mid_descent_does_not_lead_the_sweep_after_it() {
    let place = quick_place();
    let victim = mkdir(place.path().join("victim"));
    let precious = write(victim.join("precious"), "text");
    let trash = mkdir(place.path().join(".trash-ab12cd"));
    // Deeper than the levels that a sweep keeps open, so that the way back up has to be found again.
    let below = vec!["n"; 200].join("/");
    let (moved, target) = (trash.join("tree/n/n"), victim.join("n"));
    let mut moved_in_mid_descent = 0;
    for round in 0..300 {
        if moved_in_mid_descent >= HITS {
            break;
        }
        mkdir(trash.join("tree").join(&below));
        let emptied = std::thread::scope(|scope| {
            scope.spawn(|| {
                let until = std::time::Instant::now() + std::time::Duration::from_micros(10 * (round % 100));
                while std::time::Instant::now() < until {
                    std::hint::spin_loop();
                }
                // In some rounds the sweep is quicker; then there is nothing to move.
                let _ = std::fs::rename(&moved, &target);
            });
            empty(&trash, None, &AtomicBool::new(false))
        });
        assert!(precious.exists(), "round {round}: the sweep followed the tree to where it was moved");
        moved_in_mid_descent += u32::from(emptied.refused.iter().any(|(_, why)| why.contains("moved")));
        if target.exists() {
            std::fs::remove_dir_all(&target).expect("it is ours");
        }
    }
    assert!(moved_in_mid_descent > 0, "no round hit the moment");
}

/// Whoever has emptied a trash removes it. What is on its way into it just then gets into the next one.
#[test]
fn a_trash_that_is_removed_under_a_burial_is_made_anew() {
    let base = quick_place();
    let trash = base.path().join(".trash-ab12cd");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                empty(&trash, None, &AtomicBool::new(false));
            }
        });
        let removing = scope.spawn(|| {
            let mut removed = 0;
            while removed < ROUNDS / 5 && !stop.load(Ordering::Relaxed) {
                removed += usize::from(std::fs::remove_dir(&trash).is_ok());
            }
        });
        let mut failed = None;
        for _ in 0..20 * ROUNDS {
            if removing.is_finished() || failed.is_some() {
                break;
            }
            failed = bury(base.path(), ".trash-ab12cd", &mkdir(base.path().join("tree"))).err();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(failed.is_none(), "{failed:?}");
    });
}

/// A namespace goes with the last directory in it. That this happens just now is no reason not to get one.
#[test]
fn a_namespace_that_goes_in_that_moment_is_made_again() {
    let place = tempfile::tempdir().expect("a directory");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // Only an empty one goes.
                let _ = std::fs::remove_dir(place.path().join("abcdef"));
            }
        });
        let made: Vec<_> = (0..2_000)
            .map(|_| {
                let made = temp::create(place.path(), "abcdef", &temp::random_name())?;
                std::fs::remove_dir(&made.path).expect("ours");
                Ok::<_, carillon_tidy::Error>(())
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        let failed: Vec<_> = made.into_iter().filter_map(Result::err).collect();
        assert!(failed.is_empty(), "{} of 2000, the first: {}", failed.len(), failed[0]);
    });
}
