import { expect, it } from "vitest";
import type { Residue } from "../../generated/api";
import { planOf } from "./scope";

const item = (id: string, part: Partial<Residue>): Residue => ({ id, kind: "temp", name: id, path: `/t/${id}`, project: "p", owner: null, run: null, bytes: 10, counted: true, age_ms: 1, verdict: "safe", reasons: [], ...part });
const REPORT = [
  item("a", {}), item("b", { bytes: 30 }), item("c", { verdict: "needs_consent", bytes: 5 }), item("d", { verdict: "blocked" }), item("e", { kind: "log", project: "q", counted: false }), item("f", { kind: "branch", verdict: "needs_consent", project: null, bytes: 0 }),
];
const ALL = { kinds: new Set<Residue["kind"]>(), project: null };

it("what is safe goes, and what needs consent when it was given", () => {
  const plan = planOf(REPORT, ALL, new Set());
  expect([plan.goes, plan.consent, plan.askable, plan.blocked]).toEqual([{ count: 3, bytes: 50, counted: false }, [], 2, 1]);
  expect(plan.groups.map(({ kind, items }) => [kind, items.map(({ id }) => id)])).toEqual([["temp", ["c", "b", "a", "d"]], ["log", ["e"]], ["branch", ["f"]]]);
  expect(planOf(REPORT, ALL, new Set(["c", "d"]))).toMatchObject({ goes: { count: 4, bytes: 55 }, consent: ["c"], askable: 1 });
});

it("nothing goes that is not looked at, whatever was ticked before", () => {
  const plan = planOf(REPORT, { kinds: new Set(["branch"]), project: null }, new Set(["c", "f"]));
  expect([plan.goes.count, plan.consent]).toEqual([1, ["f"]]);
  expect(planOf(REPORT, { kinds: new Set(), project: "q" }, new Set(["f"]))).toMatchObject({ goes: { count: 1 }, consent: [], askable: 0 });
});
