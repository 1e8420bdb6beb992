//! How many headless turns of a profile run at once, and who is next when one more may.
//!
//! A turn whose agent waits for another agent, or for a task, lends its slot: what it waits for may need it, and
//! would otherwise wait for that turn for ever. When its wait is over it goes on at once, since a process cannot be
//! held in the middle of its turn. So the bound is one on what begins: those that go on may take it over by one each.

use carillon_core::id::{AgentId, ProfileId};
use carillon_core::words::{Agent, Mode, Profile};
use carillon_store::db::{Db, SqlError};
use carillon_store::{agents, profiles, turns};

use crate::error::Error;
use crate::main_loop::MainLoop;

/// Nobody lends anything: for who looks at the ledger alone, when what was lent has long been taken.
pub(crate) const NONE_LENT: &str = "[]";

/// Why an agent's next turn does not begin, in words; none when its profile has a slot for it. `lent`: the runs
/// whose turns do not count, a JSON array.
pub(crate) fn held_back(db: &Db, agent: &Agent, lent: &str) -> Result<Option<String>, SqlError> {
    let Some((profile, most)) = bound_of(db, agent)? else { return Ok(None) };
    if turns::count_at_work(db, &profile.id, lent)? < most {
        return Ok(None);
    }
    let turns = if most == 1 { "turn" } else { "turns" };
    Ok(Some(format!("the profile {:?} lets only {most} {turns} run at once", profile.name)))
}

/// The profile of a headless agent that bounds its turns, with the bound.
fn bound_of(db: &Db, agent: &Agent) -> Result<Option<(Profile, u32)>, SqlError> {
    if agent.mode == Mode::Terminal {
        return Ok(None);
    }
    let profile = profiles::list(db)?.into_iter().find(|profile| profile.id == agent.profile);
    Ok(profile.and_then(|profile| profile.concurrency.map(|most| (profile, most))))
}

impl MainLoop {
    /// Whether an agent's next turn has a slot.
    pub(crate) fn has_slot(&self, agent: &Agent) -> Result<bool, Error> {
        let lent = self.lent_runs();
        Ok(self.store.read(|db| held_back(db, agent, &lent))?.is_none())
    }

    /// The profile whose line an agent's turns stand in; none when nothing bounds them.
    pub(crate) fn line_of(&self, agent: &AgentId) -> Result<Option<ProfileId>, Error> {
        let found = self.store.read(|db| match agents::get(db, agent)? {
            Some(agent) => bound_of(db, &agent),
            None => Ok(None),
        })?;
        Ok(found.map(|(profile, _)| profile.id))
    }

    /// Gives the slots of a profile to its agents, those that wait longest first.
    pub(crate) fn fill_line(&mut self, profile: &ProfileId) -> Result<(), Error> {
        for agent in self.wanting(profile)? {
            self.try_next_turn(&agent)?;
        }
        Ok(())
    }

    /// An agent waits for another one: the slot of its own turn is free meanwhile.
    pub(crate) fn slot_lent(&mut self, caller: Option<&AgentId>) {
        // It looks after all that stand in the same line.
        if let Some(caller) = caller {
            self.next_turn(caller);
        }
    }
}
