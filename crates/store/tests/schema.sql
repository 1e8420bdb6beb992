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
  ended_ms    INTEGER,
  CHECK ((state = 'ended') = (cause IS NOT NULL)),
  CHECK ((state = 'lost') = (lost_why IS NOT NULL)),
  CHECK ((state IN ('ended', 'lost')) = (ended_ms IS NOT NULL)),
  CHECK (exit_code IS NULL OR signal IS NULL),
  CHECK (state = 'ended' OR (exit_code IS NULL AND signal IS NULL)),
  CHECK ((temp_state = 'none') = (temp_path IS NULL))
) STRICT;

CREATE INDEX runs_of_agent ON runs (agent, created_ms);

CREATE INDEX runs_with_temp ON runs (temp_state) WHERE temp_state = 'held';

CREATE TABLE settings (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL CHECK (json_valid(value))
) STRICT;

