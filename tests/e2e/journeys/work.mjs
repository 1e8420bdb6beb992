// The main job, end to end: open a repository, work with agents in panes, quit, come back and find everything as it was.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { isAlive, variables } from "../processes.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";

/** Opens the window; the profile of the demo agent is made by the command line, as a person may. */
async function open(stage) {
  const app = await stage.drive();
  const page = new Page(app);
  await page.ready();
  return { app, page };
}

async function quit(stage, app, page, answer) {
  await stage.pressClose();
  await page.answerAndEnd(answer);
  await app.ends();
}

export const journeys = {
  async "open, work, split, quit, come back"(stage) {
    const repository = stage.repository("bells");
    const first = await open(stage);
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await first.page.openProject(repository);
    await first.page.addAgent("demo");
    const name = await first.page.onlyAgent();
    await first.page.shows(name, "demo agent");
    await first.page.typeLine(name, "ding dong");
    await first.page.shows(name, "you said: ding dong");
    await first.page.typeLine(name, "run: pwd");
    await first.page.shows(name, path.basename(repository));
    await first.app.wd.painted();
    await stage.shoot("answered");

    await first.page.press("pane-split-right");
    await first.page.addAgent("demo");
    const both = await poll(async () => {
      const panes = await first.page.panes();
      return panes.length === 2 && !panes.includes("") && panes;
    }, "two panes with agents");
    const second = both.find((one) => one !== name);
    await first.page.typeLine(second, "say höchste Glocke 鐘");
    await first.page.shows(second, "höchste Glocke 鐘");
    await first.app.wd.painted();
    await stage.shoot("split");

    const before = stage.cli("agent", "list").map(({ run }) => run.pid);
    const own = variables(before[0]).filter((variable) => /^(WEBKIT_DISABLE_|CARILLON_SET_|CARILLON_RENDERER)/.test(variable));
    assert.deepEqual(own, [], "what the window set for itself reaches the agents");
    await stage.pressClose();
    await first.app.wd.wait('[data-testid="quit-dialog"]');
    await first.app.wd.painted();
    await stage.shoot("asked");
    // The question is put once, however often the button is pressed, and Cancel changes nothing.
    await stage.pressClose();
    assert.equal((await first.app.wd.findAll('[data-testid="quit-dialog"]')).length, 1);
    await first.page.press("quit-cancel");
    await first.app.wd.waitGone('[data-testid="quit-dialog"]');
    await first.page.typeLine(name, "still here");
    await first.page.shows(name, "you said: still here");
    assert.deepEqual(await first.app.faults(), []);
    await quit(stage, first.app, first.page, "quit-keep");
    assert.ok(before.every(isAlive), "an agent that was to go on has ended");

    const again = await open(stage);
    assert.deepEqual(await again.page.panes(), both);
    await again.page.shows(name, "you said: still here");
    await again.page.shows(second, "höchste Glocke 鐘");
    assert.deepEqual(stage.cli("agent", "list").map(({ run }) => run.pid), before);
    await again.page.typeLine(name, "and back");
    await again.page.shows(name, "you said: and back");
    await again.app.wd.painted();
    await stage.shoot("back");
    assert.deepEqual(await again.app.faults(), []);
    await quit(stage, again.app, again.page, "quit-stop");
    await poll(() => !before.some(isAlive), "the end of the agents that were to stop");

    const last = await open(stage);
    assert.deepEqual(await last.page.panes(), both);
    await last.page.shows(name, "you said: and back");
    await last.app.wd.wait('[data-testid="ended-bar"]');
    await last.app.wd.painted();
    await stage.shoot("ended");
    await last.page.press("start-again");
    await poll(() => stage.cli("agent", "list").some(({ run }) => run?.state === "running"), "an agent that was started again");
    await quit(stage, last.app, last.page, "quit-stop");
  },

  async "many views wait for bytes at once, and a call still comes through"(stage) {
    const { app } = await open(stage);
    const { id: project } = stage.cli("project", "add", stage.repository());
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    stage.cli("agent", "add", "ada", "--project", project, "--profile", "demo");
    stage.cli("agent", "start", "ada");
    const run = await poll(() => stage.cli("agent", "list").find((one) => one.run?.state === "running")?.run.id, "a running agent");
    const script = `const [run, done] = arguments;
      const { invoke } = window.__TAURI_INTERNALS__;
      const pull = (offset, wait_ms) => invoke("terminal_pull", { run, offset, cols: 80, rows: 24, wait_ms });
      const next = (answer) => Number(new DataView(answer).getBigUint64(8, true));
      (async () => {
        const snapshot = await pull(null, 0);
        // Whatever the agent still has to say first is read away: from then on every pull waits.
        let offset = next(snapshot);
        for (let answer; (answer = await pull(offset, 500)).byteLength > 24; ) offset = next(answer);
        const began = performance.now();
        const waits = Array.from({ length: 48 }, () => pull(offset, 3000));
        await invoke("rpc", { method: "info", params: {} });
        const call_ms = performance.now() - began;
        const answers = await Promise.all(waits);
        done({ kind: new DataView(snapshot).getUint32(0, true), raw: answers.every((one) => one instanceof ArrayBuffer), call_ms, waited_ms: performance.now() - began });
      })().catch((error) => done({ error: String(error.message ?? error) }));`;
    const seen = await app.wd.call("POST", "/execute/async", { script, args: [run] });
    assert.deepEqual([seen.error, seen.kind, seen.raw], [undefined, 1, true], JSON.stringify(seen));
    assert.ok(seen.waited_ms > 2_500, `the pulls did not wait: ${JSON.stringify(seen)}`);
    assert.ok(seen.call_ms < 1_000, `a call was held up by waiting pulls: ${JSON.stringify(seen)}`);
    app.signal("SIGTERM");
    await app.ends();
  },

  async "a folder that is no repository is told with the way out"(stage) {
    const { app, page } = await open(stage);
    const plain = path.join(stage.folder, "plain");
    fs.mkdirSync(plain);
    await page.openProject(plain);
    const error = await app.wd.wait('[data-testid="error"]');
    assert.match(await app.wd.text(error), /git/i);
    assert.ok((await app.wd.findAll('[data-testid="error-hint"]')).length > 0, "there is no way out");
    await app.wd.painted();
    await stage.shoot("no-repository");
    app.signal("SIGTERM");
    await app.ends();
  },
};
