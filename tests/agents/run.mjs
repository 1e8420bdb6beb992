// node tests/agents/run.mjs [--part=adapter|app] [--quick|--slow] [--case=WORDS] [--jobs=N] [--installed] [--report=FILE] [CLI...]
//
// Runs the cases on the real agent CLIs against the scripted model: those of the adapters alone, and those of the whole app, in
// which CLIs also ask each other. `--case` runs only cases with these words in their title, `--jobs` so many at a time. Says which
// versions it saw; a CLI that cannot be installed (with `--installed`: is not there) is reported as not run, and never as passed.
// Ends with 0 only when nothing failed and something ran.

import fs from "node:fs";
import { CASES } from "./cases.mjs";
import { CLIS, install } from "./clis.mjs";
import { CROSSING, ringOf, script } from "./crossing.mjs";
import { ENGINE } from "./engine.mjs";
import { PANES } from "./panes.mjs";
import { Stage } from "./stage.mjs";
import { World } from "./world.mjs";

/** Longest that one case of the whole app may take, in milliseconds. */
const CASE_MAX_MS = 300_000;

const words = process.argv.slice(2);
const option = (name) => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const chosen = words.filter((word) => !word.startsWith("--"));
const names = chosen.length > 0 ? chosen : Object.keys(CLIS);
const unknown = chosen.filter((name) => !(name in CLIS));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}; there are: ${Object.keys(CLIS).join(", ")}`);
  process.exit(2);
}

/** What has to be taken away also when somebody ends us. */
const open = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, async () => {
    waiting.length = 0;
    // Whatever still waited for a world fails with it.
    process.on("unhandledRejection", () => {});
    await Promise.allSettled([...open].map((one) => one.stop()));
    process.exit(1);
  });
}

const counts = { passed: 0, failed: 0, not_run: 0 };
const table = {};
const found = Object.fromEntries(names.map((name) => [name, install(name, !words.includes("--installed"))]));
for (const [name, { version, problem }] of Object.entries(found)) {
  table[name] = { version: version ?? null, problem, cases: {} };
  console.log(problem ? `- ${name}: not run: ${problem}` : `${name} ${version}`);
  if (problem) counts.not_run += 1;
}
const waiting = [...(option("part") === "app" ? [] : ofAdapters()), ...(option("part") === "adapter" ? [] : ofApp())].filter(isWanted);
// What mostly waits comes first, so that the others run meanwhile.
waiting.sort((a, b) => Number(b.one.waits ?? false) - Number(a.one.waits ?? false));
await Promise.all(Array.from({ length: Number(option("jobs") ?? 1) }, work));
if (option("report")) fs.writeFileSync(option("report"), `${JSON.stringify({ ...counts, table }, null, 2)}\n`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.not_run} not run`);
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);

function isWanted({ title, one }) {
  if (option("case") && !title.includes(option("case"))) return false;
  if (words.includes("--quick")) return one.quick === true;
  return !one.slow || words.includes("--slow");
}

/** The cases of the adapters alone. */
function ofAdapters() {
  const of = (name) => Object.entries(CASES).map(([title, one]) => ({ group: name, title, one, make: () => onStage(name, one) }));
  return names.filter((name) => !found[name].problem).flatMap(of);
}

/** Those of the whole app: of each CLI alone, then of each with the next one. */
function ofApp() {
  const own = names.filter((name) => !CLIS[name].same);
  const alone = (name) =>
    Object.entries({ ...ENGINE, ...PANES }).map(([title, one]) => ({ group: name, title, one, make: () => inWorld([name], one, (world) => one.script?.(name, world) ?? { turns: one.turns }, name) }));
  const together = (pair) => {
    const group = pair.join(" → ");
    table[group] = { cases: {} };
    const missing = pair.find((name) => found[name].problem);
    return Object.entries(CROSSING).map(([title, one]) => ({ group, title, one, make: () => (missing ? `${missing} cannot be installed` : inWorld(pair, one, () => script(pair), pair)) }));
  };
  return [...own.filter((name) => !found[name].problem).flatMap(alone), ...ringOf(own).flatMap(together)];
}

async function onStage(name, one) {
  const stage = new Stage(name, found[name].program);
  open.add(stage);
  try {
    const reason = one.skip?.(stage);
    if (reason) return reason;
    await stage.start(one.script?.(stage) ?? { turns: one.turns });
    await one.run(stage);
    return null;
  } finally {
    await stage.stop();
    open.delete(stage);
  }
}

async function inWorld(members, one, scriptOf, subject) {
  const reason = one.skip?.(subject);
  if (reason) return reason;
  const world = new World(Object.fromEntries(members.map((name) => [name, found[name].program])));
  open.add(world);
  try {
    await world.start(scriptOf(world));
    await within(one.run(world, subject), world);
    await world.endEngine("SIGTERM");
    await world.traces.nothingIsLeft({ interactive: one.interactive });
    return null;
  } finally {
    await world.stop();
    open.delete(world);
  }
}

/** Fails with how things stand when a case takes too long. */
function within(running, world) {
  running.catch(() => {});
  const late = new Promise((_, reject) => {
    const tell = async () => reject(new Error(`it took too long; ${await world.state()}`));
    running.finally(() => clearTimeout(timer)).catch(() => {});
    const timer = setTimeout(tell, CASE_MAX_MS);
  });
  return Promise.race([running, late]);
}

/** Takes one case after the other. A case answers null, or why it was not run; it throws when it fails. */
async function work() {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { group, title, make } = next;
    const began = performance.now();
    const took = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
    try {
      const reason = await make();
      counts[reason ? "not_run" : "passed"] += 1;
      table[group].cases[title] = reason ? `not run: ${reason}` : "passed";
      console.log(reason ? `  - ${group}: ${title}: not run: ${reason}` : `  ✓ ${group}: ${title} (${took()})`);
    } catch (error) {
      counts.failed += 1;
      table[group].cases[title] = "failed";
      console.error(`  ✗ ${group}: ${title} (${took()})\n    ${String(error.message).replaceAll("\n", "\n    ")}`);
    }
  }
}
