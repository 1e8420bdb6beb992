// The settings that the desktop shell keeps: starting with the session, and updates.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { Versions } from "../versions.mjs";
import { poll } from "../wait.mjs";
import { KEY } from "../wd.mjs";

/** The settings dialog, opened by its button. */
async function openSettings(stage) {
  const app = await stage.drive();
  const page = new Page(app);
  await page.ready();
  await page.press("settings-open");
  await app.wd.wait("[data-testid=settings-updates-on]");
  return { app, page };
}

/** Types into a field of the settings, in the place of what is there. */
async function fill(app, id, text) {
  await app.wd.click(await app.wd.wait(`[data-testid=${id}]`));
  await app.wd.chord([KEY.control], "a");
  await app.wd.type(text + KEY.enter);
}

const state = (app) => app.wd.run("return document.querySelector('[data-testid=settings-updates-state]')?.textContent ?? '';");
const says = (app, text) => poll(async () => (await state(app)).includes(text), `the settings to say: ${text}`);

export const journeys = {
  async "it starts with the session when that is switched on, and not any more when it is switched off"(stage) {
    const entry = path.join(stage.user, ".config/autostart/dev.carillon.desktop.desktop");
    const { app, page } = await openSettings(stage);
    assert.ok(!fs.existsSync(entry), "off at first");
    await page.press("settings-autostart");
    await poll(() => fs.existsSync(entry), "the entry");
    const { status, stdout, stderr } = spawnSync("desktop-file-validate", [entry], { encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
    await stage.see("switched-on");
    assert.deepEqual(await app.wd.rpc("desktop_autostart"), { on: true });
    await page.press("settings-autostart");
    await poll(() => !fs.existsSync(entry), "the entry's end");
    assert.deepEqual(await app.faults(), []);
    app.signal("SIGTERM");
    await app.ends();
  },

  async "nobody is asked for updates until that is switched on, and nobody any more when it is off again"(stage) {
    const versions = await Versions.start(stage.folder);
    versions.offer("9.0.0", Buffer.from("new"));
    try {
      // All is known but the word: that is not enough.
      fs.writeFileSync(path.join(stage.home, "updates.json"), JSON.stringify({ on: false, address: versions.address, key: versions.publicKey }));
      const { app, page } = await openSettings(stage);
      const refused = await app.wd.invoke("rpc", { method: "desktop_check_updates", params: {} });
      assert.equal(refused.error.code, "refused");
      const plugin = await app.wd.invoke("plugin:updater|check", {});
      assert.match(String(plugin.error), /not allowed/, "the page cannot go around the setting");
      assert.equal(versions.connections, 0, "off: not even a connection");

      // On: it is asked at once, and what it says is told.
      await page.press("settings-updates-on");
      await poll(() => versions.asked.length > 0, "the question");
      await page.press("settings-updates-check");
      await says(app, "Version 9.0.0 is there. Update Carillon the way it was installed.");
      await stage.see("found");
      assert.deepEqual([...new Set(versions.asked)], ["/latest.json"], "nothing is downloaded unasked");
      const wrong = await app.wd.invoke("rpc", { method: "desktop_install_update", params: {} });
      assert.equal(wrong.error.code, "refused", "only an AppImage replaces itself");

      // Another machine is asked by TLS alone.
      await fill(app, "settings-updates-address", "http://example.invalid/latest.json");
      await app.wd.wait("[data-testid=error]");
      assert.equal((await app.wd.rpc("desktop_updates")).address, versions.address);

      await page.press("settings-updates-on");
      await poll(async () => !(await app.wd.rpc("desktop_updates")).on, "off again");
      const before = versions.connections;
      assert.equal((await app.wd.invoke("rpc", { method: "desktop_check_updates", params: {} })).error.code, "refused");
      assert.deepEqual(await app.faults(), []);
      app.signal("SIGTERM");
      await app.ends();
      const again = stage.launch();
      await again.says("painted since_exec_ms=");
      process.kill(again.pid, "SIGTERM");
      await again.ends();
      assert.equal(versions.connections, before, "and at the next start, too");
    } finally {
      await versions.stop();
    }
  },
};
