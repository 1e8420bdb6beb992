// npm run bench [-- --quick] [WORD...]: measures the release build and prints each figure beside its reference of the same run, then a
// table. WORDs choose sections. Aims are told as met or not; only a measurement that failed ends it with 1.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { output, run, say, Stop, tellStops } from "./say.mjs";
import { ROOT, setUp } from "./setup.mjs";
import { hashOf, readStamp, writeStamp } from "./stamp.mjs";

const KEPT = path.join(ROOT, "target/bench");
/** How much of everything. The quick one only shows that the measurements work: its figures say little. */
const SIZES = {
  whole: {
    paints: 9, weighings: 3, supervisors: 7, spawns: 60, flood: 300_000_000, rounds: 3, keys: 150,
    tasks: 1_000, theirs: 200, ends: 60, finished: 10_000, live: 200, boots: 5, wakes: 200, logBytes: 2_000_000_000, tails: 9,
    branches: 10_000, worktrees: 200, guards: 20, swept: 1_000_000, sweeps: 2, purged: 100_000,
  },
  quick: {
    paints: 2, weighings: 1, supervisors: 2, spawns: 5, flood: 300_000_000, rounds: 1, keys: 20,
    tasks: 100, theirs: 20, ends: 5, finished: 300, live: 10, boots: 2, wakes: 20, logBytes: 100_000_000, tails: 3,
    branches: 1_000, worktrees: 20, guards: 3, swept: 20_000, sweeps: 1, purged: 10_000,
  },
};

const words = process.argv.slice(2);
const size = SIZES[words.includes("--quick") ? "quick" : "whole"];
const wanted = words.filter((word) => word !== "--quick");

await tellStops(async () => {
  await setUp("test");
  await build();
});
const { Figures } = await import("../tests/bench/figures.mjs");
const sections = await allSections();
const unknown = wanted.filter((word) => !(word in sections));
if (unknown.length > 0) {
  console.error(`There is no section ${unknown.join(", ")}; there are: ${Object.keys(sections).join(", ")}`);
  process.exit(2);
}
const figures = new Figures();
console.log(`${os.cpus().length} × ${os.cpus()[0]?.model.trim()}, Linux ${os.release()}, load ${os.loadavg()[0].toFixed(1)}`);
if (os.loadavg()[0] > os.cpus().length) console.log("The machine is busy with something else: times and rates will be worse than they are.");
const failed = [];
for (const [name, measure] of Object.entries(sections)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`${name}:`);
  try {
    await measure(figures, size);
  } catch (error) {
    say.bad(`${name} could not be measured: ${error.stack}`);
    failed.push(name);
  }
}
console.log(`\n${figures.table()}`);
fs.writeFileSync(path.join(KEPT, "figures.json"), `${JSON.stringify(figures.rows, null, 2)}\n`);
if (failed.length > 0) say.bad(`not measured: ${failed.join(", ")}`);
const missed = figures.rows.filter(({ met }) => met === false).length;
console.log(`${figures.rows.filter(({ met }) => met === true).length} aims met, ${missed} not met`);
process.exit(failed.length === 0 ? 0 : 1);

/** In the order in which they run. Loaded only now: they need the builds. */
async function allSections() {
  const [window, supervisor, terminals, tasks, wakes, log, guard, sweep] = await Promise.all(
    ["window", "supervisor", "terminals", "tasks", "wakes", "log", "guard", "sweep"].map((name) => import(`../tests/bench/${name}.mjs`)),
  );
  return {
    window: window.measure,
    supervisor: supervisor.measure,
    echo: terminals.echo,
    flood: terminals.floods,
    rate: tasks.rate,
    end: tasks.end,
    boot: (kept, all) => tasks.boot(kept, { ...all, rounds: all.boots }),
    wake: wakes.wake,
    log: log.measure,
    guard: guard.measure,
    sweep: sweep.sweep,
    purge: sweep.purge,
  };
}

async function build() {
  say.busy("building Carillon (the first time takes several minutes)");
  const ours = ["build", "--release", "-p", "carillon-cli", "-p", "carillon-desktop"];
  if ((await run("cargo", ours, { cwd: ROOT })) !== 0) throw new Stop("Carillon could not be built; what is wrong stands above.");
  await samplePage();
  say.busy("building what it is measured with");
  const theirs = ["build", "--release", "--manifest-path", "tests/bench/Cargo.toml", "--target-dir", "target", "--workspace"];
  if ((await run("cargo", theirs, { cwd: ROOT })) !== 0) throw new Stop("The bench's own programs could not be built; what is wrong stands above.");
  say.done("builds");
}

/** The sample's page, built as the product's is; made again when anything of it has changed. */
async function samplePage() {
  fs.mkdirSync(KEPT, { recursive: true });
  const made = () => `${hashOf(ROOT, ["package-lock.json", "tests/bench/sample/ui", "tests/bench/sample/vite.config.mjs"])} ${hashOf(KEPT, ["sample-ui"])}`;
  const stamp = path.join(KEPT, "sample-ui-stamp");
  if (readStamp(stamp) === made()) return;
  const vite = path.join(ROOT, "node_modules/vite/bin/vite.js");
  if (output(process.execPath, [vite, "build", "--config", "tests/bench/sample/vite.config.mjs"], { cwd: ROOT }) === null) {
    throw new Stop("The sample's page could not be built.", "This says why:\nnode node_modules/vite/bin/vite.js build --config tests/bench/sample/vite.config.mjs");
  }
  writeStamp(stamp, made());
}
