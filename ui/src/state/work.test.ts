import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { emptyWorld, FakeBackend, newId } from "../backend/fake";
import { type Task, TASKS_LISTED_MAX } from "../generated/api";
import { announcementOf, Announcer } from "./announce";
import { pendingOf, Work } from "./work";
import { workStateOf } from "./work-state";

const PROJECT = { id: "p1", name: "atlas", root: "/home/dev/atlas" };

async function begin() {
  const backend = new FakeBackend({ ...emptyWorld(), projects: [PROJECT] });
  const ended: string[] = [];
  const work = new Work(backend, (tasks) => ended.push(tasks.map(({ title, state }) => `${title} ${state}`).join(", ")));
  let seq = 0;
  /** Hands on what the feed would say, as one answer. */
  const hear = async () => {
    const answer = await backend.call("changes_wait", { after: seq, wait_ms: 0 });
    seq = answer.seq;
    work.changed(answer.changes);
    await vi.advanceTimersByTimeAsync(1);
  };
  const add = (line: string, owner?: string) => backend.tasks.add({ project: PROJECT.id, owner, command: ["sh", "-c", line] }).id;
  return { backend, work, ended, hear, add, states: () => work.of(PROJECT.id).items.map(({ title, state }) => `${title} ${state}`) };
}

describe("the tasks of a project", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are fetched once, and then each that changed", async () => {
    const { backend, work, hear, add, states } = await begin();
    const first = add("one");
    await work.loadAll([PROJECT.id]);
    await vi.advanceTimersByTimeAsync(5);
    add("two");
    add("three");
    await hear();
    expect(states().sort()).toEqual(["one running", "three queued", "two running"]);
    backend.tasks.end(first);
    await hear();
    expect(states().sort()).toEqual(["one succeeded", "three running", "two running"]);
    expect(backend.countOf("tasks_list")).toBe(1);
  });

  it("are fetched as a list when many change at once", async () => {
    const { backend, work, hear, add } = await begin();
    await work.loadAll([PROJECT.id]);
    for (let n = 0; n < 200; n += 1) add(`task ${n}`);
    await hear();
    expect(work.of(PROJECT.id).items.length).toBe(200);
    expect(backend.countOf("task_show")).toBe(0);
    expect(backend.countOf("tasks_list")).toBe(2);
  });

  it("are complete in what is under way when the list is too long", async () => {
    const { work, add } = await begin();
    for (let n = 0; n < TASKS_LISTED_MAX + 200; n += 1) add(`task ${n}`);
    await work.loadAll([PROJECT.id]);
    const state = workStateOf(work.of(PROJECT.id), [], {});
    expect([state.running, state.queued]).toEqual([2, TASKS_LISTED_MAX]);
    // Not all that wait are known, so nobody's place is.
    expect(state.places.size).toBe(0);
  });

  it("have their places in a long line, as long as all of it is known", async () => {
    const { backend, work, add } = await begin();
    for (let n = 0; n < 1_202; n += 1) add(`task ${n}`);
    await work.loadAll([PROJECT.id]);
    expect(workStateOf(work.of(PROJECT.id), [], {}).places.size).toBe(1_200);
    expect(backend.countOf("tasks_list")).toBe(1);
  });

  it("never go back, when an older answer comes after a newer one", async () => {
    const { backend, work, add } = await begin();
    const id = add("one");
    const old = structuredClone(backend.tasks.show({ task: id }));
    await work.loadAll([PROJECT.id]);
    backend.tasks.end(id);
    work.put(structuredClone(backend.tasks.show({ task: id })));
    work.put(old);
    expect(work.find(id)?.state).toBe("succeeded");
    backend.tasks.retry({ task: id });
    work.put(structuredClone(backend.tasks.show({ task: id })));
    work.put({ ...old, state: "failed" });
    expect(work.find(id)).toMatchObject({ state: "running", attempt: 2 });
  });

  it("tell of an end once for each attempt, also of one that was never seen alive, and of none from before", async () => {
    const { backend, work, ended, hear, add } = await begin();
    backend.tasks.end(add("before"));
    await work.loadAll([PROJECT.id]);
    const id = add("quick");
    backend.tasks.end(id, { exit_code: 2 });
    await hear();
    await work.load(PROJECT.id);
    expect(ended).toEqual(["quick failed"]);
    backend.tasks.retry({ task: id });
    await hear();
    backend.tasks.end(id);
    await hear();
    expect(ended).toEqual(["quick failed", "quick succeeded"]);
  });

  it("are being cancelled until the state says so; a refusal takes that back", async () => {
    const { backend, work, hear, add } = await begin();
    const id = add("one");
    await work.loadAll([PROJECT.id]);
    const pending = () => pendingOf(work.find(id)!, work.pending.get());
    backend.failNext("task_cancel", new BackendError("failed", "no", null));
    await expect(work.cancel(work.find(id)!)).rejects.toThrow("no");
    expect(pending()).toBeNull();
    await work.cancel(work.find(id)!);
    expect(pending()).toBe("cancelling");
    backend.tasks.end(id, { state: "cancelled", signal: 15 });
    await hear();
    expect(pending()).toBeNull();
    expect(work.pending.get()).toEqual({});
    await work.retry(work.find(id)!);
    expect(work.find(id)).toMatchObject({ attempt: 2, state: "running" });
    expect(pending()).toBeNull();
  });

  it("go when they are removed, and with their project", async () => {
    const { backend, work, hear, add, states } = await begin();
    add("one");
    await work.loadAll([PROJECT.id]);
    backend.tasks.forgetProject(PROJECT.id);
    backend.changed("backgroundTaskChanged", work.of(PROJECT.id).items[0]!.id, PROJECT.id);
    await hear();
    expect(states()).toEqual([]);
    await work.loadAll([]);
    expect(work.state.get()).toEqual({});
  });

  it("count for each agent what waits and what ended since it was looked at", async () => {
    const { backend, work, add } = await begin();
    const agent = { id: "a", name: "planner", queued: 3 } as never;
    const first = add("one", "a");
    add("two", "a");
    add("three", "a");
    backend.tasks.end(first);
    add("four", "a");
    await work.loadAll([PROJECT.id]);
    const of = (seen: Record<string, number>) => workStateOf(work.of(PROJECT.id), [agent], seen).agents.get("a");
    expect(of({})).toEqual({ queued: 1, ended: 1, inbox: 3 });
    expect(of({ a: work.find(first)!.ended_ms! })?.ended).toBe(0);
  });
});

describe("what is told of ends", () => {
  const end = (state: Task["state"], part: Partial<Task> = {}): Task => ({
    id: newId(), project: "p1", owner: null, title: "npm test", command: [], cwd: "/", state, exit_code: null, signal: null, reason: null, attempt: 1, joined_ask: null, log_bytes: 0,
    log_truncated: false, created_ms: 0, started_ms: 1_000, ended_ms: 13_000, tty: false, output_held: false, left_over: [], ...part,
  });
  const name = (project: string) => (project === "p1" ? "atlas" : "lamp");

  it.each([
    [[end("succeeded")], "info", "npm test succeeded in atlas", "after 12 s"],
    [[end("failed", { reason: "exited 3" })], "error", "npm test failed in atlas", "exited 3, after 12 s"],
    [[end("lost", { reason: "lost: the machine was restarted", started_ms: null })], "error", "npm test was lost in atlas", "the machine was restarted"],
    [[end("cancelled", { reason: "cancelled by you", signal: 15 })], "info", "npm test was cancelled in atlas", "by you, after 12 s"],
    [[end("succeeded"), end("failed"), end("succeeded")], "error", "3 tasks ended in atlas", "2 succeeded, 1 failed"],
    [[end("succeeded"), end("cancelled", { project: "p2" })], "info", "2 tasks ended in 2 projects", "1 succeeded, 1 cancelled"],
  ] as const)("%# says it in words", (tasks, level, title, hint) => {
    expect(announcementOf(tasks, name)).toMatchObject({ level, title, hint });
  });

  it("leads to what went wrong", () => {
    const bad = end("timed_out");
    expect(announcementOf([end("succeeded"), bad, end("succeeded")], name).task).toBe(bad);
  });

  it("is one message for all ends within a second", async () => {
    vi.useFakeTimers();
    const titles: string[] = [];
    const announcer = new Announcer(name, ({ title }) => titles.push(title));
    announcer.add([end("succeeded")]);
    await vi.advanceTimersByTimeAsync(900);
    announcer.add([end("succeeded"), end("failed")]);
    await vi.advanceTimersByTimeAsync(200);
    announcer.add([end("succeeded")]);
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    expect(titles).toEqual(["3 tasks ended in atlas", "npm test succeeded in atlas"]);
  });
});
