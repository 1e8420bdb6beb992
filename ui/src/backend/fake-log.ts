// Logs of the fake engine, and the rule by which a page is cut out of one: head and tail are kept, a page never spans the gap
// between them, and it ends at the border of a character. One that is asked for from the end begins at such a border, too; one that is
// asked for by its offset begins where it was asked to.

import type { TaskOutput } from "../generated/api";

const PAGE_BYTES = 256 * 1024;
const PAGE_BYTES_MAX = 1024 * 1024;

export interface LogSource {
  /** Bytes of the stream so far. Kept are those before `head` and those from `tail` on. */
  readonly end: number;
  readonly head: number;
  readonly tail: number;
  /** Kept bytes alone are asked for. */
  bytes(from: number, to: number): Uint8Array;
}

/** A log that is written to, and that keeps at most `max` bytes. */
export class FakeLog implements LogSource {
  #head = new Uint8Array(0);
  #tail = new Uint8Array(0);
  end = 0;

  constructor(private readonly max = 64 * 1024 * 1024) {}

  get head(): number {
    return this.#head.length;
  }

  get tail(): number {
    return this.end - this.#tail.length;
  }

  append(bytes: Uint8Array): void {
    const half = Math.floor(this.max / 2);
    // Once something was dropped the head has its final length.
    const room = this.#tail.length > 0 ? 0 : half - this.#head.length;
    this.#head = joined(this.#head, bytes.subarray(0, room));
    this.#tail = joined(this.#tail, bytes.subarray(room));
    if (this.#tail.length > half) this.#tail = this.#tail.slice(-half);
    this.end += bytes.length;
  }

  bytes(from: number, to: number): Uint8Array {
    if (from >= this.head) return this.#tail.slice(from - this.tail, to - this.tail);
    return joined(this.#head.slice(from, to), this.#tail.slice(0, Math.max(0, to - this.tail)));
  }
}

const encoder = new TextEncoder();
const LINE_BYTES = 64;

/** A log of any length that costs no memory: every line says its own number. */
export class CountingLog implements LogSource {
  constructor(readonly end: number, readonly head = end, readonly tail = end - Math.min(end, head)) {}

  bytes(from: number, to: number): Uint8Array {
    const first = Math.floor(from / LINE_BYTES);
    let text = "";
    for (let line = first; line * LINE_BYTES < to; line += 1) {
      text += `${line % 7 === 0 ? "\u001b[32mok\u001b[0m " : "..          "}line ${String(line).padStart(10, "0")} of a very long log`.padEnd(LINE_BYTES - 1, " ").slice(0, LINE_BYTES - 1) + "\n";
    }
    return encoder.encode(text).slice(from - first * LINE_BYTES, to - first * LINE_BYTES);
  }
}

export interface PageRequest { offset?: number; limit?: number; tail?: number }

export function pageOf(log: LogSource, over: boolean, { offset = 0, limit = PAGE_BYTES, tail }: PageRequest): TaskOutput {
  const asked = Math.min(log.end, tail === undefined ? offset : Math.max(0, log.end - tail));
  const hasGap = log.head < log.tail;
  const inGap = asked >= log.head && asked < log.tail;
  let from = inGap ? log.tail : asked;
  let to = Math.min(from + Math.min(limit, PAGE_BYTES_MAX), hasGap && from < log.head ? log.head : log.end);
  let bytes = log.bytes(from, to);
  const late = tail !== undefined && from > 0 && !(hasGap && from === log.tail) ? leadingRest(bytes) : 0;
  from += late;
  bytes = bytes.subarray(late);
  const last = to === log.end && over;
  if (!last && !(hasGap && to === log.head)) {
    const kept = bytes.length - trailingStart(bytes);
    bytes = bytes.subarray(0, kept);
    to = from + kept;
  }
  return { offset: from, next_offset: to, total: log.end, truncated: inGap, text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), over: over && to === log.end };
}

/** How many bytes at the beginning belong to a character that began before. */
function leadingRest(bytes: Uint8Array): number {
  let count = 0;
  while (count < 3 && count < bytes.length && (bytes[count]! & 0xc0) === 0x80) count += 1;
  return count;
}

/** How many bytes at the end begin a character that is not complete. */
function trailingStart(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
