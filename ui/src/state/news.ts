// What agents and asks have to say while the user looks elsewhere, as words for a toast.

import type { Agent, Approval, Ask, Id } from "../generated/api";
import { clipped, plain, plural } from "../shared/text";
import { askOutcome, calleeName, callerName, wakeWords } from "./ask-words";
import type { Clearing } from "./cleanup";
import { outcomeWords } from "./residue-words";
import type { ToastTarget } from "./view";

export interface News { level: "error" | "warn" | "info"; title: string; hint: string | null; target: ToastTarget }

const HINT_CHARS = 240;

/** What became worth a word between two looks at the agents. What was so at the first look is told by badges alone. */
export function newsOfAgents(before: readonly Agent[] | null, after: readonly Agent[], nameOf: (project: Id) => string): { agent: Agent; news: News }[] {
  if (before === null) return [];
  const old = new Map(before.map((agent) => [agent.id, agent]));
  return after.flatMap((agent): { agent: Agent; news: News }[] => {
    const known = old.get(agent.id);
    if (!known) return [];
    const target = { project: agent.project, agent: agent.id };
    const name = plain(agent.name);
    if (agent.state === "needs_attention" && known.state !== "needs_attention") {
      return [{ agent, news: { level: "warn", title: `${name} needs attention in ${nameOf(agent.project)}`, hint: "It sits on a prompt of its own.", target } }];
    }
    const wake = wakeWords(agent, 0);
    if (agent.wake?.given_up && !known.wake?.given_up && wake) {
      return [{ agent, news: { level: "error", title: clipped(wake.title, HINT_CHARS), hint: wake.next, target } }];
    }
    return [];
  });
}

/**
 * Asks that went wrong, told together. One that another waits for is left out: the other says what came of it. So is what somebody
 * cancelled.
 */
export function newsOfAsks(ended: readonly Ask[], nameOf: (project: Id) => string): News | null {
  const bad = ended.filter((ask) => (ask.state === "failed" || ask.state === "timed_out") && ask.joined_ask === null);
  const first = bad[0];
  if (!first) return null;
  const target = { project: first.project, ask: first.id };
  const hint = clipped(askOutcome(first), HINT_CHARS);
  if (bad.length > 1) return { level: "error", title: `${plural(bad.length, "ask")} failed in ${nameOf(first.project)}`, hint, target };
  const who = callerName(first);
  const title = who === "you" ? `Your ask to ${calleeName(first)}` : `The ask of ${who} to ${calleeName(first)}`;
  return { level: "error", title: `${title} ${first.state === "failed" ? "failed" : "timed out"} in ${nameOf(first.project)}`, hint, target };
}

/** Commands that wait for the user's word, as words for the desktop. */
export function newsOfApprovals(approvals: readonly Approval[], nameOf: (project: Id) => string): { title: string; body: string } {
  const first = approvals[0]!;
  const who = plain(first.agent_name ?? "An agent");
  if (approvals.length > 1) return { title: `${plural(approvals.length, "command")} wait for your approval`, body: clipped(`${who} and others want to run them.`, HINT_CHARS) };
  return { title: `${who} wants to run a command in ${nameOf(first.project)}`, body: clipped(plain(first.shown), HINT_CHARS) };
}

/** How a removal went that nobody watched to its end. */
export function newsOfCleanup({ outcome, error, progress }: Clearing): News {
  const target = { cleanup: true } as const;
  if (error) return { level: "error", title: `Clearing up failed: ${error.message}`, hint: error.hint, target };
  return { level: "info", title: outcomeWords(outcome ?? [], progress?.cancelled ?? false), hint: null, target };
}
