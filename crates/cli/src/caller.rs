//! Who calls: an agent, told by the environment of its run, or the user.

use carillon_api::wire_asks::Ask;
use serde_json::{Value, json};

/// Who calls, in the words of the API.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller {
    /// The name or id of an agent; none: the user.
    pub(crate) agent: Option<String>,
    /// The run that the call comes from.
    pub(crate) run: Option<String>,
}

impl Caller {
    /// The one that the environment names.
    pub(crate) fn from_environment() -> Self {
        Self { agent: named("CARILLON_AGENT"), run: named("CARILLON_RUN") }
    }

    /// The agent that somebody speaks for, or else the one that the environment names. Within a run the engine takes that
    /// run's word: no agent speaks for another.
    pub(crate) fn speaking_for(agent: Option<String>) -> Self {
        let here = Self::from_environment();
        Self { agent: agent.or(here.agent), run: here.run }
    }

    /// Whether it is the user.
    pub(crate) fn is_user(&self) -> bool {
        self.agent.is_none() && self.run.is_none()
    }

    /// The request, with who calls: an agent acts in its own project alone, and what the owner of a
    /// task or ask has seen, done or undone itself counts otherwise.
    pub(crate) fn signed(&self, mut request: Value) -> Value {
        if let Some(agent) = &self.agent {
            request["from"] = json!(agent);
        }
        if let Some(run) = &self.run {
            request["from_run"] = json!(run);
        }
        request
    }

    /// Whether an ask is this caller's own.
    pub(crate) fn owns(&self, ask: &Ask) -> bool {
        match &self.agent {
            Some(agent) => ask.caller.as_ref() == Some(agent) || ask.caller_name.as_ref() == Some(agent),
            None => ask.caller.is_none() && self.is_user(),
        }
    }
}

/// A variable that is set to something.
pub(crate) fn named(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
