//! `carillon hook`: an agent's own program tells what it does. It must never be disturbed by us: this
//! ends within two seconds, prints nothing and always succeeds.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::time::Duration;

use carillon_agents::hook;
use carillon_api::{ApiError, Client};
use carillon_core::limits;
use carillon_engine::hook_origin::{self, Teller};
use carillon_engine::left_hooks;
use serde_json::{Value, json};

use crate::args::Hook;
use crate::caller::named;
use crate::connect::socket_of_environment;

pub(crate) fn run(args: Hook) -> ExitCode {
    let (done, over) = std::sync::mpsc::channel();
    // Reading and calling may block for ever; who waits here does not.
    std::thread::spawn(move || {
        let _ = tell(args);
        let _ = done.send(());
    });
    let _ = over.recv_timeout(Duration::from_millis(limits::HOOK_MS));
    ExitCode::SUCCESS
}

fn tell(args: Hook) -> Option<()> {
    // Outside of a run there is nobody to tell.
    let run = args.run.or_else(|| named("CARILLON_RUN"))?;
    let socket = args.socket.or_else(|| Some(socket_of_environment().ok()?.0))?;
    let data = args.data.map_or_else(input_in_time, String::into_bytes);
    // The event counts also when what came with it cannot be read.
    let mut data: Value = serde_json::from_slice(&data).unwrap_or(Value::Null);
    let teller = Teller::of_this_hook();
    if !hook_origin::is_of_own_program(socket.parent()?, &run, &args.event, teller) {
        return None;
    }
    if let Some(teller) = teller {
        hook::add_what_shows(&args.event, &mut data, teller.pid);
    }
    // Told again, by this process or by the engine that finds what it left, it is still the same event.
    let id = uuid::Uuid::new_v4().simple().to_string();
    let request = json!({"run": run, "event": args.event, "data": data, "id": id});
    let patience = Duration::from_millis(limits::HOOK_PATIENCE_MS);
    if call(Client::connect_patiently(&socket, patience), &request) {
        return Some(());
    }
    let left = left_hooks::leave(socket.parent()?, &run, &args.event, &data, &id).ok()?;
    // An engine that has come up meanwhile may have looked before that lay there. What both hear counts once.
    if let Ok(engine) = Client::connect(&socket)
        && call(Ok(engine), &request)
    {
        left_hooks::take_back(&left);
    }
    Some(())
}

fn call(engine: Result<Client, ApiError>, request: &Value) -> bool {
    engine.and_then(|mut engine| engine.call("agent_hook", request.clone())).is_ok()
}

/// What the program puts on standard input in half of our time; one that keeps it open says nothing.
fn input_in_time() -> Vec<u8> {
    let (read, input) = std::sync::mpsc::channel();
    std::thread::spawn(move || read.send(read_input()));
    input.recv_timeout(Duration::from_millis(limits::HOOK_MS / 2)).unwrap_or_default()
}

/// What the program put on standard input. More than the bound is no JSON any more, so it is not kept.
fn read_input() -> Vec<u8> {
    // What is typed there is for the program.
    if std::io::stdin().is_terminal() {
        return Vec::new();
    }
    let most = u64::try_from(limits::HOOK_DATA_MAX_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let _ = std::io::stdin().lock().take(most).read_to_end(&mut bytes);
    bytes
}
