// An AppImage that replaces itself: by what was signed for it alone, whole, and under what runs.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../../e2e/page.mjs";
import { DESKTOP } from "../../e2e/stage.mjs";
import { nameOfVersion, Versions } from "../../e2e/versions.mjs";
import { poll } from "../../e2e/wait.mjs";

const APPIMAGE = fs.realpathSync(DESKTOP);
const IS_THIN = path.basename(APPIMAGE).includes("-thin-");
const NEW = "9.0.0";

/** A copy of the AppImage that it may replace, in a folder whose name has a space. */
function ownCopy(stage) {
  const file = path.join(stage.folder, "My Apps", "Carillon.AppImage");
  fs.mkdirSync(path.dirname(file));
  fs.copyFileSync(APPIMAGE, file);
  fs.chmodSync(file, 0o750);
  return file;
}

/** The same AppImage with something behind its image, which nobody reads: another file that runs. */
const newer = () => Buffer.concat([fs.readFileSync(APPIMAGE), Buffer.alloc(4096, 7)]);

async function wanted(app, versions) {
  await app.wd.rpc("desktop_set_updates", { on: true, address: versions.address, key: versions.publicKey });
}

/** Looks for updates and installs what is found; answers what went wrong. */
async function update(app) {
  await app.wd.rpc("desktop_check_updates");
  const { error } = await app.wd.invoke("rpc", { method: "desktop_install_update", params: {} });
  return error?.message ?? null;
}

export const journeys = {
  async "a signed update takes the AppImage's place, what runs goes on, and the next start is the new one"(stage) {
    const versions = await Versions.start(stage.folder);
    const file = ownCopy(stage);
    try {
      const app = await stage.drive([], {}, file);
      await new Page(app).ready();
      const repository = stage.repository();
      stage.cli("project", "add", repository);
      const gate = path.join(stage.folder, "gate");
      const { id } = stage.cli("run", "--json", "--cwd", repository, "--", "sh", "-c", `while ! test -e ${gate}; do sleep 0.1; done; exit 3`);
      await poll(() => stage.cli("tasks", "show", id).state === "running", "the task");
      assert.equal(versions.connections, 0, "nobody was asked before it was wanted");

      const bytes = newer();
      versions.offer(NEW, bytes, { signedAs: nameOfVersion(NEW, IS_THIN) });
      await wanted(app, versions);
      assert.equal(await update(app), null);
      assert.deepEqual((({ installed, found, error }) => ({ installed, found, error }))(await app.wd.rpc("desktop_updates")), { installed: NEW, found: null, error: null });
      assert.ok(fs.readFileSync(file).equals(bytes), "the file is the new one");
      assert.equal(fs.statSync(file).mode & 0o777, 0o750);
      assert.deepEqual(fs.readdirSync(path.dirname(file)), [path.basename(file)], "nothing lies beside it");
      assert.equal(stage.cli("tasks", "show", id).state, "running");
      assert.equal((await app.wd.rpc("info")).home, stage.home, "the window goes on");
      fs.writeFileSync(gate, "");
      await poll(() => stage.cli("tasks", "show", id).state === "failed", "the task's own end");
      assert.equal(stage.cli("tasks", "show", id).exit_code, 3);
      assert.deepEqual(await app.faults(), []);
      app.signal("SIGTERM");
      await app.ends();

      const next = stage.launchProgram(file);
      await next.says("painted since_exec_ms=");
      process.kill(next.pid, "SIGTERM");
      await next.ends();
    } finally {
      await versions.stop();
    }
  },

  async "what is not signed by the key, or not as what it is said to be, is refused and changes nothing"(stage) {
    const versions = await Versions.start(stage.folder);
    const file = ownCopy(stage);
    const before = fs.statSync(file);
    try {
      const app = await stage.drive([], {}, file);
      await new Page(app).ready();
      const bytes = Buffer.from("anything at all");
      versions.offer(NEW, bytes, { by: versions.stranger, signedAs: nameOfVersion(NEW, IS_THIN) });
      await wanted(app, versions);
      assert.match(await update(app), /could not be used/, "another key");
      versions.offer(NEW, bytes, { signedAs: nameOfVersion(NEW, IS_THIN) });
      versions.bodies.set("/new", Buffer.from("anything at all."));
      assert.match(await update(app), /could not be used/, "other bytes");
      // An older file, or the other variant, that was once signed in good faith.
      versions.offer(NEW, bytes, { signedAs: nameOfVersion("0.0.1", IS_THIN) });
      assert.match(await update(app), /Carillon-0\.0\.1/, "another version");
      versions.offer(NEW, bytes, { signedAs: nameOfVersion(NEW, !IS_THIN) });
      assert.match(await update(app), /not for/, "the other variant");
      versions.offer("0.0.1", bytes, { signedAs: nameOfVersion("0.0.1", IS_THIN) });
      assert.match(await update(app), /no newer version/, "an older version is none to install");
      assert.ok((await app.wd.rpc("desktop_updates")).installed === null);
      const after = fs.statSync(file);
      assert.deepEqual([after.ino, after.size, after.mtimeMs], [before.ino, before.size, before.mtimeMs]);
      assert.deepEqual(fs.readdirSync(path.dirname(file)), [path.basename(file)]);
      assert.deepEqual(await app.faults(), []);
      app.signal("SIGTERM");
      await app.ends();
    } finally {
      await versions.stop();
    }
  },
};
