// Session limits and approvals of the fake engine. Nothing passes by itself: a test says what happens.

import type { Approval, Change, Id, Limit, Profile } from "../generated/api";
import { BackendError, type Params } from "./backend";

export interface LimitsHost {
  newId(): Id;
  changed(tag: Change["tag"], id: Id, project?: Id | null): void;
  profile(id: Id): Profile;
  setProfile(profile: Profile): void;
  agent(id: Id): { id: Id; name: string; project: Id; workdir: string };
  /** Puts the command of an approval into the line. */
  run(approval: Approval): void;
}

const HOUR_MS = 3_600_000;

export class FakeLimits {
  limits: Limit[] = [];
  /** Oldest first. */
  approvals: Approval[] = [];

  constructor(private readonly host: LimitsHost) {}

  // --- what tests do to it ---

  /** A limit of the profile holds from now on, or holds otherwise than before. */
  limit(profile: Profile, part: Partial<Limit> = {}): void {
    const now = Date.now();
    const before = this.limits.find((each) => each.profile === profile.id);
    const fresh: Limit = {
      profile: profile.id, profile_name: profile.name, reason: "5-hour limit reached", until_ms: now + HOUR_MS, resume_ms: now + HOUR_MS, trying: false, held: false, since_ms: now,
      waiting: [], ...before, ...part,
    };
    this.#put(profile.id, fresh);
  }

  /** An agent wants to run a command. */
  ask(agent: Id, command: string[], part: Partial<Approval> = {}): Approval {
    const { name, project, workdir } = this.host.agent(agent);
    const now = Date.now();
    const approval: Approval = {
      id: this.host.newId(), task: this.host.newId(), agent, agent_name: name, project, command, shown: command.join(" ").replace(/[\u0000-\u001f]+/g, " "), cwd: workdir, state: "pending",
      created_ms: now, until_ms: now + HOUR_MS, ...part,
    };
    this.approvals = [...this.approvals, approval];
    this.host.changed("approvalChanged", approval.id, project);
    return approval;
  }

  expire(id: Id): void {
    this.#decide(this.#approval(id), "expired");
  }

  // --- the door ---

  list(): Limit[] {
    return this.limits;
  }

  resume({ profile }: Params<"limit_resume">): Limit | Record<string, never> {
    const limit = this.#limit(profile);
    if (!limit) return {};
    return this.#put(profile, limit.waiting.length === 0 ? null : { ...limit, held: false, trying: true, resume_ms: limit.resume_ms ?? Date.now() });
  }

  hold({ profile }: Params<"limit_hold">): Limit | Record<string, never> {
    const limit = this.#limit(profile);
    return limit ? this.#put(profile, { ...limit, held: true, trying: false, resume_ms: null }) : {};
  }

  clear({ profile }: Params<"limit_clear">): Limit | Record<string, never> {
    return this.#put(profile, null);
  }

  listApprovals(): Approval[] {
    return [...this.approvals].sort((a, b) => Number(a.state !== "pending") - Number(b.state !== "pending") || b.created_ms - a.created_ms);
  }

  decide({ approval, approve }: Params<"approval_decide">): Approval {
    const found = this.#approval(approval);
    if (found.state !== "pending") throw new BackendError("refused", "This was decided already, or is over.", "`carillon approvals list` shows what waits");
    const decided = this.#decide(found, approve ? "approved" : "denied");
    if (approve) this.host.run(decided);
    return decided;
  }

  #decide(found: Approval, state: Approval["state"]): Approval {
    const decided = { ...found, state };
    this.approvals = this.approvals.map((each) => (each.id === found.id ? decided : each));
    this.host.changed("approvalChanged", found.id, found.project);
    return decided;
  }

  #approval(id: Id): Approval {
    const found = this.approvals.find((each) => each.id === id);
    if (!found) throw new BackendError("not_found", "There is no such approval.", null);
    return found;
  }

  #limit(profile: Id): Limit | undefined {
    return this.limits.find((each) => each.profile === profile);
  }

  #put(profile: Id, limit: Limit | null): Limit | Record<string, never> {
    this.limits = [...this.limits.filter((each) => each.profile !== profile), ...(limit ? [limit] : [])];
    this.host.setProfile({ ...this.host.profile(profile), limited_until_ms: limit?.until_ms ?? null });
    this.host.changed("limitChanged", profile);
    return limit ?? {};
  }
}
