//! Temp directories, and everything that runs leave behind: where temp may live, who still uses it, which
//! processes are strays, and how things are deleted.
//!
//! Imports: rustix (file system and process calls), sha2 (the namespace), uuid (random names). Nothing of ours.
//!
//! Invariants:
//! - A directory of ours is created exclusively, under a random name, with mode 0700 whatever the umask is.
//! - Liveness is the lease (a lock on the directory itself). Age, modification time and a bare pid prove nothing.
//! - Nothing is deleted in place: a tree is first renamed into the trash of its base, and only what lies in a
//!   trash is ever unlinked.
//! - Deleting follows no link, enters no other mount, stops at every `.git`, and says what it left and why.
//! - A signal goes only to a process that is proved to be the one that was meant: a pidfd, and the same start
//!   time behind it. Never to pid 0 or 1, never to ourselves or one of our ancestors.
//! - This crate judges nothing: which tree may go and which process is a stray of ours is decided by its caller.
//!
//! What only Linux has (/proc, file system types) stands in `linux.rs`. Tests: pure parts beside the code, all
//! else in `tests/` on real file systems and processes. `examples/sweep.rs` measures a sweep against `rm -rf`.

pub mod base;
mod descent;
mod error;
pub mod git;
pub mod guard;
pub mod in_use;
mod linux;
pub mod repositories;
pub mod rules;
pub mod strays;
pub mod temp;
pub mod trash;

pub use error::Error;
