// pueue, the reference for background tasks: a well-known queue of commands with a daemon. It is built once, from the registry of Rust
// packages, and stands on its own data directory here.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { output, run } from "../../scripts/say.mjs";
import { poll } from "../e2e/wait.mjs";
import { ROOT } from "./ground.mjs";

const VERSION = "4.0.4";
const TOOLS = path.join(ROOT, "target/bench-tools");
const program = (name) => path.join(TOOLS, "bin", name);

/** Why it cannot be measured; null when it is ready. The first time it is compiled, which takes minutes. */
export async function pueueProblem() {
  if (output(program("pueue"), ["--version"])?.endsWith(VERSION)) return null;
  console.log(`  (building pueue ${VERSION}, once)`);
  const args = ["install", "pueue", "--version", VERSION, "--locked", "--quiet", "--root", TOOLS, "--target-dir", path.join(TOOLS, "build")];
  const code = await run("cargo", args, { stdio: ["ignore", "ignore", "inherit"] });
  return code === 0 ? null : `pueue ${VERSION} could not be built`;
}

export class Pueue {
  static async start(ground, atOnce) {
    const folder = ground.make("pueue");
    const config = path.join(folder, "pueue.yml");
    fs.writeFileSync(config, [
      "shared:", `  pueue_directory: ${folder}`, `  runtime_directory: ${folder}`, "  use_unix_socket: true", `  unix_socket_path: ${folder}/socket`,
      "client: {}", "daemon:", `  default_parallel_tasks: ${atOnce}`, "",
    ].join("\n"));
    const daemon = spawn(program("pueued"), ["--config", config], { env: ground.env, stdio: ["ignore", "ignore", "pipe"] });
    const pueue = new Pueue(daemon, config, ground.env);
    daemon.stderr.on("data", (bytes) => (pueue.said += bytes));
    await poll(() => pueue.ask("status", "--json") ?? daemon.exitCode !== null, "pueued");
    if (daemon.exitCode !== null) throw new Error(`pueued ended: ${pueue.said}`);
    pueue.tell("parallel", String(atOnce));
    return pueue;
  }

  constructor(daemon, config, env) {
    Object.assign(this, { daemon, config, env, said: "" });
  }

  ask(...words) {
    return output(program("pueue"), ["--config", this.config, ...words], { env: this.env });
  }

  tell(...words) {
    const { status, stderr } = spawnSync(program("pueue"), ["--config", this.config, ...words], { env: this.env, encoding: "utf8" });
    if (status !== 0) throw new Error(`pueue ${words.join(" ")}: ${stderr}`);
  }

  /** Queues `count` tasks while it is paused, lets it go, and answers tasks a second by its own times: from the first start to the last end. */
  async rate(count) {
    this.tell("pause", "--wait");
    for (let at = 0; at < count; at += 1) this.tell("add", "--", "true");
    this.tell("start");
    const done = () => {
      const tasks = Object.values(JSON.parse(this.ask("status", "--json")).tasks);
      return tasks.every(({ status }) => "Done" in status) && tasks;
    };
    // Seldom: each look is a process that would take time from it.
    let tasks = null;
    while (!(tasks = done())) await new Promise((resolve) => setTimeout(resolve, 500));
    const times = tasks.map(({ status }) => ({ start: Date.parse(status.Done.start), end: Date.parse(status.Done.end), result: status.Done.result }));
    if (times.some(({ result }) => result !== "Success")) throw new Error("a task of pueue's went wrong");
    const took = Math.max(...times.map(({ end }) => end)) - Math.min(...times.map(({ start }) => start));
    this.tell("clean");
    return (count * 1_000) / took;
  }

  async stop() {
    const ended = new Promise((resolve) => this.daemon.once("exit", resolve));
    this.daemon.kill("SIGTERM");
    await ended;
  }
}
