// The window's one object: the door, the cached answers, the view, and everything a user can have done.
// It is made once in main.tsx (and once per test) and handed down by context.

import { createContext, useContext } from "react";
import { type Backend, BackendError, toBackendError } from "../backend/backend";
import type { Agent, Change, Detected, Id, Info, Profile, Project, Settings, Task } from "../generated/api";
import { type Announcement, Announcer } from "./announce";
import { ChangeFeed } from "./feed";
import { forgetOthers, type Layout, paneOfAgent, panesOf, sawTasks, setTasksPanel, showAgent, showTask } from "./layout";
import { Layouts } from "./layouts";
import { Query } from "./query";
import { Store } from "./store";
import { type DialogState, initialView, type TaskChoice, type View, without, withToast } from "./view";
import { commandLine, isOver, taskName } from "./words";
import { Work } from "./work";

/** What makes the list of agents stale: their runs, and how much waits in their inboxes, stand in it. */
const AGENT_TAGS = ["agentChanged", "runChanged", "agentInboxChanged", "agentWakeChanged"] as const;

export interface Size { cols: number; rows: number }

export class App {
  readonly info: Query<Info>;
  readonly projects: Query<Project[]>;
  readonly profiles: Query<Profile[]>;
  readonly agents: Query<Agent[]>;
  readonly settings: Query<Settings>;
  /** Looking for programs starts processes, so this is fetched only when a dialog that shows it opens. */
  readonly detected: Query<Detected[]>;
  readonly work: Work;
  readonly view = new Store<View>(initialView());
  readonly layouts: Layouts;
  readonly feed: ChangeFeed;
  /** The size of the pane that was laid out last: a start without a pane of its own uses it. */
  lastSize: Size = { cols: 80, rows: 24 };
  #toastId = 0;
  readonly #announcer: Announcer;
  #settingsWrite: Promise<unknown> = Promise.resolve();

  constructor(readonly backend: Backend) {
    this.info = new Query(() => backend.call("info", {}));
    this.projects = new Query(() => backend.call("projects_list", {}));
    this.profiles = new Query(() => backend.call("profiles_list", {}));
    this.agents = new Query(() => backend.call("agents_list", {}));
    this.settings = new Query(() => backend.call("settings_get", {}));
    this.detected = new Query(() => backend.call("profile_detect", {}));
    this.layouts = new Layouts(backend, (error) => this.report(error, "The layout could not be saved or read."));
    this.work = new Work(backend, (tasks) => this.#tasksEnded(tasks));
    this.#announcer = new Announcer((project) => this.#projectName(project), (news) => this.#announce(news));
    this.feed = new ChangeFeed(backend, {
      everythingStale: () => void this.#refetchAll(),
      changed: (changes) => this.#refetch(changes),
    });
  }

  /** Begins to listen to the engine. Returns the way to stop, which tests use. */
  start(): () => void {
    const offQuit = this.backend.onQuitRequested((request) => {
      // One question at a time: a second request while the first is unanswered changes nothing.
      this.view.update((view) => (view.quit ? view : { ...view, quit: request }));
    });
    const looks = [this.view, this.layouts.state, this.work.state].map((store) => store.subscribe(() => this.#lookAtTasks()));
    const shown = () => this.#lookAtTasks();
    globalThis.document?.addEventListener("visibilitychange", shown);
    this.feed.start();
    return () => {
      offQuit();
      for (const off of looks) off();
      globalThis.document?.removeEventListener("visibilitychange", shown);
      this.#announcer.stop();
      this.feed.stop();
    };
  }

  // --- what the feed says ---

  async #refetchAll(): Promise<void> {
    await Promise.all([this.info.refresh(), this.projects.refresh(), this.profiles.refresh(), this.agents.refresh(), this.settings.refresh()]);
    if (this.detected.data) void this.detected.refresh();
    for (const project of Object.keys(this.layouts.state.get())) void this.layouts.reload(project);
    await this.#settleProject();
    this.#forgetRemoved();
    await this.#loadWork();
  }

  /** The tasks of the project on show come first. */
  #loadWork(): Promise<void> {
    const shown = this.view.get().project;
    const projects = (this.projects.data ?? []).map(({ id }) => id);
    return this.work.loadAll([...projects.filter((id) => id === shown), ...projects.filter((id) => id !== shown)]);
  }

  #refetch(changes: Change[]): void {
    const tags = new Set(changes.map((change) => change.tag));
    if (tags.has("projectChanged")) void this.projects.refresh().then(() => this.#settleProject()).then(() => this.#loadWork());
    if (tags.has("profileChanged")) {
      void this.profiles.refresh();
      if (this.detected.data) void this.detected.refresh();
    }
    if (AGENT_TAGS.some((tag) => tags.has(tag))) void this.agents.refresh().then(() => this.#forgetRemoved());
    if (tags.has("settingsChanged")) void this.settings.refresh();
    this.work.changed(changes);
    for (const change of changes) {
      if (change.tag === "layoutChanged") void this.layouts.reload(change.project ?? change.id);
    }
  }

  /** Keeps a project on show that exists; at the start, the one that was on show last. */
  async #settleProject(): Promise<void> {
    const projects = this.projects.data;
    if (!projects) return;
    const { project, ready } = this.view.get();
    if (ready && projects.some(({ id }) => id === project)) return;
    await Promise.all(projects.map(({ id }) => this.layouts.load(id)));
    const latest = [...projects].sort((a, b) => this.#seenMs(b.id) - this.#seenMs(a.id))[0] ?? null;
    this.view.update((view) => ({ ...view, project: latest?.id ?? null, ready: true }));
  }

  #seenMs(project: Id): number {
    return this.layouts.of(project)?.seen_ms ?? 0;
  }

  #forgetRemoved(): void {
    const agents = this.agents.data;
    if (!agents || this.agents.state.get().error) return;
    const known = new Set(agents.map(({ id }) => id));
    for (const project of Object.keys(this.layouts.state.get())) {
      this.layouts.change(project, (layout) => forgetOthers(layout, known));
    }
  }

  // --- view ---

  open(dialog: DialogState): void {
    this.view.update((view) => ({ ...view, dialog }));
  }

  readonly closeDialog = (): void => {
    this.view.update((view) => ({ ...view, dialog: null }));
  };

  /** Tells the user what failed and what to do next. */
  report(reason: unknown, title?: string): void {
    const error = toBackendError(reason);
    const text = title ? `${title} ${error.message}` : error.message;
    this.view.update((view) => withToast(view, { id: ++this.#toastId, level: "error", title: text, hint: error.hint }));
  }

  tell(title: string): void {
    this.view.update((view) => withToast(view, { id: ++this.#toastId, level: "info", title, hint: null }));
  }

  dismissToast(id: number): void {
    this.view.update((view) => ({ ...view, toasts: view.toasts.filter((toast) => toast.id !== id) }));
  }

  /** Goes where a toast leads. */
  openToast(id: number): void {
    const target = this.view.get().toasts.find((toast) => toast.id === id)?.target;
    this.dismissToast(id);
    if (target) void this.showTask(target.project, target.task);
  }

  async showProject(project: Id): Promise<void> {
    await this.layouts.load(project);
    this.view.update((view) => ({ ...view, project }));
    this.layouts.change(project, (layout) => ({ ...layout, seen_ms: Date.now() }));
  }

  async show(agent: Agent, beside = false): Promise<void> {
    await this.showProject(agent.project);
    this.change(agent.project, (layout) => showAgent(layout, agent.id, beside));
  }

  change(project: Id, change: (layout: Layout) => Layout): void {
    this.layouts.change(project, change);
  }

  agent(id: Id | null): Agent | undefined {
    return this.agents.data?.find((agent) => agent.id === id);
  }

  // --- what a user can have done; each rejects with a BackendError or reports it itself, as its comment says ---

  /** Rejects, so that the dialog can show the reason beside the path. */
  async addProject(path: string): Promise<void> {
    const project = await this.backend.call("project_add", { path });
    await this.projects.refresh();
    this.closeDialog();
    await this.showProject(project.id);
    void this.#loadWork();
  }

  async removeProject(project: Id): Promise<void> {
    await this.backend.call("project_remove", { project });
    this.layouts.forget(project);
    await Promise.all([this.projects.refresh(), this.agents.refresh()]);
    await this.#settleProject();
    void this.#loadWork();
  }

  /** Adds the agent (its profile first, where only the program was found so far); rejects when that fails. Then starts it in a pane. */
  async addAgent(request: { project: Id; name: string; profile: Profile | Detected; beside: boolean }): Promise<void> {
    const profile = await this.#profileFor(request.profile);
    const agent = await this.backend.call("agent_add", { name: request.name, project: request.project, profile, mode: "terminal" });
    await this.agents.refresh();
    this.closeDialog();
    await this.show(agent, request.beside);
    void this.startAgent(agent.id);
  }

  async #profileFor(choice: Profile | Detected): Promise<Id> {
    if ("id" in choice) return choice.id;
    if (choice.profile) return choice.profile;
    const taken = new Set(this.profiles.data?.map(({ name }) => name));
    const added = await this.backend.call("profile_add", {
      name: freeName(choice.adapter, taken, false), adapter: choice.adapter, program: choice.program,
    });
    await Promise.all([this.profiles.refresh(), this.detected.refresh()]);
    return added.id;
  }

  /** Never rejects: the pane of the agent shows why it did not start, until it does. */
  async startAgent(agent: Id, size: Size = this.lastSize): Promise<void> {
    if (this.view.get().busy[agent]) return;
    this.#setBusy(agent, "starting");
    this.view.update((view) => ({ ...view, failures: without(view.failures, agent) }));
    try {
      this.#putAgent(await this.backend.call("agent_start", { agent, cols: size.cols, rows: size.rows }));
    } catch (reason) {
      const error = toBackendError(reason);
      this.view.update((view) => ({ ...view, failures: { ...view.failures, [agent]: error } }));
      if (!this.#isOnShow(agent)) this.report(error, `${this.agent(agent)?.name ?? "The agent"} did not start.`);
    } finally {
      this.#setBusy(agent, null);
    }
  }

  /** Reports its own failure. */
  async stopAgent(agent: Id): Promise<void> {
    if (this.view.get().busy[agent]) return;
    this.#setBusy(agent, "stopping");
    try {
      this.#putAgent(await this.backend.call("agent_stop", { agent }));
    } catch (reason) {
      this.report(reason, `${this.agent(agent)?.name ?? "The agent"} could not be stopped.`);
    } finally {
      this.#setBusy(agent, null);
    }
  }

  async removeAgent(agent: Id): Promise<void> {
    this.#setBusy(agent, "removing");
    try {
      await this.backend.call("agent_remove", { agent });
      await this.agents.refresh();
      this.#forgetRemoved();
    } finally {
      this.#setBusy(agent, null);
    }
  }

  // --- tasks ---

  chosenTask(project: Id): TaskChoice {
    return this.view.get().chosenTasks[project] ?? { task: null, detail: false };
  }

  chooseTask(project: Id, choice: Partial<TaskChoice>): void {
    const before = this.chosenTask(project);
    this.view.update((view) => ({ ...view, chosenTasks: { ...view.chosenTasks, [project]: { ...before, ...choice } } }));
  }

  /** Shows the list of tasks of a project, with this one picked. */
  async showTask(project: Id, task: Id): Promise<void> {
    await this.showProject(project);
    this.change(project, (layout) => setTasksPanel(layout, { open: true }));
    this.chooseTask(project, { task, detail: true });
  }

  /** Shows the log of a task in a pane of its project. */
  async showLog(task: Task): Promise<void> {
    await this.showProject(task.project);
    this.change(task.project, (layout) => showTask(layout, task.id));
  }

  /** Runs a line of shell in the root of a project. Rejects, so that the dialog can show the reason. */
  async addTask(project: Id, line: string): Promise<void> {
    const task = await this.work.add(project, ["sh", "-c", line]);
    this.closeDialog();
    this.change(project, (layout) => setTasksPanel(layout, { open: true }));
    this.chooseTask(project, { task: task.id });
  }

  /** Reports its own failure. */
  async cancelTask(task: Task): Promise<void> {
    if (isOver(task)) return;
    await this.work.cancel(task).catch((reason: unknown) => this.report(reason, `${taskName(task)} could not be cancelled.`));
  }

  /** Reports its own failure. */
  async retryTask(task: Task): Promise<void> {
    if (!isOver(task)) return;
    await this.work.retry(task).catch((reason: unknown) => this.report(reason, `${taskName(task)} could not be started again.`));
  }

  /** Reports its own failure. */
  async copyCommand(task: Task): Promise<void> {
    try {
      await this.backend.writeClipboard(commandLine(task));
      this.tell("The command was copied.");
    } catch (reason) {
      this.report(reason);
    }
  }

  #projectName(project: Id): string {
    return this.projects.data?.find(({ id }) => id === project)?.name ?? "a project";
  }

  #tasksEnded(tasks: Task[]): void {
    const { project } = this.view.get();
    const hidden = globalThis.document?.hidden ?? false;
    this.#announcer.add(tasks.filter((task) => hidden || task.project !== project));
  }

  #announce({ level, title, hint, task }: Announcement): void {
    this.view.update((view) => withToast(view, { id: ++this.#toastId, level, title, hint, target: { project: task.project, task: task.id } }));
    // A desktop that shows no notifications has the toast.
    void this.backend.call("desktop_notify", { title, body: hint ?? "" }).catch(() => undefined);
  }

  /** What ended in the pane that the user looks at was seen. */
  #lookAtTasks(): void {
    const { project } = this.view.get();
    const layout = project === null ? undefined : this.layouts.of(project);
    if (project === null || !layout || globalThis.document?.hidden) return;
    const agent = panesOf(layout.root).find(({ id }) => id === layout.focused)?.agent;
    if (!agent) return;
    const ends = this.work.of(project).tasks.filter((task) => task.owner === agent && isOver(task)).map((task) => task.ended_ms ?? 0);
    if (ends.length > 0) this.change(project, (old) => sawTasks(old, agent, Math.max(...ends)));
  }

  /** Shows the new value at once and takes it back, with a report, when it could not be stored. Writes keep their order. */
  async saveSettings(patch: Partial<Settings>): Promise<void> {
    const before = this.settings.data;
    if (before) this.settings.put({ ...before, ...patch });
    const write = this.#settingsWrite.then(() => this.backend.call("settings_set", { patch }));
    this.#settingsWrite = write.catch(() => undefined);
    try {
      await write;
    } catch (reason) {
      this.report(reason, "The setting could not be saved.");
      await this.settings.refresh();
    }
  }

  /** Closes the window as its close button does, so that the question about what runs is asked. Reports its own failure. */
  async closeWindow(): Promise<void> {
    try {
      await this.layouts.flush();
      await this.backend.call("desktop_close", {});
    } catch (reason) {
      this.report(reason, "The window could not be closed.");
    }
  }

  async quit(choice: "stop" | "keep", remember: boolean): Promise<void> {
    await this.layouts.flush();
    await this.backend.call("desktop_quit", { choice, remember });
  }

  readonly cancelQuit = (): void => {
    this.view.update((view) => ({ ...view, quit: null }));
  };

  async openUrl(url: string): Promise<void> {
    try {
      if (!/^https?:/i.test(url)) {
        throw new BackendError("refused", `This link was not opened: ${url.slice(0, 200)}`, "Only web addresses are opened from a terminal.");
      }
      await this.backend.call("desktop_open_url", { url });
    } catch (reason) {
      this.report(reason);
    }
  }

  #isOnShow(agent: Id): boolean {
    const { project } = this.view.get();
    const layout = project === null ? undefined : this.layouts.of(project);
    return layout !== undefined && paneOfAgent(layout, agent) !== undefined;
  }

  #setBusy(agent: Id, busy: View["busy"][string] | null): void {
    this.view.update((view) => ({ ...view, busy: busy ? { ...view.busy, [agent]: busy } : without(view.busy, agent) }));
  }

  #putAgent(agent: Agent): void {
    const agents = this.agents.data;
    if (agents) this.agents.put(agents.map((other) => (other.id === agent.id ? agent : other)));
  }
}

/** The first of `stem-1`, `stem-2`, ... (or `stem` itself, when bare is wanted) that nobody has yet. */
export function freeName(stem: string, taken: ReadonlySet<string>, numbered = true): string {
  if (!numbered && !taken.has(stem)) return stem;
  let n = numbered ? 1 : 2;
  while (taken.has(`${stem}-${n}`)) n += 1;
  return `${stem}-${n}`;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("useApp needs the AppContext of main.tsx around it.");
  return app;
}
