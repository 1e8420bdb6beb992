import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, FakeBackend, newId, profileOf } from "../backend/fake";
import type { Agent, Ask } from "../generated/api";
import { askOutcome, askState, childOutcome, isUp, wakeWords } from "./ask-words";
import { Asks } from "./asks";
import { newsOfAgents, newsOfAsks } from "./news";

const PROJECT = { id: "p1", name: "atlas", root: "/home/dev/atlas" };
const PROFILE = profileOf("claude", "claude", "/bin/claude");

async function begin() {
  const scout = agentOf("scout", PROJECT, PROFILE, "headless");
  const backend = new FakeBackend({ ...emptyWorld(), projects: [PROJECT], profiles: [PROFILE], agents: [scout] });
  const ended: string[] = [];
  const asks = new Asks(backend, (all) => ended.push(all.map(({ prompt, state }) => `${prompt} ${state}`).sort().join(", ")));
  let seq = 0;
  /** Hands on what the feed would say, as one answer. */
  const hear = async () => {
    const answer = await backend.call("changes_wait", { after: seq, wait_ms: 0 });
    seq = answer.seq;
    asks.changed(answer.changes);
    await vi.advanceTimersByTimeAsync(1);
  };
  const ask = (prompt: string) => backend.asks.open({ id: newId(), agent: scout.id, prompt }).id;
  const load = async () => {
    await asks.loadAll([PROJECT.id]);
    await hear();
    await vi.advanceTimersByTimeAsync(300);
  };
  return { backend, asks, ended, hear, ask, load, scout, states: () => asks.of(PROJECT.id).items.map(({ prompt, state }) => `${prompt} ${state}`) };
}

describe("the asks of a project", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are fetched once, then each that changed, and many at once by their list", async () => {
    const { backend, hear, ask, load, states, scout } = await begin();
    ask("one");
    await load();
    const [lists, shows] = [backend.countOf("asks_list"), backend.countOf("ask_show")];
    backend.asks.finish(backend.asks.current(scout.id).id, "1");
    await hear();
    expect(states()).toEqual(["one answered"]);
    expect([backend.countOf("asks_list"), backend.countOf("ask_show")]).toEqual([lists, shows + 1]);
    for (let n = 0; n < 9; n += 1) ask(`more ${n}`);
    await hear();
    await vi.advanceTimersByTimeAsync(300);
    expect(states().length).toBe(10);
    expect([backend.countOf("asks_list"), backend.countOf("ask_show")]).toEqual([lists + 1, shows + 1]);
  });

  it("only ever go forward, whichever answer comes last", async () => {
    const { backend, asks, ask, load, hear, scout, states } = await begin();
    const id = ask("one");
    await load();
    const old = structuredClone(asks.find(id)!);
    backend.asks.finish(backend.asks.current(scout.id).id, "1");
    await hear();
    asks.put(old);
    expect(states()).toEqual(["one answered"]);
  });

  it("are told once when they end, and not at all when they had ended before", async () => {
    const { backend, ask, load, hear, ended, scout, asks } = await begin();
    ask("before");
    backend.asks.finish(backend.asks.current(scout.id).id, "0");
    await vi.advanceTimersByTimeAsync(5);
    await load();
    expect(ended).toEqual([]);
    ask("one");
    await hear();
    backend.asks.fail(backend.asks.current(scout.id).id, "exited 1");
    await hear();
    expect(ended).toEqual(["one failed"]);
    await asks.load(PROJECT.id);
    expect(ended.length).toBe(1);
  });

  it("forget what is gone, and keep what is there when the list cannot be fetched", async () => {
    const { backend, asks, ask, load, states } = await begin();
    const id = ask("one");
    await load();
    backend.failNext("asks_list", new BackendError("failed", "The ledger is busy."));
    await asks.load(PROJECT.id);
    expect(states()).toEqual(["one open"]);
    expect(asks.of(PROJECT.id).error?.message).toBe("The ledger is busy.");
    backend.failNext("ask_show", new BackendError("not_found", "There is no such ask."));
    asks.changed([{ seq: 99, tag: "askChanged", id, project: PROJECT.id }]);
    await vi.advanceTimersByTimeAsync(1);
    expect(states()).toEqual([]);
  });

  it("are shown as being cancelled from the wish on, until they are or it was refused", async () => {
    const { backend, asks, ask, load } = await begin();
    const id = ask("one");
    await load();
    backend.failNext("ask_cancel", new BackendError("failed", "No."));
    const refused = asks.cancel(asks.find(id)!);
    expect([...asks.cancelling.get()]).toEqual([id]);
    await expect(refused).rejects.toThrow("No.");
    expect([...asks.cancelling.get()]).toEqual([]);
    await asks.cancel(asks.find(id)!);
    expect(asks.find(id)!.state).toBe("cancelled");
    expect([...asks.cancelling.get()]).toEqual([]);
  });

  it("are asked for again when work that they wait for changed", async () => {
    const { backend, asks, ask, load, scout } = await begin();
    const id = ask("one");
    const task = backend.tasks.add({ project: PROJECT.id, owner: scout.id, command: ["make"] }).id;
    backend.tasks.set(task, { joined_ask: id });
    backend.asks.join(id, { kind: "task", id: task, command: "make" });
    await load();
    const shows = backend.countOf("ask_show");
    asks.changed([{ seq: 99, tag: "backgroundTaskChanged", id: task, project: PROJECT.id }, { seq: 100, tag: "backgroundTaskChanged", id: "another", project: PROJECT.id }]);
    await vi.advanceTimersByTimeAsync(1);
    expect(backend.countOf("ask_show")).toBe(shows + 1);
  });
});

const ASK: Ask = {
  id: "a", project: "p1", caller: null, caller_name: null, callee: "s", callee_name: "scout", prompt: "?", state: "open", final: null, reason: null, key: null, after_children: "deliver", joined_ask: null,
  children: [], delivered: null, waiting_for: "turn", created_ms: 0, deadline_ms: null, ended_ms: null,
};
const TASK = { kind: "task" as const, id: "t", command: "make", state: "running", exit_code: null, signal: null, duration_ms: null, tail: null };

describe("the words", () => {
  it.each<[Partial<Ask>, string, string]>([
    [{}, "working", "scout is at it"],
    [{ waiting_for: "turn_queue" }, "in line", "in line: scout does something else first"],
    [{ waiting_for: "slot" }, "in line", "in line: the profile of scout lets no more turns run at once"],
    [{ waiting_for: "limit" }, "limited", "scout waits for the end of a session limit"],
    [{ waiting_for: "attention" }, "needs attention", "scout needs your attention"],
    [{ state: "pending_final", waiting_for: "follow_up" }, "going over the results", "scout goes over the results of its work"],
    [{ state: "pending_final", waiting_for: "children", children: [TASK, { ...TASK, state: "failed" }, { ...TASK, kind: "ask", state: "open" }] }, "waiting for its work", "scout has answered, and waits for 1 task and 1 ask"],
    [{ state: "answered", waiting_for: null }, "answered", "answered"],
    [{ state: "failed", waiting_for: null, reason: "exited 1\u001b[31m" }, "failed", "failed: exited 1 [31m"],
    [{ state: "cancelled", waiting_for: null, reason: "cancelled by you" }, "cancelled", "cancelled by you"],
    [{ state: "timed_out", waiting_for: null, reason: null }, "timed out", "timed out"],
  ])("for an ask that is %o", (part, word, outcome) => {
    expect(askState({ ...ASK, ...part }).word).toBe(word);
    expect(askOutcome({ ...ASK, ...part })).toBe(outcome);
  });

  it.each([
    [{ state: "failed", exit_code: 3 }, "failed: exited 3"], [{ state: "failed", signal: 9 }, "failed: killed by signal 9"], [{ state: "cancelled", signal: 15 }, "cancelled"], [{ state: "succeeded", exit_code: 0 }, "succeeded"],
  ])("for work that is %o", (part, outcome) => expect(childOutcome({ ...TASK, ...part })).toBe(outcome));

  it("for a wake say what comes next", () => {
    const agent = (wake: Agent["wake"]) => ({ ...agentOf("scout", PROJECT, PROFILE), wake });
    expect(wakeWords(agent(null), 0)).toBeNull();
    expect(wakeWords(agent({ attempt: 1, next_ms: 5_400, given_up: false, reason: "exited 1" }), 0)).toEqual({ title: "scout could not be woken: exited 1.", next: "It is tried again in 6 s." });
    expect(wakeWords(agent({ attempt: 5, next_ms: null, given_up: true, reason: "" }), 0)!.next).toContain("It was tried 5 times");
  });

  it("know who can be asked: a headless agent while it is not stopped, another while it runs", () => {
    const scout = agentOf("scout", PROJECT, PROFILE, "headless");
    expect([isUp(scout), isUp({ ...scout, state: "offline" }), isUp(agentOf("planner", PROJECT, PROFILE))]).toEqual([true, false, false]);
  });
});

describe("the news", () => {
  const name = () => "atlas";
  it("of asks are those that went wrong and that nobody else waits for", () => {
    const failed: Ask = { ...ASK, state: "failed", reason: "exited 1" };
    expect(newsOfAsks([{ ...ASK, state: "answered" }, { ...ASK, state: "cancelled" }, { ...failed, joined_ask: "b" }], name)).toBeNull();
    expect(newsOfAsks([failed], name)).toMatchObject({ level: "error", title: "Your ask to scout failed in atlas", hint: "failed: exited 1", target: { ask: "a" } });
    expect(newsOfAsks([{ ...failed, state: "timed_out", caller: "x", caller_name: "planner" }], name)?.title).toBe("The ask of planner to scout timed out in atlas");
    expect(newsOfAsks([failed, { ...failed, id: "b" }], name)?.title).toBe("2 asks failed in atlas");
  });

  it("of agents are what became so since the last look", () => {
    const calm = agentOf("scout", PROJECT, PROFILE);
    const needs: Agent = { ...calm, state: "needs_attention" };
    const stuck: Agent = { ...calm, wake: { attempt: 5, next_ms: null, given_up: true, reason: "exited 1" } };
    const titles = (before: Agent[] | null, after: Agent[]) => newsOfAgents(before, after, name).map(({ news }) => news.title);
    expect(titles(null, [needs])).toEqual([]);
    expect(titles([calm], [needs])).toEqual(["scout needs attention in atlas"]);
    expect(titles([needs], [needs])).toEqual([]);
    expect(titles([calm], [stuck])).toEqual(["scout could not be woken: exited 1."]);
    expect(titles([stuck], [stuck])).toEqual([]);
    expect(titles([], [needs])).toEqual([]);
  });
});
