// Where a measurement stands: folders, an environment and engines of its own, all of which go when it is over.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { processes } from "../e2e/processes.mjs";
import { poll, within } from "../e2e/wait.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const RELEASE = path.join(ROOT, "target/release");
export const CARILLON = path.join(RELEASE, "carillon");
export const DESKTOP = path.join(RELEASE, "carillon-desktop");
export const PROBE = path.join(RELEASE, "bench-probe");
export const SAMPLE = path.join(RELEASE, "bench-sample");
/** What is made once and kept between two benches. */
export const KEPT = path.join(ROOT, "target/bench");

const FOREIGN = /^(GIT_|XDG_|npm_|INIT_CWD$|GDK_|GTK_|WAYLAND_|WEBKIT_|CARILLON_|CLAUDE|TMUX)/;

/** Milliseconds of the monotonic clock, the same in all processes. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Ground {
  #engines = [];
  #homes = [];

  constructor() {
    // Short on purpose: sockets stand in it, and their paths may have 107 bytes.
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "cb-"));
    const user = this.make("user");
    const gitconfig = path.join(user, ".gitconfig");
    fs.writeFileSync(gitconfig, "[user]\n\tname = Bench\n\temail = bench@example.invalid\n[init]\n\tdefaultBranch = main\n");
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name)));
    this.env = { ...inherited, HOME: user, XDG_RUNTIME_DIR: this.make("runtime"), GIT_CONFIG_GLOBAL: gitconfig, GIT_CONFIG_NOSYSTEM: "1", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
  }

  make(name) {
    const folder = path.join(this.folder, name);
    fs.mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  /** Whether there is such a program. */
  can(program) {
    return spawnSync("sh", ["-c", `command -v ${program}`], { env: this.env }).status === 0;
  }

  /** The environment with that data directory. */
  with(home) {
    if (!this.#homes.includes(home)) this.#homes.push(home);
    return { ...this.env, CARILLON_HOME: home };
  }

  /** A git repository with one commit; `concurrent` is how many of its tasks run at a time. */
  repository(name, concurrent) {
    const folder = this.make(name);
    fs.writeFileSync(path.join(folder, "README.md"), `# ${name}\n`);
    if (concurrent) fs.writeFileSync(path.join(folder, "carillon.toml"), `[tasks]\nconcurrent = ${concurrent}\n`);
    for (const args of [["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]]) {
      const { status, stderr } = spawnSync("git", args, { cwd: folder, env: this.env });
      if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    }
    return folder;
  }

  /** Starts an engine without a window and waits until it is ready. */
  async engine(home, atExit = "stop") {
    const engine = await Engine.start(home, this.with(home), atExit);
    this.#engines.push(engine);
    return engine;
  }

  /** Ends the engines, and the runs that they left alive: a supervisor that is told to ends its whole tree. */
  async end() {
    for (const engine of this.#engines) await engine.stop().catch(() => engine.kill());
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      const left = () => this.#homes.flatMap(supervisorsOf);
      for (const pid of left()) send(pid, signal);
      await poll(() => left().length === 0, "the end of the runs", 8_000).catch((error) => console.error(`  ${error.message}`));
    }
  }

  /** Ends everything that was started here and takes the folders away. */
  async clear() {
    await this.end();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile.
  }
}

/** The supervisors of a data directory. They do not carry its variable; what they are started with names it. */
export function supervisorsOf(home) {
  const words = ({ pid }) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    } catch {
      return [];
    }
  };
  const is = (one) => one.name === "carillon" && ((word) => word[1] === "supervise" && word[2]?.startsWith(`${home}/`))(words(one));
  return processes().filter(is).map(({ pid }) => pid);
}

/** `carillon serve`. */
class Engine {
  static async start(home, env, atExit) {
    const began = now();
    const child = spawn(CARILLON, ["serve", "--at-exit", atExit], { env, stdio: ["ignore", "pipe", "pipe"] });
    const engine = new Engine(child, home);
    const ready = new Promise((resolve, reject) => {
      child.stdout.once("data", resolve);
      child.once("error", reject).once("exit", (code) => reject(new Error(`carillon serve ended with ${code}: ${engine.said}`)));
    });
    await within(ready, "an engine that is ready", 60_000);
    engine.ready_ms = now() - began;
    engine.client = await Client.connect(path.join(home, "carillon.sock"));
    return engine;
  }

  constructor(child, home) {
    Object.assign(this, { child, home, pid: child.pid, said: "" });
    child.stderr.on("data", (bytes) => (this.said = (this.said + bytes).slice(-4_000)));
    this.exited = new Promise((resolve) => child.once("exit", resolve));
  }

  call(method, params = {}) {
    return this.client.call(method, params);
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.client?.close();
    this.child.kill("SIGTERM");
    await within(this.exited, "the engine's end", 15_000);
  }

  kill() {
    this.child.kill("SIGKILL");
  }
}

/** The engine's socket: one JSON value per line, several calls under way. */
export class Client {
  #socket;
  #waiting = new Map();
  #last = 0;
  #rest = "";

  static async connect(file) {
    const socket = net.connect(file);
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return new Client(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text) => this.#heard(text));
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the engine closed the connection"));
      this.#waiting.clear();
    });
  }

  #heard(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const { id, result, error } = JSON.parse(line);
      const { resolve, reject, method } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new Error(`${method}: ${error.message}`));
      else resolve(result);
    }
  }

  call(method, params) {
    const id = (this.#last += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, method });
      this.#socket.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  }

  close() {
    this.#socket.destroy();
  }
}

/** Does `work` with every item, a few at a time. */
export async function inTurns(items, work, atOnce = 32) {
  const line = items.values();
  const answers = [];
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const item of line) answers.push(await work(item));
  }));
  return answers;
}

/** Runs the probe and answers what it printed. Never in the way of the event loop: an engine's answers are timed on it. */
export function probe(args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(PROBE, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (bytes) => (out += bytes));
    child.stderr.on("data", (bytes) => (err += bytes));
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(out.trim()) : reject(new Error(`bench-probe ${args[0]} ended with ${code}: ${err}`))));
  });
}

/** Waits until a task is over and answers it. */
export async function over(engine, task) {
  for (;;) {
    const now = await engine.call("task_wait", { task, wait_ms: 30_000 });
    if (now.ended_ms !== null) return now;
  }
}

/** A file of about `bytes` bytes of numbered lines, made once. */
export function textFile(bytes) {
  const file = path.join(KEPT, `text-${bytes}`);
  if (fs.existsSync(file)) return file;
  fs.mkdirSync(KEPT, { recursive: true });
  const out = fs.openSync(`${file}.part`, "w");
  const line = (number) => `line ${String(number).padStart(8, "0")} the quick brown fox jumps over the lazy dog and runs along the river\n`;
  const [length, block] = [line(0).length, 10_000];
  for (let number = 0; number * length < bytes; number += block) {
    fs.writeSync(out, Array.from({ length: block }, (_, at) => line(number + at)).join(""));
  }
  fs.closeSync(out);
  fs.renameSync(`${file}.part`, file);
  return file;
}
