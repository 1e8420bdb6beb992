//! What the program of a terminal tells of itself, from within its run.

use carillon_agents::adapter::Adapter;
use carillon_agents::hook::{self, HookSeen};
use carillon_core::id::RunId;
use carillon_core::turn::End;
use carillon_store::{agents, profiles, runs};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;
use crate::host::Host;
use crate::host::typing::Mark;
use crate::main_loop::{MainLoop, now_ms};
use crate::requests::runs::run_id;

/// What a program tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hook {
    /// It is up and free.
    Ready,
    /// It has begun a turn.
    Began,
    /// It has ended a turn.
    Ended(End),
    /// It sits on a question of its own, like one for a permission.
    Asks,
}

impl Engine {
    /// Hears what the program of a terminal tells: the `event` in its own word, and the `data` that
    /// came with it. What means nothing to us changes nothing.
    pub fn hear_hook(&self, run: &str, event: &str, data: &Value) -> Result<(), Error> {
        let run = run_id(run)?;
        let Some(adapter) = self.adapter_of_live(&run)? else { return Ok(()) };
        let (hook, session) = match in_our_words(event, data) {
            Some(hook) => (Some(hook), None),
            None => {
                let json = serde_json::to_vec(data).unwrap_or_default();
                let call = hook::hear(adapter, event, &json, now_ms());
                (call.seen.and_then(meaning_of), call.session)
            }
        };
        let Some(hook) = hook else { return Ok(()) };
        let host = self.inner.host.clone();
        self.request_blocking(move |inner| {
            if let (Hook::Ended(_), Some(session)) = (&hook, session) {
                inner.note_session(&run, &session)?;
            }
            inner.hear(&host, &run, hook)
        })
    }

    /// The adapter of the agent whose live run this is.
    fn adapter_of_live(&self, run: &RunId) -> Result<Option<Adapter>, Error> {
        let adapter = self.read(|db| {
            let row = runs::get(db, run)?.filter(|row| !row.state.is_terminal());
            let Some(agent) = row.and_then(|row| row.agent) else { return Ok(None) };
            let Some(agent) = agents::get(db, &agent)? else { return Ok(None) };
            let profile = profiles::list(db)?.into_iter().find(|profile| profile.id == agent.profile);
            Ok(profile.map(|profile| profile.adapter))
        })?;
        Ok(adapter.and_then(|adapter| adapter.parse().ok()))
    }
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
        "asks" => Some(Hook::Asks),
        _ => None,
    }
}

fn meaning_of(seen: HookSeen) -> Option<Hook> {
    match seen {
        HookSeen::SessionStarted { .. } => Some(Hook::Ready),
        HookSeen::PromptSubmitted => Some(Hook::Began),
        HookSeen::TurnEnded { text, background_tasks: 0 } => Some(Hook::Ended(End::Final { text })),
        // It goes on by itself when those have ended.
        HookSeen::TurnEnded { .. } => None,
        HookSeen::NeedsAttention { .. } => Some(Hook::Asks),
        HookSeen::Failed { reason } => Some(Hook::Ended(End::Failed { reason })),
        HookSeen::Limited { reason, resets_at_ms, .. } => {
            Some(Hook::Ended(End::Limited { reason, until_ms: resets_at_ms }))
        }
    }
}

impl MainLoop {
    fn hear(&mut self, host: &Host, run: &RunId, hook: Hook) -> Result<(), Error> {
        match hook {
            // Some programs say so again in the middle of their work, when they tidy up.
            Hook::Ready if host.has_mark(run, Mark::Begins) => {}
            Hook::Ready => set(host, run, &[Mark::Hooks, Mark::Begins], true),
            Hook::Began => {
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
                    self.turn_ended_in_terminal(run, end)?;
                }
            }
            Hook::Asks => {
                self.call_for_attention(run, true)?;
                return Ok(());
            }
        }
        if host.attended(run) {
            self.attention_changed(run);
        }
        self.terminal_changed(run);
        Ok(())
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

fn set(host: &Host, run: &RunId, marks: &[Mark], on: bool) {
    marks.iter().for_each(|mark| host.set_mark(run, *mark, on));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_turn_is_over_when_nothing_of_it_runs_on_in_the_background() {
        let ended = |background_tasks| HookSeen::TurnEnded { text: "done".to_owned(), background_tasks };
        let over = Hook::Ended(End::Final { text: "done".to_owned() });
        assert_eq!(meaning_of(ended(0)), Some(over.clone()));
        assert_eq!(meaning_of(ended(1)), None);
        assert_eq!(in_our_words("turn_ended", &json!({"text": "done"})), Some(over));
        assert_eq!(in_our_words("Stop", &Value::Null), None);
    }
}
