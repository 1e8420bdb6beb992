use carillon_agents::Adapter::Claude;
use carillon_agents::turn::{TurnEnd, Usage};

use crate::support::{BAD, HOUR, KILLED, NOW, OK, UUID, answer, ended, failed};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"70435f15-5fa0-4c49-84da-17f7c03abed9","tools":["Bash"]}"#;
const STARTED: &str = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b9"}],"session_id":"70435f15-5fa0-4c49-84da-17f7c03abed9"}"#;
const ENDED: &str = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[],"session_id":"70435f15-5fa0-4c49-84da-17f7c03abed9"}"#;

fn result(text: &str) -> String {
    format!(
        r#"{{"session_id":"{UUID}","total_cost_usd":0.0032,"usage":{{"input_tokens":200,"output_tokens":40}},"is_error":false,"subtype":"success","result":"{text}","type":"result","model_usage_since_last_result":{{"m":{{"inputTokens":150,"cacheReadInputTokens":40,"cacheCreationInputTokens":10,"outputTokens":40,"costUSD":0.0016}}}}}}"#
    )
}

fn refused(status: u32, text: &str) -> String {
    format!(
        r#"{{"session_id":"{UUID}","is_error":true,"subtype":"success","api_error_status":{status},"result":"{text}","type":"result"}}"#
    )
}

fn said(kind: &str) -> String {
    format!(r#"{{"type":"assistant","message":{{"model":"<synthetic>","content":[]}},"error":"{kind}"}}"#)
}

#[test]
fn the_result_is_the_final_with_its_session_and_its_own_price() {
    let found = ended(Claude, OK, &format!("{INIT}\nnoise\n{}\n", result("Bob said: 4")), "");
    assert_eq!(found.end, answer("Bob said: 4"));
    assert_eq!(found.session.as_deref(), Some(UUID));
    // `total_cost_usd` would count the earlier turns of the conversation again.
    let usage = Usage {
        input_tokens: 200,
        cached_tokens: Some(40),
        output_tokens: 40,
        cost_usd: Some(0.0016),
        ..Usage::default()
    };
    assert_eq!(found.usage, Some(usage));
}

#[test]
fn an_older_version_tells_the_tokens_of_the_turn_but_no_price_of_it() {
    let line = r#"{"type":"result","is_error":false,"result":"4","total_cost_usd":9.0,"usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":2}}"#;
    let usage = Usage { input_tokens: 12, cached_tokens: Some(7), output_tokens: 2, ..Usage::default() };
    assert_eq!(ended(Claude, OK, line, "").usage, Some(usage));
}

#[test]
fn what_it_says_before_its_background_work_has_ended_is_not_the_final() {
    let first = [INIT, STARTED, &result("started it")].join("\n");
    assert!(matches!(ended(Claude, KILLED, &first, "").end, TurnEnd::Failed { .. }));
    let both = [&first, ENDED, INIT, &result("it is done")].join("\n");
    let found = ended(Claude, OK, &both, "");
    assert_eq!(found.end, answer("it is done"));
    assert_eq!(found.usage.expect("usage").input_tokens, 400, "both results count");
    // Nothing to add after the work: the first answer stands.
    let silent = [&first, ENDED, &result("")].join("\n");
    assert_eq!(ended(Claude, OK, &silent, "").end, answer("started it"));
}

#[test]
fn an_empty_result_is_no_answer() {
    assert_eq!(ended(Claude, OK, &result(""), "").end, TurnEnd::NoAnswer);
}

#[test]
fn a_limit_is_told_by_its_event_and_waits_for_the_latest_window() {
    let (soon, late) = ((NOW + HOUR) / 1_000, (NOW + 50 * HOUR) / 1_000);
    let event = format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{soon},"rateLimitType":"five_hour","unifiedWindows":{{"five_hour":{{"resetsAt":{soon},"status":"rejected"}},"seven_day":{{"resetsAt":{late},"status":"rejected"}},"other":{{"resetsAt":1,"status":"allowed"}}}}}}}}"#
    );
    let reason = "You've hit your 5-hour limit · resets 7pm (UTC)";
    let out = [INIT, &event, &said("rate_limit"), &refused(429, reason)].join("\n");
    let TurnEnd::Limited { windows, resets_at_ms, reason: told } = ended(Claude, BAD, &out, "").end else {
        panic!("it is a limit");
    };
    assert_eq!((windows.join(" ").as_str(), resets_at_ms), ("five_hour seven_day", Some(NOW + 50 * HOUR)));
    assert_eq!(told, reason);
    // One of the windows does not say when it opens again: then nobody knows.
    let unsure =
        out.replace(&format!(r#"{{"resetsAt":{late},"status":"rejected"}}"#), r#"{"status":"rejected"}"#);
    let TurnEnd::Limited { resets_at_ms, .. } =
        ended(Claude, BAD, &unsure.replace("resets 7pm (UTC)", ""), "").end
    else {
        panic!("it is a limit");
    };
    assert_eq!(resets_at_ms, None);
}

#[test]
fn without_the_event_the_reset_is_in_the_own_error_line() {
    let out =
        [INIT, &said("rate_limit"), &refused(429, "You've hit your 5-hour limit · resets 8:23pm (UTC)")]
            .join("\n");
    let TurnEnd::Limited { resets_at_ms, windows, .. } = ended(Claude, BAD, &out, "").end else {
        panic!("it is a limit");
    };
    assert_eq!((resets_at_ms, windows.len()), (Some(NOW + 2 * HOUR + 24 * 60_000), 0));
    let out = [INIT, &refused(429, "API Error: Request rejected (429) · limited")].join("\n");
    let TurnEnd::Limited { resets_at_ms, .. } = ended(Claude, BAD, &out, "").end else {
        panic!("it is a limit")
    };
    assert_eq!(resets_at_ms, None, "nothing is made up");
}

#[test]
fn a_warning_and_words_about_limits_are_no_limit() {
    let warning = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796089987,"rateLimitType":"five_hour","utilization":0.91}}"#;
    let words = "You've hit your 5-hour limit · resets 8:23pm (UTC)";
    assert_eq!(ended(Claude, OK, &[INIT, warning, &result(words)].join("\n"), "").end, answer(words));
    // Rejected in one account, answered by another: the turn has an answer.
    let rejected = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}"#;
    assert_eq!(ended(Claude, OK, &[INIT, rejected, &result("4")].join("\n"), "").end, answer("4"));
}

#[test]
fn a_limit_of_an_earlier_request_is_none_of_a_later_one() {
    let rejected =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}"#;
    let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#;
    let says =
        r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"I go on."}]}}"#;
    let too_late = [said("server_error"), refused(500, "API Error: 500 Internal server error")].join("\n");
    let without_status =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: the connection broke"}"#;
    let outs = [
        // The account paid for more, or the limit was over.
        [INIT, rejected, says, &too_late],
        [INIT, rejected, says, without_status],
        [INIT, rejected, allowed, without_status],
        // The event is the limit's, the error is another one's.
        [INIT, rejected, "", &too_late],
    ];
    for out in outs {
        let end = ended(Claude, BAD, &out.join("\n"), "").end;
        assert!(matches!(end, TurnEnd::Failed { .. }), "{out:?}: {end:?}");
    }
    let out = [INIT, &said("rate_limit"), says, &too_late].join("\n");
    assert!(matches!(ended(Claude, BAD, &out, "").end, TurnEnd::Failed { .. }));
    let out = [INIT, rejected, without_status].join("\n");
    assert!(matches!(ended(Claude, BAD, &out, "").end, TurnEnd::Limited { .. }), "it is that request's");
}

#[test]
fn other_errors_are_failures() {
    let out = [INIT, &said("authentication_failed"), &refused(401, "Invalid API key · Please run /login")]
        .join("\n");
    assert_eq!(ended(Claude, BAD, &out, "").end, failed("Invalid API key · Please run /login"));
    assert_eq!(
        ended(Claude, BAD, "", "Error: Session ID x is already in use.\n").end,
        failed("exited 1: Error: Session ID x is already in use.")
    );
    assert_eq!(ended(Claude, KILLED, INIT, "").end, failed("killed by signal 9"));
    let out = [
        INIT,
        &said("invalid_request"),
        &refused(400, "The prompt is over the limit, try again in 5 minutes"),
    ]
    .join("\n");
    assert!(matches!(ended(Claude, BAD, &out, "").end, TurnEnd::Failed { .. }), "the word alone is no limit");
}

#[test]
fn a_conversation_that_is_not_there_is_unknown() {
    let out = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"22156a12-f276-46ee-9307-f0de29544514","errors":["No conversation found with session ID: 22156a12"]}"#;
    let found = ended(Claude, BAD, out, "No conversation found with session ID: 22156a12\n");
    assert!(matches!(found.end, TurnEnd::UnknownSession { .. }), "{:?}", found.end);
    assert_eq!(found.session, None);
}
