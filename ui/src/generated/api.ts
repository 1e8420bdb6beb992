// The types that cross the door between the window and the engine.

export type Id = string;
export type AdapterName = "claude" | "codex" | "gemini" | "opencode" | "acp" | "plain";
export type Policy = "never" | "ask" | "allow";
export type AgentMode = "terminal" | "headless";
export type AgentState = "offline" | "idle" | "working" | "needs_attention" | "limited" | "failed";
export type RunState = "starting" | "running" | "ended" | "lost";

export interface Project { id: Id; name: string; root: string }

export interface Profile {
  id: Id; name: string; adapter: AdapterName; program: string; args: string[]; env_names: string[];
  version: string | null; policy: Policy; limited_until_ms: number | null;
}

export interface Run {
  id: Id; state: RunState; exit_code: number | null; signal: number | null; reason: string | null;
  started_ms: number | null; ended_ms: number | null; pid: number | null; log_bytes: number;
}

export interface Agent {
  id: Id; name: string; project: Id; profile: Id; mode: AgentMode; state: AgentState; waiting_on: string[]; queued: number;
  workdir: string; session_id: string | null; limited_until_ms: number | null; run: Run | null;
}

export interface Detected { adapter: string; program: string; version: string | null; problem: string | null; profile: Id | null }

export interface Notice { level: "info" | "warn" | "error"; text: string; hint: string | null }

export interface Info { version: string; pid: number; home: string; socket: string; notices: Notice[]; demo: boolean }

export interface Settings {
  theme: "system" | "light" | "dark"; font_size: number; at_exit: "ask" | "stop" | "keep"; scrollback: number;
  clipboard_write: "ask" | "allow" | "deny";
}

export interface Check { name: string; state: "ok" | "warn" | "fail"; detail: string; hint: string | null }

export interface Doctor { ok: boolean; checks: Check[] }

export type ChangeTag =
  | "projectChanged" | "profileChanged" | "agentChanged" | "runChanged" | "settingsChanged" | "layoutChanged"
  | "backgroundTaskChanged" | "agentInboxChanged" | "agentWakeChanged";

export interface Change { seq: number; tag: ChangeTag; id: Id; project: Id | null }

export interface Changes { seq: number; reset: boolean; changes: Change[] }
