import { describe, expect, it } from "vitest";
import type { Usage } from "../generated/api";
import { price, tokenCount, usageBrief, usageDetails } from "./usage-words";

const usage = (part: Partial<Usage> = {}): Usage => ({ turns: 1, priced_turns: 1, input_tokens: 12_400, cached_tokens: 9_000, output_tokens: 1_200, reasoning_tokens: null, cost_micro_usd: 34_000, ...part });

describe("what was used", () => {
  it.each([[0, "0"], [999, "999"], [12_400, "12.4K"], [3_100_000, "3.1M"]])("%d tokens are %s", (tokens, words) => {
    expect(tokenCount(tokens)).toBe(words);
  });

  it.each([[0, "$0"], [20, "under $0.0001"], [3_400, "$0.0034"], [34_000, "$0.034"], [1_200_000, "$1.20"], [123_456_789, "$123.46"]])("a price of %d is %s", (micro_usd, words) => {
    expect(price(micro_usd)).toBe(words);
  });

  it("is told in brief, and what is unknown is left out instead of being nothing", () => {
    expect(usageBrief(usage())).toBe("13.6K tokens · $0.034");
    expect(usageBrief(usage({ cost_micro_usd: null, priced_turns: 0 }))).toBe("13.6K tokens");
    expect(usageBrief(usage({ turns: 3, priced_turns: 2 }))).toBe("13.6K tokens · at least $0.034");
    expect(usageBrief(usage({ input_tokens: null, output_tokens: null }))).toBe("$0.034");
    expect([usageBrief(null), usageBrief(undefined), usageBrief(usage({ input_tokens: null, output_tokens: null, cost_micro_usd: null }))]).toEqual([null, null, null]);
    expect(usageDetails(usage())).toEqual(["read 12,400 tokens, 9,000 of them from a cache", "wrote 1,200 tokens", "cost $0.034"]);
    expect(usageDetails(usage({ input_tokens: null, cost_micro_usd: null }))).toEqual(["wrote 1,200 tokens", "its price was not told"]);
  });
});
