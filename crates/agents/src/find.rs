//! Finding a program in the way that a shell would, with a reason when it cannot be started.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

/// The longest first line of a script that names its interpreter, in bytes. Longer ones the system cuts.
const SHEBANG_MAX: u64 = 256;

/// Why a program cannot be started. Each text names the program, the reason and a way out.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No program was named.
    #[error("no program is named; give the name of a program on the PATH or the path of one")]
    Empty,
    /// Nothing of this name in any directory of the PATH.
    #[error(
        "{program} was not found in any directory of the PATH ({}); install it, or give its full path",
        path_var.display()
    )]
    NotOnPath {
        /// The program as it was named.
        program: String,
        /// The PATH that was searched.
        path_var: OsString,
    },
    /// Nothing at this path.
    #[error("{program} was not found: there is no {}; check the path, or install the program", path.display())]
    NotFound {
        /// The program as it was named.
        program: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is a file, but we may not run it.
    #[error("{program} cannot be started: {0} is not executable; run: chmod +x '{0}'", path.display())]
    NotExecutable {
        /// The program as it was named.
        program: String,
        /// The file.
        path: PathBuf,
    },
    /// There is a directory of this name.
    #[error("{program} cannot be started: {} is a directory; give the path of a program in it", path.display())]
    IsDirectory {
        /// The program as it was named.
        program: String,
        /// The directory.
        path: PathBuf,
    },
    /// It is a script whose interpreter is not there, which the system reports as if the script were missing.
    #[error(
        "{program} cannot be started: {} is a script for {}, which is not there; install that, or correct the \
         first line of the script",
        path.display(),
        interpreter.display()
    )]
    NoInterpreter {
        /// The program as it was named.
        program: String,
        /// The script.
        path: PathBuf,
        /// What its first line names.
        interpreter: PathBuf,
    },
    /// The system does not let us look.
    #[error("{program} cannot be examined at {}: {source}; check who may read the directories above it", path.display())]
    Unreadable {
        /// The program as it was named.
        program: String,
        /// Where.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Finds `program`. A name without a slash is looked for in the directories of `path_var`, of which the first
/// that holds an executable file of this name counts; an empty or relative entry is meant from `cwd`. A name
/// with a slash is a path, from `cwd` when it is relative.
///
/// # Errors
/// What is in the way, see [`FindError`]. A file on the PATH that is not executable is reported only when no
/// later directory has an executable one.
pub fn resolve_program(program: &str, path_var: &OsStr, cwd: &Path) -> Result<PathBuf, FindError> {
    if program.is_empty() {
        return Err(FindError::Empty);
    }
    if program.contains('/') {
        return examine(program, cwd.join(program));
    }
    let mut in_the_way = None;
    for dir in path_var.as_bytes().split(|byte| *byte == b':') {
        match examine(program, cwd.join(OsStr::from_bytes(dir)).join(program)) {
            Ok(path) => return Ok(path),
            Err(FindError::NotFound { .. } | FindError::Unreadable { .. }) => {}
            Err(error) => {
                in_the_way.get_or_insert(error);
            }
        }
    }
    let not_found =
        || FindError::NotOnPath { program: program.to_owned(), path_var: path_var.to_os_string() };
    Err(in_the_way.unwrap_or_else(not_found))
}

fn examine(program: &str, path: PathBuf) -> Result<PathBuf, FindError> {
    let program = program.to_owned();
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(FindError::NotFound { program, path });
        }
        Err(source) => return Err(FindError::Unreadable { program, path, source }),
    };
    if metadata.is_dir() {
        return Err(FindError::IsDirectory { program, path });
    }
    let may_run = rustix::fs::accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    if !metadata.is_file() || !may_run {
        return Err(FindError::NotExecutable { program, path });
    }
    match interpreter(&path) {
        Some(interpreter) if !interpreter.exists() => {
            Err(FindError::NoInterpreter { program, path, interpreter })
        }
        Some(_) | None => Ok(path),
    }
}

/// What the first line of a script names. Nothing for a program of another kind, or one that we may not read.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(SHEBANG_MAX).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    let interpreter = PathBuf::from(OsString::from_vec(word.to_vec()));
    // A relative one depends on the directory that the script is started in.
    interpreter.is_absolute().then_some(interpreter)
}
