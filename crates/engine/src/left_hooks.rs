//! What hooks had to tell while no engine was there: it lies in the run's directory, and the next engine
//! hears it. Without this the end of a turn, and the answer with it, would be lost with a restart.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_store::runs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;
use crate::host::Host;
use crate::main_loop::MainLoop;

const PREFIX: &str = "hook-";

/// What a hook had to tell.
#[derive(Serialize, Deserialize)]
pub(crate) struct Left {
    pub(crate) event: String,
    pub(crate) data: Value,
    /// None: left by an older version.
    #[serde(default)]
    pub(crate) id: Option<String>,
}

/// Leaves what a hook has to tell for the next engine. It is not synced: when the machine dies, the
/// program whose turn it was dies, too. `home`: the data directory. `id`: as in [`Engine::hear_hook`].
///
/// # Errors
/// When the run has no directory any more, or too many of them lie there.
pub fn leave(home: &Path, run: &str, event: &str, data: &Value, id: &str) -> io::Result<PathBuf> {
    let run = RunId::parse(run).map_err(io::Error::other)?;
    let dir = home.join("runs").join(run.as_str());
    if names_in(&dir)?.len() >= limits::HOOKS_LEFT_MAX {
        return Err(io::ErrorKind::QuotaExceeded.into());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let file = dir.join(format!("{PREFIX}{now:020}-{}", std::process::id()));
    let part = dir.join(format!("part-{}", std::process::id()));
    let left = Left { event: event.to_owned(), data: data.clone(), id: Some(id.to_owned()) };
    let mut out = File::options().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    out.write_all(&serde_json::to_vec(&left)?)?;
    std::fs::rename(&part, &file)?;
    Ok(file)
}

/// Takes back what was left; false when an engine has it already.
pub fn take_back(file: &Path) -> bool {
    std::fs::remove_file(file).is_ok()
}

impl Engine {
    /// Hears what was left for it. To be called once the API is open: whoever leaves something after
    /// that finds the API first. What lay there before was heard by the boot.
    pub fn hear_left_hooks(&self) {
        let host = self.inner.host.clone();
        let heard = self.request_blocking(move |inner| inner.hear_all_left(&host));
        if let Err(error) = heard {
            tracing::error!(%error, "what hooks have left cannot be heard; the next start does it");
        }
    }
}

impl MainLoop {
    /// Hears what hooks have left in the directories of runs that are not over in the ledger. Each file goes once what
    /// it says is kept: after a crash in between it is heard once more, and known by its id.
    pub(crate) fn hear_all_left(&mut self, host: &Host) -> Result<(), Error> {
        let live = self.store.read(runs::live)?;
        for run in live.iter().filter(|run| run.agent.is_some()) {
            let dir = host.run_dir(&run.id);
            for name in names_in(&dir).unwrap_or_default() {
                let file = dir.join(name);
                let Some(left) = read(&file) else { continue };
                match self.wholly(|this| this.hear_left(host, &run.id, &left)) {
                    Ok(()) => self.act_later(move |_, _| {
                        take_back(&file);
                    }),
                    Err(error) => {
                        tracing::error!(%error, run = %run.id, event = left.event, "what a hook has left could not be heard; the next start does it");
                    }
                }
            }
        }
        Ok(())
    }
}

/// In the order in which they were left.
fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let names = std::fs::read_dir(dir)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    names.sort();
    Ok(names)
}

fn read(file: &Path) -> Option<Left> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_is_found_in_its_order_and_taken_once() {
        let home = tempfile::tempdir().expect("a directory");
        let run = "0123456789abcdef0123456789abcdef";
        let dir = home.path().join("runs").join(run);
        assert!(leave(home.path(), run, "Stop", &Value::Null, "h").is_err(), "the run is gone");
        assert!(leave(home.path(), "../../etc", "Stop", &Value::Null, "h").is_err());
        std::fs::create_dir_all(&dir).expect("a directory");
        let files: Vec<PathBuf> = (0..3)
            .map(|n| leave(home.path(), run, "Stop", &json!({"n": n}), "h").expect("a place"))
            .collect();
        let found: Vec<PathBuf> = names_in(&dir).expect("names").iter().map(|name| dir.join(name)).collect();
        assert_eq!(found, files);
        let left = read(&files[1]).expect("what was left");
        assert_eq!((left.event.as_str(), left.data), ("Stop", json!({"n": 1})));
        assert_eq!(left.id.as_deref(), Some("h"));
        let older: Left = serde_json::from_str(r#"{"event":"Stop","data":null}"#).expect("an older one");
        assert_eq!(older.id, None);
        assert!(take_back(&files[1]) && !take_back(&files[1]));
        for _ in 0..limits::HOOKS_LEFT_MAX {
            let _ = leave(home.path(), run, "Stop", &Value::Null, "h");
        }
        assert_eq!(names_in(&dir).expect("names").len(), limits::HOOKS_LEFT_MAX, "and no more");
    }
}
