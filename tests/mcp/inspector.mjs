// The official MCP Inspector's command line as a client of `carillon mcp`: somebody else's idea of the protocol. It lists the tools and
// calls some of them against a real engine.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BINARIES = process.env.CARILLON_BINARIES ?? path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug");
const CARILLON = path.join(BINARIES, "carillon");
/** Longest that any one thing may take, in milliseconds. */
const PATIENCE = 60_000;

let home;
let engine;

/** An environment in which nothing of the user's is seen. */
function env() {
  return {
    PATH: process.env.PATH,
    HOME: home,
    CARILLON_HOME: path.join(home, "h"),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Test",
    GIT_AUTHOR_EMAIL: "test@localhost",
    GIT_COMMITTER_NAME: "Test",
    GIT_COMMITTER_EMAIL: "test@localhost",
  };
}

function ran(program, args, cwd = ROOT) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, env: env(), encoding: "utf8", timeout: PATIENCE });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${error ?? stderr}`);
  return stdout;
}

/** One request of the Inspector; the server is started for it and ends with it. */
function inspect(...args) {
  const text = ran("npx", ["--no-install", "@modelcontextprotocol/inspector", "--cli", CARILLON, "mcp", "--agent", "treble", ...args]);
  return JSON.parse(text);
}

function called(tool, args) {
  const pairs = Object.entries(args).flatMap(([name, value]) => ["--tool-arg", `${name}=${value}`]);
  return inspect("--method", "tools/call", "--tool-name", tool, ...pairs);
}

before(async () => {
  // A short path, so that sockets fit.
  home = fs.mkdtempSync(path.join(os.tmpdir(), "ci-"));
  const repo = path.join(home, "repo");
  fs.mkdirSync(repo);
  ran("git", ["init", "--quiet", "--initial-branch=main"], repo);
  ran("git", ["commit", "--quiet", "--allow-empty", "-m", "Begin"], repo);
  engine = spawn(CARILLON, ["serve"], { env: env(), stdio: ["ignore", "pipe", "inherit"] });
  const [ready] = await new Promise((resolve, reject) => {
    readline.createInterface({ input: engine.stdout }).once("line", (line) => resolve([line]));
    engine.once("exit", (code) => reject(new Error(`the engine ended with ${code}`)));
  });
  assert.equal(JSON.parse(ready).ready, true);
  ran(CARILLON, ["project", "add", repo]);
  ran(CARILLON, ["profile", "add", "demo", "--adapter", "plain", "--program", CARILLON, "--arg", "demo-agent"]);
  for (const name of ["treble", "tenor"]) {
    ran(CARILLON, ["agent", "add", name, "--project", "repo", "--profile", "demo", "--mode", "headless"]);
  }
});

after(async () => {
  if (engine && engine.exitCode === null) {
    const gone = new Promise((resolve) => engine.once("exit", resolve));
    engine.kill("SIGTERM");
    await gone;
  }
  fs.rmSync(home, { recursive: true, force: true });
});

test("it lists the tools", () => {
  const { tools } = inspect("--method", "tools/list");
  const names = tools.map((tool) => tool.name);
  for (const name of ["ask_agent", "get_ask", "list_agents", "run_in_background", "read_task_output"]) assert.ok(names.includes(name), name);
});

test("it sees the agents", () => {
  const { structuredContent, isError } = called("list_agents", {});
  assert.equal(isError, false);
  assert.deepEqual(structuredContent.agents.map((agent) => agent.name).sort(), ["tenor", "treble"]);
});

test("it asks an agent and gets its answer", () => {
  const { structuredContent } = called("ask_agent", { agent: "tenor", prompt: "say hello" });
  assert.equal(structuredContent.status, "answered");
  assert.equal(structuredContent.final.trim(), "hello");
});

test("it runs a command in the background", () => {
  const { structuredContent: task } = called("run_in_background", { command: "echo from the background" });
  const { structuredContent: over } = called("wait_for_task", { task_id: task.id, wait_s: 30 });
  assert.equal(over.state, "succeeded");
  const { content } = called("read_task_output", { task_id: task.id });
  assert.equal(content[0].text, "from the background\n");
});
