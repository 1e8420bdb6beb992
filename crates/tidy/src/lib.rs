//! Everything that runs and agents leave behind: where temp may live, who still uses it, which processes are
//! strays, worktrees with their archives, the guard around a command, and how things are deleted.
//!
//! Imports: carillon-core (what is judged), rustix and libc (file system and process calls), glob and toml (a
//! project's rules), serde_json (the journal of creations), tar (what must not get into git), sha2 (the namespace),
//! uuid (random names).
//!
//! Reading order: [`base`], [`temp`], [`in_use`], [`trash`], [`measure`], [`strays`]; [`rules`] and [`guard`];
//! [`git`] with [`repositories`].
//!
//! Invariants:
//! - A directory of ours is created exclusively, under a random name, with mode 0700 whatever the umask is.
//! - Liveness is the lease (a lock on the directory itself). Age, modification time and a bare pid prove nothing.
//! - Nothing is deleted in place: a tree is first renamed into the trash of its base, and only what lies in a
//!   trash is ever unlinked. Worktrees are the exception: git removes them, or nobody does.
//! - Deleting follows no link, enters no other mount, stops at every `.git`, and says what it left and why.
//! - Nothing that exists nowhere else goes before it is in an archive that was seen to be complete.
//! - A signal goes only to a process that is proved to be the one that was meant: a pidfd, and the same start
//!   time behind it. Never to pid 0 or 1, never to ourselves or one of our ancestors.
//! - git is called by its own command line, without a shell, without inherited `GIT_*`, with bounds on its time and
//!   output. Looking changes nothing, not even an index.
//! - This crate judges nothing: what may go and which process is a stray of ours is decided by its caller or by
//!   the judgement of carillon-core.
//!
//! What only Linux has (/proc, file system types, signals) stands in the files `linux.rs`. Tests: pure parts beside
//! the code, all else in `tests/` on real repositories, file systems and processes. `examples/sweep.rs` measures a
//! sweep against `rm -rf`, `examples/guard.rs` a guard.

pub mod base;
mod descent;
mod error;
pub mod git;
pub mod guard;
pub mod in_use;
mod linux;
pub mod measure;
pub mod repositories;
pub mod rules;
pub mod strays;
pub mod temp;
pub mod trash;

pub use error::Error;
