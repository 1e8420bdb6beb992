// @vitest-environment jsdom
// Journeys through the window's tasks on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, profileOf, type World } from "../backend/fake";
import { CountingLog } from "../backend/fake-log";
import type { Task } from "../generated/api";
import { panesOf } from "../state/layout";
import { ids } from "../shared/testids";
import { app, backend, idOf, openWindow, press, project, projectOf, twoPanes, user } from "./opened-window";

function twoProjects(): World {
  const atlas = projectOf("atlas");
  const lamp = projectOf("lamp");
  const profile = profileOf("claude", "claude", "/bin/claude");
  const planner = agentOf("planner", atlas, profile);
  const builder = agentOf("builder", atlas, profile);
  return {
    ...emptyWorld(), projects: [atlas, lamp], profiles: [profile], agents: [planner, builder],
    layouts: twoPanes(atlas, planner.id, builder.id, "p2"),
  };
}

async function open(world: World = twoProjects()): Promise<void> {
  await openWindow(world);
  await waitFor(() => expect(app.work.of(project()).loaded && app.work.of(project(1)).loaded).toBe(true));
}

const add = (line: string, owner?: string, at = 0): string =>
  backend.tasks.add({ project: project(at), owner: owner && idOf(owner), command: ["sh", "-c", line] }).id;
const rows = () => screen.queryAllByTestId(ids.taskRow);
const names = () => rows().map((row) => row.querySelector(".task-name")!.textContent);
const rowOf = (task: string) => rows().find((row) => row.dataset["task"] === task)!;
const TOGGLE = "{Control>}{Shift>}J{/Shift}{/Control}";
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

/** Opens the list by its key and waits until it has the keyboard. */
async function openTasks(): Promise<void> {
  await press(TOGGLE);
  await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.tasksList)));
}

describe("the list of tasks", () => {
  it("shows what runs, what waits and what ended, in words", async () => {
    await open();
    const ended = add("make lint", "planner");
    act(() => backend.tasks.end(ended, { exit_code: 3 }));
    add("npm test", "planner");
    add("cargo build", "builder");
    const waiting = add("cargo clippy", "builder");
    add("echo later");
    await openTasks();
    await waitFor(() => expect(names()).toEqual(["cargo build", "npm test", "cargo clippy", "echo later", "make lint"]));
    expect(rows().map((row) => within(row).getByTestId(ids.taskState).getAttribute("aria-label"))).toEqual(["running", "running", "queued", "queued", "failed"]);
    expect(rowOf(ended).textContent).toContain("failed: exited 3");
    expect(rowOf(ended).textContent).toContain("planner");
    expect(rowOf(waiting).textContent).toContain("queued, next in line");
    expect(rows()[3]!.textContent).toContain("queued, 2 of 2 in line");
    expect(rows()[3]!.textContent).toContain("you");
    expect(screen.getByTestId(ids.tasksOpen).textContent).toContain("2 running · 2 queued");
    expect(screen.getAllByTestId(ids.projectRunning).map((badge) => badge.dataset["count"])).toEqual(["2"]);
  });

  it("follows what happens: the tail moves, the next one starts, sizes and ends are told", async () => {
    await open();
    const first = add("one");
    add("two");
    const third = add("three");
    await openTasks();
    act(() => backend.tasks.print(first, "compiling\n\u001b[32mlinking\u001b[0m the lamp\n"));
    await waitFor(() => expect(within(rowOf(first)).getByTestId(ids.taskTail).textContent).toBe("linking the lamp"));
    expect(within(rowOf(first)).getByTestId(ids.taskSize).textContent).toBe("36 B");
    act(() => backend.tasks.end(first, { signal: 9, reason: "killed by signal 9 (SIGKILL)" }));
    await waitFor(() => expect(rowOf(third).dataset["state"]).toBe("running"));
    expect(rowOf(first).textContent).toContain("failed: killed by signal 9 (SIGKILL)");
    act(() => backend.tasks.setLog(first, new CountingLog(2 * 1024 ** 3, 32 * 1024 ** 2)));
    await waitFor(() => expect(within(rowOf(first)).getByTestId(ids.taskSize).textContent).toBe("2 GiB, truncated"));
  });

  it("is filtered by text and by state, from the keyboard", async () => {
    await open();
    for (const line of ["npm test", "npm run build", "make"]) act(() => backend.tasks.end(add(line, "planner"), { exit_code: line === "make" ? 2 : 0 }));
    add("npm start", "builder");
    await openTasks();
    await press("/npm");
    await waitFor(() => expect(names()).toEqual(["npm start", "npm run build", "npm test"]));
    await press(" builder");
    expect(names()).toEqual(["npm start"]);
    await press("{Escape}");
    expect(names().length).toBe(4);
    const chip = (name: string) => screen.getAllByTestId(ids.tasksChip).find((each) => each.dataset["chip"] === name)!;
    await user.click(chip("failed"));
    expect(names()).toEqual(["make"]);
    expect(chip("failed").getAttribute("aria-pressed")).toBe("true");
    expect(chip("succeeded").textContent).toBe("Succeeded2");
    await user.click(chip("running"));
    expect(names()).toEqual(["npm start", "make"]);
    await user.type(screen.getByTestId(ids.tasksFilter), "nothing like it");
    expect(screen.getByTestId(ids.tasksEmpty).textContent).toContain("No task fits the filter.");
  });

  it("cancels, retries, copies and opens by keys", async () => {
    await open();
    const one = add("sleep 600");
    const two = add("make && \"quoted\"");
    await openTasks();
    await waitFor(() => expect(names()).toEqual(["make && \"quoted\"", "sleep 600"]));
    expect(rowOf(two).getAttribute("aria-selected")).toBe("true");
    await press("{ArrowDown}{ArrowDown}");
    expect(screen.getByTestId(ids.tasksList).getAttribute("aria-activedescendant")).toBe(`task-${one}`);
    await press("c");
    await waitFor(() => expect(rowOf(one).textContent).toContain("cancelling…"));
    expect(backend.tasks.wasCancelled(one)).toBe(true);
    expect(rowOf(one).dataset["state"]).toBe("running");
    await press("c");
    expect(backend.countOf("task_cancel")).toBe(1);
    act(() => backend.tasks.end(one, { state: "cancelled", reason: "cancelled by you", signal: 15 }));
    await waitFor(() => expect(rowOf(one).textContent).toContain("cancelled by you"));
    expect(rowOf(one).textContent).not.toMatch(/fail/);
    await press("r");
    await waitFor(() => expect(rowOf(one).textContent).toContain("attempt 2"));
    expect(rowOf(one).dataset["state"]).toBe("running");
    await press("{ArrowUp}y");
    await waitFor(() => expect(backend.clipboard).toBe("make && \"quoted\""));
    await press("o");
    await waitFor(() => expect(screen.getAllByTestId(ids.pane).map((pane) => pane.dataset["task"])).toContain(two));
  });

  it("says why something was refused, and takes the word back", async () => {
    await open();
    const one = add("sleep 600");
    await openTasks();
    backend.failNext("task_cancel", new BackendError("failed", "It does not listen.", "Try again."));
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{ArrowDown}c");
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("sleep 600 could not be cancelled. It does not listen.");
    expect(rowOf(one).textContent).toContain("running");
  });

  it("takes a new task, in the project's root, and shows a refusal in place", async () => {
    await open();
    await openTasks();
    expect(screen.getByTestId(ids.tasksEmpty)).toBeTruthy();
    await press("n");
    expect(document.activeElement).toBe(screen.getByTestId(ids.taskNewCommand));
    backend.failNext("task_add", new BackendError("refused", "The disk is full.", "Free some space."));
    await press("npm test -- --watch{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain("The disk is full.");
    await press("{Enter}");
    await waitFor(() => expect(names()).toEqual(["npm test -- --watch"]));
    expect(backend.tasks.list({})[0]).toMatchObject({ project: project(), owner: null, command: ["sh", "-c", "npm test -- --watch"], cwd: "/home/dev/atlas" });
    expect(rows()[0]!.getAttribute("aria-selected")).toBe("true");
  });

  it("is left and hidden by keys, and its side and size are remembered", async () => {
    await open();
    await openTasks();
    await user.click(screen.getByTestId(ids.panelDock));
    screen.getByTestId(ids.panelEdge).focus();
    await press("{ArrowUp}{ArrowUp}");
    await waitFor(() => expect(JSON.stringify(backend.world.layouts[project()])).toContain('"tasks_panel":{"open":true,"dock":"bottom","share":0.38'));
    screen.getByTestId(ids.panelDock).focus();
    await press("{Escape}");
    expect(document.activeElement).toBe(screen.getByTestId(ids.tasksList));
    await press("{Escape}");
    expect(document.activeElement?.closest("[data-testid=pane]")?.getAttribute("data-agent")).toBe("builder");
    expect(screen.getByTestId(ids.tasksPanel)).toBeTruthy();
    await openTasks();
    await press(TOGGLE);
    expect(screen.queryByTestId(ids.tasksPanel)).toBeNull();
    await user.click(screen.getByTestId(ids.tasksOpen));
    expect(screen.getByTestId(ids.panel).dataset["dock"]).toBe("bottom");
  });

  it("has only the rows in sight in the page", async () => {
    await open();
    for (let n = 0; n < 300; n += 1) add(`task ${n}`);
    await openTasks();
    await waitFor(() => expect(rows().length).toBeGreaterThan(5));
    expect(rows().length).toBeLessThan(40);
    await press("{End}");
    expect(screen.getByTestId(ids.tasksList).getAttribute("aria-activedescendant")).toBe(`task-${backend.tasks.list({})[0]!.id}`);
  });

  it("and a log never have a raw control character, wherever the words come from", async () => {
    const world = twoProjects();
    world.agents[0]!.name = "pl\u202eanner";
    await open(world);
    const evil = "\u001b]0;owned\u0007x\u009b31m\u202egpj.exe\u0000\u2066";
    const task = backend.tasks.add({ project: project(), owner: world.agents[0]!.id, command: ["sh", "-c", `echo ${evil}`], title: `t ${evil}` }).id;
    act(() => {
      backend.tasks.print(task, `one ${evil}\r\n\u001b[2J\u001b[31m${evil}\n`);
      backend.tasks.end(task, { exit_code: 1, reason: `exited ${evil}` });
    });
    await openTasks();
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{ArrowDown}{Enter}");
    await waitFor(() => expect(within(screen.getByTestId(ids.taskDetail)).getAllByTestId(ids.logRow).length).toBe(2));
    await waitFor(() => expect(within(rows()[0]!).getByTestId(ids.taskTail).textContent).toContain("gpj.exe"));
    const panel = screen.getByTestId(ids.tasksPanel);
    expect(panel.textContent).not.toMatch(RAW);
    for (const element of panel.querySelectorAll("*")) for (const attribute of element.attributes) expect(attribute.value).not.toMatch(RAW);
  });
});

describe("the log of a task", () => {
  const logText = () => screen.getAllByTestId(ids.logRow).map((row) => row.textContent);

  it("opens below the list, follows, and Escape leads back to the list and then to the pane", async () => {
    await open();
    const task = add("npm test");
    backend.tasks.print(task, "\u001b[32mok\u001b[0m one\nna");
    await openTasks();
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Enter}");
    await waitFor(() => expect(logText()).toEqual(["ok one", "na"]));
    expect(document.activeElement).toBe(screen.getByTestId(ids.log));
    expect(screen.getAllByTestId(ids.logRow)[0]!.querySelector("span")!.style.color).not.toBe("");
    act(() => backend.tasks.print(task, "tive\nthree\n"));
    await waitFor(() => expect(logText()).toEqual(["ok one", "native", "three"]));
    expect(screen.getByTestId(ids.logStatus).textContent).toContain("following");
    await press("{Escape}");
    expect(screen.queryByTestId(ids.taskDetail)).toBeNull();
    expect(document.activeElement).toBe(screen.getByTestId(ids.tasksList));
  });

  it("is searched with the key of the terminals", async () => {
    await open();
    const task = add("npm test");
    backend.tasks.print(task, "one two\nthree\nTwo\n");
    await openTasks();
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Enter}");
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.log)));
    await press("{Control>}{Shift>}F{/Shift}{/Control}two");
    await waitFor(() => expect(screen.getByTestId(ids.searchCount).textContent).toBe("2 of 2"));
    await press("{Shift>}{Enter}{/Shift}");
    expect(screen.getByTestId(ids.searchCount).textContent).toBe("1 of 2");
    expect(document.querySelectorAll(".log-row mark").length).toBe(2);
    expect(document.querySelector(".log-row mark.current")!.textContent).toBe("two");
    await press("{Escape}");
    expect(screen.queryByTestId(ids.searchBar)).toBeNull();
    expect(screen.getByTestId(ids.taskDetail)).toBeTruthy();
  });

  it("stands in a pane that is remembered, beside the agents, and comes back with the window", async () => {
    await open();
    const task = add("npm test", "planner");
    backend.tasks.print(task, "hello\n");
    await act(() => app.showLog(backend.tasks.show({ task })));
    await waitFor(() => expect(screen.getAllByTestId(ids.pane).map((pane) => pane.dataset["agent"] || pane.dataset["task"])).toEqual(["planner", "builder", task]));
    await waitFor(() => expect(logText()).toEqual(["hello"]));
    await act(() => app.layouts.flush());
    const stored = backend.world.layouts[project()] as { root: never };
    expect(panesOf(stored.root).flatMap((pane) => pane.task ?? [])).toEqual([task]);
    act(() => backend.tasks.end(task, { exit_code: 1 }));
    const pane = () => screen.getAllByTestId(ids.pane).find((each) => each.dataset["task"] === task)!;
    await waitFor(() => expect(within(pane()).getByTestId(ids.paneTitle).textContent).toContain("failed: exited 1"));
    await user.click(within(pane()).getByTestId(ids.taskRetry));
    await waitFor(() => expect(within(pane()).getByTestId(ids.paneTitle).textContent).toContain("running"));
    await waitFor(() => expect(within(pane()).queryAllByTestId(ids.logRow)).toEqual([]));
    await user.click(within(pane()).getByTestId(ids.paneClose));
    expect(screen.getAllByTestId(ids.pane).length).toBe(2);
    expect(backend.tasks.show({ task }).state).toBe("running");
  });

  it("that is not there any more says so in its pane", async () => {
    const world = twoProjects();
    const layout = Object.values(world.layouts)[0] as { root: { second: object } };
    layout.root.second = { kind: "pane", id: "p2", agent: null, task: "gone" };
    await open(world);
    expect((await screen.findByTestId(ids.error)).textContent).toContain("There is no such task.");
  });

  it("of two gigabytes keeps what is on the page small; scrolling up brings earlier output", async () => {
    await open();
    const task = add("replay");
    backend.tasks.setLog(task, new CountingLog(2 * 1024 ** 3));
    backend.tasks.end(task);
    await act(() => app.showLog(backend.tasks.show({ task })));
    const log = await screen.findByTestId(ids.log);
    await waitFor(() => expect(screen.getAllByTestId(ids.logRow).length).toBeGreaterThan(10));
    expect(screen.getAllByTestId(ids.logRow).length).toBeLessThan(100);
    expect(backend.countOf("task_output")).toBe(1);
    for (const [name, value] of [["clientHeight", 400], ["scrollHeight", 80_000]] as const) Object.defineProperty(log, name, { configurable: true, get: () => value });
    log.scrollTop = 0;
    act(() => void log.dispatchEvent(new Event("scroll")));
    await waitFor(() => expect(backend.countOf("task_output")).toBe(2));
    // What was in sight is in sight still: the rows that came before it have moved it down.
    await waitFor(() => expect(log.scrollTop).toBe(4096 * 18));
    expect(screen.getByTestId(ids.logToEnd)).toBeTruthy();
    expect(logText()[15]).toMatch(/line 0033550336 /);
  });
});

describe("badges", () => {
  const header = (name: string) => screen.getAllByTestId(ids.pane).find((pane) => pane.dataset["agent"] === name)!;

  it("say what waits and what is done, and go when one looks", async () => {
    await open();
    const one = add("one", "planner");
    const two = add("two", "planner");
    add("three", "planner");
    await waitFor(() => expect(within(header("planner")).getByTestId(ids.paneTaskQueued).textContent).toBe("Task queued1"));
    expect(screen.getByTestId(ids.agentTaskQueued).dataset["count"]).toBe("1");
    expect(within(header("planner")).queryByTestId(ids.paneDone)).toBeNull();
    act(() => {
      backend.tasks.end(one);
      backend.tasks.end(two, { exit_code: 1 });
    });
    await waitFor(() => expect(within(header("planner")).getByTestId(ids.paneDone).textContent).toBe("Task done2"));
    expect(within(header("planner")).queryByTestId(ids.paneTaskQueued)).toBeNull();
    expect(screen.getByTestId(ids.agentDone).dataset["count"]).toBe("2");
    await user.click(within(header("planner")).getByTestId(ids.paneTitle));
    await waitFor(() => expect(within(header("planner")).queryByTestId(ids.paneDone)).toBeNull());
    expect(screen.queryByTestId(ids.agentDone)).toBeNull();
    await act(() => app.layouts.flush());
    expect(JSON.stringify(backend.world.layouts[project()])).toContain(`"tasks_seen":{"${idOf("planner")}":`);
  });

  it("do not come to a pane that one looks at, unless the window is hidden", async () => {
    await open();
    const one = add("one", "builder");
    const two = add("two", "builder");
    await waitFor(() => expect(app.work.of(project()).items.length).toBe(2));
    act(() => backend.tasks.end(one));
    await waitFor(() => expect(app.work.find(one)?.state).toBe("succeeded"));
    expect(screen.queryByTestId(ids.agentDone)).toBeNull();
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    act(() => backend.tasks.end(two));
    await waitFor(() => expect(screen.getByTestId(ids.agentDone).dataset["count"]).toBe("1"));
    hidden.mockReturnValue(false);
    act(() => void document.dispatchEvent(new Event("visibilitychange")));
    await waitFor(() => expect(screen.queryByTestId(ids.agentDone)).toBeNull());
  });
});

describe("the end of a task elsewhere", () => {
  it("is told once, in the window and on the desktop, and a click goes there", async () => {
    await open();
    const task = add("npm test", undefined, 1);
    await waitFor(() => expect(app.work.find(task)).toBeTruthy());
    act(() => backend.tasks.end(task, { exit_code: 3 }));
    const toast = await screen.findByTestId(ids.toast);
    expect(toast.textContent).toContain("npm test failed in lamp");
    expect(toast.textContent).toContain("exited 3");
    expect(backend.notified.map(({ title, body }) => [title, body.replace(/[\d.]+ s/, "0 s")])).toEqual([["npm test failed in lamp", "exited 3, after 0 s"]]);
    act(() => backend.resetFeed());
    await user.click(within(toast).getByTestId(ids.toastOpen));
    await waitFor(() => expect(app.view.get().project).toBe(project(1)));
    expect((await screen.findByTestId(ids.taskDetail)).dataset["task"]).toBe(task);
    expect(screen.queryByTestId(ids.toast)).toBeNull();
    expect(backend.notified.length).toBe(1);
  });

  it("is told together with others of the same second, and a desktop without notifications is no trouble", async () => {
    await open();
    const tasks = ["one", "two"].map((line) => add(line, undefined, 1));
    await waitFor(() => expect(app.work.of(project(1)).items.length).toBe(2));
    backend.failNext("desktop_notify", new BackendError("failed", "no", null));
    act(() => {
      backend.tasks.end(tasks[0]!);
      backend.tasks.end(tasks[1]!, { state: "lost", reason: "lost: the machine was restarted" });
    });
    const toast = await screen.findByTestId(ids.toast);
    expect(toast.textContent).toContain("2 tasks ended in lamp");
    expect(toast.textContent).toContain("1 succeeded, 1 lost");
    expect(screen.getAllByTestId(ids.toast).length).toBe(1);
  });

  it("is not told of the project on show, unless the window is hidden", async () => {
    await open();
    const seen = add("seen");
    const unseen = add("unseen");
    await waitFor(() => expect(app.work.of(project()).items.length).toBe(2));
    act(() => backend.tasks.end(seen));
    await waitFor(() => expect(app.work.find(seen)?.state).toBe("succeeded"));
    vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    act(() => backend.tasks.end(unseen));
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("unseen succeeded in atlas");
    expect(backend.notified.map(({ title }) => title)).toEqual(["unseen succeeded in atlas"]);
  });
});

describe("quitting", () => {
  const running = (agent: string, kind: "agent" | "task") => ({ agent, project: "atlas", kind });

  it.each([
    [[running("planner", "agent"), running("docs", "agent"), running("npm test", "task"), running("make", "task"), running("x", "task")], "2 agents and 3 tasks are running"],
    [[running("npm test", "task")], "1 task is running"],
    [[running("planner", "agent"), running("make", "task")], "1 agent and 1 task are running"],
    [[running("planner", "agent")], "1 agent is running"],
  ])("%# names what runs", async (all, title) => {
    await open();
    act(() => backend.requestQuit({ running: all }));
    const dialog = screen.getByTestId(ids.quitDialog);
    expect(within(dialog).getByRole("heading").textContent).toBe(title);
    for (const { agent: name } of all) expect(dialog.textContent).toContain(name);
  });
});

it("has its commands in the palette and its keys among the shortcuts", async () => {
  await open();
  const task: Task = backend.tasks.show({ task: add("npm test") });
  await waitFor(() => expect(app.work.find(task.id)).toBeTruthy());
  await press("{Control>}{Shift>}P{/Shift}{/Control}cancel npm{Enter}");
  await waitFor(() => expect(backend.tasks.wasCancelled(task.id)).toBe(true));
  await press("{Control>}{Shift>}?{/Shift}{/Control}");
  expect(screen.getByTestId(ids.shortcuts).textContent).toContain("Go to the tasks, or hide them");
  expect(screen.getByTestId(ids.shortcuts).textContent).toContain("Copy the command");
});
