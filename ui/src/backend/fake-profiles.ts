// Profiles of the fake engine: values of variables go in and never come out again.

import type { Detected, Id, Profile } from "../generated/api";
import { type Answer, BackendError, type Params } from "./backend";

export interface ProfilesHost {
  world: { profiles: Profile[]; detected: Detected[]; agents: { name: string; profile: Id }[] };
  newProfile(name: string, adapter: Profile["adapter"], program: string): Profile;
  changed(profile: Id): void;
}

export class FakeProfiles {
  /** What is kept of the variables, by profile: for tests alone. */
  readonly values = new Map<Id, Record<string, string>>();
  /** What the test of each profile says next; else that it works. */
  readonly says = new Map<Id, string | Partial<Answer<"profile_test">>>();
  /** A test goes on until it is stopped. */
  hangs = false;
  #stop: (() => void) | null = null;

  constructor(private readonly host: ProfilesHost) {}

  add({ name, adapter, program, args, env }: Params<"profile_add">): Profile {
    const { world } = this.host;
    if (world.profiles.some((profile) => profile.name === name)) throw new BackendError("invalid", `A profile named ${name} exists already.`, "Choose another name.");
    const profile = { ...this.host.newProfile(name, adapter as Profile["adapter"], program), args: args ?? [], env_names: Object.keys(env ?? {}) };
    if (adapter === "plain") profile.policy = "allow";
    this.values.set(profile.id, { ...env });
    world.profiles = [...world.profiles, profile];
    world.detected = world.detected.map((found) => (found.program === program ? { ...found, profile: profile.id } : found));
    this.host.changed(profile.id);
    return profile;
  }

  set({ profile: id, program, args, env, policy, allow_prefixes, concurrency }: Params<"profile_set">): Profile {
    const before = this.find(id);
    if (program?.includes("nothing")) throw new BackendError("failed", `${program} was not found.`, "install it, give its full path, or check its permissions");
    for (const name of Object.keys(env ?? {})) if (name === "" || name.includes("=")) throw new BackendError("invalid", `"${name}" cannot be a variable`, "write it as NAME=VALUE");
    if (allow_prefixes?.some((prefix) => prefix.trim() === "")) throw new BackendError("invalid", "an allowed beginning is empty", "write the words, like `npm test`");
    const values = { ...(this.values.get(id) ?? Object.fromEntries(before.env_names.map((name) => [name, "kept"]))) };
    for (const [name, value] of Object.entries(env ?? {})) {
      if (value === null) delete values[name];
      else values[name] = value;
    }
    this.values.set(id, values);
    const after: Profile = {
      ...before, program: program ?? before.program, args: args ?? before.args, policy: policy ?? before.policy, allow_prefixes: allow_prefixes ?? before.allow_prefixes, env_names: Object.keys(values), concurrency: concurrency === undefined ? before.concurrency ?? null : concurrency || null,
    };
    this.put(after);
    return after;
  }

  async test({ profile }: Params<"profile_test">): Promise<Answer<"profile_test">> {
    const { program, version } = this.find(profile);
    if (this.hangs) {
      await new Promise<void>((resolve) => (this.#stop = resolve));
      throw new BackendError("refused", "you stopped the test", "test it again when you like");
    }
    const said = this.says.get(profile) ?? `${program} answers: version ${version ?? "1.0.0"}`;
    return { said: `${program} answers`, output: "", is_well: true, ...(typeof said === "string" ? { said } : said) };
  }

  stopTest(): Answer<"profile_test_stop"> {
    const stopped = this.#stop !== null;
    this.#stop?.();
    this.#stop = null;
    return { stopped };
  }

  remove({ profile }: Params<"profile_remove">): Record<string, never> {
    const { world } = this.host;
    const user = world.agents.find((agent) => agent.profile === profile);
    if (user) throw new BackendError("refused", `The agent ${user.name} uses this profile.`, "Remove the agent first.");
    world.profiles = world.profiles.filter(({ id }) => id !== profile);
    world.detected = world.detected.map((found) => (found.profile === profile ? { ...found, profile: null } : found));
    this.host.changed(profile);
    return {};
  }

  find(id: Id): Profile {
    const found = this.host.world.profiles.find((each) => each.id === id);
    if (!found) throw new BackendError("not_found", "There is no such profile.", null);
    return found;
  }

  put(profile: Profile): void {
    const { world } = this.host;
    world.profiles = world.profiles.map((each) => (each.id === profile.id ? profile : each));
    this.host.changed(profile.id);
  }
}
