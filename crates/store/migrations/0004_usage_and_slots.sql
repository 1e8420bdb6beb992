-- What a turn used. Until now Codex was counted by the whole conversation, so what stands there says nothing of a turn.
UPDATE turns SET input_tokens = NULL, output_tokens = NULL, cost_usd = NULL
 WHERE agent IN (SELECT a.id FROM agents AS a JOIN profiles AS p ON p.id = a.profile WHERE p.adapter = 'codex');
ALTER TABLE turns ADD COLUMN cached_tokens INTEGER;
ALTER TABLE turns ADD COLUMN reasoning_tokens INTEGER;
-- Takes the place of cost_usd, which nothing writes any more.
ALTER TABLE turns ADD COLUMN cost_micro_usd INTEGER;
UPDATE turns SET input_tokens = min(input_tokens, 1000000000000), output_tokens = min(output_tokens, 1000000000000);
UPDATE turns SET cost_micro_usd = CAST(round(min(cost_usd, 1000000) * 1000000) AS INTEGER) WHERE cost_usd >= 0;

-- What turns have used together. It stays when they are forgotten, and for the project when the agent is removed.
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
INSERT INTO usage_sums (project, agent, turns, priced_turns, input_tokens, output_tokens, cost_micro_usd)
  SELECT project, agent, count(*), count(cost_micro_usd), sum(input_tokens), sum(output_tokens), sum(cost_micro_usd)
    FROM turns WHERE coalesce(input_tokens, output_tokens, cost_micro_usd) IS NOT NULL GROUP BY project, agent;

-- How far conversations are counted whose program tells all of a conversation, not what is new in it.
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

-- Most turns of its agents that run at once; none: any number.
ALTER TABLE profiles ADD COLUMN concurrency INTEGER CHECK (concurrency >= 1);

-- The newest things that hooks of live runs have told: a hook that lost the answer tells them again.
CREATE TABLE hooks_heard (
  run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  id  TEXT NOT NULL,
  UNIQUE (run, id)
) STRICT;
