// A display and a bus for what needs a window, from the stage of the window's journeys, on the release build.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Ground, RELEASE } from "./ground.mjs";

// The stage looks for the binaries where this says, when it is loaded.
process.env.CARILLON_BINARIES = RELEASE;
const { Bus, Display, PICTURES, Stage } = await import("../e2e/stage.mjs");

export class Screen {
  static async open() {
    fs.mkdirSync(PICTURES, { recursive: true });
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "cb-"));
    return new Screen(folder, await Display.start(folder), await Bus.start());
  }

  constructor(folder, display, bus) {
    Object.assign(this, { folder, display, bus });
  }

  /** Has `work` do its measurement on a stage of a display and on a ground, and ends whatever runs there. A failure leaves a picture. */
  static async with(name, work) {
    const screen = await Screen.open();
    const ground = new Ground();
    const stage = new Stage(`bench-${name}`, screen.display, screen.bus);
    try {
      return await work(stage, ground);
    } catch (error) {
      await stage.shoot("failed").catch(() => {});
      throw error;
    } finally {
      for (const app of stage.apps) await app.abandon();
      await ground.end();
      await stage.strike();
      await ground.clear();
      await screen.close();
    }
  }

  async close() {
    await this.bus.stop();
    await this.display.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}
