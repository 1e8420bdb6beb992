//! THE list of commands, with their request and response types, and the unix socket that carries
//! them.
//!
//! Imports: `carillon-engine` for what is done, `carillon-core` for its words. It holds no logic: a
//! command unpacks its request, calls the engine, packs the answer.
//!
//! Invariants: every command is in [`commands::call`] and nowhere else; every shape in [`wire`] is
//! exported to TypeScript (`tests/bindings.rs` fails when `ui/src/generated` is stale); an error
//! has a [`Code`] only where a caller branches on it.
//!
//! Reading order: [`wire`], [`error`], [`commands`], [`server`], [`client`], [`app`].
//!
//! Tests: `tests/`, on a real socket.

pub mod app;
mod asks;
pub mod client;
pub mod commands;
pub mod error;
mod limits;
mod residue;
pub mod server;
mod socket;
mod tasks;
pub mod wire;
pub mod wire_asks;
pub mod wire_limits;
mod wire_profiles;
pub mod wire_residue;
pub mod wire_tasks;
pub mod wire_temp;
pub mod wire_usage;
pub mod wire_workdirs;
mod workdirs;

pub use app::{App, Config, OpenError};
pub use client::Client;
pub use error::{ApiError, Code};
