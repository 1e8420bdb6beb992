// The start: a second one, a repository on the command line, and what cannot be opened.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { poll } from "../wait.mjs";

const PAINTED = "painted since_exec_ms=";

async function endsBySignal(app) {
  process.kill(app.pid, "SIGTERM");
  assert.deepEqual(await app.ends(), { code: 143, signal: null }, app.output);
}

export const journeys = {
  async "a second start raises the first window, hands its repository over, and exits with 0"(stage) {
    const first = stage.launch();
    await first.says(PAINTED);
    const repository = stage.repository("handed-over");
    const second = stage.launch([repository]);
    assert.deepEqual(await second.ends(), { code: 0, signal: null }, second.output);
    assert.match(second.output, /running already/);
    assert.deepEqual(stage.cli("project", "list").map(({ root }) => root), [repository]);
    const wrong = stage.launch([path.join(stage.folder, "nowhere")]);
    assert.deepEqual(await wrong.ends(), { code: 1, signal: null }, wrong.output);
    assert.match(wrong.output, /nowhere/);
    await endsBySignal(first);
  },

  async "a repository on the command line is opened"(stage) {
    const repository = stage.repository("named");
    const app = stage.launch([repository]);
    await app.says(PAINTED);
    assert.deepEqual(stage.cli("project", "list").map(({ root }) => root), [repository]);
    await endsBySignal(app);
  },

  async "a folder that is no repository is told, and the window opens all the same"(stage) {
    const app = stage.launch([stage.home]);
    await app.says(PAINTED);
    assert.match(app.output, /not a git repository/);
    await stage.shoot("told");
    await endsBySignal(app);
  },

  async "the demo opens its own repository with two agents"(stage) {
    const app = stage.launch(["--demo"]);
    await app.says(PAINTED);
    assert.equal(stage.cli("agent", "list").length, 2);
    await stage.see("demo");
    await endsBySignal(app);
  },

  async "a data directory that cannot be used is told on the screen, with the way out"(stage) {
    const file = path.join(stage.folder, "file");
    fs.writeFileSync(file, "");
    const app = stage.launch([], { CARILLON_HOME: path.join(file, "home") });
    await app.says("cannot be used");
    await poll(() => stage.display.with(async (x) => (await x.windows()).some((one) => one.title === "Carillon")), "the message");
    await stage.shoot("told");
    await stage.pressClose();
    assert.deepEqual(await app.ends(), { code: 1, signal: null }, app.output);
  },

  async "an engine without a window holds the data directory: that is told, with the way out"(stage) {
    const engine = stage.serve();
    await engine.says('"ready":true');
    const app = stage.launch();
    await app.says("running already");
    await stage.pressClose();
    assert.deepEqual(await app.ends(), { code: 1, signal: null }, app.output);
    process.kill(engine.pid, "SIGTERM");
    assert.deepEqual(await engine.ends(), { code: 0, signal: null }, engine.output);
  },

  async "an option that it does not know is refused by name"(stage) {
    const app = stage.launch(["--dmeo"]);
    assert.deepEqual(await app.ends(), { code: 2, signal: null });
    assert.match(app.output, /--dmeo/);
  },
};
