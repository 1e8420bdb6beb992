// Terminals: from a key to its echo, idle and while another terminal is flooded, and what a flood costs: through the engine alone, and in
// the real window.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { descendants } from "../e2e/processes.mjs";
import { poll } from "../e2e/wait.mjs";
import { median, percentile } from "./figures.mjs";
import { CARILLON, Ground, pause, probe, textFile } from "./ground.mjs";
import { memoryOf, peakOf, resetPeak } from "./memory.mjs";
import { Screen } from "./screen.mjs";

const FLOOD = fileURLToPath(new URL("flood.sh", import.meta.url));
/** Answers each key with itself, from the program and not from the terminal's driver. */
const ECHO = ["sh", "-c", "stty raw -echo; printf r; exec cat"];
/** What one flood may take, in milliseconds. */
const FLOOD_MS = 300_000;

const ns = (values) => values.map((value) => value / 1e6);

function addEcho(figures, where, idle, flooded, reference) {
  if (flooded.length === 0) throw new Error("the flood was over before a key was typed");
  const [before, meanwhile] = [percentile(idle, 0.95), percentile(flooded, 0.95)];
  const beside = reference ? { reference: ["bare terminal", median(reference.idle)] } : {};
  figures.add(`${where}: key to echo, idle, median`, median(idle), "ms", { ...beside, note: `${idle.length} keys` });
  figures.add(`${where}: key to echo, idle, p95`, before, "ms", reference ? { reference: ["bare terminal", percentile(reference.idle, 0.95)] } : {});
  figures.add(`${where}: key to echo beside a flood, median`, median(flooded), "ms", { reference: ["idle", median(idle)], note: `${flooded.length} keys` });
  figures.add(`${where}: key to echo beside a flood, p95`, meanwhile, "ms", { reference: ["idle", before], ratioAtMost: 2 });
  if (reference) figures.add("bare terminal: key to echo beside the same flood, p95", percentile(reference.flooded, 0.95), "ms", { reference: ["idle", percentile(reference.idle, 0.95)] });
}

/** The engine alone, in one process with the probe. */
export async function echo(figures, { flood, rounds, keys }) {
  const ground = new Ground();
  try {
    const [home, marks] = [ground.make("home"), path.join(ground.folder, "marks")];
    const settings = { home, carillon: CARILLON, repository: ground.repository("repo"), echo: ECHO, flood: ["sh", FLOOD, textFile(flood), marks], marks, rounds, keys };
    const lists = JSON.parse(await probe(["echo", JSON.stringify(settings)], ground.with(home)));
    const reference = { idle: ns(lists.bare_idle), flooded: ns(lists.bare_flood) };
    addEcho(figures, "engine", ns(lists.idle), ns(lists.flood), reference);
  } finally {
    await ground.clear();
  }
}

/** Floods in turns: a bare terminal, the engine without a view, the window with a view. */
export function floods(figures, { flood, rounds, keys }) {
  return Screen.with("flood", async (stage, ground) => {
    const file = textFile(flood);
    const { size } = fs.statSync(file);
    const bare = () => flooded(ground, size, (marks) => probe(["read", "sh", FLOOD, file, marks, "1"], ground.env));
    const alone = await withoutView(ground, file);
    const seen = await withView(ground, stage, file);
    const speeds = { bare: [], alone: [], seen: [], typed: [] };
    const echoes = { idle: [], flooded: [] };
    for (let round = 1; round <= rounds; round += 1) {
      speeds.bare.push(await bare());
      speeds.alone.push(await alone.flood(size, round));
      echoes.idle.push(...(await seen.keys(keys)));
      speeds.seen.push(await seen.flood(size, 2 * round - 1, null));
      speeds.typed.push(await seen.flood(size, 2 * round, echoes.flooded));
    }
    await stage.shoot("flooded");
    report(figures, speeds, echoes, alone, seen);
    await seen.end();
  });
}

function report(figures, speeds, echoes, alone, seen) {
  const bare = ["bare terminal", median(speeds.bare)];
  figures.add("flood, without a view: the program writes", median(speeds.alone), "MB/s", { reference: bare, ratioAtLeast: 0.8 });
  figures.add("flood, in a pane of the window: the program writes", median(speeds.seen), "MB/s", { reference: bare, ratioAtLeast: 0.8 });
  figures.add("flood, in a pane, typing in another meanwhile: the program writes", median(speeds.typed), "MB/s", { reference: bare });
  figures.add("flood, without a view: the engine grows by", Math.max(...alone.grown), "MiB");
  figures.add("flood, in a pane: window and engine grow by", Math.max(...seen.grown), "MiB");
  figures.add("flood, in a pane: the page grows by", Math.max(...seen.pageGrown), "MiB");
  figures.add("flood, in a pane: longest gap between two frames", Math.max(...seen.gaps), "ms");
  figures.add("flood, in a pane: its end is on the screen after", median(seen.fresh), "ms");
  addEcho(figures, "window", echoes.idle, echoes.flooded, null);
}

/** Runs `work`, which floods once and notes it; answers the program's speed in MB/s. */
async function flooded(ground, bytes, work) {
  const marks = path.join(ground.folder, "bare-marks");
  fs.rmSync(marks, { force: true });
  await work(marks);
  return speedOf(marks, bytes, 1);
}

/** The speed of the flood number `round` in MB/s; null while it is not over. */
function speedOf(marks, bytes, round) {
  const lines = fs.existsSync(marks) ? fs.readFileSync(marks, "utf8").split("\n").slice(0, -1) : [];
  if (lines.length < round) return null;
  const [began, ended] = lines[round - 1].split(" ").map(Number);
  return (bytes * 1_000) / (ended - began);
}

/** What the file ends with, short enough for half a window. */
function lastLine(file) {
  const { size } = fs.statSync(file);
  const bytes = Buffer.alloc(200);
  const handle = fs.openSync(file);
  fs.readSync(handle, bytes, 0, bytes.length, size - bytes.length);
  fs.closeSync(handle);
  return bytes.toString("latin1").trimEnd().split("\n").at(-1).slice(0, 40);
}

/** Adds the flooder and the echoer, not started; answers their ids and the file of marks. */
async function prepare(ground, engine, file, name) {
  const marks = path.join(ground.folder, `${name}-marks`);
  const project = await engine.call("project_add", { path: ground.repository(name) });
  const agents = {};
  for (const [kind, [program, ...args]] of Object.entries({ flood: ["sh", FLOOD, file, marks], echo: ECHO })) {
    const profile = await engine.call("profile_add", { name: kind, adapter: "plain", program, args });
    agents[kind] = (await engine.call("agent_add", { name: kind, project: project.id, profile: profile.id })).id;
  }
  return { project: project.id, agents, marks };
}

const running = (call, agent) =>
  poll(async () => (await call("agents_list", {})).find(({ id, run }) => id === agent && run?.state === "running")?.run.id, "an agent that runs");

async function withoutView(ground, file) {
  const engine = await ground.engine(ground.make("alone"));
  const { agents, marks } = await prepare(ground, engine, file, "alone-repo");
  await engine.call("agent_start", { agent: agents.flood, cols: 120, rows: 40 });
  const run = await running((...call) => engine.call(...call), agents.flood);
  await poll(async () => (await engine.call("terminal_text", { run })).text.includes("ready"), "the flooder");
  const last = lastLine(file);
  const grown = [];
  return {
    grown,
    async flood(bytes, round) {
      const before = memoryOf(engine.pid).rss;
      resetPeak(engine.pid);
      await engine.call("terminal_write", { run, data: "\n" });
      const speed = await poll(() => speedOf(marks, bytes, round), "the flood's end", FLOOD_MS);
      await poll(async () => (await engine.call("terminal_text", { run })).text.includes(last), "the flood's last line", 60_000);
      grown.push(peakOf(engine.pid) - before);
      return speed;
    },
  };
}

/** Types into the echoer and waits until the pane's text changes; answers milliseconds. WebKit's clock has steps of 1 ms. */
const KEYS = `const [run, count, done] = arguments;
  const pane = [...document.querySelectorAll('[data-testid="pane"]')].find((one) => one.querySelector(".pane-name")?.textContent === "echo");
  const rows = pane.querySelector(".xterm-rows");
  const { invoke } = window.__TAURI_INTERNALS__;
  const took = [];
  const key = () => new Promise((resolve, reject) => {
    const before = rows.textContent;
    const began = performance.now();
    const late = setTimeout(() => reject(new Error("no echo")), 10000);
    const observer = new MutationObserver(() => {
      if (rows.textContent === before) return;
      observer.disconnect();
      clearTimeout(late);
      resolve(performance.now() - began);
    });
    observer.observe(rows, { childList: true, subtree: true, characterData: true });
    invoke("rpc", { method: "terminal_write", params: { run, data: "x" } }).catch(reject);
  });
  (async () => {
    for (let at = 0; at < count; at += 1) {
      took.push(await key());
      await new Promise((resolve) => setTimeout(resolve, 20 + 10 * Math.random()));
    }
  })().then(() => done(took), (error) => done(String(error)));`;

/** Keeps the longest time between two frames in `window.__gap`. */
const WATCH_FRAMES = `window.__gap = 0;
  if (!window.__watching) {
    window.__watching = true;
    let last = performance.now();
    const frame = (at) => { window.__gap = Math.max(window.__gap, at - last); last = at; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  }`;

async function withView(ground, stage, file) {
  const engine = await ground.engine(stage.home, "keep");
  const { project, agents, marks } = await prepare(ground, engine, file, "seen-repo");
  const pane = (id, agent) => ({ kind: "pane", id, agent });
  const root = { kind: "split", id: "s1", axis: "row", ratio: 0.5, first: pane("p1", agents.flood), second: pane("p2", agents.echo) };
  await engine.call("layout_set", { project, layout: { version: 1, root, focused: "p2", zoomed: null, seen_ms: Date.now() } });
  await engine.stop();
  const app = await stage.drive();
  const { wd } = app;
  await wd.wait('[data-testid="window"][data-ready="true"]', 20_000);
  const runs = {};
  for (const kind of ["flood", "echo"]) {
    await wd.rpc("agent_start", { agent: agents[kind], cols: 80, rows: 40 });
    runs[kind] = await running((...call) => wd.rpc(...call), agents[kind]);
  }
  const texts = () => wd.run("return [...document.querySelectorAll('.xterm-rows')].map((rows) => rows.textContent);");
  await poll(async () => (await texts()).filter((text) => text.includes("r")).length === 2, "both terminals in their panes", 20_000);
  return new Seen(app, runs, marks, texts, lastLine(file));
}

/** The web view's process that runs the page. */
function pageOf(app) {
  return descendants(app).find(({ name }) => name.startsWith("WebKitWebProces")).pid;
}

class Seen {
  constructor(app, runs, marks, texts, last) {
    Object.assign(this, { app, runs, marks, texts, last, grown: [], pageGrown: [], gaps: [], fresh: [] });
  }

  async keys(count) {
    const took = await this.app.wd.call("POST", "/execute/async", { script: KEYS, args: [this.runs.echo, count] });
    if (!Array.isArray(took)) throw new Error(`in the page: ${took}`);
    return took;
  }

  /** Floods once. Where there is a list for it, types into the other pane meanwhile. */
  async flood(bytes, round, echoes) {
    const { app } = this;
    const page = pageOf(app.pid);
    const before = [app.pid, page].map((pid) => memoryOf(pid).rss);
    for (const pid of [app.pid, page]) resetPeak(pid);
    await app.wd.run(WATCH_FRAMES);
    await app.wd.rpc("terminal_write", { run: this.runs.flood, data: "\n" });
    let speed = null;
    while ((speed = speedOf(this.marks, bytes, round)) === null) {
      if (!echoes) {
        await pause(20);
        continue;
      }
      const took = await this.keys(4);
      // Those that were typed after the flood's end do not count; the last may be among them.
      if (speedOf(this.marks, bytes, round) === null) echoes.push(...took);
    }
    const ended = performance.now();
    const isThere = (text) => text.replaceAll("\u00a0", " ").includes(this.last);
    await poll(async () => (await this.texts()).some(isThere), "the flood's last line on the screen", 60_000);
    this.fresh.push(performance.now() - ended);
    this.gaps.push(await app.wd.run("return window.__gap;"));
    this.grown.push(peakOf(app.pid) - before[0]);
    this.pageGrown.push(peakOf(page) - before[1]);
    return speed;
  }

  async end() {
    this.app.signal("SIGTERM");
    await this.app.ends();
  }
}
