//! What a CLI says by its hooks in terminal mode. Reading is all that happens here.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use carillon_core::limits::{EVENT_LINE_MAX_BYTES, TRANSCRIPT_TAIL_BYTES};
use serde_json::Value;

use crate::lines::{events, text};
use crate::{Adapter, codex_records, limit, text as words};

/// Longest text about what needs attention, in characters.
const WHAT_CHARS: usize = 400;

/// What we add to the word of Codex.
const IS_KEPT: &str = "carillon-is-kept";

/// One call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The conversation that it is about, where the CLI says so.
    pub session: Option<String>,
    /// What it means; nothing when it is of no interest.
    pub seen: Option<HookSeen>,
    /// The file with the conversation, where the text of a turn's end must be taken from there: Gemini CLI gives its
    /// hook the pieces of a streamed answer with blanks between them.
    pub transcript: Option<PathBuf>,
}

/// What a hook tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookSeen {
    /// A turn has ended.
    TurnEnded {
        /// The agent's last message; empty when it said nothing.
        text: String,
        /// How many of the CLI's own tasks still run in the background. The text is final only at zero: another turn
        /// follows when they end.
        background_tasks: usize,
    },
    /// The agent waits for its user.
    NeedsAttention {
        /// What for, in one line.
        what: String,
    },
    /// The user, or we, have given it a prompt.
    PromptSubmitted,
    /// A conversation has begun, or goes on.
    SessionStarted {
        /// Its id.
        id: String,
    },
    /// The account's limit is reached.
    Limited {
        /// What the CLI said.
        reason: String,
        /// The windows of the limit that are used up; empty when it named none.
        windows: Vec<String>,
        /// When it opens again, in Unix milliseconds; nothing when it did not say.
        resets_at_ms: Option<i64>,
    },
    /// A turn has ended badly.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Reads a call of a hook: the event's name as it was given to the command, and the JSON that came with it. `now_ms` is
/// now, in Unix milliseconds. What is no JSON object, or too long, says nothing.
pub fn read(adapter: Adapter, event: &str, json: &[u8], now_ms: i64) -> HookCall {
    let nothing = HookCall { session: None, seen: None, transcript: None };
    if json.len() > EVENT_LINE_MAX_BYTES {
        return nothing;
    }
    let Ok(value) = serde_json::from_slice::<Value>(json) else { return nothing };
    let (session, seen) = match adapter {
        Adapter::Claude => (text(&value, "/session_id"), claude(event, &value, now_ms)),
        Adapter::Codex => (text(&value, "/thread-id"), codex(event, &value)),
        Adapter::Gemini => (text(&value, "/session_id"), gemini(event, &value)),
        Adapter::Opencode => (text(&value, "/session"), opencode(event, &value, now_ms)),
        Adapter::Acp | Adapter::Plain => return nothing,
    };
    let transcript = (adapter == Adapter::Gemini && matches!(seen, Some(HookSeen::TurnEnded { .. })))
        .then(|| PathBuf::from(text(&value, "/transcript_path")))
        .filter(|path| path.is_absolute());
    HookCall { session: Some(session.to_owned()).filter(|id| !id.is_empty()), seen, transcript }
}

/// Adds to what a CLI says by a hook what its process shows at this moment: whether the conversation is one that Codex
/// keeps. It also tells of turns in which it looks for a title, and of those of its helpers. For the process that the hook
/// calls; `pid` is the CLI's.
pub fn add_what_shows(event: &str, said: &mut Value, pid: u32) {
    let thread = text(said, "/thread-id");
    if event != "notify" || thread.is_empty() {
        return;
    }
    let is_kept = codex_records::is_kept(thread, &codex_records::open_in(pid));
    if let (Some(is_kept), Some(said)) = (is_kept, said.as_object_mut()) {
        said.insert(IS_KEPT.to_owned(), is_kept.into());
    }
}

/// As [`read`], and looks into the file with the conversation where that is needed. What cannot be found there stays as
/// the hook gave it. For the process that the hook calls: it reads a file.
pub fn hear(adapter: Adapter, event: &str, json: &[u8], now_ms: i64) -> HookCall {
    let mut call = read(adapter, event, json, now_ms);
    let exact = call.transcript.as_deref().and_then(|path| last_answer(&tail(path).ok()?));
    if let (Some(HookSeen::TurnEnded { text, .. }), Some(exact)) = (&mut call.seen, exact) {
        *text = exact;
    }
    call
}

/// The end of a file: the turn that has just ended stands there.
fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TRANSCRIPT_TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the agent said last in a conversation of Gemini CLI, since its user has spoken.
fn last_answer(transcript: &[u8]) -> Option<String> {
    let mut answer = None;
    for event in events(transcript) {
        match text(&event, "/type") {
            // Results of tools come as the user's, too, but without text.
            "user" if !text(&event, "/content/0/text").is_empty() => answer = None,
            "gemini" => {
                let said = words::cleaned(text(&event, "/content").as_bytes());
                answer = Some(said).filter(|said| !said.is_empty()).or(answer);
            }
            _ => {}
        }
    }
    answer
}

fn claude(event: &str, value: &Value, now_ms: i64) -> Option<HookSeen> {
    match event {
        "SessionStart" => Some(HookSeen::SessionStarted { id: text(value, "/session_id").to_owned() }),
        "UserPromptSubmit" => Some(HookSeen::PromptSubmitted),
        "Stop" => {
            let tasks = value.pointer("/background_tasks").and_then(Value::as_array);
            Some(ended(text(value, "/last_assistant_message"), tasks.map_or(0, Vec::len)))
        }
        "StopFailure" => Some(claude_failure(value, now_ms)),
        "PermissionRequest" => {
            Some(HookSeen::NeedsAttention { what: words::one_line(text(value, "/tool_name"), WHAT_CHARS) })
        }
        // It also notifies of being idle, which the end of the turn has told already.
        "Notification" if text(value, "/notification_type") == "idle_prompt" => None,
        "Notification" => {
            Some(HookSeen::NeedsAttention { what: words::one_line(text(value, "/message"), WHAT_CHARS) })
        }
        _ => None,
    }
}

/// The words are the CLI's own: a turn that failed has no message of the agent's.
fn claude_failure(value: &Value, now_ms: i64) -> HookSeen {
    let said = [text(value, "/last_assistant_message"), text(value, "/error_details"), text(value, "/error")];
    let said = said.map(|said| words::cleaned(said.as_bytes()));
    let reason = said.iter().find(|said| !said.is_empty()).cloned().unwrap_or_default();
    if text(value, "/error") != "rate_limit" {
        return HookSeen::Failed { reason };
    }
    let resets_at_ms = said.iter().find_map(|said| limit::reset_in(said, now_ms));
    HookSeen::Limited { reason, windows: Vec::new(), resets_at_ms }
}

fn codex(event: &str, value: &Value) -> Option<HookSeen> {
    let is_end = event == "notify" && text(value, "/type") == "agent-turn-complete";
    let is_foreign = value.get(IS_KEPT) == Some(&Value::Bool(false));
    (is_end && !is_foreign).then(|| ended(text(value, "/last-assistant-message"), 0))
}

fn gemini(event: &str, value: &Value) -> Option<HookSeen> {
    match event {
        "SessionStart" => Some(HookSeen::SessionStarted { id: text(value, "/session_id").to_owned() }),
        "BeforeAgent" => Some(HookSeen::PromptSubmitted),
        "AfterAgent" => Some(ended(text(value, "/prompt_response"), 0)),
        "Notification" => {
            Some(HookSeen::NeedsAttention { what: words::one_line(text(value, "/message"), WHAT_CHARS) })
        }
        _ => None,
    }
}

fn opencode(event: &str, value: &Value, now_ms: i64) -> Option<HookSeen> {
    match event {
        "session.created" => Some(HookSeen::SessionStarted { id: text(value, "/session").to_owned() }),
        "session.idle" => Some(ended(text(value, "/text"), 0)),
        "permission.asked" => {
            Some(HookSeen::NeedsAttention { what: words::one_line(text(value, "/what"), WHAT_CHARS) })
        }
        "session.status" if value.pointer("/busy") == Some(&Value::Bool(true)) => {
            Some(HookSeen::PromptSubmitted)
        }
        "session.status" => opencode_retry(value, now_ms),
        _ => None,
    }
}

/// A short wait is its own, and over soon. A longer one was named by the provider, and its own plans say what to do.
fn opencode_retry(value: &Value, now_ms: i64) -> Option<HookSeen> {
    let is_named = value.pointer("/named") == Some(&Value::Bool(true));
    if !is_named && text(value, "/action").is_empty() {
        return None;
    }
    let reason = words::cleaned(text(value, "/message").as_bytes());
    let next = value.pointer("/next").and_then(Value::as_i64).filter(|_| is_named);
    let resets_at_ms =
        next.and_then(|next| limit::epoch_ms(next, now_ms)).or_else(|| limit::reset_in(&reason, now_ms));
    Some(HookSeen::Limited { reason, windows: Vec::new(), resets_at_ms })
}

fn ended(said: &str, background_tasks: usize) -> HookSeen {
    HookSeen::TurnEnded { text: words::cleaned(said.as_bytes()), background_tasks }
}
