// @vitest-environment jsdom
// The asks of a project and the inboxes of its agents, on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, newId, profileOf, type World } from "../backend/fake";
import { ids } from "../shared/testids";
import { app, backend, idOf, onePane, openWindow, press, project, projectOf, user } from "./opened-window";

function world(): World {
  const atlas = projectOf("atlas");
  const lamp = projectOf("lamp");
  const profile = profileOf("claude", "claude", "/bin/claude");
  const planner = agentOf("planner", atlas, profile);
  return {
    ...emptyWorld(), projects: [atlas, lamp], profiles: [profile], agents: [planner, agentOf("scout", atlas, profile, "headless"), agentOf("tester", atlas, profile, "headless"), agentOf("docs", lamp, profile)],
    layouts: onePane(atlas, planner.id),
  };
}

async function open(fill: () => void = () => undefined): Promise<void> {
  await openWindow(world(), fill);
  await waitFor(() => expect(app.asks.of(project()).loaded && app.asks.of(project(1)).loaded && app.work.of(project(1)).loaded).toBe(true));
}

const ask = (to: string, prompt: string, caller?: string): string => backend.asks.open({ id: newId(), agent: idOf(to), prompt }, caller === undefined ? null : idOf(caller)).id;
const current = (name: string) => backend.asks.current(idOf(name)).id;
const rows = () => screen.queryAllByTestId(ids.askRow);
const rowOf = (id: string) => rows().find((row) => row.dataset["row"] === id)!;
const shape = () => rows().map((row) => `${"  ".repeat(Number(row.getAttribute("aria-level")) - 1)}${row.dataset["kind"]} ${row.dataset["state"]}`);
const ASKS = "{Control>}{Shift>}K{/Shift}{/Control}";
const INBOX = "{Control>}{Shift>}M{/Shift}{/Control}";
const agentRow = (name: string) => screen.getAllByTestId(ids.agent).find((row) => row.dataset["name"] === name)!;

const place = async (where: string) => user.click(within(screen.getAllByTestId(ids.addAgentWhere).find((each) => each.dataset["where"] === where)!).getByRole("radio"));

async function openAsks(): Promise<void> {
  await press(ASKS);
  await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.asksList)));
}

/** You ask scout, scout asks tester, and tester waits for a task. */
function nested(): { outer: string; inner: string; task: string } {
  const outer = ask("scout", "Bring the log into one place.");
  const inner = ask("tester", "Run the suite.", "scout");
  backend.asks.join(outer, { kind: "ask", id: inner, command: "Run the suite." });
  const task = backend.tasks.add({ project: project(), owner: idOf("tester"), command: ["sh", "-c", "npm test"] }).id;
  backend.tasks.set(task, { joined_ask: inner });
  backend.asks.join(inner, { kind: "task", id: task, command: "npm test" });
  backend.asks.finish(current("tester"), "It runs.");
  return { outer, inner, task };
}

describe("the asks", () => {
  it("say what an ask is while there is none, and lead to the first", async () => {
    await open();
    expect(screen.getByTestId(ids.asksOpen).textContent).toContain("none open");
    await openAsks();
    expect(screen.getByTestId(ids.asksEmpty).textContent).toContain("An ask is a question that waits for one answer");
    await press("n");
    expect(document.activeElement).toBe(screen.getByTestId(ids.askDialogPrompt));
    await user.selectOptions(screen.getByTestId(ids.askDialogAgent), idOf("scout"));
    await user.click(screen.getByTestId(ids.askDialogPrompt));
    backend.failNext("ask_open", new BackendError("refused", "The disk is full.", "Free some space."));
    await press("Who reads{Shift>}{Enter}{/Shift}the log?{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain("The disk is full.");
    await press("{Enter}");
    await waitFor(() => expect(screen.queryByTestId(ids.askDialog)).toBeNull());
    expect(backend.asks.list({})[0]).toMatchObject({ callee_name: "scout", prompt: "Who reads\nthe log?", caller: null });
    // The answer will come in the conversation, so that is shown.
    expect((await screen.findByTestId(ids.conversation)).dataset["agent"]).toBe("scout");
    expect(screen.getByTestId(ids.asksOpen).textContent).toContain("1 open");
  });

  it("are a tree of who waits for whom and for what, which follows what happens", async () => {
    await open();
    let made!: ReturnType<typeof nested>;
    act(() => {
      made = nested();
    });
    await openAsks();
    await waitFor(() => expect(shape()).toEqual(["ask open", "  ask pending_final", "    task running"]));
    expect(rowOf(made.outer).textContent).toContain("you → scout");
    expect(rowOf(made.outer).textContent).toContain("scout is at it");
    expect(rowOf(made.inner).textContent).toContain("scout → tester");
    expect(rowOf(made.inner).textContent).toContain("tester has answered, and waits for 1 task");
    expect(within(rowOf(made.outer)).getByTestId(ids.askElapsed).textContent).toMatch(/^\d+ s$/);
    act(() => backend.tasks.end(made.task, { exit_code: 3 }));
    await waitFor(() => expect(shape()).toEqual(["ask open", "  ask failed", "    task failed"]));
    expect(rowOf(made.inner).textContent).toContain("failed: its task npm test failed");
    expect(rowOf(made.task).textContent).toContain("failed: exited 3");
    act(() => backend.asks.finish(current("scout"), "Done all the same."));
    await waitFor(() => expect(screen.getByTestId(ids.asksEmpty).textContent).toContain("Nobody waits for an answer."));
    await press("a");
    expect(shape()).toEqual(["ask failed", "  ask failed", "    task failed"]);
  });

  it("are walked, folded and opened by keys; a log opens in a pane", async () => {
    await open();
    let made!: ReturnType<typeof nested>;
    act(() => {
      made = nested();
    });
    await openAsks();
    await waitFor(() => expect(rows().length).toBe(3));
    const chosen = () => rows().find((row) => row.getAttribute("aria-selected") === "true")?.dataset["row"];
    await waitFor(() => expect(chosen()).toBe(made.outer));
    await press("{ArrowRight}{ArrowRight}");
    expect(chosen()).toBe(made.task);
    await press("{ArrowLeft}");
    expect(chosen()).toBe(made.inner);
    await press("{ArrowLeft}");
    expect(rows().length).toBe(2);
    await press("{ArrowRight}{End}{Enter}");
    await waitFor(() => expect(screen.getAllByTestId(ids.pane).map((pane) => pane.dataset["task"])).toContain(made.task));
    screen.getByTestId(ids.asksList).focus();
    await press("{Home}{Enter}");
    const detail = await screen.findByTestId(ids.askDetail);
    expect(detail.textContent).toContain("Bring the log into one place.");
    expect(detail.contains(document.activeElement)).toBe(true);
    await press("{Escape}");
    expect(screen.queryByTestId(ids.askDetail)).toBeNull();
    expect(document.activeElement).toBe(screen.getByTestId(ids.asksList));
    await press("o");
    await waitFor(() => expect(screen.getByTestId(ids.conversation).dataset["agent"]).toBe("scout"));
    screen.getByTestId(ids.asksList).focus();
    await press("{Escape}");
    expect(document.activeElement?.closest("[data-testid=pane]")).toBeTruthy();
  });

  it("are cancelled at once while they wait, and with a question where that stops work", async () => {
    await open();
    let made!: ReturnType<typeof nested>;
    let waiting = "";
    act(() => {
      made = nested();
      waiting = ask("scout", "And then this.");
    });
    await openAsks();
    await waitFor(() => expect(rows().length).toBe(4));
    expect(rowOf(waiting).textContent).toContain("in line: scout does something else first");
    await press("{Home}c");
    await waitFor(() => expect(rowOf(waiting)).toBeUndefined());
    expect(screen.queryByTestId(ids.confirmDialog)).toBeNull();
    expect(screen.queryByTestId(ids.toast)).toBeNull();
    await press("{Home}c");
    const dialog = await screen.findByTestId(ids.confirmDialog);
    expect(dialog.textContent).toContain("1 ask that it waits for is cancelled");
    backend.failNext("ask_cancel", new BackendError("failed", "It does not listen.", "Try again."));
    await user.click(screen.getByTestId(ids.confirmYes));
    expect((await within(dialog).findByTestId(ids.error)).textContent).toContain("It does not listen.");
    await user.click(screen.getByTestId(ids.confirmYes));
    await waitFor(() => expect(screen.queryByTestId(ids.confirmDialog)).toBeNull());
    expect([made.outer, made.inner].map((id) => backend.asks.show({ ask: id }).state)).toEqual(["cancelled", "cancelled"]);
    expect(backend.tasks.wasCancelled(made.task)).toBe(true);
  });

  it("cancel a task of theirs like any task, and say when they could not be fetched", async () => {
    await open();
    let made!: ReturnType<typeof nested>;
    act(() => {
      made = nested();
    });
    await openAsks();
    await waitFor(() => expect(rows().length).toBe(3));
    await press("{End}c");
    await waitFor(() => expect(backend.tasks.wasCancelled(made.task)).toBe(true));
    backend.failNext("asks_list", new BackendError("failed", "The ledger is busy.", "Try again."));
    await act(() => app.asks.load(project()));
    expect(screen.getByTestId(ids.asksPanel).textContent).toContain("The ledger is busy.");
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(screen.getByTestId(ids.asksPanel).textContent).not.toContain("The ledger is busy."));
  });

  it("show the question, the answer and what became of the work of one of them", async () => {
    await open();
    let made!: ReturnType<typeof nested>;
    act(() => {
      made = nested();
      backend.tasks.end(made.task, { exit_code: 0 });
      backend.asks.finish(current("scout"), "## Done\n\nIn `src/log.ts`.");
    });
    await act(() => app.showAsk(project(), made.outer));
    const detail = await screen.findByTestId(ids.askDetail);
    expect(detail.textContent).toContain("you → scout");
    expect(within(detail).getByRole("heading", { name: "Done" })).toBeTruthy();
    expect(detail.textContent).toContain("Run the suite.answered");
    expect(detail.textContent).toContain("It runs.");
  });

  it("tell of a failure to whoever looks elsewhere, once, and lead there", async () => {
    await open();
    await act(() => app.showProject(project(1)));
    let made!: ReturnType<typeof nested>;
    act(() => {
      made = nested();
    });
    await waitFor(() => expect(app.asks.of(project()).items.length).toBe(2));
    act(() => backend.tasks.end(made.task, { exit_code: 1 }));
    await waitFor(() => expect(app.asks.find(made.inner)!.state).toBe("failed"));
    // The ask that waits for it is the one that is told.
    expect(screen.queryByText(/ask of scout/)).toBeNull();
    act(() => backend.asks.fail(current("scout"), "exited 1"));
    const toast = (await screen.findByText("Your ask to scout failed in atlas")).closest<HTMLElement>("[data-testid=toast]")!;
    expect(toast.textContent).toContain("failed: exited 1");
    expect(backend.notified.filter(({ title }) => title.includes("ask")).length).toBe(1);
    await user.click(within(toast).getByTestId(ids.toastOpen));
    expect((await screen.findByTestId(ids.askDetail)).dataset["ask"]).toBe(made.outer);
  });
});

describe("an agent that needs somebody", () => {
  it("says so in its row, in its pane, and in a toast when it is not in sight", async () => {
    await open();
    act(() => backend.setAgent(idOf("planner"), { state: "needs_attention" }));
    expect((await within(agentRow("planner")).findByTestId(ids.agentAttention)).textContent).toBe("Needs attention");
    expect(screen.getByTestId(ids.paneAttention)).toBeTruthy();
    expect(screen.queryByTestId(ids.toast)).toBeNull();
    act(() => backend.setAgent(idOf("docs"), { state: "needs_attention" }));
    const toast = await screen.findByTestId(ids.toast);
    expect(toast.textContent).toContain("docs needs attention in lamp");
    expect(backend.notified.map(({ title }) => title)).toEqual(["docs needs attention in lamp"]);
    await user.click(within(toast).getByTestId(ids.toastOpen));
    await waitFor(() => expect(app.view.get().project).toBe(project(1)));
    act(() => backend.setAgent(idOf("docs"), { state: "idle" }));
    await waitFor(() => expect(within(agentRow("docs")).queryByTestId(ids.agentAttention)).toBeNull());
  });

  it("is no news when it was so already as the window opened", async () => {
    await open(() => {
      backend.world.agents = backend.world.agents.map((agent) => (agent.name === "docs" ? { ...agent, state: "needs_attention" } : agent));
    });
    await waitFor(() => expect(within(agentRow("docs")).getByTestId(ids.agentAttention)).toBeTruthy());
    expect(screen.queryByTestId(ids.toast)).toBeNull();
  });
});

describe("an inbox", () => {
  const messages = () => screen.queryAllByTestId(ids.message);

  it("says what it is for while nothing is in it, and takes a note", async () => {
    await open();
    await press(INBOX);
    expect((await screen.findByTestId(ids.inboxEmpty)).textContent).toContain("Nothing has come for planner.");
    expect(document.activeElement).toBe(screen.getByTestId(ids.inboxList));
    backend.failNext("message_send", new BackendError("failed", "The disk is full.", "Free some space."));
    await user.click(screen.getByTestId(ids.noteText));
    await press("Keep off main.{Shift>}{Enter}{/Shift}Use next.{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain("The disk is full.");
    expect(screen.getByTestId<HTMLTextAreaElement>(ids.noteText).value).toBe("Keep off main.\nUse next.");
    await press("{Enter}");
    await waitFor(() => expect(messages().length).toBe(1));
    expect(messages()[0]!.textContent).toContain("Notewaiting");
    expect(messages()[0]!.textContent).toContain("Keep off main.\nUse next.");
    expect(backend.asks.messages.map(({ agent, text }) => [agent, text])).toEqual([[idOf("planner"), "Keep off main.\nUse next."]]);
    expect(within(agentRow("planner")).getByTestId(ids.agentQueued).dataset["count"]).toBe("1");
    expect(screen.getByTestId(ids.paneQueued).textContent).toBe("Queued1");
    expect(screen.getByTestId(ids.inboxOpen).textContent).toContain("1 queued");
  });

  it("follows its messages through their states, newest first, and leads to what they are about", async () => {
    await open();
    const task = backend.tasks.add({ project: project(), owner: idOf("scout"), command: ["sh", "-c", "npm test"] }).id;
    act(() => {
      backend.tasks.end(task, { exit_code: 1 });
      backend.asks.send({ id: newId(), agent: idOf("scout"), text: "later" });
    });
    await act(() => app.showInbox(app.agent(idOf("scout"))!));
    await waitFor(() => expect(messages().map((message) => `${message.dataset["kind"]} ${message.dataset["state"]}`)).toEqual(["note pending", "task_ended pending"]));
    // Ids are shown by their beginning.
    expect(messages()[1]!.textContent).toContain(`Task ${task.slice(0, 8)}…`);
    act(() => backend.asks.wake(idOf("scout")));
    await waitFor(() => expect(messages().map((message) => message.dataset["state"])).toEqual(["claimed", "claimed"]));
    act(() => backend.asks.finish(current("scout"), "Read."));
    await waitFor(() => expect(messages().map((message) => message.dataset["state"])).toEqual(["delivered", "delivered"]));
    expect(within(agentRow("scout")).queryByTestId(ids.agentQueued)).toBeNull();
    screen.getByTestId(ids.inboxList).focus();
    await press("{ArrowDown}{Enter}");
    await waitFor(() => expect(screen.getByTestId(ids.taskDetail).dataset["task"]).toBe(task));
  });

  it("shows a wake that was given up, why, and the next step", async () => {
    await open();
    act(() => backend.setAgent(idOf("tester"), { state: "failed", wake: { attempt: 5, next_ms: null, given_up: true, reason: "exited 101 at once" } }));
    const toast = await screen.findByTestId(ids.toast);
    expect(toast.textContent).toContain("tester could not be woken: exited 101 at once.");
    expect(within(agentRow("tester")).getByTestId(ids.agentWake)).toBeTruthy();
    await user.click(within(toast).getByTestId(ids.toastOpen));
    const wake = await screen.findByTestId(ids.inboxWake);
    expect(wake.textContent).toContain("It was tried 5 times and is not tried again by itself. Nothing is lost: its messages wait. See to the reason, then start tester.");
    expect(screen.getByTestId(ids.inboxStart).textContent).toBe("Start agent");
    backend.failNext("agent_start", new BackendError("failed", "codex is not logged in.", "Run codex login."));
    await user.click(screen.getByTestId(ids.inboxStart));
    expect((await within(wake).findByTestId(ids.error)).textContent).toContain("codex is not logged in.");
    await user.click(screen.getByTestId(ids.inboxStart));
    await waitFor(() => expect(screen.queryByTestId(ids.inboxWake)).toBeNull());
    expect(within(agentRow("tester")).queryByTestId(ids.agentWake)).toBeNull();
  });

  it("counts down to the next try of a wake that failed", async () => {
    await open();
    const now = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(now);
    act(() => backend.setAgent(idOf("tester"), { wake: { attempt: 2, next_ms: now + 42_000, given_up: false, reason: "exited 1" } }));
    await act(() => app.showInbox(app.agent(idOf("tester"))!));
    expect((await screen.findByTestId(ids.inboxWake)).textContent).toContain("It is tried again in 42 s.");
    expect(screen.queryByTestId(ids.inboxStart)).toBeNull();
  });
});

describe("the commands", () => {
  it("ask and show inboxes by name, and the panel's tabs go from one to the other by keys", async () => {
    await open();
    await press("{Control>}{Shift>}P{/Shift}{/Control}ask tester{Enter}");
    expect((await screen.findByTestId<HTMLSelectElement>(ids.askDialogAgent)).value).toBe(idOf("tester"));
    await press("{Escape}{Control>}{Shift>}P{/Shift}{/Control}inbox of scout{Enter}");
    await waitFor(() => expect(screen.getByTestId(ids.inboxPanel).dataset["agent"]).toBe("scout"));
    screen.getAllByTestId(ids.panelTab)[2]!.focus();
    await press("{ArrowLeft}");
    expect(screen.getByTestId(ids.asksPanel)).toBeTruthy();
    await press("{Escape}");
    expect(document.activeElement).toBe(screen.getByTestId(ids.asksList));
    await waitFor(() => expect(JSON.stringify(backend.world.layouts[project()])).toContain('"view":"asks"'));
    await press(ASKS);
    expect(screen.queryByTestId(ids.panel)).toBeNull();
    await press("{Control>}{Shift>}S{/Shift}{/Control}");
    expect((await screen.findByTestId<HTMLSelectElement>(ids.askDialogAgent)).value).toBe(idOf("planner"));
  });
});

describe("adding an agent", () => {
  it("chooses between terminal and headless, with a role and a directory", async () => {
    await open();
    await press("{Control>}{Shift>}A{/Shift}{/Control}");
    await user.click(within(screen.getAllByTestId(ids.addAgentMode)[1]!).getByRole("radio"));
    await user.click(screen.getByTestId(ids.addAgentMore).querySelector("summary")!);
    await user.type(screen.getByTestId(ids.addAgentRole), "You review.");
    await place("other");
    expect(screen.getByTestId<HTMLButtonElement>(ids.addAgentStart).disabled).toBe(true);
    await user.type(screen.getByTestId(ids.addAgentWorkdir), "docs");
    await user.click(screen.getByTestId(ids.addAgentStart));
    expect((await screen.findByTestId(ids.error)).textContent).toContain("docs is not an absolute path.");
    backend.picks = ["/home/dev/atlas/docs"];
    await user.click(screen.getByRole("button", { name: "Browse…" }));
    await waitFor(() => expect(screen.getByTestId<HTMLInputElement>(ids.addAgentWorkdir).value).toBe("/home/dev/atlas/docs"));
    await user.click(screen.getByTestId(ids.addAgentStart));
    await waitFor(() => expect(screen.queryByTestId(ids.addAgentDialog)).toBeNull());
    expect(backend.calls.filter(({ method }) => method === "agent_add").at(-1)!.params).toMatchObject({ mode: "headless", role: "You review.", workdir: "/home/dev/atlas/docs" });
    expect((await screen.findByTestId(ids.conversation)).dataset["agent"]).toBe("claude-1");
    expect(backend.countOf("agent_start")).toBe(0);
  });

  it("makes a workdir of its own for it when that is wanted, and says so beforehand", async () => {
    await open();
    await press("{Control>}{Shift>}A{/Shift}{/Control}");
    await place("new");
    expect(screen.getByTestId(ids.addAgentDialog).textContent).toContain("It makes the branch carillon/claude-1");
    let refuse = (_: unknown) => {};
    const call = backend.call.bind(backend);
    backend.call = ((method, params) => (method === "agent_add" ? new Promise((_, reject) => (refuse = reject)) : call(method, params))) as typeof backend.call;
    await user.click(screen.getByTestId(ids.addAgentStart));
    await screen.findByText("Making the worktree. It goes on when you close this.");
    await press("{Escape}");
    act(() => refuse(new BackendError("failed", "git was not found.", "Install git.")));
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("claude-1 could not be added: git was not found.");
    backend.call = call;
    await press("{Control>}{Shift>}A{/Shift}{/Control}");
    await place("new");
    await user.click(screen.getByTestId(ids.addAgentStart));
    await waitFor(() => expect(backend.calls.findLast(({ method }) => method === "agent_add")?.params).toMatchObject({ name: "claude-1", workdir: "new" }));
  });
});
