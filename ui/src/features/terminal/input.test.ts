import { describe, expect, it } from "vitest";
import type { BackendError } from "../../backend/backend";
import { InputQueue, PIECE_BYTES_MAX, pieceLength, WAITING_CHARS_MAX } from "./input";

function begin() {
  const writes: { data: string; done: () => void; fail: (reason: unknown) => void }[] = [];
  const failures: BackendError[] = [];
  const queue = new InputQueue((data) => new Promise<void>((done, fail) => writes.push({ data, done, fail })), (error) => failures.push(error));
  return { queue, writes, failures };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("the input queue", () => {
  it("keeps the order, and gathers what is typed while a write is under way", async () => {
    const { queue, writes } = begin();
    for (const key of "abcdef") queue.push(key);
    expect(writes.map(({ data }) => data)).toEqual(["a"]);
    writes[0]!.done();
    await settle();
    expect(writes.map(({ data }) => data)).toEqual(["a", "bcdef"]);
    queue.push("g");
    expect(writes.length).toBe(2);
    writes[1]!.done();
    await settle();
    expect(writes[2]!.data).toBe("g");
  });

  it("sends a large paste whole, in order, in pieces that fit, and never half a character", async () => {
    const { queue, writes } = begin();
    const paste = "ä€😀x".repeat(40_000);
    queue.push(paste);
    for (let at = 0; at < writes.length; at += 1) {
      writes[at]!.done();
      await settle();
    }
    expect(writes.map(({ data }) => data).join("")).toBe(paste);
    expect(writes.length).toBeGreaterThan(4);
    for (const { data } of writes) {
      expect(new TextEncoder().encode(data).length).toBeLessThanOrEqual(PIECE_BYTES_MAX);
      // Throws on half of a surrogate pair.
      expect(() => encodeURIComponent(data)).not.toThrow();
    }
  });

  it("drops what follows a write that failed, tells it once, and takes what is typed later", async () => {
    const { queue, writes, failures } = begin();
    queue.push("one");
    queue.push("two");
    writes[0]!.fail({ code: "failed", message: "gone", hint: null });
    await settle();
    expect(failures.map(({ message }) => message)).toEqual(["gone"]);
    expect(writes.length).toBe(1);
    queue.push("three");
    expect(writes[1]!.data).toBe("three");
  });

  it("refuses more than it may hold, and says nothing once it is closed", async () => {
    const { queue, writes, failures } = begin();
    expect(queue.push("x".repeat(WAITING_CHARS_MAX + 1))).toBe(false);
    queue.push("a");
    queue.close();
    writes[0]!.fail(new Error("the run ended"));
    await settle();
    queue.push("b");
    expect(failures).toEqual([]);
    expect(writes.length).toBe(1);
  });

  it("measures in bytes of UTF-8", () => {
    expect(pieceLength("a".repeat(PIECE_BYTES_MAX + 5))).toBe(PIECE_BYTES_MAX);
    expect(pieceLength("é".repeat(PIECE_BYTES_MAX))).toBe(PIECE_BYTES_MAX / 2);
    expect(pieceLength("😀".repeat(PIECE_BYTES_MAX))).toBe((PIECE_BYTES_MAX / 4) * 2);
  });
});
