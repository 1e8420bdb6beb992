import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Backend } from "../../backend/backend";
import { BackendError } from "../../backend/backend";
import type { TurnEvent, TurnEvents } from "../../generated/api";
import { STEPS_MAX, TurnWatch } from "./turn-watch";

const text = (words: string): TurnEvent => ({ kind: "text", name: null, text: words });
const tool = (words: string): TurnEvent => ({ kind: "tool", name: "Read", text: words });

function watch(pages: (Partial<TurnEvents> | BackendError)[]) {
  const asked: { offset: number; wait_ms: number }[] = [];
  const call = async (_method: string, params: { offset: number; wait_ms: number }) => {
    asked.push(params);
    const page = pages.shift();
    if (page instanceof BackendError) throw page;
    if (page) return { events: [], next_offset: params.offset, over: false, ...page };
    return new Promise(() => undefined);
  };
  const turn = new TurnWatch({ call } as unknown as Pick<Backend, "call">, "t");
  turn.start();
  return { turn, asked, steps: () => turn.state.get().steps.map(({ kind, text: words }) => `${kind} ${words}`) };
}

describe("what is seen of a turn", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is read by offset until it is over, and pieces of one text are one step", async () => {
    const { turn, asked, steps } = watch([{ events: [text("one "), text("two"), tool("a.ts")], next_offset: 10 }, { events: [text("three")], next_offset: 15 }, { events: [text("!")], next_offset: 16, over: true }]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(steps()).toEqual(["text one two", "tool a.ts", "text three!"]);
    expect(asked.map(({ offset, wait_ms }) => [offset, wait_ms > 0])).toEqual([[0, false], [10, true], [15, true]]);
    expect(turn.state.get()).toMatchObject({ over: true, loading: false, error: null });
  });

  it("goes on after a failure, and gives up what is not kept", async () => {
    const { turn, asked, steps } = watch([{ events: [tool("a")], next_offset: 5 }, new BackendError("no_engine", "It does not answer."), { events: [tool("b")], next_offset: 9 }, new BackendError("not_found", "Gone.")]);
    await vi.advanceTimersByTimeAsync(500);
    expect(turn.state.get().error?.message).toBe("It does not answer.");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(steps()).toEqual(["tool a", "tool b"]);
    expect(turn.state.get()).toMatchObject({ over: true, error: { code: "not_found" } });
    expect(asked.length).toBe(4);
  });

  it("is bounded: the latest steps are kept, and how many are not is known", async () => {
    const { turn } = watch([{ events: Array.from({ length: STEPS_MAX + 20 }, (_, n) => tool(`${n}`)), next_offset: 1 }, { events: [tool("last")], next_offset: 2, over: true }]);
    await vi.advanceTimersByTimeAsync(1_000);
    const { steps, dropped } = turn.state.get();
    expect([steps.length, dropped, steps.at(-1)!.text]).toEqual([STEPS_MAX, 21, "last"]);
  });

  it("is not asked for any more once nobody looks", async () => {
    const { turn, asked } = watch([{ events: [tool("a")], next_offset: 1 }, { next_offset: 1 }, { next_offset: 1 }]);
    await vi.advanceTimersByTimeAsync(10);
    turn.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(1);
  });
});
