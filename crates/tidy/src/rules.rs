//! A project's own rules: `carillon.toml` at its root. This is the one place that knows its sections and keys.
//! All of it is optional; an unknown key is refused by name, so that a typing error never passes for a rule.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The name of the file at the root of a project.
pub const FILE_NAME: &str = "carillon.toml";
/// Largest file that is read, in bytes.
const BYTES_MAX: u64 = 256 * 1024;
/// Most patterns of one kind.
const PATTERNS_MAX: usize = 200;

/// What the file may say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sections {
    /// What a project's programs leave behind.
    pub residue: Residue,
    /// How the project's workdirs are made.
    pub workdirs: Workdirs,
    /// How the project's tasks run.
    pub tasks: Tasks,
    /// How much room the temp directories of the project's runs may take.
    pub temp: Temp,
}

/// `[residue]`: patterns of names. Nothing that they do not name is ever touched by a guard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Residue {
    /// Directories, from the root of the repository; only the last part of a path may be a pattern.
    pub directories: Vec<String>,
    /// Branches. A `*` does not match a `/`.
    pub branches: Vec<String>,
    /// Directories that hold worktrees, from the root of the repository.
    pub worktree_roots: Vec<String>,
    /// Entries of the directory for temporary files.
    pub temp: Vec<String>,
    /// Whether the headless turns of agents are guarded, too.
    pub auto: bool,
}

/// `[workdirs]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workdirs {
    /// Ignored files that a new workdir gets a copy of, from the root of the repository.
    pub copy: Vec<String>,
    /// Commands that are run in a new workdir.
    pub setup: Vec<String>,
    /// The branch that workdirs begin from and are merged into.
    pub base: Option<String>,
}

/// `[tasks]`, as it is written. What the numbers may be is decided where tasks are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tasks {
    /// Tasks that run at a time.
    pub concurrent: Option<u32>,
    /// The time-out of a task, like `2h`.
    pub timeout: Option<String>,
    /// The cap of a log, like `64MiB`.
    pub log_max: Option<String>,
}

/// `[temp]`, as it is written: how much room the temp directory of one run may take.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Temp {
    /// A run that takes more is named to the user, like `5GiB`.
    pub warn: Option<String>,
    /// A run that takes more is ended, like `50GiB`.
    pub max: Option<String>,
    /// The same as `warn`, in files and directories.
    pub warn_files: Option<u64>,
    /// The same as `max`, in files and directories.
    pub max_files: Option<u64>,
}

/// Reads the file at `path`; none when there is none.
///
/// # Errors
/// [`Error::Rules`] when it cannot be read, is no file of a sensible size, or says something that has no meaning.
pub fn read(path: &Path) -> Result<Option<Sections>, Error> {
    let bad = |why: String| Error::Rules { path: path.to_path_buf(), why };
    // A pipe in its place makes nobody wait.
    let opened = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(bad(error.to_string())),
    };
    if !file.metadata().map_err(|error| bad(error.to_string()))?.is_file() {
        return Err(bad("it is not a file".to_owned()));
    }
    let mut text = String::new();
    file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| bad(error.to_string()))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(bad(format!("it has more than {BYTES_MAX} bytes")));
    }
    parse(&text).map(Some).map_err(bad)
}

/// Reads the sections from the text of such a file. The error is a sentence that names what is wrong.
pub fn parse(text: &str) -> Result<Sections, String> {
    let sections: Sections = toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())?;
    Rules::compile(&sections.residue)?;
    for path in &sections.workdirs.copy {
        relative(path).map_err(|why| format!("workdirs.copy: {why}"))?;
    }
    Ok(sections)
}

/// The rules of `[residue]`, ready to be matched.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// For each rule the directory that is listed, and the pattern of the names in it.
    pub(crate) directories: Vec<(PathBuf, Pattern)>,
    pub(crate) branches: Vec<Pattern>,
    pub(crate) worktree_roots: Vec<PathBuf>,
    pub(crate) temp: Vec<Pattern>,
}

impl Rules {
    /// Checks and compiles the patterns. The error is a sentence that names the pattern.
    pub fn compile(residue: &Residue) -> Result<Rules, String> {
        let lists = [
            ("directories", &residue.directories),
            ("branches", &residue.branches),
            ("worktree_roots", &residue.worktree_roots),
            ("temp", &residue.temp),
        ];
        if let Some((key, _)) = lists.iter().find(|(_, list)| list.len() > PATTERNS_MAX) {
            return Err(format!("residue.{key} has more than {PATTERNS_MAX} entries"));
        }
        let named = |key: &'static str| move |why: String| format!("residue.{key}: {why}");
        Ok(Rules {
            directories: each(&residue.directories, directory).map_err(named("directories"))?,
            branches: each(&residue.branches, narrow).map_err(named("branches"))?,
            worktree_roots: each(&residue.worktree_roots, relative).map_err(named("worktree_roots"))?,
            temp: each(&residue.temp, entry).map_err(named("temp"))?,
        })
    }

    /// Whether nothing is watched at all.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
            && self.branches.is_empty()
            && self.worktree_roots.is_empty()
            && self.temp.is_empty()
    }
}

/// Whether a name matches. Bytes that are no text match as a `?` does.
pub(crate) fn matches(pattern: &Pattern, name: &OsStr) -> bool {
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    pattern.matches_with(&name.to_string_lossy(), options)
}

fn each<T>(list: &[String], one: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    list.iter().map(|text| one(text)).collect()
}

/// A pattern that says something about the name. One of wildcards alone would match what was never meant.
fn narrow(text: &str) -> Result<Pattern, String> {
    let pattern = Pattern::new(text).map_err(|error| format!("{text:?} is not a pattern: {}", error.msg))?;
    let mut in_brackets = false;
    let says_something = text.chars().any(|letter| {
        in_brackets = letter == '[' || (in_brackets && letter != ']');
        !in_brackets && letter.is_alphanumeric()
    });
    if says_something { Ok(pattern) } else { Err(format!("{text:?} would match nearly everything")) }
}

fn entry(text: &str) -> Result<Pattern, String> {
    if text.contains('/') {
        return Err(format!("{text:?} must be the name of one entry, without /"));
    }
    narrow(text)
}

fn directory(text: &str) -> Result<(PathBuf, Pattern), String> {
    let path = relative(text)?;
    let parent = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if parent.as_os_str().to_string_lossy().contains(['*', '?', '[']) {
        return Err(format!("{text:?}: only the last part of the path may be a pattern"));
    }
    Ok((parent, narrow(name)?))
}

/// A path that stays below the root of the repository, and out of `.git`.
fn relative(text: &str) -> Result<PathBuf, String> {
    let path: PathBuf = Path::new(text).components().filter(|part| *part != Component::CurDir).collect();
    let plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        return Err(format!("{text:?} must be a path below the root of the repository, without .. and .git"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residue(text: &str) -> Result<Sections, String> {
        parse(&format!("[residue]\n{text}"))
    }

    #[test]
    fn a_whole_file_is_read_and_what_is_unknown_is_named() {
        let text = "[residue]\ndirectories = [\"a/test-*\"]\nbranches = [\"kitty/test-*\"]\nworktree_roots = \
                    [\".worktrees\"]\ntemp = [\"spec-*\"]\nauto = true\n[workdirs]\ncopy = [\".env\"]\nsetup = [\"npm \
                    ci\"]\nbase = \"main\"\n[tasks]\nconcurrent = 8\n";
        let sections = parse(text).expect("a valid file");
        assert!(sections.residue.auto && sections.workdirs.base.as_deref() == Some("main"));
        assert_eq!(sections.tasks.concurrent, Some(8));
        for (text, named) in [
            ("[residue]\nbranch = [\"a\"]", "branch"),
            ("[workdirs]\nsetups = []", "setups"),
            ("[residues]\n", "residues"),
            ("[tasks]\nconcurent = 2", "concurent"),
            ("[temp]\nwarn_bytes = 2", "warn_bytes"),
        ] {
            let why = parse(text).expect_err(text);
            assert!(why.contains(named), "{why}");
        }
        assert_eq!(parse(""), Ok(Sections::default()));
    }

    #[test]
    fn patterns_that_would_match_nearly_everything_are_refused() {
        for bad in ["*", "**", "?*", "[a-z]*", "", "***"] {
            assert!(residue(&format!("branches = [\"{bad}\"]")).is_err(), "{bad}");
            assert!(residue(&format!("temp = [\"{bad}\"]")).is_err(), "{bad}");
            assert!(residue(&format!("directories = [\"{bad}\"]")).is_err(), "{bad}");
        }
        assert!(residue("temp = [\"a/b-*\"]").is_err());
        assert!(residue("directories = [\"a*/test-*\"]").is_err());
        for bad in ["/abs/x-*", "../x-*", "a/../../x-*", ".git/x-*", ".git"] {
            assert!(residue(&format!("directories = [\"{bad}\"]")).is_err(), "{bad}");
            assert!(residue(&format!("worktree_roots = [\"{bad}\"]")).is_err(), "{bad}");
        }
        assert!(residue("worktree_roots = [\".\"]").is_err());
    }

    #[test]
    fn a_star_does_not_cross_a_slash() {
        let rules = Rules::compile(&Residue { branches: vec!["t/x-*".to_owned()], ..Residue::default() });
        let rules = rules.expect("a pattern");
        assert!(matches(&rules.branches[0], OsStr::new("t/x-1")));
        assert!(!matches(&rules.branches[0], OsStr::new("t/x-1/y")));
    }
}
