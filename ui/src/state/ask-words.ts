// How asks, turns and messages are said to the user.

import type { Agent, Ask, AskChild, Message, Turn } from "../generated/api";
import type { Tone } from "../shared/Dot";
import type { IconName } from "../shared/Icon";
import { plain, plural } from "../shared/text";

export interface Said { word: string; tone: Tone; icon: IconName }

export function isAskOver({ state }: Pick<Ask, "state">): boolean {
  return state !== "open" && state !== "pending_final";
}

/** Whether a piece of work that an ask waits for goes on. */
export function isChildOpen({ state }: Pick<AskChild, "state">): boolean {
  return state === "awaiting_approval" || state === "queued" || state === "starting" || state === "running" || state === "open" || state === "pending_final";
}

export function callerName(ask: Pick<Ask, "caller" | "caller_name">): string {
  if (ask.caller === null && ask.caller_name === null) return "you";
  return plain(ask.caller_name ?? "an agent that is gone");
}

export const calleeName = (ask: Pick<Ask, "callee_name">): string => plain(ask.callee_name) || "an agent that is gone";

/** An ask's state as a word, a sign and a colour: each of the three says it. */
export function askState(ask: Ask, cancelling = false): Said {
  if (cancelling && !isAskOver(ask)) return { word: "cancelling…", tone: "busy", icon: "cancelled" };
  switch (ask.state) {
    case "answered": return { word: "answered", tone: "ok", icon: "succeeded" };
    case "failed": return { word: "failed", tone: "bad", icon: "failed" };
    case "cancelled": return { word: "cancelled", tone: "off", icon: "cancelled" };
    case "timed_out": return { word: "timed out", tone: "bad", icon: "timedOut" };
    case "open":
    case "pending_final":
  }
  switch (ask.waiting_for) {
    case "slot":
    case "turn_queue": return { word: "in line", tone: "off", icon: "clock" };
    case "limit": return { word: "limited", tone: "limited", icon: "clock" };
    case "attention": return { word: "needs attention", tone: "attention", icon: "warn" };
    case "children": return { word: "waiting for its work", tone: "busy", icon: "hourglass" };
    case "follow_up": return { word: "going over the results", tone: "busy", icon: "running" };
    case "turn":
    case null: return { word: ask.state === "pending_final" ? "waiting for its work" : "working", tone: "busy", icon: "running" };
  }
}

/** What an ask that is not over waits for, as a sentence; how it came to its end otherwise. */
export function askOutcome(ask: Ask, cancelling = false): string {
  const { word } = askState(ask, cancelling);
  if (isAskOver(ask)) {
    const how = plain(ask.reason ?? "");
    if (ask.state === "answered" || how === "" || how === word) return word;
    return how.toLowerCase().startsWith(word) ? how : `${word}: ${how}`;
  }
  if (cancelling) return word;
  const callee = calleeName(ask);
  switch (ask.waiting_for) {
    case "turn_queue": return `in line: ${callee} does something else first`;
    case "slot": return `in line: the profile of ${callee} lets no more turns run at once`;
    case "turn": return `${callee} is at it`;
    case "children": return `${callee} has answered, ${waitedFor(ask)}`;
    case "follow_up": return `${callee} goes over the results of its work`;
    case "limit": return `${callee} waits for the end of a session limit`;
    case "attention": return `${callee} needs your attention`;
    case null: return word;
  }
}

function waitedFor(ask: Ask): string {
  const open = ask.children.filter(isChildOpen);
  return open.length === 0 ? "and its work is over" : `and waits for ${countWork(open.map(({ kind }) => kind))}`;
}

/** "2 tasks", "1 task and 2 asks". */
export function countWork(kinds: readonly ("task" | "ask")[]): string {
  const tasks = kinds.filter((kind) => kind === "task").length;
  const asks = kinds.length - tasks;
  return [tasks > 0 ? plural(tasks, "task") : "", asks > 0 ? plural(asks, "ask") : ""].filter(Boolean).join(" and ");
}

/** A child's state as a word, a sign and a colour. */
export function childState(state: string): Said {
  switch (state) {
    case "awaiting_approval": return { word: "awaiting approval", tone: "attention", icon: "warn" };
    case "queued": return { word: "queued", tone: "off", icon: "clock" };
    case "starting":
    case "running":
    case "open": return { word: state === "open" ? "open" : "running", tone: "busy", icon: "running" };
    case "pending_final": return { word: "waiting for its work", tone: "busy", icon: "hourglass" };
    case "succeeded":
    case "answered": return { word: state, tone: "ok", icon: "succeeded" };
    case "timed_out": return { word: "timed out", tone: "bad", icon: "timedOut" };
    case "cancelled": return { word: "cancelled", tone: "off", icon: "cancelled" };
    case "lost": return { word: "lost", tone: "attention", icon: "lost" };
    default: return { word: plain(state).replace(/_/g, " "), tone: "bad", icon: "failed" };
  }
}

/** How a child ended: "failed: exited 3", "killed by signal 9". */
export function childOutcome(child: AskChild): string {
  const { word } = childState(child.state);
  if (child.state !== "failed") return word;
  if (child.signal !== null) return `${word}: killed by signal ${child.signal}`;
  return child.exit_code !== null ? `${word}: exited ${child.exit_code}` : word;
}

export function isTurnOver({ state }: Pick<Turn, "state">): boolean {
  return state !== "queued" && state !== "starting" && state !== "running";
}

export function turnState(turn: Turn): Said {
  switch (turn.state) {
    case "queued": return { word: "in line", tone: "off", icon: "clock" };
    case "starting": return { word: "starting", tone: "busy", icon: "running" };
    case "running": return { word: "working", tone: "busy", icon: "running" };
    case "final": return { word: "answered", tone: "ok", icon: "succeeded" };
    case "failed": return { word: "failed", tone: "bad", icon: "failed" };
    case "interrupted": return { word: "interrupted", tone: "attention", icon: "cancelled" };
    case "limited": return { word: "stopped by a session limit", tone: "limited", icon: "clock" };
  }
}

/** Why a turn is run, as its heading: who asked, or what woke the agent. */
export function turnHeading(turn: Turn, ask: Ask | undefined): string {
  const by = ask ? callerName(ask) : null;
  switch (turn.kind) {
    case "ask": return by === null ? "Asked" : by === "you" ? "You asked" : `${by} asked`;
    case "follow_up": return "Asked again, with the results of its work";
    case "wake": return turn.messages.length > 0 ? `Woken by ${plural(turn.messages.length, "message")}` : "Woken";
    case "resume": return "Went on with what was cut short";
  }
}

export function messageKind({ kind }: Message): { word: string; icon: IconName } {
  switch (kind) {
    case "task_ended": return { word: "Task ended", icon: "tasks" };
    case "ask_answered": return { word: "Ask answered", icon: "asks" };
    case "ask_received": return { word: "Asked", icon: "asks" };
    case "note": return { word: "Note", icon: "note" };
  }
}

export function messageState(message: Message): { word: string; tone: Tone } {
  switch (message.state) {
    case "pending": return { word: "waiting", tone: "busy" };
    case "claimed": return { word: "being handed over", tone: "busy" };
    case "delivered": return { word: "delivered", tone: "ok" };
    case "undeliverable": return { word: "undeliverable", tone: "bad" };
  }
}

/** A headless agent is up while it may be asked and woken, whether or not a turn of it runs. */
export function isUp(agent: Agent): boolean {
  if (agent.mode === "headless") return agent.turn !== null || (agent.state !== "offline" && agent.state !== "failed");
  return agent.run !== null && (agent.run.state === "starting" || agent.run.state === "running");
}

/** What went wrong with waking an agent, and what comes next. */
export function wakeWords(agent: Agent, now_ms: number): { title: string; next: string } | null {
  const { wake } = agent;
  if (!wake) return null;
  const name = plain(agent.name);
  const reason = plain(wake.reason);
  const title = reason === "" ? `${name} could not be woken.` : `${name} could not be woken: ${/[.!?]$/.test(reason) ? reason : `${reason}.`}`;
  if (wake.given_up) return { title, next: `It was tried ${wake.attempt === 1 ? "once" : `${wake.attempt} times`} and is not tried again by itself. Nothing is lost: its messages wait. See to the reason, then ${isUp(agent) ? "try again" : `start ${name}`}.` };
  const seconds = wake.next_ms === null ? null : Math.max(0, Math.ceil((wake.next_ms - now_ms) / 1000));
  return { title, next: seconds === null ? "It is tried again soon." : seconds === 0 ? "It is tried again now." : `It is tried again in ${seconds} s.` };
}
