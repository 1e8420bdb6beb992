//! Finding the program of a run, and saying in words why it could not be started.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for when the environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The file to execute for `program`: a name without a slash is looked up in `path`, a relative path
/// counts from `cwd`. The error is a sentence for the user.
pub(crate) fn resolve(program: &str, cwd: &Path, path: Option<&OsStr>) -> Result<PathBuf, String> {
    check_directory(cwd)?;
    if program.is_empty() {
        return Err("the program's name is empty".to_owned());
    }
    if program.contains('/') {
        let file = cwd.join(program);
        return match refusal(&file) {
            None => Ok(file),
            Some(why) => Err(format!("cannot start {program}: {why}")),
        };
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut not_executable = None;
    for dir in path.as_bytes().split(|b| *b == b':') {
        // An empty entry means the current directory, as for every shell.
        let file = cwd.join(OsStr::from_bytes(dir)).join(program);
        match refusal(&file) {
            None => return Ok(file),
            Some(_) if file.is_file() => not_executable = Some(file),
            Some(_) => {}
        }
    }
    Err(match not_executable {
        Some(file) => format!("cannot start {program}: {} is not executable", file.display()),
        None => format!("cannot start {program}: it was not found on PATH ({})", path.to_string_lossy()),
    })
}

/// The sentence for an exec that failed although the file looked right.
pub(crate) fn explain(program: &str, file: &Path, cwd: &Path, error: &io::Error) -> String {
    if let Err(gone) = check_directory(cwd) {
        return gone;
    }
    let why = match error.raw_os_error() {
        Some(libc::ENOENT) if file.exists() => match interpreter(file) {
            Some(name) => format!("its interpreter {name} is not there"),
            None => "the loader that it needs is not there".to_owned(),
        },
        Some(libc::ENOENT) => "it is not there any more".to_owned(),
        Some(libc::E2BIG) => "its arguments and environment are too long".to_owned(),
        Some(libc::ENOEXEC) => "it is no program for this machine".to_owned(),
        _ => error.to_string(),
    };
    format!("cannot start {program}: {why}")
}

fn check_directory(cwd: &Path) -> Result<(), String> {
    match std::fs::metadata(cwd) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is not a directory", cwd.display())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(format!("the directory {} is not there", cwd.display()))
        }
        Err(e) => Err(format!("cannot use the directory {}: {e}", cwd.display())),
    }
}

/// Why a file cannot be executed by us; None when it can.
fn refusal(file: &Path) -> Option<String> {
    match std::fs::metadata(file) {
        Ok(meta) if meta.is_dir() => Some("it is a directory".to_owned()),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Some("it is not executable".to_owned()),
        Ok(_) => {
            let access = rustix::fs::access(file, rustix::fs::Access::EXEC_OK);
            access.is_err().then(|| "we may not execute it".to_owned())
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some("it is not there".to_owned()),
        Err(e) => Some(e.to_string()),
    }
}

/// What stands behind `#!` in the first line of a script.
fn interpreter(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let text = String::from_utf8_lossy(line);
    text.split_ascii_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(dir: &Path, name: &str, mode: u32) -> PathBuf {
        let file = dir.join(name);
        std::fs::write(&file, "#!/no/such/interpreter -x\n").expect("write");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("mode");
        file
    }

    #[test]
    fn a_name_is_looked_up_on_path_and_a_path_counts_from_the_directory() {
        let temp = tempfile::tempdir().expect("temp");
        let (first, second) = (temp.path().join("a"), temp.path().join("b"));
        std::fs::create_dir_all(&first).expect("dir");
        std::fs::create_dir_all(second.join("tool")).expect("dir");
        let tool = script(&first, "tool", 0o755);
        let path = std::env::join_paths([&second, &first]).expect("path");
        let found = |program| resolve(program, temp.path(), Some(&path));
        assert_eq!(found("tool"), Ok(tool.clone()), "a directory is no program");
        assert_eq!(found("a/tool").map(|f| f.is_file()), Ok(true));
        let here = resolve("tool", &first, Some(OsStr::new("/nowhere:")));
        assert_eq!(here.map(|f| f.is_file()), Ok(true));
    }

    #[test]
    fn each_refusal_names_the_program_and_its_reason() {
        let temp = tempfile::tempdir().expect("temp");
        script(temp.path(), "plain", 0o644);
        let path = Some(temp.path().as_os_str());
        let said = |program: &str| resolve(program, temp.path(), path).expect_err("refused");
        for (program, reason) in [
            ("absent", "not found on PATH"),
            ("plain", "is not executable"),
            ("./plain", "is not executable"),
            ("./absent", "is not there"),
            ("/", "is a directory"),
        ] {
            let sentence = said(program);
            assert!(sentence.contains(program), "{sentence}");
            assert!(sentence.contains(reason), "{sentence}");
        }
        let gone = resolve("sh", &temp.path().join("gone"), None).expect_err("refused");
        assert!(gone.contains("gone is not there"), "{gone}");
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let temp = tempfile::tempdir().expect("temp");
        let file = script(temp.path(), "tool", 0o755);
        let error = io::Error::from_raw_os_error(libc::ENOENT);
        let sentence = explain("tool", &file, temp.path(), &error);
        assert!(sentence.contains("/no/such/interpreter"), "{sentence}");
    }
}
