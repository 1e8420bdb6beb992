//! Asking git about a repository.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;

/// git, without the variables that would make it look at another repository than `dir`.
pub(crate) fn git(dir: &Path) -> Command {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            git.env_remove(name);
        }
    }
    git.arg("-C").arg(dir).stdin(Stdio::null()).env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git
}

/// The top directory of the repository that `path` lies in, resolved.
pub(crate) fn top_level(path: &Path) -> Result<String, Error> {
    if !path.is_absolute() {
        let message = format!("{path:?} is not an absolute path");
        return Err(Error::invalid(message, "give the whole path"));
    }
    let shown = path.display();
    let meta = std::fs::metadata(path)
        .map_err(|e| Error::failed(format!("{shown} cannot be opened: {e}"), "check the path"))?;
    if !meta.is_dir() {
        return Err(Error::failed(format!("{shown} is not a directory"), "give the repository's directory"));
    }
    let output = git(path).args(["rev-parse", "--show-toplevel"]).output().map_err(|e| {
        Error::failed(format!("git could not be started: {e}"), "install git, or put it on your PATH")
    })?;
    if !output.status.success() {
        return Err(not_a_repository(path, &output.stderr));
    }
    let top = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    // SAFETY-free: git printed these bytes as a path of this system.
    let top = Path::new(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(top));
    let top = std::fs::canonicalize(top)
        .map_err(|e| Error::failed(format!("{} cannot be opened: {e}", top.display()), "check the path"))?;
    top.into_os_string()
        .into_string()
        .map_err(|top| Error::failed(format!("the path {top:?} is not UTF-8"), "rename the directory"))
}

fn not_a_repository(path: &Path, stderr: &[u8]) -> Error {
    let said = String::from_utf8_lossy(stderr);
    let shown = path.display();
    if said.contains("not a git repository") {
        let hint = format!("run `git init {shown}` to make it one, or choose another directory");
        return Error::failed(format!("{shown} is not a git repository"), &hint);
    }
    if said.contains("dubious ownership") {
        let hint = format!("run `git config --global --add safe.directory {shown}` if you trust it");
        return Error::failed(format!("git does not trust {shown}: another user owns it"), &hint);
    }
    if said.contains("must be run in a work tree") {
        return Error::failed(
            format!("{shown} has no files of its own: it is a bare repository, or the inside of .git"),
            "open a checkout of it",
        );
    }
    let first = said.lines().next().unwrap_or("git said nothing").to_owned();
    Error::failed(format!("git cannot open {shown}: {first}"), "try `git status` there")
}
