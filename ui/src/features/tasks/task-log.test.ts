import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError } from "../../backend/backend";
import { emptyWorld, FakeBackend } from "../../backend/fake";
import { CountingLog, FakeLog, pageOf } from "../../backend/fake-log";
import { plainLine } from "./ansi";
import { KEEP_BYTES, KEEP_ROWS, PAGE_BYTES, TaskLog } from "./task-log";
import { watchTail } from "./tail";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

function begin(log_max?: number) {
  const backend = new FakeBackend({ ...emptyWorld(), projects: [{ id: "p", name: "atlas", root: "/atlas" }] });
  const task = backend.tasks.add({ project: "p", command: ["sh", "-c", "x"], log_max }).id;
  const log = new TaskLog(backend, task);
  const row = (at: number) => {
    const found = log.row(at)!;
    return found.kind === "gap" ? `gap ${found.bytes}` : plainLine(found.line);
  };
  const rows = () => Array.from({ length: log.state.get().rows }, (_, at) => row(at));
  const start = async () => {
    void log.start();
    await settle();
  };
  return { backend, task, log, row, rows, start };
}

const settle = () => vi.advanceTimersByTimeAsync(100);
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `line ${from + n}\n`).join("");

describe("a log", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("begins at its end and follows, with one question under way", async () => {
    const { backend, task, log, rows, start } = begin();
    backend.tasks.print(task, "one\ntw");
    await start();
    expect(rows()).toEqual(["one", "tw"]);
    backend.tasks.print(task, "o\nthree\n");
    await settle();
    expect(rows()).toEqual(["one", "two", "three"]);
    expect(log.state.get()).toMatchObject({ over: false, later: false, earlier: false, total: 14 });
    backend.tasks.end(task);
    await settle();
    expect(log.state.get().over).toBe(true);
    const calls = backend.countOf("task_output");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(backend.countOf("task_output")).toBe(calls);
  });

  it("shows a character whole whose bytes came apart, and what is none as a sign", async () => {
    const { backend, task, log, rows, start } = begin();
    const bytes = new TextEncoder().encode("aé😀b");
    await start();
    for (const byte of bytes) {
      backend.tasks.print(task, new Uint8Array([byte]));
      await settle();
      expect(rows().join("")).not.toContain("\ufffd");
    }
    expect(rows()).toEqual(["aé😀b"]);
    backend.tasks.print(task, new Uint8Array([0xff, 0x0a, 0xe2, 0x82]));
    backend.tasks.end(task);
    await settle();
    expect(rows()).toEqual(["aé😀b\ufffd", "\ufffd"]);
    expect(log.state.get().over).toBe(true);
  });

  it("of two gigabytes is there at once, pages both ways, and never holds more than its bound", async () => {
    const { backend, task, log, row, rows, start } = begin();
    backend.tasks.setLog(task, new CountingLog(2 * GIB));
    backend.tasks.end(task);
    await start();
    expect(backend.countOf("task_output")).toBe(1);
    expect(rows().at(-1)).toMatch(/line 0033554431 /);
    const shown = new Set<string>();
    for (let page = 0; page < 40; page += 1) {
      const origin = log.state.get().origin;
      const first = row(0);
      await log.loadEarlier();
      // What was the first row has kept its number.
      expect(row(origin - log.state.get().origin)).toBe(first);
      expect(log.heldBytes).toBeLessThanOrEqual(KEEP_BYTES);
      shown.add(row(0));
    }
    expect(shown.size).toBe(40);
    expect(log.state.get()).toMatchObject({ earlier: true, later: true });
    const numbers = rows().map((row) => Number(/line (\d+)/.exec(row)![1]));
    expect(numbers.every((number, at) => at === 0 || number === numbers[at - 1]! + 1)).toBe(true);
    for (let page = 0; page < 30; page += 1) {
      const { origin, rows: count } = log.state.get();
      const last = row(count - 1);
      await log.loadLater();
      expect(row(origin + count - 1 - log.state.get().origin)).toBe(last);
      expect(log.heldBytes).toBeLessThanOrEqual(KEEP_BYTES);
    }
    await log.toEnd();
    expect(rows().at(-1)).toMatch(/line 0033554431 /);
    await log.toStart();
    expect(row(0)).toMatch(/line 0000000000 /);
    expect(log.state.get()).toMatchObject({ earlier: false, later: true });
  });

  it("says where output is not kept, and goes on before the gap", async () => {
    const { backend, task, log, rows, start } = begin();
    backend.tasks.setLog(task, new CountingLog(2 * GIB, 3 * MIB + 17, 2 * GIB - PAGE_BYTES - 64_000));
    backend.tasks.end(task);
    await start();
    await log.loadEarlier();
    expect(rows().some((row) => row.startsWith("gap"))).toBe(false);
    const calls = backend.countOf("task_output");
    await log.loadEarlier();
    expect(backend.countOf("task_output") - calls).toBeLessThan(40);
    const gap = rows().findIndex((row) => row.startsWith("gap"));
    expect(rows()[gap]).toBe(`gap ${2 * GIB - PAGE_BYTES - 64_000 - (3 * MIB + 17)}`);
    // The head ends within line 49152.
    expect(rows()[gap - 2]).toMatch(/line 0000049151 /);
    expect(rows()[gap + 2]).toMatch(/line 00335493/);
    for (let page = 0; page < 20; page += 1) await log.loadEarlier();
    expect(rows()[0]).toMatch(/line 0000000000 /);
    expect(log.state.get().earlier).toBe(false);
    expect(log.heldBytes).toBeLessThanOrEqual(KEEP_BYTES);
  });

  it("whose beginning is not kept says so at its first row", async () => {
    const { backend, task, log, rows, start } = begin();
    backend.tasks.setLog(task, { ...plainSource(new CountingLog(10 * MIB)), head: 0, tail: 10 * MIB - 1000 });
    backend.tasks.end(task);
    await start();
    await log.loadEarlier();
    expect(rows()[0]).toBe(`gap ${10 * MIB - 1000}`);
    expect(log.state.get().earlier).toBe(false);
  });

  it("goes to the end of a flood instead of running after it, and keeps within its bound", async () => {
    const { backend, task, log, rows, start } = begin();
    await start();
    for (let burst = 0; burst < 30; burst += 1) {
      backend.tasks.print(task, numbered(burst * 100_000, burst * 100_000 + 30_000));
      await settle();
      expect(log.heldBytes).toBeLessThanOrEqual(KEEP_BYTES);
      expect(log.state.get().rows).toBeLessThanOrEqual(KEEP_ROWS);
    }
    await vi.advanceTimersByTimeAsync(5_000);
    expect(rows().at(-1)).toBe("line 2929999");
    backend.tasks.print(task, "x\n".repeat(2 * MIB));
    backend.tasks.print(task, "the end");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(rows().at(-1)).toBe("the end");
    expect(log.state.get().rows).toBeLessThanOrEqual(KEEP_ROWS);
  });

  it("lets the end wait while one reads farther up", async () => {
    const { backend, task, log, rows, start } = begin();
    backend.tasks.print(task, numbered(0, 100));
    await start();
    log.setAtEnd(false);
    for (let burst = 0; burst < 60; burst += 1) {
      backend.tasks.print(task, `${"z".repeat(99)}\n`.repeat(1_500));
      await settle();
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(rows()[0]).toBe("line 0");
    expect(log.state.get()).toMatchObject({ origin: 0, later: true });
    expect(log.heldBytes).toBeLessThanOrEqual(KEEP_BYTES);
    backend.tasks.print(task, "the end");
    log.setAtEnd(true);
    for (let page = 0; page < 60 && log.state.get().later; page += 1) await log.loadLater();
    await settle();
    expect(rows().at(-1)).toBe("the end");
  });

  it("puts lines together that two pages share, also after one of the pages was dropped", async () => {
    const { backend, task, log, rows, start } = begin();
    const line = (n: number) => `${String(n).padStart(6, "0")} ${"é".repeat(496)}\n`;
    const text = Array.from({ length: 9_000 }, (_, n) => line(n)).join("");
    backend.tasks.print(task, text);
    backend.tasks.end(task);
    await start();
    while (log.state.get().earlier) await log.loadEarlier();
    const whole = () => {
      const all = rows();
      return all.every((row, at) => at === 0 || at === all.length - 1 || row === line(Number(row.slice(0, 6))).trimEnd());
    };
    expect(rows()[0]).toBe(line(0).trimEnd());
    expect(whole()).toBe(true);
    while (log.state.get().later) await log.loadLater();
    expect(whole()).toBe(true);
    expect(rows().at(-1)).toBe(line(8_999).trimEnd());
    while (log.state.get().earlier) await log.loadEarlier();
    expect(whole()).toBe(true);
    expect(rows()[0]).toBe(line(0).trimEnd());
  });

  it("has no torn character where its pages meet, wherever they are cut", async () => {
    for (const lead of ["", "a", "ab", "abc"]) {
      const { backend, task, log, rows, start } = begin();
      backend.tasks.print(task, `${lead}${"😀é—".repeat(120)}\n`.repeat(900));
      backend.tasks.end(task);
      await start();
      while (log.state.get().earlier) await log.loadEarlier();
      expect(log.state.get().rows).toBe(900);
      expect(rows().filter((row) => row !== `${lead}${"😀é—".repeat(120)}`)).toEqual([]);
    }
  });

  it("of a progress bar is one row, however long it goes on", async () => {
    const { backend, task, log, rows, start } = begin();
    await start();
    for (let n = 0; n < 40; n += 1) {
      backend.tasks.print(task, Array.from({ length: 1_000 }, (_, at) => `\r\u001b[K${n * 1000 + at} of 40000`).join(""));
      await settle();
    }
    expect(rows().at(-1)).toBe("39999 of 40000");
    expect(rows().length).toBeLessThan(8);
    expect(log.heldBytes).toBeLessThanOrEqual(KEEP_BYTES);
  });

  it("is tried again with longer pauses when it does not answer, and is gone when it is not there", async () => {
    const { backend, task, log, rows, start } = begin();
    backend.tasks.print(task, "one\n");
    backend.failNext("task_output", new BackendError("failed", "no engine", "Start it."));
    await start();
    expect(log.state.get()).toMatchObject({ kind: "retrying", error: { message: "no engine" } });
    await vi.advanceTimersByTimeAsync(300);
    expect(log.state.get()).toMatchObject({ kind: "ready", error: null });
    expect(rows()).toEqual(["one"]);
    log.close();
    const gone = new TaskLog(backend, "nothing");
    void gone.start();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(gone.state.get()).toMatchObject({ kind: "gone", error: { message: "There is no such task." } });
  });

  it("asks for nothing while nobody sees it", async () => {
    const { backend, task, log, rows, start } = begin();
    log.pause(true);
    await start();
    expect(backend.countOf("task_output")).toBe(0);
    backend.tasks.print(task, "one\n");
    log.pause(false);
    await settle();
    expect(rows()).toEqual(["one"]);
  });

  it("is searched without regard to capitals and control sequences", async () => {
    const { backend, task, log, start } = begin();
    backend.tasks.print(task, "one Two\n\u001b[1mT\u001b[0mWO two\n");
    await start();
    expect(log.search("two")).toEqual([{ row: 0, from: 4, to: 7 }, { row: 1, from: 0, to: 3 }, { row: 1, from: 4, to: 7 }]);
    expect(log.search("")).toEqual([]);
  });
});

const plainSource = (log: CountingLog) => ({ end: log.end, head: log.head, tail: log.tail, bytes: (from: number, to: number) => log.bytes(from, to) });

describe("the tail of a task", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is the last line, renewed when there is more, and at most twice a second", async () => {
    vi.stubGlobal("document", { hidden: false });
    const { backend, task } = begin();
    const shown: string[] = [];
    const stop = watchTail(backend, task, ({ line }) => shown.push(line));
    await settle();
    for (let n = 0; n < 20; n += 1) {
      backend.tasks.print(task, `\u001b[32mstep ${n}\u001b[0m\n`);
      await vi.advanceTimersByTimeAsync(100);
    }
    await vi.advanceTimersByTimeAsync(600);
    expect(shown.at(-1)).toBe("step 19");
    expect(shown.length).toBeLessThan(8);
    backend.tasks.end(task);
    await vi.advanceTimersByTimeAsync(2_000);
    const calls = backend.countOf("task_output");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(backend.countOf("task_output")).toBe(calls);
    stop();
    vi.unstubAllGlobals();
  });
});

describe("a page of the fake log", () => {
  it("keeps head and tail, and says where it jumped", () => {
    const log = new FakeLog(20);
    log.append(new TextEncoder().encode("0123456789abcdefghijKLMNOPQRST"));
    expect([log.head, log.tail, log.end]).toEqual([10, 20, 30]);
    expect(pageOf(log, true, { offset: 4 })).toEqual({ offset: 4, next_offset: 10, total: 30, truncated: false, text: "456789", over: false });
    expect(pageOf(log, true, { offset: 10 })).toEqual({ offset: 20, next_offset: 30, total: 30, truncated: true, text: "KLMNOPQRST", over: true });
    expect(pageOf(log, true, { tail: 4 })).toMatchObject({ offset: 26, text: "QRST", truncated: false });
  });

  it("begins and ends at the border of a character", () => {
    const log = new FakeLog();
    log.append(new TextEncoder().encode("aé😀"));
    expect(pageOf(log, false, { tail: 5 })).toMatchObject({ offset: 3, text: "😀", next_offset: 7 });
    expect(pageOf(log, false, { offset: 2 })).toMatchObject({ offset: 2, text: "\ufffd😀", next_offset: 7 });
    expect(pageOf(log, false, { offset: 0, limit: 5 })).toMatchObject({ text: "aé", next_offset: 3 });
    log.append(new Uint8Array([0xf0, 0x9f]));
    expect(pageOf(log, false, { offset: 7 })).toMatchObject({ text: "", next_offset: 7, over: false });
    expect(pageOf(log, true, { offset: 7 })).toMatchObject({ text: "\ufffd", next_offset: 9, over: true });
  });
});
