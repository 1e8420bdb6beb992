//! `carillon guard`: a command that leaves nothing behind of what the project's rules name. Needs no engine.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use carillon_api::ApiError;
use carillon_core::plain::plain;
use carillon_tidy::Error;
use carillon_tidy::guard::{Begun, Guard, Order, Report, command};
use serde_json::{Value, json};

use crate::args;
use crate::outcome::print;

pub(crate) fn run(args: args::Guard, json: bool) -> Result<ExitCode, ApiError> {
    let here = std::env::current_dir()
        .map_err(|e| ApiError::failed(format!("the present directory cannot be read: {e}")))?;
    let order = Order::from_environment(here, args.rules);
    let guard = match Guard::begin(&order).map_err(|e| as_api_error(&e))? {
        Begun::Acts(guard) => Some(guard),
        Begun::Nested => None,
    };
    if guard.as_ref().is_some_and(|guard| guard.watches_nothing()) {
        eprintln!(
            "carillon guard: no rules under [residue] in carillon.toml, so nothing is watched but processes"
        );
    }
    let env = guard.as_ref().map(|guard| guard.environment()).unwrap_or_default();
    let command = command::Order {
        argv: &args.command,
        env: &env,
        output_to_errors: json,
        // A guard around us ends the tree, and acts.
        ends_tree: guard.is_some(),
    };
    let ended = command::run(&command).map_err(|e| as_api_error(&e))?;
    let acts = guard.is_some();
    let report = guard.map(|guard| guard.finish(now_ms())).unwrap_or_default();
    let code = exit_code(ended.code, &report, args.strict);
    if json {
        print(&shape(&report, &ended, acts, code), true, |_| String::new());
    } else {
        tell(&report, &ended, args.strict);
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// A command that failed keeps its code; a success that left something, or of which that cannot be told, is
/// none under `--strict`.
fn exit_code(code: i32, report: &Report, strict: bool) -> i32 {
    let is_clean = report.made.is_empty() && report.blind.is_empty();
    if code == 0 && strict && !is_clean { 1 } else { code }
}

fn shape(report: &Report, ended: &command::Ended, acts: bool, code: i32) -> Value {
    let kept = |kept: &carillon_tidy::guard::Kept| json!({"name": kept.name, "reason": kept.reason});
    let recover = report
        .reaped
        .iter()
        .filter_map(|reaped| reaped.kept_at.as_ref().map(|at| json!({"name": reaped.name, "at": at})));
    json!({
        "baseline": report.baseline,
        "made": report.made,
        "reaped": report.reaped.iter().map(|reaped| &reaped.name).collect::<Vec<_>>(),
        "kept": report.kept.iter().map(kept).collect::<Vec<_>>(),
        "exit_code": code,
        "acts": acts,
        "command_exit_code": ended.code,
        "recover": recover.collect::<Vec<_>>(),
        "unseen": report.blind,
        "processes_left": ended.left.iter().map(|left| json!({"pid": left.pid, "name": left.name})).collect::<Vec<_>>(),
    })
}

/// Says on standard error what was found. A clean end says nothing.
fn tell(report: &Report, ended: &command::Ended, strict: bool) {
    let say = |text: String| eprintln!("carillon guard: {}", plain(&text));
    for left in &ended.left {
        say(format!("process {} ({}) is still there", left.pid, left.name));
    }
    for why in &report.blind {
        say(format!("cannot tell what was left: {why}"));
    }
    for reaped in &report.reaped {
        let at = reaped.kept_at.as_ref().map(|at| format!("; for a day it is in {at}")).unwrap_or_default();
        say(format!("reaped the {} {}{at}", reaped.kind.word(), reaped.name));
    }
    for kept in &report.kept {
        say(format!("kept the {} {}: {}", kept.kind.word(), kept.name, kept.reason));
    }
    if strict && !report.made.is_empty() {
        say(format!("left behind: {}", report.made.join(", ")));
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn as_api_error(error: &Error) -> ApiError {
    match error {
        Error::Rules { .. } => ApiError {
            hint: Some("correct the file, or remove the line".to_owned()),
            ..ApiError::invalid(error.to_string())
        },
        other => ApiError::failed(other.to_string()),
    }
}
