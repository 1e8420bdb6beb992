// One supervisor: what it weighs, and how long it takes from the request to the program's first action.

import fs from "node:fs";
import path from "node:path";
import { processes } from "../e2e/processes.mjs";
import { poll } from "../e2e/wait.mjs";
import { median, percentile } from "./figures.mjs";
import { Ground, now, over, probe, PROBE } from "./ground.mjs";
import { memoryOf, settled } from "./memory.mjs";

export async function measure(figures, { spawns, supervisors }) {
  const ground = new Ground();
  try {
    const engine = await ground.engine(ground.make("home"));
    const { id: project } = await engine.call("project_add", { path: ground.repository("repo") });
    await weigh(figures, engine, project, supervisors);
    await start(figures, ground, engine, project, spawns);
  } finally {
    await ground.clear();
  }
}

/** The supervisor of a run is the parent of the run's program. */
async function supervisorOf(pid) {
  return processes().find((one) => one.pid === pid)?.parent;
}

async function weigh(figures, engine, project, count) {
  const profile = await engine.call("profile_add", { name: "sleeper", adapter: "plain", program: "sleep", args: ["1000"] });
  const pids = { terminal: [], pipes: [] };
  for (let at = 0; at < count; at += 1) {
    const agent = await engine.call("agent_add", { name: `sleeper-${at}`, project, profile: profile.id });
    await engine.call("agent_start", { agent: agent.id });
    const running = async () => (await engine.call("agents_list", { project })).find(({ id }) => id === agent.id).run;
    const run = await poll(async () => ((await running()).pid ? running() : null), "an agent's program");
    pids.terminal.push(await supervisorOf(run.pid));
    const task = await engine.call("task_add", { project, command: ["sleep", `${2_000 + at}`] });
    pids.pipes.push(await poll(() => parentOfCommand(`sleep\0${2_000 + at}\0`), `the program of task ${task.id}`));
  }
  for (const [kind, list] of Object.entries(pids)) {
    const look = () => list.map((pid) => memoryOf(pid));
    await settled(() => ({ pss: look().reduce((sum, { pss }) => sum + pss, 0) }));
    const of = (name) => median(look().map((one) => one[name]));
    figures.add(`supervisor (${kind}): resident`, of("rss"), "MiB", { atMost: 4 });
    figures.add(`supervisor (${kind}): private`, of("own"), "MiB", { atMost: 1 });
  }
  for (const { id } of await engine.call("tasks_list", { project })) await engine.call("task_cancel", { task: id });
}

function parentOfCommand(words) {
  const is = (pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8") === words;
    } catch {
      return false;
    }
  };
  return processes().find((one) => one.name === "sleep" && is(one.pid))?.parent;
}

/** The program is a probe that stamps the time as its first action; the reference is the same one in a bare terminal. */
async function start(figures, ground, engine, project, rounds) {
  const file = path.join(ground.folder, "stamp");
  const stamp = () => Number(fs.readFileSync(file, "utf8")) / 1e6;
  const stamped = () => poll(() => fs.existsSync(file), "the program's stamp");
  const profile = await engine.call("profile_add", { name: "stamper", adapter: "plain", program: PROBE, args: ["stamp", file] });
  const agent = await engine.call("agent_add", { name: "stamper", project, profile: profile.id });
  const idle = async () => (await engine.call("agents_list", { project })).find(({ id }) => id === agent.id).run.state === "ended";
  const took = { agent: [], task: [], bare: [] };
  for (let at = 0; at < rounds; at += 1) {
    let began = now();
    await engine.call("agent_start", { agent: agent.id });
    await stamped();
    took.agent.push(stamp() - began);
    await poll(idle, "the agent's end");
    fs.rmSync(file);

    began = Number(await probe(["spawn", PROBE, "stamp", file], ground.env)) / 1e6;
    took.bare.push(stamp() - began);
    fs.rmSync(file);

    began = now();
    const task = await engine.call("task_add", { project, command: [PROBE, "stamp", file] });
    await over(engine, task.id);
    took.task.push(stamp() - began);
    fs.rmSync(file);
  }
  const bare = median(took.bare);
  for (const kind of ["agent", "task"]) {
    const note = `p95 ${percentile(took[kind], 0.95).toFixed(1)} ms`;
    figures.add(`${kind}: from the request to the program's first action`, median(took[kind]), "ms", { reference: ["bare spawn", bare], atMost: 15, note });
  }
}
