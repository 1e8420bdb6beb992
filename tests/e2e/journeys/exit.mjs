// Every way out of the window: each leads to exactly one shutdown, in time, and leaves nothing behind.

import assert from "node:assert/strict";
import { descendants } from "../processes.mjs";
import { poll } from "../wait.mjs";

const PAINTED = "painted since_exec_ms=";
const BEGAN = "shutdown began";
const DONE = "shutdown done";

/** Starts the app and waits for its first paint. */
async function open(stage, env = {}) {
  const app = stage.launch([], env);
  await app.says(PAINTED);
  return app;
}

/** Asserts that the app has ended with `code` after exactly one whole shutdown. */
async function assertShutDown(app, code, choice = "Stop") {
  assert.deepEqual(await app.ends(), { code, signal: null }, app.output);
  assert.equal(app.count(BEGAN), 1, app.output);
  assert.equal(app.count(`${BEGAN} choice=${choice}`), 1, app.output);
  assert.equal(app.count(DONE), 1, app.output);
}

function signalled(signal, number) {
  return async (stage) => {
    const app = await open(stage);
    process.kill(app.pid, signal);
    await assertShutDown(app, 128 + number);
  };
}

export const journeys = {
  async "the close button"(stage) {
    const app = await open(stage);
    await stage.pressClose();
    await assertShutDown(app, 0);
  },

  SIGTERM: signalled("SIGTERM", 15),
  SIGINT: signalled("SIGINT", 2),
  SIGHUP: signalled("SIGHUP", 1),
  SIGQUIT: signalled("SIGQUIT", 3),

  async "a signal before the first paint"(stage) {
    const app = stage.launch();
    await app.says("the engine is open");
    process.kill(app.pid, "SIGTERM");
    await assertShutDown(app, 143);
  },

  async "the display server's death"(stage) {
    const display = await stage.ownDisplay();
    const app = await open(stage);
    await display.kill();
    await assertShutDown(app, 1);
  },

  async "the page's process dies: the page is loaded again"(stage) {
    const app = await open(stage);
    const page = () => descendants(app.pid).find((one) => one.name.startsWith("WebKitWebProces"));
    process.kill((await poll(page, "the page's process")).pid, "SIGKILL");
    await app.says(PAINTED, 2);
    assert.ok((await stage.shoot("loaded-again")) > 8, "the page is blank after it was loaded again");
    process.kill(app.pid, "SIGTERM");
    await assertShutDown(app, 143);
  },
};
