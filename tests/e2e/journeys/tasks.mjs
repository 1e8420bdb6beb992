// Background tasks in the window: run, watch, cancel, retry, quit with "keep running", come back and see the end.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";
import { KEY } from "../wd.mjs";

async function open(stage) {
  const app = await stage.drive();
  const page = new Page(app);
  await page.ready();
  return { app, page };
}

/** Waits until the newest task is in `state`, in the window and in the ledger. */
async function newestIs(stage, app, state) {
  await app.wd.wait(`[data-testid="task-row"][data-state="${state}"]`, 15_000);
  return poll(() => {
    const [task] = stage.cli("tasks", "list");
    return task?.state === state && task;
  }, `a task that is ${state}`);
}

export const journeys = {
  async "run, watch, cancel, retry, keep running, see it end"(stage) {
    const repository = stage.repository("bells");
    const gate = path.join(stage.folder, "gate");
    const first = await open(stage);
    await first.page.openProject(repository);
    await first.page.press("tasks-open");
    await first.page.press("task-new");
    const command = `echo peal; i=0; while ! test -e ${gate}; do i=$((i+1)); echo "stroke $i"; sleep 0.1; done; echo stand; exit 4`;
    await first.app.wd.fill(await first.app.wd.wait('[data-testid="task-new-command"]'), command);
    await first.page.press("task-new-start");
    const running = await newestIs(stage, first.app, "running");
    const tail = async () => first.app.wd.run(`return document.querySelector('[data-testid="task-tail"]')?.textContent ?? "";`);
    const seen = await poll(async () => /stroke \d+/.exec(await tail())?.[0], "the tail");
    await poll(async () => {
      const now = /stroke \d+/.exec(await tail())?.[0];
      return now && now !== seen;
    }, "the tail to move");
    await first.app.wd.painted();
    await stage.shoot("running");

    // By keys, as the list is meant to be used: the row, then C and R.
    await first.page.press("task-row");
    await first.app.wd.type("c");
    const cancelled = await newestIs(stage, first.app, "cancelled");
    assert.equal(cancelled.reason, "cancelled by you");
    await first.app.wd.type("r");
    const again = await newestIs(stage, first.app, "running");
    assert.deepEqual([again.id, again.attempt], [running.id, 2]);
    assert.deepEqual(await first.app.faults(), []);
    await stage.pressClose();
    await first.app.wd.wait('[data-testid="quit-dialog"]');
    await first.app.wd.painted();
    await stage.shoot("asked");
    await first.page.answerAndEnd("quit-keep");
    await first.app.ends();

    const back = await open(stage);
    assert.equal(stage.cli("tasks", "show", running.id).state, "running");
    await back.app.wd.wait('[data-testid="task-row"][data-state="running"]', 15_000).catch(() => back.page.press("tasks-open"));
    fs.writeFileSync(gate, "");
    const failed = await newestIs(stage, back.app, "failed");
    assert.deepEqual([failed.exit_code, failed.attempt], [4, 2]);
    await back.page.press("task-row");
    await back.app.wd.type(KEY.enter);
    await poll(async () => (await back.app.wd.run(`return document.querySelector('[data-testid="log"]')?.textContent ?? "";`)).includes("stand"), "the log's end");
    await back.app.wd.painted();
    await stage.shoot("ended");
    assert.deepEqual(await back.app.faults(), []);
    await stage.pressClose();
    await back.app.ends();
  },

  async "a task of an agent badges its pane"(stage) {
    const { app, page } = await open(stage);
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await page.openProject(stage.repository("bells"));
    await page.addAgent("demo");
    const name = await page.onlyAgent();
    await page.shows(name, "demo agent");
    // The agent itself starts it: it is its task, and the folder is its own.
    await page.press("pane-split-right");
    await page.addAgent("demo");
    const second = await poll(async () => (await page.panes()).find((one) => one !== "" && one !== name), "the second pane");
    await page.shows(second, "demo agent");
    await page.typeLine(name, `run: ${CARILLON} run --title knell -- sleep 2`);
    await poll(() => stage.cli("tasks", "list").some((task) => task.title === "knell" && task.state === "running"), "the task");
    // A badge is for what one has not seen: the eye is on the other pane now.
    await page.typeLine(second, "say elsewhere");
    await poll(() => stage.cli("tasks", "list").some((task) => task.title === "knell" && task.state === "succeeded"), "the end of the task");
    const agent = stage.cli("agent", "list").find((one) => one.name === name);
    assert.equal(stage.cli("tasks", "list")[0].owner, agent.id);
    assert.equal(stage.cli("inbox", name).length, 1);
    await app.wd.wait('[data-testid="agent-done"], [data-testid="pane-done"]');
    await app.wd.painted();
    await stage.shoot("badged");
    await stage.pressClose();
    await page.answerAndEnd("quit-stop");
    await app.ends();
  },
};
