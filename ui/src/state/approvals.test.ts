import { expect, it } from "vitest";
import type { Approval } from "../generated/api";
import { Approvals, pendingOf } from "./approvals";

const approval = (id: string, part: Partial<Approval> = {}): Approval => ({
  id, task: `t${id}`, agent: null, agent_name: null, project: "p", command: [id], shown: id, cwd: "/", state: "pending", created_ms: Number(id), until_ms: 9, ...part,
});

it("tells of those that came while one looked on, each once, and of none that was there before", async () => {
  let all: Approval[] | Error = [approval("1")];
  const told: string[][] = [];
  const approvals = new Approvals({ call: async () => { if (all instanceof Error) throw all; return all as never; } }, (fresh) => told.push(fresh.map(({ id }) => id)));
  await approvals.refresh();
  expect(told).toEqual([]);
  all = [approval("1"), approval("3"), approval("2"), approval("4", { state: "denied" })];
  await approvals.refresh();
  await approvals.refresh();
  expect(told).toEqual([["2", "3"]]);
  all = new Error("no engine");
  await approvals.refresh();
  all = [approval("3"), approval("5")];
  await approvals.refresh();
  expect(told).toEqual([["2", "3"], ["5"]]);
  expect(pendingOf(undefined)).toEqual([]);
});
