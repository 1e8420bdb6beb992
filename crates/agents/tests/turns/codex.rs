use carillon_agents::Adapter::Codex;
use carillon_agents::turn::{TurnEnd, Usage};

use crate::support::{BAD, HOUR, KILLED, NOW, OK, answer, ended, failed};

const THREAD: &str = r#"{"type":"thread.started","thread_id":"01a22ee1-d360-7021-9fce-712de7cfe69f"}"#;
const SAID: &str =
    r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Let me look first."}}"#;
const ANSWER: &str =
    r#"{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"It is 4."}}"#;
const SILENT: &str = r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":""}}"#;
const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":400,"cached_input_tokens":250,"output_tokens":80,"reasoning_output_tokens":30}}"#;

fn failing(message: &str) -> String {
    [THREAD, SAID, &format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#)].join("\n")
}

#[test]
fn the_last_message_before_the_end_is_the_final() {
    let found = ended(Codex, OK, &[THREAD, SAID, ANSWER, COMPLETED].join("\n"), "");
    assert_eq!(found.end, answer("It is 4."));
    assert_eq!(found.session.as_deref(), Some("01a22ee1-d360-7021-9fce-712de7cfe69f"));
    let usage = Usage {
        input_tokens: 400,
        cached_tokens: Some(250),
        output_tokens: 80,
        reasoning_tokens: Some(30),
        cost_usd: None,
        of_session: true,
    };
    assert_eq!(found.usage, Some(usage));
    assert_eq!(ended(Codex, OK, &[THREAD, SILENT, COMPLETED].join("\n"), "").end, TurnEnd::NoAnswer);
}

#[test]
fn a_message_before_a_failure_is_not_the_final() {
    assert_eq!(ended(Codex, BAD, &failing("too bad"), "").end, failed("too bad"));
    assert_eq!(ended(Codex, KILLED, &[THREAD, SAID].join("\n"), "").end, failed("killed by signal 9"));
}

#[test]
fn a_limit_is_told_in_the_words_of_its_error() {
    let limited = |message: &str| match ended(Codex, BAD, &failing(message), "").end {
        TurnEnd::Limited { resets_at_ms, .. } => resets_at_ms,
        other => panic!("{message}: {other:?}"),
    };
    // The zone is the machine's; the tests of `limit` look at zones.
    let day = "You’ve hit your usage limit. Upgrade to Pro (https://x.example/pro) or try again at Dec 2nd, 2026 1:54 AM.";
    let reset = limited(day).expect("a reset");
    assert!((reset - NOW - 32 * HOUR).abs() < 15 * HOUR, "{reset}");
    assert_eq!(limited("exceeded retry limit, last status: 429 Too Many Requests"), None);
    assert_eq!(limited("You've hit your usage limit. Try again later."), None);
}

#[test]
fn words_of_the_agent_about_limits_are_its_answer() {
    let words = r#"{"type":"item.completed","item":{"type":"agent_message","text":"You've hit your usage limit, try again at 8:33 PM"}}"#;
    let found = ended(Codex, OK, &[THREAD, words, COMPLETED].join("\n"), "");
    assert_eq!(found.end, answer("You've hit your usage limit, try again at 8:33 PM"));
}

#[test]
fn a_conversation_that_is_not_there_is_unknown() {
    let errors =
        "Error: thread/resume: thread/resume failed: no rollout found for thread id a965bfe0 (code -32600)\n";
    assert!(matches!(ended(Codex, BAD, "", errors).end, TurnEnd::UnknownSession { .. }));
    assert_eq!(
        ended(Codex, BAD, "", "error: unexpected argument\n").end,
        failed("exited 1: error: unexpected argument")
    );
}
