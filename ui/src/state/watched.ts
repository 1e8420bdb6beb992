// Answers of the engine about one thing among many, such as the inbox of an agent: fetched while somebody looks at them, and kept for
// the next look. A change of something that nobody looks at costs no call: the next look asks anyway.

import { useEffect } from "react";
import type { Id } from "../generated/api";
import { type Loaded, Query, useQuery } from "./query";

export class Watched<T> {
  readonly #all = new Map<Id, { query: Query<T>; watchers: number }>();

  constructor(private readonly fetch: (id: Id) => Promise<T>) {}

  of(id: Id): Query<T> {
    return this.#entry(id).query;
  }

  /** Fetches it, and again whenever it goes stale, until the function that this answers is called. */
  watch(id: Id): () => void {
    const entry = this.#entry(id);
    entry.watchers += 1;
    if (entry.watchers === 1) void entry.query.refresh();
    return () => {
      entry.watchers -= 1;
    };
  }

  stale(id: Id): void {
    const entry = this.#all.get(id);
    if (entry && entry.watchers > 0) void entry.query.refresh();
  }

  everythingStale(): void {
    for (const id of this.#all.keys()) this.stale(id);
  }

  #entry(id: Id): { query: Query<T>; watchers: number } {
    let entry = this.#all.get(id);
    if (!entry) {
      entry = { query: new Query(() => this.fetch(id)), watchers: 0 };
      this.#all.set(id, entry);
    }
    return entry;
  }
}

export function useWatched<T>(watched: Watched<T>, id: Id): Loaded<T> {
  useEffect(() => watched.watch(id), [watched, id]);
  return useQuery(watched.of(id));
}
