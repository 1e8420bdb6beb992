// What is being changed of a profile, and what of it is to be sent. Values of variables are never read back, so a draft knows them only
// as far as they were typed.

import type { AdapterName, Policy, Profile, ProfileSet } from "../../generated/api";
import { joinArguments, splitArguments } from "./arguments";

export interface NewVariable { key: number; name: string; value: string }

export interface Draft {
  program: string;
  args: string;
  /** Of variables that are there: a new value, or null for one that is to go. */
  changed: Readonly<Record<string, string | null>>;
  added: readonly NewVariable[];
  /** Headless turns at once, as it was typed; nothing for any number. */
  concurrency: string;
  policy: Policy;
  prefixes: readonly string[];
}

/** The variable by which each program is told where its log-in and its settings are. */
export const ACCOUNTS: Partial<Record<AdapterName, { name: string; note: string }>> = {
  claude: { name: "CLAUDE_CONFIG_DIR", note: "Claude Code keeps its log-in and settings there. Usually ~/.claude." },
  codex: { name: "CODEX_HOME", note: "Codex keeps its log-in, sessions and config.toml there. Usually ~/.codex." },
  gemini: { name: "GEMINI_CLI_HOME", note: "Gemini CLI keeps its .gemini directory there. Usually your home." },
  opencode: { name: "XDG_DATA_HOME", note: "OpenCode keeps its log-in in opencode/ there. Usually ~/.local/share. Programs that it starts see it, too." },
};

export function draftOf(profile: Profile): Draft {
  return { program: profile.program, args: joinArguments(profile.args), changed: {}, added: [], concurrency: String(profile.concurrency ?? ""), policy: profile.policy, prefixes: profile.allow_prefixes };
}

/** Only what differs; null when nothing does. */
export function changeOf(profile: Profile, draft: Draft): (Partial<ProfileSet> & { profile: string }) | null {
  const args = splitArguments(draft.args);
  const env: Record<string, string | null> = { ...draft.changed };
  for (const { name, value } of draft.added) if (name.trim() !== "") env[name.trim()] = value;
  const change: Partial<ProfileSet> = {};
  if (draft.program.trim() !== profile.program) change.program = draft.program.trim();
  if (!same(args, profile.args)) change.args = args;
  if (Object.keys(env).length > 0) change.env = env;
  // Nought takes the bound away.
  const concurrency = Number(draft.concurrency.trim());
  if (concurrency !== (profile.concurrency ?? 0)) change.concurrency = concurrency;
  if (draft.policy !== profile.policy) change.policy = draft.policy;
  if (!same(draft.prefixes, profile.allow_prefixes)) change.allow_prefixes = [...draft.prefixes];
  return Object.keys(change).length === 0 ? null : { profile: profile.id, ...change };
}

/** Why it cannot be sent as it is; null when it can. */
export function problemOf(profile: Profile, draft: Draft): string | null {
  if (draft.program.trim() === "") return "A profile needs a program.";
  if (!/^([1-9]\d{0,2}|1000|)$/.test(draft.concurrency.trim())) return "Turns at once are a number from 1 to 1000, or nothing for any number.";
  const names = draft.added.map(({ name }) => name.trim());
  for (const [at, name] of names.entries()) {
    if (name === "") {
      if (draft.added[at]!.value !== "") return "A variable needs a name.";
      continue;
    }
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `${name} cannot be the name of a variable: letters, digits and _ make one.`;
    if (name.startsWith("CARILLON_")) return `${name} is set by Carillon itself.`;
    if (profile.env_names.includes(name) || names.indexOf(name) !== at) return `${name} is there already; replace its value instead.`;
  }
  return null;
}

const same = (a: readonly string[], b: readonly string[]) => a.length === b.length && a.every((each, at) => each === b[at]);
