//! The demo: a small repository in the data directory with two agents that need no account.

use carillon_core::words::{Mode, Project};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::repository;
use crate::requests::{NewAgent, NewProfile, Workdir};

const PROFILE: &str = "demo";
const AGENTS: [&str; 2] = ["treble", "tenor"];
const README: &str = "# A place to try Carillon\n\nThe two agents here need no account. Type into one:\n\n    say hello\n    run: git log --oneline\n";

impl Engine {
    /// Makes the demo where it is missing, and opens it.
    pub fn open_demo(&self) -> Result<Project, Error> {
        let dir = &self.inner.paths.demo;
        let failed = |what: &str, why: String| {
            Error::failed(
                format!("the demo repository cannot be made: {what}: {why}"),
                "check the data directory",
            )
        };
        if !dir.join(".git").exists() {
            std::fs::create_dir_all(dir).map_err(|e| failed("its directory", e.to_string()))?;
            std::fs::write(dir.join("README.md"), README).map_err(|e| failed("its file", e.to_string()))?;
            let steps: [&[&str]; 3] = [
                &["init", "--quiet", "--initial-branch=main"],
                &["add", "README.md"],
                &[
                    "-c",
                    "user.name=Carillon",
                    "-c",
                    "user.email=demo@localhost",
                    "-c",
                    "commit.gpgSign=false",
                    "-c",
                    "core.hooksPath=/dev/null",
                    "commit",
                    "--quiet",
                    "-m",
                    "Begin",
                ],
            ];
            for step in steps {
                let output =
                    repository::git(dir).args(step).output().map_err(|e| failed("git", e.to_string()))?;
                if !output.status.success() {
                    return Err(failed("git", String::from_utf8_lossy(&output.stderr).trim().to_owned()));
                }
            }
        }
        let project = self.add_project(&dir.to_string_lossy())?;
        self.demo_agents(&project)?;
        Ok(project)
    }

    fn demo_agents(&self, project: &Project) -> Result<(), Error> {
        if !self.profiles()?.iter().any(|profile| profile.name == PROFILE) {
            self.add_profile(NewProfile {
                name: PROFILE.to_owned(),
                adapter: "plain".to_owned(),
                program: self.inner.config.carillon_binary.to_string_lossy().into_owned(),
                args: vec!["demo-agent".to_owned()],
                env: Vec::new(),
                policy: None,
                allow_prefixes: Vec::new(),
                concurrency: None,
            })?;
        }
        let there = self.agents(Some(project.id.as_str()))?;
        for name in AGENTS.into_iter().filter(|name| !there.iter().any(|view| view.agent.name == *name)) {
            self.add_agent(NewAgent {
                name: name.to_owned(),
                project: project.id.to_string(),
                profile: PROFILE.to_owned(),
                mode: Mode::Terminal,
                role: String::new(),
                workdir: Workdir::Root,
            })?;
        }
        Ok(())
    }
}
