//! `carillon guard`: a command that leaves nothing behind of what the project's rules name. Needs no engine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use carillon_api::ApiError;
use carillon_core::plain::plain;
use carillon_tidy::Error;
use carillon_tidy::guard::{Begun, Guard, Hands, Order, RealHands, Report, command};
use serde_json::{Value, json};

use crate::outcome::print;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file with the rules under [residue]; carillon.toml of the repository when left out.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Exit with 1 when a command that succeeded left anything behind.
    #[arg(long)]
    strict: bool,
    /// The command, behind `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args, json: bool) -> Result<ExitCode, ApiError> {
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
    let report = guard.map(|guard| guard.finish_with(now_ms(), hands())).unwrap_or_default();
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
    report.sentences().into_iter().for_each(say);
    if strict && !report.made.is_empty() {
        say(format!("left behind: {}", report.made.join(", ")));
    }
}

/// What acts. A debug build can be told to have hands that do nothing and say that all is done, so that a test can
/// see whether anybody would notice.
fn hands() -> &'static dyn Hands {
    #[cfg(debug_assertions)]
    if std::env::var_os("CARILLON_GUARD_HANDS").is_some_and(|hands| hands == "idle") {
        return &idle::IdleHands;
    }
    &RealHands
}

#[cfg(debug_assertions)]
mod idle {
    use std::path::{Path, PathBuf};

    use carillon_tidy::Error;
    use carillon_tidy::git::names::DeletedBranch;
    use carillon_tidy::guard::Hands;

    pub(super) struct IdleHands;

    impl Hands for IdleHands {
        fn bury(&self, base: &Path, trash: &str, _: &Path, name: &str) -> Result<PathBuf, Error> {
            Ok(base.join(trash).join(name))
        }

        fn delete_branch(&self, _: &Path, _: &str, _: &str) -> Result<DeletedBranch, Error> {
            Ok(DeletedBranch { tip: String::new(), archive_ref: None })
        }
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
