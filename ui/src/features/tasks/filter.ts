// Which tasks of a project the list shows, and in which order.

import type { Id, Task, TaskState } from "../../generated/api";
import { commandLine, taskName, taskOutcome } from "../../state/words";
import type { WorkState } from "../../state/work-state";

export type Chip = "queued" | "running" | "succeeded" | "failed" | "cancelled";

export const CHIPS: { chip: Chip; label: string; states: readonly TaskState[] }[] = [
  { chip: "running", label: "Running", states: ["starting", "running"] },
  { chip: "queued", label: "Queued", states: ["awaiting_approval", "queued"] },
  { chip: "succeeded", label: "Succeeded", states: ["succeeded"] },
  { chip: "failed", label: "Failed", states: ["failed", "timed_out", "lost"] },
  { chip: "cancelled", label: "Cancelled", states: ["cancelled"] },
];

export interface Filter { text: string; chips: ReadonlySet<Chip> }

export const NO_FILTER: Filter = { text: "", chips: new Set() };

/** What waits for the user comes first, then what is under way, then those that wait, the next one on top, then the ended, the latest on top. No chip means every state. */
export function filtered({ tasks, byState }: WorkState, { text, chips }: Filter, ownerOf: (owner: Id | null) => string): Task[] {
  const ordered = [
    ...[...byState.awaiting_approval].reverse(), ...byState.running, ...byState.starting, ...[...byState.queued].reverse(),
    ...tasks.filter((task) => RANKED.has(task.state)).sort((a, b) => (b.ended_ms ?? 0) - (a.ended_ms ?? 0)),
  ];
  const states = new Set(CHIPS.filter(({ chip }) => chips.has(chip)).flatMap((each) => each.states));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return ordered.filter((task) => {
    if (states.size > 0 && !states.has(task.state)) return false;
    if (words.length === 0) return true;
    const all = `${taskName(task)} ${commandLine(task)} ${ownerOf(task.owner)} ${taskOutcome(task)} ${task.id}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

const RANKED: ReadonlySet<TaskState> = new Set(["succeeded", "failed", "timed_out", "cancelled", "lost"]);
