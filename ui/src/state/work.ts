// The background tasks of all projects.

import { type Backend, toBackendError } from "../backend/backend";
import { type Change, type Id, type Task, TASKS_LISTED_MAX } from "../generated/api";
import { Listed, StaleIds } from "./listed";
import { Store } from "./store";
import { without } from "./view";
import { isOver, type Pending } from "./words";

export type PendingTasks = Readonly<Record<Id, { kind: Pending; attempt: number }>>;

export class Work extends Listed<Task> {
  /** What the user asked for and the state does not say yet. */
  readonly pending = new Store<PendingTasks>({});

  constructor(private readonly backend: Pick<Backend, "call">, ended: (tasks: Task[]) => void) {
    super(ended);
  }

  changed(changes: readonly Change[]): void {
    const stale = new StaleIds();
    for (const { tag, id, project } of changes) if (tag === "backgroundTaskChanged") stale.add(project, id);
    this.stale(stale);
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

  protected async list(project: Id): Promise<Task[]> {
    const newest = await this.backend.call("tasks_list", { project });
    if (newest.length < TASKS_LISTED_MAX) return newest;
    // Of a list that is cut, the tasks that are not over are asked for besides.
    const live = await Promise.all((["awaiting_approval", "queued", "starting", "running"] as const).map((state) => this.backend.call("tasks_list", { project, state })));
    const known = new Set(newest.map(({ id }) => id));
    return [...newest, ...live.flat().filter(({ id }) => !known.has(id))];
  }

  protected show(task: Id): Promise<Task> {
    return this.backend.call("task_show", { task });
  }

  /** An attempt only ever goes forward, so whichever says more about a task is the later. */
  protected later(known: Task, fresh: Task): Task {
    if (known.attempt < fresh.attempt) return fresh;
    return known.attempt > fresh.attempt || RANK[known.state] > RANK[fresh.state] ? known : fresh;
  }

  /** Each attempt has an end of its own. */
  protected isNews(before: Task | undefined, after: Task, since_ms: number): boolean {
    if (!isOver(after)) return false;
    return before ? !isOver(before) || before.attempt !== after.attempt : (after.ended_ms ?? 0) >= since_ms;
  }

  protected settle(tasks: ReadonlyMap<Id, Task>): void {
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

/** What is being asked of this attempt of the task and has not come about yet. */
export function pendingOf(task: Task, pending: PendingTasks): Pending | null {
  const asked = pending[task.id];
  if (!asked || asked.attempt !== task.attempt) return null;
  return asked.kind === "retrying" || !isOver(task) ? asked.kind : null;
}
