// The session limits that hold, and what the user wants of them.

import type { Backend } from "../backend/backend";
import type { Id, Limit } from "../generated/api";
import { Query } from "./query";
import { Store } from "./store";
import { without } from "./view";

export type LimitWish = "resume" | "hold" | "clear";

const METHODS = { resume: "limit_resume", hold: "limit_hold", clear: "limit_clear" } as const;

export class Limits {
  readonly all: Query<Limit[]>;
  /** What is being asked of the limit of a profile right now. */
  readonly busy = new Store<Readonly<Record<Id, LimitWish>>>({});

  constructor(private readonly backend: Pick<Backend, "call">) {
    this.all = new Query(() => backend.call("limits_list", {}));
  }

  /** Rejects when it was refused. */
  async want(profile: Id, wish: LimitWish): Promise<void> {
    if (this.busy.get()[profile]) return;
    this.busy.update((all) => ({ ...all, [profile]: wish }));
    try {
      const answer = await this.backend.call(METHODS[wish], { profile });
      const others = (this.all.data ?? []).map((limit) => (limit.profile === profile ? answer : limit));
      // An empty answer: no limit holds any more.
      this.all.put(others.filter((limit): limit is Limit => "profile" in limit));
    } finally {
      this.busy.update((all) => without(all, profile));
    }
  }
}
