// How workdirs are said to the user.

import type { Task, Workdir } from "../generated/api";
import type { Tone } from "../shared/Dot";
import type { IconName } from "../shared/Icon";
import { plain, plural } from "../shared/text";
import type { WorkdirWork } from "./workdirs";

export const isGone = ({ state }: Pick<Workdir, "state">): boolean => state === "tombstoned";

/** Whether an archive brings it back. */
export const canRestore = (workdir: Workdir): boolean => isGone(workdir) && workdir.archive_ref !== null;

/** Whether work can be merged from it. One that was merged or given up and is still there was kept, or waits for its work. */
export const canMerge = ({ state }: Pick<Workdir, "state">): boolean => state === "active" || state === "merged" || state === "abandoned";

/** Whether git is at something that can be stopped. */
export const canStop = ({ state }: Pick<Workdir, "state">, busy: WorkdirWork | undefined): boolean => busy === "merging" || busy === "removing" || (busy === undefined && state === "removing");

/** A workdir's state as a word, a sign and a colour: each of the three says it. */
export function workdirState(workdir: Workdir, busy?: WorkdirWork): { word: string; tone: Tone; icon: IconName } {
  if (busy) return { word: `${busy}…`, tone: "busy", icon: "running" };
  switch (workdir.state) {
    case "creating": return { word: "being made", tone: "busy", icon: "running" };
    case "active": return { word: "active", tone: "ok", icon: "branch" };
    case "merged": return { word: "merged", tone: "ok", icon: "merge" };
    case "abandoned": return { word: "given up", tone: "off", icon: "cancelled" };
    case "removing": return { word: "being removed", tone: "busy", icon: "trash" };
    case "tombstoned": return { word: "gone", tone: "off", icon: "trash" };
  }
}

/** "3 commits ahead · 2 behind · not all committed"; empty when nothing was seen of it. */
export function workdirFacts(workdir: Workdir): string[] {
  const { ahead, behind, dirty, base_branch } = workdir;
  const base = plain(base_branch ?? "its base");
  if (ahead === null && dirty === null) return [];
  return [
    ahead === null ? "" : ahead === 0 ? "no commit yet" : `${plural(ahead, "commit")} ahead`,
    behind === null || behind === 0 ? "" : `${behind} behind ${base}`,
    dirty === true ? "not all committed" : "",
  ].filter(Boolean);
}

/**
 * How the set-up of a workdir stands, where it says something: one that went well says nothing new. Its task has the workdir's own id,
 * and is not there when the project's rules name no set-up.
 */
export function setUpWords(task: Task | undefined): { word: string; tone: "busy" | "attention" | "bad" } | null {
  switch (task?.state) {
    case undefined:
    case "succeeded": return null;
    case "awaiting_approval": return { word: "its set-up waits for your approval", tone: "attention" };
    case "queued": return { word: "its set-up is in line", tone: "busy" };
    case "starting":
    case "running": return { word: "it is being set up", tone: "busy" };
    case "cancelled": return { word: "its set-up was cancelled", tone: "attention" };
    case "failed":
    case "timed_out":
    case "lost": return { word: "its set-up failed", tone: "bad" };
  }
}

/** Whether it may go, in a word. */
export function verdictWord(verdict: string | null): { word: string; tone: "ok" | "attention" | "off" } | null {
  switch (verdict) {
    case "safe": return { word: "safe to remove", tone: "ok" };
    case "needs_consent": return { word: "holds work", tone: "attention" };
    case "blocked": return { word: "must stay", tone: "off" };
    default: return null;
  }
}
