//! The names that a guard looks at: of directories, husks, branches and temp entries. Names only, and only of
//! the directories that the rules name.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::git::list::{self, Repository};
use crate::rules::{Rules, matches};

/// A kind of what a guard looks at, in the order in which it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A directory that matches a pattern.
    Directory,
    /// An entry of a directory for worktrees.
    Husk,
    /// A branch.
    Branch,
    /// An entry of the directory for temporary files.
    Temp,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Directory, Kind::Husk, Kind::Branch, Kind::Temp];

    /// The kind in one word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Directory => "directory",
            Kind::Husk => "husk",
            Kind::Branch => "branch",
            Kind::Temp => "temp",
        }
    }
}

/// Where names are looked for.
#[derive(Debug)]
pub(super) struct Places {
    repository: Repository,
    /// The checkouts that are watched: the one that we stand in, and the main one.
    pub(super) roots: Vec<PathBuf>,
    pub(super) temp_dir: PathBuf,
    pub(super) rules: Rules,
}

impl Places {
    pub(super) fn new(repository: &Repository, rules: Rules, temp_dir: &Path) -> Places {
        let roots = roots_of(repository);
        let temp_dir = temp_dir.canonicalize().unwrap_or_else(|_| temp_dir.to_path_buf());
        Places { repository: repository.clone(), roots, temp_dir, rules }
    }

    /// The checkout that something lies in: the innermost one. None for what lies in none.
    pub(super) fn root_of(&self, kind: Kind, name: &OsStr) -> Option<&Path> {
        let path = match kind {
            Kind::Directory | Kind::Husk => Path::new(name),
            Kind::Branch | Kind::Temp => return None,
        };
        let roots = self.roots.iter().filter(|root| path.starts_with(root));
        roots.max_by_key(|root| root.as_os_str().len()).map(PathBuf::as_path)
    }

    /// The path of what was seen; none for a branch.
    pub(super) fn path<'a>(&self, kind: Kind, name: &'a OsStr) -> Option<&'a Path> {
        match kind {
            Kind::Directory | Kind::Husk | Kind::Temp => Some(Path::new(name)),
            Kind::Branch => None,
        }
    }

    /// A name as people know it.
    pub(super) fn shown(&self, kind: Kind, name: &OsStr) -> String {
        let top = match kind {
            Kind::Directory | Kind::Husk => self.roots.first(),
            Kind::Branch => None,
            Kind::Temp => Some(&self.temp_dir),
        };
        let path = Path::new(name);
        let short = top.and_then(|top| path.strip_prefix(top).ok()).unwrap_or(path);
        short.to_string_lossy().into_owned()
    }

    /// All names of one kind that match now.
    pub(super) fn list(&self, kind: Kind) -> Result<BTreeSet<OsString>, Error> {
        match kind {
            Kind::Directory => self.directories(),
            Kind::Husk => self.husks(),
            Kind::Branch => self.branches(),
            Kind::Temp if self.rules.temp.is_empty() => Ok(BTreeSet::new()),
            Kind::Temp => {
                let names = entries(&self.temp_dir, false)?;
                let is_meant = |name: &OsString| self.rules.temp.iter().any(|pattern| matches(pattern, name));
                Ok(names.into_iter().filter(is_meant).map(|name| self.temp_dir.join(name).into()).collect())
            }
        }
    }

    fn directories(&self) -> Result<BTreeSet<OsString>, Error> {
        let mut found = BTreeSet::new();
        for root in &self.roots {
            for (parent, pattern) in &self.rules.directories {
                let dir = root.join(parent);
                let names = entries(&dir, true)?;
                found.extend(
                    names.into_iter().filter(|name| matches(pattern, name)).map(|name| dir.join(name).into()),
                );
            }
        }
        Ok(found)
    }

    fn husks(&self) -> Result<BTreeSet<OsString>, Error> {
        let mut found = BTreeSet::new();
        for dir in
            self.roots.iter().flat_map(|root| self.rules.worktree_roots.iter().map(|dir| root.join(dir)))
        {
            found.extend(entries(&dir, true)?.into_iter().map(|name| dir.join(name).into()));
        }
        Ok(found)
    }

    fn branches(&self) -> Result<BTreeSet<OsString>, Error> {
        if self.rules.branches.is_empty() {
            return Ok(BTreeSet::new());
        }
        let prefixes: Option<BTreeSet<String>> =
            self.rules.branches.iter().map(|pattern| literal_parent(pattern.as_str())).collect();
        let prefixes: Vec<String> = prefixes.unwrap_or_default().into_iter().collect();
        let names = list::branches(&self.repository, &prefixes)?.into_iter().map(OsString::from);
        let is_meant = |name: &OsString| self.rules.branches.iter().any(|pattern| matches(pattern, name));
        Ok(names.filter(is_meant).collect())
    }
}

/// The checkouts that a guard in `repository` watches: the one that it stands in, and the main one, since
/// worktrees are made there also by who stands in another one.
pub(super) fn roots_of(repository: &Repository) -> Vec<PathBuf> {
    let mut roots = vec![repository.root.clone()];
    let main = repository.common_dir.parent().filter(|_| repository.common_dir.ends_with(".git"));
    roots.extend(main.filter(|main| *main != repository.root).map(Path::to_path_buf));
    roots
}

/// The part of a pattern up to the last `/` before its first wildcard; none when there is none, so that all
/// branches have to be listed.
fn literal_parent(pattern: &str) -> Option<String> {
    let literal = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    literal.rsplit_once('/').map(|(parent, _)| parent.to_owned())
}

/// The names in a directory; none when there is no such directory. With `directories`, only those of directories
/// and links.
fn entries(dir: &Path, directories: bool) -> Result<Vec<OsString>, Error> {
    let failed = |error| Error::io("list", dir, error);
    let read = match std::fs::read_dir(dir) {
        Ok(read) => read,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in read {
        let entry = entry.map_err(failed)?;
        let is_meant = !directories || entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
        if is_meant {
            names.push(entry.file_name());
        }
    }
    Ok(names)
}

/// The names of all kinds at one moment: whole paths, and branches without `refs/heads/`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Seen(pub(super) BTreeSet<(Kind, OsString)>);

impl Seen {
    /// All names now; fails when one kind cannot be listed.
    pub(super) fn all(places: &Places) -> Result<Seen, Error> {
        let mut seen = Seen::default();
        for kind in Kind::ALL {
            seen.0.extend(places.list(kind)?.into_iter().map(|name| (kind, name)));
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::literal_parent;

    #[test]
    fn git_is_asked_for_as_few_branches_as_the_pattern_allows() {
        assert_eq!(literal_parent("kitty/test-*").as_deref(), Some("kitty"));
        assert_eq!(literal_parent("a/b[c]/d").as_deref(), Some("a"));
        assert_eq!(literal_parent("test-*"), None);
        assert_eq!(literal_parent("a/b").as_deref(), Some("a"));
    }
}
