//! Agents that are to be added once their workdirs are made. They stand beside the journal of creations, so that a start
//! after a crash adds them, or neither is there.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use carillon_core::id::{AgentId, ProfileId};
use carillon_core::words::{Agent, Mode};
use carillon_store::workdirs::WorkdirRow;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::workdirs::private_dir;

#[derive(Serialize, Deserialize)]
struct Kept {
    id: String,
    name: String,
    profile: String,
    headless: bool,
    role: String,
}

impl Host {
    /// Keeps the agent that the workdir is for.
    pub(crate) fn keep_agent_to_be(&self, row: &WorkdirRow, agent: &Agent) -> std::io::Result<()> {
        let kept = Kept {
            id: agent.id.to_string(),
            name: agent.name.clone(),
            profile: agent.profile.to_string(),
            headless: agent.mode == Mode::Headless,
            role: agent.role.clone(),
        };
        let path = self.agent_to_be_file(row);
        let above = self.journal();
        private_dir(&above).map_err(std::io::Error::other)?;
        let mut file =
            std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(&serde_json::to_vec(&kept).map_err(std::io::Error::other)?)?;
        file.sync_all()?;
        std::fs::File::open(above)?.sync_all()
    }

    /// The agent that the workdir is for; none when it is for nobody, or that was not even written to its end: then
    /// nothing was made.
    pub(crate) fn agent_to_be(&self, row: &WorkdirRow) -> Option<Agent> {
        let bytes = std::fs::read(self.agent_to_be_file(row)).ok()?;
        let kept: Kept = serde_json::from_slice(&bytes).ok()?;
        Some(Agent {
            id: AgentId::parse(&kept.id).ok()?,
            name: kept.name,
            project: row.project.clone(),
            profile: ProfileId::parse(&kept.profile).ok()?,
            mode: if kept.headless { Mode::Headless } else { Mode::Terminal },
            role: kept.role,
            workdir: row.path.clone(),
            stopped_by_user: false,
            session_id: None,
        })
    }

    /// It is on the ledger, or will never be.
    pub(crate) fn forget_agent_to_be(&self, row: &WorkdirRow) {
        let _ = std::fs::remove_file(self.agent_to_be_file(row));
    }

    fn agent_to_be_file(&self, row: &WorkdirRow) -> PathBuf {
        self.journal().join(format!("{}.agent", row.id))
    }
}
