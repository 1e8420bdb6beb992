// Every way out of the window, with an agent running: each leads to exactly one shutdown, in time, and leaves nothing behind.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { descendants, isAlive } from "../processes.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";

const PAINTED = "painted since_exec_ms=";
const BEGAN = "shutdown began";
const DONE = "shutdown done";

/** A program that only a KILL ends. */
const STUBBORN = ["/bin/sh", "-c", "trap '' HUP INT TERM; while :; do sleep 1; done"];

/** Starts the app and waits for its first paint. */
async function open(stage, env = {}) {
  const app = stage.launch([], env);
  await app.says(PAINTED);
  return app;
}

/** Starts an agent in a new project, by the command line; answers its process. */
function startAgent(stage, [program, ...args] = [CARILLON, "demo-agent"]) {
  const { id: project } = stage.cli("project", "add", stage.repository());
  stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", program, ...args.map((arg) => `--arg=${arg}`));
  stage.cli("agent", "add", "ada", "--project", project, "--profile", "demo");
  return runningPid(stage, () => stage.cli("agent", "start", "ada"));
}

async function runningPid(stage, first = () => {}) {
  first();
  return poll(() => stage.cli("agent", "list").find(({ run }) => run?.state === "running")?.run.pid, "a running agent");
}

/** Asserts that the app has ended with `code` after exactly one whole shutdown that did as `choice` says with the agent. */
async function assertShutDown(stage, app, code, pid, choice = "Stop") {
  assert.deepEqual(await app.ends(), { code, signal: null }, app.output);
  assert.equal(app.count(BEGAN), 1, app.output);
  assert.equal(app.count(`${BEGAN} choice=${choice}`), 1, app.output);
  assert.equal(app.count(DONE), 1, app.output);
  if (pid === undefined) return;
  assert.equal(isAlive(pid), choice === "Keep", "the agent");
  const runs = path.join(stage.home, "runs");
  const records = fs.readdirSync(runs).filter((run) => fs.existsSync(path.join(runs, run, "exit.json")));
  assert.equal(records.length, choice === "Keep" ? 0 : 1, "the run's record");
}

function signalled(signal, number) {
  return async (stage) => {
    const app = await open(stage);
    const pid = await startAgent(stage);
    process.kill(app.pid, signal);
    await assertShutDown(stage, app, 128 + number, pid);
  };
}

export const journeys = {
  async "the close button, with nothing running"(stage) {
    const app = await open(stage);
    await stage.pressClose();
    await assertShutDown(stage, app, 0);
    const size = JSON.parse(fs.readFileSync(path.join(stage.home, "window.json"), "utf8"));
    assert.ok(size.width >= 720 && size.height >= 440 && size.maximized === false, JSON.stringify(size));
  },

  SIGTERM: signalled("SIGTERM", 15),
  SIGINT: signalled("SIGINT", 2),
  SIGHUP: signalled("SIGHUP", 1),
  SIGQUIT: signalled("SIGQUIT", 3),

  async "a signal before the first paint"(stage) {
    const app = stage.launch();
    await app.says("the engine is open");
    process.kill(app.pid, "SIGTERM");
    await assertShutDown(stage, app, 143);
  },

  async "a second signal ends it at once; the supervisor finishes the work"(stage) {
    const app = await open(stage);
    const pid = await startAgent(stage, STUBBORN);
    process.kill(app.pid, "SIGTERM");
    await app.says(BEGAN);
    const second = performance.now();
    process.kill(app.pid, "SIGINT");
    assert.deepEqual(await app.ends(), { code: 130, signal: null });
    assert.ok(performance.now() - second < 1_000, "a second signal was not heeded at once");
    assert.equal(app.count(DONE), 0, app.output);
    await poll(() => !isAlive(pid), "the end of the agent");
    // What did not fit is swept by the next start.
    const next = await open(stage);
    await poll(() => stage.leftovers().every((one) => one.startsWith("process")), "the sweep of the run's temp directory");
    await stage.pressClose();
    await assertShutDown(stage, next, 0, pid);
  },

  async "the remembered word counts where nobody can be asked"(stage) {
    const app = await stage.drive();
    await new Page(app).ready();
    const pid = await startAgent(stage);
    await app.wd.rpc("settings_set", { patch: { at_exit: "keep" } });
    app.signal("SIGTERM");
    await app.ends();
    assert.ok(isAlive(pid), "the agent that was to go on has ended");
    const again = await open(stage);
    assert.equal(await runningPid(stage), pid);
    await stage.pressClose();
    await assertShutDown(stage, again, 0, pid, "Keep");
    const last = await open(stage);
    stage.cli("agent", "stop", "ada");
    await poll(() => !isAlive(pid), "the end of the agent");
    await stage.pressClose();
    await assertShutDown(stage, last, 0, undefined, "Keep");
  },

  async "the display server's death"(stage) {
    const display = await stage.ownDisplay();
    const app = await open(stage);
    const pid = await startAgent(stage);
    await display.kill();
    await assertShutDown(stage, app, 1, pid);
  },

  async "SIGKILL costs nothing: the next start finds the agent as it was"(stage) {
    const app = await open(stage);
    const pid = await startAgent(stage);
    process.kill(app.pid, "SIGKILL");
    assert.deepEqual(await app.ends(), { code: null, signal: "SIGKILL" });
    assert.ok(isAlive(pid), "the agent went with the app");
    const again = await open(stage);
    assert.equal(await runningPid(stage), pid);
    process.kill(again.pid, "SIGTERM");
    await assertShutDown(stage, again, 143, pid);
  },

  async "the page's process dies: the page is loaded again, the agent does not notice"(stage) {
    const app = await open(stage);
    const pid = await startAgent(stage);
    const page = () => descendants(app.pid).find((one) => one.name.startsWith("WebKitWebProces"));
    process.kill((await poll(page, "the page's process")).pid, "SIGKILL");
    await app.says(PAINTED, 2);
    await stage.see("loaded-again");
    assert.equal(await runningPid(stage), pid);
    process.kill(app.pid, "SIGTERM");
    await assertShutDown(stage, app, 143, pid);
  },

  async "a page that does not answer is asked for by a dialog of the system's own"(stage) {
    const app = await open(stage);
    const pid = await startAgent(stage);
    const page = await poll(() => descendants(app.pid).find((one) => one.name.startsWith("WebKitWebProces")), "the page's process");
    process.kill(page.pid, "SIGSTOP");
    const dialog = () => stage.display.with(async (x) => (await x.windows()).filter((one) => one.title === "Carillon").length > 1);
    await stage.pressClose();
    await poll(dialog, "the system's dialog");
    await stage.shoot("native");
    assert.ok(isAlive(app.pid) && isAlive(pid), "a window that did not answer was taken for an idle one");
    process.kill(page.pid, "SIGCONT");
    process.kill(app.pid, "SIGTERM");
    await assertShutDown(stage, app, 143, pid);
  },
};
