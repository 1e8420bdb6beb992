// How what is left behind is said to the user.

import type { ResidueApplied, ResidueKind, ResidueVerdict } from "../generated/api";
import { byteSize, plural } from "../shared/text";

/** In the order in which they are shown. */
export const KINDS: readonly { kind: ResidueKind; many: string; note: string }[] = [
  { kind: "temp", many: "Temp directories", note: "What runs wrote into their own temp directory." },
  { kind: "trash", many: "Trash", note: "What was judged before and is on its way out." },
  { kind: "log", many: "Logs", note: "What runs that are over have printed." },
  { kind: "run", many: "Run directories", note: "Records of runs that are on no list." },
  { kind: "worktree", many: "Worktrees", note: "Workdirs that are still there. They never go by themselves." },
  { kind: "husk", many: "Half-made worktrees", note: "What a creation left that was cut short." },
  { kind: "branch", many: "Branches", note: "Of workdirs that are gone." },
  { kind: "archive", many: "Archives", note: "What brings a workdir back. Once gone, it cannot be restored." },
  { kind: "process", many: "Processes", note: "Of runs that are over. Clearing them up ends them." },
];

export function kindWord(kind: ResidueKind): string {
  return KINDS.find((each) => each.kind === kind)?.many ?? kind;
}

export function verdictOf(verdict: ResidueVerdict): { word: string; tone: "ok" | "attention" | "off" } {
  switch (verdict) {
    case "safe": return { word: "safe", tone: "ok" };
    case "needs_consent": return { word: "your choice", tone: "attention" };
    case "blocked": return { word: "must stay", tone: "off" };
  }
}

/** "1.4 GiB", "at least 1.4 GiB" when not all of it was counted; nothing for what has no size. */
export function sizeOf({ bytes, counted }: { bytes: number; counted: boolean }): string {
  if (bytes === 0 && counted) return "";
  return counted ? byteSize(bytes) : `over ${byteSize(bytes)}`;
}

/** What came of a removal: "14 things are gone, and 1.2 GiB came free." */
export function outcomeWords(outcome: readonly ResidueApplied[], cancelled: boolean): string {
  const gone = outcome.filter(({ removed }) => removed);
  const freed = gone.reduce((sum, { freed_bytes }) => sum + freed_bytes, 0);
  const head = gone.length === 0 ? "Nothing was removed" : `${plural(gone.length, "thing")} ${gone.length === 1 ? "is" : "are"} gone${freed > 0 ? `, and ${byteSize(freed)} came free` : ""}`;
  const kept = outcome.length - gone.length;
  return `${cancelled ? "Broken off: " : ""}${cancelled ? head.charAt(0).toLowerCase() + head.slice(1) : head}.${kept > 0 ? ` ${plural(kept, "thing")} stayed.` : ""}`;
}
