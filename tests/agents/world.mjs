// A whole Carillon with real agent CLIs: an engine in a data directory of its own, a user's home with the configuration of each
// CLI, a repository, and one scripted model that plays all services.

import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { CARILLON } from "./binaries.mjs";
import { CLIS } from "./clis.mjs";
import { ScriptedModel } from "./model/server.mjs";
import { Traces } from "./traces.mjs";

/** Longest wait for anything that an engine or a CLI should do, in milliseconds. */
const WAIT_MAX_MS = 90_000;

/** Pause between two looks, in milliseconds. */
const LOOK_MS = 50;

/** Longest wait for the end of an engine that was asked to end, in milliseconds. */
const END_MAX_MS = 20_000;

const IDENTITY = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map((name) => [name, "Test"]);
const ADDRESS = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map((name) => [name, "test@localhost"]);

export class World {
  /** @param {Record<string, string>} programs of the CLIs that take part, by name */
  constructor(programs) {
    this.programs = programs;
    // Short on purpose: sockets stand in it, and their paths may have 107 bytes.
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "ce-"));
    this.home = path.join(this.folder, "h");
    [this.user, this.repository, this.temp] = ["user", "repo", "tmp"].map((name) => this.make(name));
    this.log = path.join(this.folder, "engine.log");
    this.calls = new Set();
  }

  make(name) {
    const folder = path.join(this.folder, name);
    fs.mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  /** What a user of this machine would have. Keys stand in profiles, so that none is seen elsewhere. */
  env() {
    const user = { PATH: process.env.PATH, HOME: this.user, USER: "tester", LANG: "C.UTF-8", SHELL: "/bin/sh", TZ: "UTC", TMPDIR: this.temp };
    return { ...user, GIT_CONFIG_NOSYSTEM: "1", ...Object.fromEntries([...IDENTITY, ...ADDRESS]), CARILLON_HOME: this.home };
  }

  /** Starts the model with its script and the engine, and adds a profile per CLI. */
  async start(script) {
    this.model = await new ScriptedModel(script).start();
    await this.ran("git", ["init", "--quiet", "--initial-branch=main"]);
    await this.ran("git", ["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    this.keys = {};
    for (const name of Object.keys(this.programs)) {
      this.keys[name] = CLIS[name].configure(this.user, this.model.url, this.repository);
    }
    await this.startEngine();
    await this.ok("project", "add", this.repository);
    for (const name of Object.keys(this.programs)) await this.addProfile(name, name);
    this.traces = new Traces(this);
    return this;
  }

  /** A profile for a CLI whose agents may run in the background what they like. */
  addProfile(profile, name) {
    const args = CLIS[name].args.map((arg) => `--arg=${arg}`);
    const keys = Object.entries(this.keys[name]).map(([key, value]) => `--env=${key}=${value}`);
    return this.ok("profile", "add", profile, "--adapter", CLIS[name].adapter, "--program", this.programs[name], ...args, ...keys, "--policy", "allow");
  }

  addAgent(name, profile, mode = "headless") {
    return this.ok("agent", "add", name, "--project", "repo", "--profile", profile, "--mode", mode);
  }

  async startEngine() {
    const log = fs.openSync(this.log, "a");
    this.engine = spawn(CARILLON, ["serve"], { env: this.env(), cwd: this.repository, stdio: ["ignore", "pipe", log] });
    fs.closeSync(log);
    const engine = this.engine;
    this.ended = new Promise((resolve) => engine.once("exit", resolve));
    const ready = new Promise((resolve, reject) => {
      readline.createInterface({ input: engine.stdout }).once("line", resolve);
      engine.once("error", reject).once("exit", (code, signal) => reject(new Error(`the engine ended with ${code ?? signal}: ${this.complaints()}`)));
    });
    if (JSON.parse(await ready).ready !== true) throw new Error("the engine is not ready");
  }

  /** Ends the engine and waits for its end. */
  async endEngine(signal) {
    if (this.engine.exitCode !== null || this.engine.signalCode !== null) return;
    this.engine.kill(signal);
    const late = setTimeout(() => this.engine.kill("SIGKILL"), END_MAX_MS);
    await this.ended;
    clearTimeout(late);
  }

  /** Ends it as a crash would, and starts it again. `meanwhile` happens while none is there. */
  async crash(meanwhile) {
    await this.endEngine("SIGKILL");
    await meanwhile?.();
    await this.startEngine();
  }

  /** The last lines that the engine has logged. */
  complaints() {
    return fs.existsSync(this.log) ? fs.readFileSync(this.log, "utf8").trim().split("\n").slice(-8).join("\n") : "";
  }

  /** Runs a program in the repository to its end; it must succeed. Answers what it printed. */
  async ran(program, args, env = this.env()) {
    const child = spawn(program, args, { cwd: this.repository, env, stdio: ["ignore", "pipe", "pipe"] });
    this.calls.add(child);
    const texts = { out: "", errors: "" };
    child.stdout.on("data", (piece) => (texts.out += piece));
    child.stderr.on("data", (piece) => (texts.errors += piece));
    const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", (code, signal) => resolve(code ?? signal)));
    this.calls.delete(child);
    if (code !== 0) throw new Error(`${path.basename(program)} ${args.slice(0, 3).join(" ")} ended with ${code}: ${texts.errors}${texts.out}`);
    return texts.out;
  }

  /** A command of `carillon` that must work. Answers its JSON. */
  async ok(...args) {
    return JSON.parse(await this.ran(CARILLON, ["--json", ...args]));
  }

  /** `carillon ask` as a script would wait with it, also across the death of the engine. Answers the ask. */
  async ask(...args) {
    const { CARILLON_HOME: home, ...env } = this.env();
    // The socket is written in another way than in runs, so that the caller does not count as one of their processes.
    const out = await this.ran(CARILLON, ["--json", "ask", ...args], { ...env, CARILLON_SOCKET: `${home}/./carillon.sock` });
    return JSON.parse(out);
  }

  /** One call over the engine's socket, as the window makes it. */
  call(method, params = {}) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(path.join(this.home, "carillon.sock"));
      socket.once("error", reject).setTimeout(WAIT_MAX_MS, () => socket.destroy(new Error(`${method} is not answered`)));
      readline.createInterface({ input: socket }).once("line", (line) => {
        socket.destroy();
        const { result, error } = JSON.parse(line);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result);
      });
      socket.write(`${JSON.stringify({ id: 1, method, params })}\n`);
    });
  }

  /** Asks `look` again and again until it answers something true, and answers that. */
  async until(what, look) {
    const end = Date.now() + WAIT_MAX_MS;
    while (Date.now() < end) {
      const found = await look();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    throw new Error(`waited in vain for ${what}; ${await this.state()}`);
  }

  /** What stands where, for a message. */
  async state() {
    const agents = await this.call("agents_list").catch((error) => String(error));
    const asks = await this.call("asks_list").catch((error) => String(error));
    const seen = this.requests().map((entry) => `${entry.api}: ${entry.user.slice(-120)}`);
    const screens = await Promise.all((Array.isArray(agents) ? agents : []).filter(({ mode, run }) => mode === "terminal" && run).map(({ run }) => this.screen(run.id)));
    return `agents ${JSON.stringify(agents)}; screens ${JSON.stringify(screens)}; asks ${JSON.stringify(asks)}; model ${JSON.stringify(seen)}; engine: ${this.complaints()}`;
  }

  /** What a terminal shows; nothing before there is one. */
  async screen(run) {
    return (await this.call("terminal_text", { run }).catch(() => ({ text: "" }))).text;
  }

  async agent(name) {
    return (await this.call("agents_list")).find((agent) => agent.name === name);
  }

  /** The turns of an agent, the oldest first. */
  async turns(name) {
    return (await this.call("turns_list", { agent: name })).toReversed();
  }

  async messages(name, kind) {
    return (await this.ok("inbox", name)).filter((message) => message.kind === kind);
  }

  /** The requests that the agents of a CLI have made, without titles and summaries. */
  requests(name) {
    const ofAgents = this.model.log.filter((entry) => entry.tools?.length > 0);
    return name ? ofAgents.filter((entry) => entry.api === CLIS[name].api) : ofAgents;
  }

  /** How many words of hooks lie there for the next engine. */
  leftHooks() {
    const names = fs.readdirSync(path.join(this.home, "runs"), { recursive: true });
    return names.filter((name) => path.basename(name).startsWith("hook-")).length;
  }

  file(name) {
    return path.join(this.folder, name);
  }

  /** What a command of an agent has written into a file beside the repository. */
  read(name) {
    return fs.existsSync(this.file(name)) ? fs.readFileSync(this.file(name), "utf8") : "";
  }

  /** Ends everything that the world has started, also when a case has failed, and takes it away. */
  async stop() {
    for (const child of this.calls) child.kill("SIGKILL");
    if (this.engine) await this.endEngine("SIGTERM");
    this.traces?.endProcesses();
    await this.model?.stop();
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
