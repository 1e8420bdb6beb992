//! What only the user may ask for: an agent that is bound in what it may run could free itself by it.
//!
//! Who calls is not what a caller says of itself, but which run its process, or one that it comes from, was started in. A
//! program that leaves its run on purpose (a process of its own without the variables of its run) is not found out by this:
//! it binds agents, and is no sandbox.

use carillon_core::id::RunId;
use carillon_core::words::{Agent, Policy};
use carillon_store::profiles;

use crate::engine::Engine;
use crate::error::Error;
use crate::host::linux;
use crate::main_loop::MainLoop;
use crate::requests::callers::Caller;

/// A process has hardly more ancestors than that.
const ANCESTORS_MAX: usize = 64;

impl Engine {
    /// Refuses the process `pid` what only the user may ask for when it belongs to an agent that may not run everything.
    ///
    /// # Errors
    /// When it does, or the ledger cannot be read.
    pub fn is_users(&self, pid: u32) -> Result<(), Error> {
        let runs = runs_of(pid);
        if runs.is_empty() {
            return Ok(());
        }
        let bound = self.request_blocking(move |inner| {
            for run in runs {
                if let Some(agent) = inner.bound_agent_of(run)? {
                    return Ok(Some(agent));
                }
            }
            Ok(None)
        })?;
        match bound {
            None => Ok(()),
            Some(agent) => {
                let message =
                    format!("this is for the user to decide, and agent {:?} asks for it", agent.name);
                Err(Error::refused(
                    message,
                    "do it in the window, or in a terminal outside of the agent's run",
                ))
            }
        }
    }
}

impl MainLoop {
    /// The agent of a run of ours, when its profile does not let it run everything.
    fn bound_agent_of(&self, run: String) -> Result<Option<Agent>, Error> {
        let Some(agent) = self.who(&Caller { agent: None, run: Some(run) })?.agent else { return Ok(None) };
        let all = self.store.read(profiles::list)?;
        let policy =
            all.into_iter().find(|profile| profile.id == agent.profile).map(|profile| profile.policy);
        Ok((policy != Some(Policy::Allow)).then_some(agent))
    }
}

/// The runs that a process and those that it comes from were started in, the nearest first.
fn runs_of(pid: u32) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = Some(pid);
    for _ in 0..ANCESTORS_MAX {
        let Some(pid) = next.filter(|pid| *pid > 1 && *pid != std::process::id()) else { break };
        let run = linux::variable(pid, "CARILLON_RUN").and_then(|run| run.into_string().ok());
        if let Some(run) = run.filter(|run| RunId::parse(run).is_ok())
            && found.last() != Some(&run)
        {
            found.push(run);
        }
        next = linux::stat(pid).map(|stat| stat.parent);
    }
    found
}
