// The guard around a command, in a repository with very many branches and worktrees: what it adds to the command's own time.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { median } from "./figures.mjs";
import { CARILLON, Ground, now } from "./ground.mjs";

const RULES = `[residue]
directories = ["test-feature-*", "specs/test-*"]
branches = ["kitty/test-*", "bench-test-*"]
worktree_roots = [".worktrees"]
temp = ["spec-kitty-*"]
`;
/** More than this over the bare command would be felt in front of each run of a test suite. */
const AT_MOST_MS = 150;

export async function measure(figures, { branches, worktrees, guards }) {
  const ground = new Ground();
  try {
    const cwd = await repository(ground, branches, worktrees);
    const env = { ...ground.env, TMPDIR: ground.make("tmp") };
    const timed = (program, args) => {
      const began = now();
      const { status, stderr } = spawnSync(program, args, { cwd, env });
      const took = now() - began;
      if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${status} ${stderr}`);
      return took;
    };
    const leak = "mkdir test-feature-1 .worktrees/husk $TMPDIR/spec-kitty-1; git branch kitty/test-leak";
    const tidy = "rmdir test-feature-1 .worktrees/husk $TMPDIR/spec-kitty-1; git branch -q -D kitty/test-leak";
    const took = { bare: [], guarded: [], leaks: [], reaped: [], git: [] };
    for (let round = 0; round < guards; round += 1) {
      took.bare.push(timed("true", []));
      took.guarded.push(timed(CARILLON, ["guard", "--strict", "--", "true"]));
      took.leaks.push(timed("sh", ["-c", leak]));
      timed("sh", ["-c", tidy]);
      took.reaped.push(timed(CARILLON, ["guard", "--", "sh", "-c", leak]));
      took.git.push(timed("git", ["for-each-ref", "--format=%(refname)", "refs/heads"]));
    }
    const over = (ours, theirs) => median(took[ours]) - median(took[theirs]);
    const where = `${branches} branches, ${worktrees} worktrees`;
    figures.add(`guard over the bare command (${where})`, over("guarded", "bare"), "ms", { atMost: AT_MOST_MS });
    figures.add(`guard that reaps four things, over the bare command`, over("reaped", "leaks"), "ms", { atMost: AT_MOST_MS });
    figures.add(`git for-each-ref, once`, median(took.git), "ms");
  } finally {
    await ground.clear();
  }
}

/** Half of the branches are packed, as in a repository that has been in use for long. */
async function repository(ground, branches, worktrees) {
  const folder = ground.repository("many");
  fs.writeFileSync(path.join(folder, "carillon.toml"), RULES);
  const git = (args, input) => {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd: folder, env: ground.env, input, encoding: "utf8" });
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  };
  const head = git(["rev-parse", "HEAD"]);
  const names = Array.from({ length: branches }, (_, at) => (at % 10 === 0 ? `kitty/test-${at}` : `team-${at % 7}/work-${at}`));
  const create = (list) => git(["update-ref", "--stdin"], list.map((name) => `create refs/heads/${name} ${head}\n`).join(""));
  create(names.slice(0, branches / 2));
  git(["pack-refs", "--all"]);
  create(names.slice(branches / 2));
  for (let at = 0; at < worktrees; at += 1) git(["worktree", "add", "-q", "--detach", at % 2 ? `.worktrees/w${at}` : `../w${at}`]);
  return folder;
}
