//! Who asks for something: the user, or an agent from within one of its runs.

use carillon_core::id::{AskId, ProjectId, RunId};
use carillon_core::words::Agent;
use carillon_store::{agents, asks, runs, tasks, turns};

use crate::engine::Engine;
use crate::error::Error;
use crate::main_loop::MainLoop;
use crate::requests::find::find;

/// What a caller says of itself. Neither: the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// An agent, by name or id.
    pub agent: Option<String>,
    /// The run that it calls from. It decides when it is known.
    pub run: Option<String>,
}

/// Who a caller is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Who {
    /// The agent; none: the user.
    pub(crate) agent: Option<Agent>,
    /// The ask that it serves just now, and that is not over.
    pub(crate) serves: Option<AskId>,
}

impl Who {
    /// For records: who did it.
    pub(crate) fn name(&self) -> String {
        self.agent.as_ref().map_or_else(|| "user".to_owned(), |agent| agent.name.clone())
    }
}

impl Engine {
    /// Refuses an agent that turns to another project than its own.
    pub(crate) fn may_see(&self, project: &ProjectId, caller: &Caller) -> Result<(), Error> {
        if *caller == Caller::default() {
            return Ok(());
        }
        let (project, caller) = (project.clone(), caller.clone());
        self.request_blocking(move |inner| match inner.who(&caller)?.agent {
            Some(agent) if agent.project != project => {
                let message = format!("this belongs to another project than agent {:?}", agent.name);
                Err(Error::refused(message, "an agent acts only in its own project"))
            }
            Some(_) | None => Ok(()),
        })
    }
}

impl MainLoop {
    /// Finds out who calls.
    pub(crate) fn who(&self, caller: &Caller) -> Result<Who, Error> {
        let run = caller.run.as_deref().and_then(|run| RunId::parse(run).ok());
        if let Some(run) = run
            && let Some(row) = self.store.read(|db| runs::get(db, &run))?
        {
            // Of a task that is forgotten nobody knows whose it was.
            if let Some(task) = row.task
                && let Some(row) = self.store.read(|db| tasks::get(db, &task))?
            {
                let Some(owner) = row.task.owner else { return Ok(Who::default()) };
                let agent = self.store.read(|db| agents::get(db, &owner))?;
                return Ok(Who { agent, serves: self.while_it_goes_on(row.joined_ask)? });
            }
            if let Some(agent) = row.agent {
                let turn = self.store.read(|db| turns::live_of_run(db, &run))?;
                let agent = self.store.read(|db| agents::get(db, &agent))?;
                return Ok(Who { agent, serves: self.while_it_goes_on(turn.and_then(|turn| turn.ask))? });
            }
        }
        let Some(key) = &caller.agent else { return Ok(Who::default()) };
        let agent = find(self.store.read(agents::list)?, key)?;
        let turn = self.store.read(|db| turns::live_of(db, &agent.id))?;
        let serves = self.while_it_goes_on(turn.and_then(|turn| turn.ask))?;
        Ok(Who { agent: Some(agent), serves })
    }

    fn while_it_goes_on(&self, ask: Option<AskId>) -> Result<Option<AskId>, Error> {
        let Some(ask) = ask else { return Ok(None) };
        let row = self.store.read(|db| asks::get(db, &ask))?;
        Ok(row.filter(|row| !row.state.is_terminal()).map(|row| row.id))
    }

    /// The agent that `key` names, among those that the caller may turn to: an agent acts only in its
    /// own project.
    pub(crate) fn agent_for(
        &self,
        who: &Who,
        project: Option<&ProjectId>,
        key: &str,
    ) -> Result<Agent, Error> {
        let all = self.store.read(agents::list)?;
        let here = who.agent.as_ref().map(|agent| &agent.project).or(project);
        let Some(here) = here else { return find(all, key) };
        let (near, far): (Vec<Agent>, Vec<Agent>) = all.into_iter().partition(|agent| agent.project == *here);
        match find(near, key) {
            Err(Error::NotFound { .. }) if who.agent.is_some() && find(far.clone(), key).is_ok() => {
                let message = format!("agent {key:?} belongs to another project");
                Err(Error::refused(message, "an agent can only turn to agents of its own project"))
            }
            found => found,
        }
    }
}
