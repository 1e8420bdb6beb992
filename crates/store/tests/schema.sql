CREATE TABLE agents (
  id              TEXT PRIMARY KEY,
  name            TEXT NOT NULL,
  project         TEXT NOT NULL REFERENCES projects (id),
  profile         TEXT NOT NULL REFERENCES profiles (id),
  mode            TEXT NOT NULL CHECK (mode IN ('terminal', 'headless')),
  role            TEXT NOT NULL,
  workdir         TEXT NOT NULL,
  session_id      TEXT,
  stopped_by_user INTEGER NOT NULL DEFAULT 0 CHECK (stopped_by_user IN (0, 1)),
  created_ms      INTEGER NOT NULL, wake_failed INTEGER NOT NULL DEFAULT 0, wake_not_before_ms INTEGER NOT NULL DEFAULT 0, wake_reason TEXT,
  UNIQUE (project, name)
) STRICT;

CREATE TABLE approvals (
  id         TEXT PRIMARY KEY,
  task       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  attempt    INTEGER NOT NULL,
  agent      TEXT,
  state      TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired')),
  created_ms INTEGER NOT NULL,
  until_ms   INTEGER NOT NULL,
  decided_ms INTEGER,
  CHECK ((state = 'pending') = (decided_ms IS NULL)),
  UNIQUE (task, attempt)
) STRICT;

CREATE INDEX approvals_that_wait ON approvals (state) WHERE state = 'pending';

CREATE TABLE asks (
  id          TEXT PRIMARY KEY,
  project     TEXT NOT NULL REFERENCES projects (id),
  -- None and no name: the user asks. None with a name: that agent was removed.
  caller      TEXT REFERENCES agents (id) ON DELETE SET NULL,
  caller_name TEXT,
  callee      TEXT REFERENCES agents (id) ON DELETE SET NULL,
  callee_name TEXT NOT NULL,
  prompt      TEXT NOT NULL,
  follow_up   INTEGER NOT NULL CHECK (follow_up IN (0, 1)),
  key         TEXT,
  -- The ask that its caller served when it asked.
  joined_ask  TEXT REFERENCES asks (id) ON DELETE SET NULL,
  detached    INTEGER NOT NULL CHECK (detached IN (0, 1)),
  -- As a child: its caller has seen its end, or wanted it.
  seen        INTEGER NOT NULL DEFAULT 0 CHECK (seen IN (0, 1)),
  deadline_ms INTEGER,
  state       TEXT NOT NULL CHECK (state IN ('open', 'pending_final', 'answered', 'failed', 'cancelled', 'timed_out')),
  final       TEXT,
  -- The one follow-up turn was reserved.
  followed    INTEGER NOT NULL DEFAULT 0 CHECK (followed IN (0, 1)),
  reason      TEXT,
  delivered   TEXT CHECK (delivered IN ('call', 'inbox')),
  created_ms  INTEGER NOT NULL,
  ended_ms    INTEGER,
  CHECK ((state IN ('answered', 'failed', 'cancelled', 'timed_out')) = (ended_ms IS NOT NULL)),
  CHECK ((state IN ('failed', 'cancelled', 'timed_out')) = (reason IS NOT NULL)),
  CHECK (state NOT IN ('pending_final', 'answered') OR final IS NOT NULL),
  CHECK (state <> 'open' OR (final IS NULL AND followed = 0)),
  -- Nothing is delivered before it is there.
  CHECK (delivered IS NULL OR ended_ms IS NOT NULL)
) STRICT;

CREATE INDEX asks_going_on ON asks (callee) WHERE ended_ms IS NULL;

CREATE INDEX asks_joined ON asks (joined_ask) WHERE joined_ask IS NOT NULL;

CREATE INDEX asks_of_project ON asks (project, created_ms);

CREATE INDEX asks_to_deliver ON asks (caller) WHERE ended_ms IS NOT NULL AND delivered IS NULL;

CREATE TABLE "attempts" (
  task          TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  number        INTEGER NOT NULL CHECK (number >= 1),
  -- The project stands here as well, because the queue is read by it.
  project       TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('awaiting_approval', 'queued', 'starting', 'running', 'succeeded',
                  'failed', 'timed_out', 'cancelled', 'lost')),
  failure       TEXT CHECK (failure IN ('exit', 'signal', 'not_started', 'system_stop')),
  exit_code     INTEGER,
  signal        INTEGER,
  detail        TEXT,
  lost_why      TEXT CHECK (lost_why IN ('rebooted', 'supervisor_gone')),
  -- Who asked for the end; a request, which the supervisor honours.
  cancel_by     TEXT,
  run           TEXT UNIQUE,
  log_bytes     INTEGER NOT NULL DEFAULT 0,
  log_truncated INTEGER NOT NULL DEFAULT 0 CHECK (log_truncated IN (0, 1)),
  -- A descendant still held the output when the drain was over.
  output_held   INTEGER NOT NULL DEFAULT 0 CHECK (output_held IN (0, 1)),
  -- Processes that are still there: on the keep list, or not to be ended. In words, a JSON array.
  left_over     TEXT NOT NULL DEFAULT '[]' CHECK (json_type(left_over) = 'array'),
  created_ms    INTEGER NOT NULL,
  started_ms    INTEGER,
  ended_ms      INTEGER,
  PRIMARY KEY (task, number),
  CHECK ((state IN ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost')) = (ended_ms IS NOT NULL)),
  CHECK ((state = 'failed') = (failure IS NOT NULL)),
  CHECK ((state = 'lost') = (lost_why IS NOT NULL)),
  CHECK (state NOT IN ('starting', 'running', 'succeeded', 'timed_out', 'lost') OR run IS NOT NULL),
  CHECK ((failure IS 'signal') = (signal IS NOT NULL)),
  CHECK (failure IS NOT 'exit' OR (exit_code IS NOT NULL AND exit_code <> 0)),
  CHECK (failure IS NOT 'not_started' OR detail IS NOT NULL),
  CHECK (state <> 'succeeded' OR exit_code = 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_at_work ON attempts (project) WHERE state IN ('starting', 'running');

CREATE INDEX attempts_in_line ON attempts (project, created_ms) WHERE state = 'queued';

CREATE TABLE calls (
  id         TEXT PRIMARY KEY,
  ask        TEXT NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX calls_of_ask ON calls (ask);

CREATE TABLE changes (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  tag     TEXT NOT NULL,
  row     TEXT NOT NULL,
  project TEXT
) STRICT;

CREATE TABLE hooks_heard (
  run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  id  TEXT NOT NULL,
  UNIQUE (run, id)
) STRICT;

CREATE TABLE layouts (
  project TEXT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  layout  TEXT NOT NULL CHECK (json_valid(layout))
) STRICT;

CREATE TABLE limits (
  profile   TEXT PRIMARY KEY REFERENCES profiles (id) ON DELETE CASCADE,
  reason    TEXT NOT NULL,
  -- None: nobody told.
  until_ms  INTEGER,
  resume_ms INTEGER NOT NULL,
  -- The agent that tries.
  probe     TEXT,
  held      INTEGER NOT NULL CHECK (held IN (0, 1)),
  since_ms  INTEGER NOT NULL
) STRICT;

CREATE TABLE "messages" (
  id         TEXT PRIMARY KEY,
  agent      TEXT NOT NULL,
  project    TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('task_ended', 'ask_answered', 'ask_received', 'note')),
  state      TEXT NOT NULL CHECK (state IN ('pending', 'claimed', 'delivered', 'undeliverable')),
  about      TEXT,
  -- Which attempt of a task: one message for each end.
  part       INTEGER NOT NULL,
  turn       TEXT,
  why        TEXT,
  -- An earlier turn may have shown it to the agent.
  repeated   INTEGER NOT NULL DEFAULT 0 CHECK (repeated IN (0, 1)),
  text       TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  CHECK ((kind = 'note') = (about IS NULL)),
  CHECK (state <> 'claimed' OR turn IS NOT NULL),
  CHECK ((state = 'undeliverable') = (why IS NOT NULL)),
  UNIQUE (kind, about, part)
) STRICT;

CREATE INDEX messages_of_agent ON messages (agent, created_ms);

CREATE INDEX messages_of_turn ON messages (turn) WHERE state = 'claimed';

CREATE INDEX messages_that_wait ON messages (agent) WHERE state = 'pending';

CREATE UNIQUE INDEX one_ask_of_a_key ON asks (coalesce(caller, ''), callee, key) WHERE key IS NOT NULL;

CREATE UNIQUE INDEX one_live_attempt ON attempts (task)
  WHERE state IN ('awaiting_approval', 'queued', 'starting', 'running');

CREATE UNIQUE INDEX one_live_run ON runs (agent) WHERE state IN ('starting', 'running');

CREATE UNIQUE INDEX one_live_turn ON turns (agent) WHERE state IN ('starting', 'running');

CREATE UNIQUE INDEX one_workdir_at_a_place ON workdirs (path) WHERE state <> 'tombstoned';

CREATE UNIQUE INDEX one_workdir_of_a_name ON workdirs (project, name) WHERE state <> 'tombstoned';

CREATE TABLE profiles (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  adapter    TEXT NOT NULL CHECK (adapter IN ('claude', 'codex', 'gemini', 'opencode', 'acp', 'plain')),
  program    TEXT NOT NULL CHECK (program <> ''),
  args       TEXT NOT NULL CHECK (json_type(args) = 'array'),
  -- Names only: the values may be secrets and stand in a file of their own.
  env_names  TEXT NOT NULL CHECK (json_type(env_names) = 'array'),
  version    TEXT,
  policy     TEXT NOT NULL CHECK (policy IN ('never', 'ask', 'allow')),
  created_ms INTEGER NOT NULL
, allow_prefixes TEXT NOT NULL DEFAULT '[]' CHECK (json_type(allow_prefixes) = 'array'), concurrency INTEGER CHECK (concurrency >= 1)) STRICT;

CREATE TABLE projects (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  root       TEXT NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE "runs" (
  id          TEXT PRIMARY KEY,
  project     TEXT NOT NULL,
  -- The run stays on the ledger when its agent is removed: its temp directory may still be there.
  agent       TEXT REFERENCES agents (id) ON DELETE SET NULL,
  state       TEXT NOT NULL CHECK (state IN ('starting', 'running', 'ended', 'lost')),
  cause       TEXT CHECK (cause IN
                ('ended', 'timed_out', 'stopped', 'system_stop', 'output_too_large', 'never_began', 'spawn_failed')),
  detail      TEXT,
  exit_code   INTEGER,
  signal      INTEGER,
  lost_why    TEXT CHECK (lost_why IN ('rebooted', 'supervisor_gone')),
  pid         INTEGER,
  start_time  INTEGER,
  boot_id     TEXT,
  temp_path   TEXT,
  -- A temp directory is held until its rename into the trash has been seen to work.
  temp_state  TEXT NOT NULL CHECK (temp_state IN ('none', 'held', 'buried')),
  dir_state   TEXT NOT NULL CHECK (dir_state IN ('kept', 'dropped')),
  log_bytes   INTEGER NOT NULL DEFAULT 0,
  created_ms  INTEGER NOT NULL,
  started_ms  INTEGER,
  ended_ms    INTEGER,
  task        TEXT REFERENCES tasks (id) ON DELETE SET NULL,
  CHECK ((state = 'ended') = (cause IS NOT NULL)),
  CHECK ((state = 'lost') = (lost_why IS NOT NULL)),
  CHECK ((state IN ('ended', 'lost')) = (ended_ms IS NOT NULL)),
  CHECK (exit_code IS NULL OR signal IS NULL),
  CHECK (state = 'ended' OR (exit_code IS NULL AND signal IS NULL)),
  CHECK ((temp_state = 'none') = (temp_path IS NULL))
) STRICT;

CREATE INDEX runs_of_agent ON runs (agent, created_ms);

CREATE INDEX runs_of_task ON runs (task) WHERE task IS NOT NULL;

CREATE INDEX runs_with_temp ON runs (temp_state) WHERE temp_state = 'held';

CREATE TABLE session_counts (
  agent            TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  session          TEXT NOT NULL,
  input_tokens     INTEGER,
  cached_tokens    INTEGER,
  output_tokens    INTEGER,
  reasoning_tokens INTEGER,
  cost_micro_usd   INTEGER,
  PRIMARY KEY (agent, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL CHECK (json_valid(value))
) STRICT;

CREATE TABLE tasks (
  id         TEXT PRIMARY KEY,
  project    TEXT NOT NULL REFERENCES projects (id),
  owner      TEXT REFERENCES agents (id) ON DELETE SET NULL,
  title      TEXT NOT NULL,
  command    TEXT NOT NULL CHECK (json_type(command) = 'array' AND json_array_length(command) > 0),
  cwd        TEXT NOT NULL CHECK (cwd LIKE '/%'),
  tty        INTEGER NOT NULL CHECK (tty IN (0, 1)),
  detached   INTEGER NOT NULL CHECK (detached IN (0, 1)),
  timeout_ms INTEGER CHECK (timeout_ms > 0),
  log_max    INTEGER NOT NULL CHECK (log_max > 0),
  -- Names the file with the caller's environment, which may hold secrets; none: the user's own.
  env_key    TEXT,
  created_ms INTEGER NOT NULL
, joined_ask TEXT REFERENCES asks (id) ON DELETE SET NULL, seen_attempt INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX tasks_joined ON tasks (joined_ask) WHERE joined_ask IS NOT NULL;

CREATE INDEX tasks_of_project ON tasks (project, created_ms);

CREATE TABLE turns (
  id            TEXT PRIMARY KEY,
  agent         TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  project       TEXT NOT NULL,
  ask           TEXT REFERENCES asks (id) ON DELETE CASCADE,
  kind          TEXT NOT NULL CHECK (kind IN ('ask', 'follow_up', 'wake', 'resume')),
  state         TEXT NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'final', 'failed', 'interrupted', 'limited')),
  prompt        TEXT NOT NULL,
  final         TEXT,
  reason        TEXT,
  -- Of one that was cut short: whether it is to be gone on with.
  resume        INTEGER NOT NULL DEFAULT 0 CHECK (resume IN (0, 1)),
  until_ms      INTEGER,
  run           TEXT,
  input_tokens  INTEGER,
  output_tokens INTEGER,
  cost_usd      REAL,
  created_ms    INTEGER NOT NULL,
  started_ms    INTEGER,
  ended_ms      INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER, cost_micro_usd INTEGER,
  CHECK ((state IN ('final', 'failed', 'interrupted', 'limited')) = (ended_ms IS NOT NULL)),
  CHECK ((state = 'final') = (final IS NOT NULL)),
  CHECK ((state IN ('failed', 'interrupted', 'limited')) = (reason IS NOT NULL)),
  CHECK (resume = 0 OR state = 'interrupted'),
  CHECK (state NOT IN ('starting', 'running') OR run IS NOT NULL)
) STRICT;

CREATE INDEX turns_in_line ON turns (agent, created_ms) WHERE state = 'queued';

CREATE INDEX turns_of_agent ON turns (agent, created_ms);

CREATE INDEX turns_of_ask ON turns (ask) WHERE ask IS NOT NULL;

CREATE INDEX turns_of_run ON turns (run) WHERE run IS NOT NULL;

CREATE TABLE usage_sums (
  project          TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  agent            TEXT NOT NULL,
  -- Turns that told what they used, and those of them that told a price.
  turns            INTEGER NOT NULL CHECK (turns >= 1),
  priced_turns     INTEGER NOT NULL CHECK (priced_turns BETWEEN 0 AND turns),
  -- None: no turn told.
  input_tokens     INTEGER,
  cached_tokens    INTEGER,
  output_tokens    INTEGER,
  reasoning_tokens INTEGER,
  cost_micro_usd   INTEGER,
  PRIMARY KEY (project, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE workdirs (
  id             TEXT PRIMARY KEY,
  project        TEXT NOT NULL REFERENCES projects (id),
  name           TEXT NOT NULL,
  -- The main checkout of its repository.
  repository     TEXT NOT NULL,
  path           TEXT NOT NULL CHECK (path LIKE '/%'),
  branch         TEXT,
  base_branch    TEXT,
  -- Known once git has made it.
  base_commit    TEXT,
  device         INTEGER,
  inode          INTEGER,
  copied         TEXT NOT NULL DEFAULT '[]' CHECK (json_type(copied) = 'array'),
  parent_is_ours INTEGER NOT NULL DEFAULT 0 CHECK (parent_is_ours IN (0, 1)),
  owner          TEXT REFERENCES agents (id) ON DELETE SET NULL,
  state          TEXT NOT NULL CHECK (state IN ('creating', 'active', 'merged', 'abandoned', 'removing', 'tombstoned')),
  -- Of one that is active: why its last removal was refused.
  refused        TEXT,
  -- Worktree and context stay, though it is merged or abandoned.
  keep           INTEGER NOT NULL DEFAULT 0 CHECK (keep IN (0, 1)),
  why            TEXT CHECK (why IN ('merged', 'abandoned', 'never_made', 'vanished')),
  -- Who did not want it any more, or why git did not make it.
  detail         TEXT,
  archive_ref    TEXT,
  -- What its archive could not keep, in words.
  not_kept       TEXT NOT NULL DEFAULT '[]' CHECK (json_type(not_kept) = 'array'),
  -- Of one that is gone: git did not let its branch go. A branch of this name is otherwise somebody else's.
  branch_stays   INTEGER NOT NULL DEFAULT 0 CHECK (branch_stays IN (0, 1)),
  created_ms     INTEGER NOT NULL,
  ended_ms       INTEGER,
  CHECK ((state IN ('removing', 'tombstoned')) = (why IS NOT NULL)),
  CHECK (refused IS NULL OR state = 'active'),
  CHECK (archive_ref IS NULL OR state = 'tombstoned'),
  CHECK ((state = 'tombstoned') = (ended_ms IS NOT NULL))
) STRICT;

CREATE INDEX workdirs_of_project ON workdirs (project, created_ms);

CREATE INDEX workdirs_on_their_way ON workdirs (state) WHERE state IN ('creating', 'merged', 'abandoned', 'removing');

