//! What all calls of one client share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use carillon_api::wire::Agent;
use carillon_api::{ApiError, Code};
use carillon_core::limits;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;

use super::deliveries::Deliveries;
use super::engine::Engine;
use crate::caller::Caller;

/// The agent that this server belongs to.
#[derive(Debug)]
pub(super) struct Me {
    pub(super) id: String,
    pub(super) project: String,
    pub(super) workdir: PathBuf,
}

/// Shared by all calls.
pub(super) struct Context {
    pub(super) engine: Engine,
    pub(super) caller: Caller,
    pub(super) gone: CancellationToken,
    pub(super) deliveries: Deliveries,
    pub(super) calls: Arc<Semaphore>,
    client_limit: Option<Duration>,
    me: OnceCell<Option<Me>>,
}

impl Context {
    pub(super) fn new(
        engine: Engine,
        caller: Caller,
        client_limit_s: u64,
        gone: CancellationToken,
        deliveries: Deliveries,
    ) -> Self {
        Self {
            engine,
            caller,
            gone,
            deliveries,
            calls: Arc::new(Semaphore::new(limits::MCP_CALLS_MAX)),
            client_limit: (client_limit_s > 0).then(|| safe_share(Duration::from_secs(client_limit_s))),
            me: OnceCell::new(),
        }
    }

    /// How long a call may wait: what it says, within what the client lets it.
    pub(super) fn wait(&self, wanted_s: Option<f64>) -> Duration {
        let longest = Duration::from_secs(limits::MCP_WAIT_MAX_S);
        let wanted = wanted_s.map_or(longest, |s| Duration::try_from_secs_f64(s).unwrap_or(longest));
        wanted.min(longest).min(self.client_limit.unwrap_or(longest))
    }

    /// The agent that calls; none: the user. It stays the same as long as this server lives.
    pub(super) async fn me(&self) -> Result<Option<&Me>, ApiError> {
        let me = self.me.get_or_try_init(|| self.look_up_me()).await?;
        Ok(me.as_ref())
    }

    async fn look_up_me(&self) -> Result<Option<Me>, ApiError> {
        let Some(key) = &self.caller.agent else { return Ok(None) };
        let agents = self.engine.ask("agents_list", json!({})).await?;
        let agents: Vec<Agent> =
            serde_json::from_value(agents).map_err(|e| ApiError::failed(e.to_string()))?;
        let mut named = agents.into_iter().filter(|agent| agent.id == *key || agent.name == *key);
        match (named.next(), named.next()) {
            (Some(one), None) => {
                Ok(Some(Me { id: one.id, project: one.project, workdir: one.workdir.into() }))
            }
            (Some(_), Some(_)) => Err(ApiError::invalid(format!(
                "there are several agents {key:?}: this server must be started with the id of one"
            ))),
            (None, _) => Err(ApiError {
                code: Code::NotFound,
                message: format!("the agent {key:?}, whose tools these are, is not there any more"),
                hint: None,
            }),
        }
    }

    /// The project that the caller works in.
    pub(super) async fn project(&self) -> Result<Value, ApiError> {
        match self.me().await? {
            Some(me) => Ok(json!(me.project)),
            None => Ok(json!(self.here()?)),
        }
    }

    /// The directory that the caller works in.
    pub(super) async fn workdir(&self) -> Result<PathBuf, ApiError> {
        match self.me().await? {
            Some(me) => Ok(me.workdir.clone()),
            None => self.here(),
        }
    }

    /// The project in which names are looked up; the engine knows an agent's own.
    pub(super) fn project_of_user(&self) -> Result<Value, ApiError> {
        if self.caller.is_user() { Ok(json!(self.here()?)) } else { Ok(Value::Null) }
    }

    fn here(&self) -> Result<PathBuf, ApiError> {
        std::env::current_dir()
            .map_err(|e| ApiError::failed(format!("the present directory cannot be read: {e}")))
    }
}

/// The part of a client's limit after which it is answered: the rest is for the way back.
fn safe_share(limit: Duration) -> Duration {
    let rest = (limit / 10).clamp(MARGIN_MIN, MARGIN_MAX);
    limit.saturating_sub(rest).max(limit / 2)
}

/// Shortest time for the way back.
const MARGIN_MIN: Duration = Duration::from_secs(1);
/// Longest time for the way back.
const MARGIN_MAX: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_answered_before_it_gives_up() {
        let share = |s| safe_share(Duration::from_secs(s)).as_secs_f64();
        assert_eq!((share(300), share(60), share(10), share(1)), (285.0, 54.0, 9.0, 0.5));
    }
}
