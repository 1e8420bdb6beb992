//! `carillon mcp`: the tools of agents, over MCP on standard input and output.
//!
//! An agent's program starts one of these and keeps it as long as it lives. It holds no state of its
//! own but the calls that wait: everything else is asked of the engine, over a connection per request.
//! So it answers at once what needs no engine, waits for one that restarts, and a call in flight goes
//! on by its ids.
//!
//! Reading order: [`server`] takes a call, [`asks`], [`tasks`] and [`workdirs`] do it, [`answers`] puts it into
//! words; [`stdio`] carries the lines, [`deliveries`] knows what was written out, [`engine`] is the
//! other side.
//!
//! Invariants: nothing but messages goes to standard output; an answer counts as delivered when it
//! was written there, never before; every wait ends when the client cancels it or has gone, and the
//! work goes on.
//!
//! Tests: `tests/mcp_*.rs`, with a real client on the built binary.

mod answers;
mod arguments;
mod asks;
mod context;
mod deliveries;
mod engine;
mod linux;
mod oversized;
mod server;
mod stdio;
mod tasks;
mod tools;
mod tools_of_tasks;
mod tools_of_workdirs;
mod waits;
mod workdirs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use carillon_api::ApiError;
use carillon_core::limits;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args;
use crate::caller::Caller;
use crate::connect::socket_of_environment;

/// Serves until the client has gone.
pub(crate) fn run(args: args::Mcp) -> Result<ExitCode, ApiError> {
    let socket = match args.socket {
        Some(socket) => std::path::absolute(&socket)
            .map_err(|e| ApiError::failed(format!("{} cannot be resolved: {e}", socket.display())))?,
        None => socket_of_environment()?.0,
    };
    linux::give_large_blocks_back();
    let own = Caller::from_environment();
    let caller = Caller { agent: args.agent.or(own.agent), run: args.run.or(own.run) };
    // One thread carries all calls: there are many of these processes, and each one mostly waits.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(|e| ApiError::failed(format!("the runtime cannot be started: {e}")))?;
    let served = runtime.block_on(serve(socket, caller, args.client_limit_s));
    // A reader that is still blocked on standard input would hold the end up.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Stack of each thread, in bytes. None of them calls deeply.
const STACK_BYTES: usize = 256 * 1024;

async fn serve(socket: PathBuf, caller: Caller, client_limit_s: u64) -> Result<(), ApiError> {
    let failed = |what: &str, e: String| ApiError::failed(format!("{what}: {e}"));
    let gone = CancellationToken::new();
    end_on_signals(&gone).map_err(|e| failed("signals cannot be received", e.to_string()))?;
    let engine = engine::Engine::new(socket);
    let deliveries = deliveries::Deliveries::new(engine.clone());
    let transport = stdio::Stdio::start(gone.clone(), deliveries.clone())
        .map_err(|e| failed("a thread cannot be started", e.to_string()))?;
    let context = context::Context::new(engine, caller, client_limit_s, gone, deliveries.clone());
    let server = server::Server::new(context);
    match rmcp::serve_server(server, transport).await {
        Ok(service) => {
            let _ = service.waiting().await;
        }
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(failed("the client does not speak MCP", error.to_string())),
    }
    // What was left or delivered at the very end is still told. An engine that is away at this moment
    // finds the calls' locks free.
    let _ = tokio::time::timeout(Duration::from_millis(limits::MCP_GOODBYE_MS), deliveries.settled()).await;
    Ok(())
}

/// A signal is as good as a client that has gone.
fn end_on_signals(gone: &CancellationToken) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signals = signal(kind)?;
        let gone = gone.clone();
        tokio::spawn(async move {
            signals.recv().await;
            gone.cancel();
        });
    }
    Ok(())
}
