//! What the program of a terminal tells of itself, from within its run.

use carillon_agents::adapter::Adapter;
use carillon_agents::hook::{self, HookSeen};
use carillon_core::id::RunId;
use carillon_core::turn::End;
use carillon_store::db::{Db, SqlError};
use carillon_store::{agents, hooks, profiles, runs};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;
use crate::host::Host;
use crate::host::typing::Mark;
use crate::left_hooks::Left;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::runs::run_id;

/// Longest id of something told that is remembered, in bytes.
const HOOK_ID_MAX_BYTES: usize = 64;

/// Our own word for a turn that has ended at a limit.
pub(crate) const LIMIT_REACHED: &str = "limit_reached";

/// What a program tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hook {
    /// It is up and free.
    Ready,
    /// It has begun a turn.
    Began,
    /// It has ended a turn.
    Ended(End),
    /// The account's limit is reached; it goes on with its turn by itself when that is over.
    Waits {
        reason: String,
        /// When the limit ends, in Unix milliseconds.
        until_ms: Option<i64>,
    },
    /// It sits on a question of its own, like one for a permission.
    Asks,
}

impl Engine {
    /// Hears what the program of a terminal tells: the `event` in its own word, and the `data` that
    /// came with it. What means nothing to us changes nothing, and neither does what was heard already: `id`
    /// is made by who tells, once for each thing that happened, and told again when no answer came.
    pub fn hear_hook(&self, run: &str, event: &str, data: &Value, id: Option<&str>) -> Result<(), Error> {
        let run = run_id(run)?;
        let Some(adapter) = self.read(|db| adapter_of_live(db, &run))? else { return Ok(()) };
        let Some(told) = Told::of(adapter, event, data, id) else { return Ok(()) };
        let host = self.inner.host.clone();
        self.request_blocking(move |inner| inner.hear_once(&host, &run, told))
    }
}

/// Something told, as it is understood.
struct Told {
    hook: Hook,
    session: Option<String>,
    /// Its program may be at work in several conversations at a time.
    in_several: bool,
    id: Option<String>,
}

impl Told {
    fn of(adapter: Adapter, event: &str, data: &Value, id: Option<&str>) -> Option<Self> {
        let (hook, session) = match in_our_words(event, data) {
            Some(hook) => (hook, None),
            None => {
                let json = serde_json::to_vec(data).unwrap_or_default();
                let call = hook::hear(adapter, event, &json, now_ms());
                (call.seen.and_then(|seen| meaning_of(adapter, seen))?, call.session)
            }
        };
        let id = id.filter(|id| id.len() <= HOOK_ID_MAX_BYTES).map(str::to_owned);
        Some(Self { hook, session, in_several: adapter == Adapter::Opencode, id })
    }
}

/// The adapter of the agent whose live run this is.
fn adapter_of_live(db: &Db, run: &RunId) -> Result<Option<Adapter>, SqlError> {
    let row = runs::get(db, run)?.filter(|row| !row.state.is_terminal());
    let Some(agent) = row.and_then(|row| row.agent) else { return Ok(None) };
    let Some(agent) = agents::get(db, &agent)? else { return Ok(None) };
    let profile = profiles::list(db)?.into_iter().find(|profile| profile.id == agent.profile);
    Ok(profile.and_then(|profile| profile.adapter.parse().ok()))
}

/// Whether an event is one in our own words, which programs that were made for us use.
pub(crate) fn is_own_word(event: &str) -> bool {
    in_our_words(event, &Value::Null).is_some()
}

/// The words of programs that were made for us.
fn in_our_words(event: &str, data: &Value) -> Option<Hook> {
    match event {
        "ready" => Some(Hook::Ready),
        "turn_began" | "turn_started" => Some(Hook::Began),
        "turn_ended" => {
            let text = data.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
            Some(Hook::Ended(End::Final { text }))
        }
        LIMIT_REACHED => {
            let reason = data.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
            let until_ms = data.get("until_ms").and_then(Value::as_i64);
            Some(Hook::Ended(End::Limited { reason, until_ms }))
        }
        "asks" => Some(Hook::Asks),
        _ => None,
    }
}

fn meaning_of(adapter: Adapter, seen: HookSeen) -> Option<Hook> {
    match seen {
        HookSeen::SessionStarted { .. } => Some(Hook::Ready),
        HookSeen::PromptSubmitted => Some(Hook::Began),
        HookSeen::TurnEnded { text, background_tasks: 0 } => Some(Hook::Ended(End::Final { text })),
        // It goes on by itself when those have ended.
        HookSeen::TurnEnded { .. } => None,
        HookSeen::NeedsAttention { .. } => Some(Hook::Asks),
        HookSeen::Failed { reason } => Some(Hook::Ended(End::Failed { reason })),
        // Its interface tries again until somebody stops it: typed once more, the prompt would be worked on twice.
        HookSeen::Limited { reason, resets_at_ms, .. } if adapter == Adapter::Opencode => {
            Some(Hook::Waits { reason, until_ms: resets_at_ms })
        }
        HookSeen::Limited { reason, resets_at_ms, .. } => {
            Some(Hook::Ended(End::Limited { reason, until_ms: resets_at_ms }))
        }
    }
}

impl MainLoop {
    /// What lies there from a time without an engine, before the runs themselves are looked at: a program that told of
    /// the end of its turn and then ended has answered.
    pub(crate) fn hear_left(&mut self, host: &Host, run: &RunId, left: &Left) -> Result<(), Error> {
        let Some(adapter) = self.store.read(|db| adapter_of_live(db, run))? else { return Ok(()) };
        match Told::of(adapter, &left.event, &left.data, left.id.as_deref()) {
            Some(told) => self.hear_once(host, run, told),
            None => Ok(()),
        }
    }

    fn hear_once(&mut self, host: &Host, run: &RunId, told: Told) -> Result<(), Error> {
        if let Some(id) = &told.id
            && self.store.read(|db| hooks::is_heard(db, run, id))?
        {
            tracing::debug!(%run, id, "a hook told the same once more");
            return Ok(());
        }
        if !is_of_the_conversation(host, run, &told) {
            tracing::debug!(%run, session = told.session, "another conversation of the same program");
            return Ok(());
        }
        let Told { hook, session, id, in_several: _ } = told;
        if let (Hook::Ended(_), Some(session)) = (&hook, session) {
            self.note_session(run, &session)?;
        }
        self.hear(host, run, hook, id.as_deref())?;
        match &id {
            Some(id) => Ok(self.store.write(|tx| hooks::set_heard(tx, run, id))?),
            None => Ok(()),
        }
    }

    fn hear(&mut self, host: &Host, run: &RunId, hook: Hook, id: Option<&str>) -> Result<(), Error> {
        match hook {
            // Some programs say so again in the middle of their work, when they tidy up.
            Hook::Ready if host.has_mark(run, Mark::Begins) => {}
            Hook::Ready => set(host, run, &[Mark::Hooks, Mark::Begins], true),
            Hook::Began => {
                // Programs that are broken off do not tell so, but what they begin next is another turn.
                if host.was_broken_off(run) {
                    self.end_broken_off(run)?;
                }
                set(host, run, &[Mark::Busy, Mark::Hooks, Mark::Begins], true);
                set(host, run, &[Mark::BrokenOff], false);
                host.heard_of(run);
            }
            Hook::Ended(end) => {
                let unwanted = host.has_mark(run, Mark::BrokenOff);
                set(host, run, &[Mark::Busy, Mark::BrokenOff], false);
                set(host, run, &[Mark::Hooks], true);
                host.heard_of(run);
                if !unwanted {
                    self.turn_ended_in_terminal(run, end, id)?;
                }
            }
            Hook::Waits { reason, until_ms } => return self.note_limit_of_run(run, reason, until_ms),
            Hook::Asks => {
                self.call_for_attention(run, true)?;
                return Ok(());
            }
        }
        if host.attended(run) {
            self.attention_changed(run)?;
        }
        self.terminal_changed(run)
    }

    /// The next start of the agent goes on with the conversation of its last turn.
    fn note_session(&mut self, run: &RunId, session: &str) -> Result<(), Error> {
        let row = self.store.read(|db| runs::get(db, run))?;
        let Some(agent) = row.and_then(|row| row.agent) else { return Ok(()) };
        let Some(agent) = self.store.read(|db| agents::get(db, &agent))? else { return Ok(()) };
        if agent.session_id.as_deref() != Some(session) {
            self.store.write(|tx| agents::set_session(tx, &agent, Some(session)))?;
        }
        Ok(())
    }
}

/// Whether what was told is of the conversation that the program is at work in for us. One that begins while another one
/// is at work is its user's, where a program can do both at a time; else the first one was left by a command like `/clear`.
fn is_of_the_conversation(host: &Host, run: &RunId, told: &Told) -> bool {
    let Some(session) = &told.session else { return true };
    let at = host.conversation(run);
    let is_another = at.as_ref().is_some_and(|at| at != session);
    let is_at_work = host.has_mark(run, Mark::Busy) && !host.was_broken_off(run);
    match &told.hook {
        Hook::Began if is_another && told.in_several && is_at_work => false,
        Hook::Began => {
            host.set_conversation(run, Some(session.clone()));
            true
        }
        Hook::Ended(_) if is_another => false,
        Hook::Ended(_) => {
            host.set_conversation(run, None);
            true
        }
        Hook::Waits { .. } => !is_another,
        Hook::Ready | Hook::Asks => true,
    }
}

fn set(host: &Host, run: &RunId, marks: &[Mark], on: bool) {
    marks.iter().for_each(|mark| host.set_mark(run, *mark, on));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_limit_ends_the_turn_of_a_program_that_does_not_go_on_by_itself() {
        let limited =
            HookSeen::Limited { reason: "limit".to_owned(), windows: Vec::new(), resets_at_ms: Some(5) };
        let waits = Hook::Waits { reason: "limit".to_owned(), until_ms: Some(5) };
        assert_eq!(meaning_of(Adapter::Opencode, limited.clone()), Some(waits));
        let ended = Hook::Ended(End::Limited { reason: "limit".to_owned(), until_ms: Some(5) });
        assert_eq!(meaning_of(Adapter::Claude, limited), Some(ended));
    }

    #[test]
    fn a_turn_is_over_when_nothing_of_it_runs_on_in_the_background() {
        let ended = |background_tasks| HookSeen::TurnEnded { text: "done".to_owned(), background_tasks };
        let over = Hook::Ended(End::Final { text: "done".to_owned() });
        assert_eq!(meaning_of(Adapter::Claude, ended(0)), Some(over.clone()));
        assert_eq!(meaning_of(Adapter::Claude, ended(1)), None);
        assert_eq!(in_our_words("turn_ended", &json!({"text": "done"})), Some(over));
        assert_eq!(in_our_words("Stop", &Value::Null), None);
    }
}
