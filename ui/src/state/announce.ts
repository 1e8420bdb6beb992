// Says that tasks came to their end while the user looked elsewhere. Those that end within a second are told together.

import type { Id, Task } from "../generated/api";
import { clipped, duration, plural } from "../shared/text";
import { taskName, taskOutcome } from "./words";

export interface Announcement {
  level: "error" | "info";
  title: string;
  hint: string | null;
  /** Where a click leads. */
  task: Task;
}

const GATHER_MS = 1000;
const NAME_CHARS = 80;

export class Announcer {
  #gathered: Task[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly nameOf: (project: Id) => string, private readonly tell: (news: Announcement) => void) {}

  add(tasks: readonly Task[]): void {
    if (tasks.length === 0) return;
    this.#gathered.push(...tasks);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.tell(announcementOf(this.#gathered.splice(0), this.nameOf));
    }, GATHER_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

const isTrouble = ({ state }: Task) => state === "failed" || state === "timed_out" || state === "lost";

export function announcementOf(tasks: readonly Task[], nameOf: (project: Id) => string): Announcement {
  const bad = tasks.find(isTrouble);
  const task = bad ?? tasks.at(-1)!;
  const level = bad ? "error" : "info";
  const project = nameOf(task.project);
  if (tasks.length === 1) return { level, task, title: `${clipped(taskName(task), NAME_CHARS)} ${VERBS[task.state]} in ${project}`, hint: details(task) };
  const projects = new Set(tasks.map((each) => each.project)).size;
  const counts = (Object.keys(VERBS) as Task["state"][])
    .map((state) => ({ state, count: tasks.filter((each) => each.state === state).length }))
    .filter(({ count }) => count > 0)
    .map(({ state, count }) => `${count} ${VERBS[state]!.replace(/^was /, "")}`);
  return { level, task, title: `${plural(tasks.length, "task")} ended in ${projects === 1 ? project : plural(projects, "project")}`, hint: counts.join(", ") };
}

const VERBS: Partial<Record<Task["state"], string>> = {
  succeeded: "succeeded", failed: "failed", timed_out: "timed out", lost: "was lost", cancelled: "was cancelled",
};

function details(task: Task): string | null {
  const after = task.started_ms !== null && task.ended_ms !== null ? `after ${duration(task.ended_ms - task.started_ms)}` : null;
  const outcome = taskOutcome(task);
  const how = outcome.replace(/^(failed|lost|cancelled|timed out|succeeded):? ?/, "");
  return [how, after].filter(Boolean).join(", ") || null;
}
