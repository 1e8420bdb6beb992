//! Which answer belongs to which waiting call, and what becomes of it.
//!
//! A tool that has an answer to deliver leaves the call here under the id of the client's request.
//! The transport takes it when it sends that response, and says whether it was written. A client that
//! cancels in between gets no response any more (rmcp drops it), so then the call is left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::RequestId;
use serde_json::json;
use tokio_util::task::TaskTracker;

use super::engine::Engine;
use crate::call_file::CallFile;

/// An answer on its way to the client.
pub(super) struct Delivery {
    /// The ask.
    pub(super) ask: String,
    /// The call that waits for it.
    pub(super) call: CallFile,
}

/// The answers on their way.
#[derive(Clone)]
pub(super) struct Deliveries {
    engine: Engine,
    on_their_way: Arc<Mutex<HashMap<RequestId, Delivery>>>,
    /// What is being told to the engine.
    telling: TaskTracker,
}

impl Deliveries {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, on_their_way: Arc::default(), telling: TaskTracker::new() }
    }

    /// The response to this request will carry the answer.
    pub(super) fn add(&self, request: RequestId, delivery: Delivery) {
        self.lock().insert(request, delivery);
    }

    /// The response to this request is being sent: what it carries is the transport's now.
    pub(super) fn take(&self, request: &RequestId) -> Option<Delivery> {
        self.lock().remove(request)
    }

    /// The client does not want this response any more. One that is being sent already is not here.
    pub(super) fn cancelled(&self, request: &RequestId) {
        if let Some(delivery) = self.take(request) {
            self.left(delivery.ask, delivery.call);
        }
    }

    /// The client has the answer. The lock is held until the engine knows, so that it does not think
    /// that nobody waited.
    pub(super) fn written(&self, delivery: Delivery) {
        let engine = self.engine.clone();
        self.telling.spawn(async move {
            let Delivery { ask, mut call } = delivery;
            call.note_written();
            let request = json!({"ask": ask, "call": call.id()});
            let _ = engine.ask_until_heard("ask_delivered", request).await;
        });
    }

    /// Nobody waits any more by this call; the work goes on, and the answer goes to the inbox.
    pub(super) fn left(&self, ask: String, call: CallFile) {
        let engine = self.engine.clone();
        self.telling.spawn(async move {
            let request = json!({"ask": ask, "call": call.id()});
            // The lock goes first: an engine that is away must not find it held.
            drop(call);
            let _ = engine.ask("ask_leave", request).await;
        });
    }

    /// All calls that wait for their response at the end of the client are left, and what is told to
    /// the engine has been told.
    pub(super) async fn settled(&self) {
        let rest: Vec<Delivery> = self.lock().drain().map(|(_, delivery)| delivery).collect();
        for Delivery { ask, call } in rest {
            self.left(ask, call);
        }
        self.telling.close();
        self.telling.wait().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, Delivery>> {
        self.on_their_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
