// How the states of agents, runs and tasks are said to the user.

import type { Agent, Run, Task } from "../generated/api";
import type { Tone } from "../shared/Dot";
import type { IconName } from "../shared/Icon";
import { plain } from "../shared/text";

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

export type Pending = "cancelling" | "retrying";

export function isOver({ state }: Pick<Task, "state">): boolean {
  return state !== "awaiting_approval" && state !== "queued" && state !== "starting" && state !== "running";
}

/** A task's state as a word, a sign and a colour: each of the three says it. */
export function taskState(task: Task, pending: Pending | null = null): { word: string; tone: Tone; icon: IconName } {
  if (pending) return { word: `${pending}…`, tone: "busy", icon: pending === "cancelling" ? "cancelled" : "retry" };
  switch (task.state) {
    case "awaiting_approval": return { word: "awaiting approval", tone: "attention", icon: "warn" };
    case "queued": return { word: "queued", tone: "off", icon: "clock" };
    case "starting": return { word: "starting", tone: "busy", icon: "running" };
    case "running": return { word: "running", tone: "busy", icon: "running" };
    case "succeeded": return { word: "succeeded", tone: "ok", icon: "succeeded" };
    case "failed": return { word: "failed", tone: "bad", icon: "failed" };
    case "timed_out": return { word: "timed out", tone: "bad", icon: "timedOut" };
    case "cancelled": return { word: "cancelled", tone: "off", icon: "cancelled" };
    case "lost": return { word: "lost", tone: "attention", icon: "lost" };
  }
}

/** The state and, where it says more than that, how the task came to its end: "failed: exited 3", "cancelled by you". */
export function taskOutcome(task: Task, pending: Pending | null = null): string {
  const { word } = taskState(task, pending);
  if (pending || !isOver(task) || task.state === "succeeded") return word;
  const how = plain(task.reason ?? (task.signal !== null ? `killed by signal ${task.signal}` : task.exit_code !== null ? `exited ${task.exit_code}` : ""));
  if (how === "" || how === word) return word;
  return how.startsWith(word) ? how : `${word}: ${how}`;
}

/** The line of a command that only hands it to a shell, or null. */
function shellLine({ command }: Pick<Task, "command">): string | null {
  const [shell, flag, line] = command;
  return command.length === 3 && flag === "-c" && /^(\/bin\/)?(ba)?sh$/.test(shell!) && line!.trim() !== "" ? line!.trim() : null;
}

/** The command as a person would type it into a shell. Nothing in it can act on the terminal that it is pasted into. */
export function commandLine({ command }: Pick<Task, "command">): string {
  const line = shellLine({ command });
  if (line !== null && plain(line) === line) return line;
  return command.map(quoted).join(" ");
}

function quoted(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  if (plain(` ${word} `) === word.trim()) return `'${word.replace(/'/g, "'\\''")}'`;
  const escaped = word.replace(/[\\']/g, "\\$&").replace(/[^\u0020-\u007e]/g, (char) => (plain(`a${char}a`) === `a${char}a` ? char : escapedChar(char)));
  return `$'${escaped}'`;
}

function escapedChar(char: string): string {
  const code = char.charCodeAt(0);
  if (char === "\n") return "\\n";
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** From this length on a title may be a command that was cut. */
const TITLE_CUT = 150;

/** Whether somebody gave the task a title: where nobody did, its command stands there. */
export function isTitled({ title, command }: Pick<Task, "title" | "command">): boolean {
  const own = plain(title);
  const commands = [plain(command.join(" ")), plain(shellLine({ command }) ?? "")];
  return own !== "" && !commands.some((each) => each === own || (own.length >= TITLE_CUT && each.startsWith(own)));
}

/** The name of a task of which only the title is known. */
export function titleName(title: string): string {
  return plain(title).replace(/^(\/bin\/)?(ba)?sh -c (?=\S)/, "");
}

/** What a task is called: its title, or its command, without the shell that it was handed to. One line, free of control characters. */
export function taskName(task: Task): string {
  const line = isTitled(task) ? null : shellLine(task);
  return plain(line ?? task.title) || plain(commandLine(task));
}
