//! The doctor: looks at everything that Carillon needs and says what is wrong, with the way out.
//! Works without a running engine too.

use std::path::Path;

use carillon_tidy::base;

use crate::config::Config;
use crate::engine::Engine;
use crate::error::Error;
use crate::host::{Host, repository};

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
        checks.push(self.check_agents()?);
        Ok(checks)
    }

    /// Processes that carry the marker of a run which is over.
    fn check_processes(&self) -> Result<Check, Error> {
        let live: Vec<String> = self.live_runs()?.into_iter().map(|row| row.id.to_string()).collect();
        let ours = self.read(|db| {
            let mut ids = db.prepare_cached("SELECT id FROM runs")?;
            ids.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
        })?;
        let strays: Vec<String> = carillon_tidy::strays::strays()
            .into_iter()
            .filter(|stray| ours.contains(&stray.run) && !live.contains(&stray.run))
            .map(|stray| format!("{} ({})", stray.name, stray.pid))
            .collect();
        if strays.is_empty() {
            return Ok(Check::ok(
                "processes",
                format!("live runs: {}; nothing is left of others", live.len()),
            ));
        }
        Ok(Check::warn(
            "processes",
            format!("still there after their runs: {}", strays.join(", ")),
            "programs on the keep list are left alone on purpose; end the others by hand if you do not need them",
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
    vec![check_home(&config.home), check_temp(host), check_git(), check_supervisor(config)]
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

fn check_git() -> Check {
    match repository::git(Path::new("/")).arg("--version").output() {
        Ok(output) if output.status.success() => {
            Check::ok("git", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            Check::fail("git", format!("`git --version` ended with {}", output.status), "reinstall git")
        }
        Err(error) => Check::fail("git", error.to_string(), "install git, or put it on your PATH"),
    }
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
