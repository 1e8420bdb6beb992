// Background tasks: how many a second, how soon an end is on the ledger, how long a start takes with many of them, and a large log.

import fs from "node:fs";
import path from "node:path";
import { poll } from "../e2e/wait.mjs";
import { median, percentile } from "./figures.mjs";
import { Ground, inTurns, now, over, probe, PROBE } from "./ground.mjs";
import { Pueue, pueueProblem } from "./pueue.mjs";

const AT_ONCE = 8;

/** `count` tasks that do nothing, eight at a time, each a process: theirs and ours in turns. */
export async function rate(figures, { tasks, theirs, rounds }) {
  const ground = new Ground();
  const problem = await pueueProblem();
  try {
    const engine = await ground.engine(ground.make("home"));
    const { id: project } = await engine.call("project_add", { path: ground.repository("repo", AT_ONCE) });
    const pueue = problem ? null : await Pueue.start(ground, AT_ONCE);
    const [ours, other] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      ours.push((tasks * 1_000) / (await run(engine, project, tasks)));
      if (pueue) other.push(await pueue.rate(theirs));
    }
    await pueue?.stop();
    if (problem) figures.skip("pueue", problem);
    const more = pueue ? { reference: ["pueue", median(other)], ratioAtLeast: 10 } : {};
    figures.add(`${tasks} queued \`true\`, ${AT_ONCE} at a time`, median(ours), "tasks/s", { ...more, note: pueue ? `pueue with ${theirs}` : "" });
  } finally {
    await ground.clear();
  }
}

/** Queues them and answers how many milliseconds it took until all of them had succeeded. */
async function run(engine, project, count) {
  const began = now();
  const added = await inTurns(Array.from({ length: count }), () => engine.call("task_add", { project, command: ["true"] }));
  // They start in their order, so when the last have ended nearly all have; the list then knows the rest.
  for (const { id } of added.slice(-AT_ONCE)) await over(engine, id);
  const mine = new Set(added.map(({ id }) => id));
  const open = async () => (await engine.call("tasks_list", { project })).filter(({ id, state }) => mine.has(id) && state !== "succeeded");
  for (let left = await open(); left.length > 0; left = await open()) {
    for (const { id } of left) {
      const { state, reason } = await over(engine, id);
      if (state !== "succeeded") throw new Error(`a task ended otherwise: ${reason}`);
    }
  }
  return now() - began;
}

/** From the last action of a command to the moment that its end is committed and told. */
export async function end(figures, { ends }) {
  const ground = new Ground();
  try {
    const engine = await ground.engine(ground.make("home"));
    const { id: project } = await engine.call("project_add", { path: ground.repository("repo") });
    const file = path.join(ground.folder, "stamp");
    const [took, disk] = [[], []];
    for (let at = 0; at < ends; at += 1) {
      disk.push(Number(await probe(["syncs", ground.folder], ground.env)) / 1e6);
      // It stays a moment, so that we wait already when it ends.
      const task = await engine.call("task_add", { project, command: [PROBE, "stamp", file, "40"] });
      await over(engine, task.id);
      const told = now();
      took.push(told - Number(fs.readFileSync(file, "utf8")) / 1e6);
      fs.rmSync(file);
    }
    figures.add("two fsync-and-renames on this disk", median(disk), "ms", { note: `p95 ${percentile(disk, 0.95).toFixed(1)} ms` });
    figures.add("task: from the command's end to the committed state, less those", median(took) - median(disk), "ms", { atMost: 5, note: `as a whole ${median(took).toFixed(1)} ms, p95 ${percentile(took, 0.95).toFixed(1)} ms` });
  } finally {
    await ground.clear();
  }
}

/** From the start of `carillon serve` to the line that says it is ready: with a full ledger and with an empty one, in turns. */
export async function boot(figures, { finished, live, rounds }) {
  const ground = new Ground();
  try {
    const [full, empty] = [ground.make("full"), ground.make("empty")];
    let engine = await ground.engine(full, "keep");
    const quick = await engine.call("project_add", { path: ground.repository("quick", AT_ONCE) });
    const slow = await engine.call("project_add", { path: ground.repository("slow", live) });
    const took = await run(engine, quick.id, finished);
    console.log(`  (${finished} tasks were run for this, at ${((finished * 1_000) / took).toFixed(0)} a second)`);
    await inTurns(Array.from({ length: live }), () => engine.call("task_add", { project: slow.id, command: ["sleep", "100000"] }));
    const running = async () => (await engine.call("tasks_list", { project: slow.id })).filter(({ state }) => state === "running").length;
    await poll(async () => (await running()) === live, `${live} running tasks`, 60_000);
    await engine.stop();
    const ready = { full: [], empty: [] };
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, home] of [["full", full], ["empty", empty]]) {
        engine = await ground.engine(home, "keep");
        ready[name].push(engine.ready_ms);
        if (name === "full" && (await running()) !== live) throw new Error("a live task was lost over a start");
        await engine.stop();
      }
    }
    figures.add("start to ready, empty ledger", median(ready.empty), "ms");
    figures.add(`start to ready, ${finished} finished and ${live} live tasks, more than that`, median(ready.full) - median(ready.empty), "ms", { atMost: 1_000 });
    // They were only sleeping: the next engine ends them all.
    await ground.engine(full, "stop");
  } finally {
    await ground.clear();
  }
}
