// The whole engine in memory, for tests of the window and for `vite` in a plain browser (open the page with ?fake).
// It keeps the same promises as the real one: changes are numbered without holes, errors carry hints, names are unique.

import type { Agent, Change, ChangeTag, Check, Detected, Id, Info, Profile, Project, Settings } from "../generated/api";
import { type Answer, type Backend, BackendError, type Method, type Methods, type Params, type PullRequest, type QuitRequest } from "./backend";
import { readClipboard, writeClipboard } from "./clipboard";
import { FakeAsks } from "./fake-asks";
import { FakeDesktop } from "./fake-desktop";
import { FakeLimits } from "./fake-limits";
import { FakeProfiles } from "./fake-profiles";
import { FakeResidue } from "./fake-residue";
import { FakeRun } from "./fake-run";
import { FakeTasks } from "./fake-tasks";
import { FakeWorkdirs } from "./fake-workdirs";

export interface World {
  info: Info;
  projects: Project[];
  profiles: Profile[];
  agents: Agent[];
  detected: Detected[];
  checks: Check[];
  settings: Settings;
  layouts: Record<Id, unknown>;
}

let lastId = 0;
export const newId = (): Id => (++lastId).toString(16).padStart(32, "0");

export function emptyWorld(): World {
  return {
    info: { version: "0.1.0", pid: 1, home: "/home/dev/.local/share/carillon", socket: "/home/dev/.local/share/carillon/carillon.sock", notices: [], demo: false },
    projects: [], profiles: [], agents: [], detected: [], checks: [], layouts: {},
    settings: { theme: "system", font_size: 13, at_exit: "ask", scrollback: 5000, clipboard_write: "ask" },
  };
}

export function profileOf(name: string, adapter: Profile["adapter"], program: string): Profile {
  return { id: newId(), name, adapter, program, args: [], env_names: [], version: null, policy: "ask", allow_prefixes: [], limited_until_ms: null };
}

export function agentOf(name: string, project: Project, profile: Profile, mode: Agent["mode"] = "terminal"): Agent {
  return {
    id: newId(), name, project: project.id, profile: profile.id, mode, state: mode === "headless" ? "idle" : "offline", waiting_on: [], queued: 0, turn: null, wake: null,
    workdir: project.root, session_id: null, limited_until_ms: null, run: null,
  };
}

type Handlers = { [M in Method]: (params: Params<M>) => Answer<M> | Promise<Answer<M>> };

export class FakeBackend implements Backend {
  readonly runs = new Map<Id, FakeRun>();
  readonly calls: { method: Method; params: unknown }[] = [];
  clipboard = "";
  painted_ms: number | null = null;
  opened: string[] = [];
  quitted: Params<"desktop_quit"> | null = null;
  picks: (string | null)[] = [];
  notified: Params<"desktop_notify">[] = [];
  readonly desktop = new FakeDesktop();
  readonly tasks: FakeTasks;
  readonly asks: FakeAsks;
  readonly profiles: FakeProfiles;
  readonly limits: FakeLimits;
  readonly workdirs: FakeWorkdirs;
  readonly residue: FakeResidue;
  seq = 0;
  readonly #log: Change[] = [];
  readonly #failures = new Map<Method, BackendError[]>();
  #resetDue = false;
  #quitListeners = new Set<(request: QuitRequest) => void>();
  #feedWaiting = new Set<() => void>();

  /** In a browser the clipboard is the system's, and tasks run by themselves. */
  constructor(readonly world: World, private readonly inBrowser = false) {
    this.asks = new FakeAsks({
      newId,
      changed: (tag, id, project) => this.changed(tag, id, project),
      agent: (id) => this.world.agents.find((each) => each.id === id),
      setAgent: (id, part) => this.setAgent(id, part),
      task: (id) => this.tasks.find(id),
      cancelTask: (id) => void this.tasks.cancel({ task: id }),
      addTask: (agent, line, ask) => {
        const task = this.tasks.add({ project: agent.project, owner: agent.id, command: ["sh", "-c", line] });
        this.tasks.set(task.id, { joined_ask: ask });
        this.asks.join(ask, { kind: "task", id: task.id, command: line });
        return task;
      },
    }, inBrowser);
    this.tasks = new FakeTasks({
      newId,
      changed: (tag, id, project) => this.changed(tag, id, project),
      rootOf: (project) => this.world.projects.find(({ id }) => id === project)?.root,
      tell: (task, agent, text) => void this.asks.tell({ id: newId(), agent, kind: "task_ended", text, about: task.id }),
      ended: (task) => this.asks.taskEnded(task),
    }, inBrowser);
    const changed = (tag: ChangeTag, id: Id, project: Id | null = null) => this.changed(tag, id, project);
    this.profiles = new FakeProfiles({ world, newProfile: profileOf, changed: (id) => this.changed("profileChanged", id) });
    this.limits = new FakeLimits({
      newId, changed,
      profile: (id) => this.profiles.find(id),
      setProfile: (profile) => this.profiles.put(profile),
      agent: (id) => this.#agent(id),
      run: ({ project, agent, command, cwd }) => void this.tasks.add({ project, command, cwd, ...(agent === null ? {} : { owner: agent }) }),
    });
    this.workdirs = new FakeWorkdirs({ newId, changed, project: (id) => this.world.projects.find((each) => each.id === id)! });
    this.residue = new FakeResidue({ newId, changed }, inBrowser);
  }

  // --- what tests do to it ---

  /** The next call of the method is refused with this. */
  failNext(method: Method, error: BackendError): void {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), error]);
  }

  setAgent(id: Id, part: Partial<Agent>): void {
    const before = this.world.agents.find((each) => each.id === id);
    if (!before) return;
    this.world.agents = this.world.agents.map((each) => (each.id === id ? { ...each, ...part } : each));
    this.changed("agentChanged", id, before.project);
  }

  changed(tag: ChangeTag, id: Id, project: Id | null = null): void {
    this.seq += 1;
    this.#log.push({ seq: this.seq, tag, id, project });
    for (const wake of [...this.#feedWaiting]) wake();
  }

  /** Forgets a change that was never delivered, as a log that was cut would. */
  loseChanges(count: number): void {
    this.seq += count;
  }

  resetFeed(): void {
    this.#resetDue = true;
    for (const wake of [...this.#feedWaiting]) wake();
  }

  requestQuit(request: QuitRequest): void {
    for (const listener of this.#quitListeners) listener(request);
  }

  countOf(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  runOf(agentName: string): FakeRun {
    const run = this.world.agents.find(({ name }) => name === agentName)?.run;
    const found = run && this.runs.get(run.id);
    if (!found) throw new Error(`${agentName} has no run.`);
    return found;
  }

  endRun(agentName: string, how: { exit_code: number | null; signal: number | null; reason: string | null }): void {
    const run = this.runOf(agentName);
    run.end(how, Date.now());
    const agent = this.world.agents.find(({ name }) => name === agentName)!;
    this.#putAgent({ ...agent, state: how.exit_code === 0 ? "offline" : "failed" });
  }

  // --- the door ---

  async call<M extends Method>(method: M, params: Params<M>): Promise<Answer<M>> {
    this.calls.push({ method, params });
    const failure = this.#failures.get(method)?.shift();
    await Promise.resolve();
    if (failure) throw failure;
    return structuredClone(await (this.#handlers[method] as (params: Params<M>) => Answer<M> | Promise<Answer<M>>)(params));
  }

  async terminalPull(request: PullRequest): Promise<ArrayBuffer> {
    const run = this.runs.get(request.run);
    await Promise.resolve();
    if (!run) throw new BackendError("not_found", "There is no such run.", "Start the agent again.");
    return run.pull(request);
  }

  onQuitRequested(listener: (request: QuitRequest) => void): () => void {
    this.#quitListeners.add(listener);
    return () => void this.#quitListeners.delete(listener);
  }

  painted(js_ms: number): void {
    this.painted_ms = js_ms;
  }

  async readClipboard(): Promise<string> {
    return this.inBrowser ? readClipboard() : this.clipboard;
  }

  async writeClipboard(text: string): Promise<void> {
    if (this.inBrowser) return writeClipboard(text);
    this.clipboard = text;
  }

  readonly #handlers: Handlers = {
    info: () => this.world.info,
    projects_list: () => this.world.projects,
    project_add: ({ path }) => this.#addProject(path),
    project_remove: ({ project }) => {
      this.world.projects = this.world.projects.filter(({ id }) => id !== project);
      this.world.agents = this.world.agents.filter((agent) => agent.project !== project);
      this.tasks.forgetProject(project);
      this.changed("projectChanged", project, project);
      return {};
    },
    profiles_list: () => this.world.profiles,
    profile_add: (params) => this.profiles.add(params),
    profile_set: (params) => this.profiles.set(params),
    profile_test: (params) => this.profiles.test(params),
    profile_test_stop: () => this.profiles.stopTest(),
    user_programs: () => this.desktop.programs,
    profile_remove: (params) => this.profiles.remove(params),
    profile_detect: () => this.world.detected,
    agents_list: ({ project }) => this.world.agents.filter((agent) => project === undefined || agent.project === project),
    agent_add: (params) => this.#addAgent(params),
    agent_start: ({ agent, cols, rows }) => this.#start(agent, cols ?? 80, rows ?? 24),
    agent_stop: ({ agent }) => {
      const found = this.#agent(agent);
      if (found.mode === "headless") return this.#stopHeadless(found);
      if (found.run) this.runs.get(found.run.id)?.end({ exit_code: null, signal: 1, reason: "stopped by you" }, Date.now());
      return this.#putAgent({ ...found, state: "offline" });
    },
    agent_remove: ({ agent }) => {
      this.world.agents = this.world.agents.filter(({ id }) => id !== agent);
      this.changed("agentChanged", agent);
      return {};
    },
    layout_get: ({ project }) => ({ layout: this.world.layouts[project] ?? null }),
    layout_set: ({ project, layout }) => {
      this.world.layouts[project] = structuredClone(layout);
      this.changed("layoutChanged", project, project);
      return {};
    },
    settings_get: () => this.world.settings,
    settings_set: ({ patch }) => {
      this.world.settings = { ...this.world.settings, ...patch };
      this.changed("settingsChanged", "settings");
      return this.world.settings;
    },
    terminal_write: ({ run, data }) => {
      this.#run(run).write(data);
      return {};
    },
    terminal_resize: ({ run, cols, rows }) => {
      this.#run(run).size = { cols, rows };
      this.#run(run).resizes.push({ cols, rows });
      return {};
    },
    task_add: (params) => this.tasks.add(params),
    tasks_list: (params) => this.tasks.list(params),
    task_show: (params) => this.tasks.show(params),
    task_output: (params) => this.tasks.output(params),
    task_cancel: (params) => this.tasks.cancel(params),
    task_retry: (params) => this.tasks.retry(params),
    ask_open: (params) => this.asks.open(params),
    ask_show: (params) => this.asks.show(params),
    asks_list: (params) => this.asks.list(params),
    ask_cancel: (params) => this.asks.cancel(params),
    turns_list: (params) => this.asks.turns(params),
    turn_events: (params) => this.asks.events(params),
    message_send: (params) => this.asks.send(params),
    inbox: (params) => this.asks.inbox(params),
    limits_list: () => this.limits.list(),
    limit_clear: (params) => this.limits.clear(params),
    limit_resume: (params) => this.limits.resume(params),
    limit_hold: (params) => this.limits.hold(params),
    approvals_list: () => this.limits.listApprovals(),
    approval_decide: (params) => this.limits.decide(params),
    workdir_create: (params) => this.workdirs.create(params),
    workdirs_list: (params) => this.workdirs.list(params),
    workdir_diff: (params) => this.workdirs.diff(params),
    workdir_merge: (params) => this.workdirs.merge(params),
    workdir_remove: (params) => this.workdirs.remove(params),
    workdir_stop: (params) => this.workdirs.stop(params),
    workdir_restore: (params) => this.workdirs.restore(params),
    residue_list: (params) => this.residue.list(params),
    residue_apply: (params) => this.residue.apply(params),
    residue_progress: () => this.residue.progress,
    residue_cancel: () => this.residue.cancel(),
    changes_wait: (params) => this.#changes(params),
    doctor: () => ({ ok: this.world.checks.every(({ state }) => state !== "fail"), checks: this.world.checks }),
    desktop_close: () => this.#close(),
    desktop_quit: (params) => {
      this.quitted = params;
      return {};
    },
    desktop_pick_folder: () => ({ path: this.picks.shift() ?? null }),
    desktop_open_url: ({ url }) => {
      this.opened.push(url);
      return {};
    },
    desktop_open_directory: (params) => this.desktop.openDirectory(params),
    desktop_notify: (params) => {
      this.notified.push(params);
      return {};
    },
    desktop_autostart: () => ({ on: this.desktop.autostart }),
    desktop_set_autostart: (params) => this.desktop.setAutostart(params),
    desktop_updates: () => this.desktop.updates,
    desktop_set_updates: (params) => this.desktop.set(params),
    desktop_check_updates: () => this.desktop.check(),
    desktop_install_update: () => this.desktop.install(),
  };

  #close(): Answer<"desktop_close"> {
    const { at_exit } = this.world.settings;
    const nameOf = (project: Id) => this.world.projects.find(({ id }) => id === project)?.name ?? "";
    const running: QuitRequest["running"] = [
      ...this.world.agents.filter(({ run }) => run?.state === "running").map(({ name, project }) => ({ agent: name, project: nameOf(project), kind: "agent" as const })),
      ...this.tasks.list({ state: "running" }).map(({ title, project }) => ({ agent: title, project: nameOf(project), kind: "task" as const })),
    ];
    if (at_exit === "ask" && running.length > 0) this.requestQuit({ running });
    else this.quitted = { choice: at_exit === "keep" ? "keep" : "stop", remember: false };
    return {};
  }

  #addProject(path: string): Project {
    const root = path.replace(/\/+$/, "");
    if (!root.startsWith("/") || /not-a-repo|nothing/.test(root)) {
      throw new BackendError("invalid", `${root} is not in a git repository.`, "Choose a folder of a git repository, or run `git init` there first.");
    }
    const present = this.world.projects.find((project) => project.root === root);
    if (present) return present;
    const project = { id: newId(), name: root.split("/").at(-1)!, root };
    this.world.projects = [...this.world.projects, project];
    this.changed("projectChanged", project.id, project.id);
    return project;
  }

  #addAgent({ name, project, profile, mode, workdir }: Params<"agent_add">): Agent {
    if (this.world.agents.some((agent) => agent.name === name && agent.project === project)) {
      throw new BackendError("invalid", `An agent named ${name} exists already.`, "Choose another name.");
    }
    if (workdir !== undefined && !workdir.startsWith("/")) {
      throw new BackendError("invalid", `${workdir} is not an absolute path.`, "Give a directory by its whole path.");
    }
    const agent = agentOf(name, this.world.projects.find(({ id }) => id === project)!, this.world.profiles.find(({ id }) => id === profile)!, mode);
    if (workdir !== undefined) agent.workdir = workdir;
    this.world.agents = [...this.world.agents, agent];
    this.changed("agentChanged", agent.id, project);
    return agent;
  }

  #start(id: Id, cols: number, rows: number): Agent {
    const agent = this.#agent(id);
    if (agent.mode === "headless") {
      this.asks.stopped.delete(id);
      this.setAgent(id, { state: agent.turn ? "working" : "idle", wake: null });
      return this.#agent(id);
    }
    const run = new FakeRun(newId(), Date.now());
    run.size = { cols, rows };
    this.runs.set(run.id, run);
    run.print(`\x1b[1m${agent.name}\x1b[0m \x1b[2m· an echo, no agent\x1b[0m\r\n\x1b[36m❯\x1b[0m `);
    return this.#putAgent({ ...agent, state: "idle", run: run.record });
  }

  #stopHeadless(agent: Agent): Agent {
    this.asks.stopped.add(agent.id);
    if (agent.turn?.ask) this.asks.cancel({ ask: agent.turn.ask });
    else if (agent.turn) this.asks.fail(agent.turn.id, "stopped by you");
    this.setAgent(agent.id, { state: "offline" });
    return this.#agent(agent.id);
  }

  async #changes({ after, wait_ms }: Params<"changes_wait">): Promise<Answer<"changes_wait">> {
    if (after === null) return { seq: this.seq, reset: false, changes: [] };
    if (this.seq <= after && !this.#resetDue) await this.#feedMoves(wait_ms);
    const reset = this.#resetDue;
    this.#resetDue = false;
    return { seq: this.seq, reset, changes: reset ? [] : this.#log.filter((change) => change.seq > after) };
  }

  #feedMoves(wait_ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#feedWaiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, wait_ms);
      this.#feedWaiting.add(done);
    });
  }

  #agent(id: Id): Agent {
    const agent = this.world.agents.find((each) => each.id === id);
    if (!agent) throw new BackendError("not_found", "There is no such agent.", null);
    return agent;
  }

  #run(id: Id): FakeRun {
    const run = this.runs.get(id);
    if (!run) throw new BackendError("not_found", "There is no such run.", null);
    return run;
  }

  #putAgent(agent: Agent): Agent {
    const run = agent.run && (this.runs.get(agent.run.id)?.record ?? agent.run);
    const fresh = { ...agent, run };
    this.world.agents = this.world.agents.map((each) => (each.id === agent.id ? fresh : each));
    this.changed("runChanged", agent.id, agent.project);
    return fresh;
  }
}

export type { Methods };
