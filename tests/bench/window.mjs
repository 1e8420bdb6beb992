// The window: from its start to its first paint, and what it weighs with all its processes, in turns with the least window that shows a
// terminal (`sample/`). Both stand on one display and have one terminal with the same shell.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { within } from "../e2e/wait.mjs";
import { median } from "./figures.mjs";
import { DESKTOP, now, SAMPLE, supervisorsOf } from "./ground.mjs";
import { settled, treeMemory } from "./memory.mjs";
import { Screen } from "./screen.mjs";

const SHELL = ["bash", "--norc", "--noprofile"];

/** Starts a window, waits for its first paint, has `use` look at it, and ends it. Answers milliseconds from the start to the paint. */
async function open(program, env, use = () => {}) {
  const began = now();
  const child = spawn(program, [], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const painted = new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes) => {
        said = (said + bytes).slice(-8_000);
        if (said.includes("painted")) resolve(now() - began);
      });
    }
    child.once("error", reject).once("exit", (code) => reject(new Error(`${path.basename(program)} ended with ${code}: ${said}`)));
  });
  try {
    const ms = await within(painted, `the first paint of ${path.basename(program)}`, 30_000);
    await use(child.pid);
    return ms;
  } finally {
    child.kill("SIGTERM");
    await within(ended, `the end of ${path.basename(program)}`, 12_000).catch(() => child.kill("SIGKILL"));
  }
}

export function measure(figures, { paints, weighings }) {
  return Screen.with("window", async (stage, ground) => {
    await furnish(ground, stage.home);
    await turns(figures, ground, stage, paints, weighings);
  });
}

async function turns(figures, ground, stage, paints, weighings) {
  const ours = stage.env;
  // Ours chooses this for itself where there is no GPU; the sample cannot, and shall not be slower for it.
  const { CARILLON_HOME: _, ...theirs } = { ...stage.env, BENCH_SAMPLE_DATA: ground.make("sample"), WEBKIT_DISABLE_DMABUF_RENDERER: "1" };
  // The run was begun by an engine that has ended, so its supervisor is nobody's child here.
  const runs = () => supervisorsOf(stage.home);
  const took = { ours: [], theirs: [], first: [] };
  const weights = { ours: [], theirs: [] };
  for (let round = -1; round < paints; round += 1) {
    const weigh = (kind, roots) => async (pid) => {
      if (round >= 0 && round < weighings) weights[kind].push(await settled(() => treeMemory([pid, ...roots()])));
      if (round === 0) await stage.shoot(kind);
    };
    const first = { ...ours, CARILLON_HOME: ground.with(fs.mkdtempSync(path.join(ground.folder, "first-"))).CARILLON_HOME };
    const one = {
      ours: await open(DESKTOP, ours, weigh("ours", runs)),
      theirs: await open(SAMPLE, theirs, weigh("theirs", () => [])),
      first: await open(DESKTOP, first),
    };
    // The first turn warms the disk's cache for all and does not count.
    if (round >= 0) for (const [kind, ms] of Object.entries(one)) took[kind].push(ms);
  }
  report(figures, took, weights);
}

/** A project whose one pane has a shell that runs already and goes on when the window ends. */
async function furnish(ground, home) {
  const engine = await ground.engine(home, "keep");
  await engine.call("settings_set", { patch: { at_exit: "keep" } });
  const [program, ...args] = SHELL;
  const project = await engine.call("project_add", { path: ground.repository("repo") });
  const profile = await engine.call("profile_add", { name: "shell", adapter: "plain", program, args });
  const agent = await engine.call("agent_add", { name: "shell", project: project.id, profile: profile.id });
  await engine.call("agent_start", { agent: agent.id, cols: 120, rows: 40 });
  const root = { kind: "pane", id: "p1", agent: agent.id };
  await engine.call("layout_set", { project: project.id, layout: { version: 1, root, focused: "p1", zoomed: null, seen_ms: Date.now() } });
  await engine.stop();
}

function report(figures, took, weights) {
  figures.add("window: start to first paint, with a pane", median(took.ours), "ms", { reference: ["sample", median(took.theirs)], ratioAtMost: 1.2 });
  figures.add("window: start to first paint, the very first start", median(took.first), "ms", { reference: ["sample", median(took.theirs)] });
  for (const [kind, words] of [["rss", "resident"], ["pss", "PSS"]]) {
    const of = (name) => median(weights[name].map((one) => one[kind]));
    figures.add(`window: all its processes, ${words}`, of("ours"), "MiB", { reference: ["sample", of("theirs")], ratioAtMost: 1.15 });
  }
  const names = [...new Set([...Object.keys(weights.ours[0].byName), ...Object.keys(weights.theirs[0].byName)])];
  const look = (one) => (one ? `${one.rss.toFixed(1)} / ${one.pss.toFixed(1)} / ${one.own.toFixed(1)}${one.count > 1 ? ` (${one.count} of them)` : ""}` : "-");
  console.log("  by name, MiB resident / PSS / private, ours | sample:");
  for (const name of names) console.log(`    ${name}: ${look(weights.ours[0].byName[name])} | ${look(weights.theirs[0].byName[name])}`);
}
