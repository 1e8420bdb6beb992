// How large it is and how long it takes to its first paint, to be read, not judged: a machine that is busy is slow.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { DESKTOP } from "../../e2e/stage.mjs";

const APPIMAGE = fs.realpathSync(DESKTOP);
const STARTS = 3;
const MODES = { mounted: {}, extracted: { APPIMAGE_EXTRACT_AND_RUN: "1" } };

/** From the start of the process to the first paint, in milliseconds; the file is in the cache from the first one on. */
async function start(stage, env) {
  const app = stage.launch([], env);
  await app.says("painted since_exec_ms=");
  const [, ms] = /painted since_exec_ms=(\d+)/.exec(app.output);
  process.kill(app.pid, "SIGTERM");
  await app.ends();
  return Number(ms);
}

export const journeys = {
  async "its size and its start times"(stage) {
    const said = [`${(fs.statSync(APPIMAGE).size / 1e6).toFixed(1)} MB`];
    for (const [mode, env] of Object.entries(MODES)) {
      const times = [];
      for (let number = 0; number < STARTS; number += 1) times.push(await start(stage, env));
      times.sort((a, b) => a - b);
      said.push(`first paint ${mode} ${times[0]}, ${times[(STARTS - 1) / 2]}, ${times.at(-1)} ms (best, middle, worst of ${STARTS})`);
    }
    console.log(`  ${path.basename(APPIMAGE)}: ${said.join("; ")}; load ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
  },
};
