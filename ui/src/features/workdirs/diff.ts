// A difference as git prints it, line by line.

import type { WorkdirDiff } from "../../generated/api";
import { readable } from "../../shared/text";

export type LineKind = "file" | "meta" | "hunk" | "added" | "deleted" | "same";
export interface DiffLine { kind: LineKind; text: string }

/** Lines that are shown at most; a difference beyond is better read with git itself. */
export const LINES_MAX = 200_000;
/** Of one line so much is drawn. */
const CHARS_MAX = 2_000;

export interface ReadDiff {
  lines: DiffLine[];
  /** For each file of the list, the line at which it begins; -1 when it is not in the text. */
  starts: number[];
  cut: boolean;
}

export function readDiff({ text, files, truncated }: WorkdirDiff): ReadDiff {
  const raw = text.endsWith("\n") ? text.slice(0, -1).split("\n", LINES_MAX + 1) : text === "" ? [] : text.split("\n", LINES_MAX + 1);
  const lines: DiffLine[] = [];
  const heads = new Map<string, number>();
  const order: number[] = [];
  // Between the head of a file and its first hunk a line that begins with + or - is no change.
  let inHunk = false;
  for (const line of raw.slice(0, LINES_MAX)) {
    const kind = kindOf(line, inHunk);
    if (kind === "file") {
      inHunk = false;
      order.push(lines.length);
      const path = / b\/(.*)$/.exec(line)?.[1];
      if (path !== undefined) heads.set(path, lines.length);
    } else if (kind === "hunk") inHunk = true;
    lines.push({ kind, text: line.length > CHARS_MAX ? `${line.slice(0, CHARS_MAX)}…` : line });
  }
  const byOrder = order.length === files.length;
  const starts = files.map(({ path }, at) => heads.get(path) ?? (byOrder ? order[at]! : -1));
  return { lines, starts, cut: truncated || raw.length > LINES_MAX };
}

function kindOf(line: string, inHunk: boolean): LineKind {
  if (line.startsWith("diff --git ") || line.startsWith("diff --cc ")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (!inHunk) return "meta";
  switch (line[0]) {
    case "+": return "added";
    case "-": return "deleted";
    case "\\": return "meta";
    default: return "same";
  }
}

/** What is drawn of a line: nothing in it acts on the page or turns the direction. */
export function lineText({ kind, text }: DiffLine): string {
  if (kind === "file") return readable(/ b\/(.*)$/.exec(text)?.[1] ?? text);
  return readable(text) || " ";
}
