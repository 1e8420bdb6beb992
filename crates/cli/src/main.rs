//! The `carillon` binary: the command line, the engine without a window (`serve`), the supervisor of
//! a run (`supervise`), the tools of agents over MCP (`mcp`) and the demo agent.
//!
//! Imports: `carillon-api` for every command; `carillon-supervisor` and `carillon-agents` for their mains. It never opens the
//! ledger while an engine holds it: all goes through the socket.
//!
//! Invariants: one JSON value on standard output with `--json`, messages on standard error; exit
//! codes 0 done, 1 the thing failed, 2 wrong use, 3 no engine is running, 4 refused.
//!
//! Tests: `tests/`, on the built binary.

mod agent;
mod args;
mod ask_words;
mod asks;
mod breaks_off;
mod call_file;
mod caller;
mod clean;
mod connect;
mod demo_agent;
mod doctor;
mod guard;
mod hook;
mod inbox;
mod limits;
mod mcp;
mod outcome;
mod profile;
mod project;
mod residue;
mod run;
mod serve;
mod table;
mod tasks;
mod uninstall;
mod usage_words;
mod waiting;
mod workdirs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // The supervisor outlives everything else in this binary and must stay small: it is reached
    // before anything is set up for the others.
    let mut words = std::env::args_os();
    let _ = words.next();
    let word = words.next().unwrap_or_default();
    if word == "supervise" {
        let code = carillon_supervisor::supervise::main(words);
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    // So does what stands between a supervisor and the program of an agent.
    if word == carillon_agents::inner::COMMAND {
        let code = carillon_agents::inner::main(words);
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return outcome::wrong_use(&error),
    };
    let json = args.json;
    match run(args) {
        Ok(code) => code,
        Err(error) => outcome::report(&error, json),
    }
}

fn run(args: args::Args) -> Result<ExitCode, carillon_api::ApiError> {
    let json = args.json;
    match args.command {
        args::Command::Serve(serve) => serve::run(&serve),
        args::Command::Project { command } => project::run(command, json),
        args::Command::Profile { command } => profile::run(command, json),
        args::Command::Agent { command } => agent::run(command, json),
        args::Command::Run(run) => run::run(run, json),
        args::Command::Tasks { command } => tasks::run(command, json),
        args::Command::Ask(ask) => asks::ask(ask, json),
        args::Command::Asks { command } => asks::run(command, json),
        args::Command::Send(send) => asks::send(send, json),
        args::Command::Mcp(mcp) => mcp::run(mcp),
        args::Command::Hook(hook) => Ok(hook::run(hook)),
        args::Command::Inbox { agent } => inbox::run(&agent, json),
        args::Command::Guard(guard) => guard::run(guard, json),
        args::Command::Workdirs { command } => workdirs::run(command, json),
        args::Command::Clean(clean) => residue::run(clean, json),
        args::Command::Limits { command } => limits::run(command, json),
        args::Command::Approvals { command } => limits::approvals(command, json),
        args::Command::Doctor => doctor::run(json),
        args::Command::Uninstall { data } => uninstall::run(data, json),
        args::Command::DemoAgent => Ok(demo_agent::run()),
    }
}
