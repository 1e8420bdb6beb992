// Words for numbers.

/** "just now", "2 min ago", "3 h ago", "4 days ago". */
export function ago(then_ms: number, now_ms: number): string {
  const seconds = Math.max(0, Math.floor((now_ms - then_ms) / 1000));
  if (seconds < 45) return "just now";
  const minutes = Math.max(1, Math.round(seconds / 60));
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return `${hours} h ago`;
  return `${Math.round(hours / 24)} days ago`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The last two parts of a path, so that a header has room for it; the whole path belongs into its tooltip. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

/** "0.4 s", "42 s", "3 min 05 s", "2 h 07 min", "3 days 4 h". */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${two(minutes % 60)} min`;
  return `${plural(Math.floor(hours / 24), "day")} ${hours % 24} h`;
}

/** "0 B", "812 B", "1.4 KiB", "64 MiB". */
export function byteSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1023.95 && unit < 4) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 99.95 ? Math.round(size) : Number(size.toFixed(1))} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]!}`;
}

const DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069";
const DIRECTION = new RegExp(`[${DIRECTIONS}]`, "g");
const UNWANTED = new RegExp(`[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029${DIRECTIONS}]+`, "g");

/**
 * Text of a program or a stranger on one line: without control characters, and without those that turn the direction of writing, by
 * which a line can be made to look like another.
 */
export function plain(text: string): string {
  return text.replace(UNWANTED, " ").trim();
}

/** Puts a visible sign in the place of each character that turns the direction of writing. */
export function showDirections(text: string): string {
  return text.replace(DIRECTION, "\ufffd");
}

const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/g;

/** A longer text of a program or a stranger, with its lines: what acts on a terminal is left out, what turns the direction of writing is shown. */
export function readable(text: string): string {
  return showDirections(text.replace(CONTROLS, ""));
}

/** An engine's advice as a sentence of the window: what is a command of `carillon` elsewhere has a place in it. */
export function advice(hint: string): string {
  const text = hint
    .replace(/`carillon workdirs list` shows/, "the list shows")
    .replace(/`carillon clean` shows/, "the report shows")
    .replace(/`carillon approvals list` shows/, "the list shows")
    .replace(/ with --into\b/, "")
    .replace(/(?:with|by) `carillon profile add`/, "in the Profiles tab")
    .replace(/with `carillon agent start [^`]*`/, "by its Start button");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Ids are for programs: of each the beginning is shown, by which a person can tell it from others. */
export function shortIds(text: string): string {
  return text.replace(/\b([0-9a-f]{8})[0-9a-f]{24}\b/g, "$1…");
}

/** With a capital letter at its beginning. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function clipped(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
