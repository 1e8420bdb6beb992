import { describe, expect, it } from "vitest";
import {
  arrange, assign, closePane, emptyLayout, evenOut, focusPane, forgetOthers, type Layout, MAX_PANES, MIN_RATIO, nearestSplit, openPanel, neighbour, paneOfAgent, panesOf,
  parseLayout, paneOfTask, sawTasks, setRatio, setTasksPanel, showAgent, showTask, splitPane, tasksPanel, toggleZoom,
} from "./layout";

/** p1 | (p2 over p4), the focus on p4. */
function three(): Layout {
  const two = splitPane(emptyLayout(), "p1", "row");
  return splitPane(two, two.focused, "column");
}

const idsOf = (layout: Layout) => panesOf(layout.root).map(({ id }) => id);

describe("split and close", () => {
  it("puts the new pane after the old one and gives it the focus", () => {
    const layout = three();
    expect(idsOf(layout)).toEqual(["p1", "p2", "p4"]);
    expect(layout.focused).toBe("p4");
    expect(arrange(layout.root).panes.get("p4")).toEqual({ left: 0.5, top: 0.5, width: 0.5, height: 0.5 });
  });

  it("gives the room of a closed pane to its sibling, and the focus to the nearest pane", () => {
    const layout = closePane(three(), "p4");
    expect(idsOf(layout)).toEqual(["p1", "p2"]);
    expect(layout.focused).toBe("p2");
    expect(arrange(layout.root).panes.get("p2")).toEqual({ left: 0.5, top: 0, width: 0.5, height: 1 });
  });

  it("keeps the last pane, and only empties it", () => {
    const filled = assign(emptyLayout(), "p1", "a");
    expect(closePane(filled, "p1").root).toEqual({ kind: "pane", id: "p1", agent: null });
    expect(closePane(emptyLayout(), "p9")).toEqual(emptyLayout());
  });

  it("never gives two panes the same id, however many come and go", () => {
    let layout = emptyLayout();
    for (let round = 0; round < 60; round += 1) {
      layout = splitPane(layout, layout.focused, round % 2 ? "row" : "column");
      if (round % 3 === 2) layout = closePane(layout, panesOf(layout.root)[0]!.id);
      expect(new Set(idsOf(layout)).size).toBe(idsOf(layout).length);
      expect(idsOf(layout)).toContain(layout.focused);
      expect(idsOf(layout).length).toBeLessThanOrEqual(MAX_PANES);
      expect(parseLayout(JSON.parse(JSON.stringify(layout)))).toEqual(layout);
    }
    expect(idsOf(layout).length).toBe(MAX_PANES - 1);
  });
});

describe("agents in panes", () => {
  it("moves an agent instead of showing it twice", () => {
    const layout = assign(assign(three(), "p1", "a"), "p4", "a");
    expect(panesOf(layout.root).map(({ agent }) => agent)).toEqual([null, null, "a"]);
  });

  it("shows an agent where it is, else in the focused empty pane, else in any empty one", () => {
    const layout = focusPane(assign(three(), "p2", "a"), "p4");
    expect(showAgent(layout, "a", true).focused).toBe("p2");
    expect(paneOfAgent(showAgent(layout, "b", true), "b")?.id).toBe("p4");
    expect(paneOfAgent(showAgent(focusPane(layout, "p2"), "b", true), "b")?.id).toBe("p1");
  });

  it("with no empty pane, splits the focused one or replaces what it shows", () => {
    const full = assign(emptyLayout(), "p1", "a");
    expect(panesOf(showAgent(full, "b", true).root).map(({ agent }) => agent)).toEqual(["a", "b"]);
    expect(panesOf(showAgent(full, "b", false).root).map(({ agent }) => agent)).toEqual(["b"]);
  });

  it("forgets agents that exist no more, and changes nothing when all do", () => {
    const layout = assign(three(), "p1", "a");
    expect(forgetOthers(layout, new Set(["a"]))).toBe(layout);
    expect(paneOfAgent(forgetOthers(layout, new Set()), "a")).toBeUndefined();
  });
});

describe("going from pane to pane", () => {
  it.each([
    ["p1", "right", "p2"], ["p2", "down", "p4"], ["p4", "up", "p2"], ["p4", "left", "p1"], ["p1", "left", null], ["p2", "up", null],
  ] as const)("from %s %s is %s", (from, direction, to) => {
    expect(neighbour(three(), from, direction)).toBe(to);
  });

  it("takes the zoom along", () => {
    const zoomed = toggleZoom(three(), "p4");
    expect(focusPane(zoomed, "p1")).toMatchObject({ focused: "p1", zoomed: "p1" });
    expect(toggleZoom(zoomed, "p4").zoomed).toBeNull();
    expect(toggleZoom(emptyLayout(), "p1").zoomed).toBeNull();
    expect(closePane(zoomed, "p4").zoomed).toBeNull();
  });
});

describe("sizes", () => {
  it("keeps a divider within its bounds", () => {
    const split = (layout: Layout) => (layout.root.kind === "split" ? layout.root.ratio : Number.NaN);
    expect(split(setRatio(three(), "s3", -4))).toBe(MIN_RATIO);
    expect(split(setRatio(three(), "s3", 4))).toBe(1 - MIN_RATIO);
    const same = three();
    expect(setRatio(same, "s99", 0.3)).toBe(same);
  });

  it("finds the divider that a pane's own key moves", () => {
    expect(nearestSplit(three().root, "p4", "column")?.id).toBe("s5");
    expect(nearestSplit(three().root, "p4", "row")?.id).toBe("s3");
    expect(nearestSplit(three().root, "p1", "column")).toBeNull();
  });

  it("makes three panes in a row alike", () => {
    const row = splitPane(splitPane(emptyLayout(), "p1", "row"), "p1", "row");
    const widths = [...arrange(evenOut(row).root).panes.values()].map(({ width }) => width.toFixed(3));
    expect(widths).toEqual(["0.333", "0.333", "0.333"]);
  });
});

describe("reading a stored layout", () => {
  it.each([
    ["nothing", null], ["another version", { ...emptyLayout(), version: 2 }], ["no tree", { version: 1 }],
    ["a ratio that is none", { ...emptyLayout(), root: { kind: "split", id: "s1", axis: "row", ratio: 7, first: { kind: "pane", id: "p1", agent: null }, second: { kind: "pane", id: "p2", agent: null } } }],
    ["an id twice", { ...emptyLayout(), root: { kind: "split", id: "s1", axis: "row", ratio: 0.5, first: { kind: "pane", id: "p1", agent: null }, second: { kind: "pane", id: "p1", agent: null } } }],
  ])("refuses %s", (_name, stored) => {
    expect(parseLayout(stored)).toBeNull();
  });

  it("mends a focus and a zoom that name no pane, and an agent that stands twice", () => {
    const broken = JSON.parse(JSON.stringify(three()), (key, value: unknown) => (key === "agent" ? "a" : value)) as Layout;
    const mended = parseLayout({ ...broken, focused: "p77", zoomed: "p78" })!;
    expect(mended.focused).toBe("p1");
    expect(mended.zoomed).toBeNull();
    expect(panesOf(mended.root).map(({ agent }) => agent)).toEqual(["a", null, null]);
  });
});

describe("logs in panes", () => {
  it("come into an empty pane, else into a new one beside, and are never shown twice", () => {
    const full = assign(emptyLayout(), "p1", "a");
    const shown = showTask(full, "t");
    expect(panesOf(shown.root)).toEqual([{ kind: "pane", id: "p1", agent: "a" }, { kind: "pane", id: "p2", agent: null, task: "t" }]);
    expect(shown.focused).toBe("p2");
    expect(showTask(focusPane(shown, "p1"), "t")).toEqual(shown);
    expect(paneOfTask(showTask(three(), "t"), "t")?.id).toBe("p4");
  });

  it("leave a pane that an agent comes into or that is closed, and are not taken for empty", () => {
    const shown = showTask(emptyLayout(), "t");
    expect(panesOf(assign(shown, "p1", "a").root)).toEqual([{ kind: "pane", id: "p1", agent: "a" }]);
    expect(closePane(shown, "p1").root).toEqual({ kind: "pane", id: "p1", agent: null });
    expect(panesOf(showAgent(shown, "a", true).root).map(({ agent, task }) => agent ?? task)).toEqual(["t", "a"]);
    expect(forgetOthers(shown, new Set())).toBe(shown);
  });

  it("take the place of another log, and not of an agent, when no more panes fit", () => {
    let layout = showTask(emptyLayout(), "old");
    while (panesOf(layout.root).length < MAX_PANES) layout = showAgent(layout, `a${panesOf(layout.root).length}`, true);
    const shown = showTask(layout, "new");
    expect(paneOfTask(shown, "old")).toBeUndefined();
    expect(paneOfTask(shown, "new")?.id).toBe(shown.focused);
    expect(panesOf(shown.root).filter(({ agent }) => agent !== null).length).toBe(MAX_PANES - 1);
  });

  it("are read back, and a layout from before there were any is read as it is", () => {
    const shown = sawTasks(setTasksPanel(showTask(assign(three(), "p1", "a"), "t"), { open: true, dock: "bottom", share: 0.4 }), "a", 77);
    expect(parseLayout(JSON.parse(JSON.stringify(shown)))).toEqual(shown);
    const before = { version: 1, focused: "p1", zoomed: null, seen_ms: 5, root: { kind: "pane", id: "p1", agent: "a" } };
    expect(parseLayout(before)).toEqual(before);
    expect(tasksPanel(parseLayout(before)!)).toEqual({ open: false, dock: "right", share: 0.34 });
  });

  it("are dropped where an agent stands already or the same log stands twice, and a bad panel is the usual one", () => {
    const broken = JSON.parse(JSON.stringify(assign(three(), "p1", "a")), (_key, value: unknown) => (isPane(value) ? { ...value, task: "t" } : value)) as Layout;
    const mended = parseLayout({ ...broken, tasks_panel: { open: 1 }, tasks_seen: { a: "x" } })!;
    expect(panesOf(mended.root).map(({ agent, task }) => [agent, task])).toEqual([["a", undefined], [null, "t"], [null, undefined]]);
    expect(mended.tasks_panel).toBeUndefined();
    expect(mended.tasks_seen).toBeUndefined();
  });

  it("keep the panel within its bounds, and what was seen only forwards", () => {
    expect(tasksPanel(setTasksPanel(emptyLayout(), { share: 9 })).share).toBe(0.7);
    const seen = sawTasks(emptyLayout(), "a", 10);
    expect(sawTasks(seen, "a", 9)).toBe(seen);
    expect(forgetOthers(seen, new Set(["b"])).tasks_seen).toEqual({});
  });
});

const isPane = (value: unknown): value is object => typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "pane";

describe("the panel", () => {
  it("shows the tasks unless it says what else, and remembers that", () => {
    expect(openPanel(emptyLayout())).toBeNull();
    expect(openPanel(setTasksPanel(emptyLayout(), { open: true }))).toBe("tasks");
    const asks = setTasksPanel(emptyLayout(), { open: true, view: "asks" });
    expect(openPanel(parseLayout(JSON.parse(JSON.stringify(asks)))!)).toBe("asks");
    expect(setTasksPanel(asks, { view: "asks" })).toBe(asks);
    expect(openPanel(parseLayout({ ...asks, tasks_panel: { ...asks.tasks_panel, view: "weather" } })!)).toBe("tasks");
  });
});
