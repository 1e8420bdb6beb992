// The window opens, shows its page, and the page reaches the engine.

import assert from "node:assert/strict";
import { poll } from "../wait.mjs";

export const journeys = {
  async "the window opens and shows its sidebar"(stage) {
    const app = await stage.drive();
    await app.wd.wait("[data-testid=sidebar]");
    const info = await app.wd.rpc("info");
    assert.equal(info.home, stage.home);
    await stage.see("open");
    assert.deepEqual(await app.faults(), []);
    app.signal("SIGTERM");
    await app.ends();
  },

  async "a call that is wrong is refused with a code, and only the web is opened"(stage) {
    const app = await stage.drive();
    await app.wd.wait("[data-testid=sidebar]");
    const wrong = await app.wd.invoke("rpc", { method: "no_such_method", params: {} });
    assert.equal(typeof wrong.error.code, "string");
    assert.equal(typeof wrong.error.message, "string");
    const refused = await app.wd.invoke("rpc", { method: "desktop_open_url", params: { url: "file:///etc/passwd" } });
    assert.equal(refused.error.code, "refused");
    const unnamed = await app.wd.invoke("rpc", { method: "desktop_quit", params: { remember: true } });
    assert.equal(unnamed.error.code, "invalid");
    const other = await app.wd.invoke("plugin:window|close", { label: "main" });
    assert.match(String(other.error), /not allowed/, "a command that no capability names");
    // Nothing leaves the page for another address.
    const before = await app.wd.run("return location.href;");
    await app.wd.run("location.href = 'http://127.0.0.1:9/'; return null;");
    await poll(async () => (await app.wd.run("return document.readyState;")) === "complete", "the page");
    assert.equal(await app.wd.run("return location.href;"), before);
    app.signal("SIGTERM");
    await app.ends();
  },

  async "without a display it names the way without a window, and exits with 2"(stage) {
    const app = stage.launch([], { DISPLAY: "", WAYLAND_DISPLAY: "" });
    assert.deepEqual(await app.ends(), { code: 2, signal: null });
    assert.match(app.output, /DISPLAY.*carillon serve/s);
    const unreachable = stage.launch([], { DISPLAY: ":4095" });
    assert.deepEqual(await unreachable.ends(), { code: 2, signal: null });
    assert.match(unreachable.output, /cannot be reached.*carillon serve/s);
  },
};
