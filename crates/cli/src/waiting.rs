//! Waiting for the answer to an ask, on the command line.
//!
//! The call is durable and has a file that this process locks ([`CallFile`]): whatever becomes of us,
//! the answer reaches the caller once. It counts as delivered when it was written out, never before;
//! who leaves before that finds it in its inbox.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use carillon_api::wire_asks::{Ask, AskState};
use carillon_api::{ApiError, Client};
use carillon_core::limits;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ask_words;
use crate::call_file::CallFile;
use crate::caller::Caller;
use crate::connect::Connection;

/// An ask as it came over the wire, and as we read it.
pub(crate) struct Seen {
    pub(crate) value: Value,
    pub(crate) ask: Ask,
}

impl Seen {
    pub(crate) fn read(value: Value) -> Result<Self, ApiError> {
        let ask = serde_json::from_value(value.clone())
            .map_err(|e| ApiError::failed(format!("the answer cannot be read: {e}")))?;
        Ok(Self { value, ask })
    }
}

/// The call that a signal would leave; none while there is nothing to leave.
type Leaving = Arc<Mutex<Option<Left>>>;

struct Left {
    socket: PathBuf,
    ask: String,
    call: String,
}

/// A call that waits for an ask.
pub(crate) struct Waiting {
    engine: Connection,
    caller: Caller,
    call: CallFile,
    leaving: Leaving,
    seen: Seen,
}

impl Waiting {
    /// Opens an ask and waits for it.
    pub(crate) fn open(engine: Connection, caller: Caller, request: Value) -> Result<Self, ApiError> {
        let id = request.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self::register("ask_open", &id, engine, caller, request)
    }

    /// Waits for an ask that is there already.
    pub(crate) fn attach(engine: Connection, caller: Caller, ask: &str) -> Result<Self, ApiError> {
        Self::register("ask_attach", ask, engine, caller, json!({"ask": ask}))
    }

    /// Tells the engine of a new call on the ask `id`. All ids are ours, so a repeat after a lost answer
    /// asks nothing twice.
    fn register(
        method: &str,
        id: &str,
        mut engine: Connection,
        caller: Caller,
        mut request: Value,
    ) -> Result<Self, ApiError> {
        let leaving = Leaving::default();
        leave_on_signals(&leaving)?;
        let call = CallFile::create(engine.socket())?;
        // From here on the engine may know of it, whether or not we hear so.
        if let Ok(mut leaving) = leaving.lock() {
            let (socket, call) = (engine.socket().to_owned(), call.id().to_owned());
            *leaving = Some(Left { socket, ask: id.to_owned(), call });
        }
        request["call"] = json!(call.id());
        let request = caller.signed(request);
        let registered = engine.ask(method, request).and_then(Seen::read);
        match registered {
            Ok(seen) => {
                // A key may have led to an ask that was there before.
                if let Ok(mut leaving) = leaving.lock()
                    && let Some(left) = leaving.as_mut()
                {
                    left.ask.clone_from(&seen.ask.id);
                }
                Ok(Self { engine, caller, call, leaving, seen })
            }
            Err(error) => {
                // An engine that went away may have heard of the call: then it settles the file.
                if error.code != carillon_api::Code::NoEngine {
                    call.discard();
                }
                Err(error)
            }
        }
    }

    /// Waits until the ask is over, at most for `wait`, and ends the call either way.
    pub(crate) fn finish(mut self, wait: Option<Duration>, json: bool) -> Result<ExitCode, ApiError> {
        let id = self.seen.ask.id.clone();
        self.seen = until_over(&mut self.engine, &self.caller, self.seen, wait)?;
        if !ask_words::is_over(&self.seen.ask) {
            self.leave()?;
            return Ok(print_running(&self.seen, json));
        }
        // From here on a signal ends us without leaving: what was half written was not delivered, and
        // the lock that goes with us says so.
        let leaving = self.leaving.clone();
        let _printing = leaving.lock();
        match print_over(&self.seen, json) {
            Ok(code) => {
                self.call.note_written();
                tell_delivered(&mut self.engine, json!({"ask": id, "call": self.call.id()}))?;
                Ok(code)
            }
            Err(error) => {
                self.leave()?;
                Err(ApiError::failed(format!("the answer cannot be written: {error}")))
            }
        }
    }

    fn leave(&mut self) -> Result<(), ApiError> {
        let request = json!({"ask": self.seen.ask.id, "call": self.call.id()});
        self.engine.ask("ask_leave", request).map(drop)
    }
}

/// Tells that an answer was written out. Where no engine is there to hear it, the file of the call says so to the next one.
pub(crate) fn tell_delivered(engine: &mut Connection, request: Value) -> Result<(), ApiError> {
    match engine.ask("ask_delivered", request) {
        Err(error) if error.code != carillon_api::Code::NoEngine => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Waits until an ask is over, across restarts of the engine, at most for `wait`.
pub(crate) fn until_over(
    engine: &mut Connection,
    caller: &Caller,
    mut seen: Seen,
    wait: Option<Duration>,
) -> Result<Seen, ApiError> {
    let until = wait.map(|wait| Instant::now() + wait);
    let longest = Duration::from_millis(limits::WAIT_MAX_MS);
    while !ask_words::is_over(&seen.ask) {
        let rest =
            until.map_or(longest, |until| until.saturating_duration_since(Instant::now()).min(longest));
        if rest.is_zero() {
            break;
        }
        let wait_ms = u64::try_from(rest.as_millis()).unwrap_or(limits::WAIT_MAX_MS).max(1);
        let request = caller.signed(json!({"ask": seen.ask.id, "wait_ms": wait_ms}));
        seen = Seen::read(engine.ask("ask_wait", request)?)?;
    }
    Ok(seen)
}

/// Prints an ask that is over: its answer, or why there is none. The exit code says which.
pub(crate) fn print_over(seen: &Seen, json: bool) -> std::io::Result<ExitCode> {
    let ok = seen.ask.state == AskState::Answered;
    if json || ok {
        let text = if json { format!("{}\n", seen.value) } else { ask_words::answer(&seen.ask) };
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())?;
    } else {
        writeln!(std::io::stderr(), "carillon: {}", ask_words::failure(&seen.ask))?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints an ask that goes on, with the handle to it.
pub(crate) fn print_running(seen: &Seen, json: bool) -> ExitCode {
    let id = &seen.ask.id;
    let _ = writeln!(std::io::stderr(), "carillon: still running: carillon asks wait {id}");
    crate::outcome::print(&seen.value, json, |_| format!("{}\n", ask_words::waiting(&seen.ask)))
}

/// A signal ends the wait, not the work: it says so, prints the handle and ends us.
fn leave_on_signals(leaving: &Leaving) -> Result<(), ApiError> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| ApiError::failed(format!("signals cannot be received: {e}")))?;
    let leaving = leaving.clone();
    std::thread::spawn(move || {
        let signal = signals.forever().next().unwrap_or(SIGTERM);
        if let Ok(mut leaving) = leaving.try_lock()
            && let Some(Left { socket, ask, call }) = leaving.take()
        {
            let _ = Client::connect(&socket)
                .and_then(|mut engine| engine.call("ask_leave", json!({"ask": ask, "call": call})));
            let _ = writeln!(std::io::stderr(), "carillon: still running: carillon asks wait {ask}");
        }
        std::process::exit(128 + signal);
    });
    Ok(())
}
