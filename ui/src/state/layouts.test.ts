import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { emptyWorld, FakeBackend } from "../backend/fake";
import { splitPane } from "./layout";
import { Layouts } from "./layouts";

describe("the layouts of the projects", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  async function begin() {
    const backend = new FakeBackend(emptyWorld());
    const reports: BackendError[] = [];
    const layouts = new Layouts(backend, (error) => reports.push(error));
    await layouts.load("p");
    return { backend, layouts, reports };
  }

  it("writes a burst of changes once, a little later", async () => {
    const { backend, layouts } = await begin();
    for (let n = 0; n < 5; n += 1) layouts.change("p", (layout) => splitPane(layout, layout.focused, "row"));
    expect(backend.countOf("layout_set")).toBe(0);
    await vi.advanceTimersByTimeAsync(300);
    expect(backend.countOf("layout_set")).toBe(1);
    expect(backend.world.layouts["p"]).toEqual(layouts.of("p"));
  });

  it("writes at once when told to, and not again afterwards", async () => {
    const { backend, layouts } = await begin();
    layouts.change("p", (layout) => splitPane(layout, layout.focused, "row"));
    await layouts.flush();
    expect(backend.countOf("layout_set")).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(backend.countOf("layout_set")).toBe(1);
  });

  it("begins with one empty pane where what is stored makes no sense", async () => {
    const { backend, layouts } = await begin();
    backend.world.layouts["q"] = { version: 99 };
    await layouts.load("q");
    expect(layouts.of("q")?.root).toEqual({ kind: "pane", id: "p1", agent: null });
  });

  it("never writes over a layout that could not be read", async () => {
    const { backend, layouts } = await begin();
    const stored = splitPane(layouts.of("p")!, "p1", "column");
    backend.world.layouts["q"] = stored;
    backend.failNext("layout_get", new BackendError("failed", "disk", null));
    await layouts.load("q");
    expect(layouts.of("q")).toBeUndefined();
    expect(layouts.errors.get()["q"]?.message).toBe("disk");
    layouts.change("q", (layout) => splitPane(layout, layout.focused, "row"));
    await layouts.flush();
    expect(backend.world.layouts["q"]).toEqual(stored);
    await layouts.loadFailed();
    expect(layouts.of("q")).toEqual(stored);
    expect(layouts.errors.get()).toEqual({});
  });

  it("keeps what was loaded when an older question about it fails", async () => {
    const { backend, layouts } = await begin();
    backend.failNext("layout_get", new BackendError("failed", "disk", null));
    await Promise.all([layouts.load("q"), layouts.load("q")]);
    expect(layouts.of("q")).toBeDefined();
    expect(layouts.errors.get()).toEqual({});
  });

  it("takes over what another program wrote, but not over a change of its own", async () => {
    const { backend, layouts } = await begin();
    const other = splitPane(layouts.of("p")!, "p1", "column");
    backend.world.layouts["p"] = other;
    await layouts.reload("p");
    expect(layouts.of("p")).toEqual(other);
    layouts.change("p", (layout) => splitPane(layout, layout.focused, "row"));
    const own = layouts.of("p");
    await layouts.reload("p");
    expect(layouts.of("p")).toBe(own);
  });

  it("does not take an answer from before a change for the newest", async () => {
    const { backend, layouts } = await begin();
    layouts.change("p", (layout) => splitPane(layout, layout.focused, "row"));
    await layouts.flush();
    const reading = layouts.reload("p");
    layouts.change("p", (layout) => splitPane(layout, layout.focused, "column"));
    const newest = layouts.of("p");
    await layouts.flush();
    backend.world.layouts["p"] = splitPane(newest!, "p1", "row");
    await reading;
    expect(layouts.of("p")).toBe(newest);
  });

  it("reports a write that failed, and writes the next change", async () => {
    const { backend, layouts, reports } = await begin();
    backend.failNext("layout_set", new BackendError("failed", "full disk", "Free some space."));
    layouts.change("p", (layout) => splitPane(layout, layout.focused, "row"));
    await layouts.flush();
    expect(reports[0]?.hint).toBe("Free some space.");
    layouts.change("p", (layout) => splitPane(layout, layout.focused, "row"));
    await layouts.flush();
    expect(backend.world.layouts["p"]).toEqual(layouts.of("p"));
  });
});
