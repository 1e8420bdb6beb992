// @vitest-environment jsdom
// What the window shows when something fails: what it was, and the way on. Nothing is blank, nothing vanishes unread.

import { act, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, type FakeBackend, profileOf, type World } from "../backend/fake";
import { ids } from "../shared/testids";
import { Toasts } from "../shared/Toasts";
import { app, backend, idOf, onePane, oneAgent, openWindow, press, project, projectOf, shortcut, twoPanes, user } from "./opened-window";

const BUSY = new BackendError("failed", "The ledger is busy.", "Try again in a moment.");
const tryAgain = (place: HTMLElement) => user.click(within(place).getByRole("button", { name: "Try again" }));

describe("what could not be read", () => {
  /** Opens the window on a layout that cannot be read. Answers the way to make it readable. */
  async function openUnread(layouts: (world: World) => World["layouts"]): Promise<() => void> {
    const world = oneAgent();
    world.layouts = layouts(world);
    let unread = true;
    await openWindow(world, () => {
      const call = backend.call.bind(backend);
      vi.spyOn(backend, "call").mockImplementation((method, params) => (unread && method === "layout_get" ? Promise.reject(BUSY) : call(method, params)));
    });
    return () => {
      unread = false;
    };
  }

  it("of a layout is told in its place, and nothing is written over it", async () => {
    const ends = await openUnread(({ projects, agents }) => twoPanes(projects[0]!, agents[0]!.id, agents[0]!.id, "p2"));
    expect((await screen.findByTestId(ids.layoutUnread)).textContent).toContain("The ledger is busy.");
    await user.click(within(screen.getByTestId(ids.agent)).getByText("planner"));
    await press(shortcut("J"));
    await act(() => app.layouts.flush());
    expect(backend.countOf("layout_set")).toBe(0);
    ends();
    await tryAgain(screen.getByTestId(ids.layoutUnread));
    await waitFor(() => expect(screen.getAllByTestId(ids.pane).length).toBe(2));
    expect(screen.queryByTestId(ids.layoutUnread)).toBeNull();
  });

  it("of a layout is read by itself when the engine answers again", async () => {
    const ends = await openUnread(({ projects, agents }) => onePane(projects[0]!, agents[0]!.id));
    await screen.findByTestId(ids.layoutUnread);
    ends();
    backend.resetFeed();
    await waitFor(() => expect(screen.getByTestId(ids.pane).dataset["agent"]).toBe("planner"));
  });

  it("of the agents is told at the side and in the panes, each with a way on", async () => {
    const world = oneAgent();
    world.layouts = onePane(world.projects[0]!, world.agents[0]!.id);
    await openWindow(world, () => [BUSY, BUSY].forEach((error) => backend.failNext("agents_list", error)));
    const side = await screen.findByTestId(ids.sidebarError);
    const pane = await screen.findByTestId(ids.paneUnread);
    expect(pane.textContent).toContain("The ledger is busy.");
    await tryAgain(side);
    expect(screen.getByTestId(ids.sidebarError)).toBeTruthy();
    await tryAgain(pane);
    await waitFor(() => expect(screen.getByTestId(ids.pane).dataset["agent"]).toBe("planner"));
    expect(screen.queryByTestId(ids.sidebarError)).toBeNull();
  });
});

describe("a task that is on no list", () => {
  it("is asked for by itself, and again when that failed", async () => {
    const world = oneAgent();
    const { id } = world.projects[0]!;
    let task = "";
    await openWindow(world, () => {
      task = backend.tasks.add({ project: id, command: ["sh", "-c", "make tiles"] }).id;
      world.layouts = { [id]: { version: 1, focused: "p1", zoomed: null, seen_ms: 5, root: { kind: "pane", id: "p1", agent: null, task } } };
      const call = backend.call.bind(backend);
      vi.spyOn(backend, "call").mockImplementation((method, params) => (method === "tasks_list" ? Promise.resolve([] as never) : call(method, params)));
      backend.failNext("task_show", BUSY);
    });
    await tryAgain(await screen.findByTestId(ids.pane));
    await waitFor(() => expect(screen.getByTestId(ids.paneTitle).textContent).toContain("make tiles"));
  });
});

describe("a project that is new", () => {
  it("costs one look at it, and none at the others", async () => {
    await openWindow(oneAgent());
    await waitFor(() => expect(app.asks.of(project()).loaded && app.work.of(project()).loaded).toBe(true));
    const before = [backend.countOf("asks_list"), backend.countOf("tasks_list")];
    const lamp = projectOf("lamp");
    backend.world.projects = [...backend.world.projects, lamp];
    backend.changed("projectChanged", lamp.id, lamp.id);
    await waitFor(() => expect(app.asks.of(lamp.id).loaded && app.work.of(lamp.id).loaded).toBe(true));
    expect([backend.countOf("asks_list"), backend.countOf("tasks_list")]).toEqual(before.map((count) => count + 1));
  });
});

describe("a list that is longer than what is drawn", () => {
  const only = (list: string) => [...new Set([...screen.getByTestId(list).querySelectorAll('[role], button')].map((each) => each.getAttribute("role") ?? each.tagName))];

  function manyOf(count: number, make: (backend: FakeBackend, agent: string, at: number) => void): Promise<void> {
    const atlas = projectOf("atlas");
    const claude = profileOf("claude", "claude", "/bin/claude");
    const scout = agentOf("scout", atlas, claude, "headless");
    const world: World = { ...emptyWorld(), projects: [atlas], profiles: [claude], agents: [scout], layouts: onePane(atlas, scout.id) };
    return openWindow(world, () => {
      for (let at = 0; at < count; at += 1) make(backend, idOf("scout"), at);
    });
  }

  it("has the way to more beside it and not in it: messages", async () => {
    await manyOf(120, (on, agent, at) => void on.asks.send({ id: at.toString(16).padStart(32, "0"), agent, text: `Note ${at}` }));
    await press(shortcut("M"));
    const more = await screen.findByTestId(ids.inboxMore);
    expect(only(ids.inboxList)).not.toContain("BUTTON");
    expect(within(screen.getByTestId(ids.inboxList)).getAllByRole("option").length).toBe(100);
    await user.click(more);
    expect(within(screen.getByTestId(ids.inboxList)).getAllByRole("option").length).toBe(120);
    expect(screen.queryByTestId(ids.inboxMore)).toBeNull();
  });

  it("has the way to more beside it and not in it: asks", async () => {
    await manyOf(120, (on, agent, at) => void on.asks.open({ id: at.toString(16).padStart(32, "a"), agent, prompt: `Look ${at}.` }));
    await press(shortcut("K"));
    const more = await screen.findByTestId(ids.asksMore);
    const tree = screen.getByTestId(ids.asksList);
    expect(tree.contains(more)).toBe(false);
    expect(within(tree).getAllByRole("treeitem").length).toBe(100);
    await user.click(more);
    expect(within(tree).getAllByRole("treeitem").length).toBe(120);
  });
});

describe("messages of the window", () => {
  afterEach(() => void vi.useRealTimers());
  const toast = (id: number, level: "error" | "info", target?: unknown) => ({ id, level, title: `${level} ${id}`, hint: null, ...(target ? { target } : {}) });

  it("stay when they say what failed, and go by themselves when they do not or can be found elsewhere", () => {
    vi.useFakeTimers();
    const gone: number[] = [];
    render(<Toasts toasts={[toast(1, "error"), toast(2, "info"), toast(3, "error", { task: "t" })]} place="side" onDismiss={(id) => gone.push(id)} onOpen={() => undefined} />);
    act(() => vi.advanceTimersByTime(10 * 60_000));
    expect(gone).toEqual([2, 3]);
  });

  it("are read out once: each stands in one live region", () => {
    render(<Toasts toasts={[toast(1, "error"), toast(2, "info")]} place="side" onDismiss={() => undefined} onOpen={() => undefined} />);
    const live = (node: Element) => ["alert", "status", "log"].includes(node.getAttribute("role") ?? "") || node.hasAttribute("aria-live");
    for (const each of screen.getAllByTestId(ids.toast)) {
      let regions = 0;
      for (let node: Element | null = each; node; node = node.parentElement) if (live(node)) regions += 1;
      expect(regions).toBe(1);
    }
  });

  it("are there before the first one comes, so that it is read out, too", async () => {
    await openWindow(oneAgent());
    expect([...document.querySelectorAll(".toasts [aria-live]")].map((each) => each.getAttribute("aria-live"))).toEqual(["assertive", "polite"]);
  });

  it("do not lie over a dialog that opens later, and are back when it is closed; those that come meanwhile are seen", async () => {
    await openWindow(oneAgent());
    act(() => app.report(new BackendError("failed", "Before.", null)));
    act(() => app.open({ kind: "shortcuts" }));
    expect(screen.queryByText("Before.")).toBeNull();
    act(() => app.report(new BackendError("failed", "Meanwhile.", null)));
    expect(screen.getByText("Meanwhile.")).toBeTruthy();
    act(() => app.closeDialog());
    expect(screen.getAllByTestId(ids.toast).map((each) => each.textContent)).toEqual(["Before.", "Meanwhile."]);
  });

  it("come back when newer ones are closed, and are closed all at once", async () => {
    await openWindow(oneAgent());
    act(() => [1, 2, 3, 4, 5, 6].forEach((n) => app.report(new BackendError("failed", `Number ${n} failed.`, null))));
    const shown = () => screen.queryAllByTestId(ids.toast).map((each) => each.textContent);
    expect(shown()).toEqual([3, 4, 5, 6].map((n) => `Number ${n} failed.`));
    expect(screen.getByTestId(ids.toastsMore).textContent).toContain("2 more");
    await user.click(within(screen.getAllByTestId(ids.toast)[3]!).getByRole("button", { name: "Dismiss" }));
    expect(shown()).toEqual([2, 3, 4, 5].map((n) => `Number ${n} failed.`));
    await user.click(screen.getByTestId(ids.toastsClose));
    expect(shown()).toEqual([]);
  });
});
