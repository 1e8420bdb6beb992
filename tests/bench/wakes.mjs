// Wakes: from a task's last action to its owner's first one, with many agents and many live tasks; and how many syncs that way has.

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { poll } from "../e2e/wait.mjs";
import { median, percentile } from "./figures.mjs";
import { Ground, inTurns, now, pause, probe, PROBE } from "./ground.mjs";

const AGENTS = 20;

/** `wakes` ends of tasks, one after the other, each for another of the agents. */
export async function wake(figures, { wakes, live }) {
  const ground = new Ground();
  try {
    const engine = await ground.engine(ground.make("home"));
    const { id: project } = await engine.call("project_add", { path: ground.repository("repo", live + 50) });
    const agents = [];
    for (let at = 0; at < AGENTS; at += 1) {
      const file = path.join(ground.folder, `woken-${at}`);
      const profile = { name: `p${at}`, adapter: "plain", program: PROBE, args: ["stamp", file] };
      await engine.call("profile_add", profile);
      await engine.call("agent_add", { name: `a${at}`, project, profile: profile.name, mode: "headless" });
      agents.push({ name: `a${at}`, file });
    }
    await inTurns(Array.from({ length: live }), () => engine.call("task_add", { project, command: ["sleep", "3600"] }));
    const running = async () => (await engine.call("tasks_list", { project })).filter(({ state }) => state === "running").length;
    await poll(async () => (await running()) >= live, "the live tasks", 120_000);
    const [took, disk] = [[], []];
    for (let at = 0; at < wakes; at += 1) {
      disk.push(Number(await probe(["syncs", ground.folder], ground.env)) / 1e6);
      took.push(await one(ground, engine, project, agents[at % AGENTS]));
    }
    const note = `p99 ${percentile(took, 0.99).toFixed(1)} ms, two fsync-and-renames ${median(disk).toFixed(1)} ms`;
    figures.add(`task's end to its owner's first action, ${AGENTS} agents, ${live} live tasks`, median(took), "ms", { note });
    figures.add("the same, p99", percentile(took, 0.99), "ms", { atMost: 25 });
    const syncs = await syncsOfOne(ground, engine, project, agents[0]);
    if (syncs === null) figures.skip("syncs of one wake", "strace is not installed, or may not trace");
    else figures.add("syncs of the engine and the supervisors for one wake", syncs, "");
  } finally {
    await ground.clear();
  }
}

async function one(ground, engine, project, { name, file }) {
  const ended = path.join(ground.folder, "ended");
  fs.rmSync(file, { force: true });
  fs.rmSync(ended, { force: true });
  await engine.call("task_add", { project, owner: name, command: [PROBE, "stamp", ended, "30"] });
  await poll(() => fs.existsSync(file), "the wake", 30_000);
  const ms = (Number(fs.readFileSync(file, "utf8")) - Number(fs.readFileSync(ended, "utf8"))) / 1e6;
  // Its turn ends before the next one of the same agent is measured.
  await poll(async () => (await engine.call("agents_list", { project })).find((agent) => agent.name === name).turn === null, "the end of the turn", 30_000);
  return ms;
}

/** Counts fsync and fdatasync of the engine and of what it starts, from a task's start to its owner's turn. */
async function syncsOfOne(ground, engine, project, agent) {
  const log = path.join(ground.folder, "strace");
  try {
    execFileSync("strace", ["-V"], { stdio: "ignore" });
  } catch {
    return null;
  }
  const tracer = spawn("strace", ["-f", "-e", "trace=fsync,fdatasync", "-o", log, "-p", String(engine.pid)], { stdio: "ignore" });
  const gone = new Promise((resolve) => tracer.once("exit", resolve));
  await pause(500);
  const began = now();
  await one(ground, engine, project, agent);
  await pause(200);
  tracer.kill("SIGINT");
  await gone;
  const traced = fs.existsSync(log) ? fs.readFileSync(log, "utf8").match(/(fsync|fdatasync)\(/g) : null;
  return traced === null || now() - began < 1 ? null : traced.length;
}
