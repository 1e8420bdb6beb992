-- What the fourth schema added to the rows of the golden files.
UPDATE profiles SET concurrency = 3;
INSERT INTO session_counts (agent, session, input_tokens, output_tokens) VALUES
  ('c1000000000000000000000000000000', 'ab12', 200, 40);
INSERT INTO hooks_heard (run, id) VALUES ('d1000000000000000000000000000000', 'h1');
