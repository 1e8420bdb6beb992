//! An agent with a workdir of its own that is made for it: both are there afterwards, or neither.

use carillon_core::words::Agent;
use carillon_core::workdir::Event;
use carillon_store::workdirs::{self, WorkdirRow};
use carillon_store::{agents, profiles};

use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};

impl Engine {
    /// The ledger knows that the workdir is made, and with it the agent that it is for. Answers why that one could not be
    /// added: then the workdir is there alone.
    pub(crate) fn record_made(&self, made: &WorkdirRow) -> Result<Option<Error>, Error> {
        let Some(agent) = self.inner.host.agent_to_be(made) else {
            self.step_workdir(&made.id, Event::Made, Some(made.clone()))?;
            return Ok(None);
        };
        let whole = made.clone();
        let added = self.request_blocking(move |inner| {
            inner.step_workdir(&whole.id, Event::Made, Some(whole.clone()))?;
            inner.insert_agent(&agent)?;
            inner.store.write(|tx| workdirs::set_owner(tx, &whole, Some(&agent.id)))?;
            Ok(())
        });
        match added {
            Ok(()) => Ok(None),
            Err(Error::ShuttingDown) => Err(Error::ShuttingDown),
            Err(error) => {
                self.step_workdir(&made.id, Event::Made, Some(made.clone()))?;
                Ok(Some(error))
            }
        }
    }
}

impl MainLoop {
    /// Adds an agent whose name is free in its project.
    pub(crate) fn insert_agent(&mut self, agent: &Agent) -> Result<(), Error> {
        let taken = |other: &Agent| other.project == agent.project && other.name == agent.name;
        if self.store.read(agents::list)?.iter().any(taken) {
            let message = format!("the project has an agent {:?} already", agent.name);
            return Err(Error::refused(message, "choose another name"));
        }
        if !self.store.read(profiles::list)?.iter().any(|profile| profile.id == agent.profile) {
            let message = format!("the profile of agent {:?} was removed", agent.name);
            return Err(Error::refused(message, "add it with another profile"));
        }
        self.store.write(|tx| agents::insert(tx, agent, now_ms()))?;
        Ok(())
    }
}
