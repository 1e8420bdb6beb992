// What a test run leaves behind: nothing. The tests get temp directories of their own, run under our own guard where the binary is
// built, and at the end everything that is new in the repository or left in those directories is named.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** What builds write, and nothing else: exactly what the `.gitignore` files have, which a test compares. */
export const BUILT = ["target/", "node_modules/", "ui/dist/", "src-tauri/gen/", "tests/bench/sample/gen/"];

export class Leftovers {
  #root;
  #before;
  #temp;
  #disk;

  constructor(root) {
    this.#root = root;
    this.#before = new Set(inRepository(root));
    // Short: sockets stand in them, whose paths are short.
    this.#temp = fs.mkdtempSync(path.join(os.tmpdir(), "ct-"));
    this.#disk = fs.mkdtempSync("/var/tmp/ct-");
    // As the places that they stand in for: some tests are another user for a while.
    for (const folder of [this.#temp, this.#disk]) fs.chmodSync(folder, 0o1777);
  }

  /** Where tests make temporary files: of their own, and on a disk. Others at work on this machine have other places. */
  get env() {
    return { TMPDIR: this.#temp, CARILLON_TEST_DISK: this.#disk };
  }

  /** The command under our own guard, which reaps what the rules name and turns a success that left any into a failure. */
  guarded(carillon, program, args) {
    return [carillon, ["guard", "--strict", "--rules", path.join(this.#root, "tests/guard.toml"), "--", program, ...args]];
  }

  /** All that was left, by name. What the guard has put away is not there any more. */
  found() {
    const repository = inRepository(this.#root).filter((name) => !this.#before.has(name));
    const entries = [this.#temp, this.#disk].flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)));
    return [...repository, ...entries.filter((entry) => !path.basename(entry).startsWith(".trash-guard-"))];
  }

  remove() {
    for (const folder of [this.#temp, this.#disk]) removeAll(folder);
  }
}

/** Files that no commit has, ignored ones as well, and empty directories, apart from what builds write; branches and worktrees. */
export function inRepository(root) {
  const git = (args) => {
    const { status, stdout, stderr } = spawnSync("git", ["--no-optional-locks", ...args], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.split(/[\0\n]/).filter(Boolean);
  };
  const files = git(["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching"])
    .filter((line) => /^(\?\?|!!) /.test(line))
    .map((line) => line.slice(3))
    .filter((name) => !BUILT.some((built) => name === built || name.startsWith(built) || `${name}/` === built));
  const references = git(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/carillon"]);
  const worktrees = git(["worktree", "list", "--porcelain"]).filter((line) => line.startsWith("worktree "));
  return [...files, ...emptyDirectories(root), ...references, ...worktrees];
}

/** git does not tell of them. */
function emptyDirectories(root, below = "") {
  const names = fs.readdirSync(path.join(root, below), { withFileTypes: true });
  if (names.length === 0) return [`${below}/`];
  const inside = names.filter((entry) => entry.isDirectory() && entry.name !== ".git").map(({ name }) => path.join(below, name));
  return inside.filter((name) => !BUILT.includes(`${name}/`)).flatMap((name) => emptyDirectories(root, name));
}

/** Also what nobody may write to. */
function removeAll(folder) {
  const open = (dir) => {
    fs.chmodSync(dir, 0o700);
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) if (entry.isDirectory()) open(path.join(dir, entry.name));
  };
  try {
    open(folder);
  } catch {
    // What cannot be opened is told by what follows.
  }
  fs.rmSync(folder, { recursive: true, force: true });
}
