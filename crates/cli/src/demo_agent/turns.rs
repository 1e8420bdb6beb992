//! Tells the engine when a turn of the demo agent begins and ends, as the hooks of other agents'
//! programs do.

use std::path::PathBuf;
use std::time::Duration;

use carillon_api::Client;
use carillon_core::limits;
use serde_json::{Value, json};

use crate::caller::named;
use crate::connect::socket_of_environment;

/// Knows whom to tell; outside of a run nobody.
pub(super) struct Teller {
    whom: Option<(PathBuf, String)>,
}

impl Teller {
    pub(super) fn from_environment() -> Self {
        let socket = socket_of_environment().ok().filter(|(_, is_inside)| *is_inside);
        Self { whom: socket.map(|(socket, _)| socket).zip(named("CARILLON_RUN")) }
    }

    /// The first prompt may come.
    pub(super) fn ready(&self) {
        self.tell("ready", Value::Null, Duration::from_millis(limits::HOOK_MS));
    }

    pub(super) fn began(&self) {
        self.tell("turn_began", Value::Null, Duration::from_millis(limits::HOOK_MS));
    }

    /// The answer is told with the end. An engine that restarts is waited for: it wants to know.
    pub(super) fn ended(&self, answer: &str) {
        self.tell("turn_ended", json!({"text": answer}), Duration::from_millis(limits::ENGINE_PATIENCE_MS));
    }

    fn tell(&self, event: &str, data: Value, patience: Duration) {
        let Some((socket, run)) = &self.whom else { return };
        // A call that is repeated because no answer came is still about the same event.
        let id = uuid::Uuid::new_v4().simple().to_string();
        // Who types here does not care whether anybody was told.
        let _ = Client::connect_patiently(socket, patience).and_then(|mut engine| {
            let request = json!({"run": run, "event": event, "data": data, "id": id});
            engine.call_again("agent_hook", &request, patience)
        });
    }
}
