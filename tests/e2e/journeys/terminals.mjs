// Many terminals at once: bursts on all of them lose nothing and leave the window alive.

import assert from "node:assert/strict";
import { Page } from "../page.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";

const PANES = 5;
const LAST = 400_000;

/** Splits the largest pane along its longer side. */
const SPLIT = `const area = (pane) => pane.clientWidth * pane.clientHeight;
  const panes = [...document.querySelectorAll('[data-testid="pane"]')].sort((one, other) => area(other) - area(one));
  const way = panes[0].clientWidth > panes[0].clientHeight ? "right" : "down";
  panes[0].querySelector('[data-testid="pane-split-' + way + '"]').click();`;

export const journeys = {
  async "five bursts of 2.7 MB at once"(stage) {
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await page.openProject(stage.repository("bells"));
    for (let count = 1; count <= PANES; count += 1) {
      if (count > 1) await app.wd.run(SPLIT);
      await page.addAgent("demo");
      await poll(async () => (await page.panes()).filter((name) => name !== "").length === count, `${count} panes`);
    }
    const names = await page.panes();
    const watch = `let last = performance.now(); window.worst_ms = 0;
      (function frame(now) { window.worst_ms = Math.max(window.worst_ms, now - last); last = now; requestAnimationFrame(frame); })(last);`;
    await app.wd.run(watch);
    const runs = Object.fromEntries(stage.cli("agent", "list").map((agent) => [agent.name, agent.run.id]));
    const line = JSON.stringify(`run: seq ${LAST}\r`);
    const burst = `const { invoke } = window.__TAURI_INTERNALS__;
      return Promise.all(arguments[0].map((run) => invoke("rpc", { method: "terminal_write", params: { run, data: ${line} } })));`;
    await app.wd.run(burst, Object.values(runs));
    for (const name of names) {
      // The typed line holds the number as well: what counts is a row of its own.
      const rows = await poll(async () => {
        const rows = ((await page.screen(name)) ?? "").split("\n").map(Number).filter((row) => row > 0);
        return rows.at(-1) === LAST && rows;
      }, `the last row of ${name}`, 60_000);
      assert.ok(rows.length > 5, `${name} shows only ${rows.length} rows`);
      const expected = rows.map((_, index) => LAST - rows.length + 1 + index);
      assert.deepEqual(rows, expected, `${name} has lost rows`);
    }
    const worst = await app.wd.run("return Math.round(window.worst_ms);");
    console.log(`  longest pause of the page: ${worst} ms`);
    assert.deepEqual(await app.faults(), []);
    await app.wd.painted();
    await stage.shoot("burst");
    await stage.pressClose();
    await page.answerAndEnd("quit-stop");
    await app.ends();
  },
};
