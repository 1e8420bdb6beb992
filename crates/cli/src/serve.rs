//! `carillon serve`: the engine without a window.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use carillon_api::app::Config;
use carillon_api::{ApiError, App, Code, OpenError};
use carillon_core::limits;
use carillon_engine::AtExit;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args;
use crate::outcome::print;

pub(crate) fn run(serve: &args::Serve) -> Result<ExitCode, ApiError> {
    log_to_stderr();
    // Registered before the engine starts anything: from here on every way out is a clean one.
    let heard = [SIGTERM, SIGINT, SIGHUP, SIGQUIT]
        .into_iter()
        .filter(|signal| *signal != SIGHUP || !is_hangup_ignored());
    let mut signals =
        Signals::new(heard).map_err(|e| ApiError::failed(format!("signals cannot be received: {e}")))?;
    let config = Config::from_environment(own_binary()?, true)
        .ok_or_else(|| ApiError::failed("you have no home directory; set HOME or CARILLON_HOME"))?;
    let app = App::open(config).map_err(|error| as_api_error(&error))?;
    let socket = app.engine().paths().socket.clone();
    let ready = json!({"ready": true, "socket": socket.to_string_lossy(), "pid": std::process::id()});
    // It is one line of JSON in any case: who starts an engine from a script waits for it.
    print(&ready, true, |_| String::new());

    let at_exit = match serve.at_exit {
        args::AtExit::Stop => AtExit::Stop,
        args::AtExit::Keep => AtExit::Keep,
    };
    let first = signals.forever().next();
    tracing::info!(signal = first, "asked to end");
    let closing = app.clone();
    std::thread::spawn(move || {
        closing.shutdown(at_exit, Duration::from_millis(limits::SHUTDOWN_MS));
        // The shutdown is complete; what other threads still do is of no use to anybody.
        std::process::exit(0);
    });
    // A second signal means now: the supervisors and the next start do the rest.
    let second = signals.forever().next().unwrap_or(SIGTERM);
    std::process::exit(128 + second);
}

/// The path of this binary, which supervisors are started from and agents are told of. A copy that an AppImage
/// made stands in a directory of its version, beside a link that outlives it: then the link.
pub(crate) fn own_binary() -> Result<PathBuf, ApiError> {
    let own = std::env::current_exe()
        .map_err(|e| ApiError::failed(format!("the path of this program is unknown: {e}")))?;
    let link = own.parent().and_then(|version| version.parent()).map(|bin| bin.join("carillon"));
    let is_ours = |link: &PathBuf| std::fs::canonicalize(link).is_ok_and(|leads_to| leads_to == own);
    Ok(link.filter(is_ours).unwrap_or(own))
}

/// Whether we were started with `nohup` or the like: then a hang-up must not end us.
fn is_hangup_ignored() -> bool {
    // SAFETY: both structures are plain data that the call fills in; a null new action only asks.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

fn as_api_error(error: &OpenError) -> ApiError {
    let code = match error {
        OpenError::AlreadyRunning { .. } => Code::Refused,
        OpenError::Engine(_) => Code::Failed,
    };
    ApiError { code, message: error.to_string(), hint: Some(error.hint()) }
}

fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("CARILLON_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    // A message that cannot be written is lost: that must not cost more than the message.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.log_internal_errors(false).init();
}
