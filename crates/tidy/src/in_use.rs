//! Who still uses a directory. The lease says whether the run is alive; this says which processes would lose
//! something if the directory went: their working directory, an open file, their temp.

use std::path::{Path, PathBuf};

use crate::linux;

/// The variables by which a process is told where its temp is.
const TEMP_VARIABLES: [&str; 4] = ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"];

/// The variable by which every process of a run is marked.
pub const RUN_MARKER: &str = "CARILLON_RUN";

/// A process that uses a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// The short name of its program.
    pub name: String,
    /// How it uses the directory: the strongest of the ways that hold.
    pub how: How,
}

/// A way to use a directory, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Its working directory is there.
    Cwd,
    /// It has a file, a directory or a bound socket open there, has one mapped, or runs a program from there.
    OpenFile,
    /// It carries the run's marker in its environment.
    Marker,
    /// One of its temp variables leads there.
    TempVariable,
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            How::Cwd => "its working directory is there",
            How::OpenFile => "it has a file open there",
            How::Marker => "it belongs to the run",
            How::TempVariable => "its temp directory is there",
        })
    }
}

/// All processes that use the directory `path` or anything below it, or that carry the marker of `run`; in the
/// order of their pids, without ourselves. An empty `run` asks for no marker.
///
/// Processes of other users are seen only as far as the system lets us read them.
pub fn holders(path: &Path, run: &str) -> Vec<Holder> {
    // The system shows paths without links, so the directory has to be named in the same way.
    let root = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let sockets = linux::bound_sockets(&root);
    let ourselves = std::process::id();
    let mut found: Vec<Holder> = linux::pids()
        .into_iter()
        .filter(|pid| *pid != ourselves)
        .filter_map(|pid| {
            let how = how_it_holds(pid, &root, path, run, &sockets)?;
            let name = linux::stat(pid)?.name;
            Some(Holder { pid, name, how })
        })
        .collect();
    found.sort_by_key(|holder| holder.pid);
    found
}

fn how_it_holds(
    pid: u32,
    root: &Path,
    as_given: &Path,
    run: &str,
    sockets: &[(std::ffi::OsString, PathBuf)],
) -> Option<How> {
    if linux::working_directory(pid).is_some_and(|cwd| cwd.starts_with(root)) {
        return Some(How::Cwd);
    }
    if linux::open_files(pid, sockets).iter().any(|file| file.starts_with(root)) {
        return Some(How::OpenFile);
    }
    let environment = linux::environment(pid);
    if !run.is_empty() && linux::variable(&environment, RUN_MARKER).is_some_and(|marker| marker == run) {
        return Some(How::Marker);
    }
    // A variable may name the directory through a link in its parents, as the caller may.
    let leads_there = |name: &str| {
        linux::variable(&environment, name)
            .map(Path::new)
            .is_some_and(|value| value.starts_with(root) || value.starts_with(as_given))
    };
    TEMP_VARIABLES.iter().any(|name| leads_there(name)).then_some(How::TempVariable)
}
