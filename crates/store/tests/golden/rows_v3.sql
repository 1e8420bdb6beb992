-- What the third schema added to the rows of the golden files.
UPDATE agents SET wake_failed = 2, wake_not_before_ms = 1700000000500, wake_reason = 'it exited 1'
 WHERE id = 'c1000000000000000000000000000000';
INSERT INTO asks (id, project, caller, caller_name, callee, callee_name, prompt, follow_up, key, detached, state, final,
                  delivered, created_ms, ended_ms) VALUES
  ('a1000000000000000000000000000000', 'a0000000000000000000000000000000', 'c0000000000000000000000000000000', 'treble',
   'c1000000000000000000000000000000', 'tenor', 'Is it in tune?', 0, 'k1', 0, 'answered', 'It is.', 'call',
   1700000000000, 1700000000009);
INSERT INTO turns (id, agent, project, ask, kind, state, prompt, final, run, input_tokens, output_tokens, cost_usd,
                   created_ms, started_ms, ended_ms) VALUES
  ('ab000000000000000000000000000000', 'c1000000000000000000000000000000', 'a0000000000000000000000000000000',
   'a1000000000000000000000000000000', 'ask', 'final', 'Is it in tune?', 'It is.', 'd3000000000000000000000000000000',
   200, 40, 0.0016, 1700000000000, 1700000000001, 1700000000009),
  ('ab100000000000000000000000000000', 'c1000000000000000000000000000000', 'a0000000000000000000000000000000', NULL, 'wake',
   'final', 'You have 1 new message.', 'Good.', 'd4000000000000000000000000000000', 9223372036854775807, 2, NULL,
   1700000000010, 1700000000011, 1700000000019);
INSERT INTO turns (id, agent, project, kind, state, prompt, created_ms) VALUES
  ('ab200000000000000000000000000000', 'c1000000000000000000000000000000', 'a0000000000000000000000000000000', 'wake',
   'queued', 'You have 1 new message.', 1700000000020);
INSERT INTO limits (profile, reason, until_ms, resume_ms, held, since_ms) VALUES
  ('b0000000000000000000000000000000', 'resets at noon', 1700000100000, 1700000100007, 0, 1700000000000);
INSERT INTO approvals (id, task, attempt, agent, state, created_ms, until_ms, decided_ms) VALUES
  ('ac000000000000000000000000000000', 'e0000000000000000000000000000000', 1, 'c0000000000000000000000000000000',
   'approved', 1700000000000, 1700003600000, 1700000000001);
INSERT INTO workdirs (id, project, name, repository, path, branch, base_commit, owner, state, why, archive_ref,
                      created_ms, ended_ms) VALUES
  ('ad000000000000000000000000000000', 'a0000000000000000000000000000000', 'peal', '/home/ada/bells', '/home/ada/peal',
   'carillon/peal', '1111111111111111111111111111111111111111', 'c1000000000000000000000000000000', 'tombstoned',
   'merged', 'refs/carillon/archive/ad', 1700000000000, 1700000000030);
