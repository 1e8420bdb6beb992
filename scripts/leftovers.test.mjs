// That a test run's leftovers are found, whatever they are and wherever ignore rules would hide them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { BUILT, Leftovers } from "./leftovers.mjs";
import { ROOT } from "./setup.mjs";

/** A repository with a commit and an ignore rule, gone afterwards. */
function within(work) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "cl-")));
  const git = (...args) => {
    const { status, stderr } = spawnSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", ...args], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
  };
  let left;
  try {
    git("init", "-q");
    fs.writeFileSync(path.join(folder, ".gitignore"), "target\n*.hidden\n");
    git("add", ".");
    git("commit", "-q", "-m", "Begin");
    fs.writeFileSync(path.join(folder, "was-there"), "");
    left = new Leftovers(folder);
    work({ folder, git, left });
  } finally {
    left?.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

test("a run that leaves nothing is told to have left nothing", () => {
  within(({ folder, left }) => {
    fs.mkdirSync(path.join(folder, "target/debug"), { recursive: true });
    assert.deepEqual(left.found(), []);
  });
});

test("files, what an ignore rule hides, branches, worktrees and temp entries are found by name", () => {
  within(({ folder, git, left }) => {
    fs.mkdirSync(path.join(folder, "crates/one"), { recursive: true });
    fs.writeFileSync(path.join(folder, "crates/one/leak"), "");
    fs.writeFileSync(path.join(folder, "leak.hidden"), "");
    fs.mkdirSync(path.join(folder, "docs/empty"), { recursive: true });
    git("branch", "leaked");
    git("worktree", "add", "-q", "--detach", "wt");
    fs.mkdirSync(path.join(left.env.TMPDIR, "locked/inner"), { recursive: true });
    fs.chmodSync(path.join(left.env.TMPDIR, "locked"), 0o500);
    fs.writeFileSync(path.join(left.env.CARILLON_TEST_DISK, "leak"), "");
    fs.mkdirSync(path.join(left.env.TMPDIR, ".trash-guard-1-a"));
    const names = ["crates/one/leak", "docs/empty/", "wt/", "leak.hidden", "refs/heads/leaked", `worktree ${folder}/wt`];
    assert.deepEqual(left.found().slice(0, 6).sort(), names.sort());
    assert.deepEqual(left.found().slice(6), [path.join(left.env.TMPDIR, "locked"), path.join(left.env.CARILLON_TEST_DISK, "leak")]);
    const { TMPDIR } = left.env;
    left.remove();
    assert.equal(fs.existsSync(TMPDIR), false);
  });
});

test("the repository's ignore rules name what builds write, and nothing else", () => {
  const { stdout } = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.gitignore"], { cwd: ROOT, encoding: "utf8" });
  const rules = stdout.split("\n").filter(Boolean).flatMap((file) => {
    const lines = fs.readFileSync(path.join(ROOT, file), "utf8").split("\n").filter(Boolean);
    return lines.map((rule) => `${path.join(path.dirname(file), rule)}/`);
  });
  assert.deepEqual(rules.sort(), [...BUILT].sort());
});
