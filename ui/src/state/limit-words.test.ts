import { expect, it } from "vitest";
import type { Limit } from "../generated/api";
import { limitBadge, limitNext, limitWaiting } from "./limit-words";

const NOW = new Date(2026, 4, 6, 14, 0, 0).getTime();
const MINUTE = 60_000;
const limit = (part: Partial<Limit> = {}): Limit => ({ profile: "1", profile_name: "claude", reason: "", until_ms: NOW + 12 * MINUTE + 3_000, resume_ms: NOW + 12 * MINUTE + 4_000, trying: false, held: false, since_ms: NOW, waiting: [], ...part });

it.each([
  [{}, "It resets at 14:12, in 12 min 03 s."],
  [{ until_ms: NOW + 1_200 }, "It resets at 14:00, in 2 s."],
  [{ until_ms: NOW + 30 * 60 * MINUTE }, "It resets at Thu 20:00, in 30 h 00 min."],
  [{ until_ms: null, resume_ms: NOW + 15 * MINUTE }, "Its reset is unknown; next try at 14:15, in 15 min 00 s."],
  [{ until_ms: null, resume_ms: NOW - 1 }, "Its reset is unknown; next try now."],
  [{ until_ms: NOW - 1, resume_ms: NOW + 900 }, "Its reset has passed; next try at 14:00, in 1 s."],
  [{ trying: true }, "One agent tries now; the others wait for what it finds."],
  [{ held: true, resume_ms: null }, "It stays stopped until you say otherwise. Its reset is at 14:12."],
  [{ held: true, resume_ms: null, until_ms: null }, "It stays stopped until you say otherwise."],
])("%j: %s", (part, words) => {
  expect(limitNext(limit(part), NOW)).toBe(words);
});

it("says who waits, and of many the first", () => {
  expect([[], ["a"], ["a", "b"], ["a", "b", "c", "d", "e"]].map((waiting) => limitWaiting({ waiting }))).toEqual([
    "No agent has anything to do meanwhile.", "a waits.", "a and b wait.", "a, b, c and 2 more wait.",
  ]);
  expect([limit(), limit({ until_ms: null }), limit({ held: true })].map((each) => limitBadge(each, NOW))).toEqual(["limited until 14:12", "limited, reset unknown", "stopped by you"]);
});
