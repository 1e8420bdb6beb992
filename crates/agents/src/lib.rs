//! Agent CLIs: which there are, where their programs are, and the environment that they are started in.
//!
//! Imports: rustix (sessions, descriptors of processes), libc (the user database), serde, thiserror. Nothing of
//! ours.
//!
//! Invariants:
//! - It holds no state: every function answers from its arguments and from what it finds on the machine.
//! - Every program that it runs has a bound in time and in output, a session of its own, standard input at its
//!   end and no terminal. At the bound the whole session is killed, by descriptors of the processes.
//! - What a child's environment is made of is decided in one place, `child_env`.
//! - Noise that a program prints never becomes a value: an environment stands between random marks.
//!
//! Tests: pure parts beside the code, all else in `tests/` on real shells and small stub programs.

mod acp;
pub mod adapter;
mod bounded;
pub mod child_env;
mod claude;
mod codex;
pub mod detect;
pub mod find;
mod gemini;
pub mod hook;
pub mod inner;
mod limit;
mod lines;
mod linux;
mod opencode;
mod passwd;
mod plain;
pub mod reader;
pub mod shell_env;
pub mod terminal;
mod text;
pub mod turn;

pub use adapter::Adapter;

use std::ffi::OsString;

/// An environment: names and values in their order.
pub type Vars = Vec<(OsString, OsString)>;
