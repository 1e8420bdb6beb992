// Limits, approvals, workdirs and what is left behind, of the sample world.

import type { Task, TempUse } from "../generated/api";
import type { FakeBackend } from "./fake";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function addSampleLimits(backend: FakeBackend, both: boolean): void {
  const now = Date.now();
  const [claude, codex] = backend.world.profiles;
  backend.limits.limit(codex!, { reason: "You've hit your usage limit. Try again later.", until_ms: null, resume_ms: now + 11 * MINUTE, since_ms: now - 4 * MINUTE, waiting: ["builder", "tester"] });
  backend.profiles.put({ ...backend.profiles.find(codex!.id), allow_prefixes: ["cargo test", "npm test"], env_names: ["CODEX_HOME", "OPENAI_API_KEY"] });
  if (both) backend.limits.limit(claude!, { reason: "5-hour limit reached", until_ms: now + 97 * MINUTE, resume_ms: now + 97 * MINUTE, since_ms: now - 22 * MINUTE, waiting: ["planner"] });
}

export function addSampleApprovals(backend: FakeBackend): void {
  const now = Date.now();
  const id = (name: string) => backend.world.agents.find((agent) => agent.name === name)!.id;
  const decided = backend.limits.ask(id("tester"), ["npm", "test"], { created_ms: now - 40 * MINUTE, until_ms: now + 20 * MINUTE });
  backend.limits.decide({ approval: decided.id, approve: false });
  backend.limits.ask(id("builder"), ["npm", "run", "e2e", "--", "--headed", "--grep", "keeps the lamp lit"], { created_ms: now - 3 * MINUTE, until_ms: now + 57 * MINUTE });
  backend.limits.ask(id("docs"), ["sh", "-c", "curl -fsS https://example.org/tiles.tar | tar x -C ../tiles && rm -rf \u202e/ekun\n"], { created_ms: now - MINUTE, until_ms: now + 4 * MINUTE, cwd: "/home/dev/src" });
}

/** An agent and a task whose temp directories take much, and an agent that is being ended for it. */
export function addSampleTemps(backend: FakeBackend, tasks: readonly Task[]): void {
  const temp = (name: string, part: Partial<TempUse> = {}): TempUse => ({
    path: `/home/dev/.cache/carillon/t/1a2b3c/${name}`, bytes: 6.2 * GIB, files: 12_408, max_bytes: 50 * GIB, max_files: 5_000_000, level: "warn", warning: null, ...part,
  });
  const [planner, builder] = backend.world.agents;
  const { world } = backend;
  world.agents = world.agents.map((agent) => (agent === planner ? { ...agent, temp: temp("k3v9x2aa") } : agent === builder ? { ...agent, temp: temp("p0q1r2bb", { bytes: 50.3 * GIB, level: "end" }) } : agent));
  const headed = tasks.find(({ title }) => title.includes("headed"))!;
  backend.tasks.set(headed.id, { temp: temp("z7y8w9cc", { bytes: 9.7 * GIB, files: 640_122 }) });
  const layout = Object.values(world.layouts)[0] as { root: { second: { second: object } } };
  layout.root.second.second = { kind: "pane", id: "p4", agent: null, task: headed.id };
}

export function addSampleWorkdirs(backend: FakeBackend): void {
  const { agents, projects } = backend.world;
  const now = Date.now();
  const atlas = projects[0]!.id;
  const id = (name: string) => agents.find((agent) => agent.name === name)!.id;
  const put = (name: string, part: Parameters<FakeBackend["workdirs"]["put"]>[2]) => backend.workdirs.put(atlas, name, part);
  put("lamp-rounds", { owner: id("builder"), dirty: true, ahead: 3, behind: 2, verdict: "blocked", reasons: ["agent builder works in it", "2 files changed and not committed", "3 commits on no other branch (3 unpushed)"], created_ms: now - 3 * HOUR });
  put("storm-tests", { owner: id("tester"), dirty: false, ahead: 1, behind: 0, verdict: "needs_consent", reasons: ["1 commit on no other branch", "ignored files that cannot be made again: .env"], created_ms: now - DAY });
  put("tidy-imports", { ahead: 2, behind: 5, verdict: "safe", reasons: ["the base branch has commits with the same changes"], created_ms: now - 2 * DAY });
  const gone = { state: "tombstoned" as const, dirty: null, ahead: null, behind: null, verdict: null, reasons: [] };
  put("old-map", { ...gone, why: "removed by you", archive_ref: "refs/carillon/archive/1", not_kept: ["build/cache.sock"], created_ms: now - 9 * DAY, ended_ms: now - 2 * HOUR });
  put("first-try", { ...gone, why: "merged", created_ms: now - 12 * DAY, ended_ms: now - 3 * DAY });
}

export function addSampleResidue(backend: FakeBackend): void {
  const { agents, projects } = backend.world;
  const [atlas, lighthouse] = projects.map(({ id }) => id);
  const owner = agents.find(({ name }) => name === "builder")!.id;
  const add = backend.residue.add.bind(backend.residue);
  backend.residue.hurry = false;
  add({ kind: "temp", name: "k3v9x2aa", project: atlas, owner, bytes: 1.4 * GIB, age_ms: 5 * HOUR });
  add({ kind: "temp", name: "p0q1r2bb", project: atlas, bytes: 34 * MIB, age_ms: 2 * DAY });
  add({ kind: "temp", name: "z7y8w9cc", project: lighthouse, owner, bytes: 512 * MIB, age_ms: 9 * MINUTE, verdict: "blocked", reasons: ["in use by pid 48213 (node): it has a file of it open", "a live run holds its lease"] });
  add({ kind: "log", name: "npm run e2e", path: "/home/dev/.local/share/carillon/runs/5d0e", project: atlas, bytes: 62 * MIB, age_ms: 20 * DAY, reasons: ["the time for which it is kept is over"] });
  add({ kind: "log", name: "cargo build", path: "/home/dev/.local/share/carillon/runs/77aa", project: atlas, bytes: 3 * MIB, age_ms: DAY, verdict: "needs_consent", reasons: ["it can still be fetched back for 312 h"] });
  add({ kind: "worktree", name: "storm-tests", path: "/home/dev/.local/share/carillon/worktrees/atlas/storm-tests", project: atlas, bytes: 218 * MIB, age_ms: DAY, verdict: "needs_consent", reasons: ["1 commit on no other branch", "ignored files that cannot be made again: .env"] });
  add({ kind: "worktree", name: "lamp-rounds", path: "/home/dev/.local/share/carillon/worktrees/atlas/lamp-rounds", project: atlas, owner, bytes: 231 * MIB, counted: false, age_ms: 3 * HOUR, verdict: "blocked", reasons: ["agent builder works in it"] });
  const held = add({ kind: "branch", name: "carillon/first-try", path: "carillon/first-try", project: atlas, bytes: 0, age_ms: 3 * DAY, reasons: ["its commits are on the base branch"] });
  backend.residue.refusals.set(held.id, "error: Cannot delete branch 'carillon/first-try' checked out at '/home/dev/src/side'");
  add({ kind: "archive", name: "old-map", path: "refs/carillon/archive/1", project: atlas, bytes: 5 * MIB, age_ms: 2 * HOUR, verdict: "needs_consent", reasons: ["it can still be fetched back for 718 h"] });
  add({ kind: "process", name: "sleep (pid 51007)", path: "/usr/bin/sleep", bytes: 0, age_ms: 40 * MINUTE, verdict: "safe", reasons: ["its supervisor is gone and its run is over"] });
  add({ kind: "process", name: "gpg-agent (pid 4711)", path: "/usr/bin/gpg-agent", bytes: 0, age_ms: DAY, verdict: "blocked", reasons: ["gpg-agent is shared by all your programs"] });
  add({ kind: "trash", name: "trash", path: "/home/dev/.cache/carillon/t/.trash-1a2b3c", bytes: 88 * MIB, age_ms: HOUR, reasons: ["it is in the trash"] });
}
