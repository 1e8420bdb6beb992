//! Agent CLIs: which there are, where their programs are, the environment that they are started in, how a turn or a
//! terminal is started, and what came of it.
//!
//! Reading order: `adapter`, `turn` (what a headless turn is), one file per CLI (`claude`, `codex`, `gemini`, `opencode`,
//! `acp`, `plain`), `terminal` and `hook` (the CLI's own interface), `limit` (when a limit ends), `inner` (small processes
//! of ours in front of two of them).
//!
//! Imports: `carillon-core` (limits, plain text), rustix (sessions, descriptors of processes), libc (the user database),
//! serde and serde_json (events and settings), jiff (zones), thiserror.
//!
//! Invariants:
//! - It holds no state: every function answers from its arguments and from what it finds on the machine. The outcome of a
//!   turn is a function of its output, so it can be read again after a crash.
//! - A limit is told by a CLI's own signals and errors, never by what an agent says. A reset that nobody announced is
//!   never made up.
//! - No file of the user's is written. No secret and no prompt stands in an argument.
//! - Every program that it runs has a bound in time and in output, a session of its own, standard input at its
//!   end and no terminal. At the bound the whole session is killed, by descriptors of the processes. (`inner` runs inside
//!   a run, where a supervisor does all that.)
//! - What a child's environment is made of is decided in one place, `child_env`.
//! - Noise that a program prints never becomes a value: an environment stands between random marks.
//!
//! Tests: pure parts beside the code; `tests/turns` on outputs of the real CLIs and on small agents of shell; all else in
//! `tests/` on real shells and small stub programs. The real CLIs run in the repository's `tests/agents`.

mod acp;
pub mod adapter;
mod bounded;
pub mod child_env;
mod claude;
mod codex;
pub mod codex_records;
pub mod detect;
pub mod find;
mod gemini;
pub mod hook;
pub mod inner;
mod limit;
mod lines;
mod linux;
mod opencode;
mod ordered;
mod passwd;
mod plain;
pub mod reader;
pub mod shell_env;
pub mod terminal;
mod text;
pub mod trial;
pub mod turn;

pub use adapter::Adapter;

use std::ffi::OsString;

/// An environment: names and values in their order.
pub type Vars = Vec<(OsString, OsString)>;
