// How the states of agents and runs are said to the user.

import type { Agent, Run } from "../generated/api";
import type { Tone } from "../shared/Dot";

export function agentState(agent: Agent, busy?: "starting" | "stopping" | "removing"): { word: string; tone: Tone } {
  if (busy) return { word: busy, tone: "busy" };
  if (agent.run?.state === "starting") return { word: "starting", tone: "busy" };
  switch (agent.state) {
    case "offline": return { word: "offline", tone: "off" };
    case "idle": return { word: "idle", tone: "ok" };
    case "working": return { word: "working", tone: "busy" };
    case "needs_attention": return { word: "needs attention", tone: "attention" };
    case "limited": return { word: "limited", tone: "limited" };
    case "failed": return { word: "failed", tone: "bad" };
  }
}

export function isLive(run: Run | null): boolean {
  return run !== null && (run.state === "starting" || run.state === "running");
}

/** How a run ended, in words. The engine's own words win: it knows who stopped it. */
export function howItEnded(run: Run): string {
  if (run.reason) return run.reason;
  if (run.state === "lost") return "lost";
  if (run.signal !== null) return `killed by signal ${run.signal}`;
  if (run.exit_code !== null) return `exited ${run.exit_code}`;
  return "ended";
}
