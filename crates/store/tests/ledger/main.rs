//! The ledger on real SQLite files.

mod changes;
mod contention;
mod damage;
mod runs;
mod schema;
mod support;
mod tables;
