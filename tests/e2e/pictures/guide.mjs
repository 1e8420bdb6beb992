// The picture of the README, from the real window: node tests/e2e/run.mjs --from=tests/e2e/pictures

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Page } from "../page.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";

const KEPT = fileURLToPath(new URL("../../../docs/guide/pictures/window.png", import.meta.url));

function git(stage, folder, ...args) {
  const { status, stderr } = spawnSync("git", args, { cwd: folder, env: stage.env, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
}

/** A workdir with so many commits of its own. */
function workdir(stage, repository, name, commits) {
  const made = stage.cli("workdirs", "new", name, "--project", repository);
  for (let n = 1; n <= commits; n += 1) {
    fs.writeFileSync(path.join(made.path, `${name}-${n}.md`), `${name} ${n}\n`);
    git(stage, made.path, "add", ".");
    git(stage, made.path, "commit", "--quiet", "-m", `${name} ${n}`);
  }
  return made;
}

export const journeys = {
  async "the window with a conversation, a terminal and the workdirs"(stage) {
    const repository = stage.repository("belfry");
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    await app.wd.call("POST", "/window/rect", { x: 0, y: 0, width: 1280, height: 800 });
    stage.cli("profile", "add", "ringer", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await page.openProject(repository);
    await poll(() => stage.cli("project", "list").length === 1, "the project");
    const storm = workdir(stage, repository, "storm-warning", 2);
    workdir(stage, repository, "tune-the-tenor", 1);
    workdir(stage, repository, "oil-the-clapper", 0);
    fs.writeFileSync(path.join(storm.path, "notes"), "only here\n");
    const add = (name, ...more) => stage.cli("agent", "add", name, "--project", repository, "--profile", "ringer", ...more);
    add("treble", "--mode", "headless", "--workdir", storm.path);
    add("tenor");
    await page.press("pane-choice", '[data-name="treble"]');
    await page.ask("treble", "say The storm bell rings **three times**, then waits for a minute.", "say It is done in `storm.c`; the test that was red is green now.");
    await page.turnsAre("an answer", (all) => all[0]?.state === "final");
    await page.press("pane-split-down");
    await page.press("pane-choice", '[data-name="tenor"]');
    await page.shows("tenor", "demo agent");
    await page.typeLine("tenor", "run: git log --oneline --all");
    await page.shows("tenor", "tune-the-tenor 1");
    await page.press("workdirs-open");
    await app.wd.wait('[data-testid="workdir-row"][data-name="storm-warning"]', 20_000);
    await page.press("workdirs-list");
    await page.press("workdir-row", '[data-name="storm-warning"]');
    await app.wd.wait('[data-testid="workdir-size"]', 20_000);
    await app.wd.painted();
    const { png } = await stage.display.with((x) => x.picture());
    fs.writeFileSync(KEPT, png);
    await stage.pressClose();
    await page.answerAndEnd("quit-stop");
    await app.ends();
  },
};
