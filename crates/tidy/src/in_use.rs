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

/// A directory, and the run that it was made for. An empty `run` asks for no marker.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The directory.
    pub path: &'a Path,
    /// The run.
    pub run: &'a str,
}

/// All processes that use the directory `path` or anything below it, or that carry the marker of `run`; in the
/// order of their pids, without ourselves. An empty `run` asks for no marker.
///
/// Processes of other users are seen only as far as the system lets us read them.
pub fn holders(path: &Path, run: &str) -> Vec<Holder> {
    holders_of(&[Subject { path, run }]).pop().unwrap_or_default()
}

/// As [`holders`] for each of many directories, looking at each process once.
pub fn holders_of(subjects: &[Subject<'_>]) -> Vec<Vec<Holder>> {
    // The system shows paths without links, so the directory has to be named in the same way.
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let roots: Vec<PathBuf> = subjects.iter().map(|subject| resolved(subject.path)).collect();
    let sockets = linux::bound_sockets(Path::new("/"));
    let mut found: Vec<Vec<Holder>> = subjects.iter().map(|_| Vec::new()).collect();
    let mut pids = linux::pids();
    pids.sort_unstable();
    for pid in pids.into_iter().filter(|pid| *pid != std::process::id()) {
        let process = Process::look_at(pid, &sockets);
        let mut name = None;
        for ((subject, root), found) in subjects.iter().zip(&roots).zip(&mut found) {
            let Some(how) = process.how_it_holds(root, subject) else { continue };
            let name = name.get_or_insert_with(|| linux::stat(pid).map(|stat| stat.name));
            // Without a name it ended while we looked.
            let Some(name) = name.clone() else { continue };
            found.push(Holder { pid, name, how });
        }
    }
    found
}

/// What of a process can hold a directory.
struct Process {
    cwd: Option<PathBuf>,
    files: Vec<PathBuf>,
    environment: Vec<Vec<u8>>,
}

impl Process {
    fn look_at(pid: u32, sockets: &[(std::ffi::OsString, PathBuf)]) -> Self {
        Self {
            cwd: linux::working_directory(pid),
            files: linux::open_files(pid, sockets),
            environment: linux::environment(pid),
        }
    }

    fn how_it_holds(&self, root: &Path, subject: &Subject<'_>) -> Option<How> {
        if self.cwd.as_ref().is_some_and(|cwd| cwd.starts_with(root)) {
            return Some(How::Cwd);
        }
        if self.files.iter().any(|file| file.starts_with(root)) {
            return Some(How::OpenFile);
        }
        let variable = |name: &str| linux::variable(&self.environment, name);
        if !subject.run.is_empty() && variable(RUN_MARKER).is_some_and(|marker| marker == subject.run) {
            return Some(How::Marker);
        }
        // A variable may name the directory through a link in its parents, as the caller may.
        let leads_there = |name: &str| {
            let leads = |value: &Path| value.starts_with(root) || value.starts_with(subject.path);
            variable(name).is_some_and(|value| leads(Path::new(value)))
        };
        TEMP_VARIABLES.iter().any(|name| leads_there(name)).then_some(How::TempVariable)
    }
}
