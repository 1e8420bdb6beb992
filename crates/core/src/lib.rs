//! The words of Carillon as types, and its decisions as pure functions.
//!
//! Imports: nothing but `std`. This crate reads no clock, no file and no environment, and cannot
//! fail for reasons outside its arguments: time, facts and identities are passed in.
//!
//! Reading order: [`id`] and [`name`] (identities), [`words`] (projects, profiles, agents),
//! [`run`] (the machine of one supervised process tree), [`agent`] (what an agent's state is,
//! seen from its run), [`reconcile`] (what a boot does with what it finds), [`task`], [`turn`], [`ask`],
//! [`message`] and [`wake`] (who is told, and when), [`usage`] (tokens and price), [`workdir`], [`judge`] and [`residue`] (what may go), [`limits`].
//!
//! Invariants: a terminal state of a run never changes; every `step` names each pair of state and
//! event, without a wildcard; a verdict is computed from observed facts alone.
//!
//! Tests: `tests/tables` prints every state x event, `tests/ask_world` visits every state of a small world
//! of asks with a crash at every point, `tests/properties.rs` and `tests/ask_properties.rs` drive random
//! sequences of events; `tests/workdir_table.rs` does both for workdirs, and `tests/judge_table.rs` judges every
//! combination of facts. Small rules are tested beside their code.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod agent;
pub mod ask;
pub mod id;
pub mod judge;
pub mod limit;
pub mod limits;
pub mod message;
pub mod name;
pub mod plain;
pub mod policy;
pub mod quantity;
pub mod reconcile;
pub mod residue;
pub mod run;
pub mod task;
pub mod turn;
pub mod usage;
pub mod wake;
pub mod words;
pub mod workdir;
