//! Every bound of the system, with its unit. A queue, ring, retry or batch that is not named here
//! has no business being unbounded elsewhere.

/// Longest name of an agent or profile, in characters.
pub const NAME_MAX_CHARS: usize = 64;
/// Longest role text of an agent, in bytes.
pub const ROLE_MAX_BYTES: usize = 256 * 1024;
/// Longest request line that the API takes, in bytes.
pub const REQUEST_MAX_BYTES: usize = 12 * 1024 * 1024;
/// Longest text that one call may send to a terminal, in bytes.
pub const TERMINAL_WRITE_MAX_BYTES: usize = 1024 * 1024;
/// Most bytes of terminal output in one answer.
pub const TERMINAL_PULL_MAX_BYTES: usize = 1024 * 1024;
/// A view that is further behind than this gets a snapshot of the screen, in bytes.
pub const TERMINAL_BEHIND_MAX_BYTES: u64 = 1024 * 1024;
/// Longest that a waiting call is kept open before it answers with nothing new, in milliseconds.
pub const WAIT_MAX_MS: u64 = 30_000;
/// Cap of a terminal's log on disk, in bytes. Its tail holds about a second of flood, so that the
/// screen model is never overtaken on a busy machine.
pub const TERMINAL_LOG_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The screen is saved with its offset each time that so many bytes were read since the last time.
pub const CHECKPOINT_EVERY_BYTES: u64 = 8 * 1024 * 1024;
/// Lines of scrollback that the screen model keeps.
pub const SCROLLBACK_LINES: usize = 2_000;
/// Change rows that are kept; a reader that is further behind fetches all anew.
pub const CHANGES_KEPT: u64 = 10_000;
/// Most changes in one answer.
pub const CHANGES_BATCH: usize = 500;
/// Time for the whole shutdown, in milliseconds.
pub const SHUTDOWN_MS: u64 = 5_000;
/// Share of the shutdown that ending the runs may take, in milliseconds.
pub const SHUTDOWN_RUNS_MS: u64 = 4_000;
/// Patience with a supervisor that was started but does not answer yet, in milliseconds.
pub const SUPERVISOR_PATIENCE_MS: u64 = 5_000;
/// Time that the user's login shell gets to tell its environment, in milliseconds.
pub const SHELL_PROBE_MS: u64 = 5_000;
/// Time for an agent CLI to tell its version, in milliseconds.
pub const VERSION_PROBE_MS: u64 = 10_000;
/// A call of the command line waits so long for an engine that restarts, in milliseconds.
pub const ENGINE_PATIENCE_MS: u64 = 60_000;
/// Directories of ended runs that an agent keeps, the newest first.
pub const RUNS_KEPT_PER_AGENT: usize = 2;
/// Largest saved layout of a project, in bytes.
pub const LAYOUT_MAX_BYTES: usize = 256 * 1024;
/// A program that ends within this time with an error counts as one that could not start, in
/// milliseconds.
pub const FAILED_START_MS: u64 = 1_500;
