// @vitest-environment jsdom
// The conversation with a headless agent, on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, newId, profileOf, type World } from "../backend/fake";
import type { Turn } from "../generated/api";
import { ids } from "../shared/testids";
import { app, backend, idOf, openWindow, project, projectOf, twoPanes, user } from "./opened-window";

function world(): World {
  const atlas = projectOf("atlas");
  const profile = profileOf("claude", "claude", "/bin/claude");
  const scout = agentOf("scout", atlas, profile, "headless");
  const planner = agentOf("planner", atlas, profile);
  return {
    ...emptyWorld(), projects: [atlas], profiles: [profile], agents: [scout, planner],
    layouts: twoPanes(atlas, scout.id, planner.id, "p1"),
  };
}

async function open(fill: () => void = () => undefined): Promise<void> {
  await openWindow(world(), fill);
  await waitFor(() => expect(app.asks.of(project()).loaded).toBe(true));
}

const field = () => screen.getByTestId<HTMLTextAreaElement>(ids.composer);
const turns = () => screen.queryAllByTestId(ids.turn);
const ask = (prompt: string, caller?: string) => backend.asks.open({ id: newId(), agent: idOf("scout"), prompt }, caller === undefined ? null : idOf(caller));
const current = () => backend.asks.current(idOf("scout"));
const header = () => screen.getAllByTestId(ids.pane).find((pane) => pane.dataset["agent"] === "scout")!;

describe("a conversation", () => {
  it("has the keyboard in its field; Enter asks, Shift+Enter begins a line, and the answer comes as text", async () => {
    await open();
    await waitFor(() => expect(screen.getByTestId(ids.conversationEmpty).textContent).toContain("scout has not been asked anything yet."));
    expect(document.activeElement).toBe(field());
    await user.keyboard("Why is it{Shift>}{Enter}{/Shift}dark?{Enter}");
    await waitFor(() => expect(turns().length).toBe(1));
    expect(backend.calls.filter(({ method }) => method === "ask_open").map(({ params }) => params)).toEqual([{ id: expect.stringMatching(/^[0-9a-f]{32}$/), agent: idOf("scout"), prompt: "Why is it\ndark?" }]);
    expect(field().value).toBe("");
    expect(turns()[0]!.textContent).toContain("You asked");
    expect(within(turns()[0]!).getByTestId(ids.turnPrompt).textContent).toBe("Why is it\ndark?");
    act(() => backend.asks.finish(current().id, "**No oil.** See `lamp.ts`:\n\n- fill it\n- <img src=x onerror=alert(1)>"));
    const final = await screen.findByTestId(ids.turnFinal);
    expect(final.querySelector("strong")!.textContent).toBe("No oil.");
    expect(final.querySelectorAll("li").length).toBe(2);
    expect(final.querySelector("img")).toBeNull();
    expect(turns()[0]!.dataset["state"]).toBe("final");
    await waitFor(() => expect(within(header()).getByTestId(ids.paneState).textContent).toBe("idle"));
  });

  it("sends with Ctrl+Enter, too, and sends nothing that is empty or still being composed", async () => {
    await open();
    await user.click(field());
    await user.keyboard("  {Enter}");
    expect(backend.countOf("ask_open")).toBe(0);
    await user.clear(field());
    await user.keyboard("hello{Control>}{Enter}{/Control}");
    await waitFor(() => expect(backend.countOf("ask_open")).toBe(1));
  });

  it("shows what the agent does while it does it: text as it grows, thoughts folded, tools by name", async () => {
    await open();
    act(() => void ask("Look around."));
    await waitFor(() => expect(turns().length).toBe(1));
    const { id } = current();
    act(() => {
      backend.asks.emit(id, "thinking", "I begin ");
      backend.asks.emit(id, "thinking", "with the lamp.");
      backend.asks.emit(id, "tool", "src/lamp.ts", "Read");
      backend.asks.emit(id, "text", "The lamp ");
    });
    await waitFor(() => expect(screen.getAllByTestId(ids.turnStep).map((step) => step.dataset["kind"])).toEqual(["thinking", "tool", "text"]));
    act(() => backend.asks.emit(id, "text", "is **lit**."));
    await waitFor(() => expect(screen.getAllByTestId(ids.turnStep)[2]!.textContent).toBe("The lamp is lit."));
    const [thought, tool] = screen.getAllByTestId(ids.turnStep);
    expect(thought!.querySelector(".long-text")!.textContent).toBe("I begin with the lamp.");
    expect((thought as HTMLDetailsElement).open).toBe(false);
    expect(tool!.textContent).toBe("Readsrc/lamp.ts");
    expect(screen.getByText("Still working…")).toBeTruthy();
    expect(within(header()).getByTestId(ids.paneState).textContent).toMatch(/^working · \d+ s$/);
    act(() => backend.asks.finish(id, "All is well."));
    await waitFor(() => expect(screen.queryByTestId(ids.turnSteps)).toBeNull());
    await user.click(screen.getByRole("button", { name: "Steps" }));
    await waitFor(() => expect(screen.getAllByTestId(ids.turnStep).length).toBe(3));
    await user.click(screen.getByTestId(ids.turnCopy));
    await waitFor(() => expect(backend.clipboard).toBe("All is well."));
  });

  it("stands in its order, says who asked and what woke it, and shows the messages of a wake", async () => {
    await open();
    act(() => {
      ask("First?", "planner");
      backend.asks.finish(current().id, "One.");
      backend.asks.send({ id: newId(), agent: idOf("scout"), text: "The oil has come." });
      backend.asks.wake(idOf("scout"));
      backend.asks.finish(current().id, "Good.");
      ask("Last?");
    });
    await waitFor(() => expect(turns().map((turn) => turn.getAttribute("aria-label"))).toEqual(["planner asked", "Woken by 1 message", "You asked"]));
    await waitFor(() => expect(screen.getByTestId(ids.turnMessages).textContent).toContain("The oil has come."));
  });

  it("says why a turn failed, and puts the question into the field again", async () => {
    await open();
    act(() => {
      ask("Mend it.");
      backend.asks.fail(current().id, "exited 1: overloaded");
    });
    const reason = await screen.findByTestId(ids.turnReason);
    expect(reason.textContent).toContain("The turn failed: exited 1: overloaded");
    await user.click(within(reason).getByRole("button", { name: "Ask again…" }));
    expect(field().value).toBe("Mend it.");
    expect(document.activeElement).toBe(field());
    // Nothing is told twice: the pane is in sight.
    expect(screen.queryByTestId(ids.toast)).toBeNull();
  });

  it("keeps what could not be sent, says why, and offers to start an agent that was stopped", async () => {
    await open();
    await user.click(screen.getAllByTestId(ids.paneStop)[0]!);
    await waitFor(() => expect(within(header()).getByTestId(ids.paneState).textContent).toBe("offline"));
    await user.click(field());
    await user.keyboard("Are you there?{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain("scout was stopped by you.");
    expect(screen.getByTestId(ids.errorHint).textContent).toContain("Start scout");
    expect(field().value).toBe("Are you there?");
    await user.click(screen.getByTestId(ids.composerStart));
    await waitFor(() => expect(screen.queryByTestId(ids.error)).toBeNull());
    await user.click(field());
    await user.keyboard("{Enter}");
    await waitFor(() => expect(turns().length).toBe(1));
  });

  it("asks once with one id, however often the same text is sent", async () => {
    await open();
    backend.failNext("ask_open", new BackendError("no_engine", "The engine does not answer.", "Try again."));
    await user.click(field());
    await user.keyboard("once{Enter}");
    await screen.findByTestId(ids.error);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(field().value).toBe(""));
    const sent = backend.calls.filter(({ method }) => method === "ask_open").map(({ params }) => (params as { id: string }).id);
    expect(sent.length).toBe(2);
    expect(new Set(sent).size).toBe(1);
  });

  it("has the waiting turns in line below, each with a way out, and asks before work is stopped", async () => {
    await open();
    act(() => {
      ask("one");
      ask("two");
      ask("three", "planner");
    });
    await waitFor(() => expect(turns().map((turn) => turn.dataset["state"])).toEqual(["running", "queued", "queued"]));
    expect(within(header()).getByTestId(ids.paneQueued).textContent).toBe("Queued2");
    await user.click(within(turns()[1]!).getByTestId(ids.turnStop));
    await waitFor(() => expect(turns().map((turn) => turn.dataset["state"])).toEqual(["running", "interrupted", "queued"]));
    expect(screen.queryByTestId(ids.confirmDialog)).toBeNull();
    await user.click(screen.getAllByTestId(ids.turnStop).at(-1)!);
    expect((await screen.findByTestId(ids.confirmDialog)).textContent).toContain("Cancel the ask to scout?");
    await user.click(screen.getByTestId(ids.confirmYes));
    await waitFor(() => expect(turns()[0]!.dataset["state"]).toBe("interrupted"));
    expect(screen.queryByTestId(ids.confirmDialog)).toBeNull();
    expect(within(turns()[0]!).getByTestId(ids.turnReason).textContent).toContain("cancelled by you");
    await waitFor(() => expect(turns()[2]!.dataset["state"]).toBe("running"));
  });

  it("stops a turn that nobody asked for by stopping the agent", async () => {
    await open();
    act(() => {
      backend.asks.send({ id: newId(), agent: idOf("scout"), text: "Up!" });
      backend.asks.wake(idOf("scout"));
    });
    await waitFor(() => expect(turns().length).toBe(1));
    await user.click(screen.getByTestId(ids.turnStop));
    await waitFor(() => expect(backend.countOf("agent_stop")).toBe(1));
    await waitFor(() => expect(turns()[0]!.dataset["state"]).toBe("failed"));
  });

  it("says what the agent waits for, with the way there, until the answer is whole", async () => {
    await open();
    let task = "";
    act(() => {
      const { id } = ask("Test it.");
      task = backend.tasks.add({ project: project(), owner: idOf("scout"), command: ["sh", "-c", "npm test"] }).id;
      backend.tasks.set(task, { joined_ask: id });
      backend.asks.join(id, { kind: "task", id: task, command: "npm test" });
      backend.asks.finish(current().id, "started");
    });
    await waitFor(() => expect(screen.getByTestId(ids.conversationAwaits).textContent).toContain("Waiting for 1 task"));
    expect(within(header()).getByTestId(ids.paneWaiting).textContent).toBe("waiting for 1 task");
    expect(screen.getByTestId(ids.agentWaiting).textContent).toBe("waiting for 1 task");
    await waitFor(() => expect(turns()[0]!.textContent).toContain("scout has answered, and waits for 1 task"));
    await user.click(screen.getByTestId(ids.conversationAwaited));
    await waitFor(() => expect(screen.getByTestId(ids.taskDetail).dataset["task"]).toBe(task));
    act(() => backend.tasks.end(task, { exit_code: 2 }));
    await waitFor(() => expect(screen.queryByTestId(ids.conversationAwaits)).toBeNull());
    expect(within(turns()[0]!).getByTestId(ids.turnReason).textContent).toContain("its task npm test failed");
    expect(turns()[0]!.textContent).toContain("failed: exited 2");
  });

  it("is bounded: the newest fifty turns, and more when they are asked for", async () => {
    await open(() => {
      for (let n = 0; n < 120; n += 1) {
        const turn: Turn = {
          id: newId(), agent: idOf("scout"), ask: null, kind: "ask", state: "final", prompt: `question ${n}`, final: `answer ${n}`, reason: null, run: null, messages: [], created_ms: 1_000 + n, started_ms: 1_000 + n, ended_ms: 1_001 + n,
        };
        backend.asks.putTurn(turn);
      }
    });
    await waitFor(() => expect(turns().length).toBe(50));
    expect(turns().at(-1)!.textContent).toContain("answer 119");
    await user.click(screen.getByTestId(ids.conversationEarlier));
    await waitFor(() => expect(turns().length).toBe(100));
    await user.click(screen.getByTestId(ids.conversationEarlier));
    await waitFor(() => expect(turns().length).toBe(120));
    expect(screen.queryByTestId(ids.conversationEarlier)).toBeNull();
  });

  it("tells what a turn has used and what the agent has, and leads to the project's sum; what nobody told is not nothing", async () => {
    const usage = { turns: 1, priced_turns: 0, input_tokens: 12_000, cached_tokens: null, output_tokens: 400, reasoning_tokens: null, cost_micro_usd: null };
    await open();
    act(() => {
      ask("One?");
      backend.asks.finish(current().id, "1");
      ask("Two?");
      backend.asks.putTurn({ ...current(), usage });
      backend.asks.finish(current().id, "2");
      backend.setAgent(idOf("scout"), { usage });
    });
    await waitFor(() => expect(turns().map((turn) => within(turn).queryByTestId(ids.turnUsage)?.textContent ?? null)).toEqual([null, "12.4K tokens"]));
    backend.world.projects = backend.world.projects.map((each) => ({ ...each, usage: { ...usage, turns: 2, priced_turns: 1, cost_micro_usd: 20_000 } }));
    await act(() => app.projects.refresh());
    const used = await screen.findByTestId(ids.conversationUsage);
    expect(used.textContent).toBe("scout has used 12.4K tokens");
    await user.click(used);
    await screen.findByTestId(ids.usage);
    expect(screen.getAllByTestId(ids.usageRow).map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
      ["scout", "1", "12K", "400", "not told"], ["The project, with removed agents", "2", "12K", "400", "at least $0.02"],
    ]);
  });

  it("shows the beginning of a long text, and the rest when it is asked for", async () => {
    await open();
    const text = Array.from({ length: 200 }, (_, n) => `line ${n}`).join("\n");
    await user.click(field());
    await user.paste(text);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(turns().length).toBe(1));
    expect(turns()[0]!.textContent).not.toContain("line 150");
    await user.click(within(turns()[0]!).getByTestId(ids.turnMore));
    expect(within(turns()[0]!).getByTestId(ids.turnPrompt).textContent).toContain("line 199");
  });

  it("never has a raw control character, and opens only web addresses", async () => {
    await open();
    const evil = "\u001b]0;owned\u0007 \u202egpj.exe\u0000";
    act(() => {
      ask(`look ${evil}`);
      backend.asks.emit(current().id, "tool", evil, evil);
      backend.asks.emit(current().id, "note", evil);
    });
    await waitFor(() => expect(screen.getAllByTestId(ids.turnStep).length).toBe(2));
    act(() => backend.asks.finish(current().id, `see https://example.org/x and [this](javascript:alert(1)) ${evil}`));
    const final = await screen.findByTestId(ids.turnFinal);
    expect(screen.getByTestId(ids.conversation).textContent).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    const links = within(final).getAllByRole("button");
    expect(links.map((link) => link.title)).toEqual(["https://example.org/x"]);
    await user.click(links[0]!);
    await waitFor(() => expect(backend.opened).toEqual(["https://example.org/x"]));
  });

  it("keeps what was written while another pane is looked at, and says when the turns cannot be fetched", async () => {
    await open();
    await user.click(field());
    await user.keyboard("half a thought");
    backend.failNext("turns_list", new BackendError("failed", "The ledger is busy.", "Try again."));
    act(() => backend.changed("turnChanged", idOf("scout"), project()));
    await waitFor(() => expect(screen.getByTestId(ids.conversation).textContent).toContain("The ledger is busy."));
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(screen.getByTestId(ids.conversation).textContent).not.toContain("The ledger is busy."));
    await user.click(within(header()).getByTestId(ids.paneClose));
    await act(() => app.show(app.agent(idOf("scout"))!));
    await waitFor(() => expect(field().value).toBe("half a thought"));
  });

  it("is fetched anew only when something of this agent changed", async () => {
    await open();
    await waitFor(() => expect(backend.countOf("turns_list")).toBe(1));
    act(() => backend.changed("turnChanged", idOf("planner"), project()));
    act(() => backend.changed("turnChanged", idOf("scout"), project()));
    await waitFor(() => expect(backend.countOf("turns_list")).toBe(2));
    act(() => backend.resetFeed());
    await waitFor(() => expect(backend.countOf("turns_list")).toBe(3));
  });
});
