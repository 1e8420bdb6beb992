// "Open in your editor", where that works in a terminal: a real one, in a pane.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { poll } from "../wait.mjs";

const of = (id, rest = "") => `[data-testid="${id}"]${rest}`;

/** Vim where there is one, else a program of that name which says where it works. */
function editor(stage) {
  const found = spawnSync("sh", ["-c", "command -v vim"], { env: stage.env, encoding: "utf8" }).stdout.trim();
  if (found) return { command: `${found} -u NONE`, asks: ":pwd", quits: ":q!" };
  const scripted = path.join(stage.folder, "vim");
  fs.writeFileSync(scripted, "#!/bin/sh\nread line\npwd\nread line\n", { mode: 0o755 });
  return { command: `${scripted} -u NONE`, asks: "where", quits: "" };
}

/** Asks the editor where it works, once it listens. */
async function answers(page, asks, folder) {
  await poll(async () => {
    await page.typeLine("storm-vim", asks);
    return page.shows("storm-vim", folder, 2_000).catch(() => null);
  }, "the editor's answer", 20_000);
}

export const journeys = {
  async "a workdir opens in an editor that works in a terminal, and again in the same pane"(stage) {
    const repository = stage.repository("belfry");
    const { command, asks, quits } = editor(stage);
    const app = await stage.drive([], { VISUAL: command, SHELL: "/bin/sh" });
    const page = new Page(app);
    await page.ready();
    await page.openProject(repository);
    await poll(() => stage.cli("project", "list").length === 1, "the project");
    const made = stage.cli("workdirs", "new", "storm", "--project", repository);
    await page.press("workdirs-open");
    await page.press("workdir-row", '[data-name="storm"]');
    await page.press("workdir-editor");
    await answers(page, asks, made.path);
    const [agent] = stage.cli("agent", "list");
    assert.deepEqual([agent.name, agent.workdir, agent.mode], ["storm-vim", made.path, "terminal"]);
    await stage.see("vim-in-a-pane");
    await page.typeLine("storm-vim", quits);
    await app.wd.wait(of("ended-bar"));
    await page.press("workdir-editor");
    await app.wd.waitGone(of("ended-bar"));
    await answers(page, asks, made.path);
    assert.equal(stage.cli("agent", "list").length, 1);
    assert.deepEqual(stage.cli("profile", "list").map(({ name }) => name), ["vim"]);
    await stage.pressClose();
    await page.answerAndEnd("quit-stop");
    await app.ends();
  },
};
