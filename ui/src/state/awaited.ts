// What an agent waits for, by name.

import { useMemo } from "react";
import type { Agent, Id } from "../generated/api";
import { clipped, plain } from "../shared/text";
import { useApp } from "./app";
import { calleeName, countWork } from "./ask-words";
import { useStore } from "./store";
import { taskName } from "./words";

export interface Awaited { id: Id; kind: "task" | "ask"; name: string }

const NAME_CHARS = 60;

/** `words` is null when the agent waits for nothing. */
export function useAwaited(agent: Agent): { words: string | null; awaited: readonly Awaited[] } {
  const app = useApp();
  const asks = useStore(app.asks.state)[agent.project];
  const tasks = useStore(app.work.state)[agent.project];
  return useMemo(() => {
    const awaited = agent.waiting_on.map((id): Awaited => {
      const ask = asks?.items.find((each) => each.id === id);
      if (ask) return { id, kind: "ask", name: `${calleeName(ask)}: ${clipped(plain(ask.prompt), NAME_CHARS)}` };
      const task = tasks?.items.find((each) => each.id === id);
      return { id, kind: "task", name: task ? clipped(taskName(task), NAME_CHARS) : `task ${id.slice(0, 8)}` };
    });
    return { awaited, words: awaited.length === 0 ? null : `waiting for ${countWork(awaited.map(({ kind }) => kind))}` };
  }, [agent.waiting_on, asks, tasks]);
}
