//! `carillon ask` and `carillon asks`.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::time::Duration;

use carillon_api::{ApiError, Code};
use carillon_core::{limits, quantity};
use serde_json::{Value, json};

use crate::args;
use crate::ask_words;
use crate::call_file::{CallFile, new_id};
use crate::caller::Caller;
use crate::clean::clean;
use crate::connect::{Connection, project_key};
use crate::outcome::print;
use crate::table;
use crate::waiting::{Seen, Waiting, print_over, print_running, tell_delivered, until_over};

/// `carillon ask`: waits for the answer and prints it.
pub(crate) fn ask(args: args::Ask, json: bool) -> Result<ExitCode, ApiError> {
    let prompt = text_or_input(args.prompt, "prompt", limits::PROMPT_MAX_BYTES)?;
    let wait = duration("wait", args.wait.as_deref())?;
    let timeout = duration("timeout", args.timeout.as_deref())?;
    let caller = Caller::speaking_for(args.from);
    let mut engine = Connection::open()?;
    let project = project_of(&mut engine, &caller, args.project)?;
    let request = json!({
        "id": new_id(),
        "agent": args.agent,
        "prompt": prompt,
        "project": project,
        "timeout_ms": timeout.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        "after_children": match args.after_children {
            args::AfterChildren::Deliver => "deliver",
            args::AfterChildren::FollowUp => "follow_up",
        },
        "key": args.key,
        "detach": args.detach,
    });
    Waiting::open(engine, caller, request)?.finish(wait, json)
}

/// `carillon asks`.
pub(crate) fn run(command: args::Asks, json: bool) -> Result<ExitCode, ApiError> {
    let caller = Caller::from_environment();
    match command {
        args::Asks::List { project, agent, state } => {
            let project = project.map(|key| project_key(Some(key))).transpose()?;
            let request = json!({"project": project, "agent": agent, "state": state});
            let asks = Connection::open()?.ask("asks_list", request)?;
            Ok(print(&asks, json, in_words))
        }
        args::Asks::Show { id } => show(&id, &caller, json),
        args::Asks::Wait { id, wait } => {
            let wait = duration("wait", wait.as_deref())?;
            let mut engine = Connection::open()?;
            let seen = Seen::read(engine.ask("ask_show", caller.signed(json!({"ask": id})))?)?;
            if ask_words::is_over(&seen.ask) {
                let code = print_over(&seen, json).map_err(unwritten)?;
                take(&mut engine, &caller, &seen)?;
                return Ok(code);
            }
            if caller.owns(&seen.ask) {
                return Waiting::attach(engine, caller, &seen.ask.id)?.finish(wait, json);
            }
            // Somebody else's: looking on takes nothing away from who asked.
            let seen = until_over(&mut engine, &caller, seen, wait)?;
            if !ask_words::is_over(&seen.ask) {
                return Ok(print_running(&seen, json));
            }
            print_over(&seen, json).map_err(unwritten)
        }
        args::Asks::Cancel { id } => {
            let ask = Connection::open()?.ask("ask_cancel", caller.signed(json!({"ask": id})))?;
            let seen = Seen::read(ask)?;
            Ok(print(&seen.value, json, |_| line(&seen)))
        }
    }
}

fn show(id: &str, caller: &Caller, json: bool) -> Result<ExitCode, ApiError> {
    let mut engine = Connection::open()?;
    let seen = Seen::read(engine.ask("ask_show", caller.signed(json!({"ask": id})))?)?;
    let code = print(&seen.value, json, |_| {
        let mut text = line(&seen);
        if let Some(reason) = &seen.ask.reason {
            text.push_str(&format!("{}\n", clean(reason)));
        }
        if seen.ask.final_text.is_some() || !seen.ask.children.is_empty() {
            text.push_str(&format!("\n{}", ask_words::answer(&seen.ask)));
        }
        text
    });
    take(&mut engine, caller, &seen)?;
    Ok(code)
}

/// The user has no inbox: an answer is delivered to the user by being shown.
fn take(engine: &mut Connection, caller: &Caller, seen: &Seen) -> Result<(), ApiError> {
    let is_ours = caller.is_user() && caller.owns(&seen.ask);
    if !is_ours || !ask_words::is_over(&seen.ask) || seen.ask.delivered.is_some() {
        return Ok(());
    }
    let mut call = CallFile::create(engine.socket())?;
    let request = json!({"ask": seen.ask.id, "call": call.id()});
    if let Err(error) = engine.ask("ask_attach", request.clone()) {
        // What was shown was shown, also when nobody is there to hear of it; the next look tells again.
        if error.code == carillon_api::Code::NoEngine {
            return Ok(());
        }
        call.discard();
        return Err(error);
    }
    call.note_written();
    tell_delivered(engine, request)
}

/// `carillon send`.
pub(crate) fn send(args: args::Send, json: bool) -> Result<ExitCode, ApiError> {
    let text = text_or_input(args.text, "text", limits::NOTE_MAX_BYTES)?;
    let caller = Caller::speaking_for(args.from);
    let mut engine = Connection::open()?;
    let project = project_of(&mut engine, &caller, args.project)?;
    let request = json!({"id": new_id(), "agent": args.agent, "text": text, "project": project});
    let message = engine.ask("message_send", caller.signed(request))?;
    Ok(print(&message, json, |_| format!("sent to {}\n", args.agent)))
}

/// The project in which the user names agents: the one that was given, else the open one that the
/// present directory lies in. An agent's is known to the engine.
fn project_of(
    engine: &mut Connection,
    caller: &Caller,
    given: Option<String>,
) -> Result<Option<String>, ApiError> {
    if given.is_some() {
        return project_key(given).map(Some);
    }
    if !caller.is_user() {
        return Ok(None);
    }
    let here = project_key(None)?;
    let projects = engine.ask("projects_list", json!({}))?;
    let roots = projects.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let holds = |project: &&Value| {
        let root = project.get("root").and_then(Value::as_str);
        root.is_some_and(|root| std::path::Path::new(&here).starts_with(root))
    };
    // The innermost one, when one repository lies in another.
    let depth = |project: &&Value| project.get("root").and_then(Value::as_str).map_or(0, str::len);
    let found = roots.filter(holds).max_by_key(depth);
    Ok(found.and_then(|project| project.get("id")).and_then(Value::as_str).map(str::to_owned))
}

/// The text that was given, or else what comes on standard input.
fn text_or_input(given: Option<String>, what: &str, max_bytes: usize) -> Result<String, ApiError> {
    let wrong =
        |message: String, hint: &str| ApiError { code: Code::Invalid, message, hint: Some(hint.to_owned()) };
    let text = match given {
        Some(text) if text != "-" => text,
        None if std::io::stdin().is_terminal() => {
            return Err(wrong(format!("the {what} is missing"), "give it in quotes, or `-` and type it"));
        }
        Some(_) | None => {
            let mut bytes = Vec::new();
            let most = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
            std::io::stdin()
                .lock()
                .take(most)
                .read_to_end(&mut bytes)
                .map_err(|e| ApiError::failed(format!("standard input cannot be read: {e}")))?;
            String::from_utf8(bytes)
                .map_err(|_| wrong(format!("the {what} is not UTF-8"), "send text, not bytes"))?
        }
    };
    if text.len() > max_bytes {
        return Err(wrong(
            format!("the {what} is longer than {max_bytes} bytes"),
            "put it into a file and name the file",
        ));
    }
    Ok(text)
}

fn duration(flag: &str, given: Option<&str>) -> Result<Option<Duration>, ApiError> {
    let ms = given.map(quantity::duration_ms).transpose();
    Ok(ms.map_err(|e| ApiError::invalid(format!("--{flag}: {e}")))?.map(Duration::from_millis))
}

fn unwritten(error: std::io::Error) -> ApiError {
    ApiError::failed(format!("the answer cannot be written: {error}"))
}

/// One ask on one line.
fn line(seen: &Seen) -> String {
    let ask = &seen.ask;
    let from = ask.caller_name.as_deref().unwrap_or("you");
    let waits =
        if ask_words::is_over(ask) { String::new() } else { format!(" ({})", ask_words::waiting(ask)) };
    let id = ask.id.get(..8).unwrap_or(&ask.id);
    format!("{id} {} to {}: {}{waits}\n", clean(from), clean(&ask.callee_name), ask_words::state(ask))
}

fn in_words(list: &Value) -> String {
    let rows = list.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(|ask| {
        let mut row = ask.clone();
        if let Ok(seen) = Seen::read(ask.clone()) {
            row["from"] = json!(seen.ask.caller_name.as_deref().unwrap_or("you"));
            let over = ask_words::is_over(&seen.ask);
            row["stands"] = json!(if over {
                ask_words::state(&seen.ask).to_owned()
            } else {
                ask_words::waiting(&seen.ask)
            });
        }
        row
    });
    let columns =
        [("ID", "id"), ("FROM", "from"), ("TO", "callee_name"), ("STATE", "stands"), ("PROMPT", "prompt")];
    table::rows(&Value::Array(rows.collect()), &columns, "there is no ask; `carillon ask AGENT PROMPT` asks")
}
