//! How a command ends: its exit code, and its error in words or as JSON.

use std::io::Write;
use std::process::ExitCode;

use carillon_api::{ApiError, Code};
use carillon_core::plain::{is_plain, plain};
use serde_json::{Value, json};

pub(crate) const WRONG_USE: u8 = 2;

/// Says what went wrong on standard error; the code is the command's.
pub(crate) fn report(error: &ApiError, json: bool) -> ExitCode {
    let mut err = std::io::stderr().lock();
    // A closed standard error leaves the exit code to tell.
    let _ = if json {
        let body = json!({"code": error.code, "message": error.message, "hint": error.hint});
        writeln!(err, "{}", json!({ "error": body }))
    } else {
        writeln!(err, "carillon: {}", error.message)
            .and_then(|()| error.hint.as_ref().map_or(Ok(()), |hint| writeln!(err, "  {hint}")))
    };
    ExitCode::from(match error.code {
        Code::NotFound | Code::Failed => 1,
        Code::Invalid => WRONG_USE,
        Code::NoEngine => 3,
        Code::Refused => 4,
    })
}

/// What the words of the command line were not: a command. Help and version come here as well, and
/// are no error.
pub(crate) fn wrong_use(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|word| word == "--json");
    if wants_json && error.use_stderr() {
        let text = error.render().to_string();
        let (message, hint) =
            text.trim().split_once("\n\n").unwrap_or((text.trim(), "see `carillon --help`"));
        let message = message.trim_start_matches("error: ").to_owned();
        let hint = Some(hint.trim().to_owned());
        return report(&ApiError { code: Code::Invalid, message, hint }, true);
    }
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { WRONG_USE } else { 0 })
}

/// Prints an answer: as JSON, or as `words` puts it. A reader that has gone is no failure.
pub(crate) fn print(value: &Value, json: bool, words: impl FnOnce(&Value) -> String) -> ExitCode {
    let text = if json { format!("{value}\n") } else { words(value) };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "carillon: the answer cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A text field of an answer, made fit for a terminal: nothing in it moves, turns or hides.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> std::borrow::Cow<'a, str> {
    let text = value.get(field).and_then(Value::as_str).unwrap_or("-");
    if text.chars().all(is_plain) { text.into() } else { plain(text).into() }
}
