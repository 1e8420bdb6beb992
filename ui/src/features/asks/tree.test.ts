import { describe, expect, it } from "vitest";
import type { Ask, AskChild } from "../../generated/api";
import { treeOf } from "./tree";

const ask = (id: string, part: Partial<Ask> = {}): Ask => ({
  id, project: "p", caller: null, caller_name: null, callee: "s", callee_name: "scout", prompt: id, state: "answered", final: null, reason: null, key: null, after_children: "deliver", joined_ask: null,
  children: [], delivered: null, waiting_for: null, created_ms: 0, deadline_ms: null, ended_ms: null, ...part,
});
const child = (kind: AskChild["kind"], id: string): AskChild => ({ kind, id, command: id, state: "running", exit_code: null, signal: null, duration_ms: null, tail: null });
const shape = (...all: Parameters<typeof treeOf>) => treeOf(...all).rows.flat().map(({ id, depth, ask: own }) => `${"-".repeat(depth)}${id}${own ? "" : "*"}`);
const NOTHING = new Set<string>();

describe("the tree of asks", () => {
  const asks = [
    ask("late", { state: "open" }), ask("inner", { joined_ask: "outer", children: [child("task", "make")] }), ask("loose", { joined_ask: "outer" }),
    ask("outer", { children: [child("ask", "inner"), child("ask", "unknown")] }), ask("alone", { joined_ask: "gone" }),
  ];

  it("has each piece of work below the ask that waits for it, known or not", () => {
    expect(shape(asks, "all", NOTHING)).toEqual(["late", "outer", "-inner", "--make*", "-unknown*", "-loose", "alone"]);
  });

  it("of those that are open has whole trees, also when only something below is open", () => {
    expect(shape(asks, "open", NOTHING)).toEqual(["late"]);
    const open = asks.map((each) => (each.id === "inner" ? { ...each, state: "open" as const } : each));
    expect(shape(open, "open", NOTHING)).toEqual(["late", "outer", "-inner", "--make*", "-unknown*", "-loose"]);
    expect(shape(open, "open", new Set(["outer"]))).toEqual(["late", "outer"]);
  });

  it("folds, and comes to an end where asks name one another in a circle", () => {
    expect(shape(asks, "all", new Set(["inner"]))).toEqual(["late", "outer", "-inner", "-unknown*", "-loose", "alone"]);
    const circle = [ask("r", { children: [child("ask", "a")] }), ask("a", { joined_ask: "r", children: [child("ask", "b")] }), ask("b", { joined_ask: "a", children: [child("ask", "a"), child("ask", "r")] })];
    expect(shape(circle, "all", NOTHING)).toEqual(["r", "-a", "--b"]);
  });
});
