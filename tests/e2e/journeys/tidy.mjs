// What is left behind, and what waits for the user's word: one of each kind is made, read in the window, and seen to.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { isAlive } from "../processes.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";

/** Ids of runs that no ledger knows. */
const STRANGER = "000000000000000000000000000000bad".slice(1);
const of = (id, rest = "") => `[data-testid="${id}"]${rest}`;

async function open(stage) {
  const app = await stage.drive();
  const page = new Page(app);
  await page.ready();
  return { app, page };
}

function git(stage, folder, ...args) {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: folder, env: stage.env, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

function fill(folder) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "file"), Buffer.alloc(20_000, 7));
}

/** The trash of the temp base, by its name: six digits of the hash of the data directory's path. */
function trashOf(home) {
  const hash = crypto.createHash("sha256");
  for (const text of [home, ""]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
    hash.update(length).update(text);
  }
  return path.join(home, "t", `.trash-${hash.digest("hex").slice(0, 6)}`);
}

/** What the creation of a worktree leaves that was cut short: a directory, and its entry in the journal. */
function husk(stage, repository) {
  const place = path.join(stage.home, "workdirs", "aaaaaa");
  const folder = path.join(place, "husk");
  fs.mkdirSync(path.join(folder, "empty"), { recursive: true });
  const { dev, ino } = fs.statSync(folder);
  const entry = { repository, path: folder, stage: path.join(place, ".carillon-x"), branch: null, base_commit: git(stage, repository, "rev-parse", "HEAD"), parent_is_ours: false, identity: [dev, ino] };
  fs.mkdirSync(path.join(stage.home, "workdirs", ".journal"), { recursive: true });
  fs.writeFileSync(path.join(stage.home, "workdirs", ".journal", `${STRANGER}.json`), JSON.stringify(entry));
  return folder;
}

/** Makes something of each kind. Answers what is to be seen and what must be ended. */
async function leaveThings(stage, wd, repository) {
  const [project] = stage.cli("project", "list");
  const task = await wd.rpc("task_add", { project: project.id, command: ["sh", "-c", 'echo "$TMPDIR"'] });
  await poll(() => stage.cli("tasks", "show", task.id).state === "succeeded", "the end of the task");
  const temp = stage.cli("tasks", "output", task.id).text.trim();
  const make = (name) => stage.cli("workdirs", "new", name, "--project", repository);

  // Nobody knows the temp directory and the run's directory; the log is of a run that is over.
  const unknown = path.join(path.dirname(temp), "unknown1");
  fill(unknown);
  fill(path.join(stage.home, "runs", STRANGER));
  // Worktrees: with nothing in it, with something that is nowhere else, and one that is used.
  make("calm");
  const storm = make("storm");
  fs.writeFileSync(path.join(storm.path, "notes"), "only here\n");
  fs.writeFileSync(path.join(storm.path, "README.md"), "changed here\n");
  const used = make("used");
  const user = spawn("sleep", ["600"], { cwd: used.path, stdio: "ignore" });
  // An archive, and a branch that outlived its workdir since the user has it checked out.
  const old = make("old");
  fs.writeFileSync(path.join(old.path, "work"), "x\n");
  git(stage, old.path, "checkout", "--quiet", "--detach");
  const side = path.join(stage.folder, "side");
  git(stage, repository, "worktree", "add", "--quiet", side, "carillon/old");
  stage.cli("workdirs", "remove", "old");
  git(stage, side, "checkout", "--quiet", "--detach");
  const [run] = fs.readdirSync(path.join(stage.home, "runs")).filter((id) => id !== STRANGER);
  const stray = spawn("sleep", ["600"], { env: { PATH: process.env.PATH, CARILLON_RUN: run, CARILLON_SOCKET: path.join(stage.home, "carillon.sock") }, stdio: "ignore" });
  fill(path.join(trashOf(stage.home), "one"));
  return { unknown, storm, used, user, stray, husk: husk(stage, repository) };
}

/** The things that the report on show tells of. */
function report(wd) {
  return wd.run(`return [...document.querySelectorAll('${of("residue")}')].map((row) => ({ kind: row.dataset.kind, name: row.dataset.name, verdict: row.dataset.verdict, text: row.textContent }));`);
}

export const journeys = {
  async "something of each kind is left behind, read, cleared up, and a workdir brought back"(stage) {
    const repository = stage.repository("bells");
    const { app, page } = await open(stage);
    await page.openProject(repository);
    await poll(() => stage.cli("project", "list").length === 1, "the project");
    const left = await leaveThings(stage, app.wd, repository);
    try {
      await page.press("cleanup-open");
      const seen = await poll(async () => {
        const things = await report(app.wd);
        return new Set(things.map(({ kind }) => kind)).size === 9 && things;
      }, "one of each kind", 20_000);
      const find = (kind, name) => seen.find((one) => one.kind === kind && (name === undefined || one.name === name)) ?? {};
      const reasons = [
        ["temp", undefined, "needs_consent", "it is not on the ledger"], ["run", undefined, "needs_consent", "it is not on the ledger"], ["log", undefined, "needs_consent", "it can still be fetched back"],
        ["worktree", "calm", "needs_consent", "nothing was done in it yet"], ["worktree", "storm", "needs_consent", "1 file that git does not know"], ["worktree", "used", "blocked", `in use by pid ${left.user.pid} (sleep)`],
        ["husk", undefined, "safe", "an aborted creation left it"], ["branch", undefined, "safe", "are on other branches"], ["archive", undefined, "needs_consent", "it can still be fetched back"],
        ["process", undefined, "safe", "its run is over"], ["trash", undefined, "safe", "it is in the trash"],
      ];
      for (const [kind, name, verdict, reason] of reasons) {
        assert.equal(find(kind, name).verdict, verdict, JSON.stringify(seen, null, 1));
        assert.ok(find(kind, name).text.includes(reason), `${find(kind, name).text} does not say "${reason}"`);
      }
      await app.wd.painted();
      await stage.shoot("read");
      // Nothing goes before one says so.
      assert.ok(fs.existsSync(left.unknown) && fs.existsSync(left.husk) && isAlive(left.stray.pid));

      for (const name of [find("temp").name, find("run").name, "storm", "calm"]) await page.press("residue", `[data-name="${name}"] ${of("residue-consent")}`);
      await page.press("cleanup-apply");
      await app.wd.wait(of("cleanup-outcome"), 30_000);
      assert.match(await app.wd.run(`return document.querySelector('${of("cleanup-outcome")}').textContent;`), /^8 things are gone, and [\d.]+ (KiB|MiB) came free\.$/);
      await app.wd.painted();
      await stage.shoot("cleared");
      const gone = [left.unknown, left.husk, left.storm.path, path.join(stage.home, "runs", STRANGER), path.join(trashOf(stage.home), "one")];
      assert.deepEqual(gone.filter((each) => fs.existsSync(each)), []);
      await poll(() => !isAlive(left.stray.pid), "the end of the process");
      assert.ok(fs.existsSync(left.used.path) && isAlive(left.user.pid), "what is used stays");
      assert.equal(git(stage, repository, "status", "--porcelain"), "");

      await page.press("cleanup-tab", '[data-tab="gone"]');
      await page.press("gone-row", `[data-name="storm"] ${of("gone-restore")}`);
      await page.press("gone-row", `[data-name="storm"] ${of("workdir-dialog-yes")}`);
      await app.wd.waitGone(of("gone-row", '[data-name="storm"]'), 20_000);
      assert.equal(fs.readFileSync(path.join(left.storm.path, "notes"), "utf8"), "only here\n");
      assert.equal(fs.readFileSync(path.join(left.storm.path, "README.md"), "utf8"), "changed here\n");
      await app.wd.painted();
      await stage.shoot("restored");
    } finally {
      left.user.kill();
      left.stray.kill();
    }
    assert.deepEqual(await app.faults(), []);
    app.signal("SIGTERM");
    await app.ends();
  },

  async "a workdir is made, looked at, merged"(stage) {
    const repository = stage.repository("bells");
    const { app, page } = await open(stage);
    await page.openProject(repository);
    await page.press("workdirs-open");
    await page.press("workdir-new");
    await app.wd.fill(await app.wd.wait(of("workdir-new-name")), "storm");
    await page.press("workdir-new-create");
    await app.wd.waitGone(of("workdir-new-dialog"), 20_000);
    const row = await app.wd.wait(of("workdir-row", '[data-name="storm"]'), 20_000);
    const [workdir] = stage.cli("workdirs", "list");
    fs.writeFileSync(path.join(workdir.path, "storm.md"), "thunder\n");
    git(stage, workdir.path, "add", ".");
    git(stage, workdir.path, "commit", "--quiet", "-m", "storm");
    await app.wd.click(row);
    await page.press("workdirs-refresh");
    await poll(async () => (await app.wd.run(`return document.querySelector('${of("workdir-detail")}')?.textContent ?? "";`)).includes("1 commit ahead"), "the commit in the list");
    await poll(() => app.wd.run(`return /\\d (KiB|MiB)$/.test(document.querySelector('${of("workdir-size")}')?.textContent ?? "");`), "the size of the worktree");
    await page.press("workdir-diff");
    await app.wd.wait(of("diff-row", '[data-kind="added"]'));
    assert.equal(await app.wd.run(`return document.querySelector('${of("diff-row", '[data-kind="added"]')}').textContent;`), "+thunder");
    await app.wd.painted();
    await stage.shoot("difference");
    await app.wd.type("\uE00C");
    await app.wd.waitGone(of("diff-dialog"));
    await page.press("workdir-merge");
    await page.press("workdir-dialog-yes");
    await app.wd.waitGone(of("workdir-dialog"), 20_000);
    await app.wd.wait(of("workdir-row", '[data-name="storm"][data-state="tombstoned"]'));
    assert.equal(fs.readFileSync(path.join(repository, "storm.md"), "utf8"), "thunder\n");
    assert.ok(!fs.existsSync(workdir.path));
    await app.wd.painted();
    await stage.shoot("merged");
    assert.deepEqual(await app.faults(), []);
    app.signal("SIGTERM");
    await app.ends();
  },

  async "a command of an agent waits for a word, and its beginning is allowed for good"(stage) {
    const { app, page } = await open(stage);
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent", "--policy", "ask");
    await page.openProject(stage.repository("bells"));
    await page.addAgent("demo");
    const name = await page.onlyAgent();
    await page.shows(name, "demo agent");
    await page.typeLine(name, `run: ${CARILLON} run -- echo strike one`);
    await app.wd.wait(of("approvals-banner"), 15_000);
    // The keyboard is still the terminal's: what is typed goes to the program.
    assert.ok(await app.wd.run(`return document.activeElement.closest('${of("terminal")}') !== null;`));
    await app.wd.painted();
    await stage.shoot("noticed");
    await page.press("approvals-show");
    const words = () => app.wd.run(`return [...document.querySelectorAll('${of("approval-word")}')].map((word) => word.textContent);`);
    await poll(async () => (await words()).join("|") === "echo|strike|one", "the words of the command");
    await app.wd.painted();
    await stage.shoot("asked");
    assert.deepEqual(stage.cli("tasks", "list").map(({ state }) => state), ["awaiting_approval"]);
    // By keys: W opens the beginnings, Enter allows the one that is proposed.
    await app.wd.type("w");
    await app.wd.wait(of("approval-prefix", '[data-prefix="echo strike"]'));
    await app.wd.type("\uE007");
    await poll(() => stage.cli("tasks", "list")[0].state === "succeeded", "the end of the command");
    assert.deepEqual(stage.cli("profile", "list").find((one) => one.name === "demo").allow_prefixes, ["echo strike"]);
    await page.typeLine(name, `run: ${CARILLON} run -- echo strike two`);
    await poll(() => stage.cli("tasks", "list").filter(({ state }) => state === "succeeded").length === 2, "the next one, without a word");
    assert.deepEqual(stage.cli("approvals", "list").map(({ state }) => state), ["approved"]);
    assert.deepEqual(await app.faults(), []);
    await stage.pressClose();
    await page.answerAndEnd("quit-stop");
    await app.ends();
  },
};
