// The window's one object: the door, the cached answers, the view, and everything a user can have done.
// It is made once in main.tsx (and once per test) and handed down by context.

import { createContext, useContext } from "react";
import { type Backend, BackendError, toBackendError } from "../backend/backend";
import type { Agent, AgentMode, Ask, Change, Detected, Id, Info, Profile, Project, Settings, Task } from "../generated/api";
import { Approvals } from "./approvals";
import { calleeName } from "./ask-words";
import { Asks } from "./asks";
import { Cleanup } from "./cleanup";
import { Conversations } from "./conversations";
import { ChangeFeed } from "./feed";
import { forgetOthers, type Layout, setTasksPanel, showAgent, showTask } from "./layout";
import { Layouts } from "./layouts";
import { Limits } from "./limits";
import { Lookout } from "./lookout";
import { Query } from "./query";
import { Store } from "./store";
import { type AskChoice, type DialogState, initialView, type TaskChoice, type View, without, withToast } from "./view";
import { commandLine, isOver, taskName } from "./words";
import { Work } from "./work";
import { Workdirs } from "./workdirs";

/** What makes the list of agents stale: their runs and turns, what they wait for, and how much waits for them, stand in it. */
const AGENT_TAGS = ["agentChanged", "runChanged", "agentInboxChanged", "agentWakeChanged", "turnChanged", "askChanged", "backgroundTaskChanged"] as const;

export interface Size { cols: number; rows: number }

export interface NewAgent { project: Id; name: string; profile: Profile | Detected; mode: AgentMode; role: string; workdir: string; beside: boolean }

export class App {
  readonly info: Query<Info>;
  readonly projects: Query<Project[]>;
  readonly profiles: Query<Profile[]>;
  readonly agents: Query<Agent[]>;
  readonly settings: Query<Settings>;
  /** Looking for programs starts processes, so this is fetched only when a dialog that shows it opens. */
  readonly detected: Query<Detected[]>;
  readonly work: Work;
  readonly asks: Asks;
  readonly conversations: Conversations;
  readonly limits: Limits;
  readonly approvals: Approvals;
  readonly workdirs: Workdirs;
  readonly cleanup: Cleanup;
  readonly view = new Store<View>(initialView());
  readonly layouts: Layouts;
  readonly feed: ChangeFeed;
  /** The size of the pane that was laid out last: a start without a pane of its own uses it. */
  lastSize: Size = { cols: 80, rows: 24 };
  #toastId = 0;
  readonly #lookout = new Lookout(this);
  #settingsWrite: Promise<unknown> = Promise.resolve();

  constructor(readonly backend: Backend) {
    this.info = new Query(() => backend.call("info", {}));
    this.projects = new Query(() => backend.call("projects_list", {}));
    this.profiles = new Query(() => backend.call("profiles_list", {}));
    this.agents = new Query(() => backend.call("agents_list", {}));
    this.settings = new Query(() => backend.call("settings_get", {}));
    this.detected = new Query(() => backend.call("profile_detect", {}));
    this.layouts = new Layouts(backend, (error) => this.report(error, "The layout could not be saved."));
    this.work = new Work(backend, (tasks) => this.#lookout.tasksEnded(tasks));
    this.asks = new Asks(backend, (asks) => this.#lookout.asksEnded(asks));
    this.conversations = new Conversations(backend);
    this.limits = new Limits(backend);
    this.approvals = new Approvals(backend, (approvals) => this.#lookout.approvalsArrived(approvals));
    this.workdirs = new Workdirs(backend);
    this.cleanup = new Cleanup(backend, (clearing) => this.#lookout.cleanupEnded(clearing));
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
    const offLookout = this.#lookout.start();
    this.feed.start();
    return () => {
      offQuit();
      offLookout();
      this.feed.stop();
    };
  }

  // --- what the feed says ---

  async #refetchAll(): Promise<void> {
    this.conversations.everythingStale();
    this.workdirs.everythingStale();
    this.cleanup.everythingStale();
    void this.limits.all.refresh();
    void this.approvals.refresh();
    await Promise.all([this.info.refresh(), this.projects.refresh(), this.profiles.refresh(), this.agents.refresh(), this.settings.refresh()]);
    if (this.detected.data) void this.detected.refresh();
    for (const project of Object.keys(this.layouts.state.get())) void this.layouts.reload(project);
    void this.layouts.loadFailed();
    await this.#settleProject();
    this.#forgetRemoved();
    await this.#loadWork("loadAll");
  }

  /** Tasks and asks of all projects, or of those that are new alone. What is on show comes first. */
  async #loadWork(which: "loadAll" | "loadNew"): Promise<void> {
    const shown = this.view.get().project;
    const projects = (this.projects.data ?? []).map(({ id }) => id);
    const ordered = [...projects.filter((id) => id === shown), ...projects.filter((id) => id !== shown)];
    await Promise.all([this.work[which](ordered), this.asks[which](ordered)]);
  }

  #refetch(changes: Change[]): void {
    const tags = new Set(changes.map((change) => change.tag));
    if (tags.has("projectChanged")) void this.projects.refresh().then(() => this.#settleProject()).then(() => this.#loadWork("loadNew"));
    if (tags.has("profileChanged")) {
      void this.profiles.refresh();
      if (this.detected.data) void this.detected.refresh();
    }
    if (AGENT_TAGS.some((tag) => tags.has(tag))) void this.agents.refresh().then(() => this.#forgetRemoved());
    if (tags.has("settingsChanged")) void this.settings.refresh();
    this.work.changed(changes);
    this.asks.changed(changes);
    this.conversations.changed(changes);
    if (tags.has("limitChanged")) void this.limits.all.refresh();
    if (tags.has("approvalChanged")) void this.approvals.refresh();
    this.workdirs.changed(changes);
    this.cleanup.changed(changes);
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
    // What does not begin a sentence of its own goes on with the one before.
    const text = title ? `${/^[a-z]/.test(error.message) ? title.replace(/\.$/, ":") : title} ${error.message}` : error.message;
    this.view.update((view) => withToast(view, { id: ++this.#toastId, level: "error", title: text, hint: error.hint }));
  }

  tell(title: string): void {
    this.view.update((view) => withToast(view, { id: ++this.#toastId, level: "info", title, hint: null }));
  }

  freshToastId(): number {
    return ++this.#toastId;
  }

  dismissToast(id: number): void {
    this.view.update((view) => ({ ...view, toasts: view.toasts.filter((toast) => toast.id !== id) }));
  }

  /** Goes where a toast leads. */
  openToast(id: number): void {
    const target = this.view.get().toasts.find((toast) => toast.id === id)?.target;
    this.dismissToast(id);
    if (!target) return;
    if ("cleanup" in target) this.open({ kind: "cleanup" });
    else if ("task" in target) void this.showTask(target.project, target.task);
    else if ("ask" in target) void this.showAsk(target.project, target.ask);
    else {
      const agent = this.agent(target.agent);
      if (agent) void (agent.wake?.given_up ? this.showInbox(agent) : this.show(agent));
    }
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
    void this.#loadWork("loadNew");
  }

  async removeProject(project: Id): Promise<void> {
    await this.backend.call("project_remove", { project });
    this.layouts.forget(project);
    await Promise.all([this.projects.refresh(), this.agents.refresh()]);
    await this.#settleProject();
    void this.#loadWork("loadNew");
  }

  /** Adds the agent (its profile first, where only the program was found so far); rejects when that fails. Then starts it in a pane. */
  async addAgent(request: NewAgent): Promise<void> {
    const { name, project, mode, role, workdir } = request;
    const profile = await this.#profileFor(request.profile);
    const agent = await this.backend.call("agent_add", { name, project, profile, mode, ...(role ? { role } : {}), ...(workdir ? { workdir } : {}) });
    await this.agents.refresh();
    this.closeDialog();
    await this.show(agent, request.beside);
    // A headless agent is started by what it is asked.
    if (mode === "terminal") void this.startAgent(agent.id);
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
      if (!this.#lookout.isOnShow(agent)) this.report(error, `${this.agent(agent)?.name ?? "The agent"} did not start.`);
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
    this.change(project, (layout) => setTasksPanel(layout, { open: true, view: "tasks" }));
    this.chooseTask(project, { task, detail: true });
  }

  /** Shows the log of a task in a pane of its project. */
  async showLog(task: Pick<Task, "id" | "project">): Promise<void> {
    await this.showProject(task.project);
    this.change(task.project, (layout) => showTask(layout, task.id));
  }

  /** Runs a line of shell in the root of a project. Rejects, so that the dialog can show the reason. */
  async addTask(project: Id, line: string): Promise<void> {
    const task = await this.work.add(project, ["sh", "-c", line]);
    this.closeDialog();
    this.change(project, (layout) => setTasksPanel(layout, { open: true, view: "tasks" }));
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

  /** By a key: nothing in sight would show that it was done. */
  async copyCommand(task: Task): Promise<void> {
    if (await this.copy(commandLine(task))) this.tell("The command was copied.");
  }

  /** Answers whether the text is on the clipboard; reports its own failure. */
  async copy(text: string): Promise<boolean> {
    try {
      await this.backend.writeClipboard(text);
      return true;
    } catch (reason) {
      this.report(reason, "It could not be copied.");
      return false;
    }
  }

  // --- asks and inboxes ---

  chosenAsk(project: Id): AskChoice {
    return this.view.get().chosenAsks[project] ?? { row: null, detail: false };
  }

  chooseAsk(project: Id, choice: Partial<AskChoice>): void {
    const before = this.chosenAsk(project);
    this.view.update((view) => ({ ...view, chosenAsks: { ...view.chosenAsks, [project]: { ...before, ...choice } } }));
  }

  /** Shows the asks of a project, with this one open. */
  async showAsk(project: Id, ask: Id): Promise<void> {
    await this.showProject(project);
    this.change(project, (layout) => setTasksPanel(layout, { open: true, view: "asks" }));
    this.chooseAsk(project, { row: ask, detail: true });
  }

  /** Shows what waits for an agent, and what it was told. */
  async showInbox({ id, project }: Agent): Promise<void> {
    await this.showProject(project);
    this.chooseInbox(project, id);
    this.change(project, (layout) => setTasksPanel(layout, { open: true, view: "inbox" }));
  }

  chooseInbox(project: Id, agent: Id): void {
    this.view.update((view) => ({ ...view, chosenInbox: { ...view.chosenInbox, [project]: agent } }));
  }

  /** Shows what an id in an agent's list of what it waits for stands for. */
  showAwaited(project: Id, id: Id): void {
    if (this.asks.find(id)) void this.showAsk(project, id);
    else void this.showTask(project, id);
  }

  /** Asks the agent what its draft says, and shows where the answer will be. Rejects when it was refused. */
  async ask(agent: Agent): Promise<void> {
    const ask = await this.conversations.ask(agent.id);
    this.asks.put(ask);
  }

  /** Rejects when it was refused. */
  async cancelAsk(ask: Ask): Promise<void> {
    await this.asks.cancel(ask);
  }

  /** What nobody works on yet is cancelled at once; what would stop work is asked about first. Reports its own failure. */
  askToCancel(ask: Ask): void {
    if (ask.waiting_for === "turn_queue" || ask.waiting_for === "slot") void this.cancelAsk(ask).catch((reason: unknown) => this.report(reason, `The ask to ${calleeName(ask)} could not be cancelled.`));
    else this.open({ kind: "cancel_ask", ask: ask.id });
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
