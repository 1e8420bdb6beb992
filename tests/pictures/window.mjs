// The README's picture, of the real window: node tests/e2e/run.mjs --from=tests/pictures, then look at it and commit it.

import fs from "node:fs";
import path from "node:path";
import { Page } from "../e2e/page.mjs";
import { CARILLON, PICTURES } from "../e2e/stage.mjs";
import { poll } from "../e2e/wait.mjs";

const KEPT = new URL("../../docs/guide/pictures/", import.meta.url);

export const journeys = {
  async window(stage) {
    // What stands in the picture must not tell of a test: the program is found by its name.
    stage.env.PATH = `${path.dirname(CARILLON)}:${stage.env.PATH}`;
    // The window fills the display, so that nothing else is in the picture.
    fs.writeFileSync(path.join(stage.home, "window.json"), JSON.stringify({ width: 1280, height: 800, maximized: false }));
    const repository = stage.repository("belfry");
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    stage.cli("profile", "add", "ringer", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await page.openProject(repository);
    await page.addAgent("ringer");
    const [first] = await poll(async () => {
      const panes = await page.panes();
      return panes.length === 1 && panes[0] !== "" && panes;
    }, "the first pane");
    await page.shows(first, "demo agent");
    await page.press("pane-split-right");
    await page.addAgent("ringer");
    const second = await poll(async () => (await page.panes()).find((one) => one !== "" && one !== first), "the second pane");
    await page.shows(second, "demo agent");
    await page.press("tasks-open");
    await page.typeLine(first, "run: carillon run --title 'unit tests' -- sh -c 'echo 212 passed'");
    await page.typeLine(first, "run: carillon run --title lint -- sh -c 'echo src/bell.c:12: unused variable; exit 1'");
    await page.typeLine(second, "run: git log --oneline");
    await page.typeLine(second, "run: carillon run --title 'nightly build' -- sh -c 'i=0; while [ $i -lt 900 ]; do i=$((i+1)); echo \"[$i/900] bell.o\"; sleep 0.2; done'");
    const states = () => stage.cli("tasks", "list").map(({ state }) => state).sort();
    await poll(() => states().join() === "failed,running,succeeded", "three tasks");
    await page.typeLine(first, "say The peal is ready.");
    await page.shows(first, "The peal is ready.");
    await app.wd.painted();
    await stage.shoot("window");
    fs.copyFileSync(path.join(PICTURES, `${stage.name}-1-window.png`), new URL("window.png", KEPT));
    await stage.pressClose();
    await page.answerAndEnd("quit-stop");
    await app.ends();
  },
};
