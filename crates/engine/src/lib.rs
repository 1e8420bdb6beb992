//! The loop: event in, step, commit, act.
//!
//! Imports: `carillon-core` for every decision, `carillon-store` for the ledger. The rest of the
//! world is behind the trait [`world::World`]; only `host/` names the concrete crates of floor 1
//! (supervisor, screen, tidy, agents).
//!
//! One thread owns the writing connection and all state that is not on the disk. Requests and
//! reports from the world are events in its queue. The order is always: compute with `core`, commit
//! with the change row in the same transaction, then act. After a crash the engine plans again from
//! what it observes; it never replays.
//!
//! Reading order: [`config`], [`world`], `main_loop`, `requests/` (what may be asked of it),
//! [`engine`] (the handle), `recover` and `shutdown`, `host/`.
//!
//! Tests: `tests/` drives the loop with a fake world; what needs real processes stands in the
//! repository's `tests/`.

mod approvals;
mod asks;
pub mod config;
mod delivery;
pub mod engine;
mod envs;
pub mod error;
mod event;
pub mod hook_origin;
pub mod host;
pub mod leaving;
pub mod left_hooks;
mod main_loop;
mod newest;
mod own_env;
mod questions;
mod queue;
mod recover;
pub mod requests;
mod rules;
mod run_steps;
pub mod seam;
mod secrets;
mod session_limits;
mod sessions;
pub mod settings;
mod shutdown;
mod slots;
mod sweep;
mod temps;
mod terminals;
mod timers;
mod turn_ends;
mod turns;
mod vain_starts;
mod wakes;
mod wanted;
pub mod world;

pub use config::{Config, Paths};
pub use engine::Engine;
pub use error::{Error, OpenError};
pub use own_env::own_env;
pub use shutdown::AtExit;
