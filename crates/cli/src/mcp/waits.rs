//! A call that waits: until something is over, its time is up, or nobody wants to know any more.

use std::time::Duration;

use carillon_api::ApiError;
use carillon_core::limits;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{RequestContext, RoleServer};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// What a look at the thing that is waited for showed.
pub(super) struct Look<T> {
    /// The thing.
    pub(super) seen: T,
    /// Whether it is over.
    pub(super) is_over: bool,
    /// What it waits for, in words.
    pub(super) waits_for: String,
}

/// Why a wait ended.
pub(super) enum Ended<T> {
    /// It is over.
    Over(T),
    /// The time is up, with what was seen last.
    TimeUp(T),
    /// The client does not want to know any more, or has gone.
    Left,
}

/// Longest that a note of progress may take to be written: a client that does not read holds up
/// nothing but itself.
const NOTE: Duration = Duration::from_secs(1);

/// Time that the engine has for its answer at the end of a wait.
const GRACE: Duration = Duration::from_millis(500);

/// A wait of one call.
pub(super) struct Wait<'a> {
    request: &'a RequestContext<RoleServer>,
    gone: &'a CancellationToken,
    token: Option<ProgressToken>,
    begun: Instant,
    until: Instant,
}

impl<'a> Wait<'a> {
    /// Begins: the time counts from now.
    pub(super) fn begin(
        request: &'a RequestContext<RoleServer>,
        gone: &'a CancellationToken,
        wait: Duration,
    ) -> Self {
        let begun = Instant::now();
        let token = request.meta.get_progress_token();
        Self { request, gone, token, begun, until: begun + wait }
    }

    /// Looks again and again; `look` waits for so many milliseconds by itself. Tells the client how far
    /// it is, also while the engine is away.
    pub(super) async fn over<T, F, L>(&self, first: Look<T>, mut look: F) -> Result<Ended<T>, ApiError>
    where
        T: Send,
        F: FnMut(u64) -> L + Send,
        L: Future<Output = Result<Look<T>, ApiError>> + Send,
    {
        let every = Duration::from_millis(limits::MCP_PROGRESS_MS);
        let mut tick = interval_at(self.begun + every, every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let longest = Duration::from_millis(limits::MCP_LOOK_MS);
        let mut last = first;
        self.tell(&last.waits_for).await;
        while !last.is_over {
            // A result that is there must not be returned to somebody who has just left.
            if self.request.ct.is_cancelled() || self.gone.is_cancelled() {
                return Ok(Ended::Left);
            }
            let rest = self.until.saturating_duration_since(Instant::now()).min(longest);
            if rest.is_zero() {
                return Ok(Ended::TimeUp(last.seen));
            }
            let looking = look(u64::try_from(rest.as_millis()).unwrap_or(limits::MCP_LOOK_MS).max(1));
            let mut looking = std::pin::pin!(looking);
            let next = loop {
                tokio::select! {
                    biased;
                    () = self.request.ct.cancelled() => return Ok(Ended::Left),
                    () = self.gone.cancelled() => return Ok(Ended::Left),
                    seen = &mut looking => break seen?,
                    // The engine answers in time unless it is away.
                    () = sleep_until(self.until + GRACE) => return Ok(Ended::TimeUp(last.seen)),
                    _ = tick.tick() => self.tell(&last.waits_for).await,
                }
            };
            if !next.is_over && next.waits_for != last.waits_for {
                self.tell(&next.waits_for).await;
                tick.reset();
            }
            last = next;
        }
        if self.request.ct.is_cancelled() { Ok(Ended::Left) } else { Ok(Ended::Over(last.seen)) }
    }

    /// Tells the client how far it is, when it wants to know.
    async fn tell(&self, message: &str) {
        let Some(token) = &self.token else { return };
        let note = ProgressNotificationParam::new(token.clone(), self.begun.elapsed().as_secs_f64())
            .with_message(message.to_owned());
        let _ = timeout(NOTE, self.request.peer.notify_progress(note)).await;
    }
}
