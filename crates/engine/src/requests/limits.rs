//! Session limits: which hold, and what the user wants of them.

use carillon_core::limit::{Event, Limited};
use carillon_core::words::Profile;
use carillon_store::{agents, limits, turns};

use crate::engine::Engine;
use crate::error::Error;

/// A limit that holds, with who waits for its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitView {
    /// The profile.
    pub profile: Profile,
    /// The limit.
    pub limited: Limited,
    /// Names of its agents that have something to do.
    pub waiting: Vec<String>,
}

impl Engine {
    /// The limits that hold.
    pub fn limits(&self) -> Result<Vec<LimitView>, Error> {
        let all = self.profiles()?;
        let found = self.read(|db| {
            let agents = agents::list(db)?;
            let mut found = Vec::new();
            for (id, limited) in limits::list(db)? {
                let mut waiting = Vec::new();
                for agent in agents.iter().filter(|agent| agent.profile == id) {
                    if turns::queued_of(db, &agent.id)? > 0
                        || carillon_store::messages::waiting_for(db, &agent.id)?.0 > 0
                    {
                        waiting.push(agent.name.clone());
                    }
                }
                found.push((id, limited, waiting));
            }
            Ok(found)
        })?;
        let view = |(id, limited, waiting)| {
            all.iter().find(|p| p.id == id).map(|p| LimitView { profile: p.clone(), limited, waiting })
        };
        Ok(found.into_iter().filter_map(view).collect())
    }

    /// The limit of a profile, if one holds.
    pub fn limit_of(&self, profile: &carillon_core::id::ProfileId) -> Result<Option<Limited>, Error> {
        self.read(|db| limits::get(db, profile))
    }

    /// Does what the user wants of the limit of a profile; answers what holds then. Refused when none holds.
    pub fn change_limit(&self, profile: &str, event: Event) -> Result<Option<LimitView>, Error> {
        let profile = self.profile(profile)?;
        let id = profile.id.clone();
        self.request_blocking(move |inner| inner.step_limit(&id, event))?;
        Ok(self.limits()?.into_iter().find(|view| view.profile.id == profile.id))
    }
}
