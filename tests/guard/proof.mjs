// That `npm test` would notice: a leak in a test run, a reaper that does nothing, and a repository that hides residue. On the built
// binary, with the rules that the test run itself is under.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Leftovers } from "../../scripts/leftovers.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CARILLON = path.join(ROOT, "target/debug/carillon");
/** One thing of each kind that the rules know. */
const LEAK = "mkdir -p test-leak .worktrees/husk; echo leaked > test-leak/file; git branch kitty/leak; mktemp -d $TMPDIR/tmp.XXXXXX > /dev/null";
const LEFT = ["test-leak", ".worktrees/husk", "kitty/leak"];

/** A repository under the rules of this one, with things of the user's that they name. */
function within(work) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "cg-")));
  // The tests may run under a guard themselves, whose repository is another one; nothing else is inherited.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GIT_|CARILLON_)/.test(name)));
  const git = (...args) => spawnSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", ...args], { cwd: folder, env, encoding: "utf8" });
  let leftovers;
  try {
    git("init", "-q");
    fs.mkdirSync(path.join(folder, "tests"));
    fs.copyFileSync(path.join(ROOT, "tests/guard.toml"), path.join(folder, "tests/guard.toml"));
    git("add", ".");
    assert.equal(git("commit", "-q", "-m", "Begin").status, 0);
    git("branch", "kitty/users");
    fs.mkdirSync(path.join(folder, "test-users"));
    fs.mkdirSync(path.join(folder, ".worktrees/users"), { recursive: true });
    leftovers = new Leftovers(folder);
    fs.mkdirSync(path.join(leftovers.env.TMPDIR, "spec-users"));
    const guarded = (script, more = {}) => {
      const [program, args] = leftovers.guarded(CARILLON, "sh", ["-c", script]);
      return spawnSync(program, args, { cwd: folder, env: { ...env, ...leftovers.env, ...more }, encoding: "utf8" });
    };
    const left = () => leftovers.found().filter((name) => !name.endsWith("/spec-users"));
    work({ folder, guarded, left, git });
  } finally {
    leftovers?.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The whole promise, for a seeded leak. Throws when any part of it is not kept. */
function checkSeededLeak(more) {
  within(({ folder, guarded, left, git }) => {
    const { status, stderr } = guarded(LEAK, more);
    assert.equal(status, 1, `a success that left something is none: ${stderr}`);
    for (const name of LEFT) assert.ok(stderr.includes(`reaped the`) && stderr.includes(name), `${name} is named: ${stderr}`);
    assert.deepEqual(left(), [], "all of it is gone");
    for (const name of ["test-users", ".worktrees/users"]) assert.ok(fs.existsSync(path.join(folder, name)), `${name} was there before and stays`);
    assert.equal(git("branch", "--list", "kitty/users").stdout.trim(), "kitty/users");
  });
}

test("a seeded leak turns the run red, is named, and is gone", () => {
  checkSeededLeak({});
});

test("a reaper that does nothing does not pass for one", () => {
  assert.throws(() => checkSeededLeak({ CARILLON_GUARD_HANDS: "idle" }), /reaped|named|gone/);
  within(({ folder, guarded, left }) => {
    const { status, stderr } = guarded(LEAK, { CARILLON_GUARD_HANDS: "idle" });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /still there after it was/, "what it says is gone is looked for");
    assert.equal(left().length, 4, "and the run's own look finds it all");
    assert.ok(fs.existsSync(path.join(folder, "test-leak/file")));
  });
});

test("a run that leaves nothing is green, and one that failed keeps its code", () => {
  within(({ guarded, left }) => {
    const clean = guarded("mkdir test-a; rmdir test-a");
    assert.equal(clean.status, 0, clean.stderr);
    assert.equal(clean.stderr, "");
    assert.equal(guarded(`${LEAK}; exit 7`).status, 7);
    assert.deepEqual(left(), []);
  });
});

test("what no rule names is still found by the run's own look", () => {
  within(({ guarded, left }) => {
    assert.equal(guarded("touch other; mkdir $TMPDIR/zzz").status, 0);
    assert.deepEqual(left().map((name) => path.basename(name)), ["other", "zzz"]);
  });
});
