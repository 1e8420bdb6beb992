import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import { Query } from "./query";

/** A fetch whose answers are given by hand. */
function byHand<T>() {
  const open: { resolve: (value: T) => void; reject: (reason: unknown) => void }[] = [];
  const query = new Query<T>(() => new Promise((resolve, reject) => open.push({ resolve, reject })));
  return { query, open };
}

describe("a query", () => {
  it("turns a burst of changes into one more fetch, and shows the answer that was asked for last", async () => {
    const { query, open } = byHand<string>();
    const done = query.refresh();
    void query.refresh();
    void query.refresh();
    expect(open.length).toBe(1);
    open[0]!.resolve("old");
    await Promise.resolve();
    await Promise.resolve();
    expect(open.length).toBe(2);
    open[1]!.resolve("new");
    await done;
    expect(query.state.get()).toEqual({ data: "new", error: null, loading: false });
    expect(open.length).toBe(2);
  });

  it("keeps the last answer beside an error, and loses the error with the next answer", async () => {
    const { query, open } = byHand<string>();
    const first = query.refresh();
    open[0]!.resolve("one");
    await first;
    const second = query.refresh();
    open[1]!.reject({ code: "failed", message: "no", hint: "wait" });
    await second;
    expect(query.state.get().data).toBe("one");
    expect(query.state.get().error).toBeInstanceOf(BackendError);
    expect(query.state.get().error?.hint).toBe("wait");
    const third = query.refresh();
    open[2]!.resolve("two");
    await third;
    expect(query.state.get()).toEqual({ data: "two", error: null, loading: false });
  });

  it("does not let a fetch that began before a write undo it", async () => {
    const { query, open } = byHand<string>();
    const done = query.refresh();
    query.put("written");
    open[0]!.resolve("before the write");
    await Promise.resolve();
    await Promise.resolve();
    expect(query.data).toBe("written");
    open[1]!.resolve("after the write");
    await done;
    expect(query.data).toBe("after the write");
  });
});
