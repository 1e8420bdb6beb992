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
  created_ms      INTEGER NOT NULL,
  UNIQUE (project, name)
) STRICT;

CREATE TABLE attempts (
  task          TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  number        INTEGER NOT NULL CHECK (number >= 1),
  -- The project stands here as well, because the queue is read by it.
  project       TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN
                  ('queued', 'starting', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled', 'lost')),
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

CREATE TABLE changes (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  tag     TEXT NOT NULL,
  row     TEXT NOT NULL,
  project TEXT
) STRICT;

CREATE TABLE layouts (
  project TEXT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  layout  TEXT NOT NULL CHECK (json_valid(layout))
) STRICT;

CREATE TABLE messages (
  id         TEXT PRIMARY KEY,
  agent      TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  kind       TEXT NOT NULL CHECK (kind IN ('task_ended')),
  state      TEXT NOT NULL CHECK (state IN ('pending')),
  about      TEXT NOT NULL,
  -- Which attempt of a task: one message for each end.
  part       INTEGER NOT NULL,
  text       TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  UNIQUE (kind, about, part)
) STRICT;

CREATE INDEX messages_of_agent ON messages (agent, created_ms);

CREATE UNIQUE INDEX one_live_attempt ON attempts (task) WHERE state IN ('queued', 'starting', 'running');

CREATE UNIQUE INDEX one_live_run ON runs (agent) WHERE state IN ('starting', 'running');

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
) STRICT;

CREATE TABLE projects (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  root       TEXT NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
  id          TEXT PRIMARY KEY,
  project     TEXT NOT NULL,
  -- The run stays on the ledger when its agent is removed: its temp directory may still be there.
  agent       TEXT REFERENCES agents (id) ON DELETE SET NULL,
  state       TEXT NOT NULL CHECK (state IN ('starting', 'running', 'ended', 'lost')),
  cause       TEXT CHECK (cause IN ('ended', 'timed_out', 'stopped', 'system_stop', 'never_began', 'spawn_failed')),
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
  ended_ms    INTEGER, task TEXT REFERENCES tasks (id) ON DELETE SET NULL,
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
) STRICT;

CREATE INDEX tasks_of_project ON tasks (project, created_ms);

