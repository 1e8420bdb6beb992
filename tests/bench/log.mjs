// A large log: its tail must be there at once, and reading it must not cost memory; over the command line and in the window.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { median } from "./figures.mjs";
import { CARILLON, now, over, textFile } from "./ground.mjs";
import { memoryOf, peakOf, resetPeak, settled, treeMemory } from "./memory.mjs";
import { Screen } from "./screen.mjs";

const LAST = "this is the very last line";
const TAIL_BYTES = 65_536;

export function measure(figures, { logBytes, flood, tails }) {
  return Screen.with("log", async (stage, ground) => {
    const engine = await ground.engine(stage.home, "keep");
    const project = await engine.call("project_add", { path: ground.repository("repo") });
    const task = await make(engine, project.id, textFile(flood), logBytes);
    await byCommandLine(figures, ground.with(stage.home), engine, task, tails);
    const panel = { open: true, dock: "right", share: 0.34 };
    const root = { kind: "pane", id: "p1", agent: null };
    await engine.call("layout_set", { project: project.id, layout: { version: 1, root, focused: "p1", zoomed: null, seen_ms: Date.now(), tasks_panel: panel } });
    await engine.stop();
    await inWindow(figures, stage, task);
  });
}

/** A task whose log has `bytes` bytes, all of them kept. */
async function make(engine, project, file, bytes) {
  const copies = Math.ceil(bytes / fs.statSync(file).size);
  const script = `{ ${`cat ${file}; `.repeat(copies)}} | head -c ${bytes - LAST.length - 2}; printf '\\n${LAST}\\n'`;
  const began = performance.now();
  const { id } = await engine.call("task_add", { project, command: ["sh", "-c", script], log_max: Math.ceil(bytes * 1.5) });
  const task = await over(engine, id);
  if (task.state !== "succeeded" || task.log_truncated) throw new Error(`the log was not made: ${task.reason}`);
  console.log(`  (a log of ${(task.log_bytes / 1e9).toFixed(2)} GB, written in ${((performance.now() - began) / 1000).toFixed(1)} s)`);
  return task;
}

async function byCommandLine(figures, env, engine, task, rounds) {
  const before = memoryOf(engine.pid).rss;
  resetPeak(engine.pid);
  const took = [];
  for (let at = 0; at < rounds; at += 1) {
    const { bytes, ms } = carillon(["tasks", "output", task.id, "--tail", String(TAIL_BYTES)], env);
    if (!bytes.toString().endsWith(`${LAST}\n`)) throw new Error("the tail is not the log's end");
    took.push(ms);
  }
  figures.add("large log: its tail over the command line", median(took), "ms", { atMost: 1_000 });
  const { ms, peak } = await carillonPeak(["tasks", "output", task.id], env);
  figures.add("large log: all of it over the command line", task.log_bytes / 1e3 / ms, "MB/s");
  figures.add("large log: the engine grows by", peakOf(engine.pid) - before, "MiB", { atMost: 100 });
  figures.add("large log: `carillon tasks output` at its highest", peak, "MiB");
}

/** What `carillon` prints, and how long it took. */
function carillon(args, env) {
  const began = now();
  const { status, stdout, stderr } = spawnSync(CARILLON, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  if (status !== 0) throw new Error(`carillon ${args.join(" ")} ended with ${status}: ${stderr}`);
  return { bytes: stdout, ms: now() - began };
}

/** Runs `carillon` with its output thrown away; answers milliseconds and its highest resident memory in MiB. */
async function carillonPeak(args, env) {
  const began = now();
  const child = spawn(CARILLON, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  let peak = 0;
  const look = setInterval(() => {
    try {
      peak = Math.max(peak, peakOf(child.pid));
    } catch {
      // Gone meanwhile.
    }
  }, 20);
  const code = await new Promise((resolve) => child.once("exit", resolve));
  clearInterval(look);
  if (code !== 0) throw new Error(`carillon ${args.join(" ")} ended with ${code}`);
  return { ms: now() - began, peak };
}

/** Picks the task in the list and opens its log beside it; the time runs in the page until the last line is in the document. */
const OPEN = `const [last, done] = arguments;
  const one = (id) => document.querySelector('[data-testid="' + id + '"]');
  one("task-row").click();
  const began = performance.now();
  (one("task-open-pane") ?? one("task-row")).click();
  const look = () => {
    if ([...document.querySelectorAll('[data-testid="log-row"]')].some((row) => row.textContent.includes(last))) done(performance.now() - began);
    else if (performance.now() - began > 20000) done(null);
    else requestAnimationFrame(look);
  };
  look();`;

async function inWindow(figures, stage, task) {
  const app = await stage.drive();
  await app.wd.wait(`[data-testid="task-row"][data-task="${task.id}"]`, 20_000);
  const weigh = () => treeMemory([app.pid]);
  const before = await settled(weigh);
  const ms = await app.wd.call("POST", "/execute/async", { script: OPEN, args: [LAST] });
  if (ms === null) throw new Error("the log's end did not come up in the window");
  await stage.shoot("opened");
  const after = await settled(weigh);
  figures.add("large log: its tail in the window", ms, "ms", { atMost: 1_000 });
  figures.add("large log: the window with all its processes grows by (PSS)", after.pss - before.pss, "MiB", { atMost: 100 });
  app.signal("SIGTERM");
  await app.ends();
}
