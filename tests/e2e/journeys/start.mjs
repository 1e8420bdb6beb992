// The start: a second one, a repository on the command line, and what cannot be opened.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { carriers } from "../processes.mjs";
import { poll } from "../wait.mjs";

const PAINTED = "painted since_exec_ms=";

async function endsBySignal(app) {
  process.kill(app.pid, "SIGTERM");
  assert.deepEqual(await app.ends(), { code: 143, signal: null }, app.output);
}

/** A call of the first window's object on the bus, as another program would make it; answers whether it was heard. */
function activate(stage, name) {
  const args = ["call", "--session", "--dest", name, "--object-path", `/${name.replaceAll(".", "/")}`, "--method", "org.freedesktop.Application.Activate", "{}"];
  return spawnSync("gdbus", args, { env: stage.env }).status === 0;
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

  async "the second start is heard by the session bus, and by the lock's socket where there is no bus"(stage) {
    const first = stage.launch();
    await first.says(PAINTED);
    await first.says("bus name=");
    const [, name] = /bus name=(\S+)/.exec(first.output);
    assert.match(name, /^dev\.carillon\.desktop\.H[0-9a-f]{16}$/, "another data directory has another name");
    // With the socket out of the way, nothing but the bus can carry the wish.
    const socket = path.join(stage.home, "carillon.sock");
    fs.renameSync(socket, `${socket}.away`);
    const second = stage.launch([], { DESKTOP_STARTUP_ID: "journey_TIME1" });
    assert.deepEqual(await second.ends(), { code: 0, signal: null }, second.output);
    assert.match(second.output, /brought to the front/);
    await first.says("raised by=bus");
    fs.renameSync(`${socket}.away`, socket);
    assert.equal(first.count("raised by=socket"), 0, first.output);
    assert.ok(activate(stage, name), "a desktop can ask for the window, too");
    await first.says("raised by=bus", 2);
    // Without a bus the lock alone leads to the first window.
    for (const address of ["", "unix:path=/no/such/bus"]) {
      const third = stage.launch([], { DBUS_SESSION_BUS_ADDRESS: address });
      assert.deepEqual(await third.ends(), { code: 0, signal: null }, third.output);
    }
    await first.says("raised by=socket", 2);
    await endsBySignal(first);
    assert.ok(!activate(stage, name), "the name went with the window");
  },

  async "without a session bus the window opens, and none is started for it"(stage) {
    const first = stage.launch([], { DBUS_SESSION_BUS_ADDRESS: "" });
    await first.says(PAINTED);
    const second = stage.launch([], { DBUS_SESSION_BUS_ADDRESS: "" });
    assert.deepEqual(await second.ends(), { code: 0, signal: null }, second.output);
    await first.says("raised by=socket");
    assert.deepEqual(carriers("CARILLON_HOME", stage.home).map(({ name }) => name).filter((name) => name.startsWith("dbus")), []);
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
