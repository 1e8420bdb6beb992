// What an agent can be started from: the profiles there are, then the programs that were found without one, then what is missing.

import type { Detected, Profile } from "../../generated/api";

export interface Choice {
  key: string;
  source: Profile | Detected | null;
  adapter: string;
  title: string;
  /** The beginning of the name that is proposed for the agent. */
  stem: string;
  version: string | null;
  note: string;
  /** Why it cannot be started; null when it can. */
  problem: string | null;
  /** The command that would install it. */
  install: string | null;
}

const KNOWN: { adapter: string; title: string; install: string }[] = [
  { adapter: "claude", title: "Claude Code", install: "npm install -g @anthropic-ai/claude-code" },
  { adapter: "codex", title: "Codex", install: "npm install -g @openai/codex" },
  { adapter: "gemini", title: "Gemini CLI", install: "npm install -g @google/gemini-cli" },
  { adapter: "opencode", title: "OpenCode", install: "npm install -g opencode-ai" },
];

const known = (adapter: string) => KNOWN.find((each) => each.adapter === adapter);

/** `found` is null while the search for programs is still under way: then nothing may be called missing. */
export function choicesOf(profiles: readonly Profile[], found: readonly Detected[] | null): Choice[] {
  const detected = found ?? [];
  const ofProfiles = profiles.map((profile): Choice => {
    const program = detected.find((each) => each.profile === profile.id);
    return {
      key: profile.id, source: profile, adapter: profile.adapter, title: profile.name, stem: profile.name,
      version: program?.version ?? profile.version, note: [profile.program, ...profile.args].join(" "),
      problem: program?.problem ?? null, install: program?.problem ? (known(profile.adapter)?.install ?? null) : null,
    };
  });
  const withoutProfile = detected.filter((each) => each.profile === null || !profiles.some(({ id }) => id === each.profile));
  const ofDetected = withoutProfile.map((each): Choice => ({
    key: `${each.adapter} ${each.program}`, source: each, adapter: each.adapter, title: known(each.adapter)?.title ?? each.adapter, stem: each.adapter,
    version: each.version, note: each.program, problem: each.problem, install: each.problem ? (known(each.adapter)?.install ?? null) : null,
  }));
  const usable = [...ofProfiles, ...ofDetected.filter(({ problem }) => problem === null)];
  const broken = ofDetected.filter(({ problem }) => problem !== null);
  const present = new Set([...profiles.map(({ adapter }) => adapter as string), ...detected.map(({ adapter }) => adapter)]);
  const missing = KNOWN.filter(({ adapter }) => found !== null && !present.has(adapter)).map((each): Choice => ({
    key: `missing ${each.adapter}`, source: null, adapter: each.adapter, title: each.title, stem: each.adapter, version: null, note: "",
    problem: "Not found on the PATH of your login shell.", install: each.install,
  }));
  return [...usable, ...broken, ...missing];
}
