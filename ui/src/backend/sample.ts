// A world with something in it, for looking at the window in a browser. Parameters of the page choose variants:
// ?fake=empty has no project, ?fake=quit asks to quit, ?fake=trouble has notices, ?fake=tasks and ?fake=tasks-below show the tasks,
// ?fake=conversation, ?fake=asks, ?fake=asks-below and ?fake=inbox what agents are asked and told, ?fake=approvals, ?fake=limits,
// ?fake=workdirs (each of the panels also -below), ?fake=temp and ?fake=cleanup what their names say; ?fake=unread cannot read the agents.

import type { Detected, Project } from "../generated/api";
import { BackendError } from "./backend";
import { agentOf, emptyWorld, FakeBackend, newId, profileOf, type World } from "./fake";
import { addSampleAsks } from "./sample-asks";
import { addSampleTasks } from "./sample-tasks";
import { addSampleApprovals, addSampleLimits, addSampleResidue, addSampleTemps, addSampleWorkdirs } from "./sample-tidy";

const DETECTED: Detected[] = [
  { adapter: "claude", program: "/home/dev/.local/bin/claude", version: "2.1.332", problem: null, profile: null },
  { adapter: "codex", program: "/home/dev/.npm/bin/codex", version: "0.171.0", problem: null, profile: null },
  { adapter: "gemini", program: "/usr/local/bin/gemini", version: null, problem: "It did not say its version within 10 s.", profile: null },
];

function sampleWorld(): World {
  const atlas: Project = { id: newId(), name: "atlas", root: "/home/dev/src/atlas" };
  const lighthouse: Project = { id: newId(), name: "lighthouse-keeper", root: "/home/dev/src/lighthouse-keeper" };
  const claude = profileOf("claude", "claude", DETECTED[0]!.program);
  const codex = profileOf("codex", "codex", DETECTED[1]!.program);
  const agents = [agentOf("planner", atlas, claude), agentOf("builder", atlas, codex), agentOf("reviewer", atlas, claude), agentOf("docs", lighthouse, claude),
    agentOf("scout", atlas, claude, "headless"), agentOf("tester", atlas, codex, "headless")];
  return {
    ...emptyWorld(), projects: [atlas, lighthouse], profiles: [claude, codex], agents,
    detected: DETECTED.map((found, at) => ({ ...found, profile: [claude.id, codex.id][at] ?? null })),
    checks: [
      { name: "Data directory", state: "ok", detail: "/home/dev/.local/share/carillon is ours, on a disk, with 120 GB free.", hint: null },
      { name: "Login shell", state: "ok", detail: "/bin/zsh answered in 240 ms.", hint: null },
      { name: "Temp base", state: "warn", detail: "/home/dev/.cache/carillon/t is on a disk with 900 MB free.", hint: "Free some space: runs do not start below 64 MB." },
      { name: "git", state: "fail", detail: "git was not found on the PATH of the login shell.", hint: "Install git, for example with `apt install git`, and examine again." },
    ],
    layouts: {
      [atlas.id]: {
        version: 1, focused: "p1", zoomed: null, seen_ms: 1,
        root: {
          kind: "split", id: "s3", axis: "row", ratio: 0.58, first: { kind: "pane", id: "p1", agent: agents[0]!.id },
          second: { kind: "split", id: "s5", axis: "column", ratio: 0.55, first: { kind: "pane", id: "p2", agent: agents[1]!.id }, second: { kind: "pane", id: "p4", agent: null } },
        },
      },
    },
  };
}

const COLOURS = Array.from({ length: 16 }, (_, n) => `\x1b[${n < 8 ? 30 + n : 82 + n}m${["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"][n % 8]}\x1b[0m`);

const SCREEN = [
  "\x1b[1mplanner\x1b[0m \x1b[2m· an echo, no agent\x1b[0m", "",
  COLOURS.slice(0, 8).join(" "), COLOURS.slice(8).join(" "), "",
  "\x1b[38;2;255;140;0mtwenty-four bit orange\x1b[0m  \x1b[48;2;60;80;160m\x1b[97m on blue \x1b[0m  \x1b[3mitalic\x1b[0m \x1b[4munderlined\x1b[0m \x1b[9mstruck\x1b[0m \x1b[7minverse\x1b[0m \x1b[2mdim\x1b[0m",
  "wide: 漢字 かな 한글 · emoji: ✅ 🚀 · combining: e\u0301 · box: ┌─┬─┐ │ │ └─┴─┘ ▁▂▃▄▅▆▇█", "",
  "\x1b[32m✓\x1b[0m parsed 214 files", "\x1b[32m✓\x1b[0m 38 tests passed",
  "\x1b[31m✗\x1b[0m 1 test failed: \x1b[1mkeeps the lamp lit\x1b[0m", "  at src/lamp.ts:42:7", "",
  "see https://example.org/lamp for more", "", "\x1b[36m❯\x1b[0m ",
].join("\r\n");

export async function sampleBackend(variant: string): Promise<FakeBackend> {
  const backend = new FakeBackend(variant === "empty" ? { ...emptyWorld(), detected: DETECTED } : sampleWorld(), true);
  if (variant === "empty") return backend;
  const { agents, info } = backend.world;
  for (const agent of agents.slice(0, 2)) await backend.call("agent_start", { agent: agent.id, cols: 80, rows: 24 });
  backend.runOf("planner").print(`\x1b[2J\x1b[H${SCREEN}`);
  backend.runOf("builder").print("cargo test\r\n\x1b[31merror\x1b[0m: could not compile `lamp`\r\n");
  backend.endRun("builder", { exit_code: 101, signal: null, reason: "exited 101" });
  backend.runOf("builder").record.ended_ms = Date.now() - 125_000;
  backend.world.agents = backend.world.agents.map((agent) => (agent.name === "planner" ? { ...agent, state: "working" } : agent));
  const tasks = await addSampleTasks(backend);
  if (variant === "temp") addSampleTemps(backend, tasks);
  if (variant === "unread") for (let n = 0; n < 20; n += 1) backend.failNext("agents_list", new BackendError("failed", "The ledger could not be read: disk I/O error.", "Look whether the disk is well, then try again."));
  if (variant.startsWith("tasks")) {
    const layout = Object.values(backend.world.layouts)[0] as { root: { second: { second: object } }; tasks_panel: unknown };
    layout.tasks_panel = variant === "tasks" ? { open: true, dock: "right", share: 0.36 } : { open: true, dock: "bottom", share: 0.42 };
    const shown = tasks.find(({ title }) => title.includes(variant === "tasks" ? "headed" : "replay"))!;
    layout.root.second.second = { kind: "pane", id: "p4", agent: null, task: shown.id };
  }
  await addSampleAsks(backend);
  addSampleWorkdirs(backend);
  addSampleResidue(backend);
  if (variant.startsWith("limit")) addSampleLimits(backend, variant === "limits");
  if (variant.startsWith("approvals")) addSampleApprovals(backend);
  const shows = {
    conversation: null, asks: "asks", "asks-below": "asks", inbox: "inbox", approvals: "approvals", "approvals-below": "approvals", workdirs: "workdirs", "workdirs-below": "workdirs",
  }[variant];
  if (shows !== undefined) showConversation(backend, shows, variant.endsWith("-below") ? "bottom" : "right");
  if (variant === "trouble") {
    info.notices.push({ level: "warn", text: "The data base was damaged and has been moved aside.", hint: "Nothing was deleted: it is in /home/dev/.local/share/carillon/damaged-1." });
    info.notices.push({ level: "info", text: "2 runs went on while Carillon was closed.", hint: null });
  }
  if (variant === "quit") {
    setTimeout(() => backend.requestQuit({ running: [
      { agent: "planner", project: "atlas", kind: "agent" }, { agent: "docs", project: "lighthouse-keeper", kind: "agent" },
      { agent: "npm run e2e -- --headed", project: "atlas", kind: "task" }, { agent: "cargo build --release", project: "atlas", kind: "task" }, { agent: "mdbook build", project: "lighthouse-keeper", kind: "task" },
    ] }), 400);
  }
  return backend;
}

/** The conversation with scout, and, where one is named, the panel beside it. */
function showConversation(backend: FakeBackend, view: string | null, dock: "right" | "bottom"): void {
  const { world } = backend;
  const [atlas] = world.projects;
  const id = (name: string) => world.agents.find((agent) => agent.name === name)!.id;
  const scout = { kind: "pane", id: "p2", agent: id("scout") };
  const tester = { kind: "pane", id: "p4", agent: id("tester") };
  const root = view === null ? { kind: "split", id: "s3", axis: "row", ratio: 0.6, first: scout, second: tester } : scout;
  world.layouts[atlas!.id] = { version: 1, focused: "p2", zoomed: null, seen_ms: 1, root, ...(view === null ? {} : { tasks_panel: { open: true, dock, share: 0.44, view } }) };
}
