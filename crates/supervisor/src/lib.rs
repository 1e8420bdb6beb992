//! The run protocol: everything between "start this program" and "this is how it ended".
//!
//! A *run* is one supervised process tree. The engine makes a run directory and takes its lease
//! ([`rundir::create`]), then starts one small supervisor process that inherits the lease
//! ([`launch::launch`]). The supervisor ([`supervise::main`]) starts the program in a terminal or on
//! pipes, writes its output to a log ([`log`]), answers on a control socket ([`control`]) and, when
//! the whole tree is over, leaves a durable exit record. It never needs the engine to be alive; an
//! engine that comes back asks [`rundir::observe`] what became of the run.
//!
//! Reading order: `spec` (the files' shapes), `rundir` (lease and observation), `launch`, `control`
//! and `protocol` (the client), `cgroup`, `log`, `journal`, then `supervise` (the process itself). Everything
//! that only Linux offers stands in `linux`.
//!
//! Imports: no other crate of ours, no async runtime; libc and rustix for system calls,
//! portable-pty to open terminals, serde for the files.
//!
//! Invariants:
//! - The lease is a flock on the run directory. Held means alive; nothing is ever judged by age or
//!   by a bare pid.
//! - `started.json` is durable before the program's exec, `exit.json` is durable before the lease is
//!   let go. So a free lease with neither file proves that the program was never executed.
//! - A signal goes only to a process that was proved to be a descendant of the supervisor, by a
//!   process descriptor, or to all members of the run's own cgroup; never to a process group and never
//!   to process 1 or to ourselves.
//! - A program inherits no descriptor of ours, no blocked signal and no ignored signal.
//! - The supervisor's memory does not depend on how much the program writes.
//!
//! Tests: unit tests beside the code; everything that needs real processes is in
//! `crates/testkit/tests/supervisor`, because the misbehaving programs are built there.

pub mod cgroup;
pub mod control;
mod error;
mod files;
mod find;
pub mod journal;
pub mod launch;
mod linux;
pub mod log;
mod protocol;
pub mod rundir;
pub mod spec;
pub mod supervise;

pub use control::{Control, Event, Sender};
pub use error::Error;
pub use journal::was_accepted;
pub use launch::{Launched, launch};
pub use log::{LogReader, Read};
pub use rundir::{LeasedRun, Observed, boot_id, create, is_same_process, observe, wait_until_free};
pub use spec::{Cause, ExitRecord, Grace, Io, ProcessNote, RunSpec, Started};
