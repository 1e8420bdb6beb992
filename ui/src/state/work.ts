// The background tasks of all projects: fetched once, and kept in step by the change feed. A few changed tasks are asked for one by
// one, many at once by their project's list. Answers may overtake one another, but an attempt only ever goes forward, so whichever
// says more about a task is the newer.

import { type Backend, type BackendError, toBackendError } from "../backend/backend";
import type { Change, Id, Task } from "../generated/api";
import { Store } from "./store";
import { without } from "./view";
import { isOver, type Pending } from "./words";

export interface ProjectTasks {
  /** Newest first. */
  tasks: readonly Task[];
  /** False until the first answer. */
  loaded: boolean;
  error: BackendError | null;
}

export type PendingTasks = Readonly<Record<Id, { kind: Pending; attempt: number }>>;

/** What one list answers at most; of a longer one, the tasks that are not over are asked for besides. */
export const LIST_MAX = 1000;
const SHOW_EACH_MAX = 8;
const LIST_PAUSE_MS = 250;

const NONE: ProjectTasks = { tasks: [], loaded: false, error: null };

interface Listing { running: Promise<void> | null; due: boolean; first_ms: number | null }

export class Work {
  readonly state = new Store<Readonly<Record<Id, ProjectTasks>>>({});
  /** What the user asked for and the state does not say yet. */
  readonly pending = new Store<PendingTasks>({});
  readonly #listings = new Map<Id, Listing>();

  constructor(
    private readonly backend: Pick<Backend, "call">,
    /** Tasks came to an end while the window looked on. Each attempt is told once. */
    private readonly ended: (tasks: Task[]) => void,
  ) {}

  of(project: Id): ProjectTasks {
    return this.state.get()[project] ?? NONE;
  }

  find(task: Id): Task | undefined {
    for (const { tasks } of Object.values(this.state.get())) {
      const found = tasks.find(({ id }) => id === task);
      if (found) return found;
    }
    return undefined;
  }

  /** Fetches the tasks of these projects in this order, and forgets all others. It never rejects. */
  async loadAll(projects: readonly Id[]): Promise<void> {
    const known = new Set(projects);
    for (const project of this.#listings.keys()) if (!known.has(project)) this.#listings.delete(project);
    this.state.update((all) => Object.fromEntries(Object.entries(all).filter(([project]) => known.has(project))));
    for (const project of projects) await this.load(project);
  }

  /** Resolves when an answer that was asked for after this call is in place; it never rejects. */
  load(project: Id): Promise<void> {
    const listing = this.#listings.get(project) ?? { running: null, due: false, first_ms: null };
    this.#listings.set(project, listing);
    if (listing.running) {
      listing.due = true;
      return listing.running;
    }
    listing.running = this.#load(project, listing).finally(() => {
      listing.running = null;
    });
    return listing.running;
  }

  changed(changes: readonly Change[]): void {
    const byProject = new Map<Id | null, Set<Id>>();
    for (const { tag, id, project } of changes) {
      if (tag !== "backgroundTaskChanged") continue;
      byProject.set(project, (byProject.get(project) ?? new Set()).add(id));
    }
    for (const [project, ids] of byProject) {
      if (project === null) for (const each of this.#listings.keys()) void this.load(each);
      else if (ids.size > SHOW_EACH_MAX || !this.of(project).loaded) void this.load(project);
      else for (const id of ids) void this.#show(project, id);
    }
  }

  /** Takes over what a call just answered about one task. */
  put(task: Task): void {
    if (this.#listings.has(task.project)) this.#merge(task.project, [task]);
  }

  async add(project: Id, command: string[]): Promise<Task> {
    const task = await this.backend.call("task_add", { project, command });
    this.put(task);
    return task;
  }

  /** Rejects when it was refused. Until the state says so, the task is shown as being cancelled. */
  cancel(task: Task): Promise<void> {
    return this.#ask(task, "cancelling", () => this.backend.call("task_cancel", { task: task.id }));
  }

  /** Rejects when it was refused. */
  retry(task: Task): Promise<void> {
    return this.#ask(task, "retrying", () => this.backend.call("task_retry", { task: task.id }));
  }

  async #ask(task: Task, kind: Pending, call: () => Promise<Task>): Promise<void> {
    if (pendingOf(task, this.pending.get())) return;
    this.pending.update((all) => ({ ...all, [task.id]: { kind, attempt: task.attempt } }));
    try {
      this.put(await call());
    } catch (reason) {
      this.pending.update((all) => without(all, task.id));
      throw toBackendError(reason);
    }
    // A recorded wish to cancel goes on until the state says so; a new attempt is there at once.
    if (kind === "retrying") this.pending.update((all) => without(all, task.id));
  }

  async #load(project: Id, listing: Listing): Promise<void> {
    do {
      listing.due = false;
      const asked_ms = Date.now();
      try {
        const listed = await this.#list(project);
        if (this.#listings.get(project) !== listing) return;
        this.#merge(project, listed, asked_ms);
        listing.first_ms ??= asked_ms;
      } catch (reason) {
        if (this.#listings.get(project) !== listing) return;
        const error = toBackendError(reason);
        this.state.update((all) => ({ ...all, [project]: { ...this.of(project), error } }));
      }
      if (listing.due) await new Promise((resolve) => setTimeout(resolve, LIST_PAUSE_MS));
    } while (listing.due);
  }

  async #list(project: Id): Promise<Task[]> {
    const newest = await this.backend.call("tasks_list", { project });
    if (newest.length < LIST_MAX) return newest;
    const live = await Promise.all((["awaiting_approval", "queued", "starting", "running"] as const).map((state) => this.backend.call("tasks_list", { project, state })));
    const known = new Set(newest.map(({ id }) => id));
    return [...newest, ...live.flat().filter(({ id }) => !known.has(id))];
  }

  async #show(project: Id, id: Id): Promise<void> {
    try {
      const task = await this.backend.call("task_show", { task: id });
      if (this.#listings.has(project)) this.#merge(project, [task]);
    } catch (reason) {
      if (toBackendError(reason).code !== "not_found") return this.load(project);
      const { tasks, ...rest } = this.of(project);
      this.state.update((all) => ({ ...all, [project]: { ...rest, tasks: tasks.filter((task) => task.id !== id) } }));
    }
  }

  /** Puts answers in place. With `asked_ms` they are the whole list: what is not in it is gone, unless it came after the question. */
  #merge(project: Id, fresh: readonly Task[], asked_ms: number | null = null): void {
    const old = this.of(project);
    const before = new Map(old.tasks.map((task) => [task.id, task]));
    const after = new Map(fresh.map((task) => [task.id, newer(before.get(task.id), task)]));
    for (const task of old.tasks) if (!after.has(task.id) && (asked_ms === null || task.created_ms >= asked_ms)) after.set(task.id, task);
    const since_ms = this.#listings.get(project)?.first_ms ?? null;
    const ended = [...after.values()].filter((task) => isNews(before.get(task.id), task, since_ms));
    const tasks = [...after.values()].sort((a, b) => b.created_ms - a.created_ms || (a.id < b.id ? 1 : -1));
    this.state.update((all) => ({ ...all, [project]: { tasks, loaded: old.loaded || asked_ms !== null, error: asked_ms === null ? old.error : null } }));
    this.#settlePending(after);
    if (ended.length > 0) this.ended(ended);
  }

  #settlePending(tasks: ReadonlyMap<Id, Task>): void {
    const settled = Object.keys(this.pending.get()).filter((id) => {
      const task = tasks.get(id);
      return task !== undefined && pendingOf(task, this.pending.get()) === null;
    });
    if (settled.length > 0) this.pending.update((all) => settled.reduce((rest, id) => without(rest, id), all));
  }
}

const RANK: Record<Task["state"], number> = {
  awaiting_approval: 0, queued: 1, starting: 2, running: 3, succeeded: 4, failed: 4, timed_out: 4, cancelled: 4, lost: 4,
};

/** Which of two answers about one task was given later. */
function newer(known: Task | undefined, fresh: Task): Task {
  if (!known || known.attempt < fresh.attempt) return fresh;
  return known.attempt > fresh.attempt || RANK[known.state] > RANK[fresh.state] ? known : fresh;
}

/** An attempt is over that was not known to be; of a task that was not known at all, only if it ended since the first look. */
function isNews(before: Task | undefined, after: Task, since_ms: number | null): boolean {
  if (!isOver(after) || since_ms === null) return false;
  if (before) return !isOver(before) || before.attempt !== after.attempt;
  return (after.ended_ms ?? 0) >= since_ms;
}

/** What is being asked of this attempt of the task and has not come about yet. */
export function pendingOf(task: Task, pending: PendingTasks): Pending | null {
  const asked = pending[task.id];
  if (!asked || asked.attempt !== task.attempt) return null;
  return asked.kind === "retrying" || !isOver(task) ? asked.kind : null;
}
