// Where the lines of a stretch of output are. The text itself is kept as it came: a line is two numbers into it and the style that
// holds at its beginning, so that megabytes of output cost little more than themselves.

import { PLAIN, type Style, styleAfter } from "./ansi";

/** A line without an end would otherwise be one row of any length. */
export const LINE_CHARS_MAX = 2_000;

export interface Lines {
  /** In characters of the text, without the line's end. */
  start: number[];
  end: number[];
  style: Style[];
  /** Where the rows end that nothing can change any more. */
  closed: number;
  /** Where the row that is not ended begins, and the style there: what follows in the stream belongs to it. */
  open: number;
  openStyle: Style;
}

export function linesOf(text: string, style: Style = PLAIN): Lines {
  const lines: Lines = { start: [], end: [], style: [], closed: 0, open: 0, openStyle: style };
  // Looking for these is fast, and in most lines there are none.
  let escape = find(text, "\u001b", 0);
  let csi = find(text, "\u009b", 0);
  let carriage = find(text, "\r", 0);
  let at = 0;
  for (;;) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    if (newline < 0 && at >= end) break;
    if (escape < at) escape = find(text, "\u001b", at);
    if (csi < at) csi = find(text, "\u009b", at);
    if (carriage < at) carriage = find(text, "\r", at);
    const plain = escape >= end && csi >= end;
    style = addLine(lines, text, { from: at, to: end, plain, carriage: carriage < end, open: newline < 0 }, style);
    if (newline < 0) return lines;
    at = end + 1;
    lines.closed = lines.open = at;
    lines.openStyle = style;
  }
  return lines;
}

function find(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at < 0 ? Infinity : at;
}

/** A line of the stream: without control sequences where it is plain, and without an end where it is open. */
interface Line { from: number; to: number; plain: boolean; carriage: boolean; open: boolean }

/** Adds one line: as one row, or as several when it is very long. */
function addLine(lines: Lines, text: string, { from, to, plain, carriage, open }: Line, style: Style): Style {
  let end = to;
  while (end > from && text.charCodeAt(end - 1) === 0x0d) end -= 1;
  // A carriage return begins the line anew, as on a terminal: of a progress bar, its last state is what there is to see.
  const passed = carriage ? text.lastIndexOf("\r", end - 1) : -1;
  let start = passed >= from ? passed + 1 : from;
  if (!plain && start > from) style = styleAfter(text.slice(from, start), style);
  if (open) {
    lines.open = start;
    lines.openStyle = style;
  }
  while (end - start > LINE_CHARS_MAX) {
    const cut = plain ? beforeCharacter(text, start + LINE_CHARS_MAX) : beforeSequence(text, start, start + LINE_CHARS_MAX);
    push(lines, start, cut, style);
    if (!plain) style = styleAfter(text.slice(start, cut), style);
    start = cut;
    if (open) {
      lines.closed = lines.open = start;
      lines.openStyle = style;
    }
  }
  push(lines, start, end, style);
  return plain ? style : styleAfter(text.slice(start, end), style);
}

function push(lines: Lines, start: number, end: number, style: Style): void {
  lines.start.push(start);
  lines.end.push(end);
  lines.style.push(style);
}

function beforeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

const SEQUENCE_CHARS_MAX = 64;

/** A cut in the middle of a control sequence would show its rest as text, so the cut goes before one that begins shortly before. */
function beforeSequence(text: string, start: number, at: number): number {
  const from = Math.max(start + 1, at - SEQUENCE_CHARS_MAX);
  const near = text.slice(from, at);
  const begun = Math.max(near.lastIndexOf("\u001b"), near.lastIndexOf("\u009b"));
  return begun < 0 ? beforeCharacter(text, at) : from + begun;
}
