// A real agent program: installed, found, started in a pane, its interface on the screen. No account is needed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { installed } from "../programs.mjs";

export const journeys = {
  async "OpenCode is found and shows its interface in a pane"(stage) {
    const program = installed("opencode-ai", "1.18.33");
    // Set up as people do, for their shell: an app that the desktop starts has to ask the shell for it.
    for (const name of [".bashrc", ".bash_profile", ".zshrc", ".profile"]) {
      fs.writeFileSync(path.join(stage.user, name), `export PATH="${program.bin}:$PATH"\n`);
    }
    const repository = stage.repository("tower");
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    const found = stage.cli("profile", "detect").find((one) => one.adapter === "opencode");
    assert.equal(found?.version, program.version);
    assert.equal(found.problem, null);
    // It must not look for updates and models on the network.
    const quiet = ["OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"].flatMap((one) => ["--env", one]);
    stage.cli("profile", "add", "opencode", "--adapter", "opencode", "--program", "opencode", ...quiet);
    await page.openProject(repository);
    await page.addAgent("opencode");
    await page.shows("opencode-1", "tower", 60_000);
    await page.shows("opencode-1", program.version, 60_000);
    await app.wd.painted();
    await stage.shoot("opencode");
    stage.cli("agent", "stop", "opencode-1");
    await app.wd.wait('[data-testid="ended-bar"]');
    await stage.pressClose();
    await app.ends();
  },
};
