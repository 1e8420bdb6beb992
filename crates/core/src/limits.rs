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
/// Time for which any other program runs when its profile is tested, in milliseconds.
pub const TRIAL_MS: u64 = 5_000;
/// A call of the command line waits so long for an engine that restarts, in milliseconds.
pub const ENGINE_PATIENCE_MS: u64 = 60_000;
/// Directories of ended runs that an agent keeps, the newest first.
pub const RUNS_KEPT_PER_AGENT: usize = 2;
/// Starts of one task or agent of which nothing ever began, in one life of the engine, before they count as
/// failed.
pub const NEVER_BEGAN_TRIES: u32 = 4;
/// Times that the loop tries what it could not write down, before it calls that an error.
pub const EVENT_TRIES: u32 = 8;
/// Tasks of one project that run at a time, unless its `carillon.toml` says otherwise.
pub const TASKS_PER_PROJECT: u32 = 8;
/// Most tasks of one project that its `carillon.toml` may let run at a time.
pub const TASKS_PER_PROJECT_MAX: u32 = 512;
/// Share of a project's slots that the tasks of one owner may take, in percent; at least one.
pub const TASKS_PER_OWNER_PERCENT: u32 = 75;
/// Tasks in one list, the newest first.
pub const TASKS_LISTED_MAX: usize = 10_000;
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
/// Longest event of an agent CLI that is read while its turn runs, in bytes; one that is longer is not shown.
pub const EVENT_LINE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Longest prompt of an ask, in bytes.
pub const PROMPT_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Longest key of an ask, in characters.
pub const ASK_KEY_MAX_CHARS: usize = 200;
/// Longest time-out of an ask, in milliseconds: thirty days.
pub const ASK_TIMEOUT_MAX_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// Asks of one callee that may wait at a time; one more is refused.
pub const ASKS_PER_CALLEE: u32 = 1_000;
/// Longest text of a note, in bytes.
pub const NOTE_MAX_BYTES: usize = 256 * 1024;
/// Most bytes of output that a headless turn may write.
pub const TURN_OUTPUT_MAX_BYTES: u64 = 32 * 1024 * 1024;
/// End of a child's output that an answer carries, in bytes.
pub const CHILD_TAIL_BYTES: u64 = 4 * 1024;
/// Most messages that one turn carries; the rest is the next turn's.
pub const MESSAGES_PER_TURN: usize = 500;
/// Most bytes of messages that one turn carries, unless a single one is larger.
pub const MESSAGE_BYTES_PER_TURN: usize = 1024 * 1024;
/// The same after a wake that failed: a line of a plain terminal takes 4,095 with the words around them.
pub const MESSAGE_BYTES_AFTER_FAILURE: usize = 3_000;
/// Notes of one agent that may wait at a time; one more is refused.
pub const NOTES_WAITING_MAX: u32 = 1_000;
/// Wakes in a row that may fail before they are given up.
pub const WAKE_ATTEMPTS: u32 = 6;
/// Pause after the first failed wake, in milliseconds; each further one is twice as long.
pub const WAKE_PAUSE_MS: i64 = 500;
/// Longest pause between two wakes, in milliseconds.
pub const WAKE_PAUSE_MAX_MS: i64 = 30_000;
/// A turn that is silent for so long on what looks like a question of its own needs attention, in
/// milliseconds.
pub const ATTENTION_AFTER_MS: u64 = 15_000;
/// A program in a terminal that was started so that it tells of its turns may take so long until it is
/// up, in milliseconds.
pub const TERMINAL_READY_MS: i64 = 20_000;
/// A program that reads nothing of a prompt that is typed is waited for so long, in milliseconds.
pub const TYPING_STALL_MS: u64 = 30_000;
/// Directories of turns that a headless agent keeps, the newest first.
pub const TURN_RUNS_KEPT: usize = 20;
/// Records of asks and turns that are over are kept so long, in milliseconds: ninety days.
pub const ASK_AGE_MAX_MS: i64 = 90 * 24 * 3_600 * 1_000;
/// Longest that one call of an MCP client waits for an ask or a task, in seconds: a day. It is also what
/// a call waits when nobody says how long.
pub const MCP_WAIT_MAX_S: u64 = 24 * 3_600;
/// A waiting call of an MCP client tells that it waits so often, in milliseconds, and at once when it
/// waits for something else than before.
pub const MCP_PROGRESS_MS: u64 = 10_000;
/// A waiting call of an MCP client looks so often what it waits for, in milliseconds. Its end is an
/// event.
pub const MCP_LOOK_MS: u64 = 5_000;
/// Longest message of an MCP client that is read, in bytes. It is passed on in a request of the API,
/// so it leaves room for what comes around it.
pub const MCP_MESSAGE_MAX_BYTES: usize = REQUEST_MAX_BYTES - 64 * 1024;
/// Calls of one MCP client that may be under way; one more is refused.
pub const MCP_CALLS_MAX: usize = 256;
/// Longest text in one answer to an MCP client, in bytes: a final, or a page of output.
pub const MCP_TEXT_MAX_BYTES: usize = 64 * 1024;
/// Longest text of a field that only says what something is about, in an answer to an MCP client, in
/// bytes.
pub const MCP_FIELD_MAX_BYTES: usize = 2 * 1024;
/// Most rows of one list in an answer to an MCP client.
pub const MCP_ROWS_MAX: usize = 100;
/// Time that an MCP server takes to say goodbye to the engine when its client has gone, in
/// milliseconds.
pub const MCP_GOODBYE_MS: u64 = 2_000;
/// Time that a hook of an agent CLI may take, in milliseconds.
pub const HOOK_MS: u64 = 2_000;
/// A hook of an agent CLI waits so long for an engine that restarts before it leaves what it has to tell,
/// in milliseconds.
pub const HOOK_PATIENCE_MS: u64 = 1_000;
/// So many things may be left for an engine in the directory of a run.
pub const HOOKS_LEFT_MAX: usize = 200;
/// Most bytes that a hook of an agent CLI may pass on.
pub const HOOK_DATA_MAX_BYTES: usize = 1024 * 1024;
/// Time that a call of one of our MCP tools may take, as agent CLIs are told, in milliseconds: a day.
pub const MCP_CALL_MAX_MS: u64 = 24 * 3_600 * 1_000;
/// Time that our MCP server may take to start, as agent CLIs are told, in milliseconds.
pub const MCP_START_MAX_MS: u64 = 60_000;
/// Longest role text that can be an argument of a program, in bytes; the system takes no argument over 128 KiB.
pub const ROLE_ARGUMENT_MAX_BYTES: usize = 96 * 1024;
/// A run whose temp directory takes more than this is named to the user, in bytes.
pub const TEMP_WARN_BYTES: u64 = 5 * 1024 * 1024 * 1024;
/// A run whose temp directory takes more than this is ended, in bytes.
pub const TEMP_MAX_BYTES: u64 = 50 * 1024 * 1024 * 1024;
/// A run with more files and directories than this in its temp directory is named to the user.
pub const TEMP_WARN_INODES: u64 = 500_000;
/// A run with more files and directories than this in its temp directory is ended.
pub const TEMP_MAX_INODES: u64 = 5_000_000;
/// Temp directories of live runs are measured so often, in milliseconds; less often when that takes long.
pub const TEMP_WATCH_MS: u64 = 60_000;
/// A temp directory that somebody still uses when its run is over is tried again for so long, in milliseconds; after
/// that the sweep does it.
pub const BURIAL_PATIENCE_MS: u64 = 3_000;
/// Pause between two such tries when nobody tells that something has changed, in milliseconds.
pub const BURIAL_PAUSE_MS: u64 = 250;
/// After a measurement of temp directories nothing is measured for so many times as long as it took.
pub const TEMP_WATCH_REST: u32 = 20;
/// Most files and directories of one temp directory that are counted; also the most that a project may allow.
pub const TEMP_COUNT_MAX: u64 = 10_000_000;
/// Archives of workdirs that are gone are kept so long, in milliseconds: thirty days.
pub const ARCHIVE_AGE_MAX_MS: i64 = 30 * 24 * 3_600 * 1_000;
/// A workdir that nobody works in and in which nothing was done yet goes only on the user's word for so long after
/// it was put in its place, in milliseconds: one day.
pub const WORKDIR_FRESH_MS: i64 = 24 * 3_600 * 1_000;
/// A limit whose end nobody told is tried again after this time, in milliseconds: fifteen minutes.
pub const LIMIT_PROBE_MS: i64 = 15 * 60 * 1_000;
/// After a limit the agents of a profile go on one after the other, so far apart, in milliseconds.
pub const LIMIT_SPREAD_MS: i64 = 1_000;
/// Most that is added to the end of a limit before it is tried, in milliseconds.
pub const LIMIT_JITTER_MS: i64 = 1_500;
/// So often it is looked whether the model answers a turn that tries a limit, in milliseconds.
pub const LIMIT_LOOK_MS: i64 = 15_000;
/// Most that one turn can have used of anything that is counted: tokens, or millionths of a US dollar. What a
/// program tells beyond it is cut.
pub const USAGE_OF_TURN_MAX: u64 = 1_000_000_000_000;
/// Most that a sum of usage counts to: the largest integer that every reader of JSON takes exactly.
pub const USAGE_SUM_MAX: u64 = (1 << 53) - 1;
/// Most turns of agents that a profile can be set to let run at once.
pub const PROFILE_TURNS_MAX: u32 = 1_000;
/// So many of the newest things that hooks of one run have told are remembered, to know a repeat.
pub const HOOKS_REMEMBERED: usize = 64;
/// An approval that nobody gives is over after this time, in milliseconds: one hour.
pub const APPROVAL_MAX_MS: i64 = 60 * 60 * 1_000;
/// Most prefixes of commands that a profile allows without asking.
pub const PREFIXES_MAX: usize = 100;
/// Texts of asks (questions, answers, ends of output) in one list of them, all together, in bytes. Beyond it each is cut to
/// [`ASK_LIST_TEXT_MAX_BYTES`].
pub const ASK_LIST_TEXTS_BYTES: usize = 24 * 1024 * 1024;
/// See [`ASK_LIST_TEXTS_BYTES`].
pub const ASK_LIST_TEXT_MAX_BYTES: usize = 1024;
/// Times that it is tried to read what a turn has said, when the system would not let it be read just then.
pub const OUTCOME_TRIES: u32 = 5;
/// What so many turns have said is kept in memory from their end until the loop takes it.
pub const OUTCOMES_READY_MAX: usize = 4;
/// How much of the end of a CLI's own record of a conversation is read for its last answer, in bytes.
pub const TRANSCRIPT_TAIL_BYTES: u64 = 8 * 1024 * 1024;
/// What is left behind is swept so often while the engine runs, in milliseconds: hourly.
pub const SWEEP_EVERY_MS: u64 = 3_600 * 1_000;
/// Most files and directories of one thing that are counted for its size.
pub const MEASURE_ENTRIES_MAX: u64 = 200_000;
/// Time that one report takes for sizes, in milliseconds; what comes after that has none.
pub const MEASURE_MS: u64 = 20_000;
/// Worktrees that are looked at at a time.
pub const LOOKS_AT_A_TIME: usize = 4;
/// Temp directories that are judged together by one look at all processes, right before they go.
pub const TEMP_BATCH: usize = 64;
/// The progress of a removal of many things is told at most so often, in milliseconds.
pub const PROGRESS_MS: u64 = 250;
/// A git that an engine of before left at work in a workdir is waited for so long, in milliseconds.
pub const GIT_OF_BEFORE_MS: u64 = 60_000;
/// Time that a sweep takes for what guards put away, in milliseconds.
pub const PURGE_GUARDS_MS: u64 = 60_000;
/// With less room than this on a disk that Carillon uses the doctor warns, in bytes: 1 GiB.
pub const DISK_WARN_BYTES: u64 = 1024 * 1024 * 1024;
/// With fewer free inodes than this on such a disk the doctor warns.
pub const DISK_WARN_INODES: u64 = 20_000;
/// Where the user has turned it on, it is looked for updates so often while the window is open, in milliseconds: daily.
pub const UPDATE_EVERY_MS: u64 = 24 * 3_600 * 1_000;
/// The list of versions may take so long, and a download of an update may be silent for so long, in milliseconds.
pub const UPDATE_PATIENCE_MS: u64 = 30_000;
/// An update that is larger than this is no Carillon, in bytes: 512 MiB.
pub const UPDATE_MAX_BYTES: usize = 512 * 1024 * 1024;
