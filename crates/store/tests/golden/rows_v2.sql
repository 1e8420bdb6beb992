-- What the second schema added to the rows of the golden files.
INSERT INTO tasks (id, project, owner, title, command, cwd, tty, detached, timeout_ms, log_max, env_key, created_ms) VALUES
  ('e0000000000000000000000000000000', 'a0000000000000000000000000000000', 'c0000000000000000000000000000000', 'ring',
   '["sh","-c","exit 3"]', '/home/ada/bells', 0, 0, 60000, 65536, NULL, 1700000000000);
INSERT INTO attempts (task, number, project, state, failure, exit_code, run, log_bytes, created_ms, started_ms, ended_ms) VALUES
  ('e0000000000000000000000000000000', 1, 'a0000000000000000000000000000000', 'failed', 'exit', 3,
   'd2000000000000000000000000000000', 4, 1700000000000, 1700000000001, 1700000000002);
INSERT INTO messages (id, agent, kind, state, about, part, text, created_ms) VALUES
  ('f0000000000000000000000000000000', 'c0000000000000000000000000000000', 'task_ended', 'pending',
   'e0000000000000000000000000000000', 1, 'Task ring exited 3.', 1700000000002);
