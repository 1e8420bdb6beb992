//! Who tells by a hook: the program of a run, or another one of its kind that an agent has started in its shell. Such a
//! program inherits the hooks with the environment, and the end of its turn is none of the outer one's.
//!
//! For the process that a hook calls. The first one to tell of a run is its program: whatever that starts, it has told of
//! its own beginning before. Which process that is stands in the run's directory, so it outlives the engine.

use std::path::Path;

use carillon_core::id::RunId;

use crate::host::linux;
use crate::requests::is_own_word;

/// The process that tells of the run.
const TELLER: &str = "teller";

/// Hooks are called through these.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "busybox"];

/// Above the hook there are a shell and the program; more than so many are no chain of those.
const ANCESTORS_MAX: usize = 8;

/// A process, for as long as this boot lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teller {
    /// Its number.
    pub pid: u32,
    /// When it began, in clock ticks since the boot.
    start_time: u64,
}

impl Teller {
    fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start_time: linux::stat(pid).filter(|stat| !stat.is_zombie)?.start_time })
    }

    /// The program that has called a hook, which is this process.
    pub fn of_this_hook() -> Option<Self> {
        let mut pid = linux::stat(std::process::id())?.parent;
        let mut last = None;
        for _ in 0..ANCESTORS_MAX {
            let name = linux::name(pid)?;
            // Programs that are shells themselves stand right below the supervisor.
            if name == "carillon" {
                break;
            }
            last = Some(pid);
            if !SHELLS.contains(&name.as_str()) {
                break;
            }
            pid = linux::stat(pid)?.parent;
        }
        Self::of(last?)
    }
}

/// Whether what a hook tells is of the run's own program. When that cannot be known, it is. `home`: the data directory.
pub fn is_of_own_program(home: &Path, run: &str, event: &str, teller: Option<Teller>) -> bool {
    // Who uses our own words was made for us, and says whose end it means.
    if is_own_word(event) {
        return true;
    }
    let (Ok(run), Some(teller)) = (RunId::parse(run), teller) else { return true };
    let file = home.join("runs").join(run.as_str()).join(TELLER);
    match std::fs::read_to_string(&file).ok().and_then(|text| parse(&text)) {
        // Another one counts once the first is gone: a script may start it again.
        Some(first) if first != teller && Teller::of(first.pid) == Some(first) => return false,
        Some(first) if first == teller => return true,
        Some(_) | None => {}
    }
    let part = file.with_file_name(format!("part-{}", std::process::id()));
    let text = format!("{} {}\n", teller.pid, teller.start_time);
    // A run whose directory is gone is over, and nobody will hear of it.
    let _ = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &file));
    true
}

fn parse(text: &str) -> Option<Teller> {
    let (pid, start_time) = text.trim().split_once(' ')?;
    Some(Teller { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn the_first_one_to_tell_is_believed_until_it_is_gone() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(home.path().join("runs").join(RUN)).expect("a directory");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let first = Teller::of(child.id());
        let inner = Teller::of(std::process::id());
        assert!(first.is_some() && inner.is_some());
        let is_own = |event: &str, teller| is_of_own_program(home.path(), RUN, event, teller);
        assert!(is_own("SessionStart", first) && is_own("AfterAgent", first));
        assert!(!is_own("SessionStart", inner) && !is_own("AfterAgent", inner), "it is within the first");
        assert!(is_own("AfterAgent", None), "who cannot be found is believed");
        assert!(is_own("turn_ended", inner), "our own words are meant as they are");
        child.kill().and_then(|()| child.wait()).expect("ours");
        assert!(is_own("SessionStart", inner), "it was started again");
        assert!(is_of_own_program(home.path(), "../../etc", "AfterAgent", inner));
    }
}
