import { expect, it } from "vitest";
import type { Limit } from "../generated/api";
import { Limits } from "./limits";

const limit = (profile: string): Limit => ({ profile, profile_name: profile, reason: "", until_ms: 5, resume_ms: 5, trying: false, held: false, since_ms: 1, waiting: [] });

it("an empty answer takes the limit away, another one takes its place, and a second wish waits for the first", async () => {
  const calls: string[] = [];
  let answer: Limit | object = {};
  const limits = new Limits({ call: async (method) => { calls.push(method); return (method === "limits_list" ? [limit("a"), limit("b")] : answer) as never; } });
  await limits.all.refresh();
  await Promise.all([limits.want("a", "clear"), limits.want("a", "hold")]);
  expect([limits.all.data?.map(({ profile }) => profile), calls]).toEqual([["b"], ["limits_list", "limit_clear"]]);
  answer = { ...limit("b"), held: true };
  await limits.want("b", "hold");
  expect([limits.all.data?.[0]?.held, limits.busy.get()]).toEqual([true, {}]);
});
