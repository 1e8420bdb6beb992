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
/// Screens of ended runs that are kept ready.
pub const COLD_TERMINALS: usize = 16;
/// Lines of scrollback that the screen model keeps.
pub const SCROLLBACK_LINES: usize = 2_000;
/// Change rows that are kept; a reader that is further behind fetches all anew.
pub const CHANGES_KEPT: u64 = 10_000;
/// Most changes in one answer.
pub const CHANGES_BATCH: usize = 500;
/// Time for the whole shutdown, in milliseconds.
pub const SHUTDOWN_MS: u64 = 5_000;
/// Share of the shutdown that the loop gets to answer, in milliseconds.
pub const SHUTDOWN_LOOP_MS: u64 = 1_000;
/// Share of the shutdown that ending the runs may take, in milliseconds.
pub const SHUTDOWN_RUNS_MS: u64 = 4_000;
/// Patience with a lock that a dead engine seems to hold, in milliseconds.
pub const DEAD_LOCK_PATIENCE_MS: u64 = 3_000;
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
/// Tasks of one project that run at a time, unless its `carillon.toml` says otherwise.
pub const TASKS_PER_PROJECT: u32 = 8;
/// Most tasks of one project that its `carillon.toml` may let run at a time.
pub const TASKS_PER_PROJECT_MAX: u32 = 512;
/// Share of a project's slots that the tasks of one owner may take, in percent; at least one.
pub const TASKS_PER_OWNER_PERCENT: u32 = 75;
/// Cap of a task's log, in bytes, unless it or its `carillon.toml` says otherwise.
pub const TASK_LOG_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Smallest cap of a task's log, in bytes.
pub const TASK_LOG_MIN_BYTES: u64 = 64 * 1024;
/// Longest command of a task, all its words together, in bytes.
pub const COMMAND_MAX_BYTES: usize = 128 * 1024;
/// Longest title of a task, in characters.
pub const TITLE_MAX_CHARS: usize = 200;
/// Longest time-out of a task, in milliseconds: thirty days.
pub const TASK_TIMEOUT_MAX_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// Most bytes of a task's output in one answer.
pub const OUTPUT_PAGE_MAX_BYTES: usize = 1024 * 1024;
/// Bytes of output in one answer when nobody says how many.
pub const OUTPUT_PAGE_BYTES: usize = 64 * 1024;
/// Logs of ended tasks are kept so long, in milliseconds: fourteen days.
pub const TASK_LOG_AGE_MAX_MS: i64 = 14 * 24 * 3_600 * 1_000;
/// Logs of ended tasks take at most so much room together, in bytes; the oldest go first.
pub const TASK_LOGS_MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Records of ended tasks are kept so long, in milliseconds: ninety days.
pub const TASK_AGE_MAX_MS: i64 = 90 * 24 * 3_600 * 1_000;
/// Largest saved layout of a project, in bytes.
pub const LAYOUT_MAX_BYTES: usize = 256 * 1024;
/// A program that ends within this time with an error counts as one that could not start, in
/// milliseconds.
pub const FAILED_START_MS: u64 = 1_500;
