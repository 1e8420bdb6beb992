//! The doctor: looks at everything that Carillon needs and says what is wrong, with the way out.
//! Works without a running engine too.

use std::path::Path;

use carillon_core::limits;
use carillon_core::residue::Kind;
use carillon_store::runs;
use carillon_tidy::base;

use crate::config::Config;
use crate::engine::Engine;
use crate::error::Error;
use crate::host::residue::{Wanted, reasons};
use crate::host::{Host, repository};

/// The first git that merges without a checkout: `git merge-tree --write-tree`, see its release notes.
const GIT_MIN: (u32, u32) = (2, 38);

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// All is well.
    Ok,
    /// It works, with a flaw.
    Warn,
    /// Something will not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it came out.
    pub state: CheckState,
    /// What was seen.
    pub detail: String,
    /// The way out.
    pub hint: Option<String>,
}

impl Check {
    fn ok(name: &'static str, detail: String) -> Self {
        Self { name, state: CheckState::Ok, detail, hint: None }
    }

    fn warn(name: &'static str, detail: String, hint: &str) -> Self {
        Self { name, state: CheckState::Warn, detail, hint: Some(hint.to_owned()) }
    }

    fn fail(name: &'static str, detail: String, hint: &str) -> Self {
        Self { name, state: CheckState::Fail, detail, hint: Some(hint.to_owned()) }
    }
}

impl Engine {
    /// Looks at everything, also at what only a running engine knows.
    pub fn doctor(&self) -> Result<Vec<Check>, Error> {
        let mut checks = look_around(&self.inner.host, &self.inner.config);
        let integrity: String =
            self.read(|db| db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        checks.push(if integrity == "ok" {
            Check::ok("ledger", format!("{} is sound", self.inner.paths.ledger.display()))
        } else {
            Check::fail("ledger", integrity, "quit and start Carillon: a damaged file is moved aside whole")
        });
        checks.push(self.check_processes()?);
        checks.push(self.check_temp_use()?);
        checks.push(self.check_agents()?);
        Ok(checks)
    }

    /// Processes that carry the marker of a run which is over.
    fn check_processes(&self) -> Result<Check, Error> {
        let wanted = Wanted { kinds: vec![Kind::Process], ..Wanted::default() };
        let (strays, ..) = self.report(&wanted)?;
        let live = self.live_runs()?.len();
        if strays.is_empty() {
            return Ok(Check::ok("processes", format!("live runs: {live}; nothing is left of others")));
        }
        let words: Vec<String> =
            strays.iter().map(|item| format!("{}: {}", item.name, reasons(&item.verdict))).collect();
        Ok(Check::warn(
            "processes",
            format!("still there after their runs: {}", words.join(", ")),
            "`carillon clean --kind process` shows them, and with --apply ends those that are safe to end",
        ))
    }

    /// Temp directories that take much room.
    fn check_temp_use(&self) -> Result<Check, Error> {
        let mut words = Vec::new();
        for (run, taken) in self.inner.temp_uses.warned() {
            let Some(row) = self.read(|db| runs::get(db, &run))? else { continue };
            let path = row.temp_path.unwrap_or_default();
            words.push(format!("{path} (run {run}): {}", taken.warning().unwrap_or_default()));
        }
        if words.is_empty() {
            return Ok(Check::ok("temp use", "no run takes much room in its temp directory".to_owned()));
        }
        Ok(Check::warn(
            "temp use",
            words.join("; "),
            "stop what fills it; `[temp]` in a project's carillon.toml says how much a run may take",
        ))
    }

    fn check_agents(&self) -> Result<Check, Error> {
        let found = self.detect_profiles()?;
        if found.is_empty() {
            return Ok(Check::warn(
                "agent programs",
                "none of claude, codex, gemini, opencode is on your PATH".to_owned(),
                "install one, or add a profile for any program with `carillon profile add`",
            ));
        }
        let words: Vec<String> = found
            .iter()
            .map(|one| match (&one.version, &one.problem) {
                (_, Some(problem)) => format!("{}: {problem}", one.adapter),
                (Some(version), None) => format!("{} {version}", one.adapter),
                (None, None) => one.adapter.clone(),
            })
            .collect();
        let detail = words.join(", ");
        if found.iter().any(|one| one.problem.is_some()) {
            return Ok(Check::warn("agent programs", detail, "run the named program by hand to see more"));
        }
        Ok(Check::ok("agent programs", detail))
    }
}

/// Looks at what needs no engine.
pub fn look_around(host: &Host, config: &Config) -> Vec<Check> {
    vec![
        check_home(&config.home),
        check_temp(host),
        check_disk(host, config),
        check_git(),
        check_supervisor(config),
    ]
}

fn check_home(home: &Path) -> Check {
    let shown = home.display();
    if !home.exists() {
        return Check::ok("data directory", format!("{shown} will be made at the first start"));
    }
    let probe = home.join(".probe");
    if let Err(error) = std::fs::write(&probe, b"probe").and_then(|()| std::fs::remove_file(&probe)) {
        return Check::fail(
            "data directory",
            format!("{shown}: {error}"),
            "make it writable, or set CARILLON_HOME",
        );
    }
    if carillon_tidy::base::is_in_memory(home) {
        return Check::warn(
            "data directory",
            format!("{shown} lies in memory: logs take it, and nothing survives a restart of the machine"),
            "set CARILLON_HOME to a directory on a disk",
        );
    }
    match rustix::fs::statvfs(home) {
        Ok(stat) if stat.f_bavail * stat.f_frsize < base::FREE_BYTES_MIN => Check::warn(
            "data directory",
            format!("{shown} has less than 64 MiB left"),
            "free some space: logs cannot be kept on a full disk",
        ),
        _ => Check::ok("data directory", shown.to_string()),
    }
}

fn check_temp(host: &Host) -> Check {
    match base::choose(host.temp_candidates()) {
        Ok(base) if base.warnings.is_empty() => Check::ok("temp base", base.path.display().to_string()),
        Ok(base) => Check::warn(
            "temp base",
            format!("{} ({})", base.path.display(), base.warnings.join("; ")),
            "it works; mend the named directory to have the first choice",
        ),
        Err(refusals) => {
            let why: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            Check::fail(
                "temp base",
                why.join("; "),
                "no agent can start without a place for its temporary files",
            )
        }
    }
}

/// How much room there is where logs and temporary files go.
fn check_disk(host: &Host, config: &Config) -> Check {
    let mut words = Vec::new();
    let mut is_short = false;
    let base = base::choose(host.temp_candidates()).ok().map(|base| base.path);
    for (what, dir) in [("data directory", Some(config.home.clone())), ("temp base", base)] {
        let Some(Ok(stat)) = dir.map(rustix::fs::statvfs) else { continue };
        let bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
        // Some file systems have no fixed number of inodes, and tell none.
        let inodes = (stat.f_files > 0).then_some(stat.f_favail);
        is_short |= bytes < limits::DISK_WARN_BYTES || inodes.is_some_and(|n| n < limits::DISK_WARN_INODES);
        let inodes = inodes.map(|n| format!(" and {n} inodes")).unwrap_or_default();
        words.push(format!("{what}: {} MiB{inodes} free", bytes / (1024 * 1024)));
    }
    let detail = words.join("; ");
    if is_short {
        return Check::warn("disk", detail, "free some space; `carillon clean` shows what Carillon takes");
    }
    Check::ok("disk", detail)
}

fn check_git() -> Check {
    match repository::git(Path::new("/")).arg("--version").output() {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if version_of(&said).is_some_and(|version| version < GIT_MIN) {
                let (major, minor) = GIT_MIN;
                let hint = format!("workdirs are merged with git {major}.{minor} or later; update git");
                return Check::warn("git", said, &hint);
            }
            Check::ok("git", said)
        }
        Ok(output) => {
            Check::fail("git", format!("`git --version` ended with {}", output.status), "reinstall git")
        }
        Err(error) => Check::fail("git", error.to_string(), "install git, or put it on your PATH"),
    }
}

/// Major and minor version out of `git version 2.47.3 (...)`.
fn version_of(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split(['.', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn check_supervisor(config: &Config) -> Check {
    let shown = config.carillon_binary.display();
    if config.carillon_binary.is_file() {
        Check::ok("supervisor", shown.to_string())
    } else {
        Check::fail(
            "supervisor",
            format!("{shown} is missing"),
            "reinstall Carillon: nothing can run without it",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_git_is_told_from_a_new_one() {
        assert_eq!(version_of("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version_of("git version 2.37.1 (Apple Git-137.1)"), Some((2, 37)));
        assert_eq!(version_of("something else"), None);
        assert!(Some((2, 37)) < Some(GIT_MIN) && Some((3, 0)) > Some(GIT_MIN));
    }
}
