// The whole way by keyboard alone: a project, an agent, an ask, its answer, a note and its wake. Nothing is clicked.

import assert from "node:assert/strict";
import { Page } from "../page.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";
import { KEY } from "../wd.mjs";

const shortcut = (app, key) => app.wd.chord([KEY.control, KEY.shift], key);
const focus = (app) => app.wd.run("return document.activeElement?.dataset.testid ?? '';");
const focusIs = (app, id) => poll(async () => (await focus(app)) === id, `the keyboard in ${id}`).catch(async (error) => {
  throw new Error(`${error.message}; it is in ${await app.wd.run("return document.activeElement?.outerHTML.slice(0, 200);")}`);
});
const text = (app, id) => app.wd.run(`return document.querySelector('[data-testid="${id}"]')?.textContent ?? "";`);

/** Presses Tab until the focus is there. */
async function tabTo(app, id) {
  for (let n = 0; n < 40; n += 1) {
    if ((await focus(app)) === id) return;
    await app.wd.type(KEY.tab);
  }
  throw new Error(`Tab does not lead to ${id}`);
}

export const journeys = {
  async "a project, an agent, an ask and a note, without the pointer"(stage) {
    const repository = stage.repository("bells");
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await shortcut(app, "o");
    await focusIs(app, "open-project-path");
    await app.wd.type(repository + KEY.enter);
    await app.wd.wait('[data-testid="pane-empty"]');
    await shortcut(app, "a");
    await focusIs(app, "add-agent-choice");
    // The mode is a pair of radio buttons: Tab reaches the one that is chosen, the arrows choose.
    for (let n = 0; n < 10 && !(await app.wd.run("return document.activeElement?.name === 'mode';")); n += 1) await app.wd.type(KEY.tab);
    await app.wd.type(KEY.right);
    await app.wd.wait('[data-testid="add-agent-mode"][data-mode="headless"].picked');
    await tabTo(app, "add-agent-start");
    await app.wd.type(KEY.enter);
    await app.wd.wait('[data-testid="conversation-empty"]');

    await shortcut(app, "s");
    await focusIs(app, "ask-dialog-prompt");
    await app.wd.type(`say ding${KEY.enter}`);
    await page.turnsAre("the answer", (all) => all[0]?.state === "final");
    await shortcut(app, "k");
    await focusIs(app, "asks-list");
    await app.wd.type("a");
    await app.wd.wait('[data-testid="ask-row"][data-state="answered"]');
    await app.wd.type(`\uE011${KEY.enter}`);
    await poll(async () => (await text(app, "ask-detail")).includes("ding"), "the answer in the asks");
    await app.wd.painted();
    await stage.shoot("ask-opened");
    // Escape leads out step by step: from the ask to the list, from the list to the panes.
    await app.wd.type(KEY.escape);
    await focusIs(app, "asks-list");
    await app.wd.type(KEY.escape);
    await focusIs(app, "composer");

    await shortcut(app, "m");
    await focusIs(app, "inbox-list");
    await tabTo(app, "note-text");
    await app.wd.type(`say dong${KEY.enter}`);
    await app.wd.wait('[data-testid="message"][data-kind="note"][data-state="delivered"]', 15_000);
    await page.turnsAre("the wake's turn", (all) => all.at(-1)?.kind === "wake" && all.at(-1)?.state === "final");
    assert.deepEqual(await app.faults(), []);
    // A dialog that is left by Escape gives the keyboard back to where it was.
    await focusIs(app, "note-text");
    await app.wd.chord([KEY.control], ",");
    await app.wd.wait('[data-testid="settings"]');
    await app.wd.type(KEY.escape);
    await focusIs(app, "note-text");
    // The app may be gone before WebDriver could say that the keys were pressed.
    await shortcut(app, "q").catch(() => {});
    await app.ends();
  },
};
