// Commands of agents that wait for the user's word, of all projects: a question must not be missed because another project is on show.

import { type Backend, toBackendError } from "../backend/backend";
import type { Approval, Id, Profile } from "../generated/api";
import { Query } from "./query";
import { Store } from "./store";

export type Word = "approve" | "deny" | "always";

export class Approvals {
  readonly all: Query<Approval[]>;
  /** What was said and is on its way. */
  readonly deciding = new Store<ReadonlyMap<Id, Word>>(new Map());
  #known: ReadonlySet<Id> | null = null;

  constructor(
    private readonly backend: Pick<Backend, "call">,
    /** New ones came while the window looked on. */
    private readonly arrived: (approvals: Approval[]) => void,
  ) {
    this.all = new Query(() => backend.call("approvals_list", {}));
  }

  /** It never rejects. */
  async refresh(): Promise<void> {
    await this.all.refresh();
    const pending = pendingOf(this.all.data);
    const known = this.#known;
    if (!this.all.data || this.all.state.get().error) return;
    this.#known = new Set(this.all.data.map(({ id }) => id));
    const fresh = known === null ? [] : pending.filter(({ id }) => !known.has(id));
    if (fresh.length > 0) this.arrived(fresh);
  }

  /** Rejects when it was refused; the list is then fetched again, since somebody may have been faster. */
  decide(approval: Approval, approve: boolean): Promise<void> {
    return this.#say(approval, approve ? "approve" : "deny", async () => {
      this.#put(await this.backend.call("approval_decide", { approval: approval.id, approve }));
    });
  }

  /** Approves it, and from now on everything that begins like this. Rejects when one of the two was refused. */
  always(approval: Approval, profile: Profile, prefix: string): Promise<void> {
    return this.#say(approval, "always", async () => {
      if (!profile.allow_prefixes.includes(prefix)) {
        await this.backend.call("profile_set", { profile: profile.id, allow_prefixes: [...profile.allow_prefixes, prefix] });
      }
      this.#put(await this.backend.call("approval_decide", { approval: approval.id, approve: true }));
    });
  }

  async #say(approval: Approval, word: Word, call: () => Promise<void>): Promise<void> {
    if (this.deciding.get().has(approval.id)) return;
    this.deciding.update((all) => new Map(all).set(approval.id, word));
    try {
      await call();
    } catch (reason) {
      void this.refresh();
      throw toBackendError(reason);
    } finally {
      this.deciding.update((all) => {
        const rest = new Map(all);
        rest.delete(approval.id);
        return rest;
      });
    }
  }

  #put(approval: Approval): void {
    this.all.put((this.all.data ?? []).map((each) => (each.id === approval.id ? approval : each)));
  }
}

/** Those that wait, oldest first: one that comes later never moves those that one reads. */
export function pendingOf(approvals: readonly Approval[] | undefined): Approval[] {
  return (approvals ?? []).filter(({ state }) => state === "pending").sort((a, b) => a.created_ms - b.created_ms || (a.id < b.id ? -1 : 1));
}
