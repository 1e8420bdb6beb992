// Looks at what the user sees. What happens elsewhere is told in a toast and to the desktop; what ended in sight counts as seen.

import type { Approval, Ask, Id, Task } from "../generated/api";
import type { Agent } from "../generated/api";
import { Announcer } from "./announce";
import type { App } from "./app";
import type { Clearing } from "./cleanup";
import { openPanel, paneOfAgent, panesOf, sawTasks } from "./layout";
import { type News, newsOfAgents, newsOfApprovals, newsOfAsks, newsOfCleanup } from "./news";
import { withToast } from "./view";
import { isOver } from "./words";

type Seen = Pick<App, "backend" | "view" | "layouts" | "work" | "agents" | "projects" | "change" | "freshToastId">;

export class Lookout {
  readonly #announcer: Announcer;
  #agentsBefore: readonly Agent[] | null = null;

  constructor(private readonly app: Seen) {
    this.#announcer = new Announcer(this.#projectName, ({ task, ...news }) => this.#announce({ ...news, target: { project: task.project, task: task.id } }));
  }

  /** Begins to look. Returns the way to stop. */
  start(): () => void {
    const { app } = this;
    const offs = [app.view, app.layouts.state, app.work.state].map((store) => store.subscribe(() => this.#lookAtTasks()));
    offs.push(app.agents.state.subscribe(() => this.#lookAtAgents()));
    const shown = () => this.#lookAtTasks();
    globalThis.document?.addEventListener("visibilitychange", shown);
    return () => {
      for (const off of offs) off();
      globalThis.document?.removeEventListener("visibilitychange", shown);
      this.#announcer.stop();
    };
  }

  tasksEnded(tasks: readonly Task[]): void {
    const { project } = this.app.view.get();
    const hidden = isHidden();
    this.#announcer.add(tasks.filter((task) => hidden || task.project !== project));
  }

  asksEnded(asks: readonly Ask[]): void {
    const news = newsOfAsks(asks.filter((ask) => !this.#seesAsk(ask)), this.#projectName);
    if (news) this.#announce(news);
  }

  /** The window's own banner stands until they are decided; the desktop is told for those who look elsewhere. */
  approvalsArrived(approvals: Approval[]): void {
    const { title, body } = newsOfApprovals(approvals, this.#projectName);
    void this.app.backend.call("desktop_notify", { title, body }).catch(() => undefined);
  }

  cleanupEnded(clearing: Clearing): void {
    this.#announce(newsOfCleanup(clearing));
  }

  isOnShow(agent: Id): boolean {
    const layout = this.#layout();
    return layout !== undefined && paneOfAgent(layout, agent) !== undefined;
  }

  /** The user looks at where the end of this ask is told. */
  #seesAsk({ project, callee }: Ask): boolean {
    const layout = this.#layout();
    if (isHidden() || !layout || project !== this.app.view.get().project) return false;
    const agent = this.app.agents.data?.find(({ id }) => id === callee);
    return openPanel(layout) === "asks" || (agent?.mode === "headless" && this.isOnShow(agent.id));
  }

  #lookAtAgents(): void {
    const after = this.app.agents.data;
    if (!after || after === this.#agentsBefore) return;
    const all = newsOfAgents(this.#agentsBefore, after, this.#projectName);
    this.#agentsBefore = after;
    for (const { agent, news } of all) if (isHidden() || !this.isOnShow(agent.id)) this.#announce(news);
  }

  /** What ended in the pane that the user looks at was seen. */
  #lookAtTasks(): void {
    const { project } = this.app.view.get();
    const layout = this.#layout();
    if (project === null || !layout || isHidden()) return;
    const agent = panesOf(layout.root).find(({ id }) => id === layout.focused)?.agent;
    if (!agent) return;
    const ends = this.app.work.of(project).items.filter((task) => task.owner === agent && isOver(task)).map((task) => task.ended_ms ?? 0);
    if (ends.length > 0) this.app.change(project, (old) => sawTasks(old, agent, Math.max(...ends)));
  }

  #announce({ level, title, hint, target }: News): void {
    this.app.view.update((view) => withToast(view, { id: this.app.freshToastId(), level, title, hint, target }));
    // A desktop that shows no notifications has the toast.
    void this.app.backend.call("desktop_notify", { title, body: hint ?? "" }).catch(() => undefined);
  }

  #layout() {
    const { project } = this.app.view.get();
    return project === null ? undefined : this.app.layouts.of(project);
  }

  readonly #projectName = (project: Id): string => this.app.projects.data?.find(({ id }) => id === project)?.name ?? "a project";
}

const isHidden = () => globalThis.document?.hidden ?? false;
