use carillon_agents::Adapter::Gemini;
use carillon_agents::turn::{Exit, TurnEnd};

use crate::support::{BAD, HOUR, KILLED, NOW, OK, UUID, answer, ended, failed};

const INIT: &str =
    r#"{"type":"init","session_id":"70435f15-5fa0-4c49-84da-17f7c03abed9","model":"gemini-2.5-flash"}"#;
const USER: &str = r#"{"type":"message","role":"user","content":"say hello"}"#;
const TOOL: &str = r#"{"type":"tool_use","tool_name":"mcp_carillon_ask_agent","parameters":{"agent":"bob"}}"#;
const DONE: &str =
    r#"{"type":"result","status":"success","stats":{"input_tokens":200,"output_tokens":40,"cached":150}}"#;
const REFUSED: Exit = Exit { code: Some(173), signal: None };

fn said(text: &str) -> String {
    format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
}

fn error(message: &str) -> String {
    format!(
        r#"{{"type":"result","timestamp":"2026-11-30T17:59:00Z","status":"error","error":{{"type":"unknown","message":"{message}"}}}}"#
    )
}

const DUMP: &str = "Ripgrep is not available. Falling back to GrepTool.
Error when talking to Gemini API Full report available at: /x.json TerminalQuotaError: quota exceeded
    at classifyGoogleError (file:///x.js:307375:18) {
  cause: {
    code: 429,
    retryDelayMs: 1
  },
  retryDelayMs: 7200000,
  reason: 'QUOTA_EXHAUSTED'
}
";

#[test]
fn what_it_says_after_its_last_tool_is_the_final() {
    let out = [INIT, USER, &said("Let me look."), TOOL, &said("It is"), &said(" 4."), DONE].join("\n");
    let found = ended(Gemini, OK, &out, DUMP);
    assert_eq!((found.end, found.session.as_deref()), (answer("It is 4."), Some(UUID)));
    let usage = found.usage.expect("usage");
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (200, Some(150), 40));
    let silent = [INIT, USER, r#"{"type":"result","status":"success"}"#].join("\n");
    assert_eq!(ended(Gemini, OK, &silent, "").usage, None, "what nobody told is not zero");
    let out = [INIT, &said("It is 4, I look once more."), TOOL, DONE].join("\n");
    assert_eq!(ended(Gemini, OK, &out, "").end, answer("It is 4, I look once more."));
    assert_eq!(ended(Gemini, OK, &[INIT, USER, DONE].join("\n"), "").end, TurnEnd::NoAnswer);
}

#[test]
fn a_limit_is_told_by_the_exit_code_and_its_reset_by_the_error() {
    let out = [INIT, USER, &error("[API Error: quota exceeded]")].join("\n");
    let TurnEnd::Limited { resets_at_ms, .. } = ended(Gemini, REFUSED, &out, DUMP).end else {
        panic!("a limit")
    };
    assert_eq!(resets_at_ms, Some(NOW - 60_000 + 2 * HOUR), "it counts from the refusal");
    let TurnEnd::Limited { resets_at_ms, .. } = ended(Gemini, REFUSED, &out, "").end else {
        panic!("a limit")
    };
    assert_eq!(resets_at_ms, None);
    assert_eq!(ended(Gemini, REFUSED, &out, DUMP).session, None, "it does not keep what nobody answered");
    let later = [INIT, USER, TOOL, &error("[API Error: quota exceeded]")].join("\n");
    assert_eq!(ended(Gemini, REFUSED, &later, DUMP).session.as_deref(), Some(UUID));
    assert!(
        matches!(ended(Gemini, BAD, &out, DUMP).end, TurnEnd::Limited { .. }),
        "told by the error's class"
    );
}

#[test]
fn other_errors_are_failures() {
    let out = [INIT, &said("half of an"), &error("[API Error: terminated]")].join("\n");
    assert_eq!(ended(Gemini, BAD, &out, "").end, failed("[API Error: terminated]"));
    let empty = r#"{"type":"error","severity":"error","message":"The model returned an empty response."}"#;
    let out = [INIT, empty, r#"{"type":"result","status":"error"}"#].join("\n");
    assert_eq!(ended(Gemini, OK, &out, "").end, failed("The model returned an empty response."));
    assert_eq!(
        ended(Gemini, KILLED, &[INIT, &said("half")].join("\n"), "").end,
        failed("killed by signal 9")
    );
    let errors = "Warning: True color (24-bit) support not detected.\nPlease set an Auth method\n    at main (x.js:1:2)\n";
    let exit = Exit { code: Some(41), signal: None };
    assert_eq!(ended(Gemini, exit, "", errors).end, failed("exited 41: Please set an Auth method"));
}

#[test]
fn an_answer_that_it_broke_off_is_not_the_final() {
    let warning = r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#;
    let out = [INIT, &said("half of an half of an"), warning, DONE].join("\n");
    assert_eq!(ended(Gemini, OK, &out, "").end, failed("Loop detected, stopping execution"));
    let out = [INIT, &said("half"), warning, TOOL, &said("It is 4."), DONE].join("\n");
    assert_eq!(ended(Gemini, OK, &out, "").end, answer("It is 4."));
}

#[test]
fn a_conversation_that_is_not_there_is_unknown() {
    let errors =
        "Error resuming session: Invalid session identifier \"01fa8197\".\n  Searched for sessions in /x.\n";
    let exit = Exit { code: Some(42), signal: None };
    assert!(matches!(ended(Gemini, exit, "", errors).end, TurnEnd::UnknownSession { .. }));
}
