//! What tests need and no shipped crate may have: programs that misbehave, and ways to wait for what
//! happens instead of sleeping.
//!
//! The binaries are `fake-agent` (misbehaves on command), `paste-stub` (an input line with the habits that make
//! typing into it hard) and `test-supervise` (a supervisor without
//! the rest of the product). [`processes`] says which processes carry a run's marker.
//!
//! Imports: carillon-supervisor, for the types of its files. Nothing that is shipped imports this
//! crate. Tests of the supervisor on real processes are in `tests/supervisor`.

pub mod processes;
pub mod waiting;
