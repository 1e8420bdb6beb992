// A temp directory that takes much room is told of where its agent is seen.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { CARILLON } from "../stage.mjs";
import { poll } from "../wait.mjs";

const of = (id, rest = "") => `[data-testid="${id}"]${rest}`;

export const journeys = {
  async "an agent that fills its temp directory is told of, and is stopped from there"(stage) {
    const repository = stage.repository("belfry");
    fs.writeFileSync(path.join(repository, "carillon.toml"), '[temp]\nwarn = "1MiB"\n');
    const app = await stage.drive([], { CARILLON_TEMP_WATCH_MS: "200" });
    const page = new Page(app);
    await page.ready();
    stage.cli("profile", "add", "ringer", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent");
    await page.openProject(repository);
    await page.addAgent("ringer");
    const agent = await page.onlyAgent();
    await page.shows(agent, "demo agent");
    await page.typeLine(agent, 'run: head -c 2000000 /dev/zero > "$TMPDIR/much"');
    const notice = await app.wd.wait(of("temp-notice"), 20_000);
    const text = await app.wd.text(notice);
    assert.match(text, /takes 1\.9 MiB in \d+ files\. Beyond 50 GiB or 5,000,000 files, .* is ended\./);
    await app.wd.wait(of("agent-temp"));
    await stage.see("temp-notice");
    await page.press("temp-stop");
    await app.wd.wait(of("ended-bar"));
    await app.wd.waitGone(of("temp-notice"), 20_000);
    assert.equal(stage.cli("agent", "list")[0].run.state, "ended");
    await poll(() => stage.leftovers().filter((one) => one.startsWith("temp")).length === 0, "the end of the temp directory");
    await app.signal("SIGTERM");
    await app.ends();
  },
};
