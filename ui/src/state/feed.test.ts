import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { emptyWorld, FakeBackend } from "../backend/fake";
import { ChangeFeed, hasGap } from "./feed";

function begin() {
  const backend = new FakeBackend(emptyWorld());
  const seen: string[] = [];
  const feed = new ChangeFeed(backend, {
    everythingStale: () => seen.push("all"),
    changed: (changes) => seen.push(changes.map(({ tag, id }) => `${tag} ${id}`).join(", ")),
  });
  feed.start();
  return { backend, feed, seen };
}

const settle = () => vi.advanceTimersByTimeAsync(1);

describe("the change feed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("fetches everything at the start, and then hears each change", async () => {
    const { backend, feed, seen } = begin();
    await settle();
    expect(seen).toEqual(["all"]);
    backend.changed("agentChanged", "a");
    await settle();
    expect(seen).toEqual(["all", "agentChanged a"]);
    feed.stop();
  });

  it("fetches everything after a gap in the numbers, and after a reset", async () => {
    const { backend, feed, seen } = begin();
    await settle();
    backend.loseChanges(3);
    backend.changed("agentChanged", "a");
    await settle();
    expect(seen).toEqual(["all", "all"]);
    backend.resetFeed();
    await settle();
    expect(seen).toEqual(["all", "all", "all"]);
    backend.changed("runChanged", "r");
    await settle();
    expect(seen.at(-1)).toBe("runChanged r");
    feed.stop();
  });

  it("says that the engine does not answer, tries again with longer pauses, and then fetches everything", async () => {
    const { backend, feed, seen } = begin();
    await settle();
    for (let n = 0; n < 3; n += 1) backend.failNext("changes_wait", new BackendError("failed", "no engine", "Start it."));
    backend.changed("agentChanged", "a");
    await settle();
    expect(feed.state.get().error).toMatchObject({ message: "no engine", hint: "Start it." });
    const calls = backend.countOf("changes_wait");
    await vi.advanceTimersByTimeAsync(450);
    expect(backend.countOf("changes_wait")).toBe(calls);
    await vi.advanceTimersByTimeAsync(100);
    expect(backend.countOf("changes_wait")).toBe(calls + 1);
    feed.retryNow();
    await settle();
    expect(feed.state.get().error).toMatchObject({ message: "no engine" });
    feed.retryNow();
    await settle();
    expect(feed.state.get().error).toBeNull();
    expect(seen.at(-1)).toBe("all");
    feed.stop();
  });

  it("has one question under way at any time", async () => {
    const { backend, feed } = begin();
    await settle();
    await vi.advanceTimersByTimeAsync(60_000);
    // One at the start, one from then on, and one each time that 25 s passed without a change.
    expect(backend.countOf("changes_wait")).toBe(4);
    feed.stop();
  });
});

describe("hasGap", () => {
  const change = (seq: number) => ({ seq, tag: "agentChanged" as const, id: "a", project: null });
  it.each([
    [4, { seq: 4, reset: false, changes: [] }, false],
    [4, { seq: 6, reset: false, changes: [change(5), change(6)] }, false],
    [4, { seq: 6, reset: false, changes: [change(6)] }, true],
    [4, { seq: 9, reset: false, changes: [change(5)] }, true],
    [4, { seq: 2, reset: false, changes: [] }, true],
  ])("after %i", (after, answer, gap) => {
    expect(hasGap(after, answer)).toBe(gap);
  });
});
