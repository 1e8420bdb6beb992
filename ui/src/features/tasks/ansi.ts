// A program's output made fit to be looked at. Colours and weights (SGR) are kept; every other control sequence, control character
// and C1 character is left out, and what turns the direction of writing is replaced by a sign. Nothing here draws.

import { showDirections } from "../../shared/text";

export interface Style {
  /** A number of the 256 colours, or "#rrggbb"; null is the usual one. */
  fg: number | string | null;
  bg: number | string | null;
  bold: boolean; dim: boolean; italic: boolean; underline: boolean; strike: boolean; inverse: boolean;
}

export interface Span { text: string; style: Style }

export const PLAIN: Style = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false };

const ESC = 0x1b;
const CSI = 0x9b;
/** Introducers of strings that end by BEL or ST: DCS, SOS, OSC, PM, APC as C1; their 7-bit forms are ESC and the same less 0x40. */
const isString = (c1: number) => c1 === 0x90 || c1 === 0x98 || c1 === 0x9d || c1 === 0x9e || c1 === 0x9f;

/** A line without any of these is shown as it is. */
const SPECIAL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

/** The end of the control sequence that begins at `at`; sequences never span lines. */
function sequenceEnd(line: string, at: number): number {
  let code = line.charCodeAt(at);
  let next = at + 1;
  if (code === ESC) {
    if (next >= line.length) return next;
    code = line.charCodeAt(next) + 0x40;
    if (code < 0x80 || code > 0x9f) {
      // ESC, intermediates, one final character: a character set, a saved cursor, a reset.
      while (next < line.length && line.charCodeAt(next) >= 0x20 && line.charCodeAt(next) <= 0x2f) next += 1;
      return Math.min(line.length, next + (isPrintable(line.charCodeAt(next)) ? 1 : 0));
    }
    next += 1;
  }
  if (code === CSI) {
    while (next < line.length && line.charCodeAt(next) >= 0x20 && line.charCodeAt(next) <= 0x3f) next += 1;
    const final = line.charCodeAt(next);
    return final >= 0x40 && final <= 0x7e ? next + 1 : next;
  }
  if (!isString(code)) return next;
  for (; next < line.length; next += 1) {
    const end = line.charCodeAt(next);
    if (end === 0x07 || end === 0x9c) return next + 1;
    if (end === ESC) return line[next + 1] === "\\" ? next + 2 : next;
  }
  return next;
}

const isPrintable = (code: number) => code >= 0x20 && code < 0x7f;

/** Walks over a line: stretches of text between control sequences, and the style that holds for each. Answers the style at the end. */
function walk(line: string, style: Style, text: (from: number, to: number, style: Style) => void): Style {
  let from = 0;
  let at = 0;
  while (at < line.length) {
    const code = line.charCodeAt(at);
    const control = (code < 0x20 && code !== 0x09) || (code >= 0x7f && code <= 0x9f);
    if (!control) {
      at += 1;
      continue;
    }
    if (at > from) text(from, at, style);
    const end = code === ESC || code === CSI || isString(code) ? sequenceEnd(line, at) : at + 1;
    const begin = code === CSI ? at + 1 : at + 2;
    if (line[end - 1] === "m" && (code === CSI || line[at + 1] === "[")) style = applySgr(style, line.slice(begin, end - 1));
    at = end;
    from = end;
  }
  if (at > from) text(from, at, style);
  return style;
}

/** The style after a line. */
export function styleAfter(line: string, style: Style): Style {
  return line.includes("\u001b") || line.includes("\u009b") ? walk(line, style, () => undefined) : style;
}

/** What of a line is shown, and how. */
export function spansOf(line: string, style: Style): Span[] {
  if (!SPECIAL.test(line)) return line === "" ? [] : [{ text: line, style }];
  const spans: Span[] = [];
  walk(line, style, (from, to, at) => {
    const text = shown(line.slice(from, to));
    const last = spans.at(-1);
    if (last?.style === at) last.text += text;
    else spans.push({ text, style: at });
  });
  return spans;
}

/** The text of a line alone. */
export function plainLine(line: string): string {
  if (!SPECIAL.test(line)) return line;
  let all = "";
  walk(line, PLAIN, (from, to) => {
    all += shown(line.slice(from, to));
  });
  return all;
}

const shown = (text: string) => showDirections(text).replace(/[\u2028\u2029]/g, " ");

/** What stands at the end of an output: its last line that is not blank. A carriage return begins the line anew, as on a terminal. */
export function lastLine(text: string): string {
  const lines = text.split("\n");
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const passes = lines[at]!.replace(/\r+$/, "").split("\r");
    const line = plainLine(passes.at(-1)!).trim();
    if (line !== "") return line;
  }
  return "";
}

function applySgr(style: Style, parameters: string): Style {
  if (!/^[0-9;:]*$/.test(parameters)) return style;
  const numbers = parameters.split(/[;:]/).map((word) => (word === "" ? 0 : Number(word)));
  const next = { ...style };
  for (let at = 0; at < numbers.length; at += 1) {
    const n = numbers[at]!;
    if (n === 38 || n === 48) {
      const [colour, used] = extendedColour(numbers, at + 1, parameters.includes(":"));
      if (colour !== null) next[n === 38 ? "fg" : "bg"] = colour;
      at += used;
    } else {
      set(next, n);
    }
  }
  return next;
}

function set(style: Style, n: number): void {
  if (n === 0) Object.assign(style, PLAIN);
  else if (n === 1) style.bold = true;
  else if (n === 2) style.dim = true;
  else if (n === 22) style.bold = style.dim = false;
  else if (n === 3 || n === 23) style.italic = n === 3;
  else if (n === 4 || n === 24) style.underline = n === 4;
  else if (n === 7 || n === 27) style.inverse = n === 7;
  else if (n === 9 || n === 29) style.strike = n === 9;
  else if (n >= 30 && n <= 37) style.fg = n - 30;
  else if (n >= 90 && n <= 97) style.fg = n - 82;
  else if (n >= 40 && n <= 47) style.bg = n - 40;
  else if (n >= 100 && n <= 107) style.bg = n - 92;
  else if (n === 39) style.fg = null;
  else if (n === 49) style.bg = null;
}

/** `5;n` or `2;r;g;b`; with colons there may be an empty colour space before the red. Answers how many numbers that took. */
function extendedColour(numbers: number[], at: number, colons: boolean): [number | string | null, number] {
  const byte = (n: number | undefined) => Math.min(255, Math.max(0, n ?? 0));
  if (numbers[at] === 5) return [byte(numbers[at + 1]), 2];
  if (numbers[at] !== 2) return [null, 0];
  const first = colons && numbers.length - at >= 5 ? at + 2 : at + 1;
  const rgb = [0, 1, 2].map((n) => byte(numbers[first + n]).toString(16).padStart(2, "0"));
  return [`#${rgb.join("")}`, first + 2 - at + 1];
}
