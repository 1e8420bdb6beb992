use carillon_agents::Adapter::Opencode;
use carillon_agents::turn::{TurnEnd, Usage};

use crate::support::{BAD, HOUR, NOW, OK, answer, ended, failed};

const START: &str =
    r#"{"type":"step_start","sessionID":"ses_dd11b40e7ffe98pH82zWuOLq2K","part":{"type":"step-start"}}"#;

fn said(text: &str) -> String {
    format!(
        r#"{{"type":"text","sessionID":"ses_dd11b40e7ffe98pH82zWuOLq2K","part":{{"type":"text","text":"{text}"}}}}"#
    )
}

fn finish(reason: &str) -> String {
    format!(
        r#"{{"type":"step_finish","sessionID":"ses_dd11b40e7ffe98pH82zWuOLq2K","part":{{"reason":"{reason}","tokens":{{"input":100,"output":20,"reasoning":1,"cache":{{"write":2,"read":3}}}},"cost":0.5}}}}"#
    )
}

fn gave_up(message: &str, next: i64, named: bool) -> String {
    format!(
        r#"{{"type":"carillon","event":"gave_up","attempt":1,"message":"{message}","next":{next},"named":{named}}}"#
    )
}

#[test]
fn the_text_of_the_last_step_is_the_final() {
    let out = [
        START,
        &said("Let me look."),
        &finish("tool-calls"),
        START,
        &said("It is"),
        &said("4."),
        &finish("stop"),
    ];
    let found = ended(Opencode, OK, &out.join("\n"), "");
    assert_eq!(found.end, answer("It is\n4."));
    assert_eq!(found.session.as_deref(), Some("ses_dd11b40e7ffe98pH82zWuOLq2K"));
    let usage = Usage {
        input_tokens: 210,
        cached_tokens: Some(6),
        output_tokens: 42,
        reasoning_tokens: Some(2),
        cost_usd: Some(1.0),
        of_session: false,
    };
    assert_eq!(found.usage, Some(usage));
    assert_eq!(ended(Opencode, OK, &[START, &finish("stop")].join("\n"), "").end, TurnEnd::NoAnswer);
}

#[test]
fn a_turn_that_stops_between_two_steps_has_no_final() {
    let out = [START, &said("Let me look."), &finish("tool-calls")].join("\n");
    assert_eq!(ended(Opencode, OK, &out, "").end, failed("ended without a result"));
}

#[test]
fn a_wait_that_the_provider_names_is_a_limit() {
    let end = |line: &str| ended(Opencode, OK, line, "").end;
    let TurnEnd::Limited { resets_at_ms, reason, .. } = end(&gave_up("slow down", NOW + 2 * HOUR, true))
    else {
        panic!("a limit");
    };
    assert_eq!((resets_at_ms, reason.as_str()), (Some(NOW + 2 * HOUR), "slow down"));
    // Its own next try is no reset.
    let TurnEnd::Limited { resets_at_ms, .. } = end(&gave_up("Rate limit reached", NOW + 30_000, false))
    else {
        panic!("a limit");
    };
    assert_eq!(resets_at_ms, None);
    assert_eq!(
        end(&gave_up("Connection reset by server", NOW + 30_000, false)),
        failed("Connection reset by server")
    );
    let own = gave_up("Usage limit reached. It will reset in 3 hours 20 minutes.", NOW + 2_000, false);
    let own =
        own.replace(r#""event""#, r#""action":"go_limit","event""#).replace("Usage limit", "All is used");
    let TurnEnd::Limited { resets_at_ms, .. } = end(&own) else { panic!("a limit") };
    assert_eq!(resets_at_ms, Some(NOW + 3 * HOUR + 20 * 60_000));
    let retry = gave_up("slow down", NOW, false).replace("gave_up", "retry");
    assert_eq!(end(&[&retry, START, &said("4"), &finish("stop")].join("\n")), answer("4"));
}

#[test]
fn errors_are_failures_but_for_the_status_of_limits() {
    let error = |status: u32| {
        format!(
            r#"{{"type":"error","sessionID":"ses_x","error":{{"name":"APIError","data":{{"message":"bad key","statusCode":{status}}}}}}}"#
        )
    };
    assert_eq!(ended(Opencode, BAD, &error(401), "").end, failed("bad key"));
    assert!(matches!(ended(Opencode, BAD, &error(429), "").end, TurnEnd::Limited { resets_at_ms: None, .. }));
}

#[test]
fn a_conversation_that_is_not_there_is_unknown() {
    let errors = "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\n";
    assert!(matches!(ended(Opencode, BAD, "", errors).end, TurnEnd::UnknownSession { .. }));
}
