// node tests/agents/run.mjs [--slow] [--report=FILE] [CLI...] [--case=WORDS]
//
// Runs the conformance cases on the real agent CLIs against the scripted model. Says which versions it saw; a CLI that
// cannot be installed is reported as not run, and never as passed. Ends with 0 only when nothing failed and something ran.

import fs from "node:fs";
import { CASES } from "./cases.mjs";
import { CLIS, install } from "./clis.mjs";
import { Stage } from "./stage.mjs";

const words = process.argv.slice(2);
const option = (name) => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const chosen = words.filter((word) => !word.startsWith("--"));
const unknown = chosen.filter((name) => !(name in CLIS));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}; there are: ${Object.keys(CLIS).join(", ")}`);
  process.exit(2);
}

const counts = { passed: 0, failed: 0, not_run: 0 };
const table = {};
for (const name of chosen.length > 0 ? chosen : Object.keys(CLIS)) {
  const found = install(name);
  table[name] = { version: found.version ?? null, cases: {} };
  if (found.problem) {
    counts.not_run += 1;
    table[name].problem = found.problem;
    console.log(`- ${name}: not run: ${found.problem}`);
    continue;
  }
  console.log(`${name} ${found.version}`);
  for (const [title, one] of Object.entries(CASES)) {
    if (option("case") && !title.includes(option("case"))) continue;
    if (one.slow && !words.includes("--slow")) continue;
    table[name].cases[title] = await attempt(name, found.program, title, one);
  }
}
if (option("report")) fs.writeFileSync(option("report"), `${JSON.stringify({ ...counts, table }, null, 2)}\n`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.not_run} not run`);
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);

/** Runs one case and answers "passed", "failed" or "not run: why". */
async function attempt(name, program, title, one) {
  const stage = new Stage(name, program);
  const began = performance.now();
  const took = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  try {
    const reason = one.skip?.(stage);
    if (reason) {
      counts.not_run += 1;
      console.log(`  - ${title}: not run: ${reason}`);
      return `not run: ${reason}`;
    }
    await stage.start(one.script?.(stage) ?? { turns: one.turns });
    await one.run(stage);
    counts.passed += 1;
    console.log(`  ✓ ${title} (${took()})`);
    return "passed";
  } catch (error) {
    counts.failed += 1;
    console.error(`  ✗ ${title} (${took()})\n    ${String(error.message).replaceAll("\n", "\n    ")}`);
    return "failed";
  } finally {
    stage.endProcesses();
    await stage.stop();
  }
}
