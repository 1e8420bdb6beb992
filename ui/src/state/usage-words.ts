// What turns have used, in words. What a program does not tell is left out: it is unknown, not nothing.

import type { Usage } from "../generated/api";

const COUNT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** "999", "12.4K", "3.1M". */
export function tokenCount(tokens: number): string {
  return COUNT.format(tokens);
}

/** "$1.20"; small prices with as many places as they need: "$0.0034". Less than that is "under $0.0001". */
export function price(micro_usd: number): string {
  const usd = micro_usd / 1_000_000;
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "under $0.0001";
  if (usd < 0.1) return `$${usd.toFixed(4).replace(/0+$/, "")}`;
  return `$${usd.toFixed(2)}`;
}

/** "13.6K tokens · $0.03"; null when nothing was told. */
export function usageBrief(usage: Usage | null | undefined): string | null {
  if (!usage) return null;
  const { input_tokens, output_tokens } = usage;
  const tokens = input_tokens === null && output_tokens === null ? null : (input_tokens ?? 0) + (output_tokens ?? 0);
  const parts = [tokens === null ? null : `${tokenCount(tokens)} ${tokens === 1 ? "token" : "tokens"}`, costWords(usage)];
  return parts.filter((part) => part !== null).join(" · ") || null;
}

/** The price, which is the least that it was where not all turns told theirs; null when none did. */
export function costWords({ cost_micro_usd, turns, priced_turns }: Usage): string | null {
  if (cost_micro_usd === null) return null;
  return `${priced_turns < turns ? "at least " : ""}${price(cost_micro_usd)}`;
}

/** Each figure that was told, for a tooltip or a table: "read 12,400 tokens, 9,000 of them from a cache". */
export function usageDetails(usage: Usage): string[] {
  const { input_tokens, cached_tokens, output_tokens, reasoning_tokens } = usage;
  const exactly = (count: number) => count.toLocaleString("en");
  const cost = costWords(usage);
  return [
    input_tokens === null ? null : `read ${exactly(input_tokens)} tokens${cached_tokens === null ? "" : `, ${exactly(cached_tokens)} of them from a cache`}`,
    output_tokens === null ? null : `wrote ${exactly(output_tokens)} tokens${reasoning_tokens === null ? "" : `, ${exactly(reasoning_tokens)} of them thinking`}`,
    cost === null ? "its price was not told" : `cost ${cost}`,
  ].filter((part) => part !== null);
}
