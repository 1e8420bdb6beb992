//! The ledger: one SQLite file under the data directory.
//!
//! Imports: `carillon-core` for the words it keeps. It decides nothing: a caller computes, then
//! commits here, then acts.
//!
//! Invariants: tables are STRICT and CHECKs tie a state to its columns; a row changes by one method
//! per legal edge, each a compare-and-set on state; the change row stands in the same transaction;
//! one [`Store`] writes, any number of [`Reader`]s read, and a busy database delays a write but
//! never loses it. Released migrations are frozen by their checksums. A log that belongs to another
//! time than the file is never laid over it (`stale_log`).
//!
//! Reading order: [`db`], [`migrate`], [`error`], then one file per table.
//!
//! Tests: `tests/` opens real files: schema, edges, contention, corruption.

pub mod agents;
pub mod approvals;
pub mod asks;
pub mod attempts;
pub mod calls;
pub mod changes;
pub mod db;
pub mod error;
pub mod hooks;
pub mod layouts;
pub mod limits;
pub mod messages;
pub mod migrate;
pub mod profiles;
pub mod projects;
pub mod runs;
pub mod settings;
mod stale_log;
pub mod tasks;
pub mod turns;
pub mod usage;
pub mod workdirs;

pub use db::{Opened, Reader, Store};
pub use error::Error;
