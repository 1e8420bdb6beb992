// The window's journeys: node tests/e2e/run.mjs [--report=FILE] [--from=FOLDER] [WORD]...   runs all, or those whose name holds one of the words.
//
// Needs Xvfb, WebKitWebDriver, dbus-daemon and a build of both binaries; brings its own display and bus, so it runs anywhere. Pictures
// and logs go to target/e2e, the counts as JSON to FILE. Ends with 1 when anything failed.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Bus, DESKTOP, Display, PICTURES, Stage } from "./stage.mjs";
import { within } from "./wait.mjs";

/** What one journey may take, in milliseconds. */
const JOURNEY_MS = 120_000;

if (!fs.existsSync(DESKTOP)) {
  console.error(`${DESKTOP} is not built yet; npm test builds it, and so does: cargo build`);
  process.exit(1);
}
const report = process.argv.find((word) => word.startsWith("--report="))?.slice("--report=".length);
const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const from = process.argv.find((word) => word.startsWith("--from="))?.slice("--from=".length);
const folder = from ? pathToFileURL(`${path.resolve(from)}/`) : new URL("journeys/", import.meta.url);
const journeys = [];
for (const file of fs.readdirSync(folder).sort()) {
  const { journeys: list } = await import(new URL(file, folder));
  for (const [name, run] of Object.entries(list)) journeys.push({ name: `${path.basename(file, ".mjs")}: ${name}`, run });
}
const chosen = journeys.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(`no journey's name holds ${words.join(" or ")}`);
  process.exit(2);
}

fs.rmSync(PICTURES, { recursive: true, force: true });
fs.mkdirSync(PICTURES, { recursive: true });
const own = fs.mkdtempSync(path.join(os.tmpdir(), "ce-"));
const display = await Display.start(own);
const bus = await Bus.start();
let failed = 0;
try {
  for (const { name, run } of chosen) failed += (await walk(name, run)) ? 0 : 1;
} finally {
  await bus.stop();
  await display.stop();
  fs.rmSync(own, { recursive: true, force: true });
}
if (report) fs.writeFileSync(report, JSON.stringify({ passed: chosen.length - failed, failed }));
console.log(`${chosen.length - failed} of ${chosen.length} journeys passed`);
process.exit(failed === 0 ? 0 : 1);

/** Runs one journey and answers whether it passed. */
async function walk(name, run) {
  const stage = new Stage(name.replaceAll(/[^a-z0-9]+/gi, "-"), display, bus);
  const began = performance.now();
  let problem = null;
  try {
    await within(run(stage), "the journey's end", JOURNEY_MS);
    // A window that is still open shows what it has complained of; nothing may be among it.
    for (const app of stage.apps) {
      if (app.wd?.session) {
        const faults = await app.faults().catch(() => []);
        if (faults.length > 0) throw new Error(`the page complained: ${faults.join(" | ")}`);
      }
    }
  } catch (error) {
    problem = error;
    for (const app of stage.apps) {
      if (app.output) console.error(app.output);
    }
    await stage.shoot("failed").catch(() => {});
  }
  const left = await stage.strike();
  if (!problem && left.length > 0) problem = new Error(`left behind: ${left.join(", ")}`);
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  if (problem) console.error(`✗ ${name} (${took})\n  ${problem.stack}`);
  else console.log(`✓ ${name} (${took})`);
  return problem === null;
}
