import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Size, SizeTeller } from "./size";

const size = (cols: number): Size => ({ cols, rows: 24 });

describe("telling a run its size", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function begin() {
    const sent: { cols: number; done: () => void; fail: () => void }[] = [];
    const teller = new SizeTeller(({ cols }) => new Promise<void>((done, fail) => sent.push({ cols, done, fail })));
    return { teller, sent, told: () => sent.map(({ cols }) => cols) };
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);

  it("sends one at a time, the newest, and none twice", async () => {
    const { teller, sent, told } = begin();
    for (const cols of [80, 90, 100]) teller.tell(size(cols));
    expect(told()).toEqual([80]);
    sent[0]!.done();
    await settle();
    expect(told()).toEqual([80, 100]);
    sent[1]!.done();
    await settle();
    teller.tell(size(100));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told()).toEqual([80, 100]);
  });

  it("tells a size again that was not taken, until it is", async () => {
    const { teller, sent, told } = begin();
    teller.tell(size(80));
    sent[0]!.fail();
    await settle();
    expect(told()).toEqual([80]);
    await vi.advanceTimersByTimeAsync(500);
    expect(told()).toEqual([80, 80]);
    sent[1]!.fail();
    await settle();
    teller.tell(size(120));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(told()).toEqual([80, 80, 120]);
    sent[2]!.done();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told()).toEqual([80, 80, 120]);
  });

  it("is quiet once it was stopped", async () => {
    const { teller, sent, told } = begin();
    teller.tell(size(80));
    teller.stop();
    sent[0]!.fail();
    await vi.advanceTimersByTimeAsync(60_000);
    teller.tell(size(90));
    expect(told()).toEqual([80]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
