use std::fs;

use carillon_agents::Adapter::{Claude, Codex, Gemini, Opencode, Plain};
use carillon_agents::hook::{HookCall, HookSeen, hear, read};

use crate::support::{HOUR, NOW};

fn ended(text: &str, background_tasks: usize) -> Option<HookSeen> {
    Some(HookSeen::TurnEnded { text: text.to_owned(), background_tasks })
}

#[test]
fn claude_tells_of_its_turns() {
    let seen = |event: &str, json: &str| read(Claude, event, json.as_bytes(), NOW).seen;
    let stop = r#"{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"It is 4.","background_tasks":[]}"#;
    let call = read(Claude, "Stop", stop.as_bytes(), NOW);
    assert_eq!((call.session.as_deref(), call.seen), (Some("s"), ended("It is 4.", 0)));
    let busy = stop.replace("[]", r#"[{"id":"b1"},{"id":"b2"}]"#);
    assert_eq!(seen("Stop", &busy), ended("It is 4.", 2), "not final yet");
    assert_eq!(
        seen("UserPromptSubmit", r#"{"session_id":"s","prompt":"x"}"#),
        Some(HookSeen::PromptSubmitted)
    );
    let limit = r#"{"session_id":"s","error":"rate_limit","last_assistant_message":"You've hit your 5-hour limit · resets 8pm (UTC)"}"#;
    assert!(
        matches!(seen("StopFailure", limit), Some(HookSeen::Limited { resets_at_ms, .. }) if resets_at_ms == Some(NOW + 2 * HOUR + 60_000))
    );
    let other = r#"{"session_id":"s","error":"server_error"}"#;
    assert_eq!(seen("StopFailure", other), Some(HookSeen::Failed { reason: "server_error".to_owned() }));
    let asks =
        r#"{"message":"Claude needs your permission to use Bash","notification_type":"permission_prompt"}"#;
    assert!(matches!(seen("Notification", asks), Some(HookSeen::NeedsAttention { .. })));
    assert_eq!(seen("Notification", r#"{"message":"waiting","notification_type":"idle_prompt"}"#), None);
    assert_eq!(seen("SomethingNew", "{}"), None);
}

#[test]
fn the_others_tell_of_theirs() {
    let notify = r#"{"type":"agent-turn-complete","thread-id":"t","last-assistant-message":"4"}"#;
    let call = read(Codex, "notify", notify.as_bytes(), NOW);
    assert_eq!((call.session.as_deref(), call.seen), (Some("t"), ended("4", 0)));
    let after = r#"{"session_id":"s","prompt":"x","prompt_response":"4"}"#;
    assert_eq!(read(Gemini, "AfterAgent", after.as_bytes(), NOW).seen, ended("4", 0));
    let idle = r#"{"session":"ses_1","text":"4"}"#;
    assert_eq!(read(Opencode, "session.idle", idle.as_bytes(), NOW).seen, ended("4", 0));
    let retry = |named: bool| {
        format!(r#"{{"session":"ses_1","message":"limited","next":{},"named":{named}}}"#, NOW + HOUR)
    };
    let limited = read(Opencode, "session.status", retry(true).as_bytes(), NOW).seen;
    assert!(
        matches!(limited, Some(HookSeen::Limited { resets_at_ms, .. }) if resets_at_ms == Some(NOW + HOUR))
    );
    assert_eq!(read(Opencode, "session.status", retry(false).as_bytes(), NOW).seen, None);
    let own = retry(false).replace(r#""named""#, r#""action":"free_tier_limit","named""#);
    let limited = read(Opencode, "session.status", own.as_bytes(), NOW).seen;
    assert!(
        matches!(limited, Some(HookSeen::Limited { resets_at_ms: None, .. })),
        "its next try is no reset"
    );
}

#[test]
fn what_is_no_object_says_nothing() {
    let nothing = HookCall { session: None, seen: None, transcript: None };
    for json in [&b""[..], b"{", b"\xff"] {
        assert_eq!(read(Claude, "Stop", json, NOW), nothing);
    }
    assert_eq!(read(Claude, "Stop", &vec![b' '; 5 * 1024 * 1024], NOW), nothing);
    assert_eq!(read(Plain, "Stop", b"{}", NOW), nothing);
}

#[test]
fn the_exact_text_of_gemini_stands_in_its_transcript() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("session.jsonl");
    let hook = format!(
        r#"{{"session_id":"s","prompt_response":"It i s 4.","transcript_path":"{}"}}"#,
        file.display()
    );
    let heard = || match hear(Gemini, "AfterAgent", hook.as_bytes(), NOW).seen {
        Some(HookSeen::TurnEnded { text, .. }) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(heard(), "It i s 4.", "there is no transcript");
    let lines = [
        r#"{"sessionId":"s","kind":"main"}"#,
        r#"{"type":"user","content":[{"text":"earlier"}]}"#,
        r#"{"type":"gemini","content":"Earlier."}"#,
        r#"{"type":"user","content":[{"text":"2+2?"}]}"#,
        r#"{"type":"gemini","content":"I look."}"#,
        r#"{"type":"user","content":[{"functionResponse":{"name":"x"}}]}"#,
        r#"{"type":"gemini","content":"It is 4."}"#,
        r#"{"type":"gemini","content":""}"#,
        r#"{"$set":{"lastUpdated":"x"}}"#,
    ];
    fs::write(&file, lines.join("\n")).expect("a file");
    assert_eq!(heard(), "It is 4.");
    // Nothing yet of this turn: the text of an earlier one would be wrong.
    fs::write(&file, lines[..4].join("\n")).expect("a file");
    assert_eq!(heard(), "It i s 4.");
}
