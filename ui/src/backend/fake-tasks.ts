// Background tasks of the fake engine: a queue with two slots for each project, a log for each attempt, one message at each end.
// In tests a program does nothing by itself; in a browser it prints and ends like a real one.

import { type Change, type Id, type Task, TASKS_LISTED_MAX, type TaskState } from "../generated/api";
import { type Answer, BackendError, type Params } from "./backend";
import { FakeLog, type LogSource, pageOf } from "./fake-log";

export interface TasksHost {
  newId(): Id;
  changed(tag: Change["tag"], id: Id, project: Id): void;
  /** The root of a project; undefined when there is none. */
  rootOf(project: Id): string | undefined;
  /** Puts a message about the task into the agent's inbox. */
  tell(task: Task, agent: Id, text: string): void;
  ended(task: Task): void;
}

export type TaskEnd = Partial<Pick<Task, "exit_code" | "signal" | "reason">> & { state?: TaskState };

interface Entry { task: Task; log: LogSource; log_max: number | undefined; cancelled: boolean; waiting: Set<() => void> }

const encoder = new TextEncoder();
const isOver = ({ state }: Task) => state !== "queued" && state !== "starting" && state !== "running";

export class FakeTasks {
  slots = 2;
  /** Oldest first. */
  readonly #entries = new Map<Id, Entry>();

  constructor(private readonly host: TasksHost, private readonly live: boolean) {}

  // --- the door ---

  add({ project, owner, command, cwd, title, log_max, tty }: Params<"task_add">): Task {
    const root = project === undefined ? undefined : this.host.rootOf(project);
    if (project === undefined || root === undefined) throw new BackendError("not_found", "There is no such project.", null);
    if (command.length === 0) throw new BackendError("invalid", "A task needs a command.", "Type what is to be run.");
    const task: Task = {
      id: this.host.newId(), project, owner: owner ?? null, title: title ?? command.at(-1)!, command, cwd: cwd ?? root, state: "queued", exit_code: null, signal: null,
      reason: null, attempt: 1, joined_ask: null, log_bytes: 0, log_truncated: false, created_ms: Date.now(), started_ms: null, ended_ms: null, tty: tty ?? false,
      output_held: false, left_over: [],
    };
    this.#entries.set(task.id, { task, log: new FakeLog(log_max), log_max, cancelled: false, waiting: new Set() });
    this.#changed(task);
    this.#startNext(project);
    return this.show({ task: task.id });
  }

  list({ project, state }: Params<"tasks_list">): Task[] {
    return [...this.#entries.values()].map(({ task }) => task).reverse()
      .filter((task) => (project === undefined || task.project === project) && (state === undefined || task.state === state)).slice(0, TASKS_LISTED_MAX);
  }

  show({ task }: Params<"task_show">): Task {
    return this.#entry(task).task;
  }

  async output({ task, wait_ms = 0, ...page }: Params<"task_output">): Promise<Answer<"task_output">> {
    const { attempt } = this.#entry(task).task;
    const answer = () => {
      const entry = this.#entry(task);
      return pageOf(entry.log, isOver(entry.task), page);
    };
    let last = answer();
    while (wait_ms > 0 && last.next_offset <= (page.offset ?? 0) && !last.over && this.#entry(task).task.attempt === attempt) {
      const more = await moves(this.#entry(task).waiting, wait_ms);
      last = answer();
      if (!more) break;
    }
    return last;
  }

  cancel({ task }: Params<"task_cancel">): Task {
    const entry = this.#entry(task);
    if (isOver(entry.task)) throw new BackendError("refused", "The task is over already.", null);
    entry.cancelled = true;
    const how = { state: "cancelled" as const, reason: "cancelled by you" };
    if (entry.task.state === "queued") this.end(task, how);
    else if (this.live) setTimeout(() => !isOver(entry.task) && this.end(task, { ...how, signal: 15 }), 900);
    return this.show({ task });
  }

  retry({ task }: Params<"task_retry">): Task {
    const entry = this.#entry(task);
    if (!isOver(entry.task)) throw new BackendError("refused", "The task is not over yet.", "Cancel it first.");
    entry.log = new FakeLog(entry.log_max);
    entry.cancelled = false;
    this.#put(entry, {
      state: "queued", attempt: entry.task.attempt + 1, exit_code: null, signal: null, reason: null, log_bytes: 0, log_truncated: false, started_ms: null, ended_ms: null,
      output_held: false, left_over: [],
    });
    this.#startNext(entry.task.project);
    return this.show({ task });
  }

  // --- what tests do to it ---

  print(task: Id, text: string | Uint8Array): void {
    const entry = this.#entry(task);
    if (!(entry.log instanceof FakeLog)) throw new Error("This log is not written to.");
    entry.log.append(typeof text === "string" ? encoder.encode(text) : text);
    // As with the real engine, output alone is no change of the task.
    this.#measure(entry);
    this.#wake(entry);
  }

  end(task: Id, how: TaskEnd = {}): void {
    const entry = this.#entry(task);
    const exit_code = how.exit_code ?? (how.signal || how.state ? null : 0);
    const state = how.state ?? (exit_code === 0 ? "succeeded" : "failed");
    const reason = how.reason ?? (how.signal ? `killed by signal ${how.signal}` : exit_code === null ? null : `exited ${exit_code}`);
    this.#put(entry, { ...how, exit_code, state, reason, ended_ms: Date.now() });
    // The end of what an ask waits for is the ask's business.
    if (entry.task.joined_ask) this.host.ended(entry.task);
    else if (entry.task.owner) this.host.tell(entry.task, entry.task.owner, `Task ${entry.task.id} (${entry.task.title}) ${entry.task.reason ?? entry.task.state}.`);
    this.#startNext(entry.task.project);
  }

  /** Gives a task a log that was there before, for example one of two gigabytes. */
  setLog(task: Id, log: LogSource): void {
    const entry = this.#entry(task);
    entry.log = log;
    this.#measure(entry);
    this.#changed(entry.task);
  }

  /** Changes what is recorded of a task, without a rule. */
  set(task: Id, part: Partial<Task>): void {
    this.#put(this.#entry(task), part);
  }

  forgetProject(project: Id): void {
    for (const [id, { task }] of this.#entries) if (task.project === project) this.#entries.delete(id);
  }

  find(task: Id): Task | undefined {
    return this.#entries.get(task)?.task;
  }

  wasCancelled(task: Id): boolean {
    return this.#entry(task).cancelled;
  }

  // --- inside ---

  #startNext(project: Id): void {
    const all = [...this.#entries.values()].filter(({ task }) => task.project === project);
    let free = this.slots - all.filter(({ task }) => task.state === "starting" || task.state === "running").length;
    for (const entry of all) {
      if (free <= 0) return;
      if (entry.task.state !== "queued") continue;
      free -= 1;
      this.#put(entry, { state: this.live ? "starting" : "running", started_ms: Date.now() });
      if (this.live) this.#play(entry);
    }
  }

  /** A small shell: `sleep N` sleeps, `exit N` ends so after some output, and everything else prints for a while. */
  #play(entry: Entry): void {
    const { task: { id, attempt, command } } = entry;
    const line = command.at(-1)!;
    const seconds = Number(/sleep (\d+)/.exec(line)?.[1] ?? 0);
    const code = Number(/exit (\d+)/.exec(line)?.[1] ?? 0);
    const lines = /flood/.test(line) ? 4_000 : 24;
    const alive = () => entry.task.attempt === attempt && !isOver(entry.task);
    let printed = 0;
    const step = () => {
      if (!alive()) return;
      if (entry.task.state === "starting") this.#put(entry, { state: "running" });
      if (printed < lines && seconds === 0) {
        printed += 1;
        this.print(id, `\u001b[32m✓\u001b[0m step ${printed} of ${lines} \u001b[2m(${line.replace(/\s+/g, " ").slice(0, 40)})\u001b[0m\n`);
        setTimeout(step, lines > 100 ? 5 : 450);
      } else {
        this.end(id, { exit_code: code });
      }
    };
    setTimeout(step, 200);
    if (seconds > 0) setTimeout(step, seconds * 1000);
  }

  #measure(entry: Entry): void {
    entry.task = { ...entry.task, log_bytes: entry.log.end, log_truncated: entry.log.head < entry.log.tail };
  }

  #put(entry: Entry, part: Partial<Task>): void {
    entry.task = { ...entry.task, ...part };
    this.#changed(entry.task);
    this.#wake(entry);
  }

  #wake(entry: Entry): void {
    for (const wake of [...entry.waiting]) wake();
  }

  #changed(task: Task): void {
    this.host.changed("backgroundTaskChanged", task.id, task.project);
  }

  #entry(id: Id): Entry {
    const entry = this.#entries.get(id);
    if (!entry) throw new BackendError("not_found", "There is no such task.", "Its log may have been removed because of its age.");
    return entry;
  }
}

/** Resolves with true when something moved, and with false when the time has passed. */
function moves(waiting: Set<() => void>, wait_ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (moved: boolean) => {
      clearTimeout(timer);
      waiting.delete(wake);
      resolve(moved);
    };
    const wake = () => finish(true);
    const timer = setTimeout(() => finish(false), wait_ms);
    waiting.add(wake);
  });
}
