// The part of a task's log that a view holds: a few megabytes of it, whatever the length of the whole. It begins at the end, goes on
// with the end while that is loaded, and fetches earlier and later pages when they are wanted. What falls out of the bounds is
// dropped at the side that is not looked at.

import { type Backend, type BackendError, toBackendError } from "../../backend/backend";
import type { Id, TaskOutput } from "../../generated/api";
import { Store } from "../../state/store";
import { plainLine, type Style } from "./ansi";
import { type Lines, linesOf } from "./lines";

export const PAGE_BYTES = 256 * 1024;
export const KEEP_BYTES = 4 * 1024 * 1024;
/** Rows have a height each, and no page can be of any height. */
export const KEEP_ROWS = 400_000;
/** A view that is this far behind a flood goes to its end instead of running after it. */
const BEHIND_BYTES = 1024 * 1024;
const WAIT_MS = 15_000;
const PAUSE_MS = 80;
const BACKOFF_MS = [250, 500, 1_000, 2_000, 5_000];
const NOT_FOUND_MAX = 4;
const MATCHES_MAX = 100_000;

interface Chunk {
  /** The stream's bytes from `offset` to `next` are here, or in the line that the chunk before left unfinished. */
  offset: number;
  next: number;
  text: string;
  lines: Lines;
  /** How much of the text's beginning is the unfinished line of the chunk before. */
  carried: number;
  /** Bytes before this chunk that are not kept by anybody. */
  gap: number;
}

export type Row = { kind: "line"; line: string; style: Style } | { kind: "gap"; bytes: number };

export interface LogState {
  kind: "loading" | "ready" | "retrying" | "gone";
  error: BackendError | null;
  /** Counts up whenever rows changed. */
  version: number;
  rows: number;
  /** The number of the first row. It goes down when rows come before it and up when they go, so a row keeps its number. */
  origin: number;
  /** Bytes of the stream, as far as is known. */
  total: number;
  /** There is more before and behind what is loaded. */
  earlier: boolean;
  later: boolean;
  /** Nothing will follow. */
  over: boolean;
  busy: "earlier" | "later" | null;
}

/** A place in a row, by the row's number. */
export interface Match { row: number; from: number; to: number }

export class TaskLog {
  readonly state = new Store<LogState>({
    kind: "loading", error: null, version: 0, rows: 0, origin: 0, total: 0, earlier: false, later: false, over: false, busy: null,
  });
  #chunks: Chunk[] = [];
  #closed = false;
  #paused = false;
  /** Whether the view stands at the end: then old rows may go, else the end may wait. */
  #atEnd = true;
  /** The end is not what comes next: there are pages between it and what is loaded, or there may be. */
  #detached = false;
  /** Changes whenever the chunks are thrown away, so that an answer from before is known to be useless. */
  #age = 0;
  #failures = 0;
  #wake: (() => void) | null = null;

  constructor(private readonly backend: Pick<Backend, "call">, private readonly task: Id) {}

  /** Loads the end and follows it until `close`; it never rejects. */
  async start(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#once();
        this.#failures = 0;
      } catch (reason) {
        if (this.#closed || (await this.#failed(toBackendError(reason)))) return;
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** A view that nobody sees asks for nothing. */
  pause(paused: boolean): void {
    this.#paused = paused;
    this.#wake?.();
  }

  setAtEnd(atEnd: boolean): void {
    if (this.#atEnd === atEnd) return;
    this.#atEnd = atEnd;
    this.#wake?.();
  }

  /** Throws away what is loaded and goes to the end. */
  async toEnd(): Promise<void> {
    this.setAtEnd(true);
    if (!this.#detached || this.state.get().busy) return;
    await this.#page("later", async (age) => {
      const page = await this.#ask({ tail: PAGE_BYTES, limit: PAGE_BYTES });
      if (age === this.#age) this.#replace(page, false);
    });
  }

  /** Throws away what is loaded, unless the beginning is in it, and loads the first page. */
  async toStart(): Promise<void> {
    const { earlier, busy } = this.state.get();
    if (!earlier || busy) return;
    await this.#page("earlier", async (age) => {
      const page = await this.#ask({ offset: 0, limit: PAGE_BYTES });
      if (age !== this.#age) return;
      this.#atEnd = false;
      this.#replace(page, isBehind(page));
    });
  }

  async loadEarlier(): Promise<void> {
    const { earlier, busy } = this.state.get();
    if (!earlier || busy) return;
    await this.#page("earlier", (age) => this.#earlier(age));
  }

  async loadLater(): Promise<void> {
    const { later, busy } = this.state.get();
    if (!later || busy) return;
    await this.#page("later", async (age) => {
      const page = await this.#ask({ offset: this.#next(), limit: PAGE_BYTES });
      if (age !== this.#age) return;
      this.#detached = isBehind(page);
      this.#append(page, true);
    });
  }

  row(index: number): Row | null {
    let at = index;
    for (const chunk of this.#chunks) {
      if (chunk.gap > 0) {
        if (at === 0) return { kind: "gap", bytes: chunk.gap };
        at -= 1;
      }
      const { start, end, style } = chunk.lines;
      if (at < start.length) return { kind: "line", line: chunk.text.slice(start[at], end[at]), style: style[at]! };
      at -= start.length;
    }
    return null;
  }

  /** Where a text stands in what is loaded, without regard to capitals. */
  search(text: string): Match[] {
    const wanted = text.toLowerCase();
    const matches: Match[] = [];
    if (wanted === "") return matches;
    let row = this.state.get().origin;
    for (const { gap, lines, text: all } of this.#chunks) {
      if (gap > 0) row += 1;
      for (let at = 0; at < lines.start.length; at += 1, row += 1) {
        const line = plainLine(all.slice(lines.start[at], lines.end[at])).toLowerCase();
        for (let from = line.indexOf(wanted); from >= 0; from = line.indexOf(wanted, from + wanted.length)) {
          matches.push({ row, from, to: from + wanted.length });
          if (matches.length >= MATCHES_MAX) return matches;
        }
      }
    }
    return matches;
  }

  /** What is kept in memory, for the tests of the bound. */
  get heldBytes(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.next - chunk.offset, 0);
  }

  // --- following ---

  async #once(): Promise<void> {
    if (this.#paused || (this.#chunks.length > 0 && (this.#detached || this.state.get().over))) return this.#sleep(null);
    const age = this.#age;
    if (this.#chunks.length === 0) {
      const page = await this.#ask({ tail: PAGE_BYTES, limit: PAGE_BYTES });
      if (age === this.#age) this.#replace(page, false);
      return;
    }
    const next = this.#next();
    const page = await this.#ask({ offset: next, limit: PAGE_BYTES, wait_ms: WAIT_MS });
    if (age !== this.#age || this.#closed || next !== this.#next()) return;
    if (this.#atEnd && page.total - page.next_offset > BEHIND_BYTES) {
      const end = await this.#ask({ tail: PAGE_BYTES, limit: PAGE_BYTES });
      if (age === this.#age) this.#replace(end, false);
      return this.#sleep(PAUSE_MS);
    }
    this.#append(page, this.#atEnd);
    // A breath for the drawing; and the beginning of a character alone is an answer at once, but no progress.
    await this.#sleep(PAUSE_MS);
  }

  async #failed(error: BackendError): Promise<boolean> {
    this.#failures += 1;
    if (error.code === "not_found" && this.#failures >= NOT_FOUND_MAX) {
      this.#update({ kind: "gone", error });
      return true;
    }
    if (error.code !== "not_found") this.#update({ kind: "retrying", error });
    await this.#sleep(BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length) - 1]!);
    return this.#closed;
  }

  #sleep(ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        if (timer !== null) clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      const timer = ms === null ? null : setTimeout(done, ms);
      this.#wake = done;
    });
  }

  // --- pages ---

  #ask(page: { offset?: number; limit?: number; tail?: number; wait_ms?: number }): Promise<TaskOutput> {
    return this.backend.call("task_output", { task: this.task, ...page });
  }

  /** One page at a time. A failure is shown, and the next wish tries again. */
  async #page(busy: "earlier" | "later", load: (age: number) => Promise<void>): Promise<void> {
    this.#update({ busy });
    try {
      await load(this.#age);
      this.#update({ busy: null, kind: "ready", error: null });
    } catch (reason) {
      this.#update({ busy: null, kind: "retrying", error: toBackendError(reason) });
    }
    this.#wake?.();
  }

  async #earlier(age: number): Promise<void> {
    const first = this.#chunks[0];
    if (!first) return;
    const asked = Math.max(0, first.offset - PAGE_BYTES);
    const pages = await this.#between(asked, first.offset);
    let before = pages;
    if (pages.length === 0 && asked > 0) {
      const head = await this.#headEnd(first.offset);
      before = head > 0 ? await this.#between(Math.max(0, head - PAGE_BYTES), head) : [];
    }
    if (age !== this.#age || this.#chunks[0] !== first) return;
    const rows = this.#rows();
    if (before.length > 0) this.#prepend(before, first.offset);
    else this.#chunks = [{ ...first, gap: first.offset }, ...this.#chunks.slice(1)];
    const origin = this.state.get().origin - (this.#rows() - rows);
    this.#trim("end");
    this.#changed({ origin });
  }

  /** What is kept from `from` to `to`. A page may be shorter than what was asked for. */
  async #between(from: number, to: number): Promise<TaskOutput[]> {
    const pages: TaskOutput[] = [];
    for (let at = from; at < to;) {
      let page = await this.#ask({ offset: at, limit: to - at });
      if (page.offset >= to) break;
      // Behind a gap the same length reaches too far.
      if (page.next_offset > to) page = { ...(await this.#ask({ offset: page.offset, limit: to - page.offset })), truncated: page.truncated };
      if (page.next_offset <= page.offset || page.next_offset > to) break;
      pages.push(at === from && from > 0 ? fromCharacter(page) : page);
      at = page.next_offset;
    }
    return pages;
  }

  /** Where the part ends that is kept from the beginning: the place before which nothing is missing, found by halving. */
  async #headEnd(below: number): Promise<number> {
    let kept = 0;
    let missing = below;
    while (missing - kept > 1) {
      const middle = Math.floor((kept + missing) / 2);
      const page = await this.#ask({ offset: middle, limit: 4 });
      if (page.truncated || page.offset >= below) missing = middle;
      else kept = middle;
    }
    return missing === 1 && (await this.#ask({ offset: 0, limit: 4 })).truncated ? 0 : missing;
  }

  #next(): number {
    return this.#chunks.at(-1)?.next ?? 0;
  }

  /** Throws away what is loaded and begins anew with this page. */
  #replace(page: TaskOutput, detached: boolean): void {
    this.#age += 1;
    this.#chunks = [chunkOf(page, page.offset)];
    this.#detached = detached;
    this.#changed({ total: page.total, over: page.over, kind: "ready", error: null });
  }

  /** Puts pages before all others. A line that one begins and the next ends is made whole. */
  #prepend(pages: TaskOutput[], upTo: number): void {
    let chunks: Chunk[] = [];
    for (const page of pages) chunks = joined(chunks, chunkOf(page, chunks.at(-1)?.next ?? page.offset));
    const [first, ...rest] = this.#chunks;
    const gap = gapOf(chunks.at(-1)!.next, upTo);
    this.#chunks = [...joined(chunks, { ...first!, gap }), ...rest];
  }

  #append(page: TaskOutput, trimStart: boolean): void {
    const last = this.#chunks.at(-1);
    this.#chunks = page.next_offset > page.offset ? joined(this.#chunks, chunkOf(page, last?.next ?? page.offset)) : this.#chunks;
    if (trimStart) this.#trim("start");
    // A view that reads farther up keeps what it reads, and within the bound: then the end is left for later.
    else if (this.heldBytes > KEEP_BYTES - PAGE_BYTES || this.#rows() > KEEP_ROWS / 2) this.#detached = true;
    this.#changed({ total: page.total, over: page.over, kind: "ready", error: null });
  }

  /** Keeps within the bounds by dropping whole chunks. */
  #trim(side: "start" | "end"): void {
    const rows = this.#rows();
    while (this.#chunks.length > 1 && (this.heldBytes > KEEP_BYTES || this.#rows() > KEEP_ROWS)) {
      this.#chunks = side === "start" ? withoutFirst(this.#chunks) : withoutLast(this.#chunks);
    }
    const dropped = rows - this.#rows();
    if (dropped === 0) return;
    if (side === "end") this.#detached = true;
    else this.#update({ origin: this.state.get().origin + dropped });
  }

  #changed(part: Partial<LogState>): void {
    const old = this.state.get();
    const first = this.#chunks[0];
    this.#update({
      ...part, rows: this.#rows(), version: old.version + 1, earlier: first !== undefined && first.offset > 0 && first.gap === 0, later: this.#detached,
    });
  }

  #rows(): number {
    return this.#chunks.reduce((sum, chunk) => sum + rowsOf(chunk), 0);
  }

  #update(part: Partial<LogState>): void {
    if (!this.#closed) this.state.update((state) => ({ ...state, ...part }));
  }
}

const rowsOf = (chunk: Chunk) => chunk.lines.start.length + (chunk.gap > 0 ? 1 : 0);

/** A page as a chunk that follows a place in the stream. What lies between the two is a gap only if the engine says that it is lost. */
function chunkOf(page: TaskOutput, follows: number): Chunk {
  return { offset: page.offset, next: page.next_offset, text: page.text, lines: linesOf(page.text), carried: 0, gap: page.truncated ? gapOf(follows, page.offset) : 0 };
}

/** A page that begins in the middle of a character begins with signs for its last bytes; these belong to the page before. */
function fromCharacter(page: TaskOutput): TaskOutput {
  const torn = page.truncated ? 0 : /^\ufffd{0,3}/.exec(page.text)![0].length;
  return { ...page, offset: page.offset + torn, text: page.text.slice(torn) };
}

const isBehind = (page: TaskOutput) => gapOf(page.next_offset, page.total) > 0;

/** Up to three bytes are the rest of a character that was cut, and nothing that anybody could miss. */
function gapOf(from: number, to: number): number {
  return to - from > 3 ? to - from : 0;
}

/** Adds a chunk. The unfinished last line of the one before moves into it, and a small one is put together with the one before. */
function joined(chunks: Chunk[], chunk: Chunk): Chunk[] {
  const last = chunks.at(-1);
  if (!last || chunk.gap > 0) return [...chunks, chunk];
  if (last.next - last.offset + (chunk.next - chunk.offset) <= PAGE_BYTES) {
    const text = last.text + chunk.text;
    return [...chunks.slice(0, -1), { ...last, next: chunk.next, text, lines: linesOf(text, last.lines.style[0]) }];
  }
  const { closed, open, openStyle } = last.lines;
  const head = last.text.slice(0, closed);
  const carried = last.text.slice(open);
  const text = carried + chunk.text;
  return [
    ...chunks.slice(0, -1),
    { ...last, text: head, lines: linesOf(head, last.lines.style[0]) },
    { ...chunk, text, lines: linesOf(text, openStyle), carried: carried.length },
  ];
}

/** What the second chunk had of the first one's last line goes, too: it comes again with that page. */
function withoutFirst([_, second, ...rest]: Chunk[]): Chunk[] {
  const text = second!.text.slice(second!.carried);
  return [{ ...second!, text, lines: linesOf(text, second!.lines.style[0]), carried: 0 }, ...rest];
}

/** The chunk before takes back the unfinished line that it gave away. */
function withoutLast(chunks: Chunk[]): Chunk[] {
  const last = chunks.at(-1)!;
  const before = chunks.at(-2)!;
  const text = before.text + last.text.slice(0, last.carried);
  return [...chunks.slice(0, -2), { ...before, text, lines: linesOf(text, before.lines.style[0]) }];
}
