// A profile in the settings, from its making to an agent that runs by it: tested with a program that is not there, with one that hangs
// and is stopped, and with one that works.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { processes } from "../processes.mjs";
import { poll } from "../wait.mjs";
import { KEY } from "../wd.mjs";

const text = (app, id) => app.wd.run(`return document.querySelector('[data-testid="${id}"]')?.textContent ?? "";`);

/** Types into a field, in the place of what is there. */
async function put(app, id, words) {
  await app.wd.click(await app.wd.wait(`[data-testid="${id}"]`));
  await app.wd.chord([KEY.control], "a");
  await app.wd.type(words === "" ? KEY.backspace : words);
}

function script(folder, name, ...lines) {
  const file = path.join(folder, name);
  fs.writeFileSync(file, `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
  return file;
}

export const journeys = {
  async "a profile is made, tested, mended and used"(stage) {
    const hangs = script(stage.folder, "hangs", "sleep 600");
    const works = script(stage.folder, "works", `test -n "$KEY" && echo "the key is there"`, `echo "answer: $(cat)"`);
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    await page.press("settings-open");
    await page.press("settings-tab-profiles");
    await put(app, "profile-name", "mine");
    await put(app, "profile-program", hangs);
    await page.press("profile-add");
    await page.press("profile-row", '[data-name="mine"] [data-testid="profile-edit"]');

    // One that is not there: what is wrong and what to do, and nothing is stored.
    await put(app, "profile-program", "no-such-program");
    await page.press("profile-test");
    await app.wd.wait('[data-testid="error-hint"]');
    assert.match(await text(app, "error"), /no-such-program/);
    assert.equal(stage.cli("profile", "list")[0].program, hangs);
    await app.wd.painted();
    await stage.shoot("missing");

    // One that hangs is started, and stopped for good.
    await put(app, "profile-program", hangs);
    await page.press("profile-test");
    await app.wd.wait('[data-testid="profile-testing"]');
    const running = () => processes().some(({ name, state }) => name === "hangs" && state !== "Z");
    await poll(running, "the program");
    await page.press("profile-test-stop");
    await app.wd.wait('[data-testid="profile-test"]');
    assert.ok(!running(), "it still runs");
    assert.equal(await text(app, "profile-said"), "");

    // One that works says so, with its variable.
    await put(app, "profile-program", works);
    await page.press("profile-variable-add");
    await put(app, "profile-variable-name", "KEY");
    await put(app, "profile-variable-value", "s3cret");
    await page.press("profile-policy", '[data-policy="never"]');
    await page.press("profile-test");
    await app.wd.wait('[data-testid="profile-said"][data-well="true"]');
    assert.match(await text(app, "profile-output"), /^the key is there\nanswer:/);
    await app.wd.painted();
    await stage.shoot("works");
    const [stored] = stage.cli("profile", "list");
    assert.deepEqual([stored.program, stored.policy, stored.env_names], [works, "never", ["KEY"]]);
    assert.ok(!(await app.wd.run("return document.body.innerHTML;")).includes("s3cret"), "the page shows a value");

    // And an agent runs by it.
    await app.wd.type(KEY.escape);
    await page.openProject(stage.repository("bells"));
    await page.addHeadlessAgent("mine");
    await page.ask("mine-1", "ring");
    const [turn] = await page.turnsAre("its answer", (all) => all[0]?.state === "final");
    assert.match(turn.text, /the key is there[\s\S]*answer: ring/);
    assert.deepEqual(await app.faults(), []);
    await stage.pressClose();
    await app.ends();
  },
};
