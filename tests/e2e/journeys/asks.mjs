// Asks in the window: a headless agent is asked and answers, an answer waits for the work that it took, and a note wakes an agent.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";
import { KEY } from "../wd.mjs";

/** Opens the window on a repository with one headless demo agent, whose conversation is on show. */
async function open(stage) {
  const app = await stage.drive();
  const page = new Page(app);
  await page.ready();
  stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
  await page.openProject(stage.repository("bells"));
  await page.addHeadlessAgent("demo");
  await app.wd.wait('[data-testid="conversation-empty"]');
  const [{ name, mode, run }] = stage.cli("agent", "list");
  assert.deepEqual([mode, run], ["headless", null], "an agent that nobody asked has started something");
  return { app, page, name };
}

async function close(stage, app) {
  assert.deepEqual(await app.faults(), []);
  await stage.pressClose();
  await app.ends();
}

const textOf = (app, id) => app.wd.run(`return document.querySelector('[data-testid="${id}"]')?.textContent ?? "";`);

export const journeys = {
  async "ask from the conversation, see the answer, ask again after a failure"(stage) {
    const { app, page, name } = await open(stage);
    await page.ask(name, "say **ding** and `dong`", "höchste Glocke 鐘");
    await page.turnsAre("an answer", (turns) => turns[0]?.state === "final");
    const final = await app.wd.run(`const final = document.querySelector('[data-testid="turn-final"]'); return [final.querySelector("strong")?.textContent, final.querySelector("code")?.textContent, final.textContent];`);
    assert.equal(final[0], "ding");
    assert.equal(final[1], "dong");
    assert.match(final[2], /you said: höchste Glocke 鐘/);
    const [ask] = stage.cli("asks", "list");
    assert.deepEqual([ask.state, ask.caller, ask.prompt], ["answered", null, "say **ding** and `dong`\nhöchste Glocke 鐘"]);
    await app.wd.painted();
    await stage.shoot("answered");

    await page.ask(name, "fail the rope broke");
    const turns = await page.turnsAre("a failure", (all) => all[1]?.state === "failed");
    assert.match(turns[1].text, /The turn failed: .*the rope broke/);
    await app.wd.painted();
    await stage.shoot("failed-turn");

    // What is at work is stopped only after a question; what waits behind it comes next.
    await page.ask(name, "sleep 60");
    await page.turnsAre("a turn at work", (all) => all[2]?.state === "running");
    await page.ask(name, "say next");
    await page.turnsAre("a turn in line", (all) => all[3]?.state === "queued");
    await app.wd.painted();
    await stage.shoot("in-line");
    await app.wd.click(await app.wd.wait('.composer [data-testid="turn-stop"]'));
    await page.press("confirm-yes");
    const after = await page.turnsAre("the next turn's answer", (all) => all[2]?.state === "interrupted" && all[3]?.state === "final");
    assert.match(after[2].text, /cancelled by you/);
    assert.match(after[3].text, /next/);
    await close(stage, app);
  },

  async "an answer waits for its work, and the asks say so"(stage) {
    const { app, page, name } = await open(stage);
    const gate = path.join(stage.folder, "gate");
    await page.ask(name, `start: while ! test -e ${gate}; do sleep 0.05; done; echo R`, "say started");
    await app.wd.wait('[data-testid="conversation-awaits"]', 15_000);
    assert.match(await textOf(app, "conversation-awaits"), /^Waiting for 1 task/);
    assert.equal(await textOf(app, "pane-waiting"), "waiting for 1 task");
    assert.equal(stage.cli("asks", "list")[0].state, "pending_final");
    await page.press("asks-open");
    await app.wd.wait('[data-testid="ask-row"][data-kind="task"][data-state="running"]');
    await app.wd.painted();
    await stage.shoot("waiting");
    fs.writeFileSync(gate, "");
    await app.wd.waitGone('[data-testid="conversation-awaits"]', 15_000);
    await app.wd.wait('[data-testid="asks-empty"]');
    // All asks by the key of the list, then the first one, by keys.
    await page.press("asks-list");
    await app.wd.type("a");
    await app.wd.wait('[data-testid="ask-row"][data-kind="ask"][data-state="answered"]');
    await app.wd.wait('[data-testid="ask-row"][data-kind="task"][data-state="succeeded"]');
    await app.wd.type(`\uE011${KEY.enter}`);
    await poll(async () => /started[\s\S]*R$/.test(await textOf(app, "ask-detail")), "the answer with what its work printed");
    await app.wd.painted();
    await stage.shoot("answered");
    const [ask] = stage.cli("asks", "list");
    assert.deepEqual([ask.state, ask.children[0].state, ask.children[0].tail.trim()], ["answered", "succeeded", "R"]);
    await close(stage, app);
  },

  async "a note wakes an agent, and its inbox says so"(stage) {
    const { app, page, name } = await open(stage);
    await page.press("inbox-open");
    await app.wd.wait('[data-testid="inbox-empty"]');
    await page.press("note-text");
    await app.wd.type(`say thanks${KEY.enter}`);
    await app.wd.wait('[data-testid="message"][data-kind="note"][data-state="delivered"]', 15_000);
    const [turn] = await page.turnsAre("the wake's turn", (all) => all[0]?.state === "final");
    assert.equal(turn.kind, "wake");
    assert.match(turn.text, /Woken by 1 message/);
    const inbox = stage.cli("inbox", name);
    assert.deepEqual(inbox.map(({ kind, state }) => [kind, state]), [["note", "delivered"]]);
    await app.wd.painted();
    await stage.shoot("woken");

    // While it is stopped, what is sent waits, and nothing is asked of it.
    await page.press("pane-stop");
    await app.wd.wait('[data-testid="agent"][data-state="offline"]');
    await page.press("note-text");
    await app.wd.type(`say later${KEY.enter}`);
    await app.wd.wait('[data-testid="pane-queued"][data-count="1"]');
    await page.ask(name, "say now");
    await app.wd.wait('[data-testid="composer-start"]');
    await app.wd.painted();
    await stage.shoot("refused");
    await page.press("composer-start");
    await app.wd.waitGone('[data-testid="pane-queued"]', 15_000);
    await page.turnsAre("the second wake", (all) => all.filter(({ kind, state }) => kind === "wake" && state === "final").length === 2);
    await close(stage, app);
  },
};
