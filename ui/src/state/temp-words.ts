// How the room that a run's temp directory takes is said to the user.

import type { Agent, TempUse } from "../generated/api";
import { byteSize, plain } from "../shared/text";
import { isLive } from "./words";

const COUNT = new Intl.NumberFormat("en");

export interface TempSaid {
  title: string;
  /** What happens next. */
  next: string;
  ending: boolean;
}

/** Whose it is: an agent that runs, an agent whose tasks still use it, or a task. */
export type TempOwner = "agent" | "tasks" | "task";

/** What the user should know of it; null while it is of an ordinary size. */
export function tempWords(name: string, owner: TempOwner, temp: TempUse | null | undefined): TempSaid | null {
  if (!temp || temp.level === "fine") return null;
  const whose = owner === "tasks" ? `The temp directory that ${name} left to its tasks` : `The temp directory of ${name}`;
  const title = `${whose} takes ${byteSize(temp.bytes)} in ${COUNT.format(temp.files)} ${temp.files === 1 ? "file" : "files"}.`;
  const most = `${byteSize(temp.max_bytes)} or ${COUNT.format(temp.max_files)} files`;
  if (temp.level === "end") {
    const who = owner === "agent" ? `${name} is being ended` : owner === "task" ? "the task is being cancelled" : "its tasks are being cancelled";
    return { title, next: `More than ${most} is too much: ${who}.`, ending: true };
  }
  const who = owner === "agent" ? `${name} is ended` : owner === "task" ? "the task is cancelled" : "its tasks are cancelled";
  return { title, next: `Beyond ${most}, ${who}.`, ending: false };
}

/** Of an agent, whether it still has its temp directory in its own hands or left it to its tasks. */
export function agentTemp(agent: Agent): TempSaid | null {
  return tempWords(plain(agent.name), isLive(agent.run) ? "agent" : "tasks", agent.temp);
}
