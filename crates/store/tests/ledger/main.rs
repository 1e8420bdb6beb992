//! The ledger on real SQLite files.

mod changes;
mod contention;
mod crashes;
mod damage;
mod runs;
mod schema;
mod stale_log;
mod support;
mod tables;
mod usage;
