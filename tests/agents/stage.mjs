// One CLI with a home, a repository and a scripted model of its own, in which turns are run.

import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { TURN } from "./binaries.mjs";
import { CLIS } from "./clis.mjs";
import { ScriptedModel } from "./model/server.mjs";
import { Terminal } from "./terminal.mjs";
import { configurationOf } from "./traces.mjs";

const MCP_SERVER = fileURLToPath(new URL("mcp_server.mjs", import.meta.url));

/** Longest that one turn may take, in milliseconds. */
const TURN_MAX_MS = 150_000;

export class Stage {
  constructor(name, program) {
    this.name = name;
    this.cli = CLIS[name];
    this.program = program;
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "ca-"));
    this.home = this.make("home");
    this.temp = this.make("t");
    this.repository = this.make("repository");
    this.mark = randomUUID().replaceAll("-", "");
    this.turns = 0;
    for (const args of [["init", "--quiet"], ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "commit", "--quiet", "--allow-empty", "-m", "begin"]]) {
      spawnSync("git", args, { cwd: this.repository, env: this.env(), stdio: "ignore" });
    }
  }

  make(name) {
    const folder = path.join(this.folder, name);
    fs.mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  env() {
    return { PATH: process.env.PATH, HOME: this.home, USER: "tester", LANG: "C.UTF-8", SHELL: "/bin/sh", TZ: "UTC", GIT_CONFIG_NOSYSTEM: "1" };
  }

  async start(script) {
    this.model = await new ScriptedModel(script).start();
    this.profile = this.cli.configure(this.home, this.model.url, this.repository);
    this.before = this.configuration();
    return this;
  }

  /** Ends everything that the stage has started and takes it away. */
  async stop() {
    this.endProcesses();
    await this.model?.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** What the user owns in the home: it must be the same afterwards, byte for byte. */
  configuration() {
    return configurationOf(this.home);
  }

  /** An order for a turn or a terminal; `more` may say prompt, role, resume, mcp, profile. */
  order(more) {
    this.turns += 1;
    const files = this.make(`run-${this.turns}`);
    this.mcpLog = path.join(files, "mcp.log");
    const mcp = { command: process.execPath, args: [MCP_SERVER, this.mcpLog], env: { CARILLON_RUN: this.mark, TEST_SECRET: `secret-${this.mark}` } };
    return {
      adapter: this.cli.adapter,
      program: this.program,
      args: this.cli.args,
      new: randomUUID(),
      files_dir: files,
      cwd: this.repository,
      temp: this.temp,
      run: this.mark,
      ...more,
      profile_env: { ...this.profile, ...more.profile },
      mcp: more.mcp === true ? mcp : undefined,
    };
  }

  /** The CLI's own interface in a terminal. */
  terminal(more) {
    return new Terminal(this, this.order({ prompt: "", ...more }), TURN);
  }

  /** Runs a turn to its end; `during` may do something meanwhile. */
  async turn(more, during) {
    const whole = this.order(more);
    const child = spawn(TURN, ["run"], { env: this.env(), cwd: this.repository, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    const ended = collect(child);
    child.stdin.end(JSON.stringify(whole));
    const timer = setTimeout(() => killGroup(child.pid), TURN_MAX_MS);
    try {
      await during?.(this);
      const { out, errors } = await ended;
      if (out === "") throw new Error(`the turn gave no report: ${errors || "it took too long"}`);
      const report = JSON.parse(out);
      return { ...report, end: report.outcome.end, session: report.outcome.session, usage: report.outcome.usage, files_dir: whole.files_dir };
    } finally {
      clearTimeout(timer);
    }
  }

  /** The outcome of a turn, read once more from its files. */
  again(turn) {
    const at = (name) => path.join(turn.files_dir, name);
    const args = ["outcome", this.cli.adapter, at("out"), at("errors"), String(turn.code ?? ""), String(turn.now_ms)];
    return JSON.parse(spawnSync(TURN, args, { encoding: "utf8", env: this.env() }).stdout);
  }

  /** What the MCP server of the last turn has noted. */
  mcpNotes() {
    if (!fs.existsSync(this.mcpLog)) return [];
    return fs.readFileSync(this.mcpLog, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  }

  /** What both turns and tools have sent to the model: its requests with tools. */
  requests() {
    return this.model.log.filter((entry) => entry.tools?.length > 0);
  }

  /** Processes that carry the mark of this stage's runs, as `pid name`. */
  processes() {
    const read = (pid, name) => {
      try {
        return fs.readFileSync(`/proc/${pid}/${name}`, "latin1");
      } catch {
        return ""; // It has ended meanwhile.
      }
    };
    const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const marked = pids.filter((pid) => read(pid, "environ").split("\0").includes(`CARILLON_RUN=${this.mark}`));
    return marked.map((pid) => `${pid} ${read(pid, "comm").trim()}`);
  }

  /** Ends what a turn has left, as the supervisor of a run does. */
  endProcesses(signal = "SIGKILL") {
    for (const text of this.processes()) {
      try {
        process.kill(Number(text.split(" ")[0]), signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

function collect(child) {
  const texts = { out: "", errors: "" };
  child.stdout.on("data", (piece) => (texts.out += piece));
  child.stderr.on("data", (piece) => (texts.errors += piece));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(texts));
  });
}

function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
