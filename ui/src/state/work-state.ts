// What a project has under way, as the panel, the badges and the sidebar need it. It lives on the change feed: a change of a task
// (backgroundTaskChanged) renews the tasks, one of an inbox or a wake (agentInboxChanged, agentWakeChanged) the agents.

import { useMemo } from "react";
import type { BackendError } from "../backend/backend";
import { type Agent, type Id, type Task, TASKS_LISTED_MAX, type TaskState } from "../generated/api";
import { useApp } from "./app";
import { nothing, type ProjectList } from "./listed";
import { useQuery } from "./query";
import { useStore } from "./store";
import { isOver } from "./words";

export interface AgentWork {
  /** Tasks of the agent that wait for their turn. */
  queued: number;
  /** Tasks of the agent that ended since its pane was last looked at. */
  ended: number;
  /** Messages that wait in its inbox. */
  inbox: number;
}

export interface WorkState {
  /** Newest first. */
  tasks: readonly Task[];
  byState: Readonly<Record<TaskState, readonly Task[]>>;
  /** Starting or running. */
  running: number;
  queued: number;
  agents: ReadonlyMap<Id, AgentWork>;
  /** The place of each queued task in its project's line; the next one has the place 1. Empty when more wait than the window knows of. */
  places: ReadonlyMap<Id, number>;
  loaded: boolean;
  error: BackendError | null;
}

const NO_AGENTS: readonly Agent[] = [];
const NOTHING_SEEN: Readonly<Record<Id, number>> = {};
export const NO_WORK: AgentWork = { queued: 0, ended: 0, inbox: 0 };

export function useProjectWorkState(project: Id): WorkState {
  const app = useApp();
  const known = useStore(app.work.state)[project] ?? nothing<Task>();
  const agents = useQuery(app.agents).data ?? NO_AGENTS;
  const seen = useStore(app.layouts.state)[project]?.tasks_seen ?? NOTHING_SEEN;
  return useMemo(() => workStateOf(known, agents.filter((agent) => agent.project === project), seen), [known, agents, seen, project]);
}

export function workStateOf({ items: tasks, loaded, error }: ProjectList<Task>, agents: readonly Agent[], seen: Readonly<Record<Id, number>>): WorkState {
  const byState: Record<TaskState, Task[]> = { awaiting_approval: [], queued: [], starting: [], running: [], succeeded: [], failed: [], timed_out: [], cancelled: [], lost: [] };
  const ofAgents = new Map(agents.map((agent) => [agent.id, { queued: 0, ended: 0, inbox: agent.queued }]));
  for (const task of tasks) {
    byState[task.state].push(task);
    const owner = task.owner === null ? undefined : ofAgents.get(task.owner);
    if (!owner) continue;
    if (task.state === "queued") owner.queued += 1;
    if (isOver(task) && (task.ended_ms ?? 0) > (seen[task.owner!] ?? 0)) owner.ended += 1;
  }
  const line = byState.queued.length < TASKS_LISTED_MAX ? [...byState.queued].reverse() : [];
  return {
    tasks, byState, running: byState.starting.length + byState.running.length, queued: byState.queued.length, agents: ofAgents,
    places: new Map(line.map((task, index) => [task.id, index + 1])), loaded, error,
  };
}
