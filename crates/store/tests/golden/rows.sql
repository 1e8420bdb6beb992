-- The rows of the golden files, in the columns of the first schema.
INSERT INTO projects (id, name, root, created_ms) VALUES
  ('a0000000000000000000000000000000', 'bells', '/home/ada/bells', 1700000000000);
INSERT INTO profiles (id, name, adapter, program, args, env_names, version, policy, created_ms) VALUES
  ('b0000000000000000000000000000000', 'script', 'plain', '/bin/sh', '["-c","exec \"$0\""]', '["TOKEN"]', '1.2', 'ask',
   1700000000000);
INSERT INTO agents (id, name, project, profile, mode, role, workdir, stopped_by_user, created_ms) VALUES
  ('c0000000000000000000000000000000', 'treble', 'a0000000000000000000000000000000',
   'b0000000000000000000000000000000', 'terminal', 'You tune the bells.', '/home/ada/bells', 0, 1700000000000),
  ('c1000000000000000000000000000000', 'tenor', 'a0000000000000000000000000000000',
   'b0000000000000000000000000000000', 'terminal', 'You tune the bells.', '/home/ada/bells', 0, 1700000000000);
INSERT INTO runs (id, project, agent, state, cause, detail, signal, temp_path, temp_state, dir_state, log_bytes,
                  created_ms, started_ms, ended_ms) VALUES
  ('d0000000000000000000000000000000', 'a0000000000000000000000000000000', 'c0000000000000000000000000000000',
   'ended', 'stopped', 'user', 15, '/tmp/t/abcdef/d0', 'buried', 'kept', 77, 1700000000000, 1700000000001,
   1700000000005);
INSERT INTO runs (id, project, agent, state, temp_path, temp_state, dir_state, created_ms) VALUES
  ('d1000000000000000000000000000000', 'a0000000000000000000000000000000', 'c0000000000000000000000000000000',
   'starting', '/tmp/t/abcdef/d1', 'held', 'kept', 1700000000000);
INSERT INTO layouts (project, layout) VALUES ('a0000000000000000000000000000000', '{"panes":[1]}');
INSERT INTO settings (key, value) VALUES ('theme', '"dark"');
INSERT INTO changes (seq, tag, row, project) VALUES
  (41, 'settingsChanged', 'theme', NULL);
