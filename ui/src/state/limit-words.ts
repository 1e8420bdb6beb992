// How session limits are said to the user.

import type { Limit } from "../generated/api";
import { clock, until } from "../shared/clock";
import { plain } from "../shared/text";

/** When the limit ends or what comes next, as a sentence. */
export function limitNext(limit: Limit, now_ms: number): string {
  if (limit.held) return `It stays stopped until you say otherwise.${limit.until_ms !== null && limit.until_ms > now_ms ? ` Its reset is at ${clock(limit.until_ms, now_ms)}.` : ""}`;
  if (limit.trying) return "One agent tries now; the others wait for what it finds.";
  const { until_ms, resume_ms } = limit;
  if (until_ms !== null && until_ms > now_ms) return `It resets at ${clock(until_ms, now_ms)}, in ${until(until_ms, now_ms)}.`;
  const next = resume_ms === null ? "soon" : resume_ms <= now_ms ? "now" : `at ${clock(resume_ms, now_ms)}, in ${until(resume_ms, now_ms)}`;
  return until_ms === null ? `Its reset is unknown; next try ${next}.` : `Its reset has passed; next try ${next}.`;
}

/** "scout and tester wait.", and of many the first. */
export function limitWaiting({ waiting }: Pick<Limit, "waiting">): string {
  const names = waiting.map(plain);
  if (names.length === 0) return "No agent has anything to do meanwhile.";
  if (names.length === 1) return `${names[0]} waits.`;
  const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3} more`] : names;
  return `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)} wait.`;
}

/** For a badge: "limited until 14:05", "limited, end unknown". */
export function limitBadge(limit: Limit, now_ms: number): string {
  if (limit.held) return "stopped by you";
  return limit.until_ms === null ? "limited, reset unknown" : `limited until ${clock(limit.until_ms, now_ms)}`;
}
