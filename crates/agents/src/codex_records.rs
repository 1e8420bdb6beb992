//! The records of Codex: one file of JSON lines for each conversation, which it has open as long as it is in it. What it
//! tells nobody stands there: which conversations are its user's, and that a turn has ended at a limit.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use carillon_core::limits::EVENT_LINE_MAX_BYTES;
use jiff::Timestamp;
use serde_json::Value;

use crate::lines::{event, text};
use crate::{limit, linux, text as words};

/// How the name of a record begins; the conversation's id and `.jsonl` end it.
const PREFIX: &str = "rollout-";

/// The kind of the error that a turn ends with at a limit.
const AT_LIMIT: &str = "usage_limit_exceeded";

/// The records that a process has open.
pub fn open_in(pid: u32) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = linux::open_files(pid).into_iter().filter(|path| is_record(path)).collect();
    all.sort();
    all.dedup();
    all
}

fn is_record(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(".jsonl"))
}

/// Whether a conversation is one of these records, and its user's; nothing when there is no record at all.
pub(crate) fn is_kept(thread: &str, records: &[PathBuf]) -> Option<bool> {
    let end = format!("-{thread}.jsonl");
    let is_of_thread = |path: &&PathBuf| path.to_str().is_some_and(|path| path.ends_with(&end));
    match records.iter().find(is_of_thread) {
        Some(record) => Some(is_of_user(record)),
        None => (!records.is_empty()).then_some(false),
    }
}

/// Whether a conversation is its user's, and none that a helper of the agent has. What cannot be read is.
pub fn is_of_user(record: &Path) -> bool {
    let first = || {
        let most = u64::try_from(EVENT_LINE_MAX_BYTES).unwrap_or(u64::MAX);
        let mut line = Vec::new();
        BufReader::new(File::open(record).ok()?.take(most)).read_until(b'\n', &mut line).ok()?;
        event(&line)
    };
    // A helper's names who has started it.
    first().is_none_or(|meta| !meta.pointer("/payload/source").is_some_and(Value::is_object))
}

/// A turn that has ended at a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    /// What the CLI said.
    pub reason: String,
    /// When the limit ends, in Unix milliseconds; nothing when it did not say.
    pub resets_at_ms: Option<i64>,
}

/// The limit at which the last turn of a record has ended, when that was not before `since_ms`: the end of a record, whose
/// first line need not be whole. Times in Unix milliseconds.
pub fn limited_since(record: &[u8], since_ms: i64, now_ms: i64) -> Option<Limited> {
    if !String::from_utf8_lossy(record).contains(AT_LIMIT) {
        return None;
    }
    let mut windows = Value::Null;
    let mut found = None;
    for event in record.split(|byte| *byte == b'\n').filter_map(event) {
        let at_ms = text(&event, "/timestamp").parse::<Timestamp>().map_or(0, Timestamp::as_millisecond);
        match (text(&event, "/type"), text(&event, "/payload/type")) {
            ("event_msg", "task_started" | "turn_started") => found = None,
            ("event_msg", "token_count") => {
                windows = event.pointer("/payload/rate_limits").cloned().unwrap_or_default();
            }
            ("event_msg", "task_complete" | "turn_complete") => {
                let is_limit =
                    text(&event, "/payload/error/codex_error_info") == AT_LIMIT && at_ms >= since_ms;
                found = is_limit.then(|| {
                    let reason = words::cleaned(text(&event, "/payload/error/message").as_bytes());
                    let resets_at_ms =
                        used_up_until(&windows, now_ms).or_else(|| limit::reset_in(&reason, now_ms));
                    Limited { reason, resets_at_ms }
                });
            }
            _ => {}
        }
    }
    found
}

/// When the last of the windows that are used up opens again.
fn used_up_until(windows: &Value, now_ms: i64) -> Option<i64> {
    let until = |name: &str| {
        let window = windows.get(name)?;
        let is_used_up = window.get("used_percent").and_then(Value::as_f64).is_some_and(|used| used >= 100.0);
        is_used_up.then(|| limit::epoch_ms(window.get("resets_at")?.as_i64()?, now_ms)).flatten()
    };
    ["primary", "secondary"].into_iter().filter_map(until).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str =
        r#"{"timestamp":"2026-11-30T18:00:00.000Z","type":"event_msg","payload":{"type":"task_started"}}"#;
    const LIMIT: &str = r#"{"timestamp":"2026-11-30T18:00:01.500Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":null,"error":{"message":"You’ve hit your usage limit. Try again in 2 hours.","codex_error_info":"usage_limit_exceeded"}}}"#;

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().expect("a time").as_millisecond()
    }

    #[test]
    fn the_last_turn_of_a_record_tells_of_a_limit() {
        let (since, now) = (ms("2026-11-30T18:00:00Z"), ms("2026-11-30T18:00:02Z"));
        let limited = |lines: &[&str]| limited_since(lines.join("\n").as_bytes(), since, now);
        let reason = "You’ve hit your usage limit. Try again in 2 hours.".to_owned();
        let in_two_hours = Limited { reason: reason.clone(), resets_at_ms: Some(now + 7_200_000) };
        assert_eq!(limited(&["is not whole\"}", STARTED, LIMIT]), Some(in_two_hours));
        let count = r#"{"timestamp":"2026-11-30T18:00:01Z","type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":100.0,"resets_at":1796070000},"secondary":{"used_percent":12.0,"resets_at":1796670000}}}}"#;
        let exact = Limited { reason, resets_at_ms: Some(1_796_070_000_000) };
        assert_eq!(limited(&[STARTED, count, LIMIT]), Some(exact));
        assert_eq!(limited(&[STARTED, LIMIT, STARTED]), None, "another one has begun");
        assert_eq!(limited_since(LIMIT.as_bytes(), since + 2_000, now), None, "it was an earlier one");
        let other = LIMIT.replace("usage_limit_exceeded", "internal_server_error");
        assert_eq!(limited(&[STARTED, &other]), None);
        let said = LIMIT.replace("\"error\"", "\"last_agent_message\"");
        assert_eq!(limited(&[STARTED, &said]), None, "words alone are no limit");
    }

    #[test]
    fn a_conversation_is_kept_when_its_record_is_open_and_no_helper_s() {
        let dir = tempfile::tempdir().expect("a directory");
        let record = |id: &str, source: &str| {
            let path = dir.path().join(format!("rollout-2026-11-30T18-00-00-{id}.jsonl"));
            let meta = format!("{{\"type\":\"session_meta\",\"payload\":{{\"source\":{source}}}}}\n");
            std::fs::write(&path, meta).expect("a file");
            path
        };
        let held = [record("a1", "\"cli\""), record("b2", "{\"subagent\":\"review\"}")];
        assert_eq!(is_kept("a1", &held), Some(true));
        assert_eq!(is_kept("b2", &held), Some(false), "a helper's");
        assert_eq!(is_kept("c3", &held), Some(false), "a title's");
        assert_eq!(is_kept("a1", &[]), None);
        let open = File::open(&held[0]).expect("ours");
        assert_eq!(open_in(std::process::id()), [held[0].clone()]);
        drop(open);
    }
}
