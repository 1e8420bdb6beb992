import { expect, it } from "vitest";
import type { Change, ResidueProgress } from "../generated/api";
import { Cleanup } from "./cleanup";

const STALE: Change[] = [{ seq: 1, tag: "residueChanged", id: "residue", project: null }];
const PROGRESS: ResidueProgress = { running: true, total: 4, done: 1, removed: 1, freed_bytes: 9, cancelled: false };

function engine() {
  const calls: string[] = [];
  const state = { finish: (_: unknown) => {}, fail: (_: unknown) => {} };
  const call = async (method: string) => {
    calls.push(method);
    if (method === "residue_apply") return new Promise((resolve, reject) => Object.assign(state, { finish: resolve, fail: reject }));
    return method === "residue_list" ? [] : PROGRESS;
  };
  const ended: unknown[] = [];
  return { calls, state, ended, cleanup: new Cleanup({ call: call as never }, (clearing) => ended.push(clearing)) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

it("looks at the disk only while somebody looks at it, and while a removal is at work asks how far it is instead", async () => {
  const { calls, state, cleanup, ended } = engine();
  cleanup.changed(STALE);
  expect(calls).toEqual([]);
  const leave = cleanup.watch();
  await settled();
  cleanup.changed(STALE);
  await settled();
  expect(calls).toEqual(["residue_list", "residue_list"]);
  const applied = cleanup.apply({ only: [], consent: [] });
  void cleanup.apply({ only: [], consent: [] });
  cleanup.changed(STALE);
  cleanup.everythingStale();
  await settled();
  expect(calls.slice(2)).toEqual(["residue_apply", "residue_progress"]);
  expect(cleanup.clearing.get()).toMatchObject({ running: true, progress: PROGRESS });
  state.finish([]);
  await applied;
  // What was told meanwhile told only how far it was, so the report is fetched anew at the end.
  expect(calls.slice(4)).toEqual(["residue_list"]);
  expect([cleanup.clearing.get().running, cleanup.clearing.get().outcome, ended]).toEqual([false, [], []]);
  leave();
});

it("tells how it went when nobody looks, also that it failed", async () => {
  const { state, cleanup, ended } = engine();
  const applied = cleanup.apply({ only: [], consent: [] });
  await settled();
  state.fail(new Error("no engine"));
  await applied;
  expect(ended).toMatchObject([{ running: false, outcome: null, error: { message: "no engine" } }]);
  cleanup.forget();
  expect(cleanup.clearing.get().error).toBeNull();
});
