use carillon_agents::Adapter::Acp;
use carillon_agents::turn::{TurnEnd, Usage};

use crate::support::{BAD, OK, UUID, answer, ended, failed};

const SESSION: &str = r#"{"type":"session","id":"70435f15-5fa0-4c49-84da-17f7c03abed9"}"#;
const TOOL: &str =
    r#"{"type":"update","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"ask_agent"}}"#;

fn said(text: &str) -> String {
    format!(
        r#"{{"type":"update","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}"#
    )
}

fn end(reason: &str) -> String {
    format!(
        r#"{{"type":"end","result":{{"stopReason":"{reason}","_meta":{{"quota":{{"token_count":{{"input_tokens":100,"output_tokens":20}}}}}}}}}}"#
    )
}

fn error(during: &str, code: i64, message: &str, data: &str) -> String {
    format!(r#"{{"type":"error","during":"{during}","code":{code},"message":"{message}","data":{data}}}"#)
}

#[test]
fn what_it_says_after_its_last_tool_is_the_final() {
    let out =
        [SESSION, &said("Let me look."), TOOL, &said("It is"), &said(" 4."), &end("end_turn")].join("\n");
    let found = ended(Acp, OK, &out, "");
    assert_eq!((found.end, found.session.as_deref()), (answer("It is 4."), Some(UUID)));
    let usage = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    assert_eq!(found.usage, Some(usage));
    let counts =
        r#"{"inputTokens":9,"outputTokens":4,"thoughtTokens":2,"cachedReadTokens":30,"cachedWriteTokens":1}"#;
    let counted = format!(r#"{{"type":"end","result":{{"stopReason":"end_turn","usage":{counts}}}}}"#);
    let usage = Usage {
        input_tokens: 40,
        cached_tokens: Some(30),
        output_tokens: 6,
        reasoning_tokens: Some(2),
        ..Usage::default()
    };
    assert_eq!(ended(Acp, OK, &[SESSION, &said("4"), &counted].join("\n"), "").usage, Some(usage));
    let silent = r#"{"type":"end","result":{"stopReason":"end_turn"}}"#;
    assert_eq!(ended(Acp, OK, &[SESSION, &said("4"), silent].join("\n"), "").usage, None);
    assert_eq!(ended(Acp, OK, &[SESSION, &end("end_turn")].join("\n"), "").end, TurnEnd::NoAnswer);
}

#[test]
fn a_turn_without_a_good_end_has_no_final() {
    assert_eq!(
        ended(Acp, BAD, &[SESSION, &said("half")].join("\n"), "carillon: the agent ended\n").end,
        failed("exited 1: carillon: the agent ended")
    );
    assert_eq!(
        ended(Acp, OK, &[SESSION, &said("no"), &end("refusal")].join("\n"), "").end,
        failed("the agent refused to go on")
    );
    let out =
        [SESSION, &error("session/prompt", -32603, "Internal error", r#"{"details":"the moon"}"#)].join("\n");
    assert_eq!(ended(Acp, BAD, &out, "").end, failed("session/prompt: Internal error: the moon"));
}

#[test]
fn limits_and_unknown_sessions_are_told_apart() {
    let end = |line: &str| ended(Acp, BAD, line, "").end;
    assert!(matches!(
        end(&error("session/prompt", 429, "quota exceeded", "null")),
        TurnEnd::Limited { resets_at_ms: None, .. }
    ));
    let codex = error("session/prompt", -32603, "x", r#"{"codexErrorInfo":"usageLimitExceeded"}"#);
    assert!(matches!(end(&codex), TurnEnd::Limited { .. }));
    assert!(matches!(
        end(&error("session/load", -32603, "Internal error", "null")),
        TurnEnd::UnknownSession { .. }
    ));
    assert!(matches!(end(&error("session/load", -32000, "log in first", "null")), TurnEnd::Failed { .. }));
}

#[test]
fn messages_are_told_apart() {
    let of = |id: &str, words: &str| {
        said(words).replace(r#""content""#, &format!(r#""messageId":"{id}","content""#))
    };
    let out = [SESSION, &of("a", "It "), &of("a", "is 4."), &of("b", "Anything else?"), &end("end_turn")]
        .join("\n");
    assert_eq!(ended(Acp, OK, &out, "").end, answer("It is 4.\n\nAnything else?"));
}
